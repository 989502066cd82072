"""What ``on_error`` doesn't pass over, since it is no fault of a sample's. Case F9."""

from __future__ import annotations

import errno
import os
import signal
import time

import pytest
import torch
from loaders import MODES, By, Sharded, Squares, assert_same, indices_of
from loaders import on_error_loader as loader_of
from torch.utils.data import DataLoader

import pyfastdl

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
POLICIES = ["skip", "replace"]


def test_iterables_cannot_pass_over_samples():
    for on_error in POLICIES:
        with pytest.raises(ValueError, match=r"map-style.*is over"):
            pyfastdl.DataLoader(Sharded(), on_error=on_error)


def raising(error, first=1):
    def make(index):
        if index == first:
            raise ValueError("passed over")
        if index == 6:
            raise error
        return index

    return make


def caused(cause):
    error = ValueError("could not load")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("on_error", POLICIES)
def test_a_lack_of_memory_is_never_passed_over(mode, workers, on_error):
    lacks = [
        MemoryError("no room"),
        torch.cuda.OutOfMemoryError("no room"),
        OSError(errno.ENOMEM, "no room"),
        RuntimeError("DefaultCPUAllocator: no room"),
        caused(MemoryError("no room")),
    ]
    for error in lacks if workers == 0 else lacks[:1]:
        loader = loader_of(By(raising(error)), workers, mode, on_error)
        with pytest.raises(type(error), match="no room|could not load"):
            list(loader)
        assert [one.index for one in loader.errors] == [1]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_no_fault_of_a_sample_is_raised(mode):
    def fail(*_):
        raise LookupError("not today")

    class BrokenSampler:
        def __iter__(self):
            yield [0, 1]
            raise LookupError("not today")

    wrong = [
        {"collate_fn": fail},
        {"batch_size": 1, "batch_sampler": BrokenSampler()},
        {"batch_size": 1, "sampler": [0, 12]},  # an index that the dataset doesn't have
    ]
    for workers in (0, 1):
        for arguments in [*wrong, *([{"worker_init_fn": fail}] if workers else [])]:
            with pytest.raises(LookupError):  # IndexError is one
                list(loader_of(By(list(range(12)).__getitem__), workers, mode, "skip", **arguments))
    loader = loader_of(By(raising(SystemExit(3))), 0, mode, "skip")
    with pytest.raises(SystemExit):
        list(loader)


def test_stop_iteration_is_torchs():
    for error in (StopIteration, StopIteration("early")):
        dataset = By(raising(error, first=None))
        assert_same(list(loader_of(dataset, 0, None, "skip")), list(DataLoader(dataset, batch_size=4)))


@pytest.mark.skipif(MODES == ["thread"], reason="threads don't die alone")
def test_a_workers_death_is_raised():
    def make(index):
        if index == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return index

    with pytest.raises(RuntimeError, match="SIGKILL"):
        list(loader_of(By(make), 1, "process", "skip"))


@pytest.mark.parametrize("mode", MODES)
def test_a_timeout_is_raised(mode):
    end = time.monotonic() + 30

    def make(index):
        while index == 6 and time.monotonic() < end:
            time.sleep(0.02)
        return index

    with pytest.raises(RuntimeError, match="timed out after 1 seconds"):
        list(loader_of(By(make), 1, mode, "skip", timeout=1))
    end = 0


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_that_was_raised_is_through(mode):
    """An epoch that goes on behind it, goes on behind it after a resume too."""
    for workers in (0, 1):
        loader = loader_of(By(raising(ValueError("bad"))), workers, mode, "raise", batch_size=1)
        iterator = iter(loader)
        assert next(iterator).tolist() == [0]
        with pytest.raises(ValueError, match="passed over"):
            next(iterator)
        assert next(iterator).tolist() == [2]
        state = loader.state_dict()
        again = loader_of(Squares(12), 0, None, "raise", batch_size=1)
        again.load_state_dict(state)
        assert indices_of(again)[0] == [3]
