"""A pool of Python threads that load the samples of batches, in order of the batches."""

from __future__ import annotations

import abc
import atexit
import contextlib
import ctypes
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from pyfastdl.errors import Failure
from pyfastdl.locks import Living
from pyfastdl.workers.blocks import BlockBatch
from pyfastdl.workers.context import context, make_worker_info
from pyfastdl.workers.interrupts import deferred
from pyfastdl.workers.width import Width

__all__ = ["Job", "ThreadPool", "Work"]

# A claim is for about so many seconds of work: less, and threads mostly talk to each other.
_CLAIM_SECONDS = 200e-6
# For all threads of a pool together: one that hangs is a daemon, and is left behind.
_JOIN_SECONDS = 5.0


class Job:
    """One batch: its indices, and what became of them.

    Attributes:
        count: parts that threads can do by themselves: its samples, or 1 where a batch is done as a whole.
        worker: which worker has to do it; None: any.
        done: ``result`` or ``error`` is there.
        failures: by part, the samples that were passed over.
        state: of the worker's dataset after this batch, if it has one.
    """

    __slots__ = (
        *("batch", "cancelled", "claimed", "count", "done", "error", "error_index", "error_place"),
        *("error_worker", "failures", "finished", "index", "loading", "occurrences", "result", "state", "worker"),
    )

    def __init__(self, index: Any, count: int, occurrences: list[int] | None, worker: int | None = None) -> None:
        self.index = index
        self.count = count
        self.occurrences = occurrences
        self.worker = worker
        self.claimed = self.finished = 0
        self.batch: BlockBatch | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.error_place = count  # that of the first part that failed; count: what comes after them
        self.error_index: Any = index
        self.error_worker = 0
        self.done = self.cancelled = False
        self.loading: dict[int, Any] = {}  # worker: sample that it has in its hands
        self.failures: dict[int, list[Failure]] = {}
        self.state: bytes | None = None

    def pass_over(self, place: int, failures: list[Failure]) -> None:
        if failures:
            self.failures[place] = failures

    def passed_over(self) -> list[Failure]:
        """The failures in the order of the samples; after an error those up to it, since others are chance."""
        before = [place for place in sorted(self.failures) if place <= self.error_place]
        return [failure for place in before for failure in self.failures[place]]


class Work(abc.ABC):
    """What the threads do with a job; see thread_works.py. One per epoch."""

    num_workers: int
    seed: int  # of the random numbers of samples, and of worker infos
    epoch: int

    @abc.abstractmethod
    def dataset_of(self, worker: int) -> Any:
        """What a worker's get_worker_info() shows."""

    @abc.abstractmethod
    def prepare(self, job: Job) -> None:
        """Before a job's first part is given out, by one thread at a time."""

    @abc.abstractmethod
    def do(self, job: Job, place: int, worker: int) -> None:
        """One part of a job."""

    @abc.abstractmethod
    def finish(self, job: Job) -> None:
        """After its last part: fills in the result. Not called after an error."""


class ThreadPool:
    """Threads that work on jobs, oldest first; started as jobs come in.

    The threads hold the pool, not its user: who drops the pool's user closes the pool.
    """

    def __init__(self, width: Width, init_fn: Callable[[int], None] | None, own_queues: bool) -> None:
        self.width = width
        self._init_fn = init_fn
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)  # jobs are there, or the end
        self._parked = threading.Condition(self._lock)  # more threads may work, or the end
        self._waiting: list[queue.SimpleQueue[None]] = []  # for a job to be done
        self._own_queues = own_queues
        self._queues: list[deque[Job]] = [deque() for _ in range(width.most if own_queues else 1)]
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._busy = 0  # threads that have parts in their hands
        self._closing = False
        self._part_seconds = 0.0  # how long a part took lately
        self._work: Work | None = None
        _live.add(self)

    # -- for the loader's iterator

    def start_epoch(self, work: Work) -> None:
        """Jobs that are put from here on are this work's. REQUIRES: no job is left from before."""
        self._work = work

    def put(self, job: Job) -> None:
        with self._lock:
            queue = self._queues[job.worker or 0] if self._own_queues else self._queues[0]
            queue.append(job)
            wanted = self._threads_for(job)
            if self._own_queues:
                self._ready.notify_all()
            elif self._idle:
                self._ready.notify(wanted)
            missing = min(wanted - self._idle, self.width.now - len(self._threads))
            if self._own_queues:
                missing = self.width.now - len(self._threads)
            for _ in range(missing):
                self._start_thread()

    def complete(self, job: Job) -> None:
        """A job that has its result or error already, without having been put: whoever waits for it goes on."""
        with self._lock:
            self._set_done(job)

    def _set_done(self, job: Job) -> None:
        job.done = True
        for waiting in list(self._waiting):
            waiting.put(None)

    def wait(self, job: Job | None, jobs: Any, deadline: float | None) -> Job | None:
        """Until ``job`` (or without one, any of ``jobs``) is done; None when the deadline came first.

        This thread holds no lock while it waits, and takes none again afterwards, as a Condition's does: an interrupt
        there would have it release a lock that a worker has.
        """
        woken: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waiting.append(woken)
        try:
            while True:
                for one in jobs if job is None else (job,):
                    if one.done:
                        return one
                # A bound, so that nothing waits for ever for a thread that can't be there any more.
                patience = 5.0 if deadline is None else deadline - time.monotonic()
                if patience <= 0:
                    return None
                with contextlib.suppress(queue.Empty):
                    woken.get(timeout=min(patience, 5.0))
        finally:
            self._waiting.remove(woken)

    def cancel(self, jobs: Any) -> None:
        """Nobody will take these. What threads have in their hands, they finish; its memory is free afterwards."""
        if self.is_own_thread():
            return
        with self._lock:
            for queue in self._queues:
                queue.clear()
            for job in jobs:
                job.cancelled = True
                if job.finished == job.claimed and job.batch is not None and (job.done or job.finished < job.count):
                    job.batch.drop()

    def close(self, patience: float = _JOIN_SECONDS) -> None:
        """Ends the threads, waiting so many seconds for them. May be called again; does nothing in a forked child."""
        if self._pid != os.getpid():
            return
        self._closing = True
        if self.is_own_thread():
            return
        with self._lock:
            for queue in self._queues:
                queue.clear()
            self._ready.notify_all()
            self._parked.notify_all()
            threads, self._threads = self._threads, []
        end = time.monotonic() + patience
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(timeout=max(0.0, end - time.monotonic()))
        _live.discard(self)

    def is_own_thread(self) -> bool:
        """The collector may find the pool's user in one of the pool's threads, which may hold the lock. That thread
        ends next, and tells the others."""
        return threading.current_thread() in self._threads

    @property
    def closed(self) -> bool:
        return self._closing

    def stuck(self) -> bool:
        """Whether a thread still has a part of a cancelled job in its hands. Another pool is better used then."""
        if self.is_own_thread():
            return True
        with self._lock:
            return self._busy > 0

    # -- the threads

    def _threads_for(self, job: Job) -> int:
        return -(-job.count // self._parts_at_once(job))

    def _parts_at_once(self, job: Job) -> int:
        if self._part_seconds <= 0:
            return 1
        return max(1, min(job.count, int(_CLAIM_SECONDS / self._part_seconds)))

    def _start_thread(self) -> None:
        number = len(self._threads)
        thread = threading.Thread(target=_serve, args=(self, number), name=f"pyfastdl-worker-{number}", daemon=True)
        try:
            with deferred():  # an interrupt between the two lines would have another thread get its number
                thread.start()
                self._threads.append(thread)
        except RuntimeError:
            if not self._threads:
                raise
            # A limit on threads: those that run do the work. (Whole batches may be bound to one that is missing.)
            if self._own_queues:
                raise
            self.width.limit(len(self._threads))

    def claim(self, worker: int) -> tuple[Work, Job, int, int] | None:
        """The next parts for a thread, (work, job, first, end); None when it has to end."""
        with self._lock:
            queue = self._queues[worker if self._own_queues else 0]
            while not self._closing:
                if worker >= self.width.now:
                    if queue:
                        self._ready.notify()  # it may have been this one that was woken for the job
                    self._parked.wait(60.0)
                elif queue:
                    job = queue[0]
                    assert self._work is not None  # jobs are an epoch's
                    if job.claimed == 0:
                        try:
                            self._work.prepare(job)
                        except Exception as error:  # a thread that ended here would be waited for
                            job.error, job.error_place, job.error_worker = error, 0, worker
                    first = job.claimed
                    job.claimed = end = min(job.count, first + self._parts_at_once(job))
                    if end == job.count:
                        queue.popleft()
                    self._busy += 1
                    return self._work, job, first, end
                else:
                    self._idle += 1
                    try:
                        self._ready.wait(60.0)
                    finally:
                        self._idle -= 1
            self._ready.notify_all()
            self._parked.notify_all()
        return None

    def fail(self, job: Job, place: int, worker: int, error: BaseException) -> None:
        """A part of a job failed. Of several, the first one counts."""
        with self._lock:
            if place < job.error_place:
                job.error, job.error_place, job.error_worker = error, place, worker
                job.error_index = job.index if context.index is None else context.index

    def settle(self, work: Work, job: Job, worker: int, parts: int, wall: float, cpu: float) -> None:
        """So many parts of a job are through, with or without an error."""
        with self._lock:
            before = self._part_seconds
            self._part_seconds = wall / parts if before <= 0 else (before * 3 + wall / parts) / 4
            self._busy -= 1
            job.finished += parts
            last = job.finished == job.count
            if job.cancelled:
                if job.finished == job.claimed and job.batch is not None:
                    job.batch.drop()
                return
            if self.width.add(parts, wall, cpu):
                self._parked.notify_all()
        if not last:
            return
        try:
            if job.error is None:
                work.finish(job)
        except BaseException as error:
            job.error, job.error_worker, job.error_index = error, worker, job.index
        with self._lock:
            if job.error is not None and job.batch is not None:
                job.batch.drop()
            if job.cancelled and job.batch is not None:
                job.batch.drop()
            self._set_done(job)


def _serve(pool: ThreadPool, worker: int) -> None:
    _use_one_torch_thread()
    # Why init_fn failed: for the first job, and in words for those after it. The exception itself isn't kept: it leads
    # to the iterator that raises it, which would never be collected.
    failure: list[BaseException] = []
    broken = ""
    started = False
    while True:
        claimed = pool.claim(worker)
        if claimed is None:
            return
        work, job, first, end = claimed
        if context.info is None or context.seed != work.seed or context.epoch != work.epoch:
            context.info = make_worker_info(worker, work.num_workers, work.seed + worker, work.dataset_of(worker))
            context.seed, context.epoch = work.seed, work.epoch
        if not started:
            started = True
            try:
                if pool._init_fn is not None:
                    pool._init_fn(worker)
            except BaseException as error:
                failure.append(error)
                broken = f"worker_init_fn failed in worker thread {worker}: {error!r}"
        wall, cpu = time.perf_counter(), time.thread_time()
        for place in range(first, end):
            if job.cancelled or place >= job.error_place:
                break
            try:
                if failure:
                    raise failure.pop()
                if broken:
                    raise RuntimeError(broken)
                work.do(job, place, worker)
            except BaseException as error:
                pool.fail(job, place, worker, error)
                break
        job.loading.pop(worker, None)
        context.index = None
        pool.settle(work, job, worker, end - first, time.perf_counter() - wall, time.thread_time() - cpu)
        del work, job, claimed  # a thread that waits holds no batch


def _use_one_torch_thread() -> None:
    """torch's operators in this thread use this thread alone, as in torch's worker processes.

    By OpenMP's own call, which is about the calling thread only: ``torch.set_num_threads`` also changes what threads
    start with that are made later. (A torch without OpenMP is left as it is.)
    """
    torch.get_num_threads()  # torch sets a new thread up when it is first asked, and must not do so later
    if _omp_set_num_threads is not None:
        _omp_set_num_threads(1)


def _find_omp() -> Callable[[int], Any] | None:
    try:
        # Through the module's dependencies: the library that torch itself uses, whatever its name is.
        return ctypes.CDLL(torch._C.__file__).omp_set_num_threads
    except (OSError, AttributeError):
        return None


_omp_set_num_threads = _find_omp()

_live: Living[ThreadPool] = Living()


def _close_all() -> None:
    for pool in _live.all():
        pool.close()


atexit.register(_close_all)
