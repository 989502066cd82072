"""Image folders from the photographs that ship inside scikit-image: real pixels, and nothing to download.

`tiles` makes a folder to learn from: cut-outs labelled by the picture they come from, with the training and the
validation tiles of a picture from disjoint parts of it. `photographs` makes files of the size of ordinary photographs
for benchmarks. Both give the same files on every run.

    python examples/photographs.py FOLDER --count 1000
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image

# Files of scikit-image's wheel; skimage.data knows more names, but fetches those from the network.
PICTURES = {
    "astronaut": "astronaut.png",
    "brick": "brick.png",
    "camera": "camera.png",
    "cat": "chelsea.png",
    "coffee": "coffee.png",
    "coins": "coins.png",
    "galaxies": "hubble_deep_field.jpg",
    "grass": "grass.png",
    "gravel": "gravel.png",
    "moon": "moon.png",
    "motorcycle": "motorcycle_left.png",
    "retina": "retina.jpg",
    "rocket": "rocket.jpg",
    "tissue": "ihc.png",
}


def pictures() -> Iterator[tuple[str, Image.Image]]:
    folder = files("skimage.data")
    for name, file in PICTURES.items():
        with folder.joinpath(file).open("rb") as stream, Image.open(stream) as image:
            yield name, image.convert("RGB")


def tiles(root: Path, train_per_class: int, val_per_class: int, size: int = 320) -> None:
    """Makes root/train and root/val, a folder a class in each.

    Along its longer axis, the middle fifth of a picture is for validation and the rest for training, so no
    validation pixel was ever trained on.
    """
    rng = np.random.default_rng(0)
    parts = {"train": [(0.0, 0.4), (0.6, 1.0)], "val": [(0.4, 0.6)]}
    counts = {"train": train_per_class, "val": val_per_class}
    for name, picture in pictures():
        long, short = max(picture.size), min(picture.size)
        for split, stripes in parts.items():
            folder = root / split / name
            folder.mkdir(parents=True)
            for i in range(counts[split]):
                begin, end = (round(long * edge) for edge in stripes[i % len(stripes)])
                side = int(rng.integers(int(0.14 * long), int(0.2 * long)))
                along = int(rng.integers(begin, end - side + 1))
                across = int(rng.integers(0, short - side + 1))
                left, top = (along, across) if picture.width == long else (across, along)
                # Cropped first: resize(box=) would take a border of pixels from outside the tile.
                tile = picture.crop((left, top, left + side, top + side))
                tile.resize((size, size), Image.Resampling.BICUBIC).save(folder / f"{i:04}.jpg", quality=90)


def photographs(root: Path, count: int, long: int = 500, short: int = 375) -> None:
    """Makes root/<class>/<number>.jpg: about `count` files of long × short (every fourth upright), 4:2:0 as cameras do.

    Only the coloured pictures serve: gray ones would decode faster than photographs do.
    """
    rng = np.random.default_rng(0)
    coloured = [(name, picture) for name, picture in pictures() if _is_coloured(picture)]
    for name, picture in coloured:
        folder = root / name
        folder.mkdir(parents=True)
        for i in range(-(-count // len(coloured))):
            width, height = (short, long) if i % 4 == 3 else (long, short)
            scale = float(rng.uniform(0.6, 1.0)) * min(picture.width / width, picture.height / height)
            w, h = scale * width, scale * height
            left, top = float(rng.uniform(0, picture.width - w)), float(rng.uniform(0, picture.height - h))
            view = picture.resize((width, height), Image.Resampling.LANCZOS, (left, top, left + w, top + h))
            view.save(folder / f"{i:04}.jpg", quality=95, subsampling="4:2:0")


def _is_coloured(picture: Image.Image) -> bool:
    pixels = np.asarray(picture, dtype=np.int16)
    return bool((pixels.max(axis=2) - pixels.min(axis=2)).mean() > 2)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a folder of photographs for benchmarks.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    photographs(arguments.folder, arguments.count)


if __name__ == "__main__":
    main()
