"""Ctrl-C while workers start or end: it waits, lest a destructor swallows it, or it cuts a start in two."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["deferred", "take_quietly"]

_MOMENT = 0.02  # seconds, by which a destructor has returned


class _Deferring:
    """A handler that notes the signal for later."""

    def __init__(self, previous: Any) -> None:
        self.previous = previous
        self.came: tuple[Any, ...] | None = None
        self._pid = os.getpid()

    def __call__(self, *signal_and_frame: Any) -> None:
        if self._pid == os.getpid():
            self.came = signal_and_frame
        else:  # a child that another thread forked meanwhile: nobody ends the block there
            self.previous(*signal_and_frame)


@contextlib.contextmanager
def deferred(again: bool = False) -> Iterator[None]:
    """SIGINT's handler of the process runs after the block instead of within. (Handlers run in the main thread only;
    elsewhere nothing has to wait.)

    Args:
        again: a moment after it, since the block may be in a destructor, where an exception would be lost.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    if isinstance(previous, _Deferring):
        yield
        return
    handler = _Deferring(previous)
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if handler.came is not None:
            if again:
                sender = threading.Timer(_MOMENT, os.kill, (os.getpid(), signal.SIGINT))
                sender.daemon = True
                sender.start()
            else:
                previous(*handler.came)


def take_quietly() -> None:
    """In a worker process: the first interrupt ends it, and the next ones find it ending."""
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, _Deferring):  # inherited by fork
        handler = handler.previous
    signal.signal(signal.SIGINT, _interrupt_once if handler is signal.default_int_handler else handler)


def _interrupt_once(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
