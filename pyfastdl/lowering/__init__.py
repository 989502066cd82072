"""What torchvision's datasets and transforms are to the native core: which of them it can do to the bit, and how."""

from pyfastdl.lowering.lowering import Lowered, Lowering

__all__ = ["Lowered", "Lowering"]
