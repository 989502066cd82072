"""Single images: from a path or encoded bytes to pixels."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyfastdl.decoding import DecodeOptions
from pyfastdl.errors import SampleError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["decode_image", "decode_with"]


def decode_image(
    src: str | bytes | bytearray | memoryview | os.PathLike[Any],
    *,
    apply_exif_orientation: bool = False,
) -> npt.NDArray[np.uint8]:
    """Decodes an image, bit-equal to Pillow's ``Image.open(src).convert("RGB")``.

    JPEG, PNG and WebP are decoded natively; every other format, and every odd kind, by Pillow itself. The format is
    told by the file's first bytes, not by its name.

    Args:
        src: a path (str or PathLike), or an encoded image (bytes, bytearray, memoryview).
        apply_exif_orientation: turn and mirror the image as its EXIF orientation says: bit-equal to
            ``PIL.ImageOps.exif_transpose(Image.open(src)).convert("RGB")``. Broken metadata turn nothing.

    Returns:
        A uint8 array (height, width, 3).

    Raises:
        FileNotFoundError: when there is no such file (other OSErrors likewise).
        pyfastdl.SampleError: when the file can't be read to its end, or the bytes do not decode; says why. So it is
            with more than twice ``PIL.Image.MAX_IMAGE_PIXELS`` pixels.
        MemoryError: when there is not enough memory for the image.

    Example:
        >>> import io, PIL.Image
        >>> file = io.BytesIO()
        >>> PIL.Image.new("RGB", (4, 3), "red").save(file, "png")
        >>> decode_image(file.getvalue())[0, 0].tolist()
        [255, 0, 0]
    """
    return decode_with(src, DecodeOptions(apply_exif_orientation), "decode_image")


def decode_with(src: Any, options: DecodeOptions, caller: str = "decode_image") -> npt.NDArray[np.uint8]:
    """:func:`decode_image` with a loader's options. Always at full size, and exact: only a plan knows what
    ``decode="fast"`` may leave out. One image holds no more than ``max_pixels`` allows: other limits don't apply."""
    from pyfastdl import _core

    data, path = read_source(src, caller)
    native = functools.partial(
        _core.decode,
        data,
        max_pixels=options.pixels(),
        apply_exif_orientation=options.apply_exif_orientation,
    )
    return decoded(data, path, native, lambda rgb: rgb, options)


def read_source(src: Any, caller: str, also: str = "") -> tuple[Any, str]:
    """The encoded bytes and the path (or "") of what a user passed as an image to ``caller``."""
    if isinstance(src, (bytes, bytearray, memoryview)):
        return src, ""
    if not isinstance(src, (str, os.PathLike)):
        wanted = f"a path (str or PathLike){',' if also else ' or'} encoded bytes{also}"
        raise TypeError(f"{caller} takes {wanted}, got {type(src).__qualname__}")
    # Without waiting: a FIFO has no end until someone writes.
    with open(src, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise SampleError(os.fsdecode(src), -1, "wanted a file, got a FIFO or a device")
        try:
            return file.read(), os.fsdecode(src)
        except OSError as error:  # the disk failed, say: Python's own message names no file
            raise SampleError(os.fsdecode(src), -1, f"cannot read the file: {error.strerror or error}") from error


def decoded(
    data: Any,
    path: str,
    native: Callable[[], npt.NDArray[np.uint8] | None],
    from_rgb: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.uint8]],
    options: DecodeOptions,
) -> npt.NDArray[np.uint8]:
    """Tries the native decoder; what it leaves to Pillow (None), or can't decode, goes through Pillow."""
    from pyfastdl import fallback

    reason = ""
    try:
        pixels = native()
        if pixels is not None:
            return pixels
    except ValueError as error:
        reason = str(error)  # Pillow has the last word on what is broken, and its own words for it
    try:
        rgb = fallback.decode_rgb(
            data, apply_exif_orientation=options.apply_exif_orientation, max_pixels=options.max_pixels
        )
    except MemoryError:
        raise
    except Exception as error:
        raise SampleError(path, -1, fallback.describe_failure(error, data, reason)) from error
    return from_rgb(rgb)
