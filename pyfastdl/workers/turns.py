"""Threads that share something take turns; none is in it twice at a time."""

from __future__ import annotations

from typing import Any

from pyfastdl.errors import LoaderError
from pyfastdl.locks import ProcessLock

__all__ = ["Turns"]


class Turns(ProcessLock):
    """``with turns():`` one thread at a time.

    Args:
        wanted: what was asked for, for the error.

    Raises:
        LoaderError: this thread is in it already, by way of a sampler or a signal handler; it would wait for itself, or
            find it half done.
    """

    def __init__(self, wanted: str = "the next batch") -> None:
        super().__init__()
        self._wanted = wanted

    def __call__(self) -> Any:
        lock = super().__call__()
        if lock._is_owned():
            raise LoaderError(
                f"{self._wanted} was asked for while this thread is waiting for one already (from a signal handler or "
                "a sampler): take one batch at a time"
            )
        return lock

    def look(self) -> Any:
        """For who only looks: also within its own turn."""
        return super().__call__()
