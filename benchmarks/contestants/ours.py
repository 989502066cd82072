"""pyfastdl.NativeLoader."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable

from contestants import BATCH, MEAN, RATIO, SCALE, SIZE, STD, Work

NEEDS = ["pyfastdl", "torch"]
VERSIONS = ["pyfastdl-native", "torch"]


def start(work: Work) -> Callable[[], Iterable[object]]:
    import pyfastdl
    from pyfastdl import transforms as T

    importlib.import_module("pyfastdl._core")  # loaded lazily, and imports aren't counted
    transform = [
        T.RandomResizedCrop(SIZE, scale=SCALE, ratio=RATIO),
        T.RandomHorizontalFlip(),
        T.Normalize(MEAN, STD),
    ]
    return lambda: pyfastdl.NativeLoader(
        str(work.data), batch_size=BATCH, shuffle=True, seed=0, num_workers=work.workers, transform=transform
    )
