"""Another thread, or a fork, comes between any two lines of what loaders share: datasets, counts, caches."""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading

import numpy as np
import pytest
import torch
from file_datasets import folder
from interleaving import Other, at_line, interleaved, traced
from loaders import MODES, Squares

import pyfastdl
from pyfastdl import _pillow
from pyfastdl import transforms as T
from pyfastdl.batch_decoder import BatchDecoder
from pyfastdl.failure_log import FailureLog
from pyfastdl.workers.blocks import ThreadBlocks
from pyfastdl.workers.interrupts import _Deferring
from pyfastdl.workers.open_files import refuse_shared
from pyfastdl.workers.report import Report
from pyfastdl.workers.width import Width

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def files(image_folder):
    return sorted(str(path) for path in image_folder.glob("*/*.jpg"))[:6]


# -- what is known of a dataset


def test_a_dataset_that_changes_while_it_is_lowered(image_folder):
    def make():
        loader = pyfastdl.DataLoader(folder(image_folder), 4, worker_mode="native")
        loader.explain()
        return loader

    def change(loader):
        loader.dataset.samples = [(path, 7 + target) for path, target in loader.dataset.samples]
        loader.explain()

    def look(loader):
        return loader._lowering.of(loader)

    for _, lowered, _ in interleaved({"of", "_lower"}, make, look, change):
        assert lowered.targets.tolist() == [target for _, target in lowered.stand_in.files.samples]


@pytest.fixture
def decoder(files):
    source = pyfastdl.NativeLoader(files, transform=[T.Resize((8, 8))])
    return BatchDecoder(source.dataset.paths, source._plans, source.decoding)


def test_a_forked_child_decodes_in_threads(decoder):
    """Each time it is another child, which has none of the threads yet."""

    def images(index):
        return decoder.batch(np.array([index]), 0, 0)[0]

    expected = [images(0), images(1)]
    for moment in itertools.count(1):
        child = os.fork()
        if child == 0:
            code = 2
            try:
                other = Other(lambda: images(1))
                trace = at_line(moment, {"batch", "_enter_process", "__call__"}, other.start)
                mine = traced(trace, lambda: images(0))
                code = 3
                if trace.reached:
                    code = int(not all(map(torch.equal, [mine, other.result()], expected)))
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 3:
            break
        assert code == 0
    assert moment > 5


def test_a_signal_handler_that_decodes_does_not_wait_for_itself(decoder, monkeypatch):
    from pyfastdl._pipeline import Pipeline

    real = Pipeline.next

    def interrupted(self, timeout):
        monkeypatch.setattr(Pipeline, "next", real)
        with pytest.raises(pyfastdl.LoaderError, match="take one"):
            decoder.batch(np.array([1]), 0, 0)
        return real(self, timeout)

    expected = decoder.batch(np.array([0]), 0, 0)[0]
    monkeypatch.setattr(Pipeline, "next", interrupted)
    other = Other(lambda: decoder.batch(np.array([0]), 0, 0)[0])
    other.start()
    assert torch.equal(other.result(), expected)


def test_a_cache_that_is_filled_while_files_are_looked_for():
    def make():
        dataset = Squares()
        dataset.cache = dict.fromkeys(range(3))
        return dataset

    def fill(dataset):
        dataset.cache[len(dataset.cache)] = None

    for _ in interleaved({"find_shared", "_parts", "<genexpr>"}, make, refuse_shared, fill):
        pass


# -- what is counted


def test_epochs_at_once_share_a_width():
    def make():
        width = Width(2)
        width._since -= 10
        return width

    def add(width):
        width.add(1000, 1000.0, 900.0)

    for _ in interleaved({"add", "_add"}, make, add, add, opcodes=True):
        pass


def test_each_batch_is_counted():
    def make():
        blocks = ThreadBlocks(2, 1, Report())
        blocks.batch(1).write(torch.zeros(1), 0)
        batches = [blocks.batch(1) for _ in range(2)]
        for batch in batches:
            batch.write(torch.zeros(1), 0)
        return batches

    for batches, *_ in interleaved(
        {"finish", "count"},
        make,
        lambda batches: batches[0].finish(list),
        lambda batches: batches[1].finish(list),
        True,
    ):
        assert batches[0]._blocks.report.written == 2


def test_the_list_of_failures_stays_short():
    failures = [(0, "", "", None)] * 3

    def make():
        log = FailureLog()
        log.kept = [None] * 9_999
        return log

    for log, *_ in interleaved(
        {"add", "<genexpr>"}, make, lambda log: log.add(failures), lambda log: log.add(failures)
    ):
        log.add(failures)
        assert len(log.kept) == 10_000


# -- children that are forked meanwhile


def test_a_child_that_is_forked_while_pillow_is_asked(monkeypatch):
    monkeypatch.setattr(_pillow, "_found", None)
    monkeypatch.delenv(_pillow.ENVIRONMENT_VARIABLE, raising=False)
    real, codes = _pillow._behaves_like, []

    def behaves_like(order):
        monkeypatch.setattr(_pillow, "_behaves_like", real)
        child = os.fork()
        if child == 0:
            asking = threading.Thread(target=_pillow.pass_order, daemon=True)
            asking.start()
            asking.join(10)
            os._exit(asking.is_alive())
        codes.append(os.waitpid(child, 0)[1])
        return real(order)

    monkeypatch.setattr(_pillow, "_behaves_like", behaves_like)
    _pillow.pass_order()
    assert codes == [0]


def test_a_child_that_is_forked_while_an_interrupt_would_wait(monkeypatch):
    came = []
    handler = _Deferring(lambda *_: came.append(True))
    handler(2, None)
    assert came == [] and handler.came is not None
    monkeypatch.setattr(os, "getpid", lambda: -1)
    handler(2, None)
    assert came == [True]


# -- the collector


@pytest.mark.skipif("process" not in MODES, reason="of processes")
def test_the_collector_closes_no_pipe_before_workers_are_told(monkeypatch):
    """A worker that never had anything to do: no thread has its pipe, which would be another's by then."""
    complaints = []
    monkeypatch.setattr(threading, "excepthook", lambda args: complaints.append(args.exc_value))
    monkeypatch.setattr(sys, "unraisablehook", lambda args: complaints.append(args.exc_value))
    for turn in range(6):
        iterator = iter(pyfastdl.DataLoader(Squares(2), 2, num_workers=2, worker_mode="process"))
        next(iterator)
        workers, iterator.circle = iterator._workers, [iterator]
        if turn % 2:
            gc.collect()  # which changes the order that it goes by next
        del iterator
        gc.collect()
        assert not any(worker.is_alive() for worker in workers)
    assert complaints == []
