from collections.abc import Iterable, Sized
from os import PathLike
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

_T_co = TypeVar("_T_co", covariant=True)

class _SizedIterable(Sized, Iterable[_T_co], Protocol[_T_co]): ...

def pack_paths(
    paths: _SizedIterable[str | bytes | PathLike[Any]], name: str = "paths"
) -> tuple[bytearray, NDArray[np.int64]]: ...
def pack_targets(targets: Any, name: str = "targets") -> NDArray[Any]: ...
def pack_samples(
    samples: _SizedIterable[Any], name: str = "samples"
) -> tuple[bytearray, NDArray[np.int64], NDArray[Any]]: ...
