"""The drop-in's own cost, beside the stock DataLoader: datasets that return what they have, or only wait.

All loaders take turns in one process, so that a machine that slows down slows all of them. Figures are batches a second
and CPU seconds (workers included) a batch; ratios are against the stock loader of the same turn.

    python benchmarks/workers.py --turns 3
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import pyfastdl


class Ready(Dataset[Any]):
    """One tensor, made once, and the index."""

    def __init__(self, shape: tuple[int, ...], length: int) -> None:
        self.tensor = torch.rand(shape)
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.tensor, index


class Waiting(Dataset[Any]):
    """20 ms, then a tensor: a sample from a disk far away."""

    def __len__(self) -> int:
        return 500

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.02)
        return torch.rand(3, 224, 224)


class Decoding(Dataset[Any]):
    """A photograph's size of JPEG, decoded and resized by Pillow: most of it without the interpreter's lock."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
        file = io.BytesIO()
        coarse.resize((500, 375), Image.Resampling.BICUBIC).save(file, "jpeg", quality=95)
        self.bytes = file.getvalue()

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> Any:
        with Image.open(io.BytesIO(self.bytes)) as image:
            pixels = np.array(image.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR))
        return torch.from_numpy(pixels).permute(2, 0, 1), index


class Counting(Dataset[Any]):
    """Python all the time, with the interpreter's lock."""

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> Any:
        total = 0
        for number in range(60_000):
            total += number ^ index
        return torch.full((3, 32, 32), float(total % 255)), index


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def steady(make: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[float, float]:
    """Seconds, and CPU seconds, a batch, without the first two batches (the CPU's with them)."""
    cpu = cpu_seconds()
    iterator = iter(make(*args, **kwargs))
    next(iterator), next(iterator)
    start, count = time.perf_counter(), 0
    for _ in iterator:
        count += 1
    wall = (time.perf_counter() - start) / count
    del iterator
    return wall, (cpu_seconds() - cpu) / (count + 2)


def epoch(loader: Any) -> tuple[float, float]:
    """Seconds of a whole epoch, and until its first batch."""
    start = time.perf_counter()
    iterator = iter(loader)
    next(iterator)
    first = time.perf_counter() - start
    for _ in iterator:
        pass
    return time.perf_counter() - start, first


def ready(turns: int, batches: float) -> None:
    for shape, size, count in (((3, 32, 32), 64, 1000), ((3, 224, 224), 64, 100), ((3, 1024, 1024), 8, 60)):
        dataset = Ready(shape, size * max(8, int(count * batches)))
        ratios: dict[str, list[tuple[float, float]]] = {"thread": [], "process": []}
        for _ in range(turns):
            stock = steady(DataLoader, dataset, batch_size=size, num_workers=2)
            for mode, seen in ratios.items():
                ours = steady(pyfastdl.DataLoader, dataset, batch_size=size, num_workers=2, worker_mode=mode)
                seen.append((stock[0] / ours[0], stock[1] / ours[1]))
        for mode, seen in ratios.items():
            wall, cpu = (statistics.median(values) for values in zip(*seen, strict=True))
            print(f"ready {shape}, batch {size}, {mode}: {wall:.1f}x batches/s, {cpu:.1f}x batches/CPU-second")


def working(turns: int) -> None:
    """With as many workers: whole epochs, starting them included."""
    for dataset, modes in ((Decoding(), ("thread", "process")), (Counting(), ("process",))):
        for mode in modes:
            seen = []
            for _ in range(turns):
                before = cpu_seconds()
                stock, _ = epoch(DataLoader(dataset, batch_size=32, num_workers=2))
                between = cpu_seconds()
                ours, _ = epoch(pyfastdl.DataLoader(dataset, batch_size=32, num_workers=2, worker_mode=mode))
                seen.append((stock / ours, (between - before) / (cpu_seconds() - between)))
            wall, cpu = (statistics.median(values) for values in zip(*seen, strict=True))
            name = type(dataset).__name__.lower()
            print(f"{name}, {mode}: {wall:.2f}x samples/s, {cpu:.2f}x samples/CPU-second")


def waiting(turns: int) -> None:
    for _ in range(turns):
        stock, stock_first = epoch(DataLoader(Waiting(), batch_size=16, num_workers=4))
        loader = pyfastdl.DataLoader(Waiting(), batch_size=16, num_workers="auto")
        ours, first = epoch(loader)
        start = time.perf_counter()
        with ThreadPoolExecutor(32) as pool:
            list(pool.map(Waiting().__getitem__, range(500)))
        bare = time.perf_counter() - start
        print(
            f"waiting 20 ms: {stock / ours:.1f}x the stock loader's 4 workers (bare threads: {stock / bare:.1f}x); "
            f"first batch after {first:.2f} s (stock: {stock_first:.2f} s)"
        )
        print(loader.explain())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--batches", type=float, default=1.0, help="how many of the usual number of batches")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    ready(arguments.turns, arguments.batches)
    working(arguments.turns)
    waiting(arguments.turns)


if __name__ == "__main__":
    main()
