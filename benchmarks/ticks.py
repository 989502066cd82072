"""A main loop that ticks every millisecond while batches of 200 MB are loaded: how long it is kept from its tick.

Whatever runs long under the interpreter's lock stops the loop; a copy of such a batch takes some 100 ms. Another thread
takes batches as fast as they come. Listed are the gaps between ticks, by the share of gaps that are no longer; beside
them those of the same loop without a loader, which are the machine's own.

    python benchmarks/ticks.py --seconds 10
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

import pyfastdl

BATCH = 16
SHARES = (0.5, 0.99, 0.999, 1.0)


class Large(Dataset[Any]):
    """12.5 MB each, so that a batch has 200 MB."""

    def __init__(self) -> None:
        self.tensor = torch.rand(3, 1021, 1021)

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> Any:
        return self.tensor, index


def ticking(seconds: float, step: Callable[[], Any]) -> list[float]:
    """Seconds between ticks, sorted. ``step`` runs in another thread, again and again."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            step()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    gaps = []
    before = time.perf_counter()
    end = before + seconds
    while before < end:
        time.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - before)
        before = now
    over.set()
    worker.join()
    return sorted(gaps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each loader")
    parser.add_argument("--batch", type=int, default=BATCH, help="samples of 12.5 MB")
    arguments = parser.parse_args()
    dataset = Large()
    kinds: dict[str, Any] = {
        "no loader": None,
        "torch, 2 processes": DataLoader(dataset, arguments.batch, num_workers=2),
        "ours, 2 processes": pyfastdl.DataLoader(dataset, arguments.batch, num_workers=2, worker_mode="process"),
        "ours, 2 threads": pyfastdl.DataLoader(dataset, arguments.batch, num_workers=2, worker_mode="thread"),
    }
    print("ms between ticks".ljust(22), *(f"{share:>7.1%}" for share in SHARES), "batches")
    for name, loader in kinds.items():
        count = 0
        iterator: Iterator[Any] | None = iter(loader) if loader is not None else None

        def step(iterator: Iterator[Any] | None = iterator) -> None:
            nonlocal count
            if iterator is None:
                time.sleep(0.05)
                return
            next(iterator)  # and it is dropped
            count += 1

        gaps = ticking(arguments.seconds, step)
        figures = (1000 * gaps[min(len(gaps) - 1, int(share * len(gaps)))] for share in SHARES)
        print(name.ljust(22), *(f"{figure:7.2f}" for figure in figures), f"{count:7d}")
        del iterator, step


if __name__ == "__main__":
    main()
