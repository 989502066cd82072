"""Which filter a resize uses, in any of the spellings that users of torchvision and Pillow have."""

from __future__ import annotations

import enum
from typing import Any


class InterpolationMode(enum.Enum):
    """Pillow's antialiasing filters, with torchvision's names and values."""

    BOX = "box"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    LANCZOS = "lanczos"


# PIL.Image.Resampling, which torchvision still takes as plain integers.
_FROM_PILLOW = {1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box"}


def filter_name(interpolation: Any) -> str:
    """The native name of a filter.

    Args:
        interpolation: an :class:`InterpolationMode`, torchvision's enum of that name, a ``PIL.Image.Resampling`` or
            its integer, or a name such as ``"bilinear"``.

    Raises:
        ValueError: for a filter that has no native implementation (nearest, hamming).
    """
    value = interpolation
    if isinstance(value, enum.Enum) and isinstance(value.value, str):
        value = value.value
    elif isinstance(value, int) and not isinstance(value, bool):
        value = _FROM_PILLOW.get(int(value), value)
    names = [mode.value for mode in InterpolationMode]
    if value not in names:
        raise ValueError(f"interpolation must be one of {', '.join(names)}, got {interpolation!r}")
    return str(value)
