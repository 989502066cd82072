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
from multiprocessing import reduction
from typing import Any

from torch._utils import ExceptionWrapper
from torch.utils.data._utils.worker import _ResumeIteration

from pyfastdl.workers.context import Batch, context
from pyfastdl.workers.failures import path_of
from pyfastdl.workers.interrupts import take_quietly
from pyfastdl.workers.packing import PackingCollate

__all__ = ["Setup", "run"]

# How often an idle worker looks, in seconds, whether all is done.
_DONE_INTERVAL = 0.25


@dataclasses.dataclass(frozen=True)
class Setup:
    """What a worker is told besides what torch tells it.

    Attributes:
        index_queue, result_queue, done_event, collate_fn: places in the arguments of torch's loop.
        tracks: 1: the index of each sample is known as it is loaded; 2: an index comes without a batch; 0: neither.
        signals: those that were blocked before the worker was started.
    """

    worker: int
    index_queue: int
    result_queue: int
    done_event: int
    collate_fn: int
    seed: int
    epoch: int
    tracks: int
    signals: tuple[int, ...]
    parent: int


def run(setup: Setup, loop: Any, args: tuple[Any, ...]) -> None:
    try:
        # Blocked since before this process existed, so that an interrupt finds somebody who takes it quietly.
        take_quietly()
        if signal.SIGINT not in setup.signals:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _end_with(setup.parent)
        context.seed, context.epoch = setup.seed, setup.epoch
        changed = list(args)
        dataset = args[1][0] if isinstance(args[1], list) else args[1]
        collate = args[setup.collate_fn]
        assert isinstance(collate, PackingCollate)
        note = functools.partial(collate.note, setup.worker)
        changed[setup.index_queue] = _Indices(args[setup.index_queue], args[setup.done_event], setup.tracks, note)
        results = changed[setup.result_queue] = _Results(args[setup.result_queue], dataset, note)
        collate.send = lambda message: results.put((None, message))
        loop(*changed)
    except KeyboardInterrupt:
        pass  # the parent raises it
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ending is not to be interrupted


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
            if self._tracks and type(index) is list:
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
    def __init__(self, queue: Any, dataset: Any, note: Callable[[int], None]) -> None:
        super().__init__(queue)
        self._note = note
        self._dataset = dataset

    def put(self, result: Any) -> None:
        if isinstance(result[1], ExceptionWrapper):
            self._complete(result[1])
        if result[0] is not None:  # not a message between
            context.index = None
            self._note(0)
        self._queue.put(result)

    def _complete(self, failure: Any) -> None:
        if context.index is not None:
            path = path_of(self._dataset, context.index)
            failure.exc_msg += f"\nRaised while loading sample {context.index!r}" + (f" ({path})" if path else "")
        try:
            reduction.ForkingPickler.dumps(failure.exc_type)
        except Exception:
            # A class that the parent can't be told about; its name is in the traceback that goes along. Sent as it
            # is, the failure would be lost, and the training loop would wait for ever.
            failure.exc_type = RuntimeError
