"""Threads that share an iterator take turns; none takes a batch within its own turn."""

from __future__ import annotations

import threading

from pyfastdl.errors import LoaderError

__all__ = ["Turns"]


class Turns:
    """A context: one thread at a time is in it.

    Raises:
        LoaderError: this thread is in it already, by way of a sampler or a signal handler; it would wait for itself.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._taken = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._taken:
            self._lock.release()
            raise LoaderError(
                "the next batch was asked for while this thread is waiting for one already (from a signal handler or a "
                "sampler): take one batch at a time"
            )
        self._taken = True

    def __exit__(self, *error: object) -> None:
        self._taken = False
        self._lock.release()
