"""Python functions at the end of NativeLoader's transforms that fail: raised, replaced or left out."""

from __future__ import annotations

import gc
import threading
import time

import pytest
import torch
from callable_loaders import CROP, SQUARE, Odd, fails_on, fails_on_pictures_of, loader_of, place
from loaders import assert_same

import pyfastdl
from pyfastdl import _core
from pyfastdl import transforms as T
from pyfastdl.workers.sample_rng import SampleRng
from pyfastdl.workers.threads import ThreadPool


@pytest.fixture
def files(image_folder):
    return sorted(str(path) for path in image_folder.glob("*/*.jpg"))


def uneven(image):
    rng = pyfastdl.sample_rng()
    time.sleep(rng.numpy.uniform(0, 0.003))  # samples finish in any order
    return image + torch.rand((), generator=rng.torch)


@pytest.mark.parametrize(
    "error", [ValueError("no good"), Odd(1, "two"), MemoryError("none left"), pyfastdl.LoaderError("mine")]
)
def test_an_exception_is_raised_as_it_was_and_the_epoch_goes_on(files, error):
    epoch = iter(loader_of(files, torch.sin, fails_on({5}, error)))
    next(epoch)
    with pytest.raises(type(error)) as caught:
        next(epoch)
    assert caught.value is error
    (note,) = error.__notes__
    assert "fails_on" in note and "sample 5" in note and files[5] in note
    assert [len(batch) for batch in epoch] == [4, 3]


@pytest.mark.parametrize("error", [StopIteration("over"), KeyboardInterrupt(), SystemExit(3)])
def test_exceptions_that_would_mean_something_else_are_runtime_errors(files, error):
    """Those that aren't Exceptions are passed over by nobody."""
    on_error = "raise" if isinstance(error, Exception) else "skip"
    epoch = iter(loader_of(files, fails_on({1}, error), on_error=on_error))
    with pytest.raises(RuntimeError, match=f"{type(error).__name__} was raised.*fails_on.*sample 1 ") as caught:
        next(epoch)
    assert caught.value.__cause__ is error
    assert len(list(epoch)) == 3


def test_results_that_do_not_fit_together_are_default_collates_error(files):
    epoch = iter(loader_of(files, lambda x: x[:, : 1 + place()]))
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size") as caught:
        next(epoch)
    assert "default_collate" in caught.value.__notes__[0]
    assert len(list(loader_of(files, lambda x: x[:, : 1 + place()], batch_size=1))) == 15


@pytest.mark.parametrize("num_workers", [1, 3])
def test_skip_leaves_the_sample_out_and_lists_it(files, num_workers):
    loader = loader_of(
        files, fails_on({0, 5, 8, 9, 10, 11}, ValueError("no good")), on_error="skip", return_index=True,
        targets=list(range(15)), num_workers=num_workers,
    )  # fmt: skip
    plain = dict(enumerate(torch.cat(list(loader_of(files)))))
    got = list(loader)
    assert [index.tolist() for _, _, index in got] == [[1, 2, 3], [4, 6, 7], [12, 13, 14]]
    for images, labels, index in got:
        assert torch.equal(labels, index)
        assert all(torch.equal(image, plain[i]) for image, i in zip(images, index.tolist(), strict=True))
    assert [(error.index, error.path) for error in loader.errors] == [(i, files[i]) for i in (0, 5, 8, 9, 10, 11)]
    assert "fails_on" in loader.errors[0].reason and "ValueError: no good" in loader.errors[0].reason
    assert loader.stats().failed_samples == 6
    assert loader.stats().batches == 3


def test_samples_that_are_passed_over_keep_no_memory(files):
    """Without the collector's help: their batches' slots are free again, and no batch has to be copied."""

    def fail(image):
        if place() % 2 == 0:
            raise ValueError("no good")
        return image

    gc.collect()
    gc.disable()
    try:
        loader = loader_of(files, fail, on_error="skip")
        for _ in range(6):
            list(loader)
            assert loader.stats().copied_batches == 0
    finally:
        gc.enable()


def test_replace_takes_the_sample_that_the_core_would(files):
    fail = fails_on_pictures_of(files, [5, 8])

    def epoch(num_workers):
        loader = loader_of(
            files, fail, transform=SQUARE, on_error="replace", return_index=True,
            targets=[[i, i + 0.5] for i in range(15)], num_workers=num_workers, shuffle=True,
        )  # fmt: skip
        return list(loader), loader.errors

    batches, errors = epoch(2)
    order = [int(i) for batch in loader_of(files, shuffle=True, return_index=True) for i in batch[-1]]
    index = torch.cat([batch[-1] for batch in batches]).tolist()
    by = {}
    for i in (5, 8):
        tried = (_core.replacement(3, 0, i, 0, 15, attempt) for attempt in range(14))
        by[i] = next(other for other in tried if other not in (5, 8))
    assert index == [by.get(i, i) for i in order]
    assert {error.index for error in errors} == {5, 8}
    assert {error.replaced_by for error in errors} == set(by.values())
    assert torch.equal(torch.cat([labels[:, 0] for _, labels, _ in batches]).long(), torch.tensor(index))
    pictures = torch.cat(list(loader_of(files, transform=SQUARE)))
    assert torch.equal(torch.cat([images for images, _, _ in batches]), pictures[index])
    assert_same(epoch(1), (batches, errors))


def test_without_a_replacement_it_is_raised(files):
    everything = list(range(15))
    epoch = iter(loader_of(files, fails_on_pictures_of(files, everything), transform=SQUARE, on_error="replace"))
    with pytest.raises(ValueError, match="no good") as caught:
        next(epoch)
    assert "No replacement was found: 14 other samples failed too." in caught.value.__notes__


def test_a_stand_in_has_the_numbers_of_the_place(files, image_folder):
    """As one that the core puts there."""
    bad = files[4]
    views = [[*CROP, fails_once_on(4)], CROP]
    arguments = {"seed": 3, "on_error": "replace", "return_index": True, "memory_format": torch.channels_last}
    ((a, b), index), = pyfastdl.NativeLoader(files, 15, transform=views, **arguments)  # fmt: skip
    with open(bad, "wb") as file:
        file.write(b"nothing")
    ((x, y), wanted), = pyfastdl.NativeLoader(files, 15, transform=[CROP, CROP], **arguments)  # fmt: skip
    assert_same((a, b, index), (x, y, wanted))


def fails_once_on(index):
    """For the first sample that is loaded for this place; not for what takes its place."""
    failed = []

    def fail(image):
        if place() == index and not failed:
            failed.append(index)
            raise ValueError("no good")
        return image

    return fail


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_if_all_fail_it_stops(files, on_error):
    loader = loader_of(files, fails_on(set(range(15)), ValueError("no good")), on_error=on_error)
    with pytest.raises((pyfastdl.LoaderError, ValueError), match=r"no good"):
        list(loader)


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_broken_files_and_broken_callables_are_listed_together(files, on_error):
    fail = fails_on_pictures_of(files, [2, 6, 9])
    for broken in (1, 6):
        with open(files[broken], "wb") as file:
            file.write(b"nothing")

    def run(num_workers):
        loader = loader_of(
            files, fail, uneven, transform=SQUARE, on_error=on_error, return_index=True,
            num_workers=num_workers,
        )  # fmt: skip
        return list(loader), loader.errors

    batches, errors = run(3)
    assert_same(run(1), (batches, errors))
    indices = [error.index for error in errors]
    assert set(indices) >= {1, 2, 6, 9}
    index = torch.cat([batch[-1] for batch in batches]).tolist()
    if on_error == "skip":
        assert index == [0, 3, 4, 5, 7, 8, 10, 11, 12, 13, 14]
        assert indices == [1, 2, 6, 9]
    else:
        assert len(index) == 15 and not {1, 2, 6, 9} & set(index)
        assert all(error.replaced_by in index for error in errors)


def test_a_broken_file_is_raised_in_its_place(files):
    with open(files[5], "wb") as file:
        file.write(b"nothing")
    epoch = iter(loader_of(files, torch.sin))
    next(epoch)
    with pytest.raises(pyfastdl.SampleError) as caught:
        next(epoch)
    assert caught.value.index == 5
    assert len(list(epoch)) == 2


def test_timeout_names_the_sample_in_a_callable(files, monkeypatch):
    entered, release = threading.Event(), threading.Event()

    def stuck(image):
        if place() == 2:
            entered.set()
            release.wait(60)
        return image

    wait = ThreadPool.wait
    # The time may be up before the threads have got there.
    monkeypatch.setattr(ThreadPool, "wait", lambda *arguments: (entered.wait(60), wait(*arguments))[1])
    loader = loader_of(files, stuck, timeout=0.3)
    try:
        epoch = iter(loader)
        with pytest.raises(pyfastdl.LoaderError, match=r"timeout=0\.3 s.*callables: .*sample 2 \(.*jpg"):
            next(epoch)
        with pytest.raises(pyfastdl.LoaderError):
            next(epoch)
    finally:
        release.set()
    loader.timeout = 0.0
    assert len(list(loader)) == 4


def test_a_sampler_that_fails_is_heard_after_its_batches(files):
    def sampler():
        yield from range(9)
        raise Odd(1, 2)

    epoch = iter(loader_of(files, torch.sin, sampler=sampler()))
    assert [len(next(epoch)), len(next(epoch))] == [4, 4]
    with pytest.raises(Odd):
        next(epoch)


def test_what_remains_of_a_batch_keeps_its_numbers(files):
    """Behind a sample that the core left out."""
    with open(files[1], "wb") as file:
        file.write(b"nothing")
    draw = lambda image: torch.rand(2, generator=pyfastdl.sample_rng().torch)  # noqa: E731
    loader = loader_of(files, draw, on_error="skip", return_index=True)
    got = {i: row for rows, index in loader for row, i in zip(rows, index.tolist(), strict=True)}
    assert sorted(got) == [0, *range(2, 15)]
    for i, row in got.items():
        assert torch.equal(row, torch.rand(2, generator=SampleRng(3, 0, i, 0).torch))


def test_what_was_tried_is_not_tried_again(files):
    """A file is broken, and a function fails for the one that the core takes instead."""
    first, second = (_core.replacement(3, 0, 4, 0, 15, attempt) for attempt in range(2))
    loader = loader_of(
        files,
        fails_on_pictures_of(files, [first]),
        transform=SQUARE,
        on_error="replace",
        sampler=[4],
        return_index=True,
    )  # fmt: skip
    with open(files[4], "wb") as file:
        file.write(b"nothing")
    ((_, index),) = loader
    assert index.tolist() == [second]
    assert [error.index for error in loader.errors] == [4, first]


def test_only_the_sample_that_is_raised_is_listed(files):
    """The others failed or not, as the threads came by."""
    later = threading.Event()

    def fail(image):
        if place() == 1:
            later.set()
        assert later.wait(60)
        raise ValueError("no good")

    loader = loader_of(files, fail)
    with pytest.raises(ValueError):
        next(iter(loader))
    assert [(error.index, error.replaced_by) for error in loader.errors] == [(0, None)]


def test_without_threads_for_them_it_is_an_error(image_folder, monkeypatch):
    """And no wait without an end."""
    start = threading.Thread.start

    def refuse(thread):
        if thread.name.startswith("pyfastdl-worker"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    loader = pyfastdl.NativeLoader(image_folder, 4, transform=[T.Resize((8, 8)), torch.neg], timeout=60)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        next(iter(loader))


def test_an_exception_without_a_text(image_folder):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def call(image):
        raise Mute

    for on_error in ("raise", "skip"):
        loader = pyfastdl.NativeLoader(image_folder, 4, transform=[T.Resize((8, 8)), call], on_error=on_error)
        with pytest.raises(Mute if on_error == "raise" else pyfastdl.LoaderError):
            list(loader)
