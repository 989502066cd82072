"""From pictures to tensors, with torchvision's names, arguments and meaning.

Every loader with a float dtype does what :class:`ToTensor` does by itself; a conversion in the list says it, or says
another one. Resizing and operations on colours come before it: they work on pictures, as Pillow has them.
"""

from __future__ import annotations

from typing import Any

from pyfastdl.transforms.transform import Transform

__all__ = ["PILToTensor", "ToDtype", "ToImage", "ToTensor"]


class ToTensor(Transform):
    """Bytes to float32 from 0 to 1: ``x / 255``."""

    def spec(self) -> tuple[Any, ...]:
        return ("to_tensor",)


class PILToTensor(Transform):
    """The bytes themselves. A loader then needs ``dtype=torch.uint8``, or :class:`ToDtype` behind this."""

    def spec(self) -> tuple[Any, ...]:
        return ("pil_to_tensor",)


class ToImage(Transform):
    """The bytes themselves, as torchvision v2 says it. See :class:`PILToTensor`; what is a tensor already stays one."""

    def spec(self) -> tuple[Any, ...]:
        return ("to_image",)


class ToDtype(Transform):
    """Bytes to floats as torchvision v2 does it.

    With ``scale`` they are multiplied by 1/255, where :class:`ToTensor` divides by 255: half of the 256 values differ
    in the last bit. Where the picture is not a tensor yet, it becomes one (torchvision would leave it alone).

    Args:
        dtype: torch.float32; torch.float16 or torch.bfloat16, in which a Normalize after it then computes, and which
            the loader's ``dtype`` must be too; or torch.uint8, which leaves bytes as they are.
        scale: False keeps the values from 0 to 255.

    Raises:
        ValueError: for another dtype, or a dict.
    """

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        name = str(dtype).removeprefix("torch.")
        if type(dtype).__name__ != "dtype" or name not in ("float32", "float16", "bfloat16", "uint8"):
            raise ValueError(
                "ToDtype: dtype must be one that batches can have, torch.float32, float16, bfloat16 or uint8, "
                f"got {dtype!r}"
            )
        self.dtype = dtype
        self.scale = bool(scale)

    @property
    def name(self) -> str:
        """The dtype's name, without "torch."."""
        return str(self.dtype).removeprefix("torch.")

    def spec(self) -> tuple[Any, ...]:
        return ("to_dtype", self.name, self.scale)
