"""The native pipelines of a loader: each epoch has one to itself, and an idle one is kept for the next epoch.

A forked child makes its own: threads of the parent's don't exist there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyfastdl import _core
from pyfastdl._pipeline import Pipeline
from pyfastdl.decoding import DecodeOptions
from pyfastdl.errors import SampleError
from pyfastdl.images import decode_with

if TYPE_CHECKING:
    import numpy.typing as npt

    from pyfastdl.lowering.lowered import LoweredDataset

__all__ = ["KeptPipelines", "Pipelines"]

# Threads that wait for files which the page cache doesn't have; they use no CPU while they wait.
_READ_THREADS = 8


class Pipelines:
    """Makes them, lends them and keeps one.

    Args:
        paths: the files.
        plans: what becomes of each sample: one plan a view.
        decoding: the options of decoding.
        **config: more that ``_core.Pipeline`` takes.
    """

    def __init__(self, paths: _core.PathTable, plans: list[_core.Plan], decoding: DecodeOptions, **config: Any) -> None:
        self._paths = paths
        self._plans = plans
        self._decoding = decoding
        self._config = config
        self._closed = False
        # One at most, when nobody is in give_back(). No lock: append() and pop() are atomic, and what comes too late to
        # be ended by close() ends itself.
        self._idle: list[Pipeline] = []
        self._cell_sizes = [plan.static_output_size() for plan in plans]  # None: as the first image's

    def take(self, batch_size: int) -> Pipeline:
        """An idle pipeline with slots for batches of that size, or a new one."""
        try:
            pipeline = self._idle.pop()
        except IndexError:
            pass
        else:
            if pipeline.usable_here() and pipeline.batch_size >= batch_size:
                return pipeline
            pipeline.close()
        return Pipeline(
            paths=self._paths,
            views=list(zip(self._plans, self.cell_sizes(), strict=True)),
            batch_size=batch_size,
            read_threads=_READ_THREADS,
            **self._config,
            **self._decoding.config(),
        )

    def give_back(self, pipeline: Pipeline) -> None:
        """Takes a pipeline that nobody uses any more."""
        if not pipeline.usable_here():
            return
        pipeline.cancel()
        self._idle.append(pipeline)
        self._end_idle(0 if self._closed else 1)

    def close(self) -> None:
        """Ends the idle one; those that come back later end then."""
        self._closed = True
        self._end_idle(0)

    def _end_idle(self, but: int) -> None:
        while len(self._idle) > but:
            try:
                pipeline = self._idle.pop(0)
            except IndexError:  # another thread took it
                return
            pipeline.close()

    def cell_sizes(self) -> list[tuple[int, int]]:
        """(height, width) of each view's images.

        Where a transform fixes none, what it makes of the first image that can be loaded all others must become.
        """
        if None in self._cell_sizes:
            first = self._first_size()
            self._cell_sizes = [
                size or plan.output_size(*first) for plan, size in zip(self._plans, self._cell_sizes, strict=True)
            ]
        return [size for size in self._cell_sizes if size is not None]

    def _first_size(self) -> tuple[int, int]:
        for index in range(min(len(self._paths), 10)):
            try:
                image = decode_with(self._paths[index], self._decoding)
            except (OSError, SampleError) as error:
                failure = error
                continue
            return image.shape[0], image.shape[1]
        reason = failure.reason if isinstance(failure, SampleError) else str(failure)
        raise SampleError(
            self._paths[0],
            0,
            f"none of the first images can be loaded, so their size is unknown: {reason}",
        )


class KeptPipelines:
    """The pipelines of a loader whose dataset may become another one between two epochs. A copy has none."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[Any, ...], Pipelines] | None = None  # and what they were made for

    def of(self, lowered: LoweredDataset, targets: npt.NDArray[Any], threads: int, prefetch: int) -> Pipelines:
        """Those for a dataset.

        Args:
            targets: of all its samples; the same ones as long as it is the same object.
            threads: that decode.
            prefetch: batches that are worked on at a time.
        """
        made_for = lowered, threads, prefetch
        if self._kept is not None:
            if self._kept[0] == made_for:
                return self._kept[1]
            self._kept[1].close()
        pipelines = Pipelines(
            lowered.paths,
            lowered.plans,
            lowered.files.decoding,
            targets=_core.Targets(targets),
            prefetch=prefetch,
            decode_threads=threads,
            return_index=False,
            on_error="raise",  # the user's dataset has the last word
        )
        self._kept = made_for, pipelines
        return pipelines

    def __reduce__(self) -> Any:
        return KeptPipelines, ()
