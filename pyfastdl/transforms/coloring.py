"""Operations on colours, each with torchvision's name, arguments and meaning (on PIL images)."""

from __future__ import annotations

import math
import numbers
from typing import Any

from pyfastdl.transforms.transform import Transform, probability

__all__ = ["ColorJitter", "Grayscale", "RandomGrayscale"]


class Grayscale(Transform):
    """Gray by ITU-R 601-2 luma, as Pillow's ``convert("L")`` has it, in three equal channels.

    Args:
        num_output_channels: 3. Batches always have three channels, so 1 (torchvision's default) is refused.

    Raises:
        ValueError: for another number of channels.
    """

    def __init__(self, num_output_channels: int = 3) -> None:
        if num_output_channels != 3:
            raise ValueError(
                f"Grayscale: num_output_channels must be 3, got {num_output_channels!r}: batches have three channels; "
                "take one of them (images[:, :1]), they are equal"
            )
        self.num_output_channels = 3

    def spec(self) -> tuple[Any, ...]:
        return ("grayscale",)


class RandomGrayscale(Transform):
    """Gray, in three equal channels, with probability ``p``."""

    def __init__(self, p: float = 0.1) -> None:
        self.p = probability(p, "RandomGrayscale")

    def spec(self) -> tuple[Any, ...]:
        return ("random_grayscale", self.p)


class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in a random order.

    Args:
        brightness, contrast, saturation: the factor is uniform in [max(0, 1 - x), 1 + x], or in the (min, max) given;
            not negative. 0 leaves the operation out.
        hue: the shift, in turns of the colour circle, is uniform in [-x, x], or in the (min, max) given; from -0.5 to
            0.5.

    Raises:
        ValueError, TypeError: as torchvision's.

    Example:
        >>> ColorJitter(brightness=0.4, hue=0.1)
        ColorJitter(brightness=(0.6, 1.4), contrast=None, saturation=None, hue=(-0.1, 0.1))
    """

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        self.brightness = _factors(brightness, "brightness")
        self.contrast = _factors(contrast, "contrast")
        self.saturation = _factors(saturation, "saturation")
        self.hue = _factors(hue, "hue", center=0.0, low=-0.5, high=0.5)

    def spec(self) -> tuple[Any, ...]:
        return ("color_jitter", self.brightness, self.contrast, self.saturation, self.hue)


def _factors(
    value: Any, name: str, center: float = 1.0, low: float = 0.0, high: float = math.inf
) -> tuple[float, float] | None:
    """The range of a factor, or None where it changes nothing."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"ColorJitter: {name} must not be negative, got {value!r}")
        # A factor can't be below 0; a hue that is out of bounds is an error below.
        smallest = center - float(value)
        ends = (max(smallest, 0.0) if center == 1.0 else smallest, center + float(value))
    elif isinstance(value, (list, tuple)) and len(value) == 2:
        ends = (float(value[0]), float(value[1]))
    else:
        raise TypeError(f"ColorJitter: {name} must be a number or a pair (min, max), got {value!r}")
    if not low <= ends[0] <= ends[1] <= high or not math.isfinite(ends[1]):
        raise ValueError(
            f"ColorJitter: {name} must lie between {low:g} and {high:g}, the smaller number first, got {value!r}"
        )
    return None if ends[0] == ends[1] == center else ends
