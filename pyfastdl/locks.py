"""Locks of objects that several threads may use, also while they fork or are interrupted; and sets that they share."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Generic, TypeVar

__all__ = ["Living", "ProcessLock"]

T = TypeVar("T")


class ProcessLock:
    """A lock that each process has for itself: a forked child doesn't wait for its parent's threads. A copy is another.

    ``with lock():``, and not ``with lock:``: an interrupt in a method of ours would come between the lock and the
    block, and leave it taken for ever. A thread that has it may take it again: a signal handler, a destructor or a
    user's code that is called meanwhile would wait for itself.
    """

    def __init__(self) -> None:
        self._locks: dict[int, Any] = {}  # by process; its setdefault() is atomic

    def __call__(self) -> Any:
        pid = os.getpid()
        lock = self._locks.get(pid)
        return self._locks.setdefault(pid, threading.RLock()) if lock is None else lock

    def __reduce__(self) -> Any:
        return type(self), ()


class Living(Generic[T]):
    """A weak set that threads may change while another goes through it. (A WeakSet raises a RuntimeError there.)"""

    def __init__(self) -> None:
        self._references: set[weakref.ref[T]] = set()

    def add(self, thing: T) -> None:
        self._references.add(weakref.ref(thing, self._references.discard))

    def discard(self, thing: T) -> None:
        self._references.discard(weakref.ref(thing))

    def all(self) -> list[T]:
        return [thing for reference in self._references.copy() if (thing := reference()) is not None]
