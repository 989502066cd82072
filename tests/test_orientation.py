"""EXIF orientation: case F6. The default ignores it; the option equals Pillow's ImageOps.exif_transpose."""

from __future__ import annotations

import io
import struct
import warnings
import zlib

import numpy as np
import pytest
import torch
from encoded_images import chunk, encoded, picture
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

import pyfastdl
from pyfastdl import _core, fallback
from pyfastdl import transforms as T
from pyfastdl.transforms.functional import resized_crop

# Broken metadata make Pillow warn; Pillow is the reference here.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ORIENTATION = 0x0112


def stored(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def turned(data):
    """What exif_transpose gives; None where it fails."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except Exception:
        return None


def ifd(entries, *, endian="<", header=None, first=8, behind=b"", count=None):
    """A TIFF structure. Entries are (tag, type, count, four bytes of value or offset)."""
    head = header if header is not None else (b"II*\0" if endian == "<" else b"MM\0*")
    body = struct.pack(endian + "H", len(entries) if count is None else count)
    for tag, kind, number, value in entries:
        body += struct.pack(endian + "HHL", tag, kind, number) + value
    return head + struct.pack(endian + "L", first) + body + struct.pack(endian + "L", 0) + behind


def short(value, endian="<"):
    return (ORIENTATION, 3, 1, struct.pack(endian + "HH", value, 0))


def xmp(value):
    return b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>' % value


def segment(marker, payload):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(payload) + 2) + payload


def jpeg_with(*segments, pixels=None):
    data = encoded(picture(31, 46) if pixels is None else pixels, "JPEG", quality=90)
    return data[:2] + b"".join(segments) + data[2:]


def jpeg_exif(exif):
    return jpeg_with(segment(0xE1, b"Exif\0\0" + exif))


def png_with(*chunks, behind=b""):
    data = encoded(picture(31, 46), "PNG")
    ihdr, end = 33, data.index(b"IEND") - 4
    return data[:ihdr] + b"".join(chunks) + data[ihdr:end] + behind + data[end:]


def webp_with(**options):
    return encoded(picture(31, 46), "WEBP", lossless=True, **options)


MAKERS = {
    "jpeg": jpeg_exif,
    "png": lambda exif: png_with(chunk(b"eXIf", exif)),
    "png behind": lambda exif: png_with(behind=chunk(b"eXIf", exif)),
    "webp": lambda exif: webp_with(exif=exif),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("endian", "<>")
@pytest.mark.parametrize("orientation", range(10))
def test_each_orientation_in_each_format(maker, endian, orientation):
    data = MAKERS[maker](ifd([short(orientation, endian)], endian=endian))
    assert np.array_equal(pyfastdl.decode_image(data), stored(data))
    native = _core.decode(data, apply_exif_orientation=True)
    assert native is not None  # by the core itself
    assert np.array_equal(native, turned(data))
    assert np.array_equal(pyfastdl.decode_image(data, apply_exif_orientation=True), turned(data))
    assert native.shape == ((46, 31, 3) if 5 <= orientation <= 8 else (31, 46, 3))


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (16, 48), (50, 33)])
@pytest.mark.parametrize("orientation", range(2, 9))
def test_odd_sizes_and_random_regions(size, orientation):
    exif = b"Exif\0\0" + ifd([short(orientation)])
    for data in (
        jpeg_with(segment(0xE1, exif), pixels=picture(*size)),
        encoded(picture(*size), "JPEG", progressive=True, exif=exif),
        encoded(picture(*size), "PNG", exif=exif),
        encoded(picture(*size), "WEBP", exif=exif),
    ):
        whole = turned(data)
        height, width, _ = whole.shape
        assert np.array_equal(pyfastdl.decode_image(data, apply_exif_orientation=True), whole)
        rng = np.random.default_rng(orientation)
        for _ in range(5):
            h, w = int(rng.integers(1, height + 1)), int(rng.integers(1, width + 1))
            top, left = int(rng.integers(0, height - h + 1)), int(rng.integers(0, width - w + 1))
            part = _core.decode_region(data, top, left, h, w, apply_exif_orientation=True)
            assert np.array_equal(part, whole[top : top + h, left : left + w])
            box = (top, left, h, w, (7, 5))
            assert np.array_equal(resized_crop(data, *box, apply_exif_orientation=True), resized_crop(whole, *box))


def raw_profile(exif):
    data = b"Exif\0\0" + exif
    return b"\nexif\n" + f"{len(data):8}\n".encode() + data.hex().encode() + b"\n"


EXIF6, EXIF3 = ifd([short(6)]), ifd([short(3)])
NO_TAG = ifd([(0x010F, 2, 3, b"ab\0\0")])
XMP_KEY = b"XML:com.adobe.xmp"
ELSEWHERE = {
    "jpeg xmp": jpeg_with(segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(6))),
    "jpeg xmp element": jpeg_with(
        segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0 tiff:Orientation=x <tiff:Orientation>8</tiff:Orientation>")
    ),
    "jpeg exif before xmp": jpeg_with(
        segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(6)), segment(0xE1, b"Exif\0\0" + EXIF3)
    ),
    "jpeg exif without the tag, xmp": jpeg_with(
        segment(0xE1, b"Exif\0\0" + NO_TAG), segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(6))
    ),
    "jpeg two exif": jpeg_with(segment(0xE1, b"Exif\0\0" + EXIF6[:12]), segment(0xE1, b"Exif\0\0" + EXIF6[12:])),
    "jpeg exif behind the scan": encoded(picture(31, 46), "JPEG")[:-2]
    + segment(0xE1, b"Exif\0\0" + EXIF6)
    + b"\xff\xd9",
    "jpeg doubled prefix": jpeg_with(segment(0xE1, b"Exif\0\0Exif\0\0" + EXIF6)),
    "jpeg empty exif": jpeg_with(segment(0xE1, b"Exif\0\0"), segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(6))),
    "png raw profile": png_with(chunk(b"tEXt", b"Raw profile type exif\0" + raw_profile(EXIF6))),
    "png compressed raw profile": png_with(
        chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(raw_profile(EXIF6)))
    ),
    "png xmp": png_with(chunk(b"iTXt", XMP_KEY + b"\0\0\0\0\0" + xmp(5))),
    "png xmp behind": png_with(behind=chunk(b"iTXt", XMP_KEY + b"\0\0\0\0\0" + xmp(5))),
    "png eXIf before text": png_with(chunk(b"iTXt", XMP_KEY + b"\0\0\0\0\0" + xmp(5)), chunk(b"eXIf", EXIF6)),
    "png two eXIf": png_with(chunk(b"eXIf", EXIF6), behind=chunk(b"eXIf", EXIF3)),
    "png text exif": png_with(chunk(b"tEXt", b"exif\0Exif\0\0" + EXIF6)),
    "png other text": png_with(chunk(b"tEXt", b"Comment\0tiff:Orientation=\"6\"")),
    "webp xmp": webp_with(xmp=xmp(7)),
    "webp both": webp_with(xmp=xmp(7), exif=EXIF6),
    "webp nothing": webp_with(),
    "tiff": encoded(picture(31, 46), "TIFF", tiffinfo={ORIENTATION: 6}),
    "tiff none": encoded(picture(31, 46), "TIFF"),
    "gif": encoded(picture(31, 46, 1), "GIF"),
    "cmyk": jpeg_with(segment(0xE1, b"Exif\0\0" + EXIF6), pixels=picture(31, 46, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
def test_where_else_pillow_looks(name):
    data = ELSEWHERE[name]
    expected = turned(data)
    assert expected is not None
    assert np.array_equal(pyfastdl.decode_image(data, apply_exif_orientation=True), expected)
    assert np.array_equal(pyfastdl.decode_image(data), stored(data))


ENTRY = st.tuples(
    st.sampled_from([ORIENTATION, ORIENTATION, 0x010F, 0x011A, 0x8769, 0x0100]),
    st.integers(0, 18),
    st.one_of(st.integers(0, 3), st.integers(0, 2**32 - 1)),
    st.one_of(
        st.integers(0, 12).map(lambda n: struct.pack("<L", n)),
        st.integers(0, 12).map(lambda n: struct.pack(">L", n)),
        st.integers(0, 9).map(lambda n: struct.pack(">HH", n, 0)),
        st.integers(0, 90).map(lambda n: struct.pack("<L", n)),
        st.integers(0, 90).map(lambda n: struct.pack(">L", n)),
        st.binary(min_size=4, max_size=4),
    ),
)
ENDIAN = st.sampled_from("<>")
BEHIND = st.one_of(
    st.binary(max_size=24),
    st.builds(lambda e, kind, n: struct.pack(e + kind, n) * 3, ENDIAN, st.sampled_from("fd"), st.integers(-1, 9)),
    st.builds(lambda e, a, b: struct.pack(e + "ll", a, b), ENDIAN, st.integers(-12, 12), st.integers(-2, 2)),
)
EXIF = st.one_of(
    st.binary(max_size=40),
    st.builds(
        lambda entries, endian, header, first, behind, count, cut: ifd(
            entries, endian=endian, header=header, first=first, behind=behind, count=count
        )[: cut or None],
        st.lists(ENTRY, max_size=4),
        st.sampled_from("<>"),
        st.sampled_from([None, None, None, b"MM*\0", b"II\0*", b"MM\0+", b"II+\0", b"XX*\0"]),
        st.sampled_from([8, 8, 8, 0, 9, 60, 2**32 - 1]),
        BEHIND,
        st.sampled_from([None, None, 0, 1, 65535]),
        st.sampled_from([0, 0, 0, -1, -5, 9, 15, 21]),
    ),
)


@settings(max_examples=400, deadline=None)
@given(exif=EXIF, maker=st.sampled_from(["jpeg", "png", "webp"]))
def test_broken_metadata_are_what_pillow_makes_of_them(exif, maker):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = MAKERS[maker](exif)
        expected = turned(data)
        found = pyfastdl.decode_image(data, apply_exif_orientation=True)
        if expected is not None:
            assert np.array_equal(found, expected)
        else:
            # Broken metadata never fail a file.
            assert np.array_equal(np.sort(found, axis=None), np.sort(stored(data), axis=None))


def test_a_value_of_any_number_type_counts():
    for kind, value in [
        (4, struct.pack("<L", 6)), (6, b"\6\0\0\0"), (8, struct.pack("<hh", 6, 0)), (9, struct.pack("<l", 6)),
        (11, struct.pack("<f", 6.0)), (13, struct.pack("<L", 6)), (1, b"\6\0\0\0"), (2, b"6\0\0\0"),
    ]:  # fmt: skip
        data = jpeg_exif(ifd([(ORIENTATION, kind, 1, value)]))
        assert np.array_equal(_core.decode(data, apply_exif_orientation=True), turned(data)), kind
    for kind, behind in [
        (5, struct.pack("<LL", 12, 2)), (5, struct.pack("<LL", 6, 0)), (10, struct.pack("<ll", -6, -1)),
        (12, struct.pack("<d", 6.0)), (12, struct.pack("<d", 6.5)), (16, struct.pack("<Q", 6)),
        (10, struct.pack("<ll", -(2**31), -1)), (12, struct.pack("<d", float("nan"))),
    ]:  # fmt: skip
        data = jpeg_exif(ifd([(ORIENTATION, kind, 1, struct.pack("<L", 26))], behind=behind))
        assert np.array_equal(_core.decode(data, apply_exif_orientation=True), turned(data)), (kind, behind)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data" / "a").mkdir(parents=True)
    for orientation in range(10):
        exif = ifd([short(orientation)])
        (tmp_path / "data" / "a" / f"{orientation}.jpg").write_bytes(jpeg_exif(exif))
    (tmp_path / "data" / "a" / "tiff.tif").write_bytes(ELSEWHERE["tiff"])
    (tmp_path / "data" / "a" / "raw.png").write_bytes(ELSEWHERE["png raw profile"])
    return tmp_path / "data"


@pytest.mark.parametrize("apply", [False, True])
def test_loaders_see_the_turned_image(folder, apply):
    """Its size too: the box of the crop is drawn on it."""
    transform = [T.RandomResizedCrop(12)]
    loader = pyfastdl.NativeLoader(
        folder, 4, transform=transform, dtype=torch.uint8, seed=3, apply_exif_orientation=apply, num_workers=2
    )
    images = torch.cat([images for images, _ in loader])
    for index, (path, _) in enumerate(loader.dataset.samples):
        with open(path, "rb") as file:
            data = file.read()
        pixels = (turned if apply else stored)(data)
        box = T.Compose(transform).sample(*pixels.shape[:2], seed=3, epoch=0, index=index)
        expected = resized_crop(pixels, box["top"], box["left"], box["height"], box["width"], (12, 12))
        assert np.array_equal(images[index].permute(1, 2, 0).numpy(), expected), path


@pytest.mark.parametrize("transform", [None, [T.Resize((9, 9))]])
def test_the_dataset_has_the_option(folder, transform):
    plain = pyfastdl.ImageFolder(folder, transform)
    dataset = pyfastdl.ImageFolder(folder, transform, apply_exif_orientation=True)
    six = dataset.classes.index("a") + 6
    expected = torch.from_numpy(turned(jpeg_exif(ifd([short(6)]))).copy())
    if transform is None:
        assert torch.equal((dataset[six][0] * 255).round().to(torch.uint8).permute(1, 2, 0), expected)
        assert plain[six][0].shape == (3, 31, 46)
    assert not torch.equal(dataset[3][0], plain[3][0])
    assert torch.equal(dataset[1][0], plain[1][0])


def test_without_a_fixed_size_the_first_image_is_measured_turned(folder):
    files = [str(folder / "a" / f"{i}.jpg") for i in (6, 5, 8)]
    (images,) = pyfastdl.NativeLoader(files, 3, apply_exif_orientation=True)
    assert images.shape == (3, 3, 46, 31)


@pytest.mark.parametrize("count", [2, 3, 20, 2**29])
@pytest.mark.parametrize("offset", [8, 60, 2**32 - 1])
@pytest.mark.parametrize("kind", [2, 3, 5, 14, 18])
def test_values_that_claim_too_much_before_the_tag(kind, count, offset):
    """Pillow's versions differ in what they then read of the two orientations: the installed one is asked."""
    entries = [(0x010F, kind, count, struct.pack("<L", offset)), short(6), short(3)]
    data = jpeg_exif(ifd(entries))
    expected = turned(data)
    if expected is None:  # it turned the pixels, and failed on writing the other tag anew
        expected = fallback.decode_rgb(data, apply_exif_orientation=True)
    assert np.array_equal(pyfastdl.decode_image(data, apply_exif_orientation=True), expected)
