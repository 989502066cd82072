"""open_source: whatever a user calls a dataset, to a Source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from pyfastdl import _core, _samples
from pyfastdl.sources.source import Source

__all__ = ["open_source"]

_ACCEPTED = "wanted a folder of class folders, a list of files, or a list of (file, target) pairs"


def open_source(data: Any, targets: Any = None) -> Source:
    """
    Args:
        data: a folder of class folders (str, bytes, os.PathLike); a list, tuple or array of files; or one of
            (file, target) pairs.
        targets: one int, float or vector per file, for a list of files.

    Raises:
        FileNotFoundError, NotADirectoryError: the folder isn't there, is none, or has no images.
        TypeError, ValueError: data or targets that can't be what they should be.
    """
    if isinstance(data, (str, bytes, os.PathLike)):
        if targets is not None:
            raise ValueError(
                "targets were given for a folder of class folders, whose names are the targets already: "
                "leave them out, or pass the list of files"
            )
        return _open_folder(data)
    files = _as_list(data)
    if len(files) == 0:
        raise ValueError("data is an empty list: wanted one file or more")
    if isinstance(files[0], (str, bytes, os.PathLike)):
        return _open_files(files, targets)
    if not isinstance(files[0], (tuple, list, np.ndarray)):
        raise TypeError(f"data[0] is of type {type(files[0]).__name__}; {_ACCEPTED}")
    if targets is not None:
        raise ValueError("targets were given twice, in data's (file, target) pairs and as targets=: leave one out")
    return _open_pairs(files)


def _open_folder(root: str | bytes | os.PathLike[Any]) -> Source:
    # As torchvision: "~" is the home folder.
    found = _core.scan_folder(os.path.expanduser(root))
    return Source(found.paths, found.labels, found.classes, tuple(found.notes))


def _as_list(data: Any) -> Any:
    """What has a length, an order and a first item."""
    if isinstance(data, np.ndarray):
        if data.ndim not in (1, 2):
            raise TypeError(f"data is an array of shape {data.shape}; {_ACCEPTED}")
        return data
    if isinstance(data, Mapping) or not isinstance(data, Sequence):
        # pandas' Series and the like.
        if not isinstance(data, Mapping) and hasattr(data, "tolist"):
            return data.tolist()
        hint = ""
        if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, Mapping):
            hint = (
                " (a Dataset goes to torch.utils.data.DataLoader; for one of torchvision's folders, pass its .samples)"
            )
        elif hasattr(data, "__iter__"):
            hint = " (list(data) makes one)"
        raise TypeError(f"data is of type {type(data).__name__}; {_ACCEPTED}{hint}")
    return data


def _open_files(files: Any, targets: Any) -> Source:
    paths = _core.PathTable.from_packed(*_samples.pack_paths(files, "data"))
    if targets is None:
        return Source(paths)
    _check_targets(targets)
    array = _native(_samples.pack_targets(targets))
    if len(array) != len(paths):
        raise ValueError(f"there are {len(array)} targets for {len(paths)} files: wanted one per file")
    return Source(paths, array)


def _check_targets(targets: Any) -> None:
    """Refuses what has numbers, but not one per file in the files' order."""
    if isinstance(targets, Mapping):
        raise TypeError(
            f"targets is a {type(targets).__name__}; wanted a list with one per file, in the files' order: "
            "[targets[file] for file in files]"
        )
    if isinstance(targets, Set):
        raise TypeError(
            f"targets is a {type(targets).__name__}, which has no order; wanted a list with one per file, "
            "in the files' order"
        )
    if isinstance(targets, np.ma.MaskedArray):
        raise TypeError(
            "targets is a masked array, and a tensor has no masked values: fill them (targets.filled(value)), "
            "or leave those files out"
        )


def _open_pairs(pairs: Any) -> Source:
    arena, offsets, array = _samples.pack_samples(pairs, "data")
    return Source(_core.PathTable.from_packed(arena, offsets), _native(array))


def _native(targets: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers as tensors can hold them."""
    if targets.dtype.kind not in "biuf" or targets.dtype.itemsize > 8:
        raise TypeError(f"targets must be bools, ints or floats of at most 64 bits, got {targets.dtype}")
    return targets.astype(targets.dtype.newbyteorder("="), copy=False)
