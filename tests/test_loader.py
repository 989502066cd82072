"""NativeLoader: what it yields, and in which order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import torch.utils.data as tud
import torchvision
from PIL import Image

import pyfastdl
from pyfastdl import transforms as T

CROP = [T.RandomResizedCrop(24), T.RandomHorizontalFlip()]


@pytest.fixture
def files(image_folder):
    return sorted(str(path) for path in image_folder.glob("*/*.jpg"))


def indices(loader):
    return [batch[-1].tolist() for batch in loader]


# -- what a batch is


def test_folder_gives_images_and_labels(image_folder):
    with pyfastdl.NativeLoader(image_folder, batch_size=4, transform=CROP, num_workers=2) as loader:
        batches = list(loader)
    assert [len(images) for images, _ in batches] == [4, 4, 4, 3]
    for images, labels in batches:
        assert images.dtype == torch.float32
        assert images.shape[1:] == (3, 24, 24)
        assert images.is_contiguous()
        assert labels.dtype == torch.int64
        assert labels.shape == (len(images),)
        assert 0 <= images.min() < images.max() <= 1


def test_dataset_has_the_values_of_torchvisions_image_folder(image_folder):
    loader = pyfastdl.NativeLoader(image_folder, transform=CROP)
    reference = torchvision.datasets.ImageFolder(image_folder)
    assert loader.dataset.classes == reference.classes
    assert loader.dataset.class_to_idx == reference.class_to_idx
    assert list(loader.dataset.samples) == reference.samples
    assert list(loader.dataset.targets) == reference.targets


def test_list_of_files_gives_images_alone(files):
    (images,) = pyfastdl.NativeLoader(files, batch_size=15, transform=CROP)
    assert isinstance(images, torch.Tensor)
    assert images.shape == (15, 3, 24, 24)


@pytest.mark.parametrize(
    ("targets", "dtype", "shape"),
    [
        (list(range(15)), torch.int64, (15,)),
        ([i / 2 for i in range(15)], torch.float32, (15,)),
        ([[i, i + 1.5] for i in range(15)], torch.float32, (15, 2)),
        (np.arange(15, dtype=np.int32), torch.int32, (15,)),
        (torch.arange(30, dtype=torch.float64).view(15, 2), torch.float64, (15, 2)),
        (np.arange(15) % 2 == 0, torch.bool, (15,)),
    ],
    ids=["ints", "floats", "vectors", "int32 array", "float64 tensor", "bools"],
)
def test_targets_keep_their_kind(files, targets, dtype, shape):
    loader = pyfastdl.NativeLoader(files, batch_size=15, targets=targets, transform=CROP, shuffle=True, seed=1)
    _, labels = next(iter(loader))
    assert labels.dtype == dtype
    assert labels.shape == shape
    with_index = pyfastdl.NativeLoader(
        files, batch_size=15, targets=targets, transform=CROP, shuffle=True, seed=1, return_index=True
    )
    _, labels, index = next(iter(with_index))
    expected = torch.as_tensor(targets)[index]
    assert torch.equal(labels, expected.to(dtype))


def test_pairs_carry_their_targets(files):
    pairs = [(path, i * 10) for i, path in enumerate(files)]
    _, labels = next(iter(pyfastdl.NativeLoader(pairs, batch_size=15, transform=CROP)))
    assert labels.tolist() == [i * 10 for i in range(15)]


def test_return_index_names_the_samples(files, image_folder):
    loader = pyfastdl.NativeLoader(files, batch_size=4, return_index=True, transform=CROP, shuffle=True, seed=3)
    seen = [index for _, batch in loader for index in batch.tolist()]
    assert sorted(seen) == list(range(15))
    images, labels, index = next(iter(pyfastdl.NativeLoader(image_folder, 4, return_index=True, transform=CROP)))
    assert index.dtype == torch.int64
    assert index.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_other_formats_are_the_float32_batch_converted(image_folder, dtype, memory_format):
    transform = [*CROP, T.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.25])]
    ((reference, _),) = pyfastdl.NativeLoader(image_folder, 15, seed=0, transform=transform)
    ((images, _),) = pyfastdl.NativeLoader(
        image_folder, 15, seed=0, transform=transform, dtype=dtype, memory_format=memory_format
    )
    assert images.dtype == dtype
    assert images.is_contiguous(memory_format=memory_format)
    assert torch.equal(images, reference.to(dtype))


def test_uint8_is_the_bytes_and_normalises_on_the_device(image_folder):
    def first(dtype, transform):
        return next(iter(pyfastdl.NativeLoader(image_folder, 15, seed=0, transform=transform, dtype=dtype)))[0]

    images = first(torch.uint8, CROP)
    assert images.dtype == torch.uint8
    assert torch.equal(images.to(torch.float32).div(255), first(torch.float32, CROP))
    normalised = [*CROP, T.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.25])]
    assert torch.equal(first(torch.uint8, normalised), first(torch.float32, normalised))


def test_device_cpu_is_no_device(image_folder):
    images, labels = next(iter(pyfastdl.NativeLoader(image_folder, 2, transform=CROP, device="cpu")))
    assert images.device.type == labels.device.type == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_there_is_named(image_folder):
    with pytest.raises(ValueError, match="cuda"):
        pyfastdl.NativeLoader(image_folder, 2, transform=CROP, device="cuda")


def test_without_a_fixed_size_all_images_must_be_alike(tmp_path):
    paths = []
    for i in range(4):
        paths.append(str(tmp_path / f"{i}.png"))
        Image.fromarray(np.full((5, 7, 3), i, np.uint8)).save(paths[-1])
    (images,) = pyfastdl.NativeLoader(paths, 4, dtype=torch.uint8)
    assert images.shape == (4, 3, 5, 7)
    assert images[:, 0, 0, 0].tolist() == [0, 1, 2, 3]
    Image.fromarray(np.zeros((5, 8, 3), np.uint8)).save(paths[2])
    with pytest.raises(pyfastdl.SampleError, match=r"5\D+8.*5\D+7|8\D+5.*7\D+5") as caught:
        list(pyfastdl.NativeLoader(paths, 4))
    assert caught.value.index == 2


# -- order


def test_order_and_epochs(files):
    loader = pyfastdl.NativeLoader(files, 4, shuffle=True, seed=5, return_index=True, transform=CROP)
    first, second = indices(loader), indices(loader)
    assert sorted(itertools.chain(*first)) == list(range(15))
    assert first != second
    loader.set_epoch(0)
    assert indices(loader) == first
    assert indices(loader) == second
    again = pyfastdl.NativeLoader(files, 4, shuffle=True, seed=5, return_index=True, transform=CROP)
    assert indices(again) == first
    other = pyfastdl.NativeLoader(files, 4, shuffle=True, seed=6, return_index=True, transform=CROP)
    assert indices(other) != first


def test_seed_comes_from_torch_when_not_given(files):
    def batch(generator=None):
        loader = pyfastdl.NativeLoader(files, 15, shuffle=True, return_index=True, transform=CROP, generator=generator)
        images, index = next(iter(loader))
        return images.clone(), index.tolist()

    torch.manual_seed(3)
    first = batch()
    after = torch.rand(1)
    torch.manual_seed(3)
    second = batch()
    assert first[1] == second[1]
    assert torch.equal(first[0], second[0])
    # One draw at iter(), as torch's DataLoader draws its base seed.
    torch.manual_seed(3)
    iter(tud.DataLoader([1, 2]))
    assert torch.equal(torch.rand(1), after)
    own = batch(torch.Generator().manual_seed(3))
    assert own[1] == first[1]


def test_two_epochs_without_a_seed_differ(files):
    loader = pyfastdl.NativeLoader(files, 15, shuffle=True, return_index=True, transform=CROP)
    assert indices(loader) != indices(loader)


@pytest.mark.parametrize("n", [0, 1, 4, 6, 13, 24, 26])
@pytest.mark.parametrize("drop_last", [False, True])
def test_length_is_the_number_of_batches(files, n, drop_last):
    sampler = [i % 15 for i in range(n)]
    loader = pyfastdl.NativeLoader(files, 6, sampler=sampler, drop_last=drop_last, transform=CROP, return_index=True)
    reference = [batch.tolist() for batch in tud.DataLoader(torch.tensor(sampler), 6, drop_last=drop_last)]
    for _ in range(3):
        assert indices(loader) == reference
        assert len(loader) == len(reference)


@pytest.mark.parametrize(
    "make",
    [
        lambda data: {"sampler": tud.SequentialSampler(data), "batch_size": 4},
        lambda data: {"sampler": tud.SubsetRandomSampler([3, 1, 2], torch.Generator().manual_seed(0)), "batch_size": 2},
        lambda data: {
            "sampler": tud.WeightedRandomSampler([1.0] * 15, 40, generator=torch.Generator().manual_seed(0)),
            "batch_size": 8,
        },
        lambda data: {"batch_sampler": tud.BatchSampler(tud.SequentialSampler(data), 4, True)},
        lambda data: {"batch_sampler": [[1], [2, 3, 4], [5, 6, 7, 8, 9, 10], [0]]},
        lambda data: {"sampler": tud.DistributedSampler(data, num_replicas=2, rank=1, seed=1), "batch_size": 4},
    ],
    ids=["sequential", "subset", "weighted", "batch sampler", "growing batches", "distributed"],
)
def test_torch_samplers_are_followed(files, make):
    data = torch.arange(15)
    expected = [batch.tolist() for batch in tud.DataLoader(data, **make(data))]
    loader = pyfastdl.NativeLoader(files, **make(data), transform=CROP, return_index=True)
    assert len(loader) == len(expected)
    assert indices(loader) == expected


def test_set_epoch_reaches_the_distributed_sampler(files):
    sampler = tud.DistributedSampler(torch.arange(15), num_replicas=2, rank=0, seed=1)
    for arguments in ({"sampler": sampler}, {"batch_sampler": tud.BatchSampler(sampler, 4, False)}):
        loader = pyfastdl.NativeLoader(files, **arguments, transform=CROP, return_index=True)
        loader.set_epoch(3)
        reference = tud.DistributedSampler(torch.arange(15), num_replicas=2, rank=0, seed=1)
        reference.set_epoch(3)
        assert list(itertools.chain(*indices(loader))) == list(reference)


def test_repeated_samples_get_other_random_numbers(files):
    loader = pyfastdl.NativeLoader(files, 4, sampler=[7, 7, 7, 7], transform=CROP, seed=0)
    (images,) = loader
    compose = T.Compose(CROP)
    with Image.open(files[7]) as image:
        width, height = image.size
    numbers = [compose.sample(height, width, seed=0, epoch=0, index=7, occurrence=i) for i in range(4)]
    assert len({tuple(draw.items()) for draw in numbers}) == 4
    assert len({image.numpy().tobytes() for image in images}) == 4


# -- the loader as an object


def test_close_ends_it_and_batches_live_on(image_folder):
    with pyfastdl.NativeLoader(image_folder, 4, transform=CROP) as loader:
        images, _ = next(iter(loader))
        copy = images.clone()
    loader.close()
    with pytest.raises(pyfastdl.LoaderError, match="closed"):
        iter(loader)
    assert torch.equal(images, copy)


def test_an_epoch_of_a_closed_loader_does_not_look_whole(image_folder):
    loader = pyfastdl.NativeLoader(image_folder, 4, transform=CROP)
    epoch = iter(loader)
    next(epoch)
    loader.close()
    with pytest.raises(pyfastdl.LoaderError, match="closed"):
        next(epoch)


def test_first_batch_size_may_exceed_the_dataset(image_folder):
    ((images, _),) = pyfastdl.NativeLoader(image_folder, 10**6, transform=CROP)
    assert len(images) == 15


def test_stats_say_where_the_time_went(image_folder):
    loader = pyfastdl.NativeLoader(image_folder, 4, transform=CROP, num_workers=1)
    assert loader.stats().verdict == "nothing was loaded yet"
    for _ in range(3):
        list(loader)
    stats = loader.stats()  # of the last epoch alone
    assert stats.samples == 15
    assert stats.batches == 4
    assert stats.failed_samples == 0
    assert stats.num_workers == 1
    assert stats.file_bytes == sum(path.stat().st_size for path in image_folder.glob("*/*.jpg"))
    assert stats.cached_reads + stats.waited_reads == 15
    assert 0 < stats.decode_s
    assert 0 < stats.transform_s
    assert 0 <= stats.wait_share <= 1
    assert stats.verdict in str(stats)
