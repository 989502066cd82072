"""Automatic augmentation, with torchvision's names, arguments and meaning (on PIL images)."""

from __future__ import annotations

import numbers
from typing import Any

from pyfastdl.transforms.interpolation import InterpolationMode, sampling_name
from pyfastdl.transforms.transform import Transform, color

__all__ = ["RandAugment", "TrivialAugmentWide"]


class RandAugment(Transform):
    """``num_ops`` operations, drawn one after another from fourteen, all of the same magnitude.

    Source: Cubuk, Zoph, Shlens, Le, "RandAugment: Practical automated data augmentation with a reduced search space"
    (2019), with torchvision's operations and magnitudes: Identity, ShearX, ShearY, TranslateX, TranslateY, Rotate,
    Brightness, Color, Contrast, Sharpness, Posterize, Solarize, AutoContrast, Equalize.

    Args:
        num_ops: operations a sample.
        magnitude: which of the magnitudes, 0 to ``num_magnitude_bins - 1``.
        num_magnitude_bins: how many magnitudes an operation's range is divided into; at least 2.
        interpolation: of shears, translations and rotations: nearest, bilinear or bicubic.
        fill: the colour of what they bring in from outside: a number, or (red, green, blue); None is black.

    Example:
        >>> RandAugment().magnitude
        9
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        self.num_ops = _count(num_ops, "RandAugment: num_ops")
        self.num_magnitude_bins = _bins(num_magnitude_bins, "RandAugment")
        self.magnitude = _count(magnitude, "RandAugment: magnitude")
        if self.magnitude >= self.num_magnitude_bins:
            raise ValueError(
                f"RandAugment: magnitude must be below num_magnitude_bins, {self.num_magnitude_bins}, got {magnitude}"
            )
        self.interpolation = sampling_name(interpolation)
        self.fill = color(fill, "RandAugment: fill")

    def spec(self) -> tuple[Any, ...]:
        return (
            "rand_augment",
            self.num_ops,
            self.magnitude,
            self.num_magnitude_bins,
            self.interpolation,
            self.fill,
        )


class TrivialAugmentWide(Transform):
    """One operation, drawn from RandAugment's fourteen, of a random magnitude from a wide range.

    Source: Müller, Hutter, "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation" (2021), with
    torchvision's magnitudes.

    Args:
        num_magnitude_bins, interpolation, fill: see :class:`RandAugment`.
    """

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Any = InterpolationMode.NEAREST, fill: Any = None
    ) -> None:
        self.num_magnitude_bins = _bins(num_magnitude_bins, "TrivialAugmentWide")
        self.interpolation = sampling_name(interpolation)
        self.fill = color(fill, "TrivialAugmentWide: fill")

    def spec(self) -> tuple[Any, ...]:
        return ("trivial_augment_wide", self.num_magnitude_bins, self.interpolation, self.fill)


def _count(value: Any, what: str) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{what} must be an int, got {value!r}")
    if value < 0:
        raise ValueError(f"{what} must not be negative, got {value}")
    return int(value)


def _bins(value: Any, what: str) -> int:
    bins = _count(value, f"{what}: num_magnitude_bins")
    if bins < 2:
        raise ValueError(f"{what}: num_magnitude_bins must be at least 2, got {bins}")
    return bins
