"""A run that is stopped and taken up again is one run. Case S7."""

from __future__ import annotations

import pytest
import torch
from loaders import MODES, By, Sharded, assert_same
from torch.utils.data import RandomSampler

import pyfastdl

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def sample(index):
    return index, torch.rand(1, generator=pyfastdl.sample_rng().torch)


def loader_of(workers, mode, generator=True, dataset=None, **arguments):
    generator = torch.Generator().manual_seed(9) if generator else None
    return pyfastdl.DataLoader(
        dataset or By(sample, 22),
        batch_size=4,
        shuffle=None if isinstance(dataset, Sharded) else True,
        generator=generator,
        num_workers=workers,
        worker_mode=mode,
        **arguments,
    )


def test_every_split_is_one_run():
    whole = loader_of(0, None)
    wanted = [list(whole), list(whole)]
    for first in range(7):
        for second in range(7 - first):
            loader, got = loader_of(0, None), []
            for count in (first, second):
                iterator = iter(loader)
                got += [next(iterator) for _ in range(count)]
                state = loader.state_dict()
                loader = loader_of(0, None)
                loader.generator.manual_seed(1)
                loader.load_state_dict(state)
            assert_same([*got, *loader], wanted[0])
            assert_same(list(loader), wanted[1])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_may_be_others(mode, persistent):
    """In the second epoch, with 2 workers, then without, then with 1."""
    torch.manual_seed(4)
    whole = loader_of(2, mode, generator=False, persistent_workers=persistent)
    wanted = [list(whole), list(whole), list(whole)]
    torch.manual_seed(4)
    loader = loader_of(2, mode, generator=False, persistent_workers=persistent)
    got = list(loader)
    iterator = iter(loader)
    got += [next(iterator), next(iterator)]
    state = loader.state_dict()
    torch.manual_seed(77)
    loader = loader_of(0, mode, generator=False)
    loader.load_state_dict(state)
    iterator = iter(loader)
    got += [next(iterator)]
    state = loader.state_dict()
    loader = loader_of(1, mode, generator=False, prefetch_factor=5)
    loader.load_state_dict(state)
    got += list(loader)
    assert_same(got, wanted[0] + wanted[1])
    if not persistent:  # whose seed is drawn once
        assert_same(list(loader), wanted[2])


@pytest.mark.parametrize("mode", MODES)
def test_at_the_end(mode):
    loader = loader_of(1, mode)
    iterator = iter(loader)
    for _ in range(len(loader)):
        next(iterator)
    last = loader.state_dict()
    assert next(iterator, None) is None
    over = loader.state_dict()
    wanted = list(loader)
    for state, rest in ((last, 0), (over, len(loader))):
        again = loader_of(1, mode)
        again.load_state_dict(state)
        assert len(list(again)) == rest
        if not rest:
            assert_same(list(again), wanted)
    again = loader_of(1, mode)
    again.load_state_dict(over)
    assert_same(list(again), wanted)


@pytest.mark.parametrize("workers", [0, 1])
def test_asking_for_an_iterator_is_not_asking_for_a_batch(workers):
    """Trainers call iter() ahead, and again when they start: the state that was loaded is for the first batch."""
    loader = loader_of(workers, MODES[0])
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    wanted = [list(iterator), list(loader)]
    again = loader_of(workers, MODES[0])
    again.load_state_dict(state)
    ahead = iter(again)
    assert again.state_dict()["yielded"] == 1
    assert_same([list(again), list(again)], wanted)
    assert_same(list(ahead), wanted[0])


def test_a_samplers_own_generator():
    def make():
        sampler = RandomSampler(range(22), replacement=True, generator=torch.Generator().manual_seed(2))
        return pyfastdl.DataLoader(By(sample, 22), batch_size=4, sampler=sampler)

    torch.manual_seed(0)
    wanted = list(make())
    torch.manual_seed(0)
    loader = make()
    iterator = iter(loader)
    got = [next(iterator), next(iterator)]
    state = loader.state_dict()
    again = make()
    again.sampler.generator.manual_seed(100)
    again.load_state_dict(state)
    assert_same([*got, *again], wanted)


@pytest.mark.parametrize("mode", MODES)
def test_iterables_want_as_many_workers(mode):
    loader = loader_of(2, mode, dataset=Sharded(40))
    iterator = iter(loader)
    got = [next(iterator) for _ in range(3)]
    state = loader.state_dict()
    with pytest.raises(ValueError, match="num_workers=2"):
        loader_of(1, mode, dataset=Sharded(40)).load_state_dict(state)
    again = loader_of(2, mode, dataset=Sharded(40))
    again.load_state_dict(state)
    assert_same([*got, *again], [*got, *iterator])


def test_states_are_checked_and_can_be_saved(tmp_path):
    loader = loader_of(0, None)
    next(iter(loader))
    torch.save(loader.state_dict(), tmp_path / "state.pt")
    loader.load_state_dict(torch.load(tmp_path / "state.pt"))
    with pytest.raises(ValueError, match="state_dict"):
        loader.load_state_dict({"epoch": 3})
