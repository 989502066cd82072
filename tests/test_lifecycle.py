"""A loader's life: left half-way, started twice, interrupted, forked, ended. Cases L1-L11 of native loading."""

from __future__ import annotations

import itertools
import os
import threading

import psutil
import pytest
import torch
from loaders import INTERRUPTER, resident, tasks, until

import pyfastdl
from pyfastdl import transforms as T

TRANSFORM = [T.RandomResizedCrop(24), T.RandomHorizontalFlip()]

# The same loader in a program of its own; its folder is the first argument.
PROGRAM = """
import os, signal, sys, threading, time
import pyfastdl
from pyfastdl import transforms as T

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start without it

def make(**arguments):
    return pyfastdl.NativeLoader(
        sys.argv[1], **{"batch_size": 2, "num_workers": 2, "shuffle": True, "seed": 0,
                        "transform": [T.RandomResizedCrop(24)], **arguments})
"""


def make(folder, **arguments):
    return pyfastdl.NativeLoader(
        folder, **{"batch_size": 4, "num_workers": 2, "shuffle": True, "seed": 0, "transform": TRANSFORM, **arguments}
    )


def seen(batches):
    return list(itertools.chain.from_iterable(batch[-1].tolist() for batch in batches))


# -- L5: started again


def test_every_start_is_a_full_fresh_epoch(image_folder):
    loader = make(image_folder, return_index=True)
    for taken in (0, 1, 2, 4):
        list(itertools.islice(loader, taken))
        assert sorted(seen(loader)) == list(range(15))


def test_two_epochs_at_once_do_not_mix(image_folder):
    loader = make(image_folder, return_index=True)
    alone = [[batch[-1].tolist() for batch in loader] for _ in range(2)]
    loader.set_epoch(0)
    pairs = list(zip(loader, loader, strict=True))
    assert [first[-1].tolist() for first, _ in pairs] == alone[0]
    assert [second[-1].tolist() for _, second in pairs] == alone[1]


def test_a_second_start_leaves_the_first_alone(image_folder):
    loader = make(image_folder, return_index=True)
    expected = seen(loader)
    loader.set_epoch(0)
    first = iter(loader)
    start = seen(itertools.islice(first, 2))
    assert sorted(seen(loader)) == list(range(15))
    assert start + seen(first) == expected
    assert next(first, None) is None


# -- L4, L8: nothing piles up


def footprint():
    process = psutil.Process()
    return process.num_threads(), process.num_fds(), len(process.memory_maps(grouped=False)), resident()


def stays(before):
    """Loaders of earlier tests may end meanwhile, and threads that were joined are counted a moment longer."""
    most = (before[0], before[1], before[2] + 10, before[3] + (20 << 20))
    return until(lambda: all(now <= then for now, then in zip(footprint(), most, strict=True)))


def test_threads_descriptors_and_memory_stay_flat(image_folder):
    loader = make(image_folder)
    for _ in range(100):
        next(iter(loader))
    before = footprint()
    for _ in range(500):
        next(iter(loader))
    assert stays(before), (footprint(), before)


def test_loaders_made_again_and_again_leave_nothing(image_folder):
    for _ in range(20):
        next(iter(make(image_folder)))
    before = footprint()
    for i in range(200):
        for _ in make(image_folder):
            if i % 2:
                break
    assert stays(before), (footprint(), before)


def test_closing_ends_the_threads(image_folder):
    before = tasks()
    loader = make(image_folder, num_workers=5)
    epoch = iter(loader)
    next(epoch)
    own = tasks() - before
    assert len(own) > 5
    loader.close()
    assert until(lambda: not own & tasks())


# -- L6: everything at its smallest


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 15])
@pytest.mark.parametrize("hold", [False, True], ids=["drop", "hold"])
def test_smallest_ring_never_stops(image_folder, num_workers, batch_size, hold):
    loader = make(image_folder, batch_size=batch_size, num_workers=num_workers, prefetch_factor=1, return_index=True)
    for _ in range(3):
        epoch = iter(loader)
        batches = []
        for batch in epoch:
            batches.append(batch)
            if not hold:
                batches = batches[-1:]
                os.sched_yield()
        if hold:
            assert sorted(seen(batches)) == list(range(15))


# -- L10, L11: the machine and the process


def test_auto_is_the_cpus_that_were_granted(image_folder, run_python):
    one_cpu = "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\nprint(make(num_workers='auto').num_workers)"
    result = run_python(PROGRAM + one_cpu, str(image_folder))
    assert (result.stdout, result.stderr) == ("1\n", "")


def test_the_process_is_left_as_it_was(image_folder):
    def settings():
        import signal

        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)}
        return (
            torch.get_num_threads(), torch.get_num_interop_threads(), os.sched_getaffinity(0), handlers,
            torch.get_rng_state().tolist(), os.getcwd(), os.environ.copy(), torch.utils.data.DataLoader,
        )  # fmt: skip

    before = settings()
    loader = make(image_folder)
    for _ in range(3):
        list(loader)
    loader.close()
    assert settings() == before


# -- threads of the user's


def test_one_epoch_may_be_shared_by_threads(image_folder):
    epoch = iter(make(image_folder, batch_size=1, return_index=True))
    lists = [[] for _ in range(4)]

    def work(mine):
        mine.extend(batch[-1].item() for batch in epoch)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(itertools.chain(*lists)) == list(range(15))


# -- L1, L8: fork


FORKS = """
def parents_epoch():
    try:
        next(epoch)
    except pyfastdl.LoaderError as error:
        assert "forked child" in str(error)
    else:
        raise AssertionError("the child got a batch of its parent's")

def drop():
    global loader, epoch
    del loader, epoch

def collect():
    global epoch
    epoch = None
    import gc
    gc.collect()

def own_epoch():
    assert len(list(loader)) == 8

for action in [lambda: None, own_epoch, drop, lambda: loader.close(), collect, parents_epoch]:
    loader = make()
    epoch = iter(loader)
    first = next(epoch)[0]
    copy = first.clone()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        action()
        first.zero_()
        del first
        os._exit(0) if sys.argv[2] == "hard" else sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, action
    assert (first == copy).all(), action
    assert len([1 for _ in epoch]) == 7, action
print("done")
"""


@pytest.mark.parametrize("how", ["hard", "soft"])
def test_a_forked_child_works_or_is_told(image_folder, run_python, how):
    result = run_python(PROGRAM + FORKS, str(image_folder), how)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


# -- L3: interrupted and ended


INTERRUPTED = """
import random
loader = make(prefetch_factor=2)
list(loader)  # Python's import system may keep an interrupt to itself: import what is imported lazily
rng = random.Random(0)
stopped = 0
interrupt_after, end = interrupter()
while stopped < 50:
    try:
        interrupt_after(rng.random() * 0.02)
        while True:
            for images, labels in loader:
                pass
    except KeyboardInterrupt:
        stopped += 1
end()
assert len(list(loader)) == 8
assert sorted({thread.name for thread in threading.enumerate()}) == ["MainThread"]
print("done")
"""


def test_ctrl_c_at_any_moment_leaves_a_loader_that_works(image_folder, run_python):
    result = run_python(PROGRAM + INTERRUPTER + INTERRUPTED, str(image_folder))
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


ENDS = {
    "ctrl-c": ("for batch in loader: os.kill(os.getpid(), signal.SIGINT); time.sleep(1)", -2, "KeyboardInterrupt"),
    "sys.exit in mid-epoch": ("for batch in loader: sys.exit(7)", 7, None),
    "an error in mid-epoch": ("for batch in loader: raise KeyError('mine')", 1, "KeyError: 'mine'"),
    "global at exit": ("epoch = iter(loader); kept = next(epoch)", 0, None),
    "batches in a cycle": ("cycle = [loader, next(iter(loader))]; cycle.append(cycle)", 0, None),
    "never iterated": ("pass", 0, None),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_is_quiet_and_has_its_exit_code(image_folder, run_python, end):
    body, code, last_line = ENDS[end]
    result = run_python(PROGRAM + "loader = make()\n" + body, str(image_folder))
    assert result.returncode == code
    if last_line is None:
        assert result.stderr == ""
    else:
        assert result.stderr.count("Traceback") == 1
        assert result.stderr.strip().splitlines()[-1] == last_line


def test_pillows_threads_end_quietly_too(tmp_path, run_python):
    from PIL import Image

    for i in range(8):
        Image.new("RGB", (30, 30), (i, i, i)).save(tmp_path / f"{i}.bmp")
    code = """
import glob, sys, threading, pyfastdl
files = sorted(glob.glob(sys.argv[1] + "/*.bmp"))
loader = pyfastdl.NativeLoader(files, 2)
epoch = iter(loader)
next(epoch)
assert threading.active_count() > 1
other = pyfastdl.NativeLoader(files, 2)
assert len(list(other)) == 4
other.close()
"""
    result = run_python(code, str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
