"""Single images: from a path or encoded bytes to pixels."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyfastdl.errors import SampleError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["decode_image"]


def decode_image(src: str | bytes | bytearray | memoryview | os.PathLike[Any]) -> npt.NDArray[np.uint8]:
    """Decodes an image, bit-equal to Pillow's ``Image.open(src).convert("RGB")``.

    JPEG, PNG and WebP are decoded natively; every other format, and every odd kind, by Pillow itself. The format is
    told by the file's first bytes, not by its name.

    Args:
        src: a path (str or PathLike), or an encoded image (bytes, bytearray, memoryview).

    Returns:
        A uint8 array (height, width, 3).

    Raises:
        FileNotFoundError: when there is no such file (other OSErrors likewise).
        pyfastdl.SampleError: when the bytes do not decode; says why.

    Example:
        >>> import io, PIL.Image
        >>> file = io.BytesIO()
        >>> PIL.Image.new("RGB", (4, 3), "red").save(file, "png")
        >>> decode_image(file.getvalue())[0, 0].tolist()
        [255, 0, 0]
    """
    from pyfastdl import _core

    data, path = read_source(src)
    return decoded(data, path, lambda: _core.decode(data), lambda rgb: rgb)


def read_source(src: Any) -> tuple[Any, str]:
    """The encoded bytes and the path (or "") of what a user passed as an image."""
    if isinstance(src, (bytes, bytearray, memoryview)):
        return src, ""
    if not isinstance(src, (str, os.PathLike)):
        raise TypeError(f"an image must be a path, encoded bytes or an array, got {type(src).__qualname__}")
    # Without waiting: a FIFO has no end until someone writes.
    with open(src, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise SampleError(os.fsdecode(src), -1, "wanted a file, got a FIFO or a device")
        return file.read(), os.fsdecode(src)


def decoded(
    data: Any,
    path: str,
    native: Callable[[], npt.NDArray[np.uint8] | None],
    from_rgb: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.uint8]],
) -> npt.NDArray[np.uint8]:
    """Tries the native decoder; what it leaves to Pillow (None), or can't decode, goes through Pillow."""
    from pyfastdl import fallback

    try:
        pixels = native()
        if pixels is not None:
            return pixels
    except ValueError:
        pass  # Pillow has the last word on what is broken, and its own words for it
    try:
        rgb = fallback.decode_rgb(data)
    except Exception as error:
        raise SampleError(path, -1, fallback.describe_failure(error, data)) from error
    return from_rgb(rgb)
