"""Decoding equals the installed Pillow's `Image.open(f).convert("RGB")`, bit by bit: whole images and regions."""

from __future__ import annotations

import io
import random
import struct
import warnings
import zlib

import numpy as np
import pytest
from encoded_images import chunk, encoded, jpegs, picture, pngs, webps
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pyfastdl import _core


def reference(data: bytes) -> np.ndarray | None:
    """Pillow's pixels; None where it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(io.BytesIO(data)) as image:
                return np.asarray(image.convert("RGB"))
        except Exception:  # Pillow raises half a dozen classes for bad files
            return None


def native(data: bytes, region: tuple[int, int, int, int] | None = None) -> np.ndarray | None:
    """The core's pixels; None where it refuses, or where Pillow is to decide (which then refuses as well)."""
    try:
        return _core.decode(data) if region is None else _core.decode_region(data, *region)
    except ValueError:
        return None


def random_region(rng: random.Random, height: int, width: int) -> tuple[int, int, int, int]:
    h, w = rng.randint(1, height), rng.randint(1, width)
    return rng.randint(0, height - h), rng.randint(0, width - w), h, w


def assert_exact(data: bytes, name: str, regions: int = 20) -> None:
    expected = reference(data)
    assert expected is not None, name
    got = _core.decode(data)
    assert got is not None, f"{name} was left to Pillow"
    np.testing.assert_array_equal(got, expected, err_msg=name)
    rng = random.Random(name)
    for _ in range(regions):
        top, left, height, width = random_region(rng, *expected.shape[:2])
        part = _core.decode_region(data, top, left, height, width)
        crop = expected[top : top + height, left : left + width]
        np.testing.assert_array_equal(part, crop, err_msg=f"{name} {top, left, height, width}")


@pytest.mark.parametrize("kind", [jpegs, pngs, webps], ids=["jpeg", "png", "webp"])
def test_generated_files_are_exact(kind):
    for name, data in kind().items():
        assert_exact(data, name)


@settings(max_examples=300, deadline=None)
@given(
    height=st.integers(1, 150),
    width=st.integers(1, 150),
    subsampling=st.integers(0, 2),
    progressive=st.booleans(),
    restarts=st.integers(0, 3),
    quality=st.integers(1, 100),
    data=st.data(),
)
def test_jpeg_regions_of_any_size_are_exact(height, width, subsampling, progressive, restarts, quality, data):
    file = encoded(
        picture(height, width),
        "JPEG",
        subsampling=subsampling,
        progressive=progressive,
        restart_marker_blocks=restarts,
        quality=quality,
    )
    top, left = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    h, w = data.draw(st.integers(1, height - top)), data.draw(st.integers(1, width - left))
    expected = reference(file)
    np.testing.assert_array_equal(_core.decode(file), expected)
    np.testing.assert_array_equal(_core.decode_region(file, top, left, h, w), expected[top : top + h, left : left + w])


@settings(max_examples=100, deadline=None)
@given(
    height=st.integers(1, 90),
    width=st.integers(1, 90),
    kind=st.sampled_from(["PNG", "WEBP"]),
    channels=st.sampled_from([1, 3, 4]),
    lossless=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_png_and_webp_of_any_size_are_exact(height, width, kind, channels, lossless, seed):
    options = {"lossless": lossless} if kind == "WEBP" else {}
    assert_exact(encoded(picture(height, width, channels), kind, **options), f"{kind} {seed}", regions=5)


SCENES = {
    "grain": lambda rng, h, w: picture(h, w),
    "noise": lambda rng, h, w: rng.integers(0, 256, (h, w, 3), dtype=np.uint8),
    "black and white": lambda rng, h, w: np.repeat(rng.integers(0, 2, (h, w, 1), dtype=np.uint8) * 255, 3, axis=2),
    "one colour": lambda rng, h, w: np.full((h, w, 3), rng.integers(0, 256, 3), np.uint8),
}


# What our own JPEG decoder takes on (with what it leaves to libjpeg in between: insane coefficients, narrow images).
@settings(max_examples=300, deadline=None)
@given(
    height=st.integers(1, 80),
    width=st.integers(1, 80),
    scene=st.sampled_from(sorted(SCENES)),
    gray=st.booleans(),
    optimize=st.booleans(),
    restart_blocks=st.integers(0, 9),
    subsampling=st.integers(0, 2),
    tables=st.one_of(st.integers(1, 100), st.lists(st.sampled_from([1, 2, 30, 255, 900]), min_size=64, max_size=64)),
    seed=st.integers(0, 2**32),
)
def test_baseline_jpegs_of_any_kind_are_exact(
    height, width, scene, gray, optimize, restart_blocks, subsampling, tables, seed
):
    pixels = SCENES[scene](np.random.default_rng(seed), height, width)
    options = {"quality": tables} if isinstance(tables, int) else {"qtables": [tables, tables[::-1]]}
    if not gray:
        options["subsampling"] = subsampling
    data = encoded(
        np.ascontiguousarray(pixels[..., 0]) if gray else pixels,
        "JPEG",
        optimize=optimize,
        restart_marker_blocks=restart_blocks,
        **options,
    )
    assert_exact(data, f"{height} x {width} {scene} {seed}", regions=5)


def some_cuts(data: bytes) -> list[int]:
    """All positions near the ends, in the header and at even distances between."""
    n = len(data)
    return sorted({*range(min(n, 80)), *range(0, n, max(1, n // 60)), *range(max(0, n - 50), n + 1)})


@pytest.mark.parametrize("junk", [b"", b"junk junk"], ids=["cut", "cut and junk"])
def test_cut_jpegs_are_decided_as_pillow_decides(junk):
    rng = random.Random(1)
    refused = 0
    for name, data in jpegs().items():
        if not name.startswith("33x17"):
            continue
        for cut in some_cuts(data):
            part = data[:cut] + junk
            expected = reference(part)
            refused += expected is None
            got = native(part)
            assert (got is None) == (expected is None), f"{name} cut at {cut} of {len(data)}"
            region = top, left, h, w = random_region(rng, 33, 17)
            got_region = native(part, region)
            assert (got_region is None) == (expected is None), f"{name} cut at {cut} of {len(data)}, {region}"
            if expected is not None:
                np.testing.assert_array_equal(got, expected)
                np.testing.assert_array_equal(got_region, expected[top : top + h, left : left + w])
    assert refused > 100


@pytest.mark.parametrize("kind", [pngs, webps], ids=["png", "webp"])
def test_cut_pngs_and_webps_are_decided_as_pillow_decides(kind):
    rng = random.Random(2)
    refused = 0
    for name, data in kind().items():
        if not name.startswith(("17x33", "text")):
            continue
        for cut in some_cuts(data):
            expected = reference(data[:cut])
            refused += expected is None
            got = native(data[:cut])
            got_region = native(data[:cut], random_region(rng, 17, 33))
            assert (got is None) == (expected is None), f"{name} cut at {cut} of {len(data)}"
            assert (got_region is None) == (expected is None), f"{name} cut at {cut} of {len(data)}"
            if expected is not None:
                np.testing.assert_array_equal(got, expected)
    assert refused > 100


def test_first_frame_of_an_apng():
    frames = [Image.fromarray(picture(20, 30)), Image.fromarray(255 - picture(20, 30))]
    for default_image in (False, True):
        file = io.BytesIO()
        frames[0].save(file, "PNG", save_all=True, append_images=frames[1:], default_image=default_image)
        assert_exact(file.getvalue(), f"APNG default_image={default_image}")


def test_broken_metadata_never_fails_a_file():
    jpeg = encoded(picture(30, 40), "JPEG")
    for body in (b"Exif\0\0", b"Exif\0\0MM\0*\xff\xff\xff\xff", b"\0" * 300, b"http://ns.adobe.com/xap/1.0/\0<"):
        marked = jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]
        assert_exact(marked, repr(body), regions=2)


@pytest.mark.parametrize("orientation", [0, 1, 3, 6, 8, 9])
def test_exif_orientation_is_ignored(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    for kind in ("JPEG", "PNG", "WEBP"):
        assert_exact(encoded(picture(20, 31), kind, exif=exif.tobytes()), f"{kind} {orientation}", regions=2)


def test_what_is_left_to_pillow():
    pixels = picture(20, 30)
    for kind in ("GIF", "BMP", "TIFF", "PPM"):
        assert _core.decode(encoded(pixels, kind)) is None
        assert _core.sniff(encoded(pixels, kind)) == "other"
    animation = io.BytesIO()
    Image.fromarray(pixels).save(animation, "WEBP", save_all=True, append_images=[Image.fromarray(255 - pixels)])
    assert _core.decode(animation.getvalue()) is None
    assert _core.decode_region(animation.getvalue(), 0, 0, 1, 1) is None


def test_names_for_errors():
    assert _core.sniff(encoded(picture(3, 3), "PNG")) == "png"
    assert _core.sniff(memoryview(encoded(picture(3, 3), "JPEG"))) == "jpeg"
    assert _core.sniff(bytearray(encoded(picture(3, 3), "WEBP"))) == "webp"
    assert _core.describe(b"") == "an empty file"
    assert _core.describe(b"<!DOCTYPE html><html>") == "an HTML page"
    assert {"libjpeg-turbo", "libpng", "libwebp"} == set(_core.codec_versions())


def test_limits_are_checked_before_anything_is_allocated():
    # The header of CASES F4: 118 bytes or so that claim four billion pixels.
    jpeg = bytearray(encoded(picture(8, 8), "JPEG"))
    at = jpeg.index(b"\xff\xc0")
    jpeg[at + 5 : at + 9] = struct.pack(">HH", 65284, 62994)
    with pytest.raises(ValueError, match=r"65284 x 62994 = 4112500296 pixels, more than the limit of 178956970"):
        _core.decode(bytes(jpeg))
    huge = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0))
    huge += chunk(b"IDAT", zlib.compress(bytes(1000)))
    with pytest.raises(ValueError, match="30000 x 30000"):
        _core.decode(huge)
    small = encoded(picture(10, 10), "PNG")
    assert _core.decode(small, max_pixels=100) is not None
    with pytest.raises(ValueError, match="limit of 99"):
        _core.decode(small, max_pixels=99)


def test_wrong_arguments_are_named():
    data = encoded(picture(10, 12), "JPEG")
    for region in [(0, 0, 0, 1), (0, 0, 11, 1), (-1, 0, 2, 2), (0, 12, 1, 1), (2**31 - 1, 0, 2**31 - 1, 1)]:
        with pytest.raises(ValueError, match=r"10 x 12 pixels"):
            _core.decode_region(data, *region)
    with pytest.raises(TypeError, match="wanted the bytes of an image"):
        _core.decode("picture.jpg")
    with pytest.raises(TypeError, match="contiguous"):
        _core.decode(memoryview(data)[::2])


def test_damaged_files_never_crash_and_regions_agree():
    rng = random.Random(4)
    files = [data for kind in (jpegs, pngs, webps) for name, data in kind().items() if len(data) < 3000]
    decoded = 0
    for _ in range(4000):
        data = bytearray(rng.choice(files))
        for _ in range(rng.choice([1, 1, 2, 5])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            whole = _core.decode(bytes(data), max_pixels=1 << 20)
        except ValueError:
            continue
        if whole is None:
            continue
        decoded += 1
        top, left, h, w = random_region(rng, *whole.shape[:2])
        part = _core.decode_region(bytes(data), top, left, h, w)
        np.testing.assert_array_equal(part, whole[top : top + h, left : left + w])
    assert decoded > 500
