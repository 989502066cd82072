"""Descriptors, mappings, kept batches, and batches that a forked child has too. Cases L4, M2, M5, M6."""

from __future__ import annotations

import gc
import os
import signal

import psutil
import pytest
import torch
from loaders import MODES, By, resident

import pyfastdl
from pyfastdl import _core

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def image(i):
    return torch.full((3, 40, 40), float(i)), i


@pytest.mark.parametrize("mode", MODES)
def test_few_descriptors_many_tensors_every_batch_kept(mode, run_python):
    code = """
import resource, sys
import torch, pyfastdl
class Data(torch.utils.data.Dataset):
    def __len__(self): return 200
    def __getitem__(self, i): return [torch.full((3,), float(i + k)) for k in range(50)]
class Two(Data):
    def __getitem__(self, i): return {"a": torch.zeros(2 + i % 2), "b": str(i)}
def ragged(samples): return [sample["a"] for sample in samples]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
for dataset, collate_fn in ((Data(), None), (Two(), ragged)):
    kept = list(pyfastdl.DataLoader(
        dataset, batch_size=4, num_workers=2, worker_mode=sys.argv[1], collate_fn=collate_fn))
    assert len(kept) == 50
    if collate_fn is None:
        assert all(batch[k][2, 1] == 4 * n + 2 + k for n, batch in enumerate(kept) for k in range(50))
    else:
        assert all([len(one) for one in batch] == [2, 3, 2, 3] for batch in kept)
"""
    done = run_python(code, mode)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("mode", MODES)
def test_descriptors_dont_grow_with_what_is_kept(mode):
    iterator = iter(pyfastdl.DataLoader(By(image, 400), batch_size=4, num_workers=2, worker_mode=mode))
    kept = [next(iterator) for _ in range(10)]
    before = psutil.Process().num_fds()
    kept += list(iterator)
    assert psutil.Process().num_fds() <= before
    assert all(torch.equal(images[0], image(4 * n)[0]) for n, (images, _) in enumerate(kept))


@pytest.mark.parametrize("mode", MODES)
def test_epochs_that_are_left_cost_no_memory(mode):
    """Resident memory and mappings, beside threads and descriptors (test_dataloader_lifecycle.py)."""
    loader = pyfastdl.DataLoader(By(image, 400), batch_size=16, num_workers=2, worker_mode=mode)

    def leave(times):
        for _ in range(times):
            next(iter(loader))
        gc.collect()
        return resident(), len(psutil.Process().memory_maps(grouped=False))

    leave(20 if mode == "thread" else 3)
    rss, maps = leave(30 if mode == "thread" else 3)
    rss_after, maps_after = leave(500 if mode == "thread" else 12)
    # The C library splits and joins arenas of its own; a ring that stayed would be a mapping and 1.5 MB each time.
    assert maps_after - maps < (100 if mode == "thread" else 6)
    assert rss_after - rss < (16 << 20 if mode == "thread" else 8 << 20)


MANY_PATHS = """
import gc, resource, sys
import psutil, torch, pyfastdl
mode, files = sys.argv[1], sys.argv[2:] * (2_000_000 // len(sys.argv[2:]))

class Paths(torch.utils.data.Dataset):
    \"\"\"Two million files, whose paths are no Python objects.\"\"\"
    def __init__(self, paths):
        self.paths = paths
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        return torch.tensor([len(self.paths[index]), index])

paths = pyfastdl.NativeLoader(files, 1).dataset.paths
assert paths.memory_bytes() < 150 * len(files)
lengths = [len(name) for name in sys.argv[2:]]
del files
gc.collect()
workers = 8 if mode == "thread" else 2
loader = pyfastdl.DataLoader(Paths(paths), 64, sampler=range(0, len(paths), 50), num_workers=workers, worker_mode=mode,
    persistent_workers=True)
private = []
for epoch in range(3):
    for batch in loader:
        pass
    assert batch[-1].tolist() == [lengths[(len(paths) - 50) % len(lengths)], len(paths) - 50]
    gc.collect()
    private.append(sum(one.memory_full_info().uss for one in [psutil.Process(), *psutil.Process().children()]))
assert max(private[1:]) - private[0] < 24 << 20, private
print("flat")
"""


@pytest.mark.parametrize("mode", MODES)
def test_two_million_paths_are_shared_and_epochs_cost_nothing(mode, run_python):
    """A list of str would be copied to each forked worker, page by page, as its strings are counted."""
    names = [f"photographs/of/{i % 7}/{i:06}.jpg" for i in range(40)]
    done = run_python(MANY_PATHS, mode, *names)
    assert (done.returncode, done.stdout) == (0, "flat\n"), done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_thousands_of_batches_are_kept(mode):
    loader = pyfastdl.DataLoader(By(lambda i: torch.full((8,), i), 4000), num_workers=2, worker_mode=mode)
    kept = list(loader)
    assert all(batch[0, 7] == number for number, batch in enumerate(kept))
    assert len({batch.data_ptr() for batch in kept}) == 4000


@pytest.mark.parametrize("mode", MODES)
def test_a_childs_batches_and_the_parents_are_apart(mode):
    """Batches are alive when a child is forked: it changes and drops its copies, the parent goes on."""
    loader = pyfastdl.DataLoader(By(image, 200), batch_size=4, num_workers=1, worker_mode=mode)
    iterator = iter(loader)
    kept = [next(iterator) for _ in range(2)]
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        code = 1
        try:
            kept[0][0].fill_(-1)
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            code = 0 if torch.equal(kept[1][0][0], image(4)[0]) and bool((kept[0][0] == -1).all()) else 2
            kept.clear()
        finally:
            os._exit(code)
    os.read(ready[0], 1)
    assert all(torch.equal(images[1], image(4 * n + 1)[0]) for n, (images, _) in enumerate(kept))
    kept.clear()
    for number, (images, _) in enumerate(iterator):
        assert torch.equal(images[3], image(4 * number + 11)[0])
    os.write(go[1], b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    for end in (*ready, *go):
        os.close(end)


@pytest.mark.parametrize("mode", MODES)
def test_blocks_are_used_again(mode):
    """Memory for some batches, however many there are."""
    loader = pyfastdl.DataLoader(By(image, 800), batch_size=8, num_workers=1, worker_mode=mode)
    addresses = {images.data_ptr() for images, _ in loader}
    assert len(addresses) < 30


@pytest.mark.parametrize(
    "what", [(0, 2, 0, (1,)), (0, 2, 4, (1,)), (60, 2, 32, (2,)), (65, 2, 32, ()), (0, 2, 32, (17,))]
)
def test_a_tensor_lies_within_its_block(what):
    ring = _core.BlockRing(2, 64)
    number, _ = ring.acquire()
    ring.publish(number)
    lease = ring.take(number)
    with pytest.raises(ValueError, match="whole bytes|within its block"):
        lease.capsule(*what)
    assert torch.utils.dlpack.from_dlpack(lease.capsule(32, 2, 32, (8,))).shape == (8,)
