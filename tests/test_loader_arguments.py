"""NativeLoader and the transforms: what they say to wrong arguments."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"batch_size": 2.0}, TypeError, "batch_size"),
        ({"num_workers": 0}, ValueError, "num_workers"),
        ({"num_workers": "many"}, TypeError, "num_workers"),
        ({"prefetch_factor": 0}, ValueError, "prefetch_factor"),
        ({"timeout": -1}, ValueError, "timeout"),
        ({"on_error": "ignore"}, ValueError, "on_error.*'raise', 'replace', 'skip'.*ignore"),
        ({"dtype": torch.int32}, ValueError, "dtype.*int32"),
        ({"memory_format": torch.preserve_format}, ValueError, "memory_format"),
        ({"seed": 1.5}, TypeError, "seed"),
        ({"generator": 3}, TypeError, "generator"),
        ({"shuffle": True, "sampler": [0]}, ValueError, "sampler option is mutually exclusive with shuffle"),
        ({"batch_size": 2, "batch_sampler": [[0]]}, ValueError, "batch_sampler option is mutually exclusive"),
        ({"transform": [3]}, TypeError, "pyfastdl.transforms"),
        ({"transform": lambda x: x}, TypeError, "transform must be a list"),
        ({"transform": [T.Resize]}, TypeError, "a class; make an object of it, Resize"),
        ({"transform": [T.Resize(9), abs, T.Normalize(0.5, 0.5)]}, ValueError, "move Normalize before it"),
        ({"transform": 3}, TypeError, "transform must be a list"),
        ({"transform": [T.Normalize(0.5, 0.5), T.Resize((3, 3))]}, ValueError, "(?i)normalize"),
        ({"targets": [1, 2]}, ValueError, "targets"),
        ({"shuffle": "yes"}, TypeError, "shuffle must be True or False, got 'yes'"),
        ({"drop_last": [1]}, TypeError, "drop_last"),
        ({"return_index": 2}, TypeError, "return_index"),
        ({"batch_size": 2**31}, ValueError, "batch_size must be at most 2147483647, got 2147483648"),
        ({"batch_size": np.int64(2**32)}, ValueError, "batch_size must be at most"),
        ({"num_workers": 2**31}, ValueError, "num_workers must be at most"),
        ({"num_workers": 2**70}, ValueError, "num_workers must be at most"),
        ({"prefetch_factor": 2**32}, ValueError, "prefetch_factor must be at most"),
        ({"on_error": ["skip"]}, ValueError, "on_error"),
        ({"no_such_thing": 1}, TypeError, "NativeLoader got an unexpected keyword argument 'no_such_thing'$"),
        # What was probably meant, or who has it.
        ({"transforms": CROP}, TypeError, "'transforms': did you mean 'transform'"),
        ({"batchsize": 4}, TypeError, "did you mean 'batch_size'"),
        ({"num_worker": 4}, TypeError, "did you mean 'num_workers'"),
        ({"worker_mode": "thread"}, TypeError, "'worker_mode': pyfastdl.DataLoader has it"),
        ({"root": "x"}, TypeError, "'root': pyfastdl.ImageFolder has it"),
        ({"target_transform": abs}, TypeError, "'target_transform' of torchvision's ImageFolder: .*targets="),
        # What can't be iterated is no sampler.
        ({"sampler": 5}, TypeError, "sampler must be one of torch's samplers or another iterable of indices, got 5"),
        ({"sampler": "012"}, TypeError, "sampler must be"),
        ({"sampler": tud.RandomSampler}, TypeError, r"sampler must be.*make an object of it, RandomSampler\("),
        ({"batch_sampler": 5}, TypeError, "batch_sampler must be.*iterable of lists of indices, got 5"),
        ({"device": "gpu"}, ValueError, 'device must be "cuda", "cuda:1".*got \'gpu\''),
        ({"device": [0]}, TypeError, "device must be"),
        # Arguments of torch's DataLoader: each is told what to do instead.
        ({"pin_memory": True}, TypeError, "no argument 'pin_memory'.*device='cuda'"),
        ({"pin_memory_device": "cuda:1"}, TypeError, "device='cuda:1'"),
        ({"collate_fn": list}, TypeError, "collate_fn.*targets as vectors"),
        ({"worker_init_fn": print}, TypeError, "worker_init_fn.*seed="),
        ({"persistent_workers": True}, TypeError, "persistent_workers.*as long as the loader"),
        ({"multiprocessing_context": "spawn"}, TypeError, "multiprocessing_context.*threads"),
        ({"in_order": False}, TypeError, "in_order.*sampler's order"),
    ],
)
def test_wrong_arguments_are_named(image_folder, arguments, error, words):
    with pytest.raises(error, match=words):
        pyfastdl.NativeLoader(image_folder, **{"transform": CROP, **arguments})


def test_wrong_data_is_named(tmp_path, files):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        pyfastdl.NativeLoader(tmp_path / "nowhere", transform=CROP)
    (tmp_path / "none").mkdir()
    with pytest.raises(FileNotFoundError, match="class folder"):
        pyfastdl.NativeLoader(tmp_path / "none", transform=CROP)
    with pytest.raises(ValueError, match="empty"):
        pyfastdl.NativeLoader([], transform=CROP)
    with pytest.raises(ValueError, match="14 targets for 15 files"):
        pyfastdl.NativeLoader(files, targets=list(range(14)), transform=CROP)


def test_indices_outside_the_dataset_are_named(files):
    loader = pyfastdl.NativeLoader(files, 2, sampler=[0, 15], transform=CROP)
    with pytest.raises(ValueError, match="index 15.*15 samples"):
        list(loader)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: T.RandomResizedCrop("x"), TypeError),
        (lambda: T.RandomResizedCrop(0), ValueError),
        (lambda: T.RandomResizedCrop(8, scale=(1.0, 0.5)), ValueError),
        (lambda: T.RandomResizedCrop(8, interpolation="nearest"), ValueError),
        (lambda: T.RandomResizedCrop(8, antialias=False), ValueError),
        (lambda: T.Resize((8, 8), max_size=9), ValueError),
        (lambda: T.Resize(8, max_size=8), ValueError),
        (lambda: T.CenterCrop((1, 2, 3)), ValueError),
        (lambda: T.RandomHorizontalFlip(1.5), ValueError),
        (lambda: T.Normalize([0.5, 0.5], 1.0), ValueError),
        (lambda: T.Normalize(0.5, 0.0), ValueError),
        (lambda: T.Compose(T.Resize(3)), TypeError),
        (lambda: T.Resize(2**31), ValueError),
        (lambda: T.Resize(8, max_size=2**32), ValueError),
        (lambda: T.CenterCrop((8, 2**32)), ValueError),
        (lambda: T.RandomResizedCrop(2**31), ValueError),
        (lambda: T.Resize(b"ab"), TypeError),
        (lambda: T.CenterCrop(bytearray(b"ab")), TypeError),
        (lambda: T.RandomResizedCrop(8, scale=b"ab"), TypeError),
    ],
)
def test_wrong_transforms_are_refused(make, error):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"height": 0}, ValueError, "height must be at least 1"),
        ({"width": 2**31}, ValueError, "width must be at most"),
        ({"width": 7.0}, TypeError, "width must be an int"),
        ({"epoch": 2**32}, ValueError, "epoch must be at most"),
        ({"epoch": -1}, ValueError, "epoch must be at least 0"),
        ({"index": 2**48}, ValueError, "index must be at most"),
        ({"occurrence": 2**32}, ValueError, "occurrence must be at most"),
        ({"seed": "a"}, TypeError, "seed must be an int"),
    ],
)
def test_samples_arguments_are_checked(changed, error, words):
    arguments = {"height": 30, "width": 40, "seed": 0, "epoch": 0, "index": 0}
    with pytest.raises(error, match=words):
        T.Compose(CROP).sample(**{**arguments, **changed})


def test_a_sample_has_the_numbers_of_a_seeds_lowest_64_bits():
    def numbers(seed):
        return T.Compose(CROP).sample(30, 40, seed=seed, epoch=np.uint32(1), index=np.int64(2))

    assert numbers(-1) == numbers(2**64 - 1) == numbers(2**64 * 3 - 1)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0.7, 0, 5, 5, 4), TypeError, "top must be an int, got 0.7"),
        ((0, 2**31, 5, 5, 4), ValueError, "left must be at most"),
        ((0, 0, 2**32, 5, 4), ValueError, "height must be at most"),
        ((0, 0, 5, 5, 2**31), ValueError, "size must be at most"),
        ((0, 0, 1, 2**24, 2), ValueError, "sides must be at most"),
        ((0, 0, 5, 5, b"ab"), TypeError, "size"),
    ],
)
def test_resized_crops_arguments_are_checked(arguments, error, words):
    with pytest.raises(error, match=words):
        T.functional.resized_crop(np.zeros((10, 10, 3), np.uint8), *arguments)


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ({"a": 1}, r"targets is a dict; .*\[targets\[file\] for file in files\]"),
        ({1, 2}, "targets is a set, which has no order"),
        (np.ma.masked_array([1, 2], [False, True]), "targets is a masked array.*filled"),
    ],
)
def test_targets_without_an_order_or_with_holes_are_refused(files, targets, words):
    with pytest.raises(TypeError, match=words):
        pyfastdl.NativeLoader(files[: len(targets)], targets=targets, transform=CROP)


def test_the_last_epoch_is_followed_by_words(files):
    loader = pyfastdl.NativeLoader(files, 8, transform=CROP, seed=0)
    loader.set_epoch(np.uint32(2**32 - 1))
    assert len(list(loader)) == 2
    with pytest.raises(ValueError, match=r"set_epoch\(0\)"):
        iter(loader)
    loader.set_epoch(0)
    assert len(list(loader)) == 2
    for epoch in (2**32, -1):
        with pytest.raises(ValueError, match="epoch must be at"):
            loader.set_epoch(epoch)
    with pytest.raises(TypeError, match="epoch must be an int"):
        loader.set_epoch(1.0)


def test_interpolation_takes_every_spelling():
    from torchvision.transforms import InterpolationMode

    for value in ("bicubic", T.InterpolationMode.BICUBIC, InterpolationMode.BICUBIC, Image.Resampling.BICUBIC, 3):
        assert T.Resize(8, interpolation=value).interpolation == "bicubic"


def test_a_sampler_over_a_loader_is_refused(files):
    # Its length is a number of batches: each rank would see a few samples, and nobody would notice.
    loader = pyfastdl.NativeLoader(files, 4, transform=CROP)
    for sampler in (
        tud.DistributedSampler(loader, num_replicas=2, rank=0),
        tud.SequentialSampler(loader),
    ):
        with pytest.raises(ValueError, match=r"\.dataset"):
            pyfastdl.NativeLoader(files, 4, transform=CROP, sampler=sampler)
        with pytest.raises(ValueError, match=r"\.dataset"):
            pyfastdl.NativeLoader(files, transform=CROP, batch_sampler=tud.BatchSampler(sampler, 2, False))
    right = tud.DistributedSampler(loader.dataset, num_replicas=2, rank=0, shuffle=False)
    assert indices(pyfastdl.NativeLoader(files, 8, transform=CROP, sampler=right, return_index=True)) == [
        [0, 2, 4, 6, 8, 10, 12, 14]
    ]


def test_datasets_are_sent_where_they_belong(image_folder):
    with pytest.raises(TypeError, match=r"torch\.utils\.data\.DataLoader.*samples"):
        pyfastdl.NativeLoader(torchvision.datasets.ImageFolder(image_folder), transform=CROP)


def test_it_says_that_it_can_not_be_pickled(files):
    import pickle

    with pytest.raises(TypeError, match="make it in the process"):
        pickle.dumps(pyfastdl.NativeLoader(files, transform=CROP))


def test_numpy_integers_are_integers(files):
    loader = pyfastdl.NativeLoader(
        files,
        batch_size=np.int64(4),
        num_workers=np.uint8(2),
        seed=np.int64(5),
        prefetch_factor=np.int32(2),
        shuffle=np.bool_(True),
        drop_last=0,
        transform=CROP,
    )
    assert len(list(loader)) == len(loader) == 4
    assert type(loader.batch_size) is int


def test_the_checkout_without_native_modules_says_so(run_python, tmp_path):
    from pathlib import Path

    source = Path(pyfastdl.__file__).parent
    (tmp_path / "pyfastdl").mkdir()
    for file in source.glob("*.py"):
        (tmp_path / "pyfastdl" / file.name).write_bytes(file.read_bytes())
    result = run_python("import pyfastdl; pyfastdl.NativeLoader")  # started in tmp_path
    assert "hides the installed package" in result.stderr.splitlines()[-1]
