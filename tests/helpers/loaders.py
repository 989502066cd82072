"""Datasets for the drop-in's tests, a comparison of batches type for type, a wait. Spawned workers import them."""

from __future__ import annotations

import collections
import dataclasses
import os
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset

import pyfastdl

#: The kinds of workers that the differential tests run with; PYFASTDL_WORKER_MODE picks one. (As in the package,
#: "native" is "auto" there, since most datasets here are no files. Both are processes, then.)
MODES = [os.environ.get("PYFASTDL_WORKER_MODE", "").replace("native", "auto")]
if MODES == [""]:
    MODES = ["thread", "process"]

Point = collections.namedtuple("Point", "x y")


#: For a program's head: interrupt_after(seconds) has it interrupted then, or by send() all that it names. By one thread
#: that is there already: within Thread.start() an interrupt may have threading release a lock that nobody holds. A
#: program that hangs ends, and says where it was.
INTERRUPTER = """
import faulthandler, os, queue, signal, threading, time

faulthandler.dump_traceback_later(100, exit=True)

def interrupter(send=lambda: os.kill(os.getpid(), signal.SIGINT)):
    asked = queue.SimpleQueue()
    def serve():
        for after in iter(asked.get, None):
            time.sleep(after)
            send()
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    def end():
        asked.put(None)
        thread.join()
    return asked.put, end
"""


class Of(Dataset):
    """Samples of a list."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index]


class By(Dataset):
    """Samples by a function of the index."""

    def __init__(self, make, length=12):
        self.make = make
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return self.make(index)


class Squares(Dataset):
    def __init__(self, length=26):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.full((2, 3), float(index)), index


class Invert:
    """A transform of pictures, of the user's."""

    def __call__(self, image):
        assert isinstance(image, Image.Image)
        return Image.eval(image, lambda value: 255 - value)


class AtOnce(Squares):
    """A whole batch by one call."""

    def __getitems__(self, indices):
        return [(torch.full((2, 3), -float(index)), index) for index in indices]


class Faulty(Squares):
    """Samples with numbers of their own, some of which raise a ValueError."""

    def __init__(self, length=26, bad=(3, 7, 8, 9, 10, 11, 25)):
        super().__init__(length)
        self.bad = set(bad)

    def __getitem__(self, index):
        if int(index) in self.bad:
            raise ValueError(f"sample {int(index)} is bad")
        return torch.rand(2, generator=pyfastdl.sample_rng().torch), index


class FaultyAtOnce(Faulty):
    """A whole batch by one call, which fails when one of them does."""

    def __getitems__(self, indices):
        assert type(indices) is list
        if self.bad.intersection(indices):
            raise OSError("one of these is bad")
        return [(torch.full((2,), float(index)), index) for index in indices]


class OnlyAtOnce(torch.utils.data.Dataset):
    """No single samples: torch's base class raises NotImplementedError."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitems__(self, indices):
        return self.dataset.__getitems__(indices)


def on_error_loader(dataset, workers, mode, on_error, seed=5, **arguments):
    """A loader in batches of 4, with a generator of its own."""
    return pyfastdl.DataLoader(
        dataset,
        **{"batch_size": 4, **arguments},
        num_workers=workers,
        worker_mode=mode,
        on_error=on_error,
        generator=torch.Generator().manual_seed(seed),
    )


def indices_of(loader):
    """Of samples that are (values, index)."""
    return [batch[1].tolist() for batch in loader]


class Sharded(IterableDataset):
    """range(length), each worker its part; or everybody all of it."""

    def __init__(self, length=100, shard=True):
        self.length = length
        self.shard = shard

    def __iter__(self):
        info = pyfastdl.get_worker_info()
        if info is None or not self.shard:
            return iter(range(self.length))
        return iter(range(info.id, self.length, info.num_workers))


@dataclasses.dataclass
class Record:
    value: int


class Options(dict):
    """A dict with more to it."""

    kind = "options"


def assert_same(got, wanted):
    """Equal in value, and in type all the way down."""
    assert type(got) is type(wanted), f"{type(got)} instead of {type(wanted)}"
    if isinstance(wanted, torch.Tensor):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        assert torch.equal(got, wanted)
    elif isinstance(wanted, np.ndarray):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key in wanted:
            assert_same(got[key], wanted[key])
    elif isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other)
    else:
        assert got == wanted


def tasks():
    """The process's threads, native ones too. A thread that was joined may be there a moment longer."""
    return set(os.listdir("/proc/self/task"))


def resident():
    """Bytes of this process's memory, counted. (The number that psutil's ``rss`` is may be off by megabytes where there
    are many CPUs, each of which counts by itself.)"""
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))


def until(true, seconds=60):
    """Whether it became true in that time, which is enough for any machine."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()
