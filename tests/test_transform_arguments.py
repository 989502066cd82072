"""Arguments of the transforms: what is taken, and what is refused, with torchvision's classes of error and in clear
words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as TV
from torchvision.transforms import v2

import pyfastdl
from pyfastdl import transforms as T

REFUSED = [
    ("Pad", ("3",), TypeError, "padding must be an int"),
    ("Pad", ((1, 2, 3),), ValueError, "left, top, right, bottom"),
    ("Pad", (1, "red"), TypeError, "fill must be a number"),
    ("Pad", (1, 0, "wrap"), ValueError, "constant, edge, reflect or symmetric"),
    ("RandomCrop", ((1, 2, 3),), ValueError, "height, width"),
    ("RandomErasing", (2,), ValueError, "from 0 to 1"),
    ("RandomErasing", (0.5, 0.3), TypeError, "scale must be a pair"),
    ("RandomErasing", (0.5, (0.5, 2.0)), ValueError, "scale must be a pair"),
    ("RandomErasing", (0.5, (0.1, 0.2), 1.0), TypeError, "ratio must be a pair"),
    ("RandomErasing", (0.5, (0.1, 0.2), (1.0, 2.0), "zeros"), ValueError, "'random'"),
    ("RandomErasing", (0.5, (0.1, 0.2), (1.0, 2.0), None), TypeError, "'random'"),
    ("ColorJitter", (-1,), ValueError, "brightness must not be negative"),
    ("ColorJitter", ("much",), TypeError, "a number or a pair"),
    ("ColorJitter", (0, (2, 1)), ValueError, "contrast must lie between 0 and inf"),
    ("ColorJitter", (0, 0, (-1, 1)), ValueError, "saturation must lie"),
    ("ColorJitter", (0, 0, 0, 0.6), ValueError, "hue must lie between -0.5 and 0.5"),
]


@pytest.mark.parametrize(("name", "arguments", "error", "message"), REFUSED)
def test_refused_as_torchvision_refuses(name: str, arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error):
        getattr(TV, name)(*arguments)
    with pytest.raises(error, match=message) as raised:
        getattr(T, name)(*arguments)
    assert name in str(raised.value)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: T.Pad(1, 256), ValueError, "0 to 255"),
        (lambda: T.Pad(1, (1, 2)), ValueError, "one value or three"),
        (lambda: T.RandomCrop(0), ValueError, "positive"),
        (lambda: T.RandomVerticalFlip(1.5), ValueError, "from 0 to 1"),
        (lambda: T.RandomVerticalFlip("often"), TypeError, "number from 0 to 1"),
        (lambda: T.RandomGrayscale(-1), ValueError, "from 0 to 1"),
        (lambda: T.Grayscale(1), ValueError, "batches have three channels"),
        (lambda: T.RandAugment(magnitude=31), ValueError, "below num_magnitude_bins"),
        (lambda: T.RandAugment(num_ops=-1), ValueError, "not be negative"),
        (lambda: T.RandAugment(num_ops=1.5), TypeError, "an int"),
        (lambda: T.RandAugment(interpolation="lanczos"), ValueError, "nearest, bilinear, bicubic"),
        (lambda: T.TrivialAugmentWide(1), ValueError, "at least 2"),
        (lambda: T.RandomErasing(ratio=(2.0, 1.0)), ValueError, "ratio"),
        (lambda: T.RandomErasing(value=float("nan")), ValueError, "finite"),
        (lambda: T.ToDtype("float32"), ValueError, "torch.float32"),
        (lambda: T.ToDtype(torch.float64), ValueError, "torch.float32"),
        (lambda: T.Resize(9, T.InterpolationMode.NEAREST), ValueError, "box, bilinear, bicubic, lanczos"),
        (lambda: T.Views([]), ValueError, "at least one"),
        (lambda: T.Views([3]), TypeError, "iterable"),
        (lambda: T.Compose([T.Resize(3), T.Compose([])]), TypeError, "all elements of the list are lists.*or none is"),
    ],
)
def test_refused_in_words(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_spellings_of_arguments() -> None:
    assert T.Pad([3]).padding == T.Pad(3).padding == (3, 3, 3, 3)
    assert T.Pad((1, 2, 3, 4), (5.9,)).spec() == ("pad", (1, 2, 3, 4), (5, 5, 5), "constant")
    assert T.RandAugment(interpolation=v2.InterpolationMode.BILINEAR).interpolation == "bilinear"
    assert T.RandAugment(interpolation=Image.Resampling.NEAREST).interpolation == "nearest"
    assert T.RandAugment(fill=[1, 2, 3]).fill == (1, 2, 3)
    assert T.ColorJitter(1, 0, (1, 1), (0, 0)) == T.ColorJitter((0, 2), (1.0, 1.0))
    assert T.RandomErasing(value=[7]).value == (7.0, 7.0, 7.0)


PICTURE = [T.RandomCrop(8), T.Resize(8), T.ColorJitter(0.1), T.Grayscale(), T.RandAugment(), T.Pad(1, 7)]
FLOATS = T.ToDtype(torch.float32, scale=True)


@pytest.mark.parametrize(
    ("transforms", "dtype", "message"),
    [
        *(([T.Normalize(0.5, 0.5), t], "float32", "Normalize comes last") for t in PICTURE),
        *(([T.RandomErasing(), t], "float32", "RandomErasing comes last") for t in PICTURE),
        *(([T.ToTensor(), t], "float32", "before ToTensor") for t in PICTURE[1:]),
        ([T.ToImage(), T.RandomResizedCrop(8)], "float32", "put RandomResizedCrop before ToImage"),
        ([T.PILToTensor(), FLOATS, T.ColorJitter(1)], "float32", "before PILToTensor"),
        ([T.ToTensor(), T.ToTensor()], "float32", "made a tensor of it already"),
        ([T.ToTensor(), T.PILToTensor()], "float32", "made a tensor of it already"),
        ([T.PILToTensor(), T.Normalize(0.5, 0.5)], "float32", "gives bytes"),
        ([T.PILToTensor()], "float32", "ask for dtype=torch.uint8, or put ToDtype"),
        ([T.ToImage()], "bfloat16", "gives bytes, but the batches are to be torch.bfloat16"),
        ([T.ToDtype(torch.float16)], "float32", "ask for dtype=torch.float16"),
        ([T.ToTensor(), T.ToDtype(torch.uint8)], "float32", "gave floats"),
        ([T.Normalize(0.5, 0.5), T.ToDtype(torch.float16)], "float16", "behind Normalize"),
        ([T.ToDtype(torch.float16), T.ToDtype(torch.float32)], "float32", "a second time"),
        ([T.Normalize(0.5, 0.5), T.Normalize(0.5, 0.5)], "float32", "one Normalize"),
        ([T.RandomErasing(value="random")], "uint8", "float dtype"),
        ([T.RandomErasing(value=256)], "uint8", "0 to 255"),
        ([T.ToTensor(), T.RandomErasing(value=1)], "uint8", "float dtype, or value=0"),
        ([T.Resize((4, 4)), T.RandomCrop(5)], "float32", "RandomCrop needs an image of at least 5x5"),
    ],
)
def test_orders_without_a_meaning_are_refused(transforms: Any, dtype: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        T.Compose(transforms).plan(dtype=dtype)


def test_a_loader_says_what_pil_to_tensor_needs(tmp_path: Any) -> None:
    path = str(tmp_path / "a.png")
    Image.fromarray(np.full((4, 5, 3), 77, np.uint8)).save(path)
    with pytest.raises(ValueError, match=r"dtype=torch\.uint8"):
        pyfastdl.NativeLoader([path], transform=[T.PILToTensor()])
    (images,) = pyfastdl.NativeLoader([path], transform=[T.PILToTensor()], dtype=torch.uint8)
    assert images.dtype == torch.uint8
    assert (images == 77).all()


def test_an_image_smaller_than_the_crop_is_a_bad_sample(tmp_path: Any) -> None:
    path = str(tmp_path / "a.png")
    Image.new("RGB", (4, 5)).save(path)
    with pytest.raises(pyfastdl.SampleError, match=r"at least 6x6 .* has 5x4.*pad_if_needed=True"):
        list(pyfastdl.NativeLoader([path], transform=[T.RandomCrop(6)]))
    (images,) = pyfastdl.NativeLoader([path], transform=[T.RandomCrop(6, pad_if_needed=True)])
    assert images.shape == (1, 3, 6, 6)


def test_erasing_with_normalisation_on_the_device(tmp_path: Any) -> None:
    path = str(tmp_path / "a.png")
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 20, 3), dtype=np.uint8)).save(path)
    good = [T.RandomErasing(1.0), T.Normalize(0.4, 0.3)]
    for convert in ([], [T.ToTensor()], [T.ToImage(), FLOATS]):
        (expected,) = pyfastdl.NativeLoader([path], transform=[*convert, *good], seed=1)
        (images,) = pyfastdl.NativeLoader([path], transform=[*convert, *good], seed=1, dtype=torch.uint8)
        assert torch.equal(images, expected)
        assert (images == images.min()).sum() > 12
    for bad in ([good[1], good[0]], [T.RandomErasing(value=1), good[1]], [T.RandomErasing(value="random"), good[1]]):
        with pytest.raises(ValueError, match="choose a float dtype"):
            pyfastdl.NativeLoader([path], transform=bad, dtype=torch.uint8)
