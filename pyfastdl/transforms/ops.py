"""The transforms, each with torchvision's name, arguments and meaning (on PIL images)."""

from __future__ import annotations

import abc
import math
import numbers
from collections.abc import Sequence
from typing import Any, TypeGuard

from pyfastdl._arguments import MAX_SIDE
from pyfastdl.transforms.interpolation import InterpolationMode, filter_name

__all__ = [
    "CenterCrop",
    "Normalize",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
    "ToTensor",
    "Transform",
]


class Transform(abc.ABC):
    """One step that the native core can run."""

    @abc.abstractmethod
    def spec(self) -> tuple[Any, ...] | None:
        """What the native core is told: a name and its arguments, or None when there is nothing to do."""

    def __repr__(self) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({arguments})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def _side(value: Any, what: str) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{what} must be an int, got {value!r}")
    if value <= 0:
        raise ValueError(f"{what} must be positive, got {value}")
    side = int(value)
    if side > MAX_SIDE:
        raise ValueError(f"{what} must be at most {MAX_SIDE} pixels, got {side}")
    return side


def _is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    """Text and bytes are sequences to Python, but not of numbers that anyone meant."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))


def _pair(size: Any, what: str) -> tuple[int, int]:
    """(height, width) from an int, which means a square, or a sequence of one or two."""
    if _is_sequence(size):
        if len(size) not in (1, 2):
            raise ValueError(f"{what} must be an int or (height, width), got {size!r}")
        return _side(size[0], what), _side(size[-1], what)
    side = _side(size, what)
    return side, side


def _range(values: Any, what: str) -> tuple[float, float]:
    if not _is_sequence(values) or len(values) != 2:
        raise TypeError(f"{what} must be a pair (low, high), got {values!r}")
    low, high = float(values[0]), float(values[1])
    if not (math.isfinite(low) and math.isfinite(high)) or low > high or low <= 0:
        raise ValueError(f"{what} must be a pair (low, high) with 0 < low <= high, got {values!r}")
    return low, high


def _three(values: Any, what: str) -> tuple[float, float, float]:
    if isinstance(values, numbers.Real):
        values = [values]
    elif hasattr(values, "tolist"):  # an array or a tensor
        values = values.tolist()
    if not _is_sequence(values) or len(values) not in (1, 3):
        raise ValueError(f"{what} must have one value or three (red, green, blue), got {values!r}")
    floats = [float(value) for value in values]
    if not all(math.isfinite(value) for value in floats):
        raise ValueError(f"{what} must be finite, got {values!r}")
    return floats[0], floats[len(floats) // 2], floats[-1]


class RandomResizedCrop(Transform):
    """Crops a random part of the image and resizes it.

    The box is drawn as torchvision draws it: up to ten tries at an area of ``scale`` times the image's and an aspect
    ratio from ``ratio`` (uniform in its logarithm), else a central crop.

    Args:
        size: the result's (height, width) in pixels; an int means a square.
        scale: bounds of the crop's share of the image's area.
        ratio: bounds of width / height.
        interpolation: the filter; see :class:`InterpolationMode`.
        antialias: taken for torchvision's sake; the filters always antialias, so False is refused.

    Example:
        >>> RandomResizedCrop(224).size
        (224, 224)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        _check_antialias(antialias)
        self.size = _pair(size, "RandomResizedCrop: size")
        self.scale = _range(scale, "RandomResizedCrop: scale")
        self.ratio = _range(ratio, "RandomResizedCrop: ratio")
        self.interpolation = filter_name(interpolation)

    def spec(self) -> tuple[Any, ...]:
        return ("random_resized_crop", self.size, self.scale, self.ratio, self.interpolation)


class Resize(Transform):
    """Resizes the image.

    Args:
        size: (height, width) in pixels, or an int: the shorter side becomes that and the other follows in proportion.
        interpolation: the filter; see :class:`InterpolationMode`.
        max_size: the longer side's limit, where ``size`` is an int.
        antialias: taken for torchvision's sake; the filters always antialias, so False is refused.

    Example:
        >>> Resize(256).spec()
        ('resize', 256, None, 'bilinear')
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        _check_antialias(antialias)
        self.size: int | tuple[int, int]
        if _is_sequence(size) and len(size) == 2:
            self.size = _pair(size, "Resize: size")
            if max_size is not None:
                raise ValueError("Resize: max_size goes with an int size (the shorter side), not with (height, width)")
        else:
            self.size = _pair(size, "Resize: size")[0]
            if max_size is not None and _side(max_size, "Resize: max_size") <= self.size:
                raise ValueError(f"Resize: max_size must be greater than size, got {max_size} for {self.size}")
        self.interpolation = filter_name(interpolation)
        self.max_size = max_size

    def spec(self) -> tuple[Any, ...]:
        return ("resize", self.size, self.max_size, self.interpolation)


class CenterCrop(Transform):
    """Crops the middle of the image; a smaller image is padded with zeros first.

    Args:
        size: the result's (height, width) in pixels; an int means a square.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _pair(size, "CenterCrop: size")

    def spec(self) -> tuple[Any, ...]:
        return ("center_crop", self.size)


class RandomHorizontalFlip(Transform):
    """Mirrors the image left to right with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        if not isinstance(p, (int, float)) or isinstance(p, bool):
            raise TypeError(f"RandomHorizontalFlip: p must be a number from 0 to 1, got {p!r}")
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"RandomHorizontalFlip: p must be from 0 to 1, got {p}")
        self.p = float(p)

    def spec(self) -> tuple[Any, ...]:
        return ("random_horizontal_flip", self.p)


class ToTensor(Transform):
    """Bytes to floats from 0 to 1. Every loader with a float dtype does this by itself; it may stand in the list."""

    def spec(self) -> None:
        return None


class Normalize(Transform):
    """``(x - mean) / std`` per channel, on values from 0 to 1, in float32.

    Args:
        mean: one value, or three (red, green, blue).
        std: likewise; not zero.
        inplace: taken for torchvision's sake; has no meaning here.
    """

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        self.mean = _three(mean, "Normalize: mean")
        self.std = _three(std, "Normalize: std")
        if 0.0 in self.std:
            raise ValueError(f"Normalize: std must not be zero, got {self.std}")

    def spec(self) -> tuple[Any, ...]:
        return ("normalize", self.mean, self.std)


def _check_antialias(antialias: bool | None) -> None:
    if antialias is False:
        raise ValueError(
            "antialias=False is not available: pyfastdl resizes as Pillow does, which always antialiases; leave it out"
        )
