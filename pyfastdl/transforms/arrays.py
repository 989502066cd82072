"""Images as arrays as the functions of ``transforms.functional`` take them, checked, and given to native operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def as_image(img: Any, name: str) -> npt.NDArray[np.uint8]:
    """The array itself, or a copy of it whose rows lie one after another.

    Args:
        img: a uint8 array (height, width, 3).
        name: the function's, for its errors.

    Raises:
        TypeError: for anything but an array.
        ValueError: for an array of another dtype or shape, or without a pixel.
    """
    import numpy as np

    if not isinstance(img, np.ndarray):
        raise TypeError(f"{name}: img must be a uint8 array (height, width, 3), got {type(img).__name__}")
    if img.dtype != np.uint8 or img.ndim != 3 or img.shape[2] != 3 or img.size == 0:
        raise ValueError(f"{name}: img must be a uint8 array (height, width, 3), got {img.dtype} {img.shape}")
    return np.ascontiguousarray(img)


def run_op(img: Any, name: str, *arguments: Any) -> npt.NDArray[np.uint8]:
    """The native operation of that name on a copy of the image; errors as :func:`as_image` has them."""
    from pyfastdl import _core

    return _core.apply_image_ops(as_image(img, name), [(name, *arguments)])
