"""Batches whose samples go through Python callables, on threads ahead of the training loop.

    Epoch ─► feeder ─► native pipeline ─► feeder ─► ThreadPool ─► Epoch
             (a thread)                                (threads)

The feeder alone uses the pipeline, so that nobody waits for its lock while it waits for a batch. The threads hold what
they need, not the epoch: dropping that is what ends them.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from pyfastdl._pipeline import Pending
from pyfastdl.callables import CallableJob, CallableWork
from pyfastdl.errors import Failure, LoaderError
from pyfastdl.locks import Living
from pyfastdl.native_batches import NativeBatches, Outcome
from pyfastdl.order import Drawn
from pyfastdl.workers.blocks import ThreadBlocks
from pyfastdl.workers.interrupts import deferred
from pyfastdl.workers.report import Report
from pyfastdl.workers.threads import ThreadPool
from pyfastdl.workers.width import fixed_width

__all__ = ["CallableBatches", "take_blocks"]

# A wait returns at least this often, in seconds: the feeder's, so that batches drawn meanwhile are opened, and the
# training loop's, so that another thread can end its epoch.
_FEEDER_SLICE = 0.01
_SLICE = 0.1
# For one that is in a callable when the epoch ends; it is a daemon, and is left behind.
_PATIENCE = 5.0


class CallableBatches:
    """As :class:`NativeBatches`, with the callables behind them.

    Args:
        native: the batches of images. From here on only the feeder uses it.
        work: what is done with them.
        threads: that run callables.
        prefetch: batches that may be on their way at a time, natively and in callables together.
        idle_blocks: where the work's blocks are left for the next epoch: its memory is there, and its schema known.
    """

    def __init__(
        self,
        native: NativeBatches,
        work: CallableWork,
        threads: int,
        prefetch: int,
        idle_blocks: list[ThreadBlocks],
    ) -> None:
        self._native = native
        self._work = work
        self._prefetch = prefetch
        self._idle_blocks = idle_blocks
        self._jobs: deque[CallableJob] = deque()
        self._pool = ThreadPool(fixed_width(threads), None, False)
        self._pool.start_epoch(work)
        self._feeder = _Feeder(native, self._pool, work.views)
        self._failures: list[Failure] = []
        self._failed = 0  # in callables
        self._handed_over = 0
        self._waited = 0.0
        self._closed = False
        self._torn = False  # an interrupt came within put()
        _live.add(self)

    def wants(self) -> bool:
        return len(self._jobs) < self._prefetch

    def put(self, drawn: Drawn) -> None:
        self._torn = True
        job = CallableJob(drawn)
        self._jobs.append(job)
        self._feeder.put(job)
        self._torn = False

    def is_empty(self) -> bool:
        return not self._jobs

    def next(self, timeout: float, stop: Callable[[], bool]) -> Outcome | None:
        begin = time.monotonic()
        try:
            return self._next(begin + timeout if timeout > 0 else None, timeout, stop)
        finally:
            self._waited += time.monotonic() - begin

    def _next(self, end: float | None, timeout: float, stop: Callable[[], bool]) -> Outcome | None:
        if self._torn:
            raise LoaderError("an interrupt came while a batch was asked for: start another epoch with iter(loader)")
        while self._jobs:
            if stop() or self._closed:
                raise LoaderError("the epoch was closed while a batch was waited for")
            job = self._jobs[0]
            wait = time.monotonic() + _SLICE
            if self._pool.wait(job, (), wait if end is None else min(wait, end)) is None:
                if end is not None and time.monotonic() >= end:
                    raise LoaderError(f"no batch within timeout={timeout:g} s; {self._still_loading(job)}")
                continue
            self._jobs.popleft()
            failures = job.passed_over()
            self._failures += job.native_failures + failures
            self._failed += len(failures)
            if job.fatal:
                assert job.error is not None
                raise job.error
            if job.error is not None:
                job.images, job.others, job.results = [], [], []  # the traceback leads to the job
                return Outcome(job.drawn, error=job.error)
            if job.parts:
                self._handed_over += 1
                return Outcome(job.drawn, self._work.take(job))
        return None

    def take_failures(self) -> list[Failure]:
        failures, self._failures = self._failures, []
        return failures

    def counters(self) -> dict[str, Any]:
        counted = dict(self._native.counters())
        counted["failed_samples"] += self._failed
        counted["batches"] = self._handed_over
        counted["wait_batch_s"] = self._waited
        counted["python_s"] = self._work.seconds
        return counted

    def close(self, broken: bool = False) -> None:
        """Ends the threads. May be called again."""
        self._closed = True
        if self._pool.is_own_thread() or self._feeder.is_own_thread():
            # The collector found the epoch in one of them, which may hold a lock: they end one after another.
            self._feeder.leave()
            return
        with deferred(again=True):
            self._pool.cancel(self._jobs)
            self._jobs.clear()
            self._feeder.close()
            self._pool.close(0.0 if broken and self._pool.stuck() else _PATIENCE)
            self._native.close(broken or self._feeder.is_running())
            blocks, self._work.blocks = self._work.blocks, None
            if blocks is not None and not self._pool.stuck():
                self._idle_blocks[:] = [blocks]
        _live.discard(self)

    def _still_loading(self, job: CallableJob) -> str:
        words = [self._work.words(index) for index in list(job.loading.values())[:3]]
        if words:
            return "still in the transform's Python callables: " + ", ".join(words)
        return "still being loaded: " + ", ".join(map(self._work.words, job.drawn.indices[:3].tolist()))


class _Feeder:
    """Brings jobs through the native pipeline and to the pool."""

    def __init__(self, native: NativeBatches, pool: ThreadPool, views: int) -> None:
        self._native = native
        self._pool = pool
        self._views = views
        # Taken itself, not by way of the condition: an interrupt between the two would leave it taken.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._new: list[CallableJob] = []
        self._in_native: deque[CallableJob] = deque()
        self._closing = self._left = False
        self._broken: BaseException | None = None
        self._thread: threading.Thread | None = None

    def put(self, job: CallableJob) -> None:
        with self._lock:
            self._new.append(job)
            self._changed.notify()
            if self._thread is None:
                thread = threading.Thread(target=self._serve, name="pyfastdl-feeder", daemon=True)
                with deferred():  # an interrupt between the two lines would leave it out, and start another
                    thread.start()
                    self._thread = thread

    def is_own_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def close(self) -> None:
        with self._lock:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def leave(self) -> None:
        """It ends by itself, and the other threads and the pipeline with it."""
        self._left = self._closing = True

    def _serve(self) -> None:
        while True:
            with self._lock:
                while not self._closing and not self._new and not self._in_native:
                    self._changed.wait(_PATIENCE)
                new, self._new = self._new, []
            if self._closing:
                break
            self._in_native += new
            try:
                if self._broken is not None:
                    raise self._broken
                for job in new:
                    self._native.put(job.drawn)
                outcome = self._native.poll(_FEEDER_SLICE)
                if not isinstance(outcome, Pending):
                    self._pass_on(outcome)
                del outcome  # a thread that waits holds no batch
            except BaseException as error:
                self._break(error)
        if self._left:
            self._pool.close()
            self._native.close()

    def _pass_on(self, outcome: Outcome | None) -> None:
        """Jobs before the outcome's lost all their samples, natively."""
        failures = self._native.take_failures()
        while self._in_native:
            job = self._in_native.popleft()
            if outcome is not None and job.drawn is outcome.drawn:
                job.native_failures = failures
                if outcome.error is None:
                    job.fill(outcome, self._views)
                    try:
                        self._pool.put(job)
                    except BaseException as error:  # no thread could be started
                        job.error, job.fatal = error, True
                        self._pool.complete(job)
                        raise
                else:
                    job.error = outcome.error
                    self._pool.complete(job)
                return
            if outcome is None and not self._in_native:
                job.native_failures = failures
            self._pool.complete(job)

    def _break(self, error: BaseException) -> None:
        """The pipeline can't go on: whoever waits is told, and so is whoever comes later."""
        self._broken = error
        while self._in_native:
            job = self._in_native.popleft()
            job.error, job.fatal = error, True
            self._pool.complete(job)


def take_blocks(idle: list[ThreadBlocks], ahead: int, capacity: int) -> ThreadBlocks:
    """Those of an epoch that is over, if they are for such batches; or new ones. (A list's pop is atomic.)"""
    blocks = None
    with contextlib.suppress(IndexError):
        blocks = idle.pop()
    if blocks is not None and blocks.fits(ahead, capacity):
        return blocks
    return ThreadBlocks(ahead, capacity, Report())


_live: Living[CallableBatches] = Living()


def _close_all() -> None:
    for batches in _live.all():
        batches.close()


# Registered after the pipelines' and the pool's, and so called before them.
atexit.register(_close_all)
