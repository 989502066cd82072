"""Epochs of one loader start one at a time, whichever threads ask for them."""

from __future__ import annotations

import os
import threading
from typing import Any

__all__ = ["Starts"]


class Starts:
    """A context: one thread at a time is in it.

    A thread that is in it may enter again: a sampler or a signal handler that starts another epoch of the loader would
    wait for itself. A forked child doesn't wait for the parent's threads, and a copy is one of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def __enter__(self) -> None:
        if self._pid != os.getpid():
            self.__init__()  # type: ignore[misc]
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> Any:
        return Starts, ()
