"""Every transform, alone and in random compositions, against torchvision on PIL images with the same numbers, to the
bit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from replay import cell, replay, same_bits

from pyfastdl import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.uint8]

sides = st.integers(1, 100)
sizes = st.tuples(sides, sides)
filters = st.sampled_from(["box", "bilinear", "bicubic", "lanczos"])
samplings = st.sampled_from(["nearest", "bilinear", "bicubic"])
probabilities = st.sampled_from([0.0, 0.5, 1.0])
colors = st.one_of(st.integers(0, 255), st.tuples(*[st.integers(0, 255)] * 3))
modes = st.sampled_from(["constant", "edge", "reflect", "symmetric"])
paddings = st.one_of(
    st.integers(-5, 130),
    st.tuples(st.integers(-3, 20), st.integers(-3, 20)),
    st.tuples(*[st.integers(-20, 40)] * 4),
)


@st.composite
def pictures(draw: Any) -> np.ndarray:
    """Noise, or a smooth ramp with noise: histograms that are full, and such that are not."""
    height, width = draw(sizes)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    ramp = np.linspace(draw(st.integers(0, 100)), draw(st.integers(101, 255)), height * width).reshape(height, width, 1)
    noise = rng.normal(0, 9, (height, width, 3)) if kind == 1 else np.zeros((1, 1, 3))
    return (ramp + noise).clip(0, 255).astype(np.uint8)


bounds = st.tuples(st.floats(0.05, 1.0), st.floats(0.05, 1.0)).map(lambda pair: tuple(sorted(pair)))
factors = st.sampled_from([0, 0.4, 1.5, (0.0, 0.0), (0.2, 2.5)])
bins = st.sampled_from([(9, 31), (0, 2), (30, 31), (10, 11)])

PICTURE: dict[str, Any] = {
    "RandomResizedCrop": st.builds(T.RandomResizedCrop, sizes, scale=bounds, interpolation=filters),
    "Resize": st.one_of(
        st.builds(T.Resize, sizes, filters),
        st.builds(lambda size, more, name: T.Resize(size, name, max_size=size + more), sides, sides, filters),
    ),
    "CenterCrop": st.builds(T.CenterCrop, sizes),
    "Pad": st.builds(T.Pad, paddings, colors, modes),
    "RandomCrop": st.builds(T.RandomCrop, sizes, st.none() | paddings, st.booleans(), colors, modes),
    "RandomHorizontalFlip": st.builds(T.RandomHorizontalFlip, probabilities),
    "RandomVerticalFlip": st.builds(T.RandomVerticalFlip, probabilities),
    "Grayscale": st.builds(T.Grayscale),
    "RandomGrayscale": st.builds(T.RandomGrayscale, probabilities),
    "ColorJitter": st.builds(T.ColorJitter, factors, factors, factors, st.sampled_from([0, 0.5, (-0.1, 0.3)])),
    "RandAugment": st.builds(
        lambda ops, bin_, name, fill: T.RandAugment(ops, *bin_, name, fill), st.integers(0, 4), bins, samplings, colors
    ),
    "TrivialAugmentWide": st.builds(T.TrivialAugmentWide, st.sampled_from([2, 31]), samplings, colors),
}
ERASE = st.builds(
    T.RandomErasing,
    probabilities,
    scale=bounds,
    ratio=st.sampled_from([(0.3, 3.3), (1.0, 1.0)]),
    value=st.sampled_from([0, 3, (1.0, 0.5, 0.25), "random"]),
)
FLIP = st.one_of(PICTURE["RandomHorizontalFlip"], PICTURE["RandomVerticalFlip"])
NORMALIZE = st.builds(T.Normalize, st.sampled_from([MEAN, 0.5]), st.sampled_from([STD, 2.0]))
TO_FLOATS = st.sampled_from(
    [
        [],
        [T.ToTensor()],
        [T.ToImage(), T.ToDtype(torch.float32, scale=True)],
        [T.PILToTensor(), T.ToImage(), T.ToDtype(torch.uint8), T.ToDtype(torch.float32)],
    ]
)


def check(transforms: list[Any], picture: np.ndarray, index: int, dtype: torch.dtype, channels_last: bool) -> None:
    compose = T.Compose(transforms)
    try:
        compose.plan(dtype=str(dtype).removeprefix("torch."))
    except ValueError as error:  # sizes that no image can have
        assert re.search("RandomCrop needs an image|sides must be", str(error)), error
        return
    numbers = compose.sample(*picture.shape[:2], seed=1, epoch=0, index=index)
    if compose.plan().output_size(*picture.shape[:2]) == (0, 0):
        with pytest.raises((ValueError, RuntimeError)):
            cell(compose, picture, index, dtype=dtype, channels_last=channels_last)
        return
    expected = replay(transforms, picture, numbers, dtype)
    actual = cell(compose, picture, index, dtype=dtype, channels_last=channels_last)
    assert same_bits(actual, expected), numbers


@pytest.mark.parametrize("name", PICTURE)
@settings(max_examples=60, deadline=None)
@given(
    data=st.data(), picture=pictures(), index=st.integers(0, 2**40), dtype=st.sampled_from(DTYPES), last=st.booleans()
)
def test_a_transform_alone_equals_torchvision(
    name: str, data: Any, picture: np.ndarray, index: int, dtype: torch.dtype, last: bool
) -> None:
    check([data.draw(PICTURE[name])], picture, index, dtype, last)


@settings(max_examples=250, deadline=None)
@given(
    on_pictures=st.lists(st.one_of(*PICTURE.values()), max_size=5),
    convert=TO_FLOATS,
    before=st.lists(st.one_of(ERASE, FLIP), max_size=2),
    normalize=st.lists(NORMALIZE, max_size=1),
    after=st.lists(st.one_of(ERASE, FLIP), max_size=2),
    picture=pictures(),
    index=st.integers(0, 2**40),
    dtype=st.sampled_from(DTYPES[:3]),
    last=st.booleans(),
)
def test_compositions_equal_torchvision(
    on_pictures: list[Any],
    convert: list[Any],
    before: list[Any],
    normalize: list[Any],
    after: list[Any],
    picture: np.ndarray,
    index: int,
    dtype: torch.dtype,
    last: bool,
) -> None:
    check([*on_pictures, *convert, *before, *normalize, *after], picture, index, dtype, last)


@settings(max_examples=60, deadline=None)
@given(
    on_pictures=st.lists(st.one_of(*PICTURE.values()), max_size=4),
    convert=st.sampled_from([[], [T.PILToTensor()], [T.ToImage(), T.ToImage()]]),
    erase=st.builds(T.RandomErasing, probabilities, value=st.sampled_from([0, 255, (1, 20.9, 77)])),
    flip=FLIP,
    picture=pictures(),
    index=st.integers(0, 2**40),
    last=st.booleans(),
)
def test_bytes_equal_torchvision(
    on_pictures: list[Any], convert: list[Any], erase: Any, flip: Any, picture: np.ndarray, index: int, last: bool
) -> None:
    check([*on_pictures, *convert, erase, flip], picture, index, torch.uint8, last)


@settings(max_examples=60, deadline=None)
@given(
    convert=st.sampled_from([[T.ToTensor()], [T.PILToTensor()], [T.ToImage()]]),
    dtype=st.sampled_from([torch.float16, torch.bfloat16]),
    scale=st.booleans(),
    rest=st.tuples(ERASE, NORMALIZE, ERASE),
    picture=pictures(),
    index=st.integers(0, 2**40),
)
def test_arithmetic_in_16_bits_equals_torchvision(
    convert: list[Any], dtype: torch.dtype, scale: bool, rest: Any, picture: np.ndarray, index: int
) -> None:
    check([*convert, T.ToDtype(dtype, scale), *rest], picture, index, dtype, False)


@settings(max_examples=40, deadline=None)
@given(
    crop=st.one_of(st.builds(T.CenterCrop, sizes), st.builds(T.RandomCrop, sizes, st.none() | paddings, st.booleans())),
    pad=st.builds(lambda padding, mode: T.Pad(padding, 0, mode), paddings, st.sampled_from(["constant", "edge"])),
    picture=pictures(),
    index=st.integers(0, 2**40),
)
def test_crops_and_borders_are_the_same_on_tensors(crop: Any, pad: Any, picture: np.ndarray, index: int) -> None:
    left, top, right, bottom = (min(side, 0) for side in pad.padding)
    height, width = picture.shape[:2]
    # Of tensors torchvision cuts off what is negative first, and has no words for cutting off more than there is.
    assume(height + top + bottom > 0 and width + left + right > 0)
    check([T.ToTensor(), pad, crop, T.Normalize(MEAN, STD)], picture, index, torch.float32, False)


@settings(max_examples=100, deadline=None)
@given(picture=pictures(), padding=st.tuples(*[st.integers(-30, 400)] * 4), mode=modes)
@example(picture=np.full((1, 1, 3), 9, np.uint8), padding=(3, 4, 5, 6), mode="reflect")
@example(picture=np.zeros((2, 1, 3), np.uint8), padding=(7, 7, 7, 7), mode="symmetric")
def test_borders_much_wider_than_the_picture(picture: np.ndarray, padding: Any, mode: str) -> None:
    check([T.Pad(padding, (1, 2, 3), mode)], picture, 0, torch.uint8, False)


def test_v2s_floats_differ_from_v1s_in_half_of_the_values() -> None:
    ramp = np.arange(256, dtype=np.uint8).repeat(3).reshape(1, 256, 3)
    v1 = cell(T.Compose([T.ToTensor()]), ramp)
    v2 = cell(T.Compose([T.ToImage(), T.ToDtype(torch.float32, scale=True)]), ramp)
    assert 100 < (v1[0] != v2[0]).sum() < 156
    assert torch.equal(cell(T.Compose([T.ToDtype(torch.float32)]), ramp)[0, 0], torch.arange(256.0))
