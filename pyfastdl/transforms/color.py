"""Operations on the colours of single images; :mod:`pyfastdl.transforms.functional` shows them.

Each is bit-equal to torchvision's function of the same name on a PIL image. Arrays are uint8 (height, width, 3);
all raise TypeError for anything else and ValueError for arrays of another dtype or shape, or without a pixel.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from pyfastdl.transforms.arrays import run_op

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def _number(value: Any, what: str) -> float:
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{what} must be a number, got {value!r}")
    return float(value)


def adjust_brightness(img: npt.NDArray[np.uint8], brightness_factor: float) -> npt.NDArray[np.uint8]:
    """Makes an image darker or brighter (Pillow's ``ImageEnhance.Brightness``).

    Args:
        img: a uint8 array (height, width, 3).
        brightness_factor: 0 is black, 1 the image, 2 twice as bright. Any number.

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for a factor that is no number.

    Example:
        >>> import numpy as np
        >>> int(adjust_brightness(np.full((1, 1, 3), 100, np.uint8), 1.5)[0, 0, 0])
        150
    """
    return run_op(img, "adjust_brightness", _number(brightness_factor, "adjust_brightness: brightness_factor"))


def adjust_contrast(img: npt.NDArray[np.uint8], contrast_factor: float) -> npt.NDArray[np.uint8]:
    """Moves an image away from its mean gray, or towards it (Pillow's ``ImageEnhance.Contrast``).

    Args:
        img: a uint8 array (height, width, 3).
        contrast_factor: 0 is the mean gray everywhere, 1 the image. Any number.

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for a factor that is no number.

    Example:
        >>> import numpy as np
        >>> adjust_contrast(np.array([[[10] * 3, [30] * 3]], np.uint8), 2.0)[0, :, 0].tolist()
        [0, 40]
    """
    return run_op(img, "adjust_contrast", _number(contrast_factor, "adjust_contrast: contrast_factor"))


def adjust_saturation(img: npt.NDArray[np.uint8], saturation_factor: float) -> npt.NDArray[np.uint8]:
    """Moves every pixel away from its own gray, or towards it (Pillow's ``ImageEnhance.Color``).

    Args:
        img: a uint8 array (height, width, 3).
        saturation_factor: 0 is gray, 1 the image. Any number.

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for a factor that is no number.

    Example:
        >>> import numpy as np
        >>> adjust_saturation(np.array([[[200, 100, 0]]], np.uint8), 0.0)[0, 0].tolist()
        [119, 119, 119]
    """
    return run_op(img, "adjust_saturation", _number(saturation_factor, "adjust_saturation: saturation_factor"))


def adjust_sharpness(img: npt.NDArray[np.uint8], sharpness_factor: float) -> npt.NDArray[np.uint8]:
    """Blurs or sharpens an image (Pillow's ``ImageEnhance.Sharpness``, by a kernel of 3 x 3 pixels).

    Args:
        img: a uint8 array (height, width, 3). The outermost pixels stay as they are.
        sharpness_factor: 0 is blurred, 1 the image, 2 sharper. Any number.

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for a factor that is no number.

    Example:
        >>> import numpy as np
        >>> dot = np.zeros((3, 3, 3), np.uint8)
        >>> dot[1, 1] = 130
        >>> int(adjust_sharpness(dot, 0.0)[1, 1, 0])
        50
    """
    return run_op(img, "adjust_sharpness", _number(sharpness_factor, "adjust_sharpness: sharpness_factor"))


def adjust_hue(img: npt.NDArray[np.uint8], hue_factor: float) -> npt.NDArray[np.uint8]:
    """Turns the colours around the circle of hues, by way of Pillow's HSV bytes.

    Args:
        img: a uint8 array (height, width, 3).
        hue_factor: turns, -0.5 to 0.5. 0 loses a little too: HSV bytes hold less than RGB's.

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for a factor that is no number.
        ValueError: for one outside -0.5 to 0.5.

    Example:
        >>> import numpy as np
        >>> adjust_hue(np.array([[[255, 0, 0]]], np.uint8), 0.5)[0, 0].tolist()
        [0, 255, 252]
    """
    factor = _number(hue_factor, "adjust_hue: hue_factor")
    if not -0.5 <= factor <= 0.5:
        raise ValueError(f"adjust_hue: hue_factor must be in [-0.5, 0.5], got {hue_factor}")
    return run_op(img, "adjust_hue", factor)


def rgb_to_grayscale(img: npt.NDArray[np.uint8], num_output_channels: int = 3) -> npt.NDArray[np.uint8]:
    """Makes an image gray by ITU-R 601-2 luma: 0.299 red + 0.587 green + 0.114 blue, in 16-bit fixed point.

    Args:
        img: a uint8 array (height, width, 3).
        num_output_channels: 3, all the same, or 1.

    Returns:
        A new uint8 array (height, width, num_output_channels).

    Raises:
        ValueError: for another number of channels.

    Example:
        >>> import numpy as np
        >>> rgb_to_grayscale(np.array([[[255, 0, 0]]], np.uint8))[0, 0].tolist()
        [76, 76, 76]
    """
    if num_output_channels not in (1, 3):
        raise ValueError(f"rgb_to_grayscale: num_output_channels should be either 1 or 3, got {num_output_channels!r}")
    gray = run_op(img, "to_grayscale")
    return gray if num_output_channels == 3 else gray[:, :, :1].copy()


def invert(img: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Makes a negative: 255 less each byte.

    Args:
        img: a uint8 array (height, width, 3).

    Returns:
        A new uint8 array (height, width, 3).

    Example:
        >>> import numpy as np
        >>> invert(np.array([[[0, 1, 255]]], np.uint8))[0, 0].tolist()
        [255, 254, 0]
    """
    return run_op(img, "invert")


def posterize(img: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Keeps the upper bits of each byte and clears the others.

    Args:
        img: a uint8 array (height, width, 3).
        bits: how many, 1 to 8 (as Pillow 13 has it; older versions take 0 too).

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for bits that aren't an int.
        ValueError: for a number outside 1 to 8.

    Example:
        >>> import numpy as np
        >>> posterize(np.array([[[15, 16, 255]]], np.uint8), 4)[0, 0].tolist()
        [0, 16, 240]
    """
    if not isinstance(bits, numbers.Integral):
        raise TypeError(f"posterize: bits must be an int, got {bits!r}")
    if not 1 <= bits <= 8:
        raise ValueError(f"posterize: bits must be 1 to 8, got {bits}")
    return run_op(img, "posterize", int(bits))


def solarize(img: npt.NDArray[np.uint8], threshold: float) -> npt.NDArray[np.uint8]:
    """Inverts the bytes that are not below a threshold.

    Args:
        img: a uint8 array (height, width, 3).
        threshold: any number; above 255 nothing changes.

    Returns:
        A new uint8 array (height, width, 3).

    Raises:
        TypeError: for a threshold that is no number.

    Example:
        >>> import numpy as np
        >>> solarize(np.array([[[127, 128, 255]]], np.uint8), 128)[0, 0].tolist()
        [127, 127, 0]
    """
    return run_op(img, "solarize", _number(threshold, "solarize: threshold"))


def autocontrast(img: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Stretches each channel, so that its darkest byte becomes 0 and its brightest 255.

    Args:
        img: a uint8 array (height, width, 3). A channel of one level stays as it is.

    Returns:
        A new uint8 array (height, width, 3).

    Example:
        >>> import numpy as np
        >>> autocontrast(np.array([[[50] * 3, [101] * 3]], np.uint8))[0, :, 0].tolist()
        [0, 255]
    """
    return run_op(img, "autocontrast")


def equalize(img: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Spreads each channel's histogram evenly (Pillow's ``ImageOps.equalize``).

    Args:
        img: a uint8 array (height, width, 3). A channel of one level, or of too few pixels, stays as it is.

    Returns:
        A new uint8 array (height, width, 3).

    Example:
        >>> import numpy as np
        >>> ramp = np.repeat(np.arange(0, 64, dtype=np.uint8), 3 * 64).reshape(64, 64, 3)
        >>> int(equalize(ramp).max())
        252
    """
    return run_op(img, "equalize")
