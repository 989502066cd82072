"""Python functions at the end of NativeLoader's transform list."""

from __future__ import annotations

import functools
import os
import threading
import time

import numpy as np
import pytest
import torch
from callable_loaders import CROP, Odd, fails_on, loader_of, place
from loaders import INTERRUPTER, assert_same
from torch.utils.data import default_collate

import pyfastdl
from pyfastdl import transforms as T

NORMALIZE = T.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.25])

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def files(image_folder):
    return sorted(str(path) for path in image_folder.glob("*/*.jpg"))


def numbers(image):
    """Random ones, which say which sample it was."""
    return torch.rand(2, generator=pyfastdl.sample_rng().torch)


# -- what a callable gets and gives


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x,
        lambda x: x.mean((1, 2)),
        lambda x: {"small": x[:, ::2, ::2], "sum": float(x.sum()), "name": "x"},
        lambda x: (x, x.flip(2)),
        lambda x: x.numpy().transpose(1, 2, 0),
        lambda x: int(x.sum()),
    ],
    ids=["same", "vector", "dict", "tuple", "numpy", "int"],
)
def test_batches_are_what_default_collate_makes_of_the_results(image_folder, make):
    plain = list(loader_of(image_folder, return_index=True, shuffle=True))
    got = list(loader_of(image_folder, make, return_index=True, shuffle=True))
    assert len(got) == len(plain) == 4
    for (images, labels, index), batch in zip(plain, got, strict=True):
        assert_same(batch, (default_collate([make(image.clone()) for image in images]), labels, index))


def test_each_gets_what_the_one_before_it_returned(files):
    plain = list(loader_of(files))
    for batch, images in zip(loader_of(files, lambda x: {"x": x * 2}, lambda d: d["x"] + 1), plain, strict=True):
        assert_same(batch, images * 2 + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.uint8])
@pytest.mark.parametrize("normalize", [[], [NORMALIZE]])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_the_image_has_the_loaders_dtype_and_is_normalised(files, dtype, normalize, memory_format):
    seen = []
    options = {"dtype": dtype, "memory_format": memory_format, "transform": [*CROP, *normalize]}
    for batch, plain in zip(
        loader_of(files, lambda x: seen.append((x.dtype, tuple(x.shape))) or x, **options),
        loader_of(files, **options),
        strict=True,
    ):
        assert_same(batch, plain)
        assert batch.is_contiguous(memory_format=memory_format)
    wanted = torch.float32 if normalize and dtype == torch.uint8 else dtype
    assert seen == [(wanted, (3, 24, 24))] * 15


def test_an_image_is_the_callables_own(files):
    """Kept ones stay as they are, changed ones change nothing else."""
    kept = []

    def keep(image):
        kept.append((image, image.clone()))
        return image

    def zero(image):
        return image.zero_()

    plain = list(loader_of(files, batch_size=1, shuffle=True))
    for _ in range(3):
        for batch in loader_of(files, keep, batch_size=1, shuffle=True):
            batch.fill_(7)
    assert all(torch.equal(image, copy) for image, copy in kept)
    assert len(kept) == 45
    assert all(not batch.any() for batch in loader_of(files, zero))
    for batch, images in zip(loader_of(files, batch_size=1, shuffle=True), plain, strict=True):
        assert_same(batch, images)


def test_views_have_callables_of_their_own(image_folder):
    views = [[*CROP, lambda x: x.mean()], [T.Resize((9, 8))], T.Compose([*CROP, lambda x: {"x": x}])]
    plain = pyfastdl.NativeLoader(image_folder, 4, transform=[CROP, [T.Resize((9, 8))], CROP], seed=3)
    got = pyfastdl.NativeLoader(image_folder, 4, transform=views, seed=3)
    for ((a, b, c), labels), ((x, y, z), wanted) in zip(got, plain, strict=True):
        assert_same((a, b, c["x"], labels), (default_collate([image.mean() for image in x]), y, z, wanted))


def test_compose_keeps_its_native_part(files):
    transform = T.Compose([*CROP, NORMALIZE, torch.sin])
    bare = T.Compose([*CROP, NORMALIZE])
    assert transform.sample(60, 80, seed=1, epoch=0, index=2) == bare.sample(60, 80, seed=1, epoch=0, index=2)
    assert transform.plan().static_output_size() == (24, 24)
    assert "sin" in repr(transform)
    assert (transform.callables, bare.callables) == ((torch.sin,), ())
    assert_same(
        list(pyfastdl.NativeLoader(files, 4, transform=transform, seed=0)),
        [x.sin() for x in pyfastdl.NativeLoader(files, 4, transform=bare, seed=0)],
    )


@pytest.mark.parametrize("last", [T.Normalize(0.5, 0.5), T.Resize(3), T.ToTensor()])
def test_native_transforms_come_before_callables(files, last):
    for transform in ([*CROP, torch.sin, last], [[*CROP, torch.sin, last], CROP]):
        with pytest.raises(ValueError, match=f"move {type(last).__name__} before it"):
            pyfastdl.NativeLoader(files, transform=transform)


def test_batches_move_to_the_device_when_they_are_collated(files):
    seen = []

    def call(image):
        seen.append(image.device.type)
        return {"a": image, "b": [image.sum(), "text"]}

    for batch in loader_of(files, call, device="meta", targets=list(range(15))):
        images, labels = batch
        assert {images["a"].device.type, images["b"][0].device.type, labels.device.type} == {"meta"}
        assert list(images["b"][1]) == ["text"] * len(labels)
    assert seen == ["cpu"] * 15


# -- threads, order, random numbers


def test_they_run_in_pythons_own_threads_and_those_end(files):
    names = set()
    meetings = [threading.Barrier(2, timeout=60)] * 2  # of the first two samples, once

    def call(image):
        names.add(threading.current_thread().name)
        if place() < 2 and meetings:
            meetings.pop().wait()
        return image

    before = set(threading.enumerate())  # those of earlier tests' loaders may end meanwhile
    loader = loader_of(files, call, num_workers=3)
    assert set(threading.enumerate()) <= before
    list(loader)
    assert set(threading.enumerate()) <= before
    epoch = iter(loader)
    next(epoch)
    assert set(threading.enumerate()) - before
    del epoch
    assert set(threading.enumerate()) <= before
    kept = iter(loader)
    loader.close()
    assert set(threading.enumerate()) <= before
    del kept
    assert 1 < len(names) <= 3
    assert all(name.startswith("pyfastdl-") for name in names)


def test_batches_are_worked_on_while_the_training_loop_has_one(files):
    calls, enough = [], threading.Event()

    def call(image):
        calls.append(1)
        if len(calls) == 12:
            enough.set()
        return image

    epoch = iter(loader_of(files, call, prefetch_factor=2))
    next(epoch)
    assert enough.wait(60)  # the first batch and two more; none of them was asked for
    time.sleep(0.05)
    assert len(calls) == 12


def random_numbers(image):
    rng = pyfastdl.sample_rng()
    time.sleep(rng.numpy.uniform(0, 0.003))  # samples finish in any order
    return image + torch.rand((), generator=rng.torch), rng.numpy.integers(1 << 60)


@pytest.mark.parametrize("arguments", [{"shuffle": True}, {"sampler": [3, 3, 1, 3, 0, 9, 1, 3]}])
def test_batches_do_not_depend_on_the_number_of_threads(files, arguments):
    def epochs(num_workers, prefetch_factor):
        options = {"num_workers": num_workers, "prefetch_factor": prefetch_factor, "return_index": True}
        loader = loader_of(files, random_numbers, batch_size=3, **arguments, **options)
        return [list(loader), list(loader)]

    one = epochs(1, 1)
    assert_same(epochs(3, 4), one)
    drawn = [number for epoch in one for (_, integers), _ in epoch for number in integers.tolist()]
    assert len(set(drawn)) == len(drawn)  # each occurrence and each epoch has its own


def test_random_numbers_are_keyed_by_the_sample(files):
    from pyfastdl.workers.sample_rng import SampleRng

    loader = loader_of(files, numbers, sampler=[5, 2, 5])
    loader.set_epoch(8)
    (batch,) = loader
    for got, (index, occurrence) in zip(batch, [(5, 0), (2, 0), (5, 1)], strict=True):
        assert torch.equal(got, torch.rand(2, generator=SampleRng(3, 8, index, occurrence).torch))
    with pytest.raises(pyfastdl.LoaderError):
        pyfastdl.sample_rng()


def test_two_epochs_at_once_do_not_mix(files):
    loader = loader_of(files, torch.sin, shuffle=True)
    first, second = [x.sin() for x in loader_of(files, shuffle=True)], None
    plain = loader_of(files, shuffle=True)
    plain.set_epoch(1)
    second = [x.sin() for x in plain]
    got = list(zip(iter(loader), iter(loader), strict=True))
    assert_same(got, list(zip(first, second, strict=True)))


def test_smallest_of_everything_goes_on(files):
    loader = loader_of(files, torch.sin, batch_size=1, num_workers=1, prefetch_factor=1)
    held = [batch for _ in range(3) for batch in loader]
    plain = loader_of(files, batch_size=1)
    assert_same(held, [batch.sin() for _ in range(3) for batch in plain])


def test_batches_of_all_sizes(files):
    sampler = [[0], [1, 2, 3, 4, 5], [6, 7], list(range(15)), [1]]
    loader = pyfastdl.NativeLoader(files, batch_sampler=sampler, transform=[*CROP, numbers], seed=0)
    got = list(loader)
    assert [len(batch) for batch in got] == [1, 5, 2, 15, 1]
    assert not torch.equal(got[-1][0], got[1][0])  # index 1 for the third time: a larger pipeline doesn't forget it
    loader.set_epoch(0)
    assert_same(list(loader), got)


# -- the end, statistics, other ways in


def test_closing_under_another_threads_next(files):
    loader = loader_of(files, functools.partial(torch.mul, other=2), batch_size=1)
    for _ in range(20):
        epoch = iter(loader)
        thread = threading.Thread(target=lambda epoch=epoch: next(epoch, None) is None)
        thread.start()
        thread.join()
        epoch.close()
        with pytest.raises(pyfastdl.LoaderError, match="closed before its last batch"):
            next(epoch)
    assert len(list(loader)) == 15


def test_a_forked_child_works_or_is_told(files):
    loader = loader_of(files, torch.sin)
    wanted = [x.sin().sum() for x in loader_of(files)]
    epoch = iter(loader)
    next(epoch)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            try:
                next(epoch)
            except pyfastdl.LoaderError as error:
                code = 0 if "forked child" in str(error) else 2
            loader.set_epoch(0)
            if [float(x.sum()) for x in loader] != [float(x) for x in wanted]:
                code = 3
            del epoch
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(epoch)) == 3


@pytest.mark.parametrize("end", ["sys.exit(3)", "os.kill(os.getpid(), signal.SIGINT)"])
def test_every_end_is_quiet(image_folder, run_python, end):
    done = run_python(
        "import os, signal, sys, time, pyfastdl\n"
        "from pyfastdl import transforms as T\n"
        "def call(image):\n"
        "    time.sleep(0.01)\n"
        "    return image\n"
        "loader = pyfastdl.NativeLoader(sys.argv[1], 1, transform=[T.Resize((9, 9)), call], num_workers=3)\n"
        "epoch = iter(loader)\n"
        "next(epoch)\n" + end,
        str(image_folder),
    )
    interrupted = "kill" in end
    assert done.returncode == (-2 if interrupted else 3)
    assert done.stderr.count("Traceback") == interrupted
    assert "Exception ignored" not in done.stderr and "FATAL" not in done.stderr


def test_ctrl_c_at_any_moment_leaves_a_loader_that_works(image_folder, run_python):
    done = run_python(
        INTERRUPTER + "import random, signal, sys, threading, time, pyfastdl\n"
        "from pyfastdl import transforms as T\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "call = lambda image: (time.sleep(0.0005), image)[1]\n"
        "loader = pyfastdl.NativeLoader(sys.argv[1], 2, transform=[T.Resize((9, 9)), call], num_workers=2)\n"
        "list(loader)  # Python's import system may keep an interrupt to itself: import what is imported lazily\n"
        "rng, stopped = random.Random(0), 0\n"
        "interrupt_after, end = interrupter()\n"
        "while stopped < 30:\n"
        "    try:\n"
        "        interrupt_after(rng.random() * 0.02)\n"
        "        while True:\n"
        "            for images, labels in loader:\n"
        "                pass\n"
        "    except KeyboardInterrupt:\n"
        "        stopped += 1\n"
        "end()\n"
        "assert len(list(loader)) == 8\n"
        "assert [thread.name for thread in threading.enumerate()] == ['MainThread']\n"
        "print('done')\n",
        str(image_folder),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_stats_name_slow_callables(files):
    def slow(image):
        time.sleep(0.1)  # so long that a machine that is slow to do the rest makes no difference
        return image

    loader = loader_of(files, slow)
    list(loader)
    stats = loader.stats()
    assert 1.5 <= stats.python_s <= 2 * stats.wall_s + 0.1
    assert stats.batches == 4 and stats.samples == 15
    assert "Python callables of the transform are the bottleneck" in stats.verdict
    assert "Python callables" in str(stats)
    assert loader_of(files).stats().python_s == 0


@pytest.mark.parametrize("resize", [[T.Resize((20, 30))], []], ids=["sized", "unsized"])
def test_image_folder_applies_them_too(image_folder, resize):
    plain = pyfastdl.ImageFolder(image_folder, resize)
    dataset = pyfastdl.ImageFolder(image_folder, [*resize, lambda x: (x.mean(), numbers(x)[0])])
    mean, _ = dataset[3][0]
    assert torch.equal(mean, plain[3][0].mean()) and dataset[3][1] == plain[3][1]
    torch.manual_seed(0)
    batch = dataset.__getitems__([2, 7, 2])
    torch.manual_seed(0)
    assert_same(dataset.__getitems__([2, 7, 2]), batch)
    assert len({float(number) for (_, number), _ in batch}) == 3
    views = pyfastdl.ImageFolder(image_folder, [[*resize, torch.sin], resize or [T.CenterCrop(5)]])
    assert torch.equal(views[1][0][0], plain[1][0].sin())
    failing = pyfastdl.ImageFolder(image_folder, [*resize, fails_on({4}, Odd(1, 2))])
    with pytest.raises(Odd) as caught:
        failing[4]
    assert "fails_on" in caught.value.__notes__[0] and "sample 4 (" in caught.value.__notes__[0]


def test_arrays_that_numpy_made_are_collated(files):
    batch = next(iter(loader_of(files, lambda x: np.float64(x.sum()))))
    assert batch.dtype == torch.float64 and batch.shape == (4,)
