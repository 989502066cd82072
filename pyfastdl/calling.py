"""Calling a user's Python functions for one sample: its random numbers, and the exceptions that it ends with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyfastdl.errors import add_note
from pyfastdl.workers.context import context

__all__ = ["CallFailed", "name_of", "run_callables", "sample_context"]


class CallFailed(Exception):
    """A callable raised something. ``raise failure.noted(...)`` is what the training loop gets to see."""

    def __init__(self, call: Any, error: BaseException) -> None:
        self.name = name_of(call)
        self.error = error

    @property
    def reason(self) -> str:
        return f"{self.name} raised {type(self.error).__name__}: {_text(self.error)}"

    def may_pass_over(self) -> bool:
        """Whether it says something of the sample. A lack of memory doesn't; nor what isn't an Exception."""
        return isinstance(self.error, Exception) and not isinstance(self.error, MemoryError)

    def noted(self, words: str) -> BaseException:
        """The exception as it was, with a note; a RuntimeError in place of one that would mean something else to the
        training loop: StopIteration, and what isn't an Exception.

        Args:
            words: which sample it is.
        """
        where = f"by the transform {self.name} for {words}"
        if isinstance(self.error, StopIteration) or not isinstance(self.error, Exception):
            replaced = RuntimeError(f"{type(self.error).__name__} was raised {where}: {_text(self.error)}")
            replaced.__cause__ = self.error
            return replaced
        add_note(self.error, f"Raised {where}.")
        return self.error


def run_callables(image: Any, callables: Sequence[Callable[[Any], Any]]) -> Any:
    """The image through each of them.

    Raises:
        CallFailed: one of them raised something.
    """
    for call in callables:
        try:
            image = call(image)
        except BaseException as error:
            raise CallFailed(call, error) from None
    return image


@contextlib.contextmanager
def sample_context(seed: int, epoch: int, index: int, occurrence: int) -> Iterator[None]:
    """Within it :func:`pyfastdl.sample_rng` is this sample's."""
    before = context.seed, context.epoch, context.index, context.occurrence
    context.seed, context.epoch, context.index, context.occurrence = seed, epoch, index, occurrence
    try:
        yield
    finally:
        context.seed, context.epoch, context.index, context.occurrence = before


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a class of the user's
        return "(its text can't be had)"


def name_of(call: Any) -> str:
    return getattr(call, "__qualname__", None) or type(call).__qualname__
