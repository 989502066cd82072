"""decode_image and transforms.functional: one image at a time."""

from __future__ import annotations

import io
import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms import functional as F

import pyfastdl
from pyfastdl.transforms.functional import resized_crop


def picture(height=40, width=60, seed=0):
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (5, 6, 3), dtype=np.uint8))
    return coarse.resize((width, height), Image.Resampling.BICUBIC)


def encoded(format, **options):
    file = io.BytesIO()
    picture().save(file, format, **options)
    return file.getvalue()


@pytest.mark.parametrize("format", ["jpeg", "png", "webp", "bmp", "gif", "tiff", "ppm"])
def test_every_kind_of_source_decodes_as_pillow(tmp_path, format):
    data = encoded(format)
    path = tmp_path / f"x.{format}"
    path.write_bytes(data)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    for source in (data, bytearray(data), memoryview(data), str(path), path):
        pixels = pyfastdl.decode_image(source)
        assert pixels.dtype == np.uint8
        assert np.array_equal(pixels, expected)


def test_what_is_no_image_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        pyfastdl.decode_image(tmp_path / "none.jpg")
    with pytest.raises(TypeError, match="encoded bytes, got int"):
        pyfastdl.decode_image(3)
    page = tmp_path / "page.jpg"
    page.write_text("<!DOCTYPE html><html><body>404 not found</body></html>")
    with pytest.raises(pyfastdl.SampleError, match="HTML") as caught:
        pyfastdl.decode_image(page)
    assert caught.value.path == str(page)
    with pytest.raises(pyfastdl.SampleError, match="truncated"):
        pyfastdl.decode_image(encoded("jpeg")[:-300])
    for data in (b"", b"\xff"):
        with pytest.raises(pyfastdl.SampleError):
            pyfastdl.decode_image(data)


BOXES = st.tuples(st.integers(-20, 50), st.integers(-20, 70), st.integers(1, 60), st.integers(1, 80))


@settings(max_examples=150, deadline=None)
@given(
    box=BOXES,
    size=st.one_of(st.integers(1, 50), st.tuples(st.integers(1, 50), st.integers(1, 50))),
    kind=st.sampled_from(["jpeg", "png", "gif", "array"]),
    filter_name=st.sampled_from(["bilinear", "bicubic", "box", "lanczos"]),
)
def test_resized_crop_equals_torchvision(box, size, kind, filter_name):
    source = np.asarray(picture()) if kind == "array" else encoded(kind)
    image = picture() if kind == "array" else Image.open(io.BytesIO(source)).convert("RGB")
    shape = [size] if isinstance(size, int) else list(size)
    mode = __import__("torchvision").transforms.InterpolationMode(filter_name)
    expected = np.asarray(F.resized_crop(image, *box, shape, mode))
    assert np.array_equal(resized_crop(source, *box, size, filter_name), expected)


def test_resized_crop_takes_paths_and_refuses_the_rest(tmp_path):
    path = tmp_path / "x.jpg"
    path.write_bytes(encoded("jpeg"))
    expected = resized_crop(path.read_bytes(), 3, 4, 20, 30, (10, 12))
    assert expected.shape == (10, 12, 3)
    assert np.array_equal(resized_crop(str(path), 3, 4, 20, 30, (10, 12)), expected)
    assert np.array_equal(resized_crop(pathlib.Path(path), 3, 4, 20, 30, (10, 12)), expected)
    rgb = np.asarray(picture())
    for wrong, error in [
        (lambda: resized_crop(rgb.astype(np.float32), 0, 0, 5, 5, 5), ValueError),
        (lambda: resized_crop(rgb[..., 0], 0, 0, 5, 5, 5), ValueError),
        (lambda: resized_crop(rgb, 0, 0, 0, 5, 5), ValueError),
        (lambda: resized_crop(rgb, 0, 0, 5, 5, 0), ValueError),
        (lambda: resized_crop(rgb, 0, 0, 5, 5, 5, "nearest"), ValueError),
    ]:
        with pytest.raises(error):
            wrong()


def test_build_info_names_what_matters():
    import PIL

    info = pyfastdl.build_info()
    assert info["pillow"] == PIL.__version__
    assert info["pillow_pass_order"] in ("horizontal_first", "tall_vertical_first", "shrink_vertical_first")
    assert info["granted_cpus"] >= 1
    assert info["simd"]
    assert {"libjpeg-turbo", "libpng", "libwebp"} <= set(info["codecs"])
