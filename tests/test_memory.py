"""What a loader holds on to, and what it leaves behind. Cases M1, M3, M5, M6."""

from __future__ import annotations

import gc
import inspect
import itertools
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from loaders import resident
from PIL import Image

import pyfastdl
from pyfastdl import transforms as T


@pytest.fixture
def tiny_files(tmp_path):
    """40 PNGs of 4 x 4 pixels; file i is gray level i."""
    paths = [str(tmp_path / f"{i}.png") for i in range(40)]
    for i, path in enumerate(paths):
        Image.new("RGB", (4, 4), (i, i, i)).save(path)
    return paths


# -- M6: a batch is the user's own


def test_kept_batches_keep_their_pixels(tiny_files):
    loader = pyfastdl.NativeLoader(tiny_files, 2, dtype=torch.uint8, shuffle=True, seed=0, return_index=True)
    kept = []
    while len(kept) < 20_000:
        kept.extend(loader)
    for images, index in kept:
        assert images.shape == (2, 3, 4, 4)
        assert torch.equal(images, index.to(torch.uint8).view(2, 1, 1, 1).expand(2, 3, 4, 4))
    assert loader.stats().copied_batches > 0


def test_changed_batches_never_show_up_again(tiny_files):
    loader = pyfastdl.NativeLoader(tiny_files, 8, dtype=torch.uint8, return_index=True)
    for _, (images, index) in zip(range(200), itertools.chain.from_iterable(itertools.repeat(loader)), strict=False):
        assert torch.equal(images[:, 0, 0, 0], index.to(torch.uint8))
        images.add_(100)
        index.fill_(7)


def test_what_users_do_with_a_batch_works(tiny_files):
    loader = pyfastdl.NativeLoader(tiny_files, 8, return_index=True)
    images, index = next(iter(loader))
    expected = images.clone()
    array = images.numpy()
    view = images[2:5, 1]
    again = pickle.loads(pickle.dumps(images))
    assert torch.equal(again, expected)
    assert np.array_equal(array, expected.numpy())
    del array  # torch moves the storage away from under arrays, whoever made it
    images.share_memory_()
    assert images.is_shared()
    assert torch.equal(images, expected)
    assert torch.equal(view, expected[2:5, 1])
    grad = images.clone().requires_grad_()
    (grad * 2).sum().backward()
    torch.save(index, os.devnull)
    del images, index, loader
    gc.collect()
    assert torch.equal(view, expected[2:5, 1])


def test_arrays_outlive_their_batch(tiny_files):
    loader = pyfastdl.NativeLoader(tiny_files, 8)
    arrays = [images.numpy() for images in loader]
    expected = [array.copy() for array in arrays]
    for _ in range(3):
        list(loader)
    del loader
    gc.collect()
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, expected, strict=True))


def test_batches_outlive_everything(tiny_files):
    loader = pyfastdl.NativeLoader(tiny_files, 4, dtype=torch.uint8)
    batches = list(loader)
    loader.close()
    del loader
    gc.collect()
    assert [int(batch[0, 0, 0, 0]) for batch in batches] == list(range(0, 40, 4))


# -- M5: millions of paths


MANY_PATHS = (
    inspect.getsource(resident)
    + """
import gc, sys, torch, pyfastdl

files = sys.argv[1:] * (2_000_000 // len(sys.argv[1:]))
# Not a RandomSampler: what its permutation of all paths took is given back by the C library when it sees fit.
sampler = range(0, len(files), 100)
loader = pyfastdl.NativeLoader(files, 64, dtype=torch.uint8, num_workers=8, sampler=sampler)
assert loader.dataset.paths.memory_bytes() < 150 * len(files)
memory = []
for _ in range(4):
    for _ in loader:
        pass
    gc.collect()
    memory.append(resident())
# The first epoch warms up.
assert max(memory[1:]) - memory[1] < 16 << 20, memory
assert memory[3] - memory[0] < 32 << 20, memory
"""
)


# In a process of its own: what other tests gave back counts as growth when it is taken again.
def test_two_million_paths_cost_little_and_epochs_cost_nothing(tiny_files, run_python):
    ran = run_python(MANY_PATHS, *map(str, tiny_files))
    assert ran.returncode == 0, ran.stderr


def test_memory_does_not_grow_with_threads(image_folder):
    memory = []
    for num_workers in (2, 32):
        loader = pyfastdl.NativeLoader(
            image_folder, 15, transform=[T.RandomResizedCrop(32)], num_workers=num_workers, prefetch_factor=1
        )
        for _ in range(20):
            list(loader)
        memory.append(resident())
        loader.close()
    assert memory[1] - memory[0] < 40 << 20


# -- M1: a small /dev/shm


SMALL_SHM = """
import sys, torch, pyfastdl
from pyfastdl import transforms as T
# Each batch is 9.6 MB, the ring 58 MB.
loader = pyfastdl.NativeLoader(sys.argv[1], 16, sampler=[i % 15 for i in range(160)], transform=[T.Resize((224, 224))])
print(sum(len(images) for images, _ in loader))
"""


def test_a_small_shared_memory_folder_does_not_matter(image_folder, tmp_path):
    """Where a mount namespace may be made, /dev/shm has 1 MB in it; elsewhere nothing may appear there."""
    command = [sys.executable, "-c", SMALL_SHM, str(image_folder)]
    small = ["unshare", "--mount", "--map-root-user"] if os.geteuid() else ["unshare", "--mount"]
    script = 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"'
    probe = shutil.which("unshare") and subprocess.run(
        [*small, "sh", "-c", script, "sh", "true"], capture_output=True, check=False
    )
    if probe and probe.returncode == 0:
        command = [*small, "sh", "-c", script, "sh", *command]
    before = set(os.listdir("/dev/shm"))
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "160\n", "")
    assert {name for name in os.listdir("/dev/shm") if "fastdl" in name} <= before


# -- M3: killed


KILLED = """
import glob, os, random, signal, sys, time
import pyfastdl
from pyfastdl import transforms as T

def job():
    loader = pyfastdl.NativeLoader(sys.argv[1], 4, shuffle=True, num_workers=2, transform=[T.RandomResizedCrop(64)])
    while True:
        for batch in loader:
            pass

rng = random.Random(0)
before = sorted(os.listdir("/dev/shm"))
for _ in range(20):
    pids = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            try:
                job()
            finally:
                os._exit(9)
        pids.append(pid)
    time.sleep(rng.random() * 0.1)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
assert [name for name in os.listdir("/dev/shm") if "fastdl" in name] == []
loader = pyfastdl.NativeLoader(sys.argv[1], 4, num_workers=2, transform=[T.RandomResizedCrop(64)])
print(sum(len(images) for images, _ in loader))
"""


def test_killed_jobs_leave_nothing_and_the_next_one_starts_clean(image_folder, run_python):
    result = run_python(KILLED, str(image_folder))
    assert (result.returncode, result.stdout, result.stderr) == (0, "15\n", "")
