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
        ({"transform": [lambda x: x]}, TypeError, "pyfastdl.transforms"),
        ({"transform": 3}, TypeError, "transform must be a list"),
        ({"transform": [T.Normalize(0.5, 0.5), T.Resize((3, 3))]}, ValueError, "(?i)normalize"),
        ({"targets": [1, 2]}, ValueError, "targets"),
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
    ],
)
def test_wrong_transforms_are_refused(make, error):
    with pytest.raises(error):
        make()


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
    loader = pyfastdl.NativeLoader(files, 4, transform=CROP, seed=np.int64(5), prefetch_factor=np.int32(2))
    assert len(list(loader)) == 4


def test_the_checkout_without_native_modules_says_so(run_python, tmp_path):
    from pathlib import Path

    source = Path(pyfastdl.__file__).parent
    (tmp_path / "pyfastdl").mkdir()
    for file in source.glob("*.py"):
        (tmp_path / "pyfastdl" / file.name).write_bytes(file.read_bytes())
    result = run_python("import pyfastdl; pyfastdl.NativeLoader")  # started in tmp_path
    assert "hides the installed package" in result.stderr.splitlines()[-1]
