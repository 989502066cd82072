"""Which filter an operation uses, in any of the spellings that users of torchvision and Pillow have."""

from __future__ import annotations

import enum
from typing import Any


class InterpolationMode(enum.Enum):
    """Pillow's filters, with torchvision's names and values.

    Resizes take all but NEAREST, and always antialias; ``rotate`` and ``affine`` take NEAREST, BILINEAR and BICUBIC.
    """

    NEAREST = "nearest"
    BOX = "box"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    LANCZOS = "lanczos"


# PIL.Image.Resampling, which torchvision still takes as plain integers.
_FROM_PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box"}

_RESIZING = ("box", "bilinear", "bicubic", "lanczos")
_WARPING = ("nearest", "bilinear", "bicubic")


def filter_name(interpolation: Any) -> str:
    """The native name of a resize's filter.

    Args:
        interpolation: an :class:`InterpolationMode`, torchvision's enum of that name, a ``PIL.Image.Resampling`` or
            its integer, or a name such as ``"bilinear"``.

    Raises:
        ValueError: for a filter that has no native implementation (nearest, hamming).
    """
    return _name(interpolation, _RESIZING)


def sampling_name(interpolation: Any) -> str:
    """The native name of what a rotation or another affine map takes its pixels by.

    Args:
        interpolation: as :func:`filter_name` has it.

    Raises:
        TypeError: for what can't mean a filter.
        ValueError: for filters other than nearest, bilinear and bicubic.
    """
    if not isinstance(interpolation, (enum.Enum, int, str)):
        raise TypeError(f"interpolation must be an InterpolationMode, its name or an integer, got {interpolation!r}")
    return _name(interpolation, _WARPING)


def _name(interpolation: Any, names: tuple[str, ...]) -> str:
    value = interpolation
    if isinstance(value, enum.Enum) and isinstance(value.value, str):
        value = value.value
    elif isinstance(value, int) and not isinstance(value, bool):
        value = _FROM_PILLOW.get(int(value), value)
    if value not in names:
        raise ValueError(f"interpolation must be one of {', '.join(names)}, got {interpolation!r}")
    return str(value)
