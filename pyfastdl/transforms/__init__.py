"""Transforms that run on native threads. Names and arguments are torchvision's.

A list of them (or a :class:`Compose`) goes to ``NativeLoader(transform=...)`` or ``ImageFolder(transform=...)``.
They describe what is to be done; the native core does it, from the file to the finished batch.
"""

from __future__ import annotations

from pyfastdl.transforms import functional
from pyfastdl.transforms.compose import Compose
from pyfastdl.transforms.interpolation import InterpolationMode
from pyfastdl.transforms.ops import (
    CenterCrop,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToTensor,
    Transform,
)

__all__ = [
    "CenterCrop",
    "Compose",
    "InterpolationMode",
    "Normalize",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
    "ToTensor",
    "Transform",
    "functional",
]
