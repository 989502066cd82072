"""Several views per sample: a tuple of image batches, from one read and one decode."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
import torch.utils.data as tud
from PIL import Image
from replay import replay

import pyfastdl
from pyfastdl import transforms as T

A = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.Normalize(0.5, 0.25)]
B = [T.RandomResizedCrop(20, scale=(0.05, 0.3)), T.RandomVerticalFlip(), T.RandomErasing(value="random")]
C = [T.Resize(24), T.CenterCrop((16, 40))]


@pytest.fixture
def samples(image_folder):
    return sorted(str(path) for path in image_folder.glob("*/*.jpg"))


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def loaded(samples, transform, **arguments):
    arguments = {"batch_size": 4, "seed": 3, "num_workers": 2, **arguments}
    with pyfastdl.NativeLoader(samples, transform=transform, **arguments) as loader:
        return list(loader)


def of_view(batches, view):
    return torch.cat([batch[view] for batch in batches])


@pytest.mark.parametrize("form", [list, tuple, T.Views, lambda views: [T.Compose(view) for view in views]])
def test_a_batch_is_a_tuple_of_views(samples, form):
    for batch in loaded(samples, form([A, B, C])):
        assert type(batch) is tuple
        assert [tuple(images.shape[1:]) for images in batch] == [(3, 32, 32), (3, 20, 20), (3, 16, 40)]
        assert len({len(images) for images in batch}) == 1


def test_with_labels_and_indices(image_folder, samples):
    transform = [T.Compose(A), T.Compose(A)]
    for (a, b), labels in loaded(image_folder, transform):
        assert a.shape == b.shape == (len(labels), 3, 32, 32)
    for (a, _), labels, index in loaded(image_folder, transform, return_index=True):
        assert len(a) == len(labels) == len(index)
    for (a, b), index in loaded(samples, transform, return_index=True):
        assert len(a) == len(b) == len(index)
    targets = np.arange(30.0).reshape(15, 2)
    given = [labels for (_, _), labels in loaded(samples, transform, targets=targets)]
    assert torch.equal(torch.cat(given), torch.from_numpy(targets))
    for (a,) in loaded(samples, [A]):  # one view is a tuple of one
        assert a.ndim == 4


def test_each_view_is_torchvisions_with_numbers_of_its_own(samples):
    views = T.Views([A, B, C, A])
    batches = loaded(samples, views, batch_size=15)
    for i, path in enumerate(samples):
        picture = pixels(path)
        numbers = views.sample(*picture.shape[:2], seed=3, epoch=0, index=i)
        for view, transforms in enumerate([A, B, C, A]):
            assert torch.equal(batches[0][view][i], replay(transforms, picture, numbers[view]))
        assert numbers[0] != numbers[3]


def test_view_0_is_what_a_loader_of_one_view_gives(samples):
    together = loaded(samples, [B, A, C])
    assert torch.equal(of_view(together, 0), torch.cat(loaded(samples, B)))
    assert torch.equal(of_view(together, 2), torch.cat(loaded(samples, C)))  # draws nothing
    assert not torch.equal(of_view(together, 1), torch.cat(loaded(samples, A)))


def test_views_do_not_depend_on_threads_batches_or_each_other(samples):
    reference = loaded(samples, [A, B])
    for arguments in ({"num_workers": 1, "batch_size": 15}, {"num_workers": 5, "batch_size": 2}):
        other = loaded(samples, [A, B], **arguments)
        for view in (0, 1):
            assert torch.equal(of_view(other, view), of_view(reference, view))
    assert torch.equal(of_view(loaded(samples, [C, B, A]), 1), of_view(reference, 1))


def test_multi_crop(samples):
    large, small = [T.RandomResizedCrop(56)], [T.RandomResizedCrop(24, scale=(0.05, 0.4))]
    for batch in loaded(samples, [large] * 2 + [small] * 6):
        assert [images.shape[-1] for images in batch] == [56] * 2 + [24] * 6
        assert not torch.equal(batch[2], batch[3])


def test_at_most_thirty_views(samples):
    batches = loaded(samples, [C] * 30, targets=np.zeros(15), return_index=True)
    assert len(batches[0][0]) == 30
    with pytest.raises(ValueError, match="at most 30 views, got 31"):
        loaded(samples, [C] * 31)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_dtypes_and_channels_last(samples, dtype):
    batches = loaded(samples, [A, C], dtype=dtype, memory_format=torch.channels_last)
    for batch in batches:
        for images in batch:
            assert images.dtype == dtype
            assert images.is_contiguous(memory_format=torch.channels_last)
    reference = loaded(samples, [A, C])
    for view in (0, 1):
        assert torch.equal(of_view(batches, view), of_view(reference, view).to(dtype))


def test_bytes_are_normalised_on_the_device_view_by_view(samples):
    batches = loaded(samples, [A, C, B[:2]], dtype=torch.uint8, device="cpu")
    reference = loaded(samples, [A, C, B[:2]])
    assert [images.dtype for images in batches[0]] == [torch.float32, torch.uint8, torch.uint8]
    assert torch.equal(of_view(batches, 0), of_view(reference, 0))
    assert torch.equal(of_view(batches, 1).float().div(255), of_view(reference, 1))


def test_kept_and_changed_batches_stay_the_callers(samples):
    with pyfastdl.NativeLoader(samples, 1, transform=[A, C], seed=3, prefetch_factor=1) as loader:
        kept = []
        for batch in loader:
            kept.append(batch)
            batch[1].zero_()
        assert loader.stats().copied_batches > 0
        reference = loaded(samples, [A, C])
        assert torch.equal(of_view(kept, 0), of_view(reference, 0))
        assert of_view(kept, 1).abs().sum() == 0


def broken(samples, *which):
    for i in which:
        with open(samples[i], "wb") as file:
            file.write(b"not a picture")


def test_skip_closes_up_all_views(samples):
    whole = loaded(samples, [A, C], return_index=True)
    broken(samples, 1, 2, 6)
    batches = loaded(samples, [A, C], return_index=True, on_error="skip")
    left = torch.cat([index for _, index in batches])
    assert left.tolist() == [i for i in range(15) if i not in (1, 2, 6)]
    for view in (0, 1):
        ours = torch.cat([images[view] for images, _ in batches])
        assert torch.equal(ours, torch.cat([images[view] for images, _ in whole])[left])


def test_replace_and_raise(samples):
    broken(samples, 5)
    with pytest.raises(pyfastdl.SampleError) as raised:
        loaded(samples, [A, C])
    assert raised.value.index == 5
    with pyfastdl.NativeLoader(samples, 4, transform=[A, C], on_error="replace", return_index=True, seed=3) as loader:
        (images, index) = list(loader)[1]
        (error,) = loader.errors
    assert index[1] == error.replaced_by
    views, picture = T.Views([A, C]), pixels(samples[error.replaced_by])
    numbers = views.sample(*picture.shape[:2], seed=3, epoch=0, index=5)  # of the place in the epoch
    assert torch.equal(images[0][1], replay(A, picture, numbers[0]))
    assert torch.equal(images[1][1], replay(C, picture, numbers[1]))


def test_one_view_that_can_not_be_made_fails_the_sample(samples):
    with pytest.raises(pyfastdl.SampleError, match="RandomCrop needs"):
        loaded(samples, [C, [T.RandomCrop(5000)]])


def test_pillows_formats_have_views_too(tmp_path):
    rng = np.random.default_rng(0)
    picture = Image.fromarray(rng.integers(0, 256, (40, 50, 3), dtype=np.uint8))
    paths = []
    for suffix in ("bmp", "png", "gif", "webp", "tif"):
        paths.append(str(tmp_path / f"x.{suffix}"))
        picture.save(paths[-1])
    views = T.Views([A, B])
    for images in loaded(paths, views, batch_size=5):
        for i, path in enumerate(paths):
            numbers = views.sample(40, 50, seed=3, epoch=0, index=i)
            for view, transforms in enumerate([A, B]):
                assert torch.equal(images[view][i], replay(transforms, pixels(path), numbers[view])), path


def test_views_without_a_size_take_the_first_images(tmp_path):
    paths = []
    for i in range(3):
        paths.append(str(tmp_path / f"{i}.png"))
        Image.new("RGB", (30, 20), (i, 0, 0)).save(paths[-1])
    for whole, small in loaded(paths, [[], [T.Resize(10)], T.Compose([])][:2]):
        assert whole.shape[1:] == (3, 20, 30)
        assert small.shape[1:] == (3, 10, 15)


@pytest.mark.parametrize("views", [[A, B], [A, [T.Resize(20)]]])  # of fixed sizes; one that depends on the image
def test_image_folder_gives_a_tuple_a_sample(image_folder, views):
    dataset = pyfastdl.ImageFolder(image_folder, views)
    torch.manual_seed(0)
    (a, b), target = dataset[7]
    assert a.shape == (3, 32, 32)
    assert b.shape[1:] == (20, 20) or 20 in b.shape[1:]
    assert target == 1
    if views[1] is B:
        for (first, second), labels in tud.DataLoader(dataset, 4):
            assert first.shape == (len(labels), 3, 32, 32)
            assert second.shape == (len(labels), 3, 20, 20)
    again = pickle.loads(pickle.dumps(dataset))
    torch.manual_seed(0)
    (c, d), _ = again[7]
    assert torch.equal(a, c)
    assert torch.equal(b, d)


def test_image_folder_gives_the_dtype_that_the_transform_says(image_folder):
    bytes_ = pyfastdl.ImageFolder(image_folder, [T.Resize(20), T.PILToTensor()])
    halves = pyfastdl.ImageFolder(image_folder, [T.Resize(20), T.ToImage(), T.ToDtype(torch.bfloat16, scale=True)])
    assert bytes_[3][0].dtype == torch.uint8
    assert halves[3][0].dtype == torch.bfloat16
    assert torch.equal(halves[3][0], bytes_[3][0].to(torch.bfloat16).mul_(1 / 255))
