"""Epoch: the iterator of NativeLoader."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import torch

from pyfastdl.errors import LoaderError
from pyfastdl.stats import Stats

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pyfastdl._pipeline import Pipeline
    from pyfastdl.loader import NativeLoader

__all__ = ["Epoch"]

# Native counters that Stats has under the same name, and those under another.
_COUNTERS = (
    "samples", "batches", "copied_batches", "failed_samples", "pillow_samples", "region_samples",
    "untrusted_samples", "libjpeg_samples", "file_bytes", "cached_reads",
    "waited_reads", "read_s", "decode_s", "transform_s", "wait_memory_s", "peak_memory",
)  # fmt: skip
_RENAMED = {"idle_s": "wait_work_s", "wait_s": "wait_batch_s"}


class Epoch:
    """Goes through one epoch; ``iter(loader)`` makes it.

    It has a pipeline to itself from start to end, so that several may be alive at once, and hands it back when it is
    used up, closed or dropped. Threads may share it: each batch goes to one of them.
    """

    def __init__(self, loader: NativeLoader, seed: int, epoch: int) -> None:
        self._pipeline: Pipeline | None = None
        self._loader = loader
        self._pid = os.getpid()
        self._lock = threading.Lock()  # one thread at a time opens batches and takes one
        self._owner: int | None = None  # that thread
        self._closing = False  # close() was called meanwhile
        self._cut_short = ""  # why no more batches come, where some are missing
        self._fault: Exception | None = None  # of the sampler: raised when the batches before it are handed over
        self._seed = seed
        self._epoch = epoch
        self._batches = loader._batches.batches(seed, epoch)
        self._waiting: npt.NDArray[np.int64] | None = None  # a batch that isn't opened yet
        self._exhausted = False
        self._before: dict[str, Any] = {}  # the pipeline's counters when it was taken
        self._done: dict[str, Any] = {}  # of pipelines already given back
        self._started = self._latest = time.monotonic()
        self._handed_over = False
        self._failed = 0
        self._use(loader._take_pipeline(loader._batches.capacity))
        self._fill()

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        if self._pid != os.getpid():
            raise LoaderError(
                f"this loader's iterator was made in process {self._pid} and is used in its forked child "
                f"{os.getpid()}, where its threads don't exist: call iter(loader) in the child"
            )
        if self._owner == threading.get_ident():
            raise LoaderError(
                "the next batch was asked for while this thread is waiting for one already (from a signal handler or a "
                "sampler): take one batch at a time"
            )
        with self._lock:
            self._owner = threading.get_ident()
            try:
                tensors = self._next_tensors()
            finally:
                self._owner = None
        views = self._loader._staging.views
        batch = (tuple(tensors[:views]) if self._loader._has_views else tensors[0], *tensors[views:])
        return batch[0] if len(batch) == 1 else batch

    def _next_tensors(self) -> list[torch.Tensor]:
        if self._closing:
            self._finish()
        if self._pipeline is None:
            if self._cut_short:
                raise LoaderError(self._cut_short)
            raise StopIteration
        try:
            capsules = self._next_capsules()
        except LoaderError as error:
            self._abandon(str(error))
            raise
        finally:
            self._collect_errors()
            self._latest = time.monotonic()
        if capsules is None:
            self._give_back()
            if not self._handed_over and self._failed:
                raise LoaderError(
                    f"not one of {self._failed} samples could be loaded; the first is "
                    f"{self._loader.errors[-self._failed :][0] if self._loader.errors else 'unknown'}: "
                    "check the files"
                )
            raise StopIteration
        self._handed_over = True
        return self._loader._staging([torch.utils.dlpack.from_dlpack(capsule) for capsule in capsules])

    def close(self) -> None:
        """Ends the epoch here. May be called again; a thread that waits for a batch gets a LoaderError, and so does
        whoever asks for another one, unless all were handed over: half an epoch must not look like a whole one."""
        if self._pid != os.getpid():
            self._pipeline = None
        elif self._owner != threading.get_ident() and self._lock.acquire(blocking=False):
            try:
                self._finish()
            finally:
                self._lock.release()
        else:
            # In use: whoever uses it lets go of it. Ended from here, it might be another epoch's by then.
            self._closing = True

    def _finish(self) -> None:
        """Ends the epoch, wherever it is. REQUIRES: nobody else uses it."""
        if self._pipeline is not None:
            if not self._is_complete(self._pipeline):
                self._cut_short = "the epoch was closed before its last batch: start another with iter(loader)"
            self._give_back()

    def _is_complete(self, pipeline: Pipeline) -> bool:
        """Whether every batch was handed over."""
        return self._exhausted and self._fault is None and self._waiting is None and pipeline.open_batches() == 0

    def _give_back(self) -> None:
        """The pipeline goes back to the loader."""
        pipeline = self._release()
        if pipeline is not None:
            self._loader._last_stats = self.stats()
            self._loader._give_back(pipeline)

    def __del__(self) -> None:
        if getattr(self, "_pipeline", None) is not None:  # also when __init__ didn't get far
            self.close()

    def stats(self) -> Stats:
        counters = self._counters()
        values = {name: counters.get(name, 0) for name in _COUNTERS}
        values |= {name: counters.get(native, 0.0) for name, native in _RENAMED.items()}
        return Stats(**values, wall_s=self._latest - self._started, num_workers=self._loader.num_workers)

    def _next_capsules(self) -> tuple[Any, ...] | None:
        while True:
            self._fill()
            assert self._pipeline is not None
            capsules = self._pipeline.next(self._loader.timeout, lambda: self._closing)
            if capsules is not None:
                self._fill()  # the threads go on while the training loop has this one
                return capsules
            if self._fault is not None:
                fault, self._fault = self._fault, None
                raise fault
            if self._exhausted:
                return None

    def _fill(self) -> None:
        """Opens batches as long as the pipeline wants some."""
        assert self._pipeline is not None
        while self._fault is None and not self._exhausted and self._pipeline.wants_batch():
            if self._waiting is None:
                try:
                    self._waiting = next(self._batches, None)
                except Exception as error:
                    self._fault = error
                    return
                if self._waiting is None:
                    self._exhausted = True
                    return
            if len(self._waiting) > self._pipeline.batch_size:
                if self._pipeline.open_batches() > 0:
                    return  # the smaller ones first
                self._grow(len(self._waiting))
            # Let go of first: an interrupt must not open it twice, nor a wrong index come up again and again.
            opening, self._waiting = self._waiting, None
            try:
                self._pipeline.open(opening)
            except ValueError as error:  # an index that isn't in the dataset
                self._fault = error

    def _grow(self, batch_size: int) -> None:
        """A batch sampler gave a larger batch than the slots have room for: go on with larger ones."""
        pipeline = self._release()
        if pipeline is not None:
            pipeline.close()
        self._use(self._loader._take_pipeline(batch_size))

    def _use(self, pipeline: Pipeline) -> None:
        pipeline.start_epoch(self._seed, self._epoch)
        self._before = pipeline.stats()
        self._pipeline = pipeline

    def _release(self) -> Pipeline | None:
        pipeline = self._pipeline
        if pipeline is not None:
            self._done = self._counters()
            self._pipeline = None
        return pipeline

    def _abandon(self, why: str) -> None:
        """The pipeline timed out or broke: it isn't used again."""
        self._cut_short = why
        pipeline = self._release()
        if pipeline is not None:
            self._loader._last_stats = self.stats()
            pipeline.close()

    def _counters(self) -> dict[str, Any]:
        """What was counted in this epoch."""
        if self._pipeline is None:
            return self._done
        now = self._pipeline.stats()
        counted = {name: value - self._before[name] + self._done.get(name, 0) for name, value in now.items()}
        counted["peak_memory"] = max(now["peak_memory"], self._done.get("peak_memory", 0))
        return counted

    def _collect_errors(self) -> None:
        if self._pipeline is not None:
            errors = self._pipeline.take_errors()
            self._failed += len(errors)
            self._loader._add_errors(errors)
