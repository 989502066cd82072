"""NVIDIA DALI's CPU pipeline. It decodes just the random region, and resizes with a triangular filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from contestants import BATCH, MEAN, RATIO, SCALE, SIZE, STD, Work

NEEDS = ["nvidia.dali"]
VERSIONS = ["nvidia-dali-cuda120", "nvidia-dali-cuda130"]


def start(work: Work) -> Callable[[], Iterable[object]]:
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def
    def definition():  # type: ignore[no-untyped-def]
        encoded, labels = fn.readers.file(file_root=str(work.data), random_shuffle=True, name="reader")
        images = fn.decoders.image_random_crop(
            encoded,
            device="cpu",
            output_type=types.RGB,
            random_area=list(SCALE),
            random_aspect_ratio=list(RATIO),
        )
        images = fn.resize(images, resize_x=SIZE, resize_y=SIZE, interp_type=types.INTERP_TRIANGULAR)
        images = fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="CHW",
            mirror=fn.random.coin_flip(),
            mean=[255 * value for value in MEAN],
            std=[255 * value for value in STD],
        )
        return images, labels

    class Loader:
        def __init__(self) -> None:
            self._pipeline = definition(batch_size=BATCH, num_threads=work.workers, device_id=None, seed=0)
            self._pipeline.build()
            self._batches = -(-self._pipeline.epoch_size("reader") // BATCH)

        def __iter__(self) -> Iterator[object]:
            return (self._pipeline.run() for _ in range(self._batches))

    return Loader
