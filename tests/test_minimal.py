"""What any wheel must do on any machine: be imported, decode a picture, fill batches."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from PIL import Image

import pyfastdl


def test_version_is_the_distributions():
    assert pyfastdl.__version__ == version("pyfastdl-native")


def test_decodes_as_pillow(image_folder):
    path = next(image_folder.glob("*/*.jpg"))
    with Image.open(path) as image:
        expected = np.asarray(image.convert("RGB"))
    for source in (path, path.read_bytes()):
        pixels = pyfastdl.decode_image(source)
        assert pixels.dtype == np.uint8
        assert np.array_equal(pixels, expected)


def test_loader_fills_two_batches(image_folder):
    import torch

    transform = [
        pyfastdl.transforms.Resize(32),
        pyfastdl.transforms.CenterCrop(32),
        pyfastdl.transforms.Normalize([0.5] * 3, [0.25] * 3),
    ]
    with pyfastdl.NativeLoader(str(image_folder), batch_size=8, num_workers=2, transform=transform) as loader:
        assert len(loader) == 2
        batches = list(loader)
    assert [tuple(images.shape) for images, _ in batches] == [(8, 3, 32, 32), (7, 3, 32, 32)]
    assert torch.cat([labels for _, labels in batches]).tolist() == [0] * 5 + [1] * 5 + [2] * 5
    # Pixels, not zeros: a generated picture has spread, within what the normalisation can give.
    for images, _ in batches:
        assert images.dtype == torch.float32
        assert (images.flatten(1).std(1) > 0.1).all()
        assert images.abs().max() <= 2.0
