"""Datasets and samplers with a state of their own: the loader asks for it, and gives it back. Case S7."""

from __future__ import annotations

import gc
import itertools
import weakref

import pytest
import torch
from loaders import MODES, Sharded, Squares, assert_same
from stateful import Batches, Counting, Cursors, Drawing, Itself, Lines, Permuting, Steps
from torch.utils.data import BatchSampler, IterableDataset

import pyfastdl

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
KINDS = [(0, None), *((workers, mode) for mode in MODES for workers in (1, 3))]


def loader_of(dataset, workers, mode, **arguments):
    if not isinstance(dataset, IterableDataset):
        arguments = {"shuffle": True, **arguments}
    generator = torch.Generator().manual_seed(9)
    return pyfastdl.DataLoader(
        dataset, **{"batch_size": 3, **arguments}, num_workers=workers, worker_mode=mode, generator=generator
    )


def values(batches):
    """Without what was read in this process: that begins anew with it."""
    return [[part.tolist() for part in batch[:2]] for batch in batches]


@pytest.mark.parametrize(("workers", "mode"), KINDS)
@pytest.mark.parametrize("make", [Lines, Cursors, Itself, Counting])
def test_joined_epochs_are_one_runs(make, workers, mode):
    """However many batches were taken, and also when stopped twice; checkpoints stay as they were."""
    wanted = values(loader_of(make(), workers, mode))
    states = []
    for count in range(len(wanted) + 1) if workers == 0 else (4, len(wanted)):
        loader = loader_of(make(), workers, mode)
        iterator = iter(loader)
        got = list(itertools.islice(iterator, count))
        states.append((loader.state_dict(), got))
        more = list(itertools.islice(iterator, 1))  # the state isn't of this one
        assert values([*got, *more]) == wanted[: count + 1]
    for state, got in states:
        loader = loader_of(make(), workers, mode)
        loader.load_state_dict(state)
        assert repr(loader.state_dict()) == repr(state), "loaded, and not gone on from"
        iterator = iter(loader)
        more = list(itertools.islice(iterator, min(2, len(wanted) - len(got))))  # not beyond: that would end it
        second = loader.state_dict()
        last = loader_of(make(), workers, mode)
        last.load_state_dict(second)
        assert values([*got, *more, *last]) == wanted
        assert values([*got, *more, *iterator]) == wanted


@pytest.mark.parametrize(("workers", "mode"), KINDS)
def test_an_iterable_with_state_is_not_gone_through_again(workers, mode):
    loader = loader_of(Lines(60), workers, mode)
    list(itertools.islice(iter(loader), 9))
    again = loader_of(Lines(60), workers, mode)
    again.load_state_dict(loader.state_dict())
    assert next(iter(again))[2].tolist() == [1, 2, 3], "the first that were read in this process"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [Lines, Itself, Counting])
@pytest.mark.parametrize("taken", [0, 2, None])
def test_workers_that_stay_keep_their_state_between_epochs(make, mode, taken):
    """A state of the second epoch, or (None) of the time between the first and the second."""
    arguments = {"persistent_workers": True, "prefetch_factor": 2}
    whole = loader_of(make(), 2, mode, **arguments)
    wanted = [values(whole) for _ in range(3)]
    assert wanted[0] != wanted[1]
    loader = loader_of(make(), 2, mode, **arguments)
    assert values(loader) == wanted[0]
    got = [] if taken is None else list(itertools.islice(iter(loader), taken))
    again = loader_of(make(), 2, mode, **arguments)
    again.load_state_dict(loader.state_dict())
    assert values([*got, *again]) == wanted[1]
    if make is not Counting:  # its order is the next draw's, and workers that stay draw no seed for each epoch
        assert values(again) == wanted[2]


@pytest.mark.parametrize("make", [Lines, Itself, Counting])
def test_without_workers_the_dataset_itself_goes_on(make):
    whole = loader_of(make(), 0, None)
    wanted = [values(whole), values(whole)]
    loader = loader_of(make(), 0, None)
    assert values(loader) == wanted[0]
    again = loader_of(make(), 0, None)
    again.load_state_dict(loader.state_dict())
    assert values(again) == wanted[1]


@pytest.mark.parametrize("mode", MODES)
def test_the_loaders_own_dataset_is_asked_too(mode):
    """Its copies in workers begin with what the training script set."""
    dataset = Counting()
    dataset.given = 100
    loader = loader_of(dataset, 2, mode)
    wanted = values(loader)
    assert dataset.given == 100, "each worker has a copy"
    loader = loader_of(dataset, 2, mode)
    got = [next(iter(loader))]
    state = loader.state_dict()
    again = loader_of(Counting(), 2, mode)
    again.load_state_dict(state)
    assert values([*got, *again]) == wanted


class Noisy(Squares):
    """As torchdata's documentation has it: the state is the process's generator."""

    def __getitem__(self, index):
        return index, torch.rand(1)

    def state_dict(self):
        return {"rng": torch.get_rng_state()}

    def load_state_dict(self, state):
        torch.set_rng_state(state["rng"])


@pytest.mark.parametrize("workers", [0, 2])
def test_the_process_generator_as_a_state(workers):
    def make():
        torch.manual_seed(3)
        return pyfastdl.DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=workers, worker_mode="process")

    wanted = list(make())
    loader = make()
    got = list(itertools.islice(iter(loader), 3))
    state = loader.state_dict()
    torch.rand(5)
    again = make()
    again.load_state_dict(state)
    assert_same([*got, *again], wanted)


# -- samplers


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "make",
    [
        lambda: {"sampler": Drawing(), "batch_size": 4},
        lambda: {"sampler": Drawing(), "batch_size": None},
        lambda: {"sampler": Permuting(), "batch_size": 4},
        lambda: {"batch_sampler": BatchSampler(Drawing(), 4, True)},
        lambda: {"batch_sampler": Batches()},
        lambda: {"batch_sampler": Steps()},
    ],
    ids=["sampler", "no batches", "permuting", "within a batch_sampler", "batch_sampler", "iterator"],
)
def test_a_sampler_goes_on_from_its_state(make, mode, workers):
    def loader(workers=workers):
        return pyfastdl.DataLoader(Squares(100), **make(), num_workers=workers, worker_mode=mode)

    whole = loader(workers=0)
    wanted = [list(whole), list(whole)]
    for count in (0, 2, 5) if workers == 0 else (3,):
        stopped = loader()
        got = list(itertools.islice(iter(stopped), count))
        state = stopped.state_dict()
        again = loader()
        again.load_state_dict(state)
        assert_same([*got, *again], wanted[0])
        assert_same(list(again), wanted[1])
    between = loader()
    list(between)
    again = loader()
    again.load_state_dict(between.state_dict())
    assert_same(list(again), wanted[1])


def test_a_sampler_with_state_is_not_asked_for_what_is_over():
    class Counted(Drawing):
        asked = 0

        def __iter__(self):
            for index in super().__iter__():
                self.asked += 1
                yield index

    loader = pyfastdl.DataLoader(Squares(100), sampler=Counted(), batch_size=4)
    list(itertools.islice(iter(loader), 3))
    again = pyfastdl.DataLoader(Squares(100), sampler=Counted(), batch_size=4)
    again.load_state_dict(loader.state_dict())
    next(iter(again))
    assert again.sampler.asked == 4


# -- what can't be


@pytest.mark.parametrize("make", [Lines, Counting])
def test_states_of_workers_want_as_many(make):
    for mode in MODES:
        loader = loader_of(make(), 2, mode)
        next(iter(loader))
        with pytest.raises(ValueError, match="num_workers=2, and this one has 3"):
            loader_of(make(), 3, mode).load_state_dict(loader.state_dict())


def test_a_dataset_that_has_no_state_now_is_refused():
    loader = loader_of(Lines(), 0, None)
    next(iter(loader))
    state = loader.state_dict()
    again = loader_of(Sharded(23), 0, None)
    again.load_state_dict(state)
    with pytest.raises(ValueError, match=r"Sharded.*no state_dict"):
        list(again)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 1])
def test_a_state_that_cannot_be_asked_is_raised(mode, workers):
    class Refusing(Counting):
        def state_dict(self):
            raise LookupError("not now")

    with pytest.raises(LookupError, match="not now"):
        loader = loader_of(Refusing(), workers, mode)
        for _ in loader:
            loader.state_dict()


@pytest.mark.skipif("thread" not in MODES, reason="about copies for threads")
def test_a_dataset_that_cannot_be_copied_is_refused():
    class Locked(Counting):
        def __deepcopy__(self, memo):
            raise TypeError("not this one")

    with pytest.raises(TypeError, match=r"Locked.*copy of its own.*not this one"):
        iter(loader_of(Locked(), 1, "thread"))


@pytest.mark.parametrize("mode", MODES)
def test_each_worker_knows_its_own_dataset(mode):
    class Who(Counting):
        def __getitem__(self, index):
            return pyfastdl.get_worker_info().dataset is self, index

    assert all(batch[0].all() for batch in loader_of(Who(), 2, mode))


def test_no_iterator_without_a_state_is_kept():
    class Source:
        def __iter__(self):
            return iter(())

    made = []

    class Stream(IterableDataset):
        def __iter__(self):
            source = Source()
            made.append(weakref.ref(source))
            yield 1
            yield source

    iterator = iter(loader := loader_of(Stream(), 0, None, batch_size=1))
    next(iterator)
    del iterator
    gc.collect()
    assert made[0]() is None
    assert loader.state_dict()["yielded"] == 1
