"""Operations on finished pixels against torchvision on PIL images, to the bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pyfastdl import _core
from pyfastdl.transforms import InterpolationMode, functional

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from torchvision.transforms import InterpolationMode as TVMode  # noqa: E402
from torchvision.transforms import functional as TF  # noqa: E402
from torchvision.transforms.autoaugment import RandAugment, TrivialAugmentWide, _apply_op  # noqa: E402

NAMES = ("NEAREST", "BILINEAR", "BICUBIC")


def picture(height: int, width: int, kind: str, seed: int) -> np.ndarray:
    """An image of some kind; "photograph" is smooth waves of colour with a little noise and burnt highlights."""
    rng = np.random.default_rng(seed)
    shape = (height, width, 3)
    if kind == "flat":
        return np.broadcast_to(rng.integers(0, 256, 3, dtype=np.uint8), shape).copy()
    if kind == "two-valued":
        return rng.choice(rng.integers(0, 256, 2, dtype=np.uint8), shape)
    y, x = np.mgrid[0:height, 0:width]
    if kind == "gradient":
        slopes = rng.uniform(-6, 6, (2, 3))
        waves = x[..., None] * slopes[0] + y[..., None] * slopes[1] + rng.uniform(0, 256, 3)
        return (waves.astype(np.int64) % 256).astype(np.uint8)
    if kind == "photograph":
        waves = sum(
            np.sin(x[..., None] * rng.uniform(0, 0.2, 3) + y[..., None] * rng.uniform(0, 0.2, 3)) for _ in "123"
        )
        return np.clip(110 + 55 * waves + rng.normal(0, 4, shape), 0, 255).astype(np.uint8)
    return rng.integers(0, 256, shape, dtype=np.uint8)


images = st.builds(
    picture,
    st.integers(1, 90) | st.integers(1, 4),
    st.integers(1, 90) | st.integers(1, 4),
    st.sampled_from(["noise", "flat", "two-valued", "gradient", "photograph"]),
    st.integers(0, 2**32),
)
factors = st.one_of(
    st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0, 1e-8, 1e9, math.inf, -math.inf, math.nan, 1e300]),
    st.floats(0, 1),
    st.floats(0, 3),
    st.floats(-50, 50),
)
modes = st.sampled_from(NAMES)
fills = st.one_of(
    st.none(),
    st.integers(-5, 300),
    st.floats(0, 255),
    st.lists(st.integers(-5, 300), min_size=1, max_size=1),
    st.tuples(*[st.integers(0, 255)] * 3),
)


def expect_equal(name: str, image: np.ndarray, *arguments: Any, **theirs: Any) -> None:
    """Ours and torchvision's; ``theirs`` replaces keywords that the two spell differently."""
    keywords = {}
    if "interpolation" in theirs:
        mode = theirs.pop("interpolation")
        keywords["interpolation"] = InterpolationMode[mode]
        theirs["interpolation"] = TVMode[mode]
    for key, value in theirs.items():
        keywords.setdefault(key, value)
    before = image.copy()
    actual = getattr(functional, name)(image, *arguments, **keywords)
    assert actual.dtype == np.uint8
    assert not np.shares_memory(actual, image)
    np.testing.assert_array_equal(image, before)
    expected = np.asarray(getattr(TF, name)(Image.fromarray(image), *arguments, **theirs))
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", ["adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_sharpness"])
@settings(max_examples=150, deadline=None)
@given(image=images, factor=factors)
def test_blends(name: str, image: np.ndarray, factor: float) -> None:
    expect_equal(name, image, factor)


@settings(max_examples=150, deadline=None)
@given(image=images, factor=st.floats(-0.5, 0.5) | st.sampled_from([-0.5, 0.0, 0.5, 1 / 255, -1 / 255]))
def test_hue(image: np.ndarray, factor: float) -> None:
    expect_equal("adjust_hue", image, factor)


@pytest.mark.parametrize("name", ["invert", "autocontrast", "equalize", "hflip", "vflip"])
@settings(max_examples=120, deadline=None)
@given(image=images)
def test_without_arguments(name: str, image: np.ndarray) -> None:
    expect_equal(name, image)


@settings(max_examples=60, deadline=None)
@given(image=images)
def test_grayscale(image: np.ndarray) -> None:
    expect_equal("rgb_to_grayscale", image, 3)
    one = functional.rgb_to_grayscale(image, 1)
    np.testing.assert_array_equal(one[:, :, 0], np.asarray(TF.rgb_to_grayscale(Image.fromarray(image), 1)))


@settings(max_examples=60, deadline=None)
@given(image=images, bits=st.integers(1, 8))
def test_posterize(image: np.ndarray, bits: int) -> None:
    expect_equal("posterize", image, bits)


@settings(max_examples=100, deadline=None)
@given(image=images, threshold=st.one_of(st.integers(-2, 258), st.floats(-2, 258), st.just(math.nan)))
def test_solarize(image: np.ndarray, threshold: float) -> None:
    expect_equal("solarize", image, threshold)


def test_equalize_of_values_that_pass_the_end() -> None:
    """A histogram whose steps leave so much over that the table would end beyond 255."""
    for pixels in range(255, 1200, 7):
        values = np.minimum(np.arange(pixels), 255).astype(np.uint8)
        expect_equal("equalize", np.repeat(values, 3).reshape(1, pixels, 3))


@settings(max_examples=400, deadline=None)
@given(
    image=images,
    angle=st.floats(-720, 720) | st.sampled_from([0, 90, 180, 270, 360, -90, 45, 1e-20, -1e-20, 5e-324, 1e15]),
    mode=modes,
    fill=fills,
)
def test_rotate(image: np.ndarray, angle: float, mode: str, fill: Any) -> None:
    expect_equal("rotate", image, angle, interpolation=mode, fill=fill)


@settings(max_examples=400, deadline=None)
@given(
    image=images,
    angle=st.floats(-180, 180) | st.sampled_from([0, 90, -90, 180]),
    translate=st.tuples(*[st.integers(-100, 100) | st.floats(-60, 60) | st.sampled_from([0, 10**6])] * 2),
    scale=st.floats(0.05, 8) | st.sampled_from([1, 1e-3, 1e-6, 1e4]),
    shear=st.one_of(st.floats(-80, 80), st.just(0.0), st.tuples(*[st.floats(-89, 89)] * 2), st.just([3.0])),
    mode=modes,
    fill=fills,
    center=st.none() | st.tuples(st.integers(-5, 100), st.floats(-5, 100)),
)
def test_affine(
    image: np.ndarray, angle: float, translate: Any, scale: float, shear: Any, mode: str, fill: Any, center: Any
) -> None:
    expect_equal("affine", image, angle, translate, scale, shear, interpolation=mode, fill=fill, center=center)


@settings(max_examples=200, deadline=None)
@given(
    image=images,
    matrix=st.tuples(
        *[st.floats(-3, 3) | st.integers(-2, 2) | st.just(0.0)] * 2,
        st.floats(-40000, 40000) | st.floats(-90, 90),
        *[st.floats(-3, 3) | st.integers(-2, 2) | st.just(0.0)] * 2,
        st.floats(-40000, 40000) | st.floats(-90, 90),
    ),
    mode=modes,
    fill=st.tuples(*[st.integers(0, 255)] * 3),
)
def test_any_matrix(image: np.ndarray, matrix: Any, mode: str, fill: tuple[int, int, int]) -> None:
    """Pillow's transform itself: matrices that torchvision doesn't make, on all of its ways."""
    height, width = image.shape[:2]
    expected = Image.fromarray(image).transform(
        (width, height), Image.Transform.AFFINE, matrix, Image.Resampling[mode], fillcolor=fill
    )
    actual = _core.apply_image_ops(image, [("affine", matrix, mode.lower(), fill)])
    np.testing.assert_array_equal(actual, np.asarray(expected))


@settings(max_examples=500, deadline=None)
@given(
    center=st.tuples(*[st.floats(-1e4, 1e4)] * 2),
    angle=st.floats(-720, 720) | st.sampled_from([0.0, 90.0]),
    translate=st.tuples(*[st.floats(-1e4, 1e4)] * 2),
    scale=st.floats(1e-3, 1e3),
    shear=st.tuples(*[st.floats(-90, 90) | st.just(0.0)] * 2),
)
def test_inverse_affine_matrix(center: Any, angle: float, translate: Any, scale: float, shear: Any) -> None:
    expected = TF._get_inverse_affine_matrix(list(center), angle, list(translate), scale, list(shear))
    actual = _core.inverse_affine_matrix(center, angle, translate, scale, shear)
    assert [number.hex() for number in actual] == [number.hex() for number in expected]


# The numbers that the automatic augmentations use, on images of the usual size.


def ours(op: str, magnitude: float) -> tuple[Any, ...] | None:
    """What torchvision's ``_apply_op`` calls, as the arguments of a function of ours."""
    degrees = math.degrees(math.atan(magnitude)) if op.startswith("Shear") else 0.0
    calls: dict[str, tuple[Any, ...]] = {
        "ShearX": ("affine", 0.0, [0, 0], 1.0, [degrees, 0.0]),
        "ShearY": ("affine", 0.0, [0, 0], 1.0, [0.0, degrees]),
        "TranslateX": ("affine", 0.0, [int(magnitude), 0], 1.0, [0.0, 0.0]),
        "TranslateY": ("affine", 0.0, [0, int(magnitude)], 1.0, [0.0, 0.0]),
        "Rotate": ("rotate", magnitude),
        "Brightness": ("adjust_brightness", 1.0 + magnitude),
        "Color": ("adjust_saturation", 1.0 + magnitude),
        "Contrast": ("adjust_contrast", 1.0 + magnitude),
        "Sharpness": ("adjust_sharpness", 1.0 + magnitude),
        "Posterize": ("posterize", int(magnitude)),
        "Solarize": ("solarize", magnitude),
        "AutoContrast": ("autocontrast",),
        "Equalize": ("equalize",),
    }
    return calls.get(op)


RANGES = {
    "RandAugment": RandAugment()._augmentation_space(31, (224, 224)),
    "TrivialAugmentWide": TrivialAugmentWide()._augmentation_space(31),
}


@pytest.mark.parametrize("policy", sorted(RANGES))
@pytest.mark.parametrize("op", [op for op in RANGES["RandAugment"] if op != "Identity"])
def test_every_bin_of(policy: str, op: str) -> None:
    image = picture(224, 224, "photograph", 7)
    pil = Image.fromarray(image)
    magnitudes, signed = RANGES[policy][op]
    values = [float(value) for value in magnitudes.reshape(-1)]
    for magnitude in values + [-value for value in values if signed]:
        call = ours(op, magnitude)
        assert call is not None
        warps = call[0] in ("affine", "rotate")
        for mode in NAMES if warps else NAMES[:1]:
            expected = np.asarray(_apply_op(pil, op, magnitude, TVMode[mode], [1, 2, 3]))
            keywords: dict[str, Any] = {"interpolation": mode.lower(), "fill": [1, 2, 3]} if warps else {}
            if op.startswith("Shear"):
                keywords["center"] = [0, 0]
            actual = getattr(functional, call[0])(image, *call[1:], **keywords)
            np.testing.assert_array_equal(actual, expected, err_msg=f"{op} {magnitude} {mode}")


# What goes wrong.

RGB = np.zeros((4, 5, 3), np.uint8)


@pytest.mark.parametrize(
    ("image", "error"),
    [
        ([[1, 2, 3]], TypeError),
        (None, TypeError),
        (RGB.astype(np.float32), ValueError),
        (RGB[:, :, 0], ValueError),
        (RGB[:, :, :1], ValueError),
        (RGB[:0], ValueError),
        (RGB[None], ValueError),
    ],
)
@pytest.mark.parametrize("name", ["invert", "equalize", "hflip", "vflip", "rgb_to_grayscale"])
def test_refuses_what_is_no_image(name: str, image: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"uint8 array \(height, width, 3\)"):
        getattr(functional, name)(image)


@pytest.mark.parametrize("view", [RGB[::2], RGB[:, ::-1], RGB.transpose(1, 0, 2), RGB[1:, 1:]])
def test_takes_views_in_python_only(view: np.ndarray) -> None:
    assert functional.invert(view).shape == view.shape
    assert functional.invert(view).all()
    with pytest.raises(ValueError, match="ascontiguousarray"):
        _core.apply_image_ops(view, [])


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("adjust_hue", (0.51,), {}),
        ("adjust_hue", (math.nan,), {}),
        ("adjust_brightness", ("1",), {}),
        ("adjust_sharpness", (None,), {}),
        ("solarize", ("1",), {}),
        ("posterize", (0,), {}),
        ("posterize", (9,), {}),
        ("posterize", (4.0,), {}),
        ("rgb_to_grayscale", (2,), {}),
        ("rotate", ("1",), {}),
        ("rotate", (1.0,), {"interpolation": None}),
        ("rotate", (1.0,), {"interpolation": 4}),
        ("rotate", (1.0,), {"fill": [1, 2]}),
        ("affine", ("1", [0, 0], 1.0, 0.0), {}),
        ("affine", (math.inf, [0, 0], 1.0, 0.0), {}),
        ("affine", (1.0, 1, 1.0, 0.0), {}),
        ("affine", (1.0, [0], 1.0, 0.0), {}),
        ("affine", (1.0, [0, 0], 0.0, 0.0), {}),
        ("affine", (1.0, [0, 0], 1.0, "x"), {}),
        ("affine", (1.0, [0, 0], 1.0, [1, 2, 3]), {}),
        ("affine", (1.0, [0, 0], 1.0, 0.0), {"center": 5}),
        ("affine", (1.0, [0, 0], 1.0, 0.0), {"interpolation": 1}),
    ],
)
def test_refuses_what_torchvision_refuses(name: str, arguments: Any, keywords: Any) -> None:
    try:
        getattr(TF, name)(Image.fromarray(RGB), *arguments, **keywords)
    except (TypeError, ValueError) as error:
        theirs: Any = type(error)
    else:
        assert name == "posterize", "up to Pillow 12.3 it takes any number of bits"
        theirs = (TypeError, ValueError)
    with pytest.raises(theirs):
        getattr(functional, name)(RGB, *arguments, **keywords)


@pytest.mark.parametrize(
    ("name", "arguments", "keywords", "message"),
    [
        ("rotate", (1.0,), {"expand": True}, "expand"),
        ("rotate", (1.0,), {"center": (1, 1)}, "center"),
        ("rotate", (math.nan,), {}, "finite"),
        ("affine", (1.0, [0, math.nan], 1.0, 0.0), {}, "finite"),
    ],
)
def test_says_what_is_not_there(name: str, arguments: Any, keywords: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(functional, name)(RGB, *arguments, **keywords)


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ([()], "begins with its name"),
        ([("sharpen",)], "no operation 'sharpen'"),
        ([("invert", 1)], "wrong number of arguments"),
        ([("adjust_hue", 2.0)], "-0.5 to 0.5"),
        ([("posterize", 9)], "0 to 8"),
        ([("rotate", math.inf, "nearest", (0, 0, 0))], "finite"),
        ([("rotate", 1.0, "box", (0, 0, 0))], "nearest, bilinear, bicubic"),
    ],
)
def test_native_operations_are_checked(ops: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.apply_image_ops(RGB, ops)
