"""The iterator of a DataLoader whose workers are threads."""

from __future__ import annotations

import copy
import os
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data.dataloader import _DatasetKind

from pyfastdl.errors import LoaderError
from pyfastdl.workers.blocks import ThreadBlocks
from pyfastdl.workers.collating import is_default
from pyfastdl.workers.context import Occurrences
from pyfastdl.workers.failures import described, reraise
from pyfastdl.workers.interrupts import deferred
from pyfastdl.workers.open_files import refuse_shared
from pyfastdl.workers.resume import Resumable
from pyfastdl.workers.states import WorkerDataset, has_state
from pyfastdl.workers.thread_works import EXHAUSTED, Iterables, Pinning, Samples, Whole
from pyfastdl.workers.threads import Job, ThreadPool, Work
from pyfastdl.workers.tolerance import NOTHING, has_getitems
from pyfastdl.workers.view import LoaderView

if TYPE_CHECKING:
    from pyfastdl.dataloader import DataLoader

__all__ = ["ThreadIterator"]


class ThreadIterator(Resumable):
    """Hands out batches in the sampler's order. torch's base class draws the seed and asks the sampler.

    As many indices are asked for ahead as torch's workers would have, and one more each time a batch is handed out, so
    that samplers and generators see the same calls at the same batches.
    """

    _pool: ThreadPool | None = None  # nothing to end, even if the constructor is interrupted before its first line

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._pid = os.getpid()
        self._timed_out = False
        self._follow(loader)
        view: Any = LoaderView(loader)
        super().__init__(view)
        self._iterable = self._dataset_kind == _DatasetKind.Iterable
        self._width = loader._width()
        self._ahead = loader._batches_ahead(self._width)
        self._in_order = loader.in_order
        self._move = loader._mover()
        self._init_fn = loader.worker_init_fn
        capacity = getattr(loader.batch_sampler, "batch_size", None)
        capacity = capacity if isinstance(capacity, int) else 1
        self._idle = loader._idle_blocks
        self._blocks = _taken(self._idle, self._ahead, capacity) or ThreadBlocks(self._ahead, capacity, loader._report)
        self._on_error = loader.on_error
        self._owned = self._own_datasets()
        self._pinning = (
            Pinning(self._pin_memory_device, torch.accelerator.current_device_index()) if self._pin_memory else None
        )
        self._jobs: deque[Job] = deque()
        self._reset(loader, first_iter=True)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._torn = True  # until all is asked for
        if not first_iter:
            self._follow(loader)
        super()._reset(loader, first_iter)
        if self._width.most > 1:
            refuse_shared(self._dataset)
        if self._pool is not None:
            self._pool.cancel(self._jobs)
        if self._pool is None:
            self._pool = ThreadPool(self._width, self._init_fn, bool(self._owned))
        self._jobs.clear()
        self._occurrences = Occurrences(self._index_sampler)
        self._alive = [True] * self._num_workers
        self._turns = self._progress.turns(self._num_workers)
        self._work = self._make_work(self._progress.epoch)
        self._pool.start_epoch(self._work)
        for _ in range(self._ahead):
            self._put()
        self._torn = False

    def _own_datasets(self) -> list[WorkerDataset]:
        """For each worker an iterator of its own, and of a dataset with a state a copy, as each process has one: the
        state is one worker's. Empty: they share the dataset."""
        stateful = has_state(self._dataset)
        if not self._iterable and not stateful:
            return []
        try:
            copies = [copy.deepcopy(self._dataset) if stateful else self._dataset for _ in range(self._num_workers)]
        except Exception as error:
            raise TypeError(
                f"{type(self._dataset).__name__} has a state_dict(), so each worker thread needs a copy of its own, "
                f'but it can\'t be copied ({error}): give it a __deepcopy__, or use worker_mode="process"'
            ) from error
        starts = self._progress.place.workers
        return [WorkerDataset(one, self._on_error, starts.get(worker)) for worker, one in enumerate(copies)]

    def _make_work(self, epoch: int) -> Work:
        collate_fn = None if is_default(self._collate_fn) else self._collate_fn
        common: dict[str, Any] = {
            "dataset": self._dataset,
            "owned": self._owned,
            "on_error": self._on_error,
            "num_workers": self._num_workers,
            "seed": self._base_seed,
            "epoch": epoch,
            "blocks": self._blocks,
            "pinning": self._pinning,
            "check_files": self._width.most > 1,
        }
        if self._iterable:
            return Iterables(
                **common, collate_fn=collate_fn, auto_collation=self._auto_collation, drop_last=self._drop_last
            )
        if collate_fn is None and self._auto_collation and not self._owned and not has_getitems(self._dataset):
            return Samples(**common)
        return Whole(**common, collate_fn=collate_fn, auto_collation=self._auto_collation)

    def _put(self) -> None:
        """Asks the sampler for one more batch, and gives it to the threads."""
        assert self._pool is not None
        try:
            index = self._next_index()
        except StopIteration:
            return
        worker = None
        if self._owned:
            for _ in range(self._num_workers):
                worker = next(self._turns)
                if self._alive[worker]:
                    break
            else:
                return
        count, occurrences = 1, None
        if not self._iterable:
            if self._auto_collation:
                occurrences = self._occurrences.of(index) if isinstance(index, (list, tuple)) else None
                if isinstance(self._work, Samples):
                    index = index if isinstance(index, (list, tuple)) else list(index)
                    count = len(index)
            else:
                occurrences = self._occurrences.of([index])
        job = Job(index, count, occurrences, worker)
        self._jobs.append(job)
        if count:
            self._pool.put(job)
        else:  # a sampler's empty batch
            job.error, job.done = IndexError("list index out of range"), True

    def _next_data(self) -> Any:
        if self._pid != os.getpid():
            raise LoaderError(
                f"this loader's iterator was made in process {self._pid} and is used in its forked child "
                f"{os.getpid()}, where its threads don't exist: call iter(loader) in the child"
            )
        batch: Any = NOTHING
        while batch is NOTHING:
            self._torn = False  # what was left out is through
            batch = self._next_batch()
        return batch if self._move is None else self._move(batch)

    def _next_batch(self) -> Any:
        """The next batch, or NOTHING where one was left out."""
        if not self._jobs or self._pool is None:
            if not self._persistent_workers:
                self._close()
            raise StopIteration
        job = self._wait()
        self._torn = True  # unless all of what follows is done, batches are missing
        self._jobs.remove(job)
        if job.result is EXHAUSTED:
            assert job.worker is not None
            if job.state is not None:
                self._progress.ends[job.worker] = job.state
            first, self._alive[job.worker] = self._alive[job.worker], False
            if first:
                self._put()
            return NOTHING
        self._through(job.passed_over(), job.worker or 0, job.state)
        self._put()
        if job.error is not None:
            reraise(job, self._dataset)
        if job.batch is not None and job.batch.written:
            return job.batch.take()
        return job.result

    def _wait(self) -> Job:
        assert self._pool is not None
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        job = self._pool.wait(self._jobs[0] if self._in_order else None, self._jobs, deadline)
        if job is None:
            first, self._timed_out = self._jobs[0], True
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds{described(first, self._dataset)}")
        return job

    def broken(self) -> bool:
        """Whether a thread hangs, so that the next epoch is better off with new ones."""
        return self._pool is not None and self._timed_out and self._pool.stuck()

    def _close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None and self._pid == os.getpid():
            with deferred(again=True):
                self._end(pool)

    def _end(self, pool: ThreadPool) -> None:
        pool.cancel(self._jobs)
        # Threads that were found to hang are not waited for once more.
        pool.close(*((0.0,) if self._timed_out and pool.stuck() else ()))
        if not pool.stuck():
            self._idle[:] = [self._blocks]  # for the next epoch: its memory is there, and its schema known

    def __del__(self) -> None:
        self._close()


def _taken(idle: list[Any], ahead: int, capacity: int) -> ThreadBlocks | None:
    """The ring of an epoch that is over, if it is one for this epoch. (A list's pop is atomic.)"""
    blocks = idle.pop() if idle else None
    return blocks if isinstance(blocks, ThreadBlocks) and blocks.fits(ahead, capacity) else None
