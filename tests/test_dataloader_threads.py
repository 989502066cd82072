"""What threads add: samples shared out, a width that adapts, random numbers by sample."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import torch
from loaders import MODES, By, until
from torch.utils.data import RandomSampler

import pyfastdl
from pyfastdl._workers import Schema
from pyfastdl.workers.sample_rng import philox4x32_10
from pyfastdl.workers.width import Width

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def draw(index):
    rng = pyfastdl.sample_rng()
    return torch.rand(2, generator=rng.torch), rng.numpy.random(), index


def drawn(workers, mode=None, seed=3, epochs=2, **arguments):
    torch.manual_seed(seed)
    loader = pyfastdl.DataLoader(By(draw), num_workers=workers, worker_mode=mode, **arguments)
    return [list(loader) for _ in range(epochs)]


def flat(epochs):
    return [
        [(a.tolist(), float(b), int(i)) for batch in epoch for a, b, i in zip(*batch, strict=True)] for epoch in epochs
    ]


@pytest.mark.parametrize("sampler", ["shuffled", "with replacement"])
def test_sample_rng_is_the_same_with_any_workers(sampler):
    arguments = {"batch_size": 5, "shuffle": True}
    if sampler != "shuffled":
        arguments = {"batch_size": 5, "sampler": RandomSampler(range(12), replacement=True, num_samples=40)}
    none = flat(drawn(0, **arguments))
    for mode in MODES:
        assert flat(drawn(2, mode, **arguments)) == none
    numbers = [one[1] for epoch in none for one in epoch]
    assert len(set(numbers)) == len(numbers), "no two samples draw the same, not even the same one again"


def test_sample_rng_starts_afresh_with_the_sample():
    def twice(index):
        one, other = pyfastdl.sample_rng(), pyfastdl.sample_rng()
        return one.numpy.random() == other.numpy.random() != one.numpy.random()

    assert all(pyfastdl.DataLoader(By(twice), batch_size=None, num_workers=1, worker_mode="thread"))


def test_sample_rng_needs_a_sample():
    with pytest.raises(pyfastdl.LoaderError, match="__getitem__"):
        pyfastdl.sample_rng()
    with pytest.raises(pyfastdl.LoaderError, match="__getitem__"):
        list(pyfastdl.DataLoader(By(int), collate_fn=lambda _: pyfastdl.sample_rng()))


def test_philox_is_the_papers():
    """Known answers of the authors' distribution, Random123 (kat_vectors, philox4x32 with 10 rounds)."""
    assert philox4x32_10((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 0xFFFFFFFF
    assert philox4x32_10((ones,) * 4, (ones,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


def test_samples_of_one_batch_are_shared_out():
    """All samples of the batch have to be there at the same time."""
    barrier = threading.Barrier(4, timeout=60)
    loader = pyfastdl.DataLoader(By(lambda i: (barrier.wait() and i) or i, 4), 4, num_workers=4, worker_mode="thread")
    assert next(iter(loader)).tolist() == [0, 1, 2, 3]


def test_samples_that_wait_overlap(monkeypatch):
    monkeypatch.delenv("PYFASTDL_WORKER_MODE", raising=False)
    barrier = threading.Barrier(16, timeout=60)  # two batches' samples wait for each other
    loader = pyfastdl.DataLoader(By(lambda i: (barrier.wait() and i) or i, 64), batch_size=8, num_workers="auto")
    assert torch.cat(list(loader)).tolist() == list(range(64))


def test_the_width_follows_what_samples_do(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("pyfastdl.workers.width.time.monotonic", lambda: clock[0])

    def run(width, seconds, rate, cpu, wall):
        """Samples a second as rate(width) says, each with so many seconds on a CPU and by the clock."""
        for _ in range(int(seconds * 100)):
            clock[0] += 0.01
            samples = max(1, int(rate(width.now) * 0.01))
            width.add(samples, samples * wall(width.now), samples * cpu)

    waiting = Width(2)
    run(waiting, 5, lambda now: now / 0.05, cpu=0.0001, wall=lambda now: 0.05)
    assert waiting.now == 64
    computing = Width(2)
    run(computing, 10, lambda now: 400, cpu=0.005, wall=lambda now: 0.0025 * now)
    assert computing.now == 2
    assert "compute" in computing.reason
    mixed = Width(2)  # half as many threads are slower
    run(mixed, 10, lambda now: min(400, now / 0.08), cpu=0.004, wall=lambda now: 0.08)
    assert mixed.now == 32
    assert "slower" in mixed.reason
    quick = Width(2)  # they wait for each other, and most of the time goes by between them
    run(quick, 10, lambda now: 20_000, cpu=0.000005, wall=lambda now: 0.0009)
    assert quick.now == 2
    assert "less than a millisecond" in quick.reason


def test_the_reason_at_the_start_is_true_after_epochs_too(monkeypatch):
    monkeypatch.delenv("PYFASTDL_WORKER_MODE", raising=False)
    loader = pyfastdl.DataLoader(By(int, 4), num_workers="auto")
    list(loader)
    width = loader._width()
    assert f"{width.now} threads" in loader.explain()
    assert "the number it starts with: nothing showed yet" in loader.explain()


def test_a_narrower_width_loses_no_wakening(monkeypatch):
    """The thread that is woken for a batch may be one that isn't to work any more: it has another one do it."""
    monkeypatch.delenv("PYFASTDL_WORKER_MODE", raising=False)
    together = threading.Barrier(8, timeout=60)  # so there are as many threads
    dataset = By(lambda index: (index < 8 and together.wait() and index) or index, 400)
    loader = pyfastdl.DataLoader(dataset, batch_size=None, num_workers="auto", prefetch_factor=1, timeout=60)
    iterator = iter(loader)
    got = [next(iterator)]
    pool = iterator._pool
    assert until(lambda: pool._idle == len(pool._threads) >= 8)
    loader._width().now = 1
    assert [*got, *iterator] == list(range(400))


def test_sleeping_threads_hold_no_batch():
    """A large batch that the loop has dropped is gone, though the epoch goes on."""
    dropped = threading.Event()

    class Noisy:
        def __del__(self):
            dropped.set()

    def make(index):
        if index == 1:
            dropped.wait(60)
        return Noisy() if index == 0 else None

    iterator = iter(
        pyfastdl.DataLoader(By(make, 3), batch_size=None, num_workers=1, worker_mode="thread", prefetch_factor=1)
    )
    assert type(next(iterator)) is Noisy
    assert next(iterator) is None
    assert dropped.is_set()


def test_numpy_generators_are_numpys():
    (batch,) = drawn(0, epochs=1, batch_size=12)[0]
    assert isinstance(pyfastdl.workers.sample_rng.SampleRng(1, 2, 3, 4).numpy, np.random.Generator)
    assert batch[0].shape == (12, 2)


def test_auto_on_one_cpu(run_python):
    """Of many CPUs the process may use one: one decode thread, one process; readers that wait may be more."""
    code = """
import os, sys, time
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
import torch, pyfastdl
class Work(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        return i
print(pyfastdl.DataLoader(Work(), num_workers="auto", worker_mode="process").num_workers)
print(pyfastdl.NativeLoader(sys.argv[1:], batch_size=1, num_workers="auto").num_workers)
loader = pyfastdl.DataLoader(Work(), batch_size=4, num_workers="auto")
assert torch.cat(list(loader)).tolist() == list(range(64))
width = loader._width()
clock = time.monotonic() + 1000.0
time.monotonic = lambda: clock
for _ in range(2000):
    clock += 0.01
    width.add(4, wall=0.0025 * width.now * 4, cpu=0.0099)
print(width.now)
"""
    done = run_python(code, "a.jpg", env={"PYFASTDL_WORKER_MODE": ""})
    assert (done.stdout.split(), done.stderr) == (["1", "1", "1"], "")


def test_large_samples_are_written_without_the_interpreters_lock():
    """Case L9, without a clock. No thread has to give the lock up (the switch interval is endless): another one ticks
    during the write only if that gives it up itself."""
    sample = torch.ones(64 << 20)
    block = np.empty(sample.numel() * 4 + 64, np.uint8)
    schema = Schema.learn(sample, sample[None], 1)
    ticks = 0
    over = threading.Event()

    def tick():
        nonlocal ticks
        while not over.wait(0.0005):
            ticks += 1

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    try:
        thread.start()
        for _ in range(50):
            before = ticks
            assert schema.write(sample, block.ctypes.data, 0, [])
            if ticks > before:
                break
        else:
            raise AssertionError("no tick in 50 writes")
    finally:
        sys.setswitchinterval(interval)
        over.set()
        thread.join()
