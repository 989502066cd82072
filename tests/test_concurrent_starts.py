"""Threads that start epochs of one loader at the same time: each gets a whole one, with random numbers of its own."""

from __future__ import annotations

import random
import threading
import time

import pytest
import torch
from file_datasets import TRAINING, is_native, numbered
from loaders import MODES, By
from torchvision import transforms as v1

import pyfastdl
from pyfastdl import transforms as T

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

THREADS, EPOCHS = 4, 6
STARTING = {"__iter__", "__init__", "_start", "_start_epoch", "_follow", "_get_iterator"}


def linger(frame, event, _):
    """A trace function: between any two lines of an epoch's start other threads have their turn."""
    code = frame.f_code
    if code.co_name not in STARTING or "pyfastdl" not in code.co_filename:
        return None
    time.sleep(random.random() / 2000)
    return linger


def epochs_of(loader, read):
    """What threads saw that iterated over it at the same time: a list of samples for each epoch."""
    seen, raised = [], []

    def work():
        try:
            for _ in range(EPOCHS):
                seen.append([value for batch in loader for value in read(batch)])
        except BaseException as error:
            raised.append(error)

    threading.settrace(linger)
    try:
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.settrace(None)
    assert raised == []
    return seen


def drawing(index):
    return index, torch.rand((), generator=pyfastdl.sample_rng().torch)


def read_drawn(batch):
    return zip(batch[0].tolist(), batch[1].tolist(), strict=True)


@pytest.mark.parametrize("start", [0, 7])
def test_native_loader(start, image_folder):
    files = sorted(str(path) for path in image_folder.glob("*/*.jpg"))
    arguments = {"transform": [T.Resize((8, 8))], "return_index": True, "shuffle": True, "seed": 3, "num_workers": 2}
    loader = pyfastdl.NativeLoader(files, 4, **arguments)
    loader.set_epoch(start)
    seen = epochs_of(loader, lambda batch: batch[1].tolist())

    alone = pyfastdl.NativeLoader(files, 4, **arguments)
    alone.set_epoch(start)
    expected = [[index for batch in alone for index in batch[1].tolist()] for _ in range(THREADS * EPOCHS)]
    assert sorted(seen) == sorted(expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 2])
def test_drop_in(mode, workers):
    loader = pyfastdl.DataLoader(By(drawing), 5, shuffle=True, num_workers=workers, worker_mode=mode)
    seen = epochs_of(loader, read_drawn)
    assert all(sorted(index for index, _ in epoch) == list(range(12)) for epoch in seen)
    assert len({tuple(draw for _, draw in sorted(epoch)) for epoch in seen}) == THREADS * EPOCHS


def test_drop_in_over_files(image_folder):
    loader = pyfastdl.DataLoader(numbered(image_folder, v1.Compose(TRAINING)), 4, shuffle=True, worker_mode="native")
    assert is_native(loader)

    def read(batch):
        return zip(batch[1].tolist(), (image.sum().item() for image in batch[0]), strict=True)

    seen = epochs_of(loader, read)
    assert all(sorted(index for index, _ in epoch) == list(range(15)) for epoch in seen)
    assert len({tuple(draw for _, draw in sorted(epoch)) for epoch in seen}) == THREADS * EPOCHS
