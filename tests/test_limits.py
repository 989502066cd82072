"""Limits before memory is taken. Cases F4 and F5, and what happens when memory runs out."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
import torch
from encoded_images import chunk, encoded, picture, png
from loaders import resident
from PIL import Image

import pyfastdl
from pyfastdl import _core, fallback
from pyfastdl import transforms as T

SMALL = [T.CenterCrop(16)]
CLAIM = "ff04f612"  # 65,284 x 62,994, as a frame header has it


def claiming(frame="ffc0"):
    """118 bytes whose header claims 4.1 billion pixels."""
    head = bytes.fromhex(f"ffd8{frame}001108{CLAIM}03012200021101031101")
    scan = bytes.fromhex("ffda000c03010002110311003f00")
    return (head + scan).ljust(118, b"\0")


def many_scans(scans=2000):
    """A progressive file whose last scan comes again and again."""
    data = encoded(picture(24, 24), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:-2] + data[last:-2] * scans + b"\xff\xd9"


def one_colour_png(side=30_000, interlaced=False):
    row_bytes = (side + 7) // 8
    deflate = zlib.compressobj(9)
    row = b"\0" + b"\xff" * row_bytes
    data = b"".join(deflate.compress(row) for _ in range(side)) + deflate.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The files of case F4, and one good one."""
    folder = tmp_path_factory.mktemp("hostile")
    files = {
        "claim.jpg": claiming(),
        "progressive_claim.jpg": claiming("ffc2"),
        "scans.jpg": many_scans(),
        "huge.png": one_colour_png(),
        "interlaced.png": one_colour_png(200, interlaced=True).replace(
            struct.pack(">II", 200, 200), struct.pack(">II", 30_000, 30_000)
        ),
        "good.png": encoded(picture(30, 40), "PNG"),
    }
    # The header of the interlaced one was changed: its checksum too.
    data = files["interlaced.png"]
    files["interlaced.png"] = data[:29] + struct.pack(">I", zlib.crc32(data[12:29])) + data[33:]
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


BY_DEFAULT = {
    "claim.jpg": "pixels",
    "progressive_claim.jpg": "pixels",
    "scans.jpg": "2000 scans|500 scans",
    "huge.png": "pixels",
    "interlaced.png": "pixels",
}


@pytest.mark.parametrize("name", BY_DEFAULT)
def test_by_default_it_is_refused_before_memory_is_taken(hostile, name):
    path = str(hostile / name)
    loader = pyfastdl.NativeLoader([path], transform=SMALL)
    with pytest.raises(pyfastdl.SampleError, match=BY_DEFAULT[name]) as caught:
        list(loader)
    assert caught.value.path == path
    assert loader.stats().peak_memory == 0 or name == "scans.jpg"


PEAK = """
def start_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # proc(5): the peak begins anew
    return peak()

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))
"""

EIGHT = (
    PEAK
    + """
import sys
import torch, pyfastdl
from pyfastdl import transforms as T

names = ["claim.jpg", "progressive_claim.jpg", "scans.jpg", "huge.png", "interlaced.png"]
files = [f"{sys.argv[1]}/{name}" for name in [*names, *names[2:4], "good.png"]]
small = [T.CenterCrop(16)]
list(pyfastdl.NativeLoader([files[-1]], transform=small))
for limits in {}, dict(max_pixels=2**40, max_scans=10**6, max_memory=2**30):
    before = start_peak()
    loader = pyfastdl.NativeLoader(
        files, 8, transform=small, dtype=torch.uint8, on_error="skip", return_index=True, num_workers=8, **limits)
    print([index.tolist() for _, index in loader], sorted(error.index for error in loader.errors))
    assert peak() - before < 300 << 20
    assert loader.stats().peak_memory <= 1 << 30
"""
)


def test_eight_of_them_in_one_batch(hostile, run_python):
    """By default they are refused. With limits raised, what can be decoded is, in little memory: the files that stream,
    whatever their size. What must be held whole and is too large, or is cut off, is refused."""
    done = run_python(EIGHT, str(hostile), timeout=300)
    assert (done.returncode, done.stdout) == (
        0,
        "[[7]] [0, 1, 2, 3, 4, 5, 6]\n[[2, 3, 5, 6, 7]] [0, 1, 4]\n",
    ), done.stderr


def test_thousands_of_scans_decode_as_pillow_does_when_allowed(hostile):
    (images,) = pyfastdl.NativeLoader([str(hostile / "scans.jpg")], dtype=torch.uint8, max_scans=5000)
    with Image.open(hostile / "scans.jpg") as image:
        assert np.array_equal(images[0].permute(1, 2, 0).numpy(), np.asarray(image.convert("RGB")))


# -- one budget for all threads

BUDGET = (
    PEAK
    + """
import sys
import torch, pyfastdl
from pyfastdl import transforms as T

options = dict(transform=[T.CenterCrop(16)], dtype=torch.uint8, num_workers=8)
list(pyfastdl.NativeLoader(sys.argv[1:2] * 16, 16, **options))
for path, limit in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    before = start_peak()
    loader = pyfastdl.NativeLoader([path] * 16, 16, max_memory=limit, **options)
    (images,) = loader
    grown = peak() - before
    stats = loader.stats()
    assert len(images) == 16
    assert limit / 2 < stats.peak_memory <= limit, (path, stats.peak_memory)
    assert grown < limit + (40 << 20), (path, grown)
    assert stats.wait_memory_s > 0
    loader.close()
print("fine")
"""
)


def test_threads_share_one_budget(tmp_path, run_python):
    """It has room for two and a half of the images that eight threads want to decode at a time."""
    pixels = 2000 * 2000
    arguments = []
    for kind, options, each in [
        ("JPEG", {"progressive": True}, pixels * 3),  # 4:2:0: 1.5 coefficients of two bytes a pixel
        ("WEBP", {"lossless": True}, pixels * 4),
        ("GIF", {}, pixels * 14),  # by Pillow
    ]:
        path = tmp_path / kind
        Image.new("RGB", (2000, 2000), "red").save(path, kind, **options)
        arguments += [str(path), str(each * 5 // 2)]
    done = run_python(BUDGET, *arguments)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.parametrize(
    ("kind", "options"), [("JPEG", {"progressive": True}), ("WEBP", {}), ("BMP", {}), ("interlaced", {})]
)
def test_what_alone_needs_more_is_refused(tmp_path, kind, options):
    path = tmp_path / "large"
    path.write_bytes(
        png(200, 300, 2, 8, interlaced=True) if kind == "interlaced" else encoded(picture(200, 300), kind, **options)
    )
    loader = pyfastdl.NativeLoader([str(path)], max_memory=10_000)
    with pytest.raises(pyfastdl.SampleError, match="max_memory"):
        list(loader)
    assert len(list(pyfastdl.NativeLoader([str(path)], max_memory=10_000_000))) == 1


def test_a_turned_image_counts_too(tmp_path):
    path = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    path.write_bytes(encoded(picture(200, 300), "JPEG", exif=exif))
    loader = pyfastdl.NativeLoader([str(path)], max_memory=10_000)
    assert len(list(loader)) == 1
    assert loader.stats().peak_memory == 0  # it streams
    with pytest.raises(pyfastdl.SampleError, match="max_memory"):
        list(pyfastdl.NativeLoader([str(path)], max_memory=10_000, apply_exif_orientation=True))
    loader = pyfastdl.NativeLoader([str(path)], apply_exif_orientation=True)
    assert len(list(loader)) == 1
    assert loader.stats().peak_memory == 200 * 300 * 4


# -- pixels


def test_the_users_own_limit_of_pillow_holds(tmp_path, monkeypatch):
    files = {kind: tmp_path / f"x.{kind}" for kind in ("png", "jpeg", "webp", "bmp")}
    for kind, path in files.items():
        path.write_bytes(encoded(picture(50, 60), kind))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1499)
    for path in files.values():
        with pytest.raises(pyfastdl.SampleError, match="pixels"):
            pyfastdl.decode_image(path)
        with pytest.raises(pyfastdl.SampleError, match="pixels"):
            list(pyfastdl.NativeLoader([str(path)]))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    for path in files.values():
        assert pyfastdl.decode_image(path).shape == (50, 60, 3)
        assert len(list(pyfastdl.NativeLoader([str(path)]))) == 1
        with pytest.raises(pyfastdl.SampleError, match="max_pixels"):
            list(pyfastdl.NativeLoader([str(path)], max_pixels=2999))
        assert len(list(pyfastdl.NativeLoader([str(path)], max_pixels=3000))) == 1


@pytest.mark.parametrize("name", ["max_pixels", "max_memory", "max_scans"])
def test_wrong_limits_are_refused(name):
    for wrong, error in [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError), ("1", TypeError)]:
        with pytest.raises(error, match=name):
            pyfastdl.NativeLoader(["x.jpg"], **{name: wrong})


# -- F5: the same corrupt file again and again


@pytest.mark.parametrize("kind", ["JPEG", "progressive JPEG", "PNG", "interlaced PNG", "WEBP", "lossless WEBP"])
def test_a_corrupt_file_ten_thousand_times_leaks_nothing(kind):
    if kind == "interlaced PNG":
        data = png(20, 30, 2, 8, interlaced=True)
    else:
        options = {"progressive": True} if kind.startswith("prog") else {"lossless": True} if "less" in kind else {}
        data = encoded(picture(20, 30), kind.split()[-1], **options)
    broken = data[: len(data) * 3 // 4]

    def decode(times):
        for _ in range(times):
            with pytest.raises(ValueError, match=r"."):
                _core.decode(broken)

    decode(1000)
    before = resident()
    decode(9000)
    assert resident() < before + (2 << 20)


def test_a_corrupt_file_through_pillow_leaks_nothing():
    broken = encoded(picture(20, 30), "GIF")[:-40]

    def decode(times):
        for _ in range(times):
            with pytest.raises(pyfastdl.SampleError):
                pyfastdl.decode_image(broken)

    decode(500)
    before = resident()
    decode(3000)
    assert resident() < before + (4 << 20)


# -- no memory

NO_MEMORY = """
import resource, sys
import torch, pyfastdl
from pyfastdl import transforms as T

folder = sys.argv[1]
with open(f"{folder}/sparse.jpg", "wb") as file:
    file.truncate(3 << 30)
good = f"{folder}/good.png"
small = [T.Resize((8, 8))]
list(pyfastdl.NativeLoader([good], transform=small))
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
for policy in ("raise", "skip", "replace"):
    loader = pyfastdl.NativeLoader(
        [good, f"{folder}/sparse.jpg", good, good], 2, transform=small, on_error=policy, num_workers=1)
    epoch = iter(loader)
    try:
        next(epoch)
    except MemoryError as error:
        assert "sparse.jpg" in str(error), error
    else:
        raise AssertionError(policy)
    assert len(next(epoch)) == 2
    assert loader.errors == [] and loader.stats().failed_samples == 0
print("fine")
"""


def test_a_lack_of_memory_is_raised_and_no_bad_file(tmp_path, run_python):
    (tmp_path / "good.png").write_bytes(encoded(picture(30, 40), "PNG"))
    done = run_python(NO_MEMORY, str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
def test_pillows_lack_of_memory_is_one_too(tmp_path, monkeypatch, policy):
    for i in range(4):
        (tmp_path / f"{i}.bmp").write_bytes(encoded(picture(30, 40, 1 + 2 * (i % 2)), "BMP"))
    decode = fallback.decode_rgb

    def without_memory(data, **options):
        with Image.open(io.BytesIO(data)) as image:
            if image.mode == "L":
                raise MemoryError
        return decode(data, **options)

    files = [str(tmp_path / f"{i}.bmp") for i in range(4)]
    monkeypatch.setattr(fallback, "decode_rgb", without_memory)
    loader = pyfastdl.NativeLoader(files, 1, transform=[T.Resize((8, 8))], on_error=policy)
    epoch = iter(loader)
    for _ in range(2):
        with pytest.raises(MemoryError, match=r"\d\.bmp.*max_memory"):
            next(epoch)
        assert len(next(epoch)) == 1
    assert loader.errors == []
    with pytest.raises(MemoryError):
        pyfastdl.decode_image(files[0])


def test_nothing_is_left_open(tmp_path, hostile, run_python):
    code = """
import gc, sys, warnings
warnings.simplefilter("error", ResourceWarning)
import torch, pyfastdl
from pyfastdl import transforms as T
options = dict(transform=[T.Resize((8, 8))], on_error="skip", apply_exif_orientation=True)
loader = pyfastdl.NativeLoader(sys.argv[1:], 2, **options)
print(sum(len(batch) for batch in loader), len(loader.errors))
for path in sys.argv[1:]:
    try:
        pyfastdl.decode_image(path, apply_exif_orientation=True)
    except (pyfastdl.SampleError, OSError):
        pass
del loader
gc.collect()
"""
    bmp = tmp_path / "x.bmp"
    bmp.write_bytes(encoded(picture(30, 40), "BMP"))
    cut = tmp_path / "cut.gif"
    cut.write_bytes(encoded(picture(30, 40), "GIF")[:-100])
    files = [bmp, cut, hostile / "claim.jpg", hostile / "good.png", tmp_path / "gone.tiff"]
    done = run_python(code, *map(str, files))
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 3\n", "")


def test_an_image_over_the_limit_does_not_say_what_size_all_have(tmp_path):
    files = []
    for name, size in (("large.png", (40, 30)), ("small.png", (8, 6))):
        Image.new("RGB", size, "red").save(tmp_path / name)
        files.append(str(tmp_path / name))
    loader = pyfastdl.NativeLoader(files, 2, max_pixels=100, on_error="skip")
    assert [tuple(images.shape) for images in loader] == [(1, 3, 6, 8)]
    assert "max_pixels" in loader.errors[0].reason
