"""Files that are not what they seem. Cases F2, M4 and the policies of F9."""

from __future__ import annotations

import os
import shutil

import numpy as np
import psutil
import pytest
import torch
from loaders import resident, until
from PIL import Image

import pyfastdl
from pyfastdl import transforms as T

SMALL = [T.Resize((16, 16))]


@pytest.fixture
def good(tmp_path):
    folder = tmp_path / "good"
    folder.mkdir()
    for i in range(10):
        Image.new("RGB", (40, 30), (i * 20, 0, 255 - i * 20)).save(folder / f"{i}.jpg")
    return sorted(str(path) for path in folder.iterdir())


def noise(suffix, tmp_path):
    path = tmp_path / f"noise.{suffix}"
    rng = np.random.default_rng(1)
    Image.fromarray(rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)).save(path)
    return path


# -- named as something else


@pytest.mark.parametrize(
    ("suffix", "name"), [("png", "x.JPEG"), ("jpg", "x.png"), ("webp", "x.jpg"), ("gif", "x.png"), ("jpg", "x")]
)
def test_the_bytes_say_the_format_not_the_name(tmp_path, suffix, name):
    source = noise(suffix, tmp_path)
    path = tmp_path / name
    shutil.move(source, path)
    (images,) = pyfastdl.NativeLoader([str(path)], dtype=torch.uint8)
    with Image.open(path) as image:
        assert np.array_equal(images[0].permute(1, 2, 0).numpy(), np.asarray(image.convert("RGB")))


def html(path, tmp_path):
    path.write_text("<html><head><title>Not found</title></head></html>")


def empty(path, tmp_path):
    path.touch()


def one_byte(path, tmp_path):
    path.write_bytes(b"\xff")


def text(path, tmp_path):
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")


def directory(path, tmp_path):
    path.mkdir()


def dangling(path, tmp_path):
    path.symlink_to(tmp_path / "nowhere.jpg")


def removed(path, tmp_path):
    pass


def fifo(path, tmp_path):
    os.mkfifo(path)


def half(path, tmp_path):
    path.write_bytes(noise("jpg", tmp_path).read_bytes()[:900])


def header_only(path, tmp_path):
    path.write_bytes(noise("jpg", tmp_path).read_bytes()[:100])


def half_png(path, tmp_path):
    path.write_bytes(noise("png", tmp_path).read_bytes()[:1500])


def bomb(path, tmp_path):
    # 62,994 x 65,284 pixels, says the header.
    path.write_bytes(bytes.fromhex("ffd8ffc0001108ff04f61203012200021101031101") + b"\xff\xda" + bytes(90))


BAD = {
    html: "HTML",
    empty: "empty",
    one_byte: "image",
    text: "(?i)text|lfs",
    directory: "(?i)directory|folder",
    dangling: "(?i)no such file",
    removed: "(?i)no such file",
    fifo: "(?i)fifo|pipe",
    half: "(?i)truncated",
    header_only: "(?i)truncated|image",
    half_png: "(?i)truncated",
    bomb: "(?i)pixels",
}


@pytest.fixture(params=BAD, ids=lambda make: make.__name__)
def bad(request, tmp_path):
    path = tmp_path / "bad.jpg"
    request.param(path, tmp_path)
    return str(path), BAD[request.param]


def test_a_bad_file_is_named_and_the_loader_goes_on(good, bad):
    path, words = bad
    loader = pyfastdl.NativeLoader([*good[:3], path, *good[3:]], 2, transform=SMALL, num_workers=2)
    for _ in range(2):
        epoch = iter(loader)
        assert len(next(epoch)) == 2
        with pytest.raises(pyfastdl.SampleError, match=words) as caught:
            next(epoch)
        assert caught.value.index == 3
        assert caught.value.path == path
        assert path in str(caught.value)
        assert len(list(epoch)) == 4
    assert [(error.index, error.replaced_by) for error in loader.errors] == [(3, None)] * 2


def test_skip_makes_the_batch_smaller(good, bad):
    path, words = bad
    loader = pyfastdl.NativeLoader(
        [*good[:3], path, *good[3:]], 4, transform=SMALL, on_error="skip", return_index=True, num_workers=2
    )
    assert [index.tolist() for _, index in loader] == [[0, 1, 2], [4, 5, 6, 7], [8, 9, 10]]
    assert [(error.index, error.path) for error in loader.errors] == [(3, path)]
    assert loader.stats().failed_samples == 1


def test_replace_keeps_the_batch_and_says_with_what(good, bad):
    path, words = bad
    files = [*good[:3], path, *good[3:]]

    def epoch(num_workers):
        loader = pyfastdl.NativeLoader(
            files, 4, transform=SMALL, on_error="replace", seed=5, return_index=True, num_workers=num_workers
        )
        return list(loader), loader.errors

    batches, errors = epoch(2)
    index = torch.cat([batch[-1] for batch in batches]).tolist()
    (error,) = errors
    assert error.index == 3
    assert error.replaced_by == index[3] != 3
    assert index[:3] + index[4:] == [i for i in range(11) if i != 3]
    images = torch.cat([batch[0] for batch in batches])
    assert torch.equal(images[3], images[index.index(index[3])])
    again, again_errors = epoch(5)
    assert again_errors == errors
    assert all(torch.equal(a[0], b[0]) for a, b in zip(batches, again, strict=True))


def test_replaced_samples_bring_their_own_target(good, tmp_path):
    pairs = [(path, 100 + i) for i, path in enumerate([*good[:4], str(tmp_path / "gone.jpg"), *good[4:]])]
    loader = pyfastdl.NativeLoader(pairs, 11, transform=SMALL, on_error="replace", seed=1, return_index=True)
    ((_, labels, index),) = loader
    assert labels.tolist() == [100 + i for i in index.tolist()]


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_if_all_fail_it_stops(tmp_path, on_error):
    files = [str(tmp_path / f"{i}.jpg") for i in range(5)]
    loader = pyfastdl.NativeLoader(files, 2, transform=SMALL, on_error=on_error)
    with pytest.raises((pyfastdl.LoaderError, pyfastdl.SampleError), match=r"0\.jpg"):
        list(loader)


def test_if_the_size_is_unknown_a_bad_first_file_is_passed_over(good, tmp_path):
    gone = str(tmp_path / "gone.jpg")
    loader = pyfastdl.NativeLoader([gone, *good], 4, on_error="skip")
    assert [len(batch) for batch in loader] == [3, 4, 3 + 1 - 1]
    with pytest.raises(pyfastdl.SampleError, match="none of the first"):
        list(pyfastdl.NativeLoader([gone], 4))


def test_nothing_leaks_over_many_bad_files(good, bad):
    path, _ = bad
    loader = pyfastdl.NativeLoader([good[0], path], 2, transform=SMALL, on_error="skip", num_workers=2)
    for _ in range(100):
        list(loader)
    process = psutil.Process()
    descriptors, threads, memory = process.num_fds(), process.num_threads(), resident()
    for _ in range(500):
        list(loader)
    # Loaders of earlier tests may end meanwhile, and threads that were joined are counted a moment longer.
    assert process.num_fds() <= descriptors
    assert until(lambda: process.num_threads() <= threads)
    assert resident() < memory + (16 << 20)


def test_files_may_change_between_epochs(good):
    loader = pyfastdl.NativeLoader(good, 10, transform=SMALL, dtype=torch.uint8)
    (before,) = loader
    before = before.clone()
    Image.new("RGB", (40, 30), "white").save(good[3])  # replaced after listing
    (after,) = loader
    assert after[3].min() == 255
    assert torch.equal(after[:3], before[:3])
    os.truncate(good[4], 200)
    with pytest.raises(pyfastdl.SampleError):
        list(loader)
    Image.new("RGB", (40, 30), "white").save(good[4])
    (again,) = loader
    assert again[4].min() == 255


def test_a_batch_that_does_not_come_in_time_is_an_error_that_names_it(good, tmp_path, monkeypatch):
    import threading

    from pyfastdl import fallback
    from pyfastdl._pipeline import Pipeline

    slow = tmp_path / "slow.bmp"
    Image.new("RGB", (40, 30)).save(slow)
    release = threading.Event()
    decode = fallback.decode_rgb

    def stuck(data, **options):
        release.wait()
        return decode(data, **options)

    monkeypatch.setattr(fallback, "decode_rgb", stuck)
    message = Pipeline._timeout_message

    def released(self, timeout):
        text = message(self, timeout)
        release.set()  # the timeout is decided: its thread may end
        return text

    monkeypatch.setattr(Pipeline, "_timeout_message", released)
    loader = pyfastdl.NativeLoader([str(slow), *good], 2, transform=SMALL, timeout=0.2)
    with pytest.raises(pyfastdl.LoaderError, match=r"timeout=0\.2.*slow\.bmp"):
        list(loader)
    monkeypatch.undo()
    loader.timeout = 0.0  # a slow machine may need longer than 0.2 s
    assert sum(len(batch) for batch in loader) == 11


def test_errors_survive_pickling():
    import pickle

    error = pickle.loads(pickle.dumps(pyfastdl.SampleError("a/b.jpg", 7, "broken")))
    assert (error.path, error.index, error.reason) == ("a/b.jpg", 7, "broken")
    assert isinstance(error, RuntimeError)
    assert str(error) == "sample 7 (a/b.jpg): broken"
