"""Operations on the places of single images' pixels; :mod:`pyfastdl.transforms.functional` shows them.

Each is bit-equal to torchvision's function of the same name on a PIL image. Arrays are uint8 (height, width, 3);
all raise TypeError for anything else and ValueError for arrays of another dtype or shape, or without a pixel.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyfastdl.transforms.arrays import as_image, run_op
from pyfastdl.transforms.interpolation import InterpolationMode, sampling_name

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def hflip(img: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Mirrors an image: left becomes right.

    Args:
        img: a uint8 array (height, width, 3).

    Returns:
        A new uint8 array (height, width, 3).

    Example:
        >>> import numpy as np
        >>> hflip(np.array([[[1] * 3, [2] * 3]], np.uint8))[0, :, 0].tolist()
        [2, 1]
    """
    mirrored: npt.NDArray[np.uint8] = as_image(img, "hflip")[:, ::-1].copy()
    return mirrored


def vflip(img: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Turns an image upside down: top becomes bottom.

    Args:
        img: a uint8 array (height, width, 3).

    Returns:
        A new uint8 array (height, width, 3).

    Example:
        >>> import numpy as np
        >>> vflip(np.array([[[1] * 3], [[2] * 3]], np.uint8))[:, 0, 0].tolist()
        [2, 1]
    """
    turned: npt.NDArray[np.uint8] = as_image(img, "vflip")[::-1].copy()
    return turned


def rotate(
    img: npt.NDArray[np.uint8],
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> npt.NDArray[np.uint8]:
    """Turns an image about its centre and keeps its size (Pillow's ``Image.rotate``).

    Args:
        img: a uint8 array (height, width, 3).
        angle: degrees, counter-clockwise.
        interpolation: NEAREST, BILINEAR or BICUBIC; see :class:`~pyfastdl.transforms.InterpolationMode`.
        expand, center: taken for torchvision's sake: only False and None.
        fill: what is seen where the image isn't, one value or one a channel; None is black.

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for an angle that is neither an int nor a float, or a fill that is no number.
        ValueError: for an angle that isn't finite, another interpolation, a fill of another length, or an ``expand`` or
            ``center`` that isn't there.

    Example:
        >>> import numpy as np
        >>> square = np.repeat(np.arange(4, dtype=np.uint8), 3).reshape(2, 2, 3)
        >>> rotate(square, 90)[:, :, 0].tolist()
        [[1, 3], [0, 2]]
    """
    degrees = _angle(angle, "rotate")
    if expand:
        raise ValueError("rotate: expand=True is not there (the size is kept): pad the image first")
    if center is not None:
        raise ValueError("rotate: only the image's own centre is there: leave center out, or use affine(center=)")
    return run_op(img, "rotate", degrees, sampling_name(interpolation), _fill(fill, "rotate"))


def affine(
    img: npt.NDArray[np.uint8],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: Any = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> npt.NDArray[np.uint8]:
    """Shears, scales, turns and moves an image; its size is kept (Pillow's ``Image.transform`` by an affine matrix).

    Args:
        img: a uint8 array (height, width, 3).
        angle: degrees, clockwise.
        translate: (right, down) in pixels, after the turn.
        scale: above 0.
        shear: degrees along x, or (along x, along y).
        interpolation: NEAREST, BILINEAR or BICUBIC; see :class:`~pyfastdl.transforms.InterpolationMode`.
        fill: what is seen where the image isn't, one value or one a channel; None is black.
        center: (x, y) in pixels from the upper left corner, which stays in its place but for ``translate``; None is the
            image's centre.

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for arguments of the wrong kind.
        ValueError: for sequences of the wrong length, a scale that isn't above 0, numbers that make no finite matrix,
            or another interpolation.

    Example:
        >>> import numpy as np
        >>> row = np.repeat(np.arange(4, dtype=np.uint8), 3).reshape(1, 4, 3)
        >>> affine(row, 0, [1, 0], 1.0, 0.0, fill=9)[0, :, 0].tolist()
        [9, 0, 1, 2]
    """
    from pyfastdl import _core

    degrees = _angle(angle, "affine")
    move = _two(translate, "affine: translate")
    if scale <= 0:
        raise ValueError(f"affine: scale must be positive, got {scale}")
    if not isinstance(shear, (numbers.Real, list, tuple)):
        raise TypeError(f"affine: shear must be a number or a sequence of two, got {shear!r}")
    if isinstance(shear, numbers.Real):
        shear = (float(shear), 0.0)
    elif len(shear) == 1:
        shear = (shear[0], shear[0])
    image = as_image(img, "affine")
    middle = (image.shape[1] * 0.5, image.shape[0] * 0.5) if center is None else _two(center, "affine: center")
    matrix = _core.inverse_affine_matrix(middle, degrees, move, float(scale), _two(shear, "affine: shear"))
    if not all(map(math.isfinite, matrix)):
        raise ValueError(
            f"affine: angle {angle}, translate {translate}, scale {scale} and shear {shear} make no finite matrix"
        )
    return run_op(image, "affine", matrix, sampling_name(interpolation), _fill(fill, "affine"))


def _angle(angle: Any, name: str) -> float:
    if not isinstance(angle, (int, float)):
        raise TypeError(f"{name}: angle must be an int or a float, got {angle!r}")
    if not math.isfinite(angle):
        raise ValueError(f"{name}: angle must be finite, got {angle}")
    return float(angle)


def _two(values: Any, what: str) -> tuple[float, float]:
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{what} must be a sequence of two numbers, got {values!r}")
    if len(values) != 2:
        raise ValueError(f"{what} must be a sequence of two numbers, got {values!r}")
    return float(values[0]), float(values[1])


def _fill(fill: Any, name: str) -> tuple[int, int, int]:
    """Three bytes. Fractions are cut off and the rest clipped, as Pillow has it."""
    if fill is None:
        fill = 0
    values = list(fill) if isinstance(fill, (list, tuple)) else [fill]
    if not all(isinstance(value, numbers.Real) for value in values):
        raise TypeError(f"{name}: fill must be a number or one for each of three channels, got {fill!r}")
    if len(values) not in (1, 3):
        raise ValueError(f"{name}: fill must have one value or three, got {len(values)}: {fill!r}")
    clipped = [min(max(int(value), 0), 255) for value in values]
    return clipped[0], clipped[len(clipped) // 2], clipped[-1]
