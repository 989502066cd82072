"""torch's DataLoader with torchvision.io's decoder and v2 transforms on tensors: the fastest stock way."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from contestants import BATCH, MEAN, RATIO, SCALE, SIZE, STD, Work

NEEDS = ["torch", "torchvision"]
VERSIONS = ["torch", "torchvision"]


def _load(path):  # type: ignore[no-untyped-def]
    from torchvision import io

    return io.decode_image(io.read_file(path), mode=io.ImageReadMode.RGB)


def start(work: Work) -> Callable[[], Iterable[object]]:
    import torch
    from torchvision import datasets
    from torchvision.transforms import v2

    transform = v2.Compose(
        [
            v2.RandomResizedCrop(SIZE, scale=SCALE, ratio=RATIO, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )

    return lambda: torch.utils.data.DataLoader(
        datasets.ImageFolder(str(work.data), transform, loader=_load),
        batch_size=BATCH,
        shuffle=True,
        num_workers=work.workers,
        persistent_workers=work.workers > 0,
    )
