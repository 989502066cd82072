"""Crops, sizes, borders and flips, each with torchvision's name, arguments and meaning (on PIL images)."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from pyfastdl.transforms.interpolation import InterpolationMode, filter_name
from pyfastdl.transforms.transform import Transform, color, is_sequence, pair, positive_range, probability, side

__all__ = [
    "CenterCrop",
    "Pad",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
]


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
        self.size = pair(size, "RandomResizedCrop: size")
        self.scale = positive_range(scale, "RandomResizedCrop: scale")
        self.ratio = positive_range(ratio, "RandomResizedCrop: ratio")
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
        if is_sequence(size) and len(size) == 2:
            self.size = pair(size, "Resize: size")
            if max_size is not None:
                raise ValueError("Resize: max_size goes with an int size (the shorter side), not with (height, width)")
        else:
            self.size = pair(size, "Resize: size")[0]
            if max_size is not None and side(max_size, "Resize: max_size") <= self.size:
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
        self.size = pair(size, "CenterCrop: size")

    def spec(self) -> tuple[Any, ...]:
        return ("center_crop", self.size)


class Pad(Transform):
    """Adds pixels at the image's sides.

    Args:
        padding: how many: one int for all sides, ``(left and right, top and bottom)``, or
            ``(left, top, right, bottom)``. A negative number takes pixels away.
        fill: the colour of what is added, where ``padding_mode`` is "constant": a number, or (red, green, blue).
        padding_mode: "constant"; "edge", the nearest pixel of the image; or "reflect" and "symmetric", the image
            mirrored, without and with its last pixel.

    Example:
        >>> Pad((1, 2)).padding
        (1, 2, 1, 2)
    """

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        self.padding = _padding(padding, "Pad: padding")
        self.fill = color(fill, "Pad: fill")
        self.padding_mode = _padding_mode(padding_mode, "Pad")

    def spec(self) -> tuple[Any, ...]:
        return ("pad", self.padding, self.fill, self.padding_mode)


class RandomCrop(Transform):
    """Cuts a box of that size out of the image, at a random place.

    Args:
        size: the box's (height, width) in pixels; an int means a square.
        padding: added before, as :class:`Pad` does; None adds nothing.
        pad_if_needed: adds what is missing (as much on both sides of an axis) where the image is smaller than the box.
            Without it such an image is a sample that can't be loaded.
        fill, padding_mode: see :class:`Pad`.

    Example:
        >>> RandomCrop(32, padding=4).padding
        (4, 4, 4, 4)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        self.size = pair(size, "RandomCrop: size")
        self.padding = None if padding is None else _padding(padding, "RandomCrop: padding")
        self.pad_if_needed = bool(pad_if_needed)
        self.fill = color(fill, "RandomCrop: fill")
        self.padding_mode = _padding_mode(padding_mode, "RandomCrop")

    def spec(self) -> tuple[Any, ...]:
        return ("random_crop", self.size, self.padding, self.pad_if_needed, self.fill, self.padding_mode)


class RandomHorizontalFlip(Transform):
    """Mirrors the image left to right with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = probability(p, "RandomHorizontalFlip")

    def spec(self) -> tuple[Any, ...]:
        return ("random_horizontal_flip", self.p)


class RandomVerticalFlip(Transform):
    """Mirrors the image top to bottom with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = probability(p, "RandomVerticalFlip")

    def spec(self) -> tuple[Any, ...]:
        return ("random_vertical_flip", self.p)


def _padding(padding: Any, what: str) -> tuple[int, int, int, int]:
    values = list(padding) if isinstance(padding, (list, tuple)) else [padding]
    if not all(isinstance(value, numbers.Integral) and not isinstance(value, bool) for value in values):
        raise TypeError(f"{what} must be an int or a sequence of them, got {padding!r}")
    if len(values) not in (1, 2, 4):
        raise ValueError(
            f"{what} must be an int, (left and right, top and bottom) or (left, top, right, bottom), got {padding!r}"
        )
    left, top, right, bottom = (int(value) for value in (values * 4)[:4])
    return left, top, right, bottom


def _padding_mode(mode: Any, what: str) -> str:
    if mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(f"{what}: padding_mode must be constant, edge, reflect or symmetric, got {mode!r}")
    return str(mode)


def _check_antialias(antialias: bool | None) -> None:
    if antialias is False:
        raise ValueError(
            "antialias=False is not available: pyfastdl resizes as Pillow does, which always antialiases; leave it out"
        )
