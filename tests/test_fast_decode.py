"""decode="fast": off by default, and inexact within what is documented."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from encoded_images import encoded
from PIL import Image, ImageFilter

import pyfastdl
from pyfastdl import transforms as T
from pyfastdl.transforms.functional import resized_crop

TRANSFORM = [T.RandomResizedCrop(48), T.RandomHorizontalFlip()]


def photograph(height, width, seed):
    """Shapes with soft edges and fine grain, as photographs have."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (height // 40 + 2, width // 40 + 2, 3), dtype=np.uint8))
    smooth = coarse.resize((width, height), Image.Resampling.NEAREST).filter(ImageFilter.GaussianBlur(3))
    grain = rng.normal(0, 4, (height, width, 1))
    return np.clip(np.asarray(smooth) + grain, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photographs")
    paths = []
    for i in range(12):
        pixels = photograph(300 + 60 * i, 400 + 50 * i, i)
        data = encoded(pixels, "JPEG", quality=90, subsampling=i % 3, progressive=i % 4 == 3)
        paths.append(folder / f"{i}.jpg")
        paths[-1].write_bytes(data)
    paths.append(folder / "x.png")
    paths[-1].write_bytes(encoded(photograph(300, 400, 99), "PNG"))
    return [str(path) for path in paths]


def load(files, **options):
    loader = pyfastdl.NativeLoader(files, len(files), transform=TRANSFORM, dtype=torch.uint8, seed=1, **options)
    return torch.cat([torch.cat(list(loader)) for _ in range(4)]).to(torch.int16)


def test_it_is_off_by_default(files):
    exact = load(files)
    assert torch.equal(exact, load(files, decode="exact"))
    assert not torch.equal(exact, load(files, decode="fast"))
    box = (0, 0, 300, 400, 20)
    assert np.array_equal(resized_crop(files[0], *box), resized_crop(pyfastdl.decode_image(files[0]), *box))


def test_it_differs_by_as_much_as_is_documented(files):
    difference = (load(files, decode="fast") - load(files)).abs().float()
    assert difference.mean() < 3
    assert difference.mean(dim=(1, 2, 3)).max() < 8  # of one image
    assert (difference > 40).float().mean() < 0.01
    # Nothing but JPEG is decoded otherwise.
    assert difference[12::13].max() == 0


def test_it_is_the_same_for_any_number_of_threads(files):
    assert torch.equal(load(files, decode="fast", num_workers=1), load(files, decode="fast", num_workers=5))


@pytest.mark.parametrize("shift", range(0, 17, 3))
def test_boxes_keep_their_place(shift):
    """A ramp shows any shift: one pixel of the full size is one level."""
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, 2).repeat(256, 0)
    data = encoded(np.ascontiguousarray(ramp), "JPEG", quality=95, subsampling=0)
    for size in (10, 20, 50, 100):
        box = (shift, shift, 230, 225, (size, size))
        fast = resized_crop(data, *box, decode="fast").astype(int)
        exact = resized_crop(data, *box).astype(int)
        assert np.abs(fast - exact)[:, 1:-1].max() <= 1
        assert np.abs(fast - exact).max() <= 3  # at the edges, where the crop ends within a pixel


def test_it_is_exact_where_no_pixel_can_be_saved(files):
    for path in files:
        height, width = pyfastdl.decode_image(path).shape[:2]
        box = (0, 0, height, width, (height, width))
        assert np.array_equal(resized_crop(path, *box), resized_crop(path, *box, decode="fast"))


def test_turned_images_are_turned_all_the_same(files):
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(photograph(400, 300, 7), "JPEG", quality=90, exif=exif)
    box = (10, 20, 250, 350, (30, 40))
    exact = resized_crop(data, *box, apply_exif_orientation=True).astype(int)
    fast = resized_crop(data, *box, apply_exif_orientation=True, decode="fast").astype(int)
    assert 0 < np.abs(fast - exact).mean() < 4


def test_wrong_names_are_refused(files):
    for call in (
        lambda: pyfastdl.NativeLoader(files, decode="quick"),
        lambda: resized_crop(files[0], 0, 0, 5, 5, 5, decode=""),
    ):
        with pytest.raises(ValueError, match="'exact' or 'fast'"):
            call()
    with pytest.raises(TypeError, match="apply_exif_orientation"):
        pyfastdl.NativeLoader(files, apply_exif_orientation="yes")


def test_the_dataset_has_the_option(tmp_path, files):
    (tmp_path / "a").mkdir()
    shutil.copy(files[5], tmp_path / "a" / "0.jpg")
    transform = [T.Resize((20, 20))]
    exact = pyfastdl.ImageFolder(tmp_path, transform)[0][0]
    fast = pyfastdl.ImageFolder(tmp_path, transform, decode="fast")[0][0]
    assert 0 < (fast - exact).abs().mean() < 0.02
    with pytest.raises(ValueError, match="'exact' or 'fast'"):
        _ = pyfastdl.ImageFolder(tmp_path, transform, decode="slow")
