"""The exceptions of pyfastdl, and samples that failed. Wrong arguments raise Python's built-in classes."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["FailedSample", "Failure", "LoaderError", "SampleError", "add_note"]

#: index, path, reason, and the index that took its place: what a FailedSample is made of
Failure = tuple[Any, str, str, "int | None"]


class LoaderError(RuntimeError):
    """The loader itself could not go on: it was closed, timed out, or was used in a forked child."""


class SampleError(RuntimeError):
    """One sample could not be loaded.

    A single argument is the whole message: so torch makes the error again from the text that a worker process sends.

    Attributes:
        path (str): the file, or ``""`` when the sample has none.
        index (int): the sample's index in the dataset; -1 when it isn't one of a dataset.
        reason (str): what was wrong with it.

    Example:
        >>> error = SampleError("data/cat/1.jpg", 7, "image file is truncated")
        >>> error.index
        7
    """

    def __init__(self, path: str, index: int = -1, reason: str | None = None) -> None:
        if reason is None:
            path, reason = "", path
        # All three stay in args, so that the error survives pickling.
        super().__init__(path, index, reason)
        self.path = path
        self.index = index
        self.reason = reason

    def __str__(self) -> str:
        if self.index < 0:
            return f"{self.path}: {self.reason}" if self.path else self.reason
        where = f" ({self.path})" if self.path else ""
        return f"sample {self.index}{where}: {self.reason}"


@dataclasses.dataclass(frozen=True)
class FailedSample:
    """A sample that could not be loaded, as ``loader.errors`` lists it.

    Attributes:
        index: which sample of the dataset: an int, unless its sampler gives something else.
        path: its file, or ``""`` when none is known.
        reason: what was wrong with it; of a dataset in Python the exception's class and text.
        replaced_by: the index of the sample that took its place (``on_error="replace"``), or None.
    """

    index: Any
    path: str
    reason: str
    replaced_by: int | None = None


def add_note(error: BaseException, note: str) -> None:
    """``error.add_note``, which Python 3.10 doesn't have yet (there the note is kept, but not shown)."""
    try:
        notes = [*getattr(error, "__notes__", ()), note]
        error.__notes__ = notes  # type: ignore[attr-defined]
    except Exception:  # a class with slots, or one that refuses attributes
        return
