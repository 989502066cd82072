"""What runs in a worker process: torch's own loop, between queues that add what it doesn't have."""

from __future__ import annotations

import dataclasses
import functools
import os
import queue
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch._utils import ExceptionWrapper
from torch.utils.data._utils.worker import _ResumeIteration

from pyfastdl.workers.accompanied import accompanied, sendable
from pyfastdl.workers.context import Batch, context
from pyfastdl.workers.failures import path_of
from pyfastdl.workers.interrupts import take_quietly
from pyfastdl.workers.open_files import own_positions
from pyfastdl.workers.packing import PackingCollate
from pyfastdl.workers.states import WorkerDataset

__all__ = ["Setup", "run"]

# How often an idle worker looks, in seconds, whether all is done.
_DONE_INTERVAL = 0.25


@dataclasses.dataclass(frozen=True)
class Setup:
    """What a worker is told besides what torch tells it.

    Attributes:
        index_queue, result_queue, done_event, collate_fn, init_fn: places in the arguments of torch's loop.
        tracks: 1: the index of each sample is known as it is loaded; 2: an index comes without a batch; 0: neither.
        signals: those that were blocked before the worker was started.
        on_error: the loader's.
        start: the state that the worker's dataset goes on from; None: from the beginning.
    """

    worker: int
    index_queue: int
    result_queue: int
    done_event: int
    collate_fn: int
    init_fn: int
    seed: int
    epoch: int
    tracks: int
    signals: tuple[int, ...]
    parent: int
    on_error: str
    start: bytes | None


def run(setup: Setup, loop: Any, args: tuple[Any, ...]) -> None:
    try:
        # Blocked since before this process existed, so that an interrupt finds somebody who takes it quietly.
        take_quietly()
        if signal.SIGINT not in setup.signals:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _end_with(setup.parent)
        own_positions()
        context.seed, context.epoch = setup.seed, setup.epoch
        changed = list(args)
        dataset = WorkerDataset(args[1][0] if isinstance(args[1], list) else args[1], setup.on_error, setup.start)
        changed[1] = [dataset.for_fetcher] if isinstance(args[1], list) else dataset.for_fetcher
        collate = args[setup.collate_fn]
        assert isinstance(collate, PackingCollate)
        note = functools.partial(collate.note, setup.worker)
        changed[setup.index_queue] = _Indices(args[setup.index_queue], args[setup.done_event], setup.tracks, note)
        changed[setup.init_fn] = _InitFn(args[setup.init_fn], dataset)
        results = changed[setup.result_queue] = _Results(args[setup.result_queue], setup.worker, dataset, note)
        collate.send = lambda message: results.put((None, message))
        loop(*changed)
    except KeyboardInterrupt:
        pass  # the parent raises it
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ending is not to be interrupted


class _InitFn:
    """worker_init_fn, for torch's loop: the user's runs with the user's dataset in get_worker_info()."""

    def __init__(self, init_fn: Any, dataset: WorkerDataset) -> None:
        self._init_fn = init_fn
        self._dataset = dataset

    def __call__(self, worker: int) -> None:
        info: Any = torch.utils.data.get_worker_info()
        if info.dataset is self._dataset.for_fetcher:
            object.__setattr__(info, "dataset", self._dataset.dataset)  # torch keeps it from being set otherwise
        if self._init_fn is not None:
            self._init_fn(worker)
        self._dataset.restore()


def _end_with(parent: int) -> None:
    """This process ends when its parent does, also while it is stuck in a sample."""
    try:
        fd = os.pidfd_open(parent)  # (not always getppid(): a fork server may be between)
    except ProcessLookupError:
        os._exit(1)
    except (OSError, AttributeError):
        return  # an old kernel: torch's loop looks every few seconds

    def watch() -> None:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while not poll.poll():
            pass
        os._exit(1)

    threading.Thread(target=watch, name="pyfastdl-parent", daemon=True).start()


class _Queue:
    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


class _Indices(_Queue):
    def __init__(self, queue: Any, done: Any, tracks: int, note: Callable[[int], None]) -> None:
        super().__init__(queue)
        self._done = done
        self._note = note
        self._tracks = tracks

    def get(self, timeout: float) -> Any:
        task = self._get(timeout)
        if isinstance(task, _ResumeIteration):
            context.epoch += 1
        elif isinstance(task, tuple):
            number, index = task
            self._note(number + 1)
            if self._tracks == 2:
                # (an index, how often it came before)
                context.index, context.occurrence = index
                return number, index[0]
            if self._tracks and type(index) in (list, tuple):
                return number, Batch(index)
        return task

    def _get(self, timeout: float) -> Any:
        """The next task. None once all is done: that message never comes where the collector found the iterator and its
        queues together, and closed the queues first."""
        end = time.monotonic() + timeout
        while True:
            try:
                return self._queue.get(timeout=min(timeout, _DONE_INTERVAL))
            except queue.Empty:
                if self._done.is_set():
                    return None
                if time.monotonic() >= end:
                    raise


class _Results(_Queue):
    def __init__(self, queue: Any, worker: int, dataset: WorkerDataset, note: Callable[[int], None]) -> None:
        super().__init__(queue)
        self._note = note
        self._worker = worker
        self._dataset = dataset

    def put(self, result: Any) -> None:
        task, data = result
        if isinstance(data, ExceptionWrapper):
            self._complete(data)
        if isinstance(task, int):
            data = accompanied(data, self._dataset, f"in DataLoader worker process {self._worker}")
        if task is not None:  # not a message between
            context.index = None
            self._note(0)
        self._queue.put((task, data))

    def _complete(self, failure: Any) -> None:
        sendable(failure)
        if context.index is not None:
            path = path_of(self._dataset.dataset, context.index)
            failure.exc_msg += f"\nRaised while loading sample {context.index!r}" + (f" ({path})" if path else "")
