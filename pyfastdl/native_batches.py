"""Batches from the native pipeline, in order: indices go in, tensors come out."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch

from pyfastdl._pipeline import Pending, Pipeline
from pyfastdl.errors import Failure, LoaderError
from pyfastdl.order import Drawn
from pyfastdl.pipelines import Pipelines

__all__ = ["NativeBatches", "Outcome"]


@dataclasses.dataclass(eq=False)
class Outcome:
    """What became of a batch.

    Attributes:
        drawn: which it is.
        values: its parts: the images of each view, targets, indices, as far as the loader has them.
        error: why it can't be handed over; the epoch goes on behind it.
        cells: which of its samples it has; empty: all.
    """

    drawn: Drawn
    values: list[Any] = dataclasses.field(default_factory=list)
    error: BaseException | None = None
    cells: Sequence[int] = ()


class NativeBatches:
    """Batches of one epoch on their way through a native pipeline. Used by one thread at a time.

    Args:
        pipelines: where the pipeline comes from.
        capacity: the largest batch to expect.
        prefetch: batches that may be on their way at a time.
    """

    def __init__(self, pipelines: Pipelines, capacity: int, prefetch: int, seed: int, epoch: int) -> None:
        self._pipelines = pipelines
        self._prefetch = prefetch
        self._key = seed, epoch
        self._waiting: deque[Drawn] = deque()  # drawn, not opened yet
        self._open: deque[Drawn] = deque()
        self._failures: list[Failure] = []
        # What another thread may look at any time: the pipeline, its counters when it was taken, and those of the
        # pipelines before it.
        self._counted: tuple[Pipeline | None, dict[str, Any], dict[str, Any]] = None, {}, {}
        self._pipeline: Pipeline | None = None
        self._use(pipelines.take(capacity))

    # -- as all sources of batches have it

    def wants(self) -> bool:
        """Whether another batch should be put in."""
        return len(self._waiting) + len(self._open) < self._prefetch

    def put(self, drawn: Drawn) -> None:
        self._waiting.append(drawn)
        self._open_waiting()

    def is_empty(self) -> bool:
        return not self._waiting and not self._open

    def next(self, timeout: float, stop: Callable[[], bool]) -> Outcome | None:
        """The oldest batch; None when there is none any more.

        Args:
            timeout: seconds; 0 waits as long as it takes.
            stop: asked a few times a second; True ends the wait.

        Raises:
            LoaderError: nothing came in time, it was stopped, or the pipeline was closed.
        """
        while True:
            self._open_waiting()
            outcome = self._outcome(lambda: self._running().next(timeout, stop))
            assert not isinstance(outcome, Pending)
            if outcome is not None or not self._waiting:
                return outcome

    def take_failures(self) -> list[Failure]:
        """The samples that could not be loaded, since this was last asked."""
        self._collect_failures()
        failures, self._failures = self._failures, []
        return failures

    def counters(self) -> dict[str, Any]:
        """What was counted in this epoch. Any thread may ask."""
        pipeline, before, done = self._counted
        if pipeline is None:
            return done
        now = pipeline.stats()
        counted = {name: value - before[name] + done.get(name, 0) for name, value in now.items()}
        counted["peak_memory"] = max(now["peak_memory"], done.get("peak_memory", 0))
        return counted

    def close(self, broken: bool = False) -> None:
        """The pipeline goes back to where it came from; one that timed out or broke isn't used again."""
        pipeline = self._release()
        if pipeline is not None and broken:
            pipeline.close()
        elif pipeline is not None:
            self._pipelines.give_back(pipeline)

    # -- for who can't wait

    def poll(self, wait: float) -> Outcome | Pending | None:
        """:meth:`next`, or ``PENDING`` after so many seconds."""
        self._open_waiting()
        outcome = self._outcome(lambda: self._running().poll(wait))
        return Pending() if outcome is None and self._waiting else outcome

    # -- inside

    def _running(self) -> Pipeline:
        if self._pipeline is None:
            raise LoaderError("the epoch was closed while a batch was waited for")
        return self._pipeline

    def _outcome(self, take: Callable[[], tuple[Any, ...] | Pending | None]) -> Outcome | Pending | None:
        try:
            capsules = take()
        except LoaderError:
            raise
        except Exception as error:
            drawn = self._taken()
            if drawn is None:
                raise
            return Outcome(drawn, error=error)
        if isinstance(capsules, Pending):
            return capsules
        drawn = self._taken()
        if capsules is None:  # all samples of the batches that were open were left out
            return None
        assert drawn is not None
        tensors = [torch.utils.dlpack.from_dlpack(capsule) for capsule in capsules]
        return Outcome(drawn, tensors, cells=self._running().cells)

    def _taken(self) -> Drawn | None:
        """The batch that the pipeline let go of last. Those before it that lost all their samples never come."""
        drawn = None
        for _ in range(len(self._open) - self._running().open_batches()):
            drawn = self._open.popleft()
        return drawn

    def _open_waiting(self) -> None:
        """Opens batches as long as the pipeline wants some."""
        pipeline = self._running()
        while self._waiting and pipeline.wants_batch():
            if len(self._waiting[0].indices) > pipeline.batch_size:
                if pipeline.open_batches() > 0:
                    return  # the smaller ones first
                pipeline = self._grow(len(self._waiting[0].indices))
            # Let go of first: an interrupt must not open it twice.
            drawn = self._waiting.popleft()
            self._open.append(drawn)
            pipeline.open(drawn.indices, () if drawn.occurrences is None else drawn.occurrences.tolist())

    def _grow(self, batch_size: int) -> Pipeline:
        """A batch sampler gave a larger batch than the slots have room for: go on with larger ones."""
        self._open.clear()  # what is left of them lost all its samples
        pipeline = self._release()
        if pipeline is not None:
            pipeline.close()
        return self._use(self._pipelines.take(batch_size))

    def _use(self, pipeline: Pipeline) -> Pipeline:
        pipeline.start_epoch(*self._key)
        self._counted = pipeline, pipeline.stats(), self._counted[2]
        self._pipeline = pipeline
        return pipeline

    def _release(self) -> Pipeline | None:
        pipeline = self._pipeline
        if pipeline is not None:
            self._collect_failures()
            self._counted = None, {}, self.counters()
            self._pipeline = None
        return pipeline

    def _collect_failures(self) -> None:
        if self._pipeline is not None:
            self._failures += self._pipeline.take_errors()
