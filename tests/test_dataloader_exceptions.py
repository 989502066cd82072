"""Exceptions, and workers that hang or die: named, in bounded time, and the loader can be used again. Cases S6, L7."""

from __future__ import annotations

import gc
import os
import select
import signal
import time
import weakref

import pytest
import torch
from loaders import MODES, By, FaultyAtOnce, Squares, assert_same
from torch.utils.data import DataLoader, IterableDataset

import pyfastdl
from pyfastdl.workers.process_iterator import ProcessIterator

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class TwoArguments(Exception):
    def __init__(self, where, what):
        super().__init__(where, what)


class Unpicklable(ValueError):
    def __reduce__(self):
        raise TypeError("not this one")


def fail_at_seven(*error):
    """Raises error[0](*error[1:]), made anew: one that is kept would keep the iterators that raised it."""

    def make(index):
        if index == 7:
            raise error[0](*error[1:])
        return index

    return make


def text_of(error):
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("error", [(ValueError, "bad sample"), (KeyError, "bad sample"), (OSError, 5, "bad sample")])
def test_type_text_sample_and_worker_survive(mode, error):
    loader = pyfastdl.DataLoader(By(fail_at_seven(*error)), batch_size=3, num_workers=1, worker_mode=mode)
    iterator = iter(loader)
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(error[0], match="bad sample") as caught:
        next(iterator)
    assert "sample 7" in text_of(caught.value)
    assert "worker" in text_of(caught.value) and "0" in text_of(caught.value)
    assert next(iterator).tolist() == [9, 10, 11], "the next batch comes after a failed one, as with torch"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("error", [(TwoArguments, "here", "bad sample"), (Unpicklable, "bad sample")])
def test_exceptions_that_are_hard_to_send(mode, error):
    loader = pyfastdl.DataLoader(By(fail_at_seven(*error)), batch_size=6, num_workers=1, worker_mode=mode)
    wanted = error[0] if mode == "thread" or error[0] is Unpicklable else RuntimeError  # torch's choice
    with pytest.raises(wanted, match="bad sample") as caught:
        list(loader)
    if mode != "thread":
        assert error[0].__name__ in text_of(caught.value)


@pytest.mark.parametrize("mode", MODES)
def test_a_class_that_only_the_worker_knows(mode):
    class Local(Exception):
        pass

    with pytest.raises(Exception, match="bad sample") as caught:
        list(pyfastdl.DataLoader(By(fail_at_seven(Local, "bad sample")), num_workers=1, worker_mode=mode))
    assert type(caught.value) is (Local if mode == "thread" else RuntimeError)


@pytest.mark.parametrize("mode", MODES)
def test_the_file_of_a_sample_is_named(mode):
    dataset = By(fail_at_seven(ValueError, "bad sample"))
    dataset.samples = [(f"data/{index}.jpg", 0) for index in range(12)]
    with pytest.raises(ValueError) as caught:
        list(pyfastdl.DataLoader(dataset, batch_size=4, num_workers=1, worker_mode=mode))
    assert "sample 7 (data/7.jpg)" in text_of(caught.value)


@pytest.mark.parametrize("batch_size", [None, 1, 4])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_without_workers_the_sample_is_named(batch_size, on_error):
    """Also where another one comes behind it; with "skip" what isn't about a sample is raised."""
    dataset = By(fail_at_seven(MemoryError, "too large"))
    dataset.samples = [(f"data/{index}.jpg", 0) for index in range(12)]
    loader = pyfastdl.DataLoader(dataset, batch_size=batch_size, on_error=on_error)
    with pytest.raises(MemoryError) as caught:
        list(loader)
    assert caught.value.__notes__ == ["Raised in pyfastdl.DataLoader, while loading sample 7 (data/7.jpg)."]


def test_without_workers_the_batch_is_named_where_the_sample_is_not_known():
    with pytest.raises(OSError) as caught:
        list(pyfastdl.DataLoader(FaultyAtOnce(bad=[6]), batch_size=4))
    assert "loading samples [4, 5, 6, 7]" in text_of(caught.value)
    with pytest.raises(ZeroDivisionError) as caught:
        list(pyfastdl.DataLoader(Squares(8), batch_size=4, collate_fn=lambda batch: 1 // (batch[0][1] - 4)))
    assert "collating samples [4, 5, 6, 7]" in text_of(caught.value)


def test_what_is_no_samples_fault_names_none():
    """An iterable's exception, and a sampler's."""

    def failing():
        yield 0
        raise LookupError("no more")

    class Stream(IterableDataset):
        def __iter__(self):
            return failing()

    for arguments in ({"dataset": Stream()}, {"dataset": Squares(), "sampler": failing()}):
        for batch_size in (None, 1):
            if "sampler" in arguments:
                arguments["sampler"] = failing()
            with pytest.raises(LookupError) as caught:
                list(pyfastdl.DataLoader(**arguments, batch_size=batch_size))
            assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("mode", MODES)
def test_exceptions_of_collate_fn_and_init_fn(mode):
    def fail(_):
        raise LookupError("not today")

    for arguments in ({"collate_fn": fail}, {"worker_init_fn": fail}):
        with pytest.raises(LookupError, match="not today"):
            list(pyfastdl.DataLoader(Squares(4), num_workers=1, worker_mode=mode, **arguments))


def test_a_failed_init_fn_keeps_no_iterator():
    iterator = iter(pyfastdl.DataLoader(Squares(4), num_workers=1, worker_mode="thread", worker_init_fn=len))
    for wanted in (TypeError, RuntimeError, RuntimeError):
        with pytest.raises(wanted, match="object of type 'int' has no len"):
            next(iterator)
    pool = weakref.ref(iterator._pool)
    del iterator
    gc.collect()
    assert pool() is None or pool().closed


def test_the_first_of_several_failed_samples_is_raised():
    def make(index):
        time.sleep(0.02 if index == 1 else 0)
        raise ValueError(f"sample is {index}")

    with pytest.raises(ValueError, match="sample is 0"):
        list(pyfastdl.DataLoader(By(make), batch_size=12, num_workers=4, worker_mode="thread"))


def test_an_epoch_never_ends_early_without_a_word():
    """In a thread: StopIteration of a dataset, and what isn't an Exception."""
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(pyfastdl.DataLoader(By(fail_at_seven(StopIteration)), num_workers=1, worker_mode="thread"))
    with pytest.raises(RuntimeError, match="SystemExit"):
        list(pyfastdl.DataLoader(By(fail_at_seven(SystemExit, 3)), num_workers=1, worker_mode="thread"))


@pytest.mark.parametrize("mode", MODES)
def test_errors_match_torchs_words(mode):
    """The same arguments are refused in the same words."""
    wrong = [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"batch_size": 0},
        {"batch_size": None, "drop_last": True},
        {"sampler": [1], "shuffle": True},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"multiprocessing_context": "fork"},
        {"multiprocessing_context": "no such", "num_workers": 1},
        {"multiprocessing_context": 3, "num_workers": 1},
        {"prefetch_factor": -1, "num_workers": 1},
    ]
    for arguments in wrong:
        raised = []
        for make in (DataLoader, lambda *a, **k: pyfastdl.DataLoader(*a, worker_mode=mode, **k)):
            with pytest.raises((ValueError, TypeError)) as caught:
                make(Squares(), **arguments)
            raised.append((caught.type, str(caught.value)))
        assert raised[0] == raised[1]


@pytest.mark.parametrize("mode", MODES)
def test_a_sample_that_hangs(mode):
    """The time limit names it; a new epoch works."""
    hangs, release = os.pipe(), os.pipe()

    def comes(pipe, seconds):
        return select.select([pipe[0]], [], [], seconds)[0]

    def make(index):
        if index == 5:
            os.write(hangs[1], b"x")
            comes(release, 120)
        return index

    loader = pyfastdl.DataLoader(By(make), batch_size=2, num_workers=2, timeout=60, worker_mode=mode)
    iterator = iter(loader)
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    assert comes(hangs, 60)
    iterator._timeout = 1  # from here on: a slow machine may need longer to start workers
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"timed out after 1 seconds.*\b5\b") as caught:
        next(iterator)
    assert "worker" in str(caught.value)
    del iterator
    assert time.monotonic() - start < 60, "it isn't waited for"
    os.write(release[1], b"x")
    assert torch.cat(list(loader)).tolist() == list(range(12))
    for end in (*hangs, *release):
        os.close(end)


@pytest.mark.skipif(MODES == ["thread"], reason="threads don't die alone")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_worker_that_is_killed(number, persistent, capfd):
    """It is named, with signal and samples; then the loader can be used again."""
    kill = [True]

    def make(index):
        if index == 7 and kill:
            os.kill(os.getpid(), number)
        return index

    loader = pyfastdl.DataLoader(
        By(make), batch_size=2, num_workers=2, worker_mode="process", persistent_workers=persistent
    )
    with pytest.raises(RuntimeError) as caught:
        list(loader)
    assert number.name in str(caught.value)
    assert "pid" in str(caught.value) and "[6, 7]" in str(caught.value)
    kill.clear()
    assert torch.cat(list(loader)).tolist() == list(range(12))


@pytest.mark.skipif(MODES == ["thread"], reason="threads don't die alone")
@pytest.mark.parametrize("ended_in", ["the start", "the training step"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGBUS])
def test_a_worker_that_is_killed_meanwhile(number, ended_in, monkeypatch):
    """Wherever the program was then: it is told when it asks for a batch, and in the same words."""
    dead = []

    def make(index):
        if index == 2:
            os.kill(os.getpid(), number)
        return index

    def wait_for_its_end(iterator):
        worker = iterator._workers[1]
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
        dead.append(worker)
        for _ in range(100):
            pass  # any line may be where a signal's handler raises

    put = ProcessIterator._try_put_index

    def put_and_wait(iterator):
        put(iterator)
        if ended_in == "the start" and iterator._send_idx == 2:
            wait_for_its_end(iterator)

    monkeypatch.setattr(ProcessIterator, "_try_put_index", put_and_wait)
    iterator = iter(pyfastdl.DataLoader(By(make), batch_size=2, num_workers=2, worker_mode="process"))
    if ended_in != "the start":
        wait_for_its_end(iterator)
    assert len(dead) == 1
    with pytest.raises(RuntimeError) as caught:
        list(iterator)
    assert number.name in str(caught.value)
    assert f"pid {dead[0].pid}" in str(caught.value) and "[2, 3]" in str(caught.value)


def test_timeouts_of_batches_in_time_do_nothing():
    loader = pyfastdl.DataLoader(Squares(), batch_size=4, num_workers=2, timeout=60, worker_mode=MODES[0])
    assert_same(list(loader), list(DataLoader(Squares(), batch_size=4)))
