"""ImageFolder: a dataset for any loader."""

from __future__ import annotations

import pickle

import pytest
import torch
import torch.utils.data as tud
import torchvision
from torchvision.transforms import functional as F

import pyfastdl
from pyfastdl import transforms as T

VAL = [T.Resize(40), T.CenterCrop(32), T.Normalize(0.5, 0.25)]
TRAIN = [T.RandomResizedCrop(24), T.RandomHorizontalFlip()]


def test_it_is_torchvisions_image_folder_with_other_pixels(image_folder):
    dataset = pyfastdl.ImageFolder(image_folder, VAL)
    reference = torchvision.datasets.ImageFolder(image_folder)
    assert isinstance(dataset, tud.Dataset)
    assert len(dataset) == len(reference)
    assert dataset.classes == reference.classes
    assert dataset.class_to_idx == reference.class_to_idx
    assert list(dataset.samples) == reference.samples
    assert list(dataset.targets) == reference.targets
    for i, (picture, target) in enumerate(reference):
        image, label = dataset[i]
        expected = F.normalize(F.to_tensor(F.center_crop(F.resize(picture, 40), [32, 32])), [0.5] * 3, [0.25] * 3)
        assert torch.equal(image, expected)
        assert label == target
        assert type(label) is int
    assert torch.equal(dataset[-1][0], dataset[14][0])
    with pytest.raises(IndexError, match="15"):
        dataset[15]


def test_whole_images_without_a_transform(image_folder):
    dataset = pyfastdl.ImageFolder(image_folder)
    reference = torchvision.datasets.ImageFolder(image_folder, F.to_tensor)
    for (image, label), (expected, target) in zip(dataset.__getitems__(range(15)), reference, strict=True):
        assert torch.equal(image, expected)
        assert label == target


@pytest.mark.parametrize("context", [None, "fork", "spawn", "forkserver"])
def test_under_the_stock_loader(image_folder, context):
    dataset = pyfastdl.ImageFolder(image_folder, VAL)
    expected = torch.stack([dataset[i][0] for i in range(15)])  # also starts threads before any fork
    loader = tud.DataLoader(dataset, 4, num_workers=2 if context else 0, multiprocessing_context=context)
    images, labels = (torch.cat(parts) for parts in zip(*loader, strict=True))
    assert torch.equal(images, expected)
    assert labels.tolist() == list(dataset.targets)


def test_random_numbers_follow_torchs_seed(image_folder):
    dataset = pyfastdl.ImageFolder(image_folder, TRAIN)

    def epoch(seed):
        torch.manual_seed(seed)
        return torch.cat([images for images, _ in tud.DataLoader(dataset, 4, shuffle=True)])

    assert torch.equal(epoch(1), epoch(1))
    assert not torch.equal(epoch(1), epoch(2))
    images = [image for image, _ in dataset.__getitems__([3, 3, 3])]
    assert not torch.equal(images[0], images[1])
    assert not torch.equal(images[1], images[2])


def test_under_subset_and_with_growing_batches(image_folder):
    dataset = pyfastdl.ImageFolder(image_folder, VAL)
    subset = tud.Subset(dataset, [14, 3, 7])
    ((images, labels),) = tud.DataLoader(subset, 3)
    assert torch.equal(images, torch.stack([dataset[i][0] for i in (14, 3, 7)]))
    assert dataset.__getitems__([]) == []
    for size in (1, 5, 15, 2):
        kept = dataset.__getitems__(list(range(size)))
        assert [label for _, label in kept] == list(dataset.targets)[:size]


def test_samples_are_the_users_own(image_folder):
    dataset = pyfastdl.ImageFolder(image_folder, VAL)
    kept = [dataset.__getitems__([0, 1, 2, 3]) for _ in range(10)]
    expected = [image.clone() for image, _ in kept[0]]
    for batch in kept[1:]:
        for image, _ in batch:
            image.zero_()
    assert all(torch.equal(image, clone) for (image, _), clone in zip(kept[0], expected, strict=True))


def test_it_pickles(image_folder):
    dataset = pyfastdl.ImageFolder(image_folder, VAL)
    dataset[0]
    again = pickle.loads(pickle.dumps(dataset))
    assert torch.equal(again[3][0], dataset[3][0])
    assert list(again.samples) == list(dataset.samples)


def test_a_bad_file_is_named(image_folder):
    (image_folder / "ant" / "2.jpg").write_bytes(b"")
    dataset = pyfastdl.ImageFolder(image_folder, VAL)
    with pytest.raises(pyfastdl.SampleError, match="empty") as caught:
        dataset[2]
    assert caught.value.index == 2
    assert dataset[3][1] == 0


def test_wrong_roots_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        pyfastdl.ImageFolder(tmp_path / "none")
    with pytest.raises(TypeError):
        pyfastdl.ImageFolder([str(tmp_path / "x.jpg")])


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("transforms", "did you mean 'transform'"),
        ("apply_exif_orientations", "did you mean 'apply_exif_orientation'"),
        ("on_error", "pyfastdl.NativeLoader and pyfastdl.DataLoader have it"),
        ("max_pixels", "pyfastdl.NativeLoader has it"),
        ("worker_mode", "pyfastdl.DataLoader has it"),
        ("target_transform", "of torchvision's ImageFolder: .*in the training loop"),
        ("loader", "of torchvision's ImageFolder: .*natively"),
        ("is_valid_file", "of torchvision's ImageFolder: .*Subset"),
        ("others", "$"),
    ],
)
def test_unknown_arguments_are_named_with_what_was_meant(image_folder, argument, words):
    with pytest.raises(TypeError, match=f"{argument!r}.*{words}"):
        pyfastdl.ImageFolder(image_folder, VAL, **{argument: None})


def test_a_bad_file_is_the_same_error_out_of_a_worker(image_folder):
    (image_folder / "ant" / "2.jpg").write_bytes(b"")
    loader = tud.DataLoader(pyfastdl.ImageFolder(image_folder, VAL), 4, num_workers=1)
    with pytest.raises(pyfastdl.SampleError, match=r"ant/2\.jpg.*empty"):
        list(loader)


def test_what_is_ignored_is_said(image_folder):
    (image_folder / ".ipynb_checkpoints").mkdir()
    (image_folder / ".ipynb_checkpoints" / "x.jpg").touch()
    with pytest.warns(UserWarning, match="ipynb_checkpoints"):
        dataset = pyfastdl.ImageFolder(image_folder, VAL)
    assert len(dataset) == 15
