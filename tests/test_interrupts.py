"""An interrupt between any two lines: no thread waits for ever, and half an epoch doesn't look like a whole one."""

from __future__ import annotations

import itertools
import time

import pytest
import torch
from file_datasets import numbered
from interleaving import Other, at_line, traced
from loaders import By

import pyfastdl
from pyfastdl import callable_batches
from pyfastdl import transforms as T
from pyfastdl.workers.threads import Job, ThreadPool
from pyfastdl.workers.width import fixed_width

# Not the lines of `with` statements: a trace function acts between their ends and the locks, which no signal does.
NEXT = {"_next_of_all", "_next_data", "_next_batch", "_wait", "_put", "_through", "through", "begin", "asked"}


def interrupt():
    raise KeyboardInterrupt


def interrupted(make, names, take, opcodes=False):
    """For each line of ``take`` that an interrupt came before: what ``make`` made."""
    for moment in itertools.count(1):
        made = make()
        trace = at_line(moment, names, interrupt, opcodes)
        try:
            traced(trace, lambda made=made: take(made))
        except KeyboardInterrupt:
            yield made
        if not trace.reached:
            assert moment > 1
            return


def in_a_thread(call):
    other = Other(call)
    other.start()
    return other.result()


def rest_of(iterator):
    """What is left; None where it says that it is incomplete."""
    try:
        return [sample for batch in iterator for sample in batch.tolist()]
    except pyfastdl.LoaderError as error:
        assert "interrupt" in str(error)
        return None


def test_of_threads():
    def make():
        iterator = iter(pyfastdl.DataLoader(By(lambda index: index), 2, num_workers=2, worker_mode="thread"))
        assert next(iterator).tolist() == [0, 1]
        return iterator

    for iterator in interrupted(make, NEXT, next):
        rest = in_a_thread(lambda iterator=iterator: rest_of(iterator))
        assert rest in (None, list(range(2, 12)))


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
def test_of_folders_that_are_loaded_natively(workers, persistent, image_folder):
    """Also where the iterator is used again for the next epoch."""
    loader = pyfastdl.DataLoader(
        numbered(image_folder, length=8),
        2,
        num_workers=workers,
        persistent_workers=persistent,
        worker_mode="native",
    )

    def make():
        iterator = iter(loader)
        assert next(iterator)[1].tolist() == [0, 1]
        return iterator

    cut_short = 0
    for iterator in interrupted(make, {"_next_batch", "_ask", "_outcome", "_through", "through"}, next):
        rest = in_a_thread(lambda iterator=iterator: rest_of(target for _, target in iterator))
        cut_short += rest is None
        assert rest in (None, list(range(2, 8)))
    assert cut_short > 0


def test_an_interrupt_behind_what_was_left_out_takes_nothing(monkeypatch):
    """While the next batch is waited for, after one that lost all its samples."""

    def make(index):
        if index < 2:
            raise ValueError("bad")
        return index

    loader = pyfastdl.DataLoader(By(make), 2, num_workers=2, worker_mode="thread", on_error="skip")
    iterator = iter(loader)
    wait, calls = iterator._pool.wait, itertools.count()
    monkeypatch.setattr(iterator._pool, "wait", lambda *args: interrupt() if next(calls) == 1 else wait(*args))
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    assert rest_of(iterator) == list(range(2, 12))


@pytest.mark.parametrize("functions", [[], [torch.clone]])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_of_native_batches(functions, before, image_folder):
    files = sorted(str(path) for path in image_folder.glob("*/*.jpg"))[:8]
    transform = [T.Resize((8, 8)), *functions]
    loader = pyfastdl.NativeLoader(files, 2, transform=transform, return_index=True, prefetch_factor=2, num_workers=1)
    names = {"_next_values", "_take", "_fill", "_draw", "_check_none_lost", "hand_over", "_outcome", "_taken"}
    if not functions:  # else there are `with` statements in these
        names |= {"put", "_open_waiting", "next", "poll"}

    def make():
        epoch = iter(loader)
        for number in range(before):
            assert next(epoch)[1].tolist() == [2 * number, 2 * number + 1]
        return epoch

    cut_short = 0
    for epoch in interrupted(make, names, next):
        rest = in_a_thread(lambda epoch=epoch: rest_of(index for _, index in epoch))
        cut_short += rest is None
        assert rest in (None, list(range(2 * before, 8)))
    assert cut_short > 0


def test_a_wait_needs_no_lock():
    """A Condition's would take the lock again afterwards, and let go of a worker's where an interrupt comes then."""
    pool = ThreadPool(fixed_width(1), None, False)
    with pool._lock:
        waiting = Other(lambda: pool.wait(Job(0, 1, None), (), time.monotonic() + 0.01))
        waiting.start()
        assert pool._lock.locked()
    assert waiting.result() is None
    pool.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_starts_in_other_threads(workers):
    def make():
        return pyfastdl.DataLoader(By(lambda index: index), 2, num_workers=workers, worker_mode="thread")

    for loader in interrupted(make, {"__enter__", "__call__"}, iter, opcodes=True):
        assert in_a_thread(lambda loader=loader: rest_of(loader)) == list(range(12))


def test_of_callables(image_folder, monkeypatch):
    """A batch that was drawn, and didn't get to the threads."""
    files = sorted(str(path) for path in image_folder.glob("*/*.jpg"))[:6]
    iterator = iter(pyfastdl.NativeLoader(files, 1, transform=[T.Resize((8, 8)), torch.mean], prefetch_factor=2))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(callable_batches._Feeder, "put", lambda *_: interrupt())
        for _ in iterator:
            pass
    with pytest.raises(pyfastdl.LoaderError, match="interrupt"):
        in_a_thread(lambda: list(iterator))
