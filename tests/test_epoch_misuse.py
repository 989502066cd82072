"""An epoch used from odd places: other threads, signal handlers, samplers that fail; Pillow's threads that fail."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import torch
from PIL import Image

import pyfastdl
from pyfastdl import fallback
from pyfastdl import transforms as T

TRANSFORM = [T.Resize((16, 16))]


@pytest.fixture
def files(image_folder):
    return sorted(str(path) for path in image_folder.glob("*/*.jpg"))


@pytest.fixture
def bitmaps(tmp_path):
    paths = [str(tmp_path / f"{i}.bmp") for i in range(6)]
    for i, path in enumerate(paths):
        Image.new("RGB", (9, 9), (i, i, i)).save(path)
    return paths


def test_closing_it_under_another_threads_next_leaves_the_following_epoch_whole(files):
    loader = pyfastdl.NativeLoader(files, 1, transform=TRANSFORM, return_index=True, num_workers=2)

    def use(epoch):
        try:
            for _ in epoch:
                pass
        except pyfastdl.LoaderError:
            pass

    for _ in range(200):
        epoch = iter(loader)
        thread = threading.Thread(target=use, args=(epoch,))
        thread.start()
        epoch.close()
        assert [index.item() for _, index in loader] == list(range(15))
        thread.join()


@pytest.mark.parametrize("close", [lambda loader, epoch: loader.close(), lambda loader, epoch: epoch.close()])
def test_half_an_epoch_does_not_look_like_a_whole_one(files, close):
    loader = pyfastdl.NativeLoader(files, 4, transform=TRANSFORM)
    epoch = iter(loader)
    next(epoch)
    close(loader, epoch)
    for _ in range(2):
        with pytest.raises(pyfastdl.LoaderError, match="closed before its last batch"):
            next(epoch)


@pytest.mark.parametrize("seen", [4, 5])  # the last batch; the last batch and the end after it
def test_closing_after_the_last_batch_is_an_end(files, seen):
    loader = pyfastdl.NativeLoader(files, 4, transform=TRANSFORM)
    epoch = iter(loader)
    assert len([batch for batch, _ in zip(epoch, range(seen), strict=False)]) == 4
    loader.close()
    assert list(epoch) == []


def test_an_epoch_that_timed_out_stays_ended(bitmaps, monkeypatch):
    release = threading.Event()
    decode = fallback.decode_rgb
    monkeypatch.setattr(fallback, "decode_rgb", lambda data, **options: release.wait() and decode(data, **options))
    epoch = iter(pyfastdl.NativeLoader(bitmaps, 2, transform=TRANSFORM, timeout=0.2))
    try:
        for _ in range(2):
            with pytest.raises(pyfastdl.LoaderError, match="no batch within timeout"):
                next(epoch)
            release.set()  # too late
    finally:
        release.set()


def test_starts_and_ends_in_many_threads_give_whole_epochs(files):
    loader = pyfastdl.NativeLoader(files, 4, transform=TRANSFORM, return_index=True, num_workers=2)
    wrong = []

    def work():
        for _ in range(30):
            seen = [i for _, index in loader for i in index.tolist()]
            if seen != list(range(15)):
                wrong.append(seen)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_signal_handler_that_asks_for_a_batch_is_told(bitmaps, monkeypatch):
    entered, release = threading.Event(), threading.Event()
    decode = fallback.decode_rgb

    def slow(data, **options):
        entered.set()
        release.wait()
        return decode(data, **options)

    monkeypatch.setattr(fallback, "decode_rgb", slow)
    epoch = iter(pyfastdl.NativeLoader(bitmaps, 2, transform=TRANSFORM))
    told = []

    def handler(number, frame):
        try:
            next(epoch)
        except pyfastdl.LoaderError as error:
            told.append(str(error))
        finally:
            release.set()

    def send():
        entered.wait()
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        sender = threading.Thread(target=send)
        sender.start()
        assert sum(len(batch) for batch in epoch) == 6
        sender.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(told) == 1
    assert "already" in told[0]


def test_a_samplers_fault_comes_after_the_batches_before_it(files):
    def sampler():
        yield from range(6)
        raise KeyError("mine")

    class Once:
        def __iter__(self):
            return sampler()

    epoch = iter(pyfastdl.NativeLoader(files, 2, sampler=Once(), transform=TRANSFORM, return_index=True))
    assert [next(epoch)[-1].tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(KeyError, match="mine"):
        next(epoch)
    assert next(epoch, None) is None


def test_a_wrong_index_costs_its_batch_alone(files):
    loader = pyfastdl.NativeLoader(
        files, batch_sampler=[[0], [1], [99], [2], [3]], transform=TRANSFORM, return_index=True
    )
    epoch = iter(loader)
    seen = []
    while True:
        try:
            seen.append(next(epoch)[-1].item())
        except ValueError as error:
            assert "99" in str(error)
            seen.append("wrong")
        except StopIteration:
            break
    assert seen == [0, 1, "wrong", 2, 3]


@pytest.mark.parametrize("index", [1.7, "1", None])
def test_indices_are_integers(files, index):
    with pytest.raises(TypeError):
        list(pyfastdl.NativeLoader(files, 2, sampler=[0, index], transform=TRANSFORM))


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, ValueError])
def test_whatever_pillow_raises_is_that_samples_failure(bitmaps, monkeypatch, kind):
    decode = fallback.decode_rgb

    def broken(data, **options):
        rgb = decode(data, **options)
        if rgb[0, 0, 0] == 3:
            raise kind("from a plugin")
        return rgb

    monkeypatch.setattr(fallback, "decode_rgb", broken)
    loader = pyfastdl.NativeLoader(bitmaps, 2, transform=TRANSFORM, on_error="skip")
    assert sum(len(batch) for batch in loader) == 5
    assert [(error.index, error.reason) for error in loader.errors] == [(3, "from a plugin")]


def test_if_pillows_threads_can_not_start_it_says_so_every_time(bitmaps, monkeypatch):
    loader = pyfastdl.NativeLoader(bitmaps, 2, transform=TRANSFORM)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", lambda self: (_ for _ in ()).throw(RuntimeError("can't start")))
        for _ in range(2):
            with pytest.raises(pyfastdl.LoaderError, match="no thread could be started"):
                next(iter(loader))
    assert sum(len(batch) for batch in loader) == 6


def test_a_fifo_is_refused_without_waiting(tmp_path):
    path = tmp_path / "x.jpg"
    os.mkfifo(path)
    with pytest.raises(pyfastdl.SampleError, match="FIFO"):
        pyfastdl.decode_image(path)
    with pytest.raises(pyfastdl.SampleError, match="FIFO"):
        list(pyfastdl.NativeLoader([str(path)]))


@pytest.mark.parametrize("dtype", [">i4", ">f8", "<u2", "=i8"])
def test_targets_of_any_byte_order_keep_their_values(files, dtype):
    targets = np.arange(15, dtype=dtype)
    _, labels = next(iter(pyfastdl.NativeLoader(files, 15, targets=targets, transform=TRANSFORM)))
    assert labels.tolist() == list(range(15))


@pytest.mark.parametrize("dtype", [np.longdouble, np.complex64])
def test_targets_that_no_tensor_holds_are_refused_at_once(files, dtype):
    with pytest.raises(TypeError, match="targets"):
        pyfastdl.NativeLoader(files, 15, targets=np.zeros(15, dtype), transform=TRANSFORM)


def test_threads_that_hang_share_one_patience(bitmaps, monkeypatch):
    entered, release = threading.Event(), threading.Event()

    def stuck(data, **options):
        entered.set()
        release.wait()

    monkeypatch.setattr(fallback, "decode_rgb", stuck)
    epoch = iter(pyfastdl.NativeLoader(bitmaps, 6, transform=TRANSFORM, num_workers=4))
    pipeline = epoch._batches._pipeline
    pipeline._start_pillow()
    entered.wait()
    joined = []
    join = threading.Thread.join

    def measured(self, timeout=None):
        if self.name.startswith("pyfastdl-pillow"):
            joined.append(timeout)
            timeout = 0.01
        join(self, timeout)

    monkeypatch.setattr(threading.Thread, "join", measured)
    with monkeypatch.context() as patched:
        patched.setattr("pyfastdl._pipeline.time", _Clock())
        pipeline.close()
    release.set()
    assert len(joined) == 4
    assert joined == sorted(set(joined), reverse=True)  # what is left of one, not a new one each


class _Clock:
    """A clock that moves on a second each time it is read."""

    def __init__(self):
        self._now = 0.0

    def monotonic(self):
        self._now += 1.0
        return self._now


def test_batches_before_a_close_stay_valid(files):
    epoch = iter(pyfastdl.NativeLoader(files, 4, transform=TRANSFORM))
    batch = next(epoch)
    copy = batch.clone()
    epoch.close()
    with pytest.raises(pyfastdl.LoaderError):
        next(epoch)
    assert torch.equal(batch, copy)
