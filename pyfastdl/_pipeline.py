"""The native pipeline with what Python adds to it: waiting that answers signals, Pillow's threads, and a quiet end."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyfastdl import _core, fallback
from pyfastdl.errors import LoaderError
from pyfastdl.locks import Living

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["PENDING", "Pending", "Pipeline", "TimedOut"]

# A native wait returns at least this often, in seconds, so that signal handlers get their turn.
_SLICE = 0.1

# Threads that decode with Pillow: more would only queue for the GIL.
_MAX_PILLOW_THREADS = 4


class TimedOut(LoaderError):
    """No batch came in time. It may still come: the next call waits for it again."""


class Pending:
    """What :meth:`Pipeline.poll` gives when its time is up."""


PENDING = Pending()


class Pipeline:
    """Batches of indices in, tuples of DLPack capsules out.

    Args:
        **config: what ``_core.Pipeline`` takes.

    Attributes:
        cells: which of the samples that were opened the batch given last has; empty: all of them.
    """

    cells: Sequence[int] = ()

    def __init__(self, **config: Any) -> None:
        self._native = _core.Pipeline(**config)
        self._pillow_count = min(_MAX_PILLOW_THREADS, config["decode_threads"])
        self._pillow_threads: list[threading.Thread] = []
        self._pillow_options = {name: config[name] for name in ("apply_exif_orientation", "max_pixels")}
        self._pid = os.getpid()
        self.batch_size: int = config["batch_size"]
        _live.add(self)

    def usable_here(self) -> bool:
        """Whether this is the process that it was made in."""
        return self._pid == os.getpid()

    def start_epoch(self, seed: int, epoch: int) -> None:
        self._native.start_epoch(seed & 0xFFFFFFFFFFFFFFFF, epoch)

    def wants_batch(self) -> bool:
        return self._native.wants_batch()

    def open(self, indices: npt.NDArray[np.int64], occurrences: Sequence[int] = ()) -> None:
        """One batch. ``occurrences``: how often each index came before in the epoch; without them the pipeline counts,
        from ``start_epoch`` on."""
        self._native.open(indices, occurrences)

    def open_batches(self) -> int:
        return self._native.open_batches()

    def next(self, timeout: float, stop: Callable[[], bool] = lambda: False) -> tuple[Any, ...] | None:
        """The capsules of the oldest open batch; None when no batch is open any more.

        Args:
            timeout: seconds; 0 waits as long as it takes.
            stop: asked a few times a second; True ends the wait.

        Raises:
            SampleError: the batch has a sample that could not be loaded.
            TimedOut: nothing came in time.
            LoaderError: it was stopped; or the pipeline was closed, or is another process's.
        """
        end = time.monotonic() + timeout if timeout > 0 else None
        while True:
            if stop():
                raise LoaderError("the epoch was closed while a batch was waited for")
            wait = _SLICE if end is None else min(_SLICE, max(0.0, end - time.monotonic()))
            capsules = self.poll(wait)
            if not isinstance(capsules, Pending):
                return capsules
            if end is not None and time.monotonic() >= end:
                raise TimedOut(self._timeout_message(timeout))

    def poll(self, wait: float) -> tuple[Any, ...] | Pending | None:
        """:meth:`next`, or ``PENDING`` after so many seconds."""
        what, capsules, self.cells = self._native.next(wait)
        if what == "batch":
            return capsules
        if what == "nothing_open":
            return None
        if what == "need_pillow":
            self._start_pillow()
        return PENDING

    def take_errors(self) -> list[tuple[int, str, str, int | None]]:
        return self._native.take_errors()

    def stats(self) -> dict[str, Any]:
        return self._native.stats()

    def cancel(self) -> None:
        self._native.cancel()

    def close(self) -> None:
        """Ends all threads. May be called again; does nothing in a forked child."""
        if self._pid != os.getpid():
            return
        self._native.close()
        end = time.monotonic() + 5.0  # for all of them together
        for thread in list(self._pillow_threads):
            if thread is not threading.current_thread():
                # It ends after the image in its hands; one that hangs is a daemon, and is left behind.
                thread.join(timeout=max(0.0, end - time.monotonic()))
        self._pillow_threads.clear()

    def __del__(self) -> None:
        if hasattr(self, "_pid"):
            self.close()

    def _start_pillow(self) -> None:
        try:
            fallback.start_threads(self._native, self._pillow_count, self._pillow_threads, **self._pillow_options)
        except RuntimeError as error:
            if not self._pillow_threads:
                raise LoaderError(
                    f"no thread could be started for images that Pillow decodes ({error}): raise the limit on "
                    "processes (ulimit -u, or the container's), or use fewer workers"
                ) from error
        self._native.set_pillow_served()

    def _timeout_message(self, timeout: float) -> str:
        missing = self._native.unfinished(3)
        names = ", ".join(f"{index} ({path})" for index, path, _, _ in missing)
        return f"no batch within timeout={timeout:g} s; still being loaded: sample {names}"


_live: Living[Pipeline] = Living()


def _close_all() -> None:
    for pipeline in _live.all():
        pipeline.close()


atexit.register(_close_all)
