"""Source: the paths of a dataset, what is known about each, and the class names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyfastdl.sources.sequences import Samples, Targets

if TYPE_CHECKING:
    import numpy.typing as npt

    from pyfastdl._core import PathTable

__all__ = ["Source"]


@dataclass(frozen=True, eq=False)
class Source:
    """What a loader reads from. Constant; picklable.

    Attributes:
        paths: the files, natively.
        target_array: one row per file, (N,) or (N, D); None for images alone.
        classes: class names in order; None where the files came as a list.
        notes: what was left out of the dataset and why, for a warning.
    """

    paths: PathTable
    target_array: npt.NDArray[Any] | None = None
    classes: list[str] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def class_to_idx(self) -> dict[str, int] | None:
        return None if self.classes is None else {name: i for i, name in enumerate(self.classes)}

    @property
    def samples(self) -> Samples:
        """``(path, target)`` per file, as torchvision's ``ImageFolder.samples``; images alone have the target None."""
        return Samples(self.paths, self.target_array)

    @property
    def targets(self) -> Targets | None:
        """The target of each file, as torchvision's ``ImageFolder.targets``; None for images alone."""
        return None if self.target_array is None else Targets(self.target_array)

    def __repr__(self) -> str:
        known = "no targets" if self.target_array is None else f"targets {self.target_array.shape}"
        classes = "" if self.classes is None else f", {len(self.classes)} classes"
        return f"<Source: {len(self)} files, {known}{classes}>"
