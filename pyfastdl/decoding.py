"""How images are decoded, and what they may cost: the options that loaders and datasets share."""

from __future__ import annotations

import dataclasses
from typing import Any

from pyfastdl._arguments import MAX_COUNT, at_least

__all__ = ["DecodeOptions", "default_max_memory", "default_max_pixels"]

# For a budget that isn't given: this share of the memory that the process may use.
_MEMORY_SHARE = 4

# Means "no limit" in the native core.
_NO_LIMIT = 2**64 - 1


@dataclasses.dataclass(frozen=True)
class DecodeOptions:
    """Checked options of decoding.

    Args:
        apply_exif_orientation: turn and mirror each image as its EXIF orientation says, before the transform, as
            ``PIL.ImageOps.exif_transpose`` does.
        decode: "exact" or "fast".
        max_pixels: images of more are refused before memory is taken; None is Pillow's limit.
        max_scans: progressive JPEGs of more scans are refused, each of which costs a pass over the whole image.
        max_memory: bytes that images which must be held whole may take together; None is a quarter of the memory that
            the process may use.

    Raises:
        TypeError, ValueError: for options of another type, or out of range.
    """

    apply_exif_orientation: bool = False
    decode: str = "exact"
    max_pixels: int | None = None
    max_scans: int = 500
    max_memory: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.apply_exif_orientation, bool):
            raise TypeError(f"apply_exif_orientation must be True or False, got {self.apply_exif_orientation!r}")
        if self.decode not in ("exact", "fast"):
            raise ValueError(f"decode must be 'exact' or 'fast', got {self.decode!r}")
        for name, most in (("max_pixels", _NO_LIMIT), ("max_memory", _NO_LIMIT), ("max_scans", MAX_COUNT)):
            value = getattr(self, name)
            if value is not None or name == "max_scans":
                object.__setattr__(self, name, min(at_least(name, value, 1), most))

    @property
    def fast(self) -> bool:
        return self.decode == "fast"

    def pixels(self) -> int:
        """The limit on pixels that holds now."""
        return default_max_pixels() if self.max_pixels is None else self.max_pixels

    def config(self) -> dict[str, Any]:
        """As ``_core.Pipeline`` takes them."""
        return {
            "max_pixels": self.pixels(),
            "max_scans": self.max_scans,
            "max_memory": default_max_memory() if self.max_memory is None else self.max_memory,
            "apply_exif_orientation": self.apply_exif_orientation,
            "fast": self.fast,
        }


def default_max_pixels() -> int:
    """Above which Pillow raises DecompressionBombError: twice ``Image.MAX_IMAGE_PIXELS``, which the user may set."""
    from PIL import Image

    return _NO_LIMIT if Image.MAX_IMAGE_PIXELS is None else 2 * int(Image.MAX_IMAGE_PIXELS)


def default_max_memory() -> int:
    """A quarter of the machine's memory, or of the cgroup's limit where that is less."""
    from pyfastdl import _core

    return _core.granted_memory() // _MEMORY_SHARE
