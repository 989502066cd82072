"""What a transform holds of an image counts in the memory budget, as the image itself does."""

from __future__ import annotations

import pytest
from loaders import resident
from PIL import Image

import pyfastdl
from pyfastdl import transforms as T

# The sides of what comes between two transforms depend on the file: here they are 40 x 2,000,000.
STRETCHED = [T.Resize(40), T.ColorJitter(0.5), T.CenterCrop(8)]


@pytest.mark.parametrize("kind", ["png", "gif"])
@pytest.mark.parametrize("views", [1, 2])
def test_what_a_transform_makes_of_an_image_counts_too(tmp_path, kind, views):
    files = []
    for name, size in (("stretched", (50_000, 1)), ("usual", (60, 50))):
        Image.new("RGB", size, "red").save(tmp_path / f"{name}.{kind}")
        files.append(str(tmp_path / f"{name}.{kind}"))
    transform = STRETCHED if views == 1 else [STRETCHED, [T.CenterCrop(8)]]
    before = resident()
    loader = pyfastdl.NativeLoader(
        files * 2, 4, transform=transform, max_memory=50 << 20, num_workers=2, on_error="skip"
    )
    (batch,) = loader
    assert (batch if views == 1 else batch[0]).shape[0] == 2
    assert len(loader.errors) == 2
    assert "max_memory" in loader.errors[0].reason
    assert loader.stats().peak_memory <= 50 << 20
    assert resident() - before < 150 << 20


def test_it_is_made_where_there_is_memory(tmp_path):
    Image.new("RGB", (50_000, 1), "red").save(tmp_path / "stretched.png")
    loader = pyfastdl.NativeLoader([str(tmp_path / "stretched.png")], transform=STRETCHED, max_memory=1 << 30)
    assert next(iter(loader)).shape == (1, 3, 8, 8)
    assert 40 * 2_000_000 * 3 <= loader.stats().peak_memory < 1 << 30
