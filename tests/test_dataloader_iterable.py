"""Iterable datasets: each worker goes through its own part, and batches come in torch's order. Case S2."""

from __future__ import annotations

import pytest
import torch
from loaders import MODES, Sharded, assert_same
from torch.utils.data import DataLoader, get_worker_info

import pyfastdl

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("shard", [False, True])
def test_batches_are_torchs(mode, workers, shard):
    dataset = Sharded(50, shard)
    arguments = {"batch_size": 7, "num_workers": workers}
    got = list(pyfastdl.DataLoader(dataset, worker_mode=mode, **arguments))
    assert_same(got, list(DataLoader(dataset, **arguments)))


@pytest.mark.parametrize("mode", MODES)
def test_again_and_again_with_persistent_workers(mode):
    loader = pyfastdl.DataLoader(
        Sharded(30), batch_size=4, num_workers=2, persistent_workers=True, drop_last=True, worker_mode=mode
    )
    stock = DataLoader(Sharded(30), batch_size=4, num_workers=2, drop_last=True)
    wanted = list(stock)
    for _ in range(3):
        assert_same(list(loader), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_without_batches(mode):
    got = list(pyfastdl.DataLoader(Sharded(10), batch_size=None, num_workers=2, worker_mode=mode))
    assert_same(got, list(DataLoader(Sharded(10), batch_size=None, num_workers=2)))


@pytest.mark.parametrize("mode", MODES)
def test_its_length_is_torchs_and_more_samples_warn(mode):
    class Longer(Sharded):
        def __len__(self):
            return 3

    loader = pyfastdl.DataLoader(Longer(8, False), num_workers=1, worker_mode=mode)
    assert len(loader) == 3
    with pytest.warns(UserWarning, match="Length of IterableDataset"):
        list(loader)


@pytest.mark.parametrize("mode", MODES)
def test_its_exception_comes_through(mode):
    class Broken(Sharded):
        def __iter__(self):
            yield 1
            raise ValueError("the file ended")

    iterator = iter(pyfastdl.DataLoader(Broken(), num_workers=1, worker_mode=mode))
    assert next(iterator).tolist() == [1]
    with pytest.raises(ValueError, match="the file ended"):
        next(iterator)
    assert list(iterator) == []


def test_auto_is_one_worker():
    """More would each go through all of it."""
    loader = pyfastdl.DataLoader(Sharded(20, shard=False), batch_size=4, num_workers="auto")
    assert loader.num_workers == 1
    assert torch.cat(list(loader)).tolist() == list(range(20))


@pytest.mark.parametrize("mode", MODES)
def test_who_a_worker_is(mode):
    class Who(Sharded):
        def __iter__(self):
            info = pyfastdl.get_worker_info()
            yield info.id, info.num_workers, info.seed, info.dataset is self, get_worker_info() is None

    loader = pyfastdl.DataLoader(Who(), batch_size=None, num_workers=2, worker_mode=mode)
    torch.manual_seed(1)
    got = list(loader)
    assert [one[:2] for one in got] == [[0, 2], [1, 2]]
    assert got[1][2] == got[0][2] + 1
    assert all(one[3] for one in got)
    assert all(one[4] is (mode == "thread") for one in got), "torch's own function knows no threads"
    assert pyfastdl.get_worker_info() is None
