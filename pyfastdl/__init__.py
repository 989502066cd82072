"""pyfastdl: a data loader for PyTorch whose batches are filled by native threads.

Importing the package loads neither torch nor the native modules: each name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> the module that has it
_LAZY = {
    "DataLoader": "pyfastdl.dataloader",
    "ImageFolder": "pyfastdl.folder",
    "LoaderError": "pyfastdl.errors",
    "NativeLoader": "pyfastdl.loader",
    "SampleError": "pyfastdl.errors",
    "build_info": "pyfastdl.build",
    "decode_image": "pyfastdl.images",
    "get_worker_info": "pyfastdl.workers.context",
    "sample_rng": "pyfastdl.workers.sample_rng",
}
_SUBMODULES = ("errors", "transforms")

__all__ = [
    "DataLoader",
    "ImageFolder",
    "LoaderError",
    "NativeLoader",
    "SampleError",
    "build_info",
    "decode_image",
    "errors",
    "get_worker_info",
    "sample_rng",
    "transforms",
]

if TYPE_CHECKING:
    from pyfastdl import errors, transforms
    from pyfastdl.build import build_info
    from pyfastdl.dataloader import DataLoader
    from pyfastdl.errors import LoaderError, SampleError
    from pyfastdl.folder import ImageFolder
    from pyfastdl.images import decode_image
    from pyfastdl.loader import NativeLoader
    from pyfastdl.workers.context import get_worker_info
    from pyfastdl.workers.sample_rng import sample_rng


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            value = getattr(importlib.import_module(_LAZY[name]), name)
        except ImportError as error:
            if error.name == "pyfastdl" and not _has_native_modules():
                raise ImportError(
                    f"{__path__[0]} is the source, without the native modules, and hides the installed package: "
                    "start Python in another folder than the checkout, or install it first (pip install .)"
                ) from error
            raise
    elif name in _SUBMODULES:
        value = importlib.import_module(f"pyfastdl.{name}")
    else:
        raise AttributeError(f"module 'pyfastdl' has no attribute {name!r}")
    globals()[name] = value
    return value


def _has_native_modules() -> bool:
    return any(entry.startswith("_core.") and entry.endswith(".so") for entry in os.listdir(__path__[0]))


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
