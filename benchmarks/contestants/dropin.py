"""pyfastdl.DataLoader over torchvision's ImageFolder: the stock loader's script with another import."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable

from contestants import BATCH, MEAN, RATIO, SCALE, SIZE, STD, Work

NEEDS = ["pyfastdl", "torch", "torchvision"]
VERSIONS = ["pyfastdl-native", "torch", "torchvision"]


def start(work: Work) -> Callable[[], Iterable[object]]:
    from torchvision import datasets, transforms

    import pyfastdl

    importlib.import_module("pyfastdl.dataloader")  # loaded lazily, and imports aren't counted
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(SIZE, scale=SCALE, ratio=RATIO),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    return lambda: pyfastdl.DataLoader(
        datasets.ImageFolder(str(work.data), transform),
        batch_size=BATCH,
        shuffle=True,
        num_workers=work.workers,
        persistent_workers=work.workers > 0,
    )
