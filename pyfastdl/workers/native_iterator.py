"""The iterator of a DataLoader whose dataset the native core loads: whole batches, without workers."""

from __future__ import annotations

import dataclasses
import os
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from pyfastdl._pipeline import TimedOut
from pyfastdl.errors import LoaderError, SampleError
from pyfastdl.native_batches import NativeBatches, Outcome
from pyfastdl.order import Drawn
from pyfastdl.transforms.compose import Views
from pyfastdl.workers.collating import plain_collate
from pyfastdl.workers.context import Batch, Occurrences, context
from pyfastdl.workers.failures import add_note, sample_words
from pyfastdl.workers.resume import Resumable
from pyfastdl.workers.thread_works import Pinning
from pyfastdl.workers.tolerance import NOTHING, Tolerant

if TYPE_CHECKING:
    import numpy.typing as npt

    from pyfastdl.dataloader import DataLoader
    from pyfastdl.lowering.lowered import LoweredDataset

__all__ = ["NativeIterator"]


@dataclasses.dataclass
class _Task:
    """A batch that was asked for.

    Attributes:
        index: as the sampler gave it.
        occurrences: how often each came before; None for all 0.
        drawn: as the core has it; None where it isn't for the core.
    """

    index: Any
    occurrences: list[int] | None
    drawn: Drawn | None


class NativeIterator(Resumable, _BaseDataLoaderIter):
    """Hands out batches in the sampler's order. torch's base class draws the seed and asks the sampler.

    Indices are asked for as many batches ahead as torch's workers would have, and one more each time a batch is handed
    out, so that samplers and generators see the same calls at the same batches. Without workers torch asks when a batch
    is wanted: so does this, but for samplers that draw everything when they are asked first.
    """

    native = True
    _batches: NativeBatches | None = None  # nothing to give back, even if the constructor is interrupted at once

    def __init__(self, loader: DataLoader[Any], whole: tuple[LoweredDataset, npt.NDArray[Any]]) -> None:
        self._pid = os.getpid()
        self._follow(loader)
        super().__init__(loader)
        self._move = loader._mover()
        self._report = loader._report
        self._on_error = loader.on_error
        self._started = False
        self._eager = self._num_workers > 0
        self._lazy = not self._eager and not _draws_at_once(self._index_sampler)
        self._ahead = 1 if self._lazy else loader._batches_ahead(None)
        # Indices are asked for as far ahead as torch does it; batches that wait for the training loop cost memory.
        self._open_at_once = min(self._ahead, loader._native_batches())
        self._pinning = (
            Pinning(self._pin_memory_device, torch.accelerator.current_device_index()) if self._pin_memory else None
        )
        self._load_from(loader, whole)
        self._reset(loader, first_iter=True)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        if not first_iter:
            self._follow(loader)
        super()._reset(loader, first_iter)
        self._give_back()
        if not first_iter:
            whole = loader._lowering.of(loader).whole
            assert whole is not None
            self._load_from(loader, whole)
        self._occurrences = Occurrences(self._index_sampler)
        self._tasks: deque[_Task] = deque()
        self._early: Outcome | None = None
        self._drawn = 0
        self._started = self._exhausted = self._torn = False
        if self._eager:
            self._start()

    def _load_from(self, loader: DataLoader[Any], whole: tuple[LoweredDataset, npt.NDArray[Any]]) -> None:
        self._lowered = whole[0]
        self._pipelines = loader._pipelines.of(*whole, loader._decode_threads(), self._open_at_once)

    def _start(self) -> None:
        """Asks for the first batches: where the loader has workers, when its iterator is made; else with the first."""
        while len(self._tasks) < self._ahead and not self._exhausted:
            self._ask()
        drawn = [task.drawn for task in self._tasks if task.drawn is not None]
        size = getattr(self._index_sampler, "batch_size", None)
        capacity = max(
            [min(size, len(self._lowered)) if isinstance(size, int) else 1, *(len(one.indices) for one in drawn)]
        )
        self._batches = NativeBatches(
            self._pipelines, capacity, self._open_at_once, int(self._base_seed), self._progress.epoch
        )
        # Not before: after an error of the sampler, or of threads that couldn't be started, it is tried again.
        self._started = True
        for one in drawn:
            self._batches.put(one)

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
        drawn = None
        if numbers is not None:
            self._drawn += 1
            drawn = Drawn(self._drawn, numbers, None if occurrences is None else np.array(occurrences, np.uint32))
        self._tasks.append(_Task(index, occurrences, drawn))
        if self._batches is not None and drawn is not None:
            self._batches.put(drawn)

    # -- in: batches

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
        task = self._tasks[0]
        outcome = None if task.drawn is None else self._outcome(task.drawn)
        self._torn = True  # unless all of what follows is done, a batch is missing
        self._tasks.popleft()
        if outcome is None or isinstance(outcome.error, SampleError):
            if not self._lazy:
                self._ask()
            return self._by_hand(task, None if outcome is None else outcome.error)
        self._through([])
        if not self._lazy:
            self._ask()
        if outcome.error is not None:
            raise outcome.error  # no memory for that batch; the next call goes on with the one after it
        self._report.count("native")
        *views, targets = outcome.values
        return [views if isinstance(self._lowered.files.transform.native, Views) else views[0], targets]

    def _outcome(self, drawn: Drawn) -> Outcome | None:
        """What became of the oldest batch that the core has; None: it was lost, since an interrupt came between it and
        the training loop."""
        assert self._batches is not None
        if self._early is None:
            try:
                self._early = self._batches.next(self._timeout, lambda: False)
            except TimedOut as error:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds: {error}") from None
        outcome = self._early
        if outcome is None or outcome.drawn is not drawn:
            return None
        self._early = None
        return outcome

    def _by_hand(self, task: _Task, failure: BaseException | None) -> Any:
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
        self._report.count("collated")
        return plain_collate(samples)

    # -- the end

    def broken(self) -> bool:
        """Threads of the core don't die."""
        return False

    def _give_back(self) -> None:
        batches, self._batches = self._batches, None
        if batches is not None and self._pid == os.getpid():
            batches.close()

    def __del__(self) -> None:
        self._give_back()


def _draws_at_once(sampler: Any) -> bool:
    """Whether all that a sampler draws from generators is drawn when it is asked for its first index."""
    while type(sampler) is BatchSampler:
        sampler = sampler.sampler
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler.num_samples <= len(sampler.data_source)
    return type(sampler) in (SequentialSampler, SubsetRandomSampler, DistributedSampler)
