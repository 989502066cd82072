"""Python functions behind the native transforms: what is done with each sample, and with those that fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pyfastdl import _core
from pyfastdl._arguments import seed_bits
from pyfastdl.batch_decoder import BatchDecoder
from pyfastdl.calling import CallFailed, name_of, run_callables
from pyfastdl.decoding import DecodeOptions
from pyfastdl.errors import Failure, SampleError, add_note
from pyfastdl.native_batches import Outcome
from pyfastdl.order import Drawn
from pyfastdl.sources import Source
from pyfastdl.workers.blocks import ThreadBlocks
from pyfastdl.workers.collating import plain_collate
from pyfastdl.workers.context import context
from pyfastdl.workers.threads import Job, Work
from pyfastdl.workers.tolerance import NOTHING

__all__ = ["CallableJob", "CallableWork"]


class CallableJob(Job):
    """A batch on its way through the callables.

    Attributes:
        drawn: which it is.
        fatal: the pipeline broke, and with it the epoch.
        parts: of the finished batch: each view's images (None where callables make them), targets, indices; empty when
            all of its samples were left out.
        result: what default_collate made of the callables' results, a part a view; None while ``batch`` has that.
        native_failures: samples that the native part lost in it, or in batches before it that never come.
    """

    __slots__ = (*("drawn", "fatal", "images", "keys", "left_out", "native_failures", "others", "parts", "results"),)

    def __init__(self, drawn: Drawn) -> None:
        super().__init__(drawn.indices, len(drawn.indices), None)
        self.drawn = drawn
        self.fatal = False
        self.native_failures: list[Failure] = []
        self.left_out: set[int] = set()
        self.images: list[torch.Tensor] = []
        self.others: list[torch.Tensor] = []
        self.keys: list[tuple[int, int]] = []
        self.results: list[Any] = []
        self.parts: list[Any] = []

    def fill(self, outcome: Outcome, views: int) -> None:
        """With what the native part made of it. The indices come last; they say what took a lost sample's place."""
        self.images, self.others = outcome.values[:views], outcome.values[views:]
        places = outcome.cells or range(len(self.drawn.indices))
        occurrences = self.drawn.occurrences
        self.keys = [
            (int(self.drawn.indices[place]), 0 if occurrences is None else int(occurrences[place])) for place in places
        ]
        self.index = self.others[-1].tolist()
        self.count = self.error_place = len(self.keys)
        self.results = [None] * self.count


class CallableWork(Work):
    """What the threads do for a loader's epoch: each sample's image through its view's callables, then a batch of it.

    Args:
        dataset: the files.
        plans: of the native part, one a view: for the samples that take the place of others.
        sizes: (height, width) of each view's images.
        callables: of each view; where there are none, its batch stays as it is.
        on_error: as the loader has it.
        return_index: whether the batch ends with the indices.
        channels_last: whether a view's batch of images gets this format.
        blocks: memory for the batches that is used again; None: each gets new memory.
    """

    def __init__(
        self,
        dataset: Source,
        plans: list[_core.Plan],
        sizes: list[tuple[int, int]],
        callables: list[tuple[Callable[[Any], Any], ...]],
        decoding: DecodeOptions,
        *,
        num_workers: int,
        on_error: str,
        return_index: bool,
        channels_last: bool,
        blocks: ThreadBlocks | None,
        seed: int,
        epoch: int,
    ) -> None:
        self.dataset = dataset
        self.num_workers = num_workers
        self.seed = seed
        self.epoch = epoch
        self.views = len(plans)
        self._decoder = BatchDecoder(dataset.paths, plans, decoding, channels_last)
        self._sizes = sizes
        self._callables = callables
        self._on_error = on_error
        self._return_index = return_index
        self._channels_last = channels_last
        self.blocks = blocks
        self._seconds: dict[int, float] = {}  # by worker, so that each writes its own

    @property
    def seconds(self) -> float:
        """Spent in callables so far, added up over the threads."""
        return sum(list(self._seconds.values()))

    def dataset_of(self, worker: int) -> Any:
        return self.dataset

    def prepare(self, job: Job) -> None:
        if self.blocks is not None:
            job.batch = self.blocks.batch(job.count)

    def do(self, job: Job, place: int, worker: int) -> None:
        assert isinstance(job, CallableJob)
        index = job.index[place]
        context.index, context.occurrence = job.keys[place]
        job.loading[worker] = index
        begin = time.perf_counter()
        try:
            self._write(job, place, self._run([images[place] for images in job.images]))
            return
        except CallFailed as error:
            failure = error
        finally:
            self._seconds[worker] = self._seconds.get(worker, 0.0) + time.perf_counter() - begin
        try:
            self._failed(job, place, index, failure)
        finally:
            del failure  # its traceback leads here and to the image: a circle that would keep the batch's slot

    def finish(self, job: Job) -> None:
        assert isinstance(job, CallableJob)
        places = [place for place in range(job.count) if place not in job.left_out]
        if places:
            try:
                job.result = job.batch.finish(_collate) if job.batch is not None else _collate(job.results)
            except Exception as error:
                names = ", ".join(name_of(call) for callables in self._callables for call in callables)
                add_note(error, f"Raised while default_collate made a batch of what the transforms ({names}) returned.")
                raise
            images = [
                None if callables else _rows(images, places)
                for images, callables in zip(job.images, self._callables, strict=True)
            ]
            others = job.others if self._return_index else job.others[:-1]
            job.parts = images + [_rows(other, places) for other in others]
        elif job.batch is not None:
            job.batch.drop()
        job.images, job.others, job.results = [], [], []

    def take(self, job: CallableJob) -> list[Any]:
        """The parts of a finished batch, for the training loop."""
        in_block = job.batch is not None and job.batch.written
        made = iter(job.batch.take() if in_block and job.batch is not None else job.result)
        return [self._formatted(next(made)) if part is None else part for part in job.parts]

    def _formatted(self, batch: Any) -> Any:
        if self._channels_last and isinstance(batch, torch.Tensor) and batch.dim() == 4:
            return batch.contiguous(memory_format=torch.channels_last)
        return batch

    def _run(self, images: list[torch.Tensor]) -> list[Any]:
        """What becomes of the image of each view that has callables."""
        return [
            run_callables(image, callables)
            for image, callables in zip(images, self._callables, strict=True)
            if callables
        ]

    def _write(self, job: CallableJob, place: int, results: Any) -> None:
        if job.batch is None:
            job.results[place] = results
        elif results is NOTHING:
            job.batch.leave_out(place)
        else:
            job.batch.write(results, place)

    def words(self, index: int) -> str:
        return f"sample {index} ({self.dataset.paths[index]})"

    # -- failures

    def _failed(self, job: CallableJob, place: int, index: int, failure: CallFailed) -> None:
        failed = [(index, self.dataset.paths[index], failure.reason)]
        by, passes = None, failure.may_pass_over() and self._on_error != "raise"
        if passes and self._on_error == "replace":
            by = self._replace(job, place, index, failed)
        job.pass_over(place, [(*one, by) for one in failed])
        if passes and self._on_error == "skip":
            job.left_out.add(place)
            self._write(job, place, NOTHING)
        elif by is None:
            error = failure.noted(self.words(index))
            if passes:
                add_note(error, f"No replacement was found: {len(failed) - 1} other samples failed too.")
            raise error

    def _replace(self, job: CallableJob, place: int, index: int, failed: list[tuple[int, str, str]]) -> int | None:
        """Puts another sample in the place: the ones that the core would try, with the random numbers of the place.
        Says which; None when none was left to try. Adds those that fail as well to ``failed``."""
        first, occurrence = job.keys[place]
        tried = {first, index}
        attempt = 0
        while True:
            other = _core.replacement(seed_bits(self.seed), self.epoch, first, occurrence, len(self.dataset), attempt)
            attempt += 1
            if other is None:
                return None
            if other in tried:
                continue
            tried.add(other)
            try:
                images = self._load(other, first, occurrence)
                result = self._run(images)
            except (CallFailed, SampleError) as error:
                if isinstance(error, CallFailed) and not error.may_pass_over():
                    raise error.noted(self.words(other)) from None
                failed.append((other, self.dataset.paths[other], error.reason))
                continue
            except (OSError, ValueError) as error:
                failed.append((other, self.dataset.paths[other], str(error)))
                continue
            self._write(job, place, result)
            for view, image in enumerate(images):
                if not self._callables[view]:
                    job.images[view][place] = image
            if len(job.others) > 1:
                assert self.dataset.target_array is not None
                job.others[0][place] = torch.as_tensor(np.array(self.dataset.target_array[other]))
            job.others[-1][place] = other
            return other

    def _load(self, index: int, first: int, occurrence: int) -> list[torch.Tensor]:
        images = self._decoder.one(index, self.seed, self.epoch, occurrence, place=first)
        for image, size in zip(images, self._sizes, strict=True):
            height, width = image.shape[1:]
            if (height, width) != size:
                reason = f"it is {height} x {width}, and the others are {size[0]} x {size[1]} (height x width)"
                raise SampleError(self.dataset.paths[index], index, reason)
        return images


def _collate(samples: list[Any]) -> Any:
    return plain_collate([sample for sample in samples if sample is not NOTHING])


def _rows(tensor: torch.Tensor, places: list[int]) -> torch.Tensor:
    """Those rows; the tensor itself when it has no others."""
    return tensor if len(places) == len(tensor) else tensor[places]
