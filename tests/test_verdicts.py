"""Where Pillow's verdict on a file, or the words for it, are easily got wrong."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from encoded_images import encoded, picture
from PIL import Image

import pyfastdl
from pyfastdl import _core
from pyfastdl.transforms.functional import resized_crop


def by_pillow(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_a_progressive_file_that_lacks_scans_is_left_to_pillow(tmp_path, channels, kept):
    """Versions of libjpeg smooth it in different ways."""
    data = encoded(picture(90, 130, channels), "JPEG", progressive=True, quality=40)
    scans = data.split(b"\xff\xda")
    assert len(scans) > kept + 1
    # Tables for the next scan may stand at the end of the last one kept: they do no harm.
    unfinished = b"\xff\xda".join(scans[: kept + 1]) + b"\xff\xd9"
    assert _core.decode(unfinished) is None
    assert np.array_equal(pyfastdl.decode_image(unfinished), by_pillow(unfinished))
    path = tmp_path / "x.jpg"
    path.write_bytes(unfinished)
    (images,) = pyfastdl.NativeLoader([str(path)], dtype=torch.uint8)
    assert np.array_equal(images[0].permute(1, 2, 0).numpy(), by_pillow(unfinished))
    whole = by_pillow(unfinished)
    assert np.array_equal(resized_crop(unfinished, 5, 6, 40, 50, (9, 8)), resized_crop(whole, 5, 6, 40, 50, (9, 8)))


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("code", [0x01, 0x02, 0x4F, 0xBF, 0xC8, 0xD0, 0xD8, 0xF0, 0xFD, 0xFF, 0x00])
def test_stray_markers_are_what_pillow_makes_of_them(channels, code):
    """libjpeg passes over TEM (FF 01), Pillow refuses the file."""
    data = encoded(picture(20, 30, channels), "JPEG")
    for at in (2, data.index(b"\xff\xdb"), data.index(b"\xff\xda")):
        strayed = data[:at] + bytes([0xFF, code]) + data[at:]
        try:
            expected = by_pillow(strayed)
        except Exception:
            with pytest.raises(pyfastdl.SampleError):
                pyfastdl.decode_image(strayed)
        else:
            assert np.array_equal(pyfastdl.decode_image(strayed), expected)


BROKEN = {
    "jpeg marker": (lambda: encoded(picture(20, 30), "JPEG").replace(b"\xff\xdb", b"\xff\x01\xff\xdb", 1), "marker"),
    "jpeg frame": (lambda: b"\xff\xd8\xff\xc0\0\x05\x08\0\0" + b"\xff" * 40, "broken JPEG|cut off"),
    "png chunk": (lambda: encoded(picture(20, 30), "PNG").replace(b"IHDR", b"IHDX", 1), "IHDX|IHDR"),
    "webp": (lambda: encoded(picture(20, 30), "WEBP")[:30], "cut off"),
    "gif": (lambda: b"GIF89a", "a GIF image.*header is broken"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_header_is_told_from_no_image(tmp_path, name):
    make, words = BROKEN[name]
    data = make()
    with pytest.raises(pyfastdl.SampleError, match=words) as alone:
        pyfastdl.decode_image(data)
    assert not alone.value.reason.endswith(" image")  # "wanted an image, got a JPEG image"
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(pyfastdl.SampleError, match=words) as loaded:
        list(pyfastdl.NativeLoader([str(path)], transform=[pyfastdl.transforms.Resize((8, 8))]))
    assert loaded.value.reason == alone.value.reason


def test_wrong_arguments_name_what_the_function_takes():
    with pytest.raises(TypeError, match=r"decode_image takes a path \(str or PathLike\) or encoded bytes, got ndarray"):
        pyfastdl.decode_image(np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(TypeError, match=r"resized_crop takes .*encoded bytes or a uint8 array, got int"):
        resized_crop(3, 0, 0, 4, 4, 4)


def test_a_file_that_fails_while_it_is_read_is_named():
    """The first page of a process's memory is never there: reading it is an I/O error of a regular file."""
    with pytest.raises(pyfastdl.SampleError, match="Input/output error") as caught:
        pyfastdl.decode_image("/proc/self/mem")
    assert caught.value.path == "/proc/self/mem"
