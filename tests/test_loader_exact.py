"""Batches, bit for bit: against torchvision on Pillow's images, and against themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.utils.data as tud
from PIL import Image
from torchvision.transforms import functional as F
from torchvision.transforms import v2

import pyfastdl
from pyfastdl import transforms as T

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
TRAIN = [T.RandomResizedCrop(48), T.RandomHorizontalFlip(), T.Normalize(MEAN, STD)]


@pytest.fixture
def samples(image_folder):
    return sorted(str(path) for path in image_folder.glob("*/*.jpg"))


def opened(path):
    with Image.open(path) as image:
        return image.convert("RGB")


@pytest.mark.parametrize("filter_name", ["bilinear", "bicubic", "box", "lanczos"])
@pytest.mark.parametrize("epoch", [0, 3])
def test_training_batches_equal_torchvision_with_the_same_numbers(samples, filter_name, epoch):
    transform = [T.RandomResizedCrop(48, interpolation=filter_name), *TRAIN[1:]]
    loader = pyfastdl.NativeLoader(samples, 4, transform=transform, seed=11, num_workers=2, return_index=True)
    loader.set_epoch(epoch)
    compose = T.Compose(transform)
    flips = 0
    for images, index in loader:
        for image, i in zip(images, index.tolist(), strict=True):
            picture = opened(samples[i])
            numbers = compose.sample(picture.height, picture.width, seed=11, epoch=epoch, index=i)
            expected = F.resized_crop(
                picture, numbers["top"], numbers["left"], numbers["height"], numbers["width"], [48, 48],
                v2.InterpolationMode(filter_name),
            )  # fmt: skip
            if numbers["flip"]:
                expected = F.hflip(expected)
                flips += 1
            assert torch.equal(image, F.normalize(F.to_tensor(expected), MEAN, STD))
    assert 0 < flips < 15


@pytest.mark.parametrize("size", [40, 80])
def test_validation_batches_equal_torchvision(samples, size):
    loader = pyfastdl.NativeLoader(samples, 4, transform=[T.Resize(size), T.CenterCrop(56), T.Normalize(MEAN, STD)])
    expected = [
        F.normalize(F.to_tensor(F.center_crop(F.resize(opened(path), size), [56, 56])), MEAN, STD) for path in samples
    ]
    assert torch.equal(torch.cat(list(loader)), torch.stack(expected))


def epoch_of(samples, **arguments):
    loader = pyfastdl.NativeLoader(samples, **{"batch_size": 4, "shuffle": True, "transform": TRAIN, **arguments})
    with loader:
        loader.set_epoch(2)
        return torch.cat([batch.clone() for batch in loader])


def test_batches_do_not_depend_on_threads_or_prefetching(samples):
    reference = epoch_of(samples, seed=1, num_workers=1, prefetch_factor=1)
    for num_workers in (2, 3, 7):
        for prefetch_factor in (1, 2, 8):
            other = epoch_of(samples, seed=1, num_workers=num_workers, prefetch_factor=prefetch_factor)
            assert torch.equal(other, reference)
    assert not torch.equal(epoch_of(samples, seed=2), reference)


def test_samples_do_not_depend_on_batches_or_ranks(samples):
    def by_index(**arguments):
        loader = pyfastdl.NativeLoader(samples, transform=TRAIN, seed=4, return_index=True, **arguments)
        return {i: image.clone() for images, index in loader for image, i in zip(images, index.tolist(), strict=True)}

    reference = by_index(batch_size=15)
    assert len(reference) == 15
    ranks = {}
    for rank in (0, 1, 2):
        sampler = tud.DistributedSampler(samples, num_replicas=3, rank=rank, seed=0)
        ranks |= by_index(batch_size=2, sampler=sampler)
    for other in (ranks, by_index(batch_size=1, shuffle=True)):
        assert other.keys() == reference.keys()
        assert all(torch.equal(other[i], reference[i]) for i in reference)


def test_other_formats_go_through_pillow_and_are_equal(tmp_path):
    rng = np.random.default_rng(0)
    picture = Image.fromarray(rng.integers(0, 256, (40, 50, 3), dtype=np.uint8))
    paths = []
    for suffix in ("bmp", "gif", "tif", "ppm", "png", "webp", "jpg"):
        paths.append(str(tmp_path / f"x.{suffix}"))
        picture.save(paths[-1])
    loader = pyfastdl.NativeLoader(paths, 3, dtype=torch.uint8, num_workers=2)
    for images, path in zip(torch.cat(list(loader)), paths, strict=True):
        assert np.array_equal(images.permute(1, 2, 0).numpy(), np.asarray(opened(path))), path
    stats = loader.stats()
    assert stats.samples == 7
    assert stats.pillow_samples == 4


def test_stats_say_how_images_were_decoded(tmp_path):
    rng = np.random.default_rng(0)
    picture = Image.fromarray(rng.integers(0, 256, (96, 96, 3), dtype=np.uint8))
    paths = [str(tmp_path / name) for name in ("baseline.jpg", "progressive.jpg", "x.png", "x.bmp")]
    for path in paths:
        picture.save(path, **({"progressive": True} if "progressive" in path else {}))
    loader = pyfastdl.NativeLoader(paths, 4, transform=[T.CenterCrop(32)])
    list(loader)
    stats = loader.stats()
    assert (stats.region_samples, stats.libjpeg_samples, stats.pillow_samples) == (2, 1, 1)
    assert stats.untrusted_samples == 0
    assert "1 images by libjpeg-turbo, 1 by Pillow" in str(stats)
