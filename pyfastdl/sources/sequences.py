"""Sequences that make their items when they are asked for: a million samples are no million Python objects."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pyfastdl._core import PathTable

__all__ = ["Samples", "Targets"]

_T = TypeVar("_T")

# Items that a repr shows.
_SHOWN = 3


class _Lazy(Sequence[_T], Generic[_T]):
    """Read-only; equal to any list or tuple of the same items. A slice is a list, as a list's slice would be."""

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def _at(self, index: int) -> _T:
        """The item, for 0 <= index < len(self)."""

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> list[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | list[_T]:
        if isinstance(index, slice):
            return [self._at(i) for i in range(*index.indices(len(self)))]
        i = operator.index(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"index {i} is out of range for {len(self)} samples")
        return self._at(i % len(self))

    def __iter__(self) -> Iterator[_T]:
        return map(self._at, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, tuple, _Lazy)):
            return NotImplemented
        return len(self) == len(other) and all(_same(a, b) for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in self[:_SHOWN])
        more = ", …" if len(self) > _SHOWN else ""
        return f"<{type(self).__name__}: {len(self)} [{shown}{more}]>"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def _plain(target: Any) -> Any:
    """A row of targets as a user gave it: a Python number, or a vector of its own memory."""
    return target.copy() if isinstance(target, np.ndarray) else target.item()


class Samples(_Lazy[tuple[str, Any]]):
    """``(path, target)`` per sample."""

    def __init__(self, paths: PathTable, targets: npt.NDArray[Any] | None) -> None:
        self._paths = paths
        self._targets = targets

    def __len__(self) -> int:
        return len(self._paths)

    def _at(self, index: int) -> tuple[str, Any]:
        return self._paths[index], None if self._targets is None else _plain(self._targets[index])


class Targets(_Lazy[Any]):
    """The target of each sample; ``numpy.asarray`` gives all of them at once."""

    def __init__(self, targets: npt.NDArray[Any]) -> None:
        self._targets = targets

    def __len__(self) -> int:
        return len(self._targets)

    def _at(self, index: int) -> Any:
        return _plain(self._targets[index])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        wanted = self._targets.dtype if dtype is None else np.dtype(dtype)
        if copy is False:
            raise ValueError("the targets are read-only: they can only be given as a copy")
        return self._targets.astype(wanted)
