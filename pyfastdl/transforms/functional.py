"""Single operations on single images: torchvision's names and arguments, bit-equal to what it does to PIL images.

Images are uint8 arrays (height, width, 3); every function gives a new one and leaves its argument alone.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pyfastdl._arguments import MAX_SIDE, integer_in
from pyfastdl.decoding import DecodeOptions
from pyfastdl.transforms.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    invert,
    posterize,
    rgb_to_grayscale,
    solarize,
)
from pyfastdl.transforms.interpolation import InterpolationMode, filter_name
from pyfastdl.transforms.transform import is_sequence, pair, side
from pyfastdl.transforms.warping import affine, hflip, rotate, vflip

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "equalize",
    "hflip",
    "invert",
    "posterize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "vflip",
]


def resized_crop(
    src: str | bytes | os.PathLike[Any] | npt.NDArray[np.uint8],
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: Any = InterpolationMode.BILINEAR,
    *,
    apply_exif_orientation: bool = False,
    decode: Literal["exact", "fast"] = "exact",
) -> npt.NDArray[np.uint8]:
    """Crops a box out of an image and resizes it, bit-equal to Pillow's crop and resize.

    Args:
        src: a path (str or PathLike), an encoded image (bytes-like: only the box is decoded, where the codec can), or a
            uint8 array (height, width, 3).
        top, left, height, width: the box in pixels. What lies outside the image is black, as in torchvision.
        size: the result's (height, width); an int is the shorter side, and the longer follows in proportion.
        interpolation: the filter; see :class:`~pyfastdl.transforms.InterpolationMode`.
        apply_exif_orientation: turn and mirror an encoded image as its EXIF orientation says, as
            ``PIL.ImageOps.exif_transpose`` does; the box lies in the turned image.
        decode: "fast" lets a JPEG be decoded at 1/8, 1/4 or 1/2 of its size where the box then still has as many pixels
            as ``size``: not exact.

    Returns:
        A uint8 array (h, w, 3).

    Raises:
        FileNotFoundError: when there is no such file (other OSErrors likewise).
        pyfastdl.SampleError: when the file can't be read to its end, or the bytes do not decode.
        MemoryError: when there is not enough memory for the image.
        ValueError: for an empty box or size, or an array of another shape or dtype.

    Example:
        >>> import numpy as np
        >>> resized_crop(np.zeros((40, 60, 3), np.uint8), 0, 10, 40, 40, 20).shape
        (20, 20, 3)
    """
    import numpy as np

    from pyfastdl import _core
    from pyfastdl._pillow import pass_order
    from pyfastdl.images import decoded, read_source

    top = integer_in("resized_crop: top", top, -MAX_SIDE, MAX_SIDE)
    left = integer_in("resized_crop: left", left, -MAX_SIDE, MAX_SIDE)
    box = (top, left, side(height, "resized_crop: height"), side(width, "resized_crop: width"))
    options = DecodeOptions(apply_exif_orientation, decode)
    out = _output_size(size, box[2], box[3])
    arguments = (*box, out, filter_name(interpolation), pass_order())
    if not isinstance(src, np.ndarray):
        data, path = read_source(src, "resized_crop", " or a uint8 array")
        native = functools.partial(
            _core.resized_crop_encoded,
            data,
            *arguments,
            max_pixels=options.pixels(),
            apply_exif_orientation=apply_exif_orientation,
            fast=options.fast,
        )
        return decoded(data, path, native, lambda rgb: _core.resized_crop(rgb, *arguments), options)
    if src.dtype != np.uint8 or src.ndim != 3 or src.shape[2] != 3 or 0 in src.shape:
        raise ValueError(f"resized_crop needs a uint8 array (height, width, 3), got {src.dtype} {src.shape}")
    return _core.resized_crop(np.ascontiguousarray(src), *arguments)


def _output_size(size: int | Sequence[int], height: int, width: int) -> tuple[int, int]:
    if is_sequence(size) and len(size) == 2:
        return pair(size, "resized_crop: size")
    shorter = pair(size, "resized_crop: size")[0]
    # torchvision's rule: the longer side is cut to an integer, not rounded.
    if height <= width:
        return pair((shorter, max(1, int(shorter * width / height))), "resized_crop: the result's sides")
    return pair((max(1, int(shorter * height / width)), shorter), "resized_crop: the result's sides")
