"""Which filter a resize uses, in any of the spellings that users of torchvision and Pillow have."""

from __future__ import annotations

import enum
from typing import Any


class InterpolationMode(enum.Enum):
    """Pillow's filters, with torchvision's names and values. Resizing antialiases, and has no NEAREST; shears,
    translations and rotations have NEAREST, BILINEAR and BICUBIC."""

    NEAREST = "nearest"
    BOX = "box"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    LANCZOS = "lanczos"


# PIL.Image.Resampling, which torchvision still takes as plain integers.
_FROM_PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box"}

_FILTERS = ("box", "bilinear", "bicubic", "lanczos")
_SAMPLINGS = ("nearest", "bilinear", "bicubic")


def filter_name(interpolation: Any) -> str:
    """The native name of a filter.

    Args:
        interpolation: an :class:`InterpolationMode`, torchvision's enum of that name, a ``PIL.Image.Resampling`` or
            its integer, or a name such as ``"bilinear"``.

    Raises:
        ValueError: for a filter that has no native implementation (nearest, hamming).
    """
    return _one_of(interpolation, _FILTERS)


def sampling_name(interpolation: Any) -> str:
    """The native name of how shears, translations and rotations look pixels up; spelled as for :func:`filter_name`.

    Raises:
        ValueError: for what Pillow's ``Image.transform`` doesn't have (box, lanczos, hamming).
    """
    return _one_of(interpolation, _SAMPLINGS)


def _one_of(interpolation: Any, names: tuple[str, ...]) -> str:
    value = interpolation
    if isinstance(value, enum.Enum) and isinstance(value.value, str):
        value = value.value
    elif isinstance(value, int) and not isinstance(value, bool):
        value = _FROM_PILLOW.get(int(value), value)
    if value not in names:
        raise ValueError(f"interpolation must be one of {', '.join(names)}, got {interpolation!r}")
    return str(value)
