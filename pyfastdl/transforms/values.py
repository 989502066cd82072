"""Operations on the finished numbers, with torchvision's names, arguments and meaning."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

from pyfastdl.transforms.transform import Transform, is_sequence, positive_range, probability, three

__all__ = ["Normalize", "RandomErasing"]


class Normalize(Transform):
    """``(x - mean) / std`` per channel, on values from 0 to 1, in float32.

    Args:
        mean: one value, or three (red, green, blue).
        std: likewise; not zero.
        inplace: taken for torchvision's sake; has no meaning here.
    """

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        self.mean = three(mean, "Normalize: mean")
        self.std = three(std, "Normalize: std")
        if 0.0 in self.std:
            raise ValueError(f"Normalize: std must not be zero, got {self.std}")

    def spec(self) -> tuple[Any, ...]:
        return ("normalize", self.mean, self.std)


class RandomErasing(Transform):
    """Writes over a random box, with probability ``p``.

    Source: Zhong, Zheng, Kang, Li, Yang, "Random Erasing Data Augmentation" (2017), drawn as torchvision draws it: up
    to ten tries at an area of ``scale`` times the image's and a height / width from ``ratio`` (uniform in its
    logarithm); where none fits, nothing is erased.

    It works on numbers: before :class:`Normalize` on values from 0 to 1, after it on normalised ones. On batches of
    bytes (``dtype=torch.uint8``) ``value`` is in bytes, and "random" has no meaning.

    Args:
        p: the probability.
        scale: bounds of the box's share of the image's area, within 0 to 1.
        ratio: bounds of height / width.
        value: what is written: a number, three (red, green, blue), or "random": a number from the standard normal
            distribution for each element.
        inplace: taken for torchvision's sake; has no meaning here.

    Raises:
        ValueError, TypeError: as torchvision's; also for bounds in the wrong order.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        self.p = probability(p, "RandomErasing")
        if not is_sequence(scale) or len(scale) != 2:
            raise TypeError(f"RandomErasing: scale must be a pair (low, high), got {scale!r}")
        self.scale = float(scale[0]), float(scale[1])
        if not 0.0 <= self.scale[0] <= self.scale[1] <= 1.0:
            raise ValueError(f"RandomErasing: scale must be a pair with 0 <= low <= high <= 1, got {scale!r}")
        self.ratio = positive_range(ratio, "RandomErasing: ratio")
        self.value = _erasing_value(value)

    def spec(self) -> tuple[Any, ...]:
        return ("random_erasing", self.p, self.scale, self.ratio, None if self.value == "random" else self.value)


def _erasing_value(value: Any) -> tuple[float, float, float] | str:
    if isinstance(value, str):
        if value != "random":
            raise ValueError(f"RandomErasing: value must be a number, three, or 'random', got {value!r}")
        return value
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(number, numbers.Real) for number in values):
        raise TypeError(f"RandomErasing: value must be a number, three, or 'random', got {value!r}")
    if len(values) not in (1, 3):
        raise ValueError(f"RandomErasing: value must have one number or three (red, green, blue), got {value!r}")
    if not all(math.isfinite(number) for number in values):
        raise ValueError(f"RandomErasing: value must be finite, got {value!r}")
    red, green, blue = (float(number) for number in (values * 3)[:3])
    return red, green, blue
