"""The transform's pixels and random numbers against the installed Pillow and torchvision, to the bit."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pyfastdl import _core, _pillow

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from torchvision import transforms as TV  # noqa: E402
from torchvision.transforms import functional as TF  # noqa: E402

FILTERS = {
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
MODES = {
    "box": TV.InterpolationMode.BOX,
    "bilinear": TV.InterpolationMode.BILINEAR,
    "bicubic": TV.InterpolationMode.BICUBIC,
    "lanczos": TV.InterpolationMode.LANCZOS,
}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ORDER = _pillow.pass_order()

filters = st.sampled_from(sorted(FILTERS))
images = st.builds(
    lambda height, width, seed: noise(height, width, seed),
    st.integers(1, 400),
    st.integers(1, 400),
    st.integers(0, 2**32),
)


def noise(height: int, width: int, seed: int) -> np.ndarray:
    """Noise; half of the seeds give only 0 and 255, which takes overshooting filters to their ends."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return pixels if seed % 2 else np.where(pixels < 128, np.uint8(0), np.uint8(255))


def plan(*specs: tuple[Any, ...], dtype: str = "float32", channels_last: bool = False) -> Any:
    return _core.Plan(list(specs), dtype=dtype, channels_last=channels_last, pass_order=ORDER)


def pixels_of(native_plan: Any, image: np.ndarray, index: int = 0) -> np.ndarray:
    return native_plan.apply(image, seed=1, epoch=0, index=index)


# Resize against Pillow.


@settings(max_examples=300, deadline=None)
@given(image=images, height=st.integers(1, 300), width=st.integers(1, 300), name=filters)
def test_resize_equals_pillow(image: np.ndarray, height: int, width: int, name: str) -> None:
    expected = np.asarray(Image.fromarray(image).resize((width, height), FILTERS[name]))
    np.testing.assert_array_equal(_core.resize(image, (height, width), name, ORDER), expected)


@settings(max_examples=80, deadline=None)
@given(
    sides=st.tuples(st.integers(1, 6), st.integers(300, 3000)),
    out=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    tall=st.booleans(),
    name=filters,
    seed=st.integers(0, 2**32),
)
def test_resize_of_long_thin_images(
    sides: tuple[int, int], out: tuple[int, int], tall: bool, name: str, seed: int
) -> None:
    height, width = (sides[1], sides[0]) if tall else sides
    image = noise(height, width, seed)
    expected = np.asarray(Image.fromarray(image).resize((out[1], out[0]), FILTERS[name]))
    np.testing.assert_array_equal(_core.resize(image, out, name, ORDER), expected)


def two_passes(image: Image.Image, height: int, width: int, vertical_first: bool) -> np.ndarray:
    middle = (image.width, height) if vertical_first else (width, image.height)
    bilinear = Image.Resampling.BILINEAR
    return np.asarray(image.resize(middle, bilinear).resize((width, height), bilinear))


@pytest.mark.parametrize("order", _pillow.PASS_ORDERS)
def test_every_pass_order(order: str) -> None:
    """The orders of other Pillow versions, each pass by the installed one."""
    differing = 0
    chosen = random.Random(1)
    for seed in range(150):
        height, width = chosen.choice([(500, 4), (404, 4), (90, 80), (60, 100), (40, 40)])
        out = chosen.randint(1, 120), chosen.randint(1, 120)
        rule = {
            "horizontal_first": False,
            "tall_vertical_first": height > 100 * width and out[0] < height,
            "shrink_vertical_first": height - out[0] > max(0, 2 * (width - out[1])),
        }[order]
        image = noise(height, width, seed)
        pillow = Image.fromarray(image)
        expected = two_passes(pillow, *out, vertical_first=rule)
        np.testing.assert_array_equal(_core.resize(image, out, "bilinear", order), expected)
        differing += not np.array_equal(expected, two_passes(pillow, *out, vertical_first=not rule))
    assert differing > 50, "the cases must tell the orders apart"


@settings(max_examples=150, deadline=None)
@given(
    image=images,
    top=st.integers(-50, 420),
    left=st.integers(-50, 420),
    height=st.integers(1, 300),
    width=st.integers(1, 300),
    size=st.tuples(st.integers(1, 250), st.integers(1, 250)),
    name=filters,
)
def test_resized_crop_equals_torchvision(
    image: np.ndarray, top: int, left: int, height: int, width: int, size: tuple[int, int], name: str
) -> None:
    expected = TF.resized_crop(Image.fromarray(image), top, left, height, width, list(size), MODES[name])
    actual = _core.resized_crop(image, top, left, height, width, size, name, ORDER)
    np.testing.assert_array_equal(actual, np.asarray(expected))


# Whole plans against torchvision.


def torchvision_crop(image: np.ndarray, numbers: dict[str, Any], size: tuple[int, int], name: str) -> Image.Image:
    box = numbers["top"], numbers["left"], numbers["height"], numbers["width"]
    crop = TF.resized_crop(Image.fromarray(image), *box, list(size), MODES[name])
    return TF.hflip(crop) if numbers["flip"] else crop


@settings(max_examples=60, deadline=None)
@given(
    image=images,
    size=st.tuples(st.integers(1, 230), st.integers(1, 230)),
    name=filters,
    index=st.integers(0, 2**40),
    normalize=st.booleans(),
    channels_last=st.booleans(),
)
def test_training_transform_equals_torchvision(
    image: np.ndarray, size: tuple[int, int], name: str, index: int, normalize: bool, channels_last: bool
) -> None:
    specs: list[tuple[Any, ...]] = [
        ("random_resized_crop", size, (0.08, 1.0), (3 / 4, 4 / 3), name),
        ("random_horizontal_flip", 0.5),
    ]
    if normalize:
        specs.append(("normalize", MEAN, STD))
    for dtype in ("float32", "float16", "bfloat16"):
        native = plan(*specs, dtype=dtype, channels_last=channels_last)
        numbers = native.sample(image.shape[0], image.shape[1], 1, 0, index)
        expected = TF.to_tensor(torchvision_crop(image, numbers, size, name))
        if normalize:
            expected = TF.normalize(expected, MEAN, STD)
        if channels_last:
            expected = expected.permute(1, 2, 0)
        actual = pixels_of(native, image, index)
        if dtype == "bfloat16":
            actual = actual.view(np.int16)
            reference = expected.to(torch.bfloat16).contiguous().view(torch.int16).numpy()
        else:
            reference = expected.to(getattr(torch, dtype)).numpy()
        assert actual.dtype == reference.dtype
        np.testing.assert_array_equal(actual, reference)


def test_uint8_cells_are_the_bytes() -> None:
    image = noise(50, 60, 1)
    np.testing.assert_array_equal(pixels_of(plan(dtype="uint8", channels_last=True), image), image)
    np.testing.assert_array_equal(pixels_of(plan(dtype="uint8"), image), image.transpose(2, 0, 1))


OTHER_PLANS = {
    "Resize(int)": (
        [("resize", 100, None, "bilinear")],
        TV.Resize(100),
    ),
    "Resize(int, max_size)": (
        [("resize", 100, 117, "bicubic")],
        TV.Resize(100, TV.InterpolationMode.BICUBIC, max_size=117),
    ),
    "Resize(h, w)": (
        [("resize", (33, 44), None, "lanczos")],
        TV.Resize((33, 44), TV.InterpolationMode.LANCZOS),
    ),
    "CenterCrop": (
        [("center_crop", (101, 52))],
        TV.CenterCrop((101, 52)),
    ),
    "Resize, CenterCrop": (
        [("resize", 110, None, "bilinear"), ("center_crop", (97, 98))],
        TV.Compose([TV.Resize(110), TV.CenterCrop((97, 98))]),
    ),
    "CenterCrop, Resize": (
        [("center_crop", (120, 121)), ("resize", (50, 60), None, "bilinear")],
        TV.Compose([TV.CenterCrop((120, 121)), TV.Resize((50, 60))]),
    ),
    "flip, Resize": (
        [("random_horizontal_flip", 1.0), ("resize", (51, 60), None, "bilinear")],
        TV.Compose([TV.RandomHorizontalFlip(1.0), TV.Resize((51, 60))]),
    ),
}


@pytest.mark.parametrize("name", OTHER_PLANS)
@settings(max_examples=40, deadline=None)
@given(image=images)
def test_other_plans_equal_torchvision(name: str, image: np.ndarray) -> None:
    specs, reference = OTHER_PLANS[name]
    native = plan(*specs)
    size = native.output_size(*image.shape[:2])
    if size == (0, 0):
        with pytest.raises((ValueError, RuntimeError)):
            pixels_of(native, image)
        return
    expected = TF.to_tensor(reference(Image.fromarray(image))).numpy()
    assert size == expected.shape[1:]
    np.testing.assert_array_equal(pixels_of(native, image), expected)


# The random numbers.


def philox4x32(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x32-10 as its paper states it."""
    mask = 0xFFFFFFFF
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


class Numbers:
    """The documented stream of a sample: words, doubles of 53 bits, unbiased integers."""

    def __init__(self, seed: int, epoch: int, index: int, occurrence: int) -> None:
        self.fixed = [(index >> 32 & 0xFFFF) << 16, index & 0xFFFFFFFF, epoch, occurrence]
        self.key = [seed & 0xFFFFFFFF, seed >> 32]
        self.words: list[int] = []
        self.block = 0

    def word(self) -> int:
        if not self.words:
            self.words = philox4x32([self.fixed[0] | self.block, *self.fixed[1:]], self.key)
            self.block += 1
        return self.words.pop(0)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        first, second = self.word() >> 5, self.word() >> 6
        return low + (high - low) * ((first << 26 | second) * 2.0**-53)

    def below(self, n: int) -> int:
        while True:
            product = self.word() * n
            if (product & 0xFFFFFFFF) >= (2**32 - n) % n:
                return product >> 32


def modelled(height: int, width: int, numbers: Numbers) -> dict[str, Any]:
    """RandomResizedCrop, then RandomHorizontalFlip, with the defaults: torchvision's code on the documented stream."""
    for _ in range(10):
        target = height * width * numbers.uniform(0.08, 1.0)
        aspect = math.exp(numbers.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            top, left = numbers.below(height - h + 1), numbers.below(width - w + 1)
            break
    else:
        w, h = width, height
        if width / height < 3 / 4:
            h = round(width / (3 / 4))
        elif width / height > 4 / 3:
            w = round(height * (4 / 3))
        top, left = (height - h) // 2, (width - w) // 2
    return {"top": top, "left": left, "height": h, "width": w, "flip": numbers.uniform() < 0.5}


@settings(max_examples=300, deadline=None)
@given(
    size=st.tuples(st.integers(1, 600), st.integers(1, 600)),
    seed=st.integers(0, 2**64 - 1),
    epoch=st.integers(0, 2**32 - 1),
    index=st.integers(0, 2**48 - 1),
    occurrence=st.integers(0, 2**32 - 1),
)
def test_numbers_follow_the_documented_stream(
    size: tuple[int, int], seed: int, epoch: int, index: int, occurrence: int
) -> None:
    native = plan(
        ("random_resized_crop", (224, 224), (0.08, 1.0), (3 / 4, 4 / 3), "bilinear"), ("random_horizontal_flip", 0.5)
    )
    expected = modelled(*size, Numbers(seed, epoch, index, occurrence))
    assert native.sample(*size, seed, epoch, index, occurrence) == expected


@pytest.mark.parametrize("size", [(375, 500), (500, 375), (100, 900), (64, 64)])
def test_crops_are_distributed_as_torchvisions(size: tuple[int, int]) -> None:
    count = 4000
    native = plan(("random_resized_crop", (224, 224), (0.08, 1.0), (3 / 4, 4 / 3), "bilinear"))
    ours = np.array([list(native.sample(*size, 11, 0, i).values()) for i in range(count)], float)
    generator_state = torch.get_rng_state()
    torch.manual_seed(11)
    blank = Image.new("RGB", (size[1], size[0]))
    theirs = np.array(
        [TV.RandomResizedCrop.get_params(blank, [0.08, 1.0], [3 / 4, 4 / 3]) for _ in range(count)], float
    )
    torch.set_rng_state(generator_state)
    for a, b in zip(ours.T, theirs.T, strict=True):  # top, left, height, width
        # Two-sample Kolmogorov-Smirnov; both seeds are fixed, so this either always passes or never.
        points = np.union1d(a, b)
        distance = (
            np.abs(np.searchsorted(np.sort(a), points, "right") - np.searchsorted(np.sort(b), points, "right")).max()
            / count
        )
        assert distance < 1.95 * math.sqrt(2 / count)  # exceeded once in a thousand


def test_sample_has_the_keys_of_what_is_there() -> None:
    crop = ("random_resized_crop", (9, 9), (0.08, 1.0), (3 / 4, 4 / 3), "bilinear")
    flip = ("random_horizontal_flip", 0.5)
    assert plan(("resize", 9, None, "box")).sample(30, 40, 0, 0, 0) == {}
    assert list(plan(flip).sample(30, 40, 0, 0, 0)) == ["flip"]
    assert list(plan(crop, flip).sample(30, 40, 0, 0, 0)) == ["top", "left", "height", "width", "flip"]
    assert set(plan(flip, crop, flip).sample(30, 40, 0, 0, 0)) == {"top", "left", "height", "width", "flip", "flip_2"}


# Wrong arguments.


@pytest.mark.parametrize(
    ("specs", "options", "message"),
    [
        ([("blur", 3)], {}, "no transform 'blur'"),
        ([()], {}, "begins with its name"),
        ([("center_crop",)], {}, "0 instead of 1"),
        ([("resize", 10, None, "nearest")], {}, "box, bilinear, bicubic, lanczos, not 'nearest'"),
        ([("resize", (10, 10), 20, "box")], {}, "max_size"),
        ([], {"dtype": "float64"}, "uint8, float16, bfloat16, float32, not 'float64'"),
        (
            [],
            {"pass_order": "sideways"},
            "horizontal_first, tall_vertical_first, shrink_vertical_first, not 'sideways'",
        ),
        ([("normalize", MEAN, STD)], {"dtype": "uint8"}, "uint8"),
    ],
)
def test_wrong_plans_are_refused(specs: list[tuple[Any, ...]], options: dict[str, str], message: str) -> None:
    arguments = {"dtype": "float32", "channels_last": False, "pass_order": ORDER, **options}
    with pytest.raises(ValueError, match=message):
        _core.Plan(specs, **arguments)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (0, 4, 3), (4, 0, 3)])
def test_wrong_images_are_refused(shape: tuple[int, ...]) -> None:
    image = np.zeros(shape, np.uint8)
    with pytest.raises(ValueError, match="image"):
        _core.resize(image, (2, 2), "box", ORDER)
    with pytest.raises(ValueError, match="image"):
        pixels_of(plan(("resize", (2, 2), None, "box")), image)
    with pytest.raises(ValueError, match="sides"):
        _core.resize(np.zeros((4, 4, 3), np.uint8), (0, 2), "box", ORDER)
