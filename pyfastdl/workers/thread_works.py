"""What worker threads do with a job: a batch by samples, a batch as a whole, or the next batch of an iterable."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch.utils.data._utils import fetch
from torch.utils.data._utils import pin_memory as torch_pinning

from pyfastdl.workers.blocks import ThreadBlocks
from pyfastdl.workers.collating import plain_collate
from pyfastdl.workers.context import Batch, context
from pyfastdl.workers.open_files import refuse_shared
from pyfastdl.workers.states import WorkerDataset
from pyfastdl.workers.threads import Job, Work
from pyfastdl.workers.tolerance import NOTHING, Tolerant, tracks_samples

__all__ = ["EXHAUSTED", "Iterables", "Pinning", "Samples", "Whole"]


class _Exhausted:
    """The result of a job whose worker's iterable has ended."""


EXHAUSTED = _Exhausted()


@dataclasses.dataclass(frozen=True)
class Pinning:
    """Where finished batches are page-locked: torch's pin_memory."""

    device: str | None
    index: int

    def __call__(self, batch: Any) -> Any:
        # Each thread says which device it means: otherwise it makes a context on the first one.
        torch.accelerator.set_device_index(self.index)
        return torch_pinning.pin_memory(batch, self.device)  # type: ignore[no-untyped-call]


@dataclasses.dataclass
class _Common(Work):
    dataset: Any
    owned: list[WorkerDataset]  # one a worker, where they don't share the dataset, or each has an iterator
    on_error: str
    num_workers: int
    seed: int
    epoch: int
    blocks: ThreadBlocks
    pinning: Pinning | None
    check_files: bool  # whether files that the dataset opened are to be looked for

    def dataset_of(self, worker: int) -> Any:
        return self.owned[worker].dataset if self.owned else self.dataset

    def prepare(self, job: Job) -> None:
        """Its batch is made when the samples are there."""

    def write(self, job: Job, samples: list[Any]) -> None:
        """A whole batch of samples for default_collate."""
        job.batch = batch = self.blocks.batch(len(samples))
        for place, sample in enumerate(samples):
            batch.write(sample, place)

    def finish(self, job: Job) -> None:
        if self.check_files:
            refuse_shared(self.dataset)  # it may have opened them for the first sample
            self.check_files = False
        if job.batch is not None:
            job.result = job.batch.finish(plain_collate)
        if self.pinning is not None and job.result is not EXHAUSTED and job.result is not NOTHING:
            if job.batch is not None and job.batch.written:
                job.result = job.batch.take()
                job.batch = None
            job.result = self.pinning(job.result)


@dataclasses.dataclass
class Samples(_Common):
    """Map-style, default_collate: any thread may load any sample."""

    def prepare(self, job: Job) -> None:
        job.batch = self.blocks.batch(job.count)

    def do(self, job: Job, place: int, worker: int) -> None:
        index = job.index[place]
        job.loading[worker] = context.index = index
        context.occurrence = job.occurrences[place] if job.occurrences is not None else 0
        assert job.batch is not None
        if self.on_error == "raise":
            job.batch.write(self.dataset[index], place)
            return
        tolerant = Tolerant(self.dataset, self.on_error)
        try:
            sample = tolerant.load(index, context.occurrence)
        finally:
            job.pass_over(place, tolerant.take_failures())
        if sample is NOTHING:
            job.batch.leave_out(place)
        else:
            job.batch.write(sample, place)


@dataclasses.dataclass
class Whole(_Common):
    """Map-style with a collate_fn, a ``__getitems__`` or a state of the user's, or without batches: one thread does it
    all."""

    collate_fn: Any  # None: default_collate
    auto_collation: bool

    def do(self, job: Job, place: int, worker: int) -> None:
        # One that is shared is asked for the failures of this job alone.
        own = self.owned[worker] if self.owned else WorkerDataset(self.dataset, self.on_error, None)
        own.restore()
        try:
            self._load(job, worker, own.for_fetcher)
        finally:
            job.pass_over(place, own.take_failures())
            if self.owned:
                job.state = own.state()

    def _load(self, job: Job, worker: int, dataset: Any) -> None:
        fetcher = fetch._MapDatasetFetcher(dataset, self.auto_collation, _identity, False)
        index = job.index
        job.loading[worker] = index
        if (
            self.auto_collation
            and type(index) in (list, tuple)
            and (self.on_error != "raise" or tracks_samples(dataset))
        ):
            index = Batch(index, job.occurrences)
        elif not self.auto_collation:
            context.index = index
            context.occurrence = job.occurrences[0] if job.occurrences is not None else 0
        data = fetcher.fetch(index)  # type: ignore[no-untyped-call]
        context.index = None
        if data is NOTHING:
            job.result = NOTHING
        elif self.collate_fn is not None:
            job.result = self.collate_fn(data)
        elif type(data) is list and data:
            self.write(job, data)
        else:
            job.result = plain_collate(data)


@dataclasses.dataclass
class Iterables(_Common):
    """Iterable-style: each thread goes through an iterator of its own, a whole batch at a time."""

    collate_fn: Any
    auto_collation: bool
    drop_last: bool

    def __post_init__(self) -> None:
        self._fetchers: dict[int, Any] = {}

    def do(self, job: Job, place: int, worker: int) -> None:
        job.loading[worker] = job.index
        own = self.owned[worker]
        try:
            self._load(job, worker, own.for_fetcher)
        finally:
            job.state = own.state()

    def _load(self, job: Job, worker: int, dataset: Any) -> None:
        try:
            if worker not in self._fetchers:
                self._fetchers[worker] = fetch._IterableDatasetFetcher(
                    dataset, self.auto_collation, _identity, self.drop_last
                )
            data = self._fetchers[worker].fetch(job.index)
        except StopIteration:
            job.result = EXHAUSTED
            return
        if self.collate_fn is not None:
            job.result = self.collate_fn(data)
        else:
            self.write(job, data)


def _identity(data: Any) -> Any:
    return data
