"""torch's DataLoader over torchvision's ImageFolder: Pillow decodes, torchvision's v1 transforms follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from contestants import BATCH, MEAN, RATIO, SCALE, SIZE, STD, Work

NEEDS = ["torch", "torchvision", "PIL"]
VERSIONS = ["torch", "torchvision", "pillow"]


def start(work: Work) -> Callable[[], Iterable[object]]:
    import torch
    from torchvision import datasets, transforms

    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(SIZE, scale=SCALE, ratio=RATIO),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    return lambda: torch.utils.data.DataLoader(
        datasets.ImageFolder(str(work.data), transform),
        batch_size=BATCH,
        shuffle=True,
        num_workers=work.workers,
        persistent_workers=work.workers > 0,
    )
