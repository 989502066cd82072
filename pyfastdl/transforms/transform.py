"""Transform: what every transform is, and the checks of arguments that they share."""

from __future__ import annotations

import abc
import math
import numbers
from collections.abc import Sequence
from typing import Any, TypeGuard

from pyfastdl._arguments import MAX_SIDE

__all__ = ["Transform"]


class Transform(abc.ABC):
    """One step that the native core can run."""

    @abc.abstractmethod
    def spec(self) -> tuple[Any, ...]:
        """What the native core is told: a name and its arguments."""

    def __repr__(self) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({arguments})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def side(value: Any, what: str) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{what} must be an int, got {value!r}")
    if value <= 0:
        raise ValueError(f"{what} must be positive, got {value}")
    number = int(value)
    if number > MAX_SIDE:
        raise ValueError(f"{what} must be at most {MAX_SIDE} pixels, got {number}")
    return number


def is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    """Text and bytes are sequences to Python, but not of numbers that anyone meant."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))


def pair(size: Any, what: str) -> tuple[int, int]:
    """(height, width) from an int, which means a square, or a sequence of one or two."""
    if is_sequence(size):
        if len(size) not in (1, 2):
            raise ValueError(f"{what} must be an int or (height, width), got {size!r}")
        return side(size[0], what), side(size[-1], what)
    both = side(size, what)
    return both, both


def positive_range(values: Any, what: str) -> tuple[float, float]:
    if not is_sequence(values) or len(values) != 2:
        raise TypeError(f"{what} must be a pair (low, high), got {values!r}")
    low, high = float(values[0]), float(values[1])
    if not (math.isfinite(low) and math.isfinite(high)) or low > high or low <= 0:
        raise ValueError(f"{what} must be a pair (low, high) with 0 < low <= high, got {values!r}")
    return low, high


def three(values: Any, what: str) -> tuple[float, float, float]:
    if isinstance(values, numbers.Real):
        values = [values]
    elif hasattr(values, "tolist"):  # an array or a tensor
        values = values.tolist()
    if not is_sequence(values) or len(values) not in (1, 3):
        raise ValueError(f"{what} must have one value or three (red, green, blue), got {values!r}")
    floats = [float(value) for value in values]
    if not all(math.isfinite(value) for value in floats):
        raise ValueError(f"{what} must be finite, got {values!r}")
    return floats[0], floats[len(floats) // 2], floats[-1]


def probability(p: Any, what: str) -> float:
    if not isinstance(p, (int, float)) or isinstance(p, bool):
        raise TypeError(f"{what}: p must be a number from 0 to 1, got {p!r}")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{what}: p must be from 0 to 1, got {p}")
    return float(p)


def color(fill: Any, what: str) -> tuple[int, int, int]:
    """(red, green, blue) as bytes from a number, or a sequence of one or three; None is black."""
    if fill is None:
        fill = 0
    values = list(fill) if isinstance(fill, (list, tuple)) else [fill]
    if not all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in values):
        raise TypeError(f"{what} must be a number, or three (red, green, blue), got {fill!r}")
    if len(values) not in (1, 3):
        raise ValueError(f"{what} must have one value or three (red, green, blue), got {fill!r}")
    if not all(0 <= value < 256 for value in values):
        raise ValueError(f"{what} must be from 0 to 255, got {fill!r}")
    red, green, blue = (int(value) for value in (values * 3)[:3])  # cut, as torchvision does
    return red, green, blue
