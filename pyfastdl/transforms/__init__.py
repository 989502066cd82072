"""Transforms that run on native threads. Names and arguments are torchvision's.

A list of them (or a :class:`Compose`) goes to ``NativeLoader(transform=...)`` or ``ImageFolder(transform=...)``; a
list of such lists (or :class:`Views`) gives several views of each sample. They describe what is to be done; the native
core does it, from the file to the finished batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyfastdl._arguments import nearest
from pyfastdl.transforms import functional
from pyfastdl.transforms.auto_augment import RandAugment, TrivialAugmentWide
from pyfastdl.transforms.coloring import ColorJitter, Grayscale, RandomGrayscale
from pyfastdl.transforms.compose import Compose, Views
from pyfastdl.transforms.conversion import PILToTensor, ToDtype, ToImage, ToTensor
from pyfastdl.transforms.geometry import (
    CenterCrop,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from pyfastdl.transforms.interpolation import InterpolationMode
from pyfastdl.transforms.transform import Transform
from pyfastdl.transforms.values import Normalize, RandomErasing

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "Grayscale",
    "InterpolationMode",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandAugment",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToDtype",
    "ToImage",
    "ToTensor",
    "Transform",
    "TrivialAugmentWide",
    "Views",
    "functional",
]

if not TYPE_CHECKING:  # to a type checker, every name would exist

    def __getattr__(name: str) -> NoReturn:
        if name.startswith("_"):  # asked for by Python's own machinery
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        close = nearest(name, __all__)
        raise AttributeError(
            f"pyfastdl.transforms has no {name!r}{f' (did you mean {close!r}?)' if close else ''}. It has "
            f"{', '.join(__all__)}. Anything else may stand at the end of the list as a Python callable, which gets "
            "the image's tensor; or run under pyfastdl.DataLoader, with torchvision's dataset and transforms"
        )
