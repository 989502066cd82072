"""Which of torchvision's transforms the core does instead, and that it does the same to the bit."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import v2

import pyfastdl
from pyfastdl.lowering.transforms import lower_transform

STATISTICS = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


def natively(transform):
    return [step.native is not None for step in lower_transform(transform).steps]


@functools.lru_cache(maxsize=1)
def pictures(root):
    rng = np.random.default_rng(1)
    (root / "a").mkdir()
    for i, size in enumerate([(90, 70), (64, 64), (33, 120)]):
        coarse = Image.fromarray(rng.integers(0, 256, (5, 7, 3), dtype=np.uint8))
        coarse.resize(size, Image.Resampling.BICUBIC).save(root / "a" / f"{i}.jpg", quality=92)
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("pictures"))


# What each class is called with so that nothing of it is random.
PICTURES = {
    "Resize": [((40, 30),), (48,), (48, v1.InterpolationMode.BICUBIC), (30, v1.InterpolationMode.BILINEAR, 60)],
    "CenterCrop": [(50,), ((20, 200),)],
    "Pad": [(3,), ((2, 5), 7), ((1, 2, 3, 4), (9, 8, 7)), (4, 0, "edge"), (4, 0, "reflect"), (4, 0, "symmetric")],
    "RandomCrop": [((61, 47),), ((67, 51), (1, 2, 3, 4)), ((63, 49), 1, False, (9, 8, 7))],
    "RandomHorizontalFlip": [(0.0,), (1.0,)],
    "RandomVerticalFlip": [(0.0,), (1.0,)],
    "Grayscale": [(3,)],
    "RandomGrayscale": [(0.0,), (1.0,)],
    "ColorJitter": [((0.4, 0.4),), (0, (1.7, 1.7)), (0, 0, (0.2, 0.2)), (0, 0, 0, (0.3, 0.3)), ()],
    "RandAugment": [(0,)],
}
CASES = [(version, name, arguments) for version in (v1, v2) for name, many in PICTURES.items() for arguments in many]


@pytest.mark.parametrize(("version", "name", "arguments"), CASES)
def test_on_pictures(version, name, arguments, root):
    one = getattr(version, name)(*arguments)
    compare(root, version.Compose([version.Resize((61, 47)), one, v1.ToTensor(), v1.Normalize(**STATISTICS)]))


CONVERSIONS = {
    "v1": [v1.ToTensor()],
    "v1 bytes": [v1.PILToTensor()],
    "v1 bytes to floats": [v1.PILToTensor(), v1.ConvertImageDtype(torch.float32), v1.Normalize(**STATISTICS)],
    "v1 flip of a tensor": [v1.ToTensor(), v1.RandomHorizontalFlip(1.0), v1.RandomVerticalFlip(1.0)],
    "v1 erasing": [v1.ToTensor(), v1.RandomErasing(0.0)],
    "v2": [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(**STATISTICS)],
    "v2 not scaled": [v2.ToImage(), v2.ToDtype(torch.float32), v2.Normalize(**STATISTICS)],
    "v2 half": [v2.ToImage(), v2.ToDtype(torch.float16, scale=True)],
    "v2 bytes": [v2.ToImage(), v2.ToDtype(torch.uint8)],
    "v2 ConvertImageDtype": [v2.PILToTensor(), v2.ConvertImageDtype(torch.float32)],
    "v2 flip": [v2.ToImage(), v2.RandomHorizontalFlip(1.0), v2.ToDtype(torch.float32, scale=True)],
    "v2 no change": [v2.Identity(), v2.RGB(), v2.ToImage(), v2.ToPureTensor()],
    "v2 erasing": [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.RandomErasing(0.0, value="random")],
    "one mean": [v1.ToTensor(), v1.Normalize([0.5], [0.25])],
}


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_conversions(conversion, root):
    compare(root, v2.Compose([v2.Resize((40, 50)), v2.Compose(CONVERSIONS[conversion])]))


def compare(root, transform):
    """All of it is native, and the batches are the stock loader's."""
    assert all(natively(transform)), [step for step in lower_transform(transform).steps if step.native is None]
    dataset = torchvision.datasets.ImageFolder(root, transform)
    loader = pyfastdl.DataLoader(dataset, batch_size=2, worker_mode="native")
    for ours, stock in zip(loader, torch.utils.data.DataLoader(dataset, batch_size=2), strict=True):
        assert type(ours) is type(stock)
        for one, other in zip(ours, stock, strict=True):
            assert one.dtype == other.dtype
            assert type(one) is type(other)
            assert torch.equal(one, other)
    assert "decoded natively into their memory: 2" in loader.explain()


def hooked():
    transform = v2.RandomHorizontalFlip(1.0)
    transform.register_forward_hook(lambda *_: None)
    return transform


class Mine(v1.RandomHorizontalFlip):
    """A class of the user's may do anything."""


# A beginning that is native, and what isn't, with why.
STOPS = {
    "a user's function": (lambda image: image, "pyfastdl doesn't know it"),
    "a subclass": (Mine(), "pyfastdl doesn't know it"),
    "hooks": (hooked(), "hooks"),
    "nearest": (v1.Resize(30, v1.InterpolationMode.NEAREST), "interpolation must be one of"),
    "one channel": (v1.Grayscale(1), "three channels"),
    "no native one": (v1.GaussianBlur(3), "none that is equal"),
    "v2 no native one": (v2.GaussianBlur(3), "none that is equal"),
    "Lambda": (v1.Lambda(lambda image: image), "none that is equal"),
    "Normalize of a picture": (v2.Normalize(**STATISTICS), "it works on floats, and gets a picture"),
    "ToDtype of a picture": (v2.ToDtype(torch.float32), "it works on tensors, and gets a picture"),
    "a fill by type": (v2.Pad(3, fill={Image.Image: 3, "others": 0}), "fill differs by type"),
    "solarizes otherwise": (v2.TrivialAugmentWide(), "solarizes other pixels"),
}


@pytest.mark.parametrize("stop", STOPS)
def test_the_longest_beginning(stop):
    transform, why = STOPS[stop]
    steps = lower_transform(v1.Compose([v1.CenterCrop(20), transform, v1.CenterCrop(10)])).steps
    assert [step.native is not None for step in steps] == [True, False, False]
    assert why in steps[1].reason
    assert steps[2].reason == "what comes before stays Python"


def test_resizing_a_tensor_is_not_native():
    steps = lower_transform(v2.Compose([v2.ToImage(), v2.RandomResizedCrop(32)])).steps
    assert steps[0].native is not None
    assert "other pixels" in steps[1].reason


@pytest.mark.parametrize("version", [v1, v2])
def test_random_ones_keep_their_arguments(version):
    transform = version.Compose(
        [
            version.RandomResizedCrop((20, 30), scale=(0.2, 0.9), ratio=(0.5, 2.0), interpolation=3),
            version.RandomCrop(18, padding=(1, 2), pad_if_needed=True, fill=4, padding_mode="edge"),
            version.ColorJitter(0.1, (0.5, 1.2), 0.3, 0.05),
            version.RandAugment(3, 5, 31, version.InterpolationMode.BILINEAR, [1, 2, 3]),
            version.RandomGrayscale(0.3),
            torch.nn.Sequential(version.RandomHorizontalFlip(0.25), version.RandomVerticalFlip(0.75)),
            v1.ToTensor(),
            version.RandomErasing(0.4, (0.1, 0.2), (0.5, 2.0), 0.5),
        ]
    )
    T = pyfastdl.transforms
    assert lower_transform(transform).native.transforms == [
        T.RandomResizedCrop((20, 30), (0.2, 0.9), (0.5, 2.0), "bicubic"),
        T.RandomCrop(18, (1, 2), True, 4, "edge"),
        T.ColorJitter(0.1, (0.5, 1.2), 0.3, 0.05),
        T.RandAugment(3, 5, 31, "bilinear", (1, 2, 3)),
        T.RandomGrayscale(0.3),
        T.RandomHorizontalFlip(0.25),
        T.RandomVerticalFlip(0.75),
        T.ToTensor(),
        T.RandomErasing(0.4, (0.1, 0.2), (0.5, 2.0), 0.5),
    ]


@pytest.mark.parametrize("bins", [2, 7, 11, 31])
def test_v2_is_native_where_its_magnitudes_are_v1s(bins):
    """Whole numbers among Solarize's thresholds are what the versions may differ in."""
    for magnitude in range(bins):
        transform = v2.RandAugment(magnitude=magnitude, num_magnitude_bins=bins)
        picture = Image.fromarray(np.arange(256, dtype=np.uint8).repeat(3).reshape(16, 16, 3))
        wanted = v1.functional.solarize(picture, float(torch.linspace(255.0, 0.0, bins)[magnitude]))
        v2_threshold = 255.0 * float(torch.linspace(1.0, 0.0, bins)[magnitude])
        same = np.array_equal(np.asarray(wanted), np.asarray(v2.functional.solarize(picture, v2_threshold)))
        assert natively(transform) == [same]
