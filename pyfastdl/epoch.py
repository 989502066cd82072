"""Epoch: the iterator of NativeLoader."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from pyfastdl.errors import LoaderError
from pyfastdl.failure_log import EpochFailures
from pyfastdl.stats import Stats

if TYPE_CHECKING:
    from pyfastdl.callable_batches import CallableBatches
    from pyfastdl.loader import NativeLoader
    from pyfastdl.native_batches import NativeBatches
    from pyfastdl.order import Drawn, Order

__all__ = ["Epoch"]

_LOST = "an interrupt came between a batch and the training loop: start another epoch with iter(loader)"

# Native counters that Stats has under the same name, and those under another.
_COUNTERS = (
    "samples", "batches", "copied_batches", "failed_samples", "pillow_samples", "region_samples",
    "untrusted_samples", "libjpeg_samples", "file_bytes", "cached_reads",
    "waited_reads", "read_s", "decode_s", "transform_s", "python_s", "wait_memory_s", "peak_memory",
)  # fmt: skip
_RENAMED = {"idle_s": "wait_work_s", "wait_s": "wait_batch_s"}


class Epoch:
    """Goes through one epoch; ``iter(loader)`` makes it.

    It has a pipeline to itself from start to end, so that several may be alive at once, and hands it back when it is
    used up, closed or dropped. Threads may share it: each batch goes to one of them.
    """

    def __init__(self, loader: NativeLoader, order: Order) -> None:
        self._batches: NativeBatches | CallableBatches | None = None  # None: the epoch is over
        self._loader = loader
        self._order = order
        self._pid = os.getpid()
        self._lock = threading.Lock()  # one thread at a time opens batches and takes one
        self._owner: int | None = None  # that thread
        self._closing = False  # close() was called meanwhile
        self._cut_short = ""  # why no more batches come, where some are missing
        self._fault: Exception | None = None  # of the sampler: raised when the batches before it are handed over
        self._exhausted = False
        self._asked: deque[Drawn] = deque()  # for the batches that are on their way
        self._torn = False  # something is half done: an interrupt there loses a batch
        self._counted: dict[str, Any] = {}  # when it was over
        self._started = self._latest = time.monotonic()
        self._failures = EpochFailures(loader._failures, order.handed_over > 0)
        self._batches = loader._start_batches(order)
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
        try:
            with self._lock:
                self._owner = threading.get_ident()
                try:
                    values = self._next_values()
                    self._torn = False
                except Exception:
                    self._torn = False
                    raise
                finally:
                    self._owner = None
        finally:
            self._end_if_closing()
        views = self._loader._staging.views
        batch = (tuple(values[:views]) if self._loader._has_views else values[0], *values[views:])
        return batch[0] if len(batch) == 1 else batch

    def _next_values(self) -> list[Any]:
        if self._closing:
            self._finish()
        elif self._torn:
            self._cut_short = _LOST
            self._end()
        if self._batches is None:
            if self._cut_short:
                raise LoaderError(self._cut_short)
            raise StopIteration
        try:
            values = self._take()
        finally:
            self._collect_failures()
            self._latest = time.monotonic()
        if values is None:
            self._order.finish()
            self._end()
            self._failures.check_end("the files")
            raise StopIteration
        self._failures.handed_over = True
        return self._loader._staging(values)

    def close(self) -> None:
        """Ends the epoch here. May be called again; a thread that waits for a batch gets a LoaderError, and so does
        whoever asks for another one, unless all were handed over: half an epoch must not look like a whole one."""
        if self._pid != os.getpid():
            self._batches = None
        else:
            self._closing = True
            if self._owner != threading.get_ident():
                self._end_if_closing()

    def _end_if_closing(self) -> None:
        """Unless it is in use: whoever uses it comes here after that. Ended by another thread, its pipeline might be
        another epoch's by then."""
        if self._closing and self._lock.acquire(blocking=False):
            try:
                self._finish()
            finally:
                self._lock.release()

    def _finish(self) -> None:
        """Ends the epoch, wherever it is. REQUIRES: nobody else uses it."""
        if self._batches is not None:
            if not (self._exhausted and self._fault is None and self._batches.is_empty()):
                self._cut_short = "the epoch was closed before its last batch: start another with iter(loader)"
            self._end()

    def _end(self, broken: bool = False) -> None:
        """The batches that are still on their way are dropped."""
        batches = self._batches
        if batches is not None:
            batches.close(broken)
            self._collect_failures()
            self._counted = batches.counters()
            self._batches = None
            self._loader._last_stats = self.stats()

    def __del__(self) -> None:
        if getattr(self, "_batches", None) is not None:  # also when __init__ didn't get far
            self.close()

    def stats(self) -> Stats:
        batches = self._batches
        counters = self._counted if batches is None else batches.counters()
        values = {name: counters.get(name, 0) for name in _COUNTERS}
        values |= {name: counters.get(native, 0.0) for name, native in _RENAMED.items()}
        return Stats(**values, wall_s=self._latest - self._started, num_workers=self._loader.num_workers)

    def _take(self) -> list[Any] | None:
        """The parts of the next batch."""
        assert self._batches is not None
        while True:
            self._fill()
            try:
                outcome = self._batches.next(self._loader.timeout, lambda: self._closing)
            except LoaderError as error:
                self._cut_short = str(error)
                self._end(broken=True)
                raise
            except Exception:  # of that batch
                if self._asked:
                    self._asked.popleft()
                raise
            if outcome is not None:
                self._torn = True  # until it is out
                self._check_none_lost(outcome.drawn)
                self._order.hand_over(outcome.drawn)
                if outcome.error is not None:
                    raise outcome.error
                self._fill()  # the threads go on while the training loop has this one
                return outcome.values
            self._check_none_lost(None)
            if self._fault is not None:
                fault, self._fault = self._fault, None
                raise fault
            if self._exhausted:
                return None

    def _check_none_lost(self, came: Drawn | None) -> None:
        """Batches come in order. With "skip" those before this one may have lost all their samples."""
        while self._asked:
            asked = self._asked.popleft()
            if asked is came:
                return
            if self._loader.on_error != "skip":
                self._cut_short = _LOST
                self._end()
                raise LoaderError(_LOST)

    def _fill(self) -> None:
        """Draws batches as long as some are wanted."""
        assert self._batches is not None
        while self._fault is None and not self._exhausted and self._batches.wants():
            torn, self._torn = self._torn, True
            drawn = self._draw()
            if drawn is not None:
                self._asked.append(drawn)
                self._batches.put(drawn)
            self._torn = torn

    def _draw(self) -> Drawn | None:
        try:
            return next(self._order)
        except StopIteration:
            self._exhausted = True
        except Exception as error:
            self._fault = error
        return None

    def _collect_failures(self) -> None:
        if self._batches is not None:
            self._failures.add(self._batches.take_failures())
