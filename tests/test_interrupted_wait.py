"""An interrupt while a thread's batch is waited for: it comes out as such, and the threads' lock stays theirs."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from loaders import By

import pyfastdl
from pyfastdl.workers.threads import Job, ThreadPool
from pyfastdl.workers.width import fixed_width

FILES = ("pyfastdl/workers/threads.py", threading.__file__)


def test_an_interrupt_at_any_line_of_a_wait_releases_no_lock_of_a_workers():
    """Within threading's lines too: a Condition gives its lock back and takes it again."""
    pool = ThreadPool(fixed_width(1), None, False)
    moment = reached = 1
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if not frame.f_code.co_filename.endswith(FILES):
            return None
        if event == "line":
            lines += 1
            if lines == moment:
                raise KeyboardInterrupt
        return trace

    while reached:
        lines = 0
        reached = False
        sys.settrace(trace)
        try:
            pool.wait(Job([0], 1, None), (), time.monotonic() + 0.01)
        except KeyboardInterrupt:
            reached = True
        finally:
            sys.settrace(None)
        assert pool._lock.acquire(blocking=False), "it was left taken"
        pool._lock.release()
        moment += 1
    assert moment > 5


@pytest.mark.parametrize("workers", [1, 3])
def test_after_it_the_epoch_goes_on(workers):
    iterator = iter(pyfastdl.DataLoader(By(int), batch_size=2, num_workers=workers, worker_mode="thread"))
    wait, interrupts = iterator._pool.wait, [True]

    def interrupted(*arguments):
        if interrupts:
            interrupts.pop()
            raise KeyboardInterrupt
        return wait(*arguments)

    iterator._pool.wait = interrupted
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    assert [batch.tolist() for batch in iterator] == [[i, i + 1] for i in range(0, 12, 2)]
