"""pyfastdl: a data loader for PyTorch whose batches are filled by native threads.

Importing the package loads neither torch nor the native modules: each name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> the module that has it
_LAZY = {
    "ImageFolder": "pyfastdl.folder",
    "LoaderError": "pyfastdl.errors",
    "NativeLoader": "pyfastdl.loader",
    "SampleError": "pyfastdl.errors",
    "build_info": "pyfastdl.build",
    "decode_image": "pyfastdl.images",
}
_SUBMODULES = ("errors", "transforms")

__all__ = [
    "ImageFolder",
    "LoaderError",
    "NativeLoader",
    "SampleError",
    "build_info",
    "decode_image",
    "errors",
    "transforms",
]

if TYPE_CHECKING:
    from pyfastdl import errors, transforms
    from pyfastdl.build import build_info
    from pyfastdl.errors import LoaderError, SampleError
    from pyfastdl.folder import ImageFolder
    from pyfastdl.images import decode_image
    from pyfastdl.loader import NativeLoader


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"pyfastdl.{name}")
    else:
        raise AttributeError(f"module 'pyfastdl' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
