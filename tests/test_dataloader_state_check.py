"""A state of another loader is refused, in words: it would skip samples, or give an empty epoch."""

from __future__ import annotations

import itertools

import pytest
import torch
from loaders import MODES, Sharded, Squares, assert_same
from stateful import Batches, Drawing
from torch.utils.data import BatchSampler, Dataset, RandomSampler, SequentialSampler

import pyfastdl

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

DATA = Squares(22)
# Each is another loader than all the others, and all of 22 samples.
OTHERS = {
    "in order": {"batch_size": 4},
    "shuffled": {"batch_size": 4, "shuffle": True},
    "larger batches": {"batch_size": 5, "shuffle": True},
    "without the last": {"batch_size": 4, "shuffle": True, "drop_last": True},
    "single samples": {"batch_size": None, "shuffle": True},
    "with replacement": {"batch_size": 4, "sampler": RandomSampler(DATA, replacement=True)},
    "fewer drawn": {"batch_size": 4, "sampler": RandomSampler(DATA, num_samples=10)},
    "a list": {"batch_size": 4, "sampler": list(range(22))},
    "a user's sampler": {"batch_size": 4, "sampler": Drawing()},
    "a user's batch_sampler": {"batch_sampler": Batches()},
    "a batch_sampler": {"batch_sampler": BatchSampler(SequentialSampler(DATA), 3, False)},
    "an iterable": {"dataset": Sharded(22), "batch_size": 4},
    "an iterable in larger batches": {"dataset": Sharded(22), "batch_size": 5},
    "an iterable without the last": {"dataset": Sharded(22), "batch_size": 4, "drop_last": True},
}


def loader_of(kind, **arguments):
    return pyfastdl.DataLoader(**{"dataset": DATA, **OTHERS[kind], **arguments})


def states(loader):
    """Before an epoch, and in one."""
    before = loader.state_dict()
    next(iter(loader))
    return before, loader.state_dict()


@pytest.mark.parametrize("kind", OTHERS)
def test_states_of_other_loaders_are_refused(kind):
    for state in states(loader_of(kind)):
        for other in OTHERS:
            loader = loader_of(other)
            if other == kind:
                loader.load_state_dict(state)
                continue
            with pytest.raises(
                ValueError, match=r"the state is of a loader with a.* and this one has a.*make it alike"
            ):
                loader.load_state_dict(state)
            assert loader.state_dict()["yielded"] == 0, "nothing was loaded"


def test_the_message_names_what_differs():
    state = loader_of("shuffled").state_dict()
    with pytest.raises(ValueError) as caught:
        loader_of("without the last", batch_size=3, shuffle=False).load_state_dict(state)
    for words in ("batch_size=4, drop_last=False", "RandomSampler(replacement=False, num_samples=22)"):
        assert words in str(caught.value).partition("this one")[0]
    for words in ("batch_size=3, drop_last=True", "SequentialSampler"):
        assert words in str(caught.value).partition("this one")[2]


@pytest.mark.parametrize("kind", ["in order", "shuffled", "single samples", "a list", "a user's batch_sampler"])
def test_another_length_is_refused(kind):
    for state in states(loader_of(kind)):
        with pytest.raises(ValueError, match=r"of 22 samples, and this one has 30.*the dataset that it had"):
            loader_of(kind, dataset=Squares(30)).load_state_dict(state)


@pytest.mark.parametrize("mode", MODES)
def test_a_loader_made_in_another_way_is_the_same_one(mode):
    """torch's own BatchSampler given by hand; and other workers."""
    loader = loader_of("in order")
    wanted = list(loader)
    got = list(itertools.islice(iter(loader), 2))
    sampler = BatchSampler(SequentialSampler(DATA), 4, False)
    again = pyfastdl.DataLoader(
        DATA, batch_sampler=sampler, num_workers=1, worker_mode=mode, prefetch_factor=3, collate_fn=None
    )
    again.load_state_dict(loader.state_dict())
    assert_same([*got, *again], wanted)


def test_a_dataset_without_a_length_goes_by_its_sampler():
    class Endless(Dataset):
        def __getitem__(self, index):
            return index

    def make():
        return pyfastdl.DataLoader(Endless(), batch_size=2, sampler=range(7))

    loader = make()
    got = [next(iter(loader))]
    again = make()
    again.load_state_dict(loader.state_dict())
    assert torch.cat([*got, *again]).tolist() == list(range(7))


def test_a_sampler_may_change_as_it_runs():
    class Growing(BatchSampler):
        def __iter__(self):
            for batch in super().__iter__():
                yield batch
                self.batch_size += 1

    def make():
        return pyfastdl.DataLoader(DATA, batch_sampler=Growing(SequentialSampler(DATA), 2, False))

    loader = make()
    list(itertools.islice(iter(loader), 2))
    assert loader.batch_sampler.batch_size > 2
    make().load_state_dict(loader.state_dict())


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (None, "got None"),
        ({}, "got an empty dict"),
        ([1], "got a list"),
        ({"epoch": 3, "model": 1}, "got a dict with 'epoch', 'model'"),
        ({str(number): 0 for number in range(99)}, "'7', …"),
        ({"version": 2, "yielded": 3}, "version 2, and this pyfastdl writes and reads version 3"),
    ],
)
def test_what_is_no_state_of_ours_is_named(state, words):
    with pytest.raises(ValueError) as caught:
        loader_of("in order").load_state_dict(state)
    assert words in str(caught.value)


def test_a_native_loaders_state_is_refused(image_folder):
    state = pyfastdl.NativeLoader(image_folder, batch_size=4).state_dict()
    with pytest.raises(ValueError, match="of a pyfastdl.NativeLoader"):
        loader_of("in order").load_state_dict(state)
