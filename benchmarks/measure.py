"""Measures one contestant, in a process of its own, and prints its figures as one line of JSON. Run by run.py.

An epoch is measured by the clock and by the CPU time of this process and its workers. The first one warms up (page
cache, workers, allocators) and isn't counted, but for its first batch. Memory is watched in an extra epoch at the end,
since reading /proc costs time.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

from contestants import Figures, Work

SKIPPED = 77  # the exit status of a contestant that isn't installed, as test programs use it


class ProcessTree:
    """This process and its descendants: CPU seconds (those of ended children included) and memory."""

    def __init__(self) -> None:
        import psutil

        self._gone = psutil.Error
        self._me = psutil.Process()

    def _processes(self):  # type: ignore[no-untyped-def]
        return [self._me, *self._me.children(recursive=True)]

    def cpu_seconds(self) -> float:
        total = 0.0
        for process in self._processes():
            try:
                times = process.cpu_times()
            except self._gone:
                continue  # it has just ended: its parent's children_* have its times
            total += times.user + times.system + times.children_user + times.children_system
        return total

    def memory_mb(self) -> float:
        """PSS: pages that processes share are counted once."""
        total = 0
        for process in self._processes():
            try:
                total += process.memory_full_info().pss
            except self._gone:
                continue
        return total / 2**20


def measure_loader(contestant, work: Work, epochs: int) -> Figures:  # type: ignore[no-untyped-def]
    tree = ProcessTree()
    images = len(work.files())
    make = contestant.start(work)
    begin = time.perf_counter()
    loader = make()
    batches = iter(loader)
    next(batches)
    figures = Figures(images, [], first_batch_s=time.perf_counter() - begin)
    for _ in batches:
        pass
    for _ in range(epochs):
        cpu, wall = tree.cpu_seconds(), time.perf_counter()
        for _ in loader:
            pass
        figures.epochs.append((time.perf_counter() - wall, tree.cpu_seconds() - cpu))
    figures.memory_mb = peak_memory(tree, loader)
    return figures


def peak_memory(tree: ProcessTree, loader) -> float:  # type: ignore[no-untyped-def]
    done = threading.Event()
    seen = [0.0]

    def watch() -> None:
        while True:
            seen.append(tree.memory_mb())
            if done.wait(0.2):
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in loader:
            pass
    finally:
        done.set()
        watcher.join()
    return max(seen)


def installed_versions(distributions: list[str]) -> dict[str, str]:
    versions = {}
    for name in distributions:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def is_importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent of a dotted name
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contestant")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    arguments = parser.parse_args()

    contestant = importlib.import_module(f"contestants.{arguments.contestant}")
    missing = [module for module in contestant.NEEDS if not is_importable(module)]
    if missing:
        print(f"not installed here: {', '.join(missing)}", file=sys.stderr)
        return SKIPPED

    if "torch" in contestant.NEEDS:
        import torch

        torch.set_num_threads(1)  # parallelism is the loader's; torch's own pool would add to it unevenly
    work = Work(arguments.data, arguments.workers, arguments.cache)
    if hasattr(contestant, "run"):
        figures = contestant.run(work, arguments.epochs)
    else:
        figures = measure_loader(contestant, work, arguments.epochs)
    figures.versions.update(installed_versions(contestant.VERSIONS))
    print(json.dumps(asdict(figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
