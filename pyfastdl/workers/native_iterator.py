"""The iterator of a DataLoader whose dataset the native core loads: whole batches, without workers."""

from __future__ import annotations

import dataclasses
import os
from collections import deque
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from pyfastdl import _core
from pyfastdl._pipeline import Pipeline, TimedOut
from pyfastdl.errors import LoaderError, SampleError
from pyfastdl.transforms.compose import Views
from pyfastdl.workers.collating import plain_collate
from pyfastdl.workers.context import Batch, Occurrences, context
from pyfastdl.workers.failures import add_note, sample_words
from pyfastdl.workers.resume import Resumable
from pyfastdl.workers.thread_works import Pinning
from pyfastdl.workers.tolerance import NOTHING, Tolerant
from pyfastdl.workers.turns import Turns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pyfastdl.dataloader import DataLoader
    from pyfastdl.lowering.lowered import LoweredDataset

__all__ = ["NativeIterator"]

_READ_THREADS = 8


@dataclasses.dataclass
class _Task:
    """A batch that was asked for.

    Attributes:
        index: as the sampler gave it.
        numbers: as the core takes it; None where it isn't for the core.
        occurrences: how often each came before; None for all 0.
        opened: the core has it.
    """

    index: Any
    numbers: npt.NDArray[np.int64] | None
    occurrences: list[int] | None
    opened: bool = False


class NativeIterator(Resumable, _BaseDataLoaderIter):
    """Hands out batches in the sampler's order. torch's base class draws the seed and asks the sampler.

    Indices are asked for as many batches ahead as torch's workers would have, and one more each time a batch is handed
    out, so that samplers and generators see the same calls at the same batches. Without workers torch asks when a batch
    is wanted: so does this, but for samplers that draw everything when they are asked first.
    """

    native = True
    _pipeline: Pipeline | None = None  # nothing to give back, even if the constructor is interrupted at once

    def __init__(self, loader: DataLoader[Any], whole: tuple[LoweredDataset, npt.NDArray[Any]]) -> None:
        self._pid = os.getpid()
        self._load_from(whole)
        self._follow(loader)
        super().__init__(loader)
        self._taking = Turns()  # threads of the user's may share an iterator
        self._move = loader._mover()
        self._idle = loader._idle_pipelines
        self._report = loader._report
        self._on_error = loader.on_error
        self._threads = loader._decode_threads()
        self._started = False
        self._eager = self._num_workers > 0
        self._lazy = not self._eager and not _draws_at_once(self._index_sampler)
        self._ahead = 1 if self._lazy else loader._batches_ahead(None)
        # Indices are asked for as far ahead as torch does it; batches that wait for the training loop cost memory.
        self._open_at_once = min(self._ahead, loader._native_batches())
        self._pinning = (
            Pinning(self._pin_memory_device, torch.accelerator.current_device_index()) if self._pin_memory else None
        )
        self._reset(loader, first_iter=True)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        if not first_iter:
            self._follow(loader)
        super()._reset(loader, first_iter)
        self._give_back()
        if not first_iter:
            whole = loader._lowering.of(loader).whole
            assert whole is not None
            self._load_from(whole)
        self._occurrences = Occurrences(self._index_sampler)
        self._tasks: deque[_Task] = deque()
        self._started = self._exhausted = False
        if self._eager:
            self._start()

    def _load_from(self, whole: tuple[LoweredDataset, npt.NDArray[Any]]) -> None:
        self._lowered, self._targets = whole[0], _core.Targets(whole[1])

    def _start(self) -> None:
        """Asks for the first batches: where the loader has workers, when its iterator is made; else with the first."""
        while len(self._tasks) < self._ahead and not self._exhausted:
            self._ask()
        largest = max([len(task.numbers) for task in self._tasks if task.numbers is not None], default=0)
        size = getattr(self._index_sampler, "batch_size", None)
        capacity = max(largest, min(size, len(self._lowered)) if isinstance(size, int) else 1)
        self._pipeline = self._taken(capacity) or self._made(capacity)
        self._pipeline.start_epoch(int(self._base_seed), self._progress.epoch)
        # Not before: after an error of the sampler, or of threads that couldn't be started, it is tried again.
        self._started = True
        self._open()

    def _taken(self, capacity: int) -> Pipeline | None:
        """That of an epoch that is over, if it is one for this epoch. (A list's pop is atomic.)"""
        kept = self._idle.pop() if self._idle else None
        if kept is None:
            return None
        lowered, targets, batches, pipeline = kept
        if (
            lowered is self._lowered
            and batches == self._open_at_once
            and pipeline.batch_size >= capacity
            and pipeline.usable_here()
        ):
            self._targets = targets
            return pipeline  # type: ignore[no-any-return]
        pipeline.close()
        return None

    def _made(self, capacity: int) -> Pipeline:
        lowered = self._lowered
        return Pipeline(
            paths=lowered.paths,
            views=list(zip(lowered.plans, lowered.sizes(), strict=True)),
            targets=self._targets,
            batch_size=capacity,
            prefetch=self._open_at_once,
            decode_threads=self._threads,
            read_threads=_READ_THREADS,
            return_index=False,
            on_error="raise",  # the user's dataset has the last word
            **lowered.files.decoding.config(),
        )

    # -- out: indices

    def _ask(self) -> None:
        """Asks the sampler for one more batch."""
        if self._exhausted:
            return
        try:
            index = self._next_index()
        except StopIteration:
            self._exhausted = True
            return
        occurrences = self._occurrences.of(index) if isinstance(index, (list, tuple)) else None
        numbers = self._lowered.known(index) if isinstance(index, (list, tuple)) and index else None
        self._tasks.append(_Task(index, numbers, occurrences))

    def _open(self) -> None:
        """Gives the core what it has room for, in order."""
        pipeline = self._pipeline
        assert pipeline is not None
        for task in self._tasks:
            if task.opened or task.numbers is None:
                continue
            if len(task.numbers) > pipeline.batch_size:
                if pipeline.open_batches():
                    return  # the smaller ones first
                pipeline.close()
                pipeline = self._pipeline = self._made(len(task.numbers))
                pipeline.start_epoch(int(self._base_seed), self._progress.epoch)
            if not pipeline.wants_batch():
                return
            pipeline.open(task.numbers, task.occurrences or ())
            task.opened = True

    # -- in: batches

    def _next_data(self) -> Any:
        if self._pid != os.getpid():
            raise LoaderError(
                f"this loader's iterator was made in process {self._pid} and is used in its forked child "
                f"{os.getpid()}, where its threads don't exist: call iter(loader) in the child"
            )
        batch: Any = NOTHING
        with self._taking:
            while batch is NOTHING:
                batch = self._next_batch()
        if self._pinning is not None:
            batch = self._pinning(batch)
        return batch if self._move is None else self._move(batch)

    def _next_batch(self) -> Any:
        if not self._started:
            self._start()
        if self._lazy and not self._tasks:
            self._ask()
        if not self._tasks:
            self._give_back()
            raise StopIteration
        task, capsules, failure = self._tasks[0], None, None
        self._open()
        if task.opened:
            try:
                capsules = self._capsules()
            except SampleError as error:
                failure = error
        self._tasks.popleft()
        if capsules is not None:
            self._through([])
        if not self._lazy:
            self._ask()
            self._open()
        if capsules is None:
            return self._by_hand(task, failure)
        self._report.native += 1
        *views, targets = (torch.utils.dlpack.from_dlpack(capsule) for capsule in capsules)
        return [views if isinstance(self._lowered.files.transform.native, Views) else views[0], targets]

    def _capsules(self) -> tuple[Any, ...]:
        """The oldest open batch."""
        assert self._pipeline is not None
        try:
            capsules = self._pipeline.next(self._timeout)
        except TimedOut as error:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds: {error}") from None
        except MemoryError:
            self._tasks.popleft()  # that batch is over; the next call goes on with the one after it
            self._through([])
            raise
        if capsules is None:
            raise LoaderError("an interrupt came between a batch and the training loop: start another epoch")
        return capsules

    def _by_hand(self, task: _Task, failure: SampleError | None) -> Any:
        """A batch that the core couldn't make: sample by sample, those that it can't load by the user's dataset."""
        before = context.seed, context.epoch, context.index, context.occurrence  # a loader within a dataset
        context.seed, context.epoch, context.index = int(self._base_seed), self._progress.epoch, None
        tolerant = None if self._on_error == "raise" else Tolerant(self._lowered, self._on_error)
        try:
            indices = Batch(list(task.index), task.occurrences)
            samples = (self._lowered if tolerant is None else tolerant).__getitems__(indices)
        except Exception as error:
            where = sample_words(context.index if context.index is not None else task.index, self._dataset)
            add_note(error, f"Raised while pyfastdl.DataLoader loaded {where}.")
            if failure is not None:
                add_note(error, f"pyfastdl itself said: {failure}")
            raise
        finally:
            context.seed, context.epoch, context.index, context.occurrence = before
            self._through([] if tolerant is None else tolerant.take_failures())
        if samples is NOTHING:
            return NOTHING
        self._report.collated += 1
        return plain_collate(samples)

    # -- the end

    def broken(self) -> bool:
        """Threads of the core don't die."""
        return False

    def _give_back(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is None or self._pid != os.getpid():
            return
        if self._idle:
            pipeline.close()
        else:
            pipeline.cancel()
            self._idle.append((self._lowered, self._targets, self._open_at_once, pipeline))

    def __del__(self) -> None:
        self._give_back()


def _draws_at_once(sampler: Any) -> bool:
    """Whether all that a sampler draws from generators is drawn when it is asked for its first index."""
    while type(sampler) is BatchSampler:
        sampler = sampler.sampler
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler.num_samples <= len(sampler.data_source)
    return type(sampler) in (SequentialSampler, SubsetRandomSampler, DistributedSampler)
