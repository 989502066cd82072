"""FFCV in jpg mode, on its own file: re-encoded at JPEG quality 90, smaller than most originals, to its advantage."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from contestants import BATCH, MEAN, RATIO, SCALE, SIZE, STD, Work

NEEDS = ["ffcv", "torch", "PIL"]
VERSIONS = ["ffcv", "torch"]


def start(work: Work) -> Callable[[], Iterable[object]]:
    import numpy as np
    from ffcv.fields.basics import IntDecoder
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage

    file = work.cache / f"ffcv-{hashlib.sha256(str(work.data).encode()).hexdigest()[:12]}.beton"
    if not file.exists():
        _write(work, file)
    crop = RandomResizedCropRGBImageDecoder((SIZE, SIZE), scale=SCALE, ratio=RATIO)
    normalise = NormalizeImage(np.array(MEAN) * 255, np.array(STD) * 255, np.float32)
    return lambda: Loader(
        str(file),
        batch_size=BATCH,
        num_workers=work.workers,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=False,
        pipelines={
            "image": [crop, RandomHorizontalFlip(), normalise, ToTensor(), ToTorchImage()],
            "label": [IntDecoder(), ToTensor(), Squeeze()],
        },
    )


def _write(work: Work, file) -> None:  # type: ignore[no-untyped-def]
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter
    from PIL import Image

    class Photographs:
        def __init__(self) -> None:
            self._files = work.files()
            self._classes = sorted({path.parent.name for path in self._files})

        def __len__(self) -> int:
            return len(self._files)

        def __getitem__(self, index: int) -> tuple[Image.Image, int]:
            path = self._files[index]
            return Image.open(path).convert("RGB"), self._classes.index(path.parent.name)

    half_made = file.with_suffix(".part")
    fields = {"image": RGBImageField(write_mode="jpg", jpeg_quality=90), "label": IntField()}
    DatasetWriter(str(half_made), fields, num_workers=1).from_indexed_dataset(Photographs())
    half_made.rename(file)
