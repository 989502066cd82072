"""Which samples come, in which order, in how many batches: as torch's loader has it. Cases S1, S3, S5."""

from __future__ import annotations

import itertools

import pytest
import torch
from loaders import MODES, AtOnce, Squares, assert_same
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, Subset

import pyfastdl

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def epochs(loader_class, dataset, count=2, seed=0, generator=None, **arguments):
    """All batches of some epochs, and what the default generator gives next."""
    torch.manual_seed(seed)
    if generator is not None:
        arguments["generator"] = torch.Generator().manual_seed(generator)
    loader = loader_class(dataset, **arguments)
    batches = [list(loader) for _ in range(count)]
    return batches, torch.rand(1).item()


def assert_as_torch(dataset, mode, **arguments):
    """Against torch's loader without workers, which has the same order and draws as with them, but starts faster."""
    stock = {key: value for key, value in arguments.items() if key != "num_workers"}
    got = epochs(pyfastdl.DataLoader, dataset, worker_mode=mode, **{"num_workers": 2, **arguments})
    wanted = epochs(DataLoader, dataset, **stock)
    assert_same(list(got), list(wanted))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("generator", [None, 5])
@pytest.mark.parametrize("workers", [0, 2])
def test_order_and_draws_are_torchs(mode, shuffle, generator, workers):
    assert_as_torch(Squares(), mode, batch_size=6, shuffle=shuffle, generator=generator, num_workers=workers)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", [1, 2**31, 2**63 - 1])
def test_order_and_draws_are_torchs_for_any_seed(mode, seed):
    assert_as_torch(Squares(), mode, batch_size=6, shuffle=True, seed=seed, num_workers=1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("generator", [None, 5])
def test_order_and_draws_are_torchs_with_persistent_workers(mode, generator):
    arguments = {"batch_size": 6, "shuffle": True, "num_workers": 2, "persistent_workers": True}
    got = epochs(pyfastdl.DataLoader, Squares(), 3, generator=generator, worker_mode=mode, **arguments)
    wanted = epochs(DataLoader, Squares(), 3, generator=generator, **arguments)
    assert_same(list(got), list(wanted))


@pytest.mark.parametrize("mode", MODES)
def test_a_sampler_that_draws_as_it_goes_is_as_far_ahead_as_with_torch(mode):
    """With replacement, torch draws 32 indices at a time: a generator that is shared shows how far the sampler is."""

    def states(loader_class, **arguments):
        generator = torch.Generator().manual_seed(3)
        sampler = RandomSampler(range(400), replacement=True, generator=generator)
        loader = loader_class(Squares(400), batch_size=20, sampler=sampler, num_workers=2, **arguments)
        return [generator.get_state().sum().item() for _ in loader]

    assert states(pyfastdl.DataLoader, worker_mode=mode) == states(DataLoader)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("samples", [0, 3, 6, 26])
@pytest.mark.parametrize("drop_last", [False, True])
def test_lengths_are_kept(mode, samples, drop_last):
    loader = pyfastdl.DataLoader(
        Squares(samples), batch_size=6, drop_last=drop_last, num_workers=2, worker_mode=mode, persistent_workers=True
    )
    for _ in range(3):
        sizes = [len(index) for _, index in loader]
        assert len(sizes) == len(loader) == (samples // 6 if drop_last else -(-samples // 6))
        assert 0 not in sizes
        assert sum(sizes) == (samples // 6 * 6 if drop_last else samples)


def numbers():
    yield from (5, 3, 3, 0, 9)


class Stream:
    """A sampler that is neither a list nor one of torch's."""

    def __init__(self, make):
        self.make = make

    def __iter__(self):
        return iter(self.make())


SAMPLERS = {
    "none": {},
    "list": {"sampler": [4, 2, 2, 7, 1]},
    "generator": {"sampler": Stream(numbers)},
    "range": {"sampler": range(3, 12, 2)},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("batch_size", [None, 1, 4])
def test_samplers(mode, sampler, batch_size):
    assert_as_torch(Squares(10), mode, count=1, batch_size=batch_size, **SAMPLERS[sampler])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("batches", ["torch", "lists", "tuples"])
def test_batch_samplers(mode, batches):
    sampler = {
        "torch": BatchSampler(range(10), 4, False),
        "lists": [[3, 1], [4, 1, 5, 9, 2, 6], [0]],
        "tuples": [(3, 1), (4, 1, 5)],
    }[batches]
    assert_as_torch(Squares(10), mode, count=1, batch_sampler=sampler)


class OfLists(Squares):
    """Takes a list of indices for an index."""

    def __getitem__(self, indices):
        return torch.tensor(indices) ** 2


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_sampler_as_the_sampler(mode):
    """The dataset gets whole lists, and there is no collation."""
    sampler = BatchSampler(RandomSampler(range(10)), 4, False)
    assert_as_torch(OfLists(10), mode, sampler=sampler, batch_size=None)


@pytest.mark.parametrize("mode", MODES)
def test_keys_of_any_kind(mode):
    samples = {"a": torch.ones(2), ("b", 1): torch.zeros(2), "c": torch.full((2,), 3.0)}
    assert_as_torch(samples, mode, count=1, batch_size=2, sampler=["c", ("b", 1), "a"])


@pytest.mark.parametrize("mode", MODES)
def test_whole_batches_and_subsets(mode):
    assert_as_torch(AtOnce(), mode, batch_size=4, shuffle=True)
    for dataset in (AtOnce(), Squares()):
        subset = Subset(Subset(dataset, range(20)), [9, 3, 5, 7, 11])
        assert_as_torch(subset, mode, count=1, batch_size=2)


@pytest.mark.parametrize("mode", MODES)
def test_out_of_order_gives_every_batch_once(mode):
    loader = pyfastdl.DataLoader(Squares(40), batch_size=4, num_workers=2, in_order=False, worker_mode=mode)
    assert sorted(itertools.chain.from_iterable(index.tolist() for _, index in loader)) == list(range(40))


@pytest.mark.parametrize("mode", MODES)
def test_a_samplers_exception_comes_through(mode):
    def broken():
        yield 1
        raise KeyError("of the sampler")

    for loader in (pyfastdl.DataLoader, DataLoader):
        arguments = {"worker_mode": mode} if loader is pyfastdl.DataLoader else {}
        with pytest.raises(KeyError, match="of the sampler"):
            list(loader(Squares(), sampler=Stream(broken), num_workers=2, **arguments))
