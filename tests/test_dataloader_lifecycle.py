"""Starting, stopping, forking and leaving: nothing is left behind, nothing waits for ever. Cases L1, L3-L8, L11."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sys
import threading
import time

import psutil
import pytest
import torch
from loaders import INTERRUPTER, MODES, By, Squares, assert_same, until
from torch.utils.data import DataLoader

import pyfastdl

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

PREPARE = """
import os, signal, sys, threading, time
import torch, pyfastdl
class Data(torch.utils.data.Dataset):
    def __len__(self): return 400
    def __getitem__(self, i):
        time.sleep(0.002)
        return torch.full((64, 64), float(i)), i
mode = sys.argv[1]
loader = pyfastdl.DataLoader(Data(), batch_size=8, num_workers=2, worker_mode=mode)
"""


def ours():
    return [thread for thread in threading.enumerate() if thread.name.startswith("pyfastdl-")]


def footprint():
    gc.collect()
    process = psutil.Process()
    return process.num_threads(), process.num_fds(), len(process.children())


@pytest.mark.parametrize("mode", MODES)
def test_loaders_that_are_left_in_mid_epoch_leave_nothing(mode):
    loader = pyfastdl.DataLoader(Squares(200), batch_size=4, num_workers=2, worker_mode=mode)
    for _ in range(2):
        next(iter(loader))
    before, threads = footprint(), ours()
    for _ in range(100 if mode == "thread" else 8):
        next(iter(loader))
    assert until(lambda: set(ours()) <= set(threads))
    assert until(lambda: all(now <= then for now, then in zip(footprint(), before, strict=True)))


@pytest.mark.parametrize("mode", MODES)
def test_two_epochs_at_once(mode):
    loader = pyfastdl.DataLoader(Squares(20), batch_size=4, num_workers=1, worker_mode=mode)
    wanted = list(DataLoader(Squares(20), batch_size=4))
    half = iter(loader)
    next(half)
    assert_same(list(loader), wanted)
    assert_same(list(half), wanted[1:])
    for one, other in zip(loader, loader, strict=True):
        assert_same(one, other)
    for _ in zip(loader, range(2), strict=False):
        break
    assert_same(list(loader), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_persistent_workers_start_afresh_in_mid_epoch(mode):
    loader = pyfastdl.DataLoader(Squares(20), batch_size=4, num_workers=2, persistent_workers=True, worker_mode=mode)
    wanted = list(DataLoader(Squares(20), batch_size=4))
    for _ in range(3):
        next(iter(loader))
    assert_same(list(loader), wanted)
    assert_same(list(loader), wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("slow", ["producer", "consumer"])
def test_everything_at_its_smallest(mode, slow):
    loader = pyfastdl.DataLoader(
        By(lambda i: time.sleep(0.02 if slow == "producer" else 0) or i, 8),
        num_workers=1,
        prefetch_factor=1,
        worker_mode=mode,
    )
    seen = []
    for batch in loader:
        time.sleep(0.02 if slow == "consumer" else 0)
        seen += batch.tolist()
    assert seen == list(range(8))


@pytest.mark.parametrize("mode", MODES)
def test_a_forked_child(mode):
    """It is told to start an epoch of its own, can do so, and ends without harm to the parent's."""
    loader = pyfastdl.DataLoader(Squares(40), batch_size=4, num_workers=2, worker_mode=mode, persistent_workers=True)
    iterator = iter(loader)
    first = next(iterator)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        code = 1
        try:
            try:
                next(iterator)
            except pyfastdl.LoaderError as error:
                assert "iter(loader)" in str(error)
                assert len(list(loader)) == 10
                del iterator, loader
                gc.collect()
                code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    rest = list(iterator)
    assert_same([first, *rest], list(DataLoader(Squares(40), batch_size=4)))


@pytest.mark.parametrize("mode", MODES)
def test_children_that_inherit_a_half_used_iterator_end_quietly(mode, run_python):
    """By the interpreter's own way out, and whatever they did with it; the parent's workers go on."""
    code = (
        PREPARE
        + """
import gc, warnings
warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
Data.__len__ = lambda self: 80
loader = pyfastdl.DataLoader(Data(), batch_size=8, num_workers=2, worker_mode=mode)
def epoch():
    assert sum(len(batch[1]) for batch in loader) == 80
def drop():
    global iterator, loader
    del iterator, loader
for action in (lambda: None, drop, gc.collect, epoch):
    iterator = iter(loader)
    next(iterator)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        action()
        sys.exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    print(sum(len(batch[1]) for batch in iterator))
"""
    )
    done = run_python(code, mode)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["72"] * 4, "")


@pytest.mark.parametrize("mode", MODES)
def test_threads_and_affinity_of_the_process_stay(mode):
    before = torch.get_num_threads(), os.sched_getaffinity(0), signal.getsignal(signal.SIGINT)
    seen = []
    loader = pyfastdl.DataLoader(By(lambda i: torch.tensor(torch.get_num_threads())), num_workers=2, worker_mode=mode)
    for _ in range(2):
        assert {batch.item() for batch in loader} == {1}, "workers don't multiply threads"
    thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert (torch.get_num_threads(), os.sched_getaffinity(0), signal.getsignal(signal.SIGINT)) == before
    assert seen == [before[0]], "nor do they change what new threads start with"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("leave", ["end", "exit", "global", "exception"])
def test_the_interpreter_ends_quietly(mode, leave, run_python):
    code = (
        PREPARE
        + {
            "end": "for batch in loader: pass",
            "exit": "iterator = iter(loader); next(iterator); sys.exit(7)",
            "global": "iterator = iter(loader); next(iterator)",
            "exception": "for batch in loader: raise KeyError('mine')",
        }[leave]
    )
    done = run_python(code, mode)
    assert done.returncode == {"exit": 7, "exception": 1}.get(leave, 0)
    if leave == "exception":
        assert done.stderr.count("Traceback") == 1 and "KeyError: 'mine'" in done.stderr
    else:
        assert done.stderr == ""


@pytest.mark.parametrize("mode", MODES)
def test_ctrl_c_at_any_moment(mode, run_python):
    """The whole process group is interrupted, as a terminal does it."""
    code = (
        PREPARE
        + INTERRUPTER
        + """
import itertools, random
signal.signal(signal.SIGINT, signal.default_int_handler)
os.setpgid(0, 0)
next(iter(loader))  # Python's import system may keep an interrupt to itself: import what is imported lazily
interrupt_after, _ = interrupter(lambda: os.killpg(0, signal.SIGINT))
for moment in range(int(sys.argv[2])):
    try:
        interrupt_after(random.uniform(0, 0.08))
        while True:
            for batch in loader: pass
    except KeyboardInterrupt:
        print("interrupted")
"""
    )
    done = run_python(code, mode, "12" if mode == "thread" else "6")
    assert done.stderr == ""
    assert done.stdout.split() == ["interrupted"] * (12 if mode == "thread" else 6)
    assert done.returncode == 0


@pytest.mark.parametrize("mode", MODES)
def test_ctrl_c_at_every_line_of_a_start(mode, monkeypatch):
    """Whatever line of ours it hits: nothing is complained of, nothing is left, and the loader works."""
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    monkeypatch.setattr(threading, "excepthook", complaints.append)
    loader = pyfastdl.DataLoader(Squares(8), batch_size=4, num_workers=1, worker_mode=mode)
    wanted = list(DataLoader(Squares(8), batch_size=4))
    assert_same(list(loader), wanted)
    before, where = footprint(), f"{'thread' if mode == 'thread' else 'process'}_iterator.py"
    lines = moment = 0

    def trace(frame, event, argument):
        nonlocal lines
        code = frame.f_code
        if event == "line" and code.co_filename.endswith(where) and code.co_name in ("__init__", "_prepare"):
            lines += 1
            if lines == moment:
                signal.raise_signal(signal.SIGINT)
        return trace

    was = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        while True:
            lines, moment = 0, moment + 1
            sys.settrace(trace)
            try:
                iterator = iter(loader)
                sys.settrace(None)
                del iterator
                break  # it has fewer lines
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(None)
    finally:
        signal.signal(signal.SIGINT, was)
    assert moment > 15
    assert complaints == []
    assert until(lambda: all(now <= then for now, then in zip(footprint(), before, strict=True)))
    assert_same(list(loader), wanted)


@pytest.mark.skipif(MODES == ["thread"], reason="of processes")
def test_workers_end_with_their_parent(run_python):
    code = (
        PREPARE
        + """
class Stuck(Data):
    def __getitem__(self, i):
        if i == 20: time.sleep(300)
        return i
loader = pyfastdl.DataLoader(Stuck(), batch_size=8, num_workers=2, worker_mode=mode)
iterator = iter(loader)
next(iterator)
print(*[worker.pid for worker in iterator._workers], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    pids = [int(pid) for pid in run_python(code, "process").stdout.split()]
    assert len(pids) == 2

    def gone(pid):
        return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE

    assert until(lambda: all(map(gone, pids)))


@pytest.mark.skipif(MODES == ["thread"], reason="of processes")
@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_other_ways_to_start_processes(context):
    loader = pyfastdl.DataLoader(
        Squares(20), batch_size=4, num_workers=1, multiprocessing_context=context, worker_mode="process"
    )
    assert_same(list(loader), list(DataLoader(Squares(20), batch_size=4)))
    assert "straight" in loader.explain()


@pytest.mark.parametrize("mode", MODES)
def test_threads_of_the_users_share_an_iterator(mode):
    iterator = iter(pyfastdl.DataLoader(Squares(80), batch_size=2, num_workers=2, worker_mode="thread"))
    lists: list[list[int]] = [[], []]

    def take(into):
        for _, index in iterator:
            into.extend(index.tolist())

    threads = [threading.Thread(target=take, args=(into,)) for into in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(itertools.chain(*lists)) == list(range(80))
