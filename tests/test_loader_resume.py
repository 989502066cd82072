"""NativeLoader's state_dict(): a run that is stopped and taken up again is one run. Case S7."""

from __future__ import annotations

import itertools
import random

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loaders import assert_same
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, Sampler, SequentialSampler, Subset
from torch.utils.data import WeightedRandomSampler as Weighted

import pyfastdl
from pyfastdl import transforms as T

CROP = [T.RandomResizedCrop(8), T.RandomHorizontalFlip()]
LENGTH = 22


def noise(image):
    return image + torch.rand((), generator=pyfastdl.sample_rng().torch)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    from encoded_images import picture
    from PIL import Image

    root = tmp_path_factory.mktemp("resume")
    for i in range(LENGTH):
        Image.fromarray(picture(12 + i, 20)).save(root / f"{i:02}.png")
    return sorted(map(str, root.iterdir()))


class Stateful(Sampler):
    """Knows where it is."""

    def __init__(self, seed=0):
        self.seed, self.round, self.position = seed, 0, 0

    def __iter__(self):
        order = random.Random(f"{self.seed} {self.round}").choices(range(LENGTH), k=LENGTH)
        while self.position < LENGTH:
            self.position += 1
            yield order[self.position - 1]
        self.round, self.position = self.round + 1, 0

    def __len__(self):
        return LENGTH

    def state_dict(self):
        return {"seed": self.seed, "round": self.round, "position": self.position}

    def load_state_dict(self, state):
        self.seed, self.round, self.position = state["seed"], state["round"], state["position"]


class PerIndex(Sampler):
    """Draws from torch's default generator for each index; ahead of the training loop, too."""

    def __iter__(self):
        return (int(torch.randint(LENGTH, ())) for _ in range(LENGTH))

    def __len__(self):
        return LENGTH


def seeded(seed=2):
    return torch.Generator().manual_seed(seed)


def distributed():
    return DistributedSampler(range(LENGTH), num_replicas=2, rank=1, seed=5)


ORDERS = {
    "seed": lambda: {"batch_size": 4, "shuffle": True, "seed": 9},
    "generator": lambda: {"batch_size": 4, "shuffle": True, "generator": seeded()},
    "default generator": lambda: {"batch_size": 4, "shuffle": True},
    "in order": lambda: {"batch_size": 4, "seed": 9, "drop_last": True},
    "RandomSampler": lambda: {"batch_size": 4, "sampler": RandomSampler(range(LENGTH))},
    "its own generator": lambda: {
        "batch_size": 4,
        "seed": 1,
        "sampler": RandomSampler(range(LENGTH), replacement=True, num_samples=30, generator=seeded()),
    },
    "one generator for all": lambda: (
        lambda generator: {
            "batch_size": 4,
            "generator": generator,
            "sampler": Weighted([1.0] * LENGTH, 25, generator=generator),
        }
    )(seeded()),
    "batch sampler": lambda: {"batch_sampler": BatchSampler(RandomSampler(range(LENGTH)), 5, False), "seed": 3},
    "index by index": lambda: {"batch_size": 3, "sampler": PerIndex()},
    "distributed": lambda: {"batch_size": 2, "sampler": distributed(), "seed": 3},
    "stateful": lambda: {"batch_size": 4, "sampler": Stateful(), "seed": 3},
    "stateful in a batch sampler": lambda: {"batch_sampler": BatchSampler(Stateful(), 11, False)},
    "growing batches": lambda: {"batch_sampler": [[0], [1, 1, 2], [3], [0, 1, 2, 3, 4, 5, 6], [1, 0]], "seed": 3},
}


def loader_of(files, order, **arguments):
    return pyfastdl.NativeLoader(
        files, **{"transform": [*CROP, noise], "return_index": True, "num_workers": 2, **ORDERS[order](), **arguments}
    )


def one_run(files, order, epochs=2, **arguments):
    torch.manual_seed(6)
    loader = loader_of(files, order, **arguments)
    return [list(loader) for _ in range(epochs)]


def through_a_file(state, path):
    torch.save(state, path)
    return torch.load(path, weights_only=True)


@pytest.mark.parametrize("order", ORDERS)
def test_any_two_stops_in_an_epoch_are_one_run(files, order, tmp_path):
    """In the first epoch and in the second; with other numbers of threads, other prefetching."""
    first, second, third = one_run(files, order, 3)
    batches = len(first)

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, batches), st.integers(0, batches), st.booleans(), st.integers(1, 3), st.integers(1, 5))
    def check(k, j, in_second, num_workers, prefetch_factor):
        arguments = {"num_workers": num_workers, "prefetch_factor": prefetch_factor}
        torch.manual_seed(6)
        loader = loader_of(files, order)
        got = list(loader) if in_second else []
        for count in (k, min(j, batches - k)):
            iterator = iter(loader)
            got += itertools.islice(iterator, count)
            state = through_a_file(loader.state_dict(), tmp_path / "state.pt")
            torch.manual_seed(99)
            loader = loader_of(files, order, **arguments)
            if isinstance(loader.generator, torch.Generator):
                loader.generator.manual_seed(99)
            loader.load_state_dict(state)
        got += loader
        assert_same(got, first + second if in_second else first)
        assert_same(list(loader), third if in_second else second)

    check()


@pytest.mark.parametrize("order", ORDERS)
def test_at_the_end_and_between_epochs(files, order):
    """When the last batch is handed over; when the loop has ended; before anything."""
    wanted = one_run(files, order, 3)
    torch.manual_seed(6)
    loader = loader_of(files, order)
    states = [loader.state_dict()]
    iterator = iter(loader)
    got = [next(iterator) for _ in wanted[0]]
    states.append(loader.state_dict())
    assert next(iterator, None) is None
    states.append(loader.state_dict())
    assert_same(got, wanted[0])
    for state, rest in zip(states, ([wanted[0], wanted[1]], [[], wanted[1]], [wanted[1], wanted[2]]), strict=True):
        torch.manual_seed(98)
        again = loader_of(files, order)
        again.load_state_dict(state)
        assert_same([list(again), list(again)], rest)


def test_a_loaded_state_is_its_own_state(files):
    loader = loader_of(files, "seed")
    next(iter(loader))
    state = loader.state_dict()
    again = loader_of(files, "seed")
    again.load_state_dict(state)
    assert_same(again.state_dict(), state)
    iterator = iter(again)
    assert_same(again.state_dict(), state)
    next(iterator)
    assert again.state_dict()["batches"] == 2


def test_the_same_loader_may_go_back(files):
    wanted = one_run(files, "stateful", 1)[0]
    loader = loader_of(files, "stateful")
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    assert_same(list(iterator), wanted[1:])
    for _ in range(2):
        loader.load_state_dict(state)
        assert_same(list(loader), wanted[1:])


def test_a_start_that_failed_does_not_use_the_state_up(files):
    loader = loader_of(files, "in order")
    next(iter(loader))
    state = loader.state_dict()
    gone = loader_of(["gone.png"] * LENGTH, "in order", transform=[])
    gone.load_state_dict(state)
    for _ in range(2):
        with pytest.raises(pyfastdl.SampleError, match="none of the first"):
            iter(gone)
        assert_same(gone.state_dict(), state)


def test_batches_that_were_handed_out_are_not_loaded_again(files):
    loader = loader_of(files, "in order")
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    seen = []
    again = loader_of(files, "in order", transform=[*CROP, lambda x: seen.append(1) or x])
    again.load_state_dict(loader.state_dict())
    list(again)
    assert len(seen) == 20 - 12
    assert again.stats().samples == 20 - 12


@pytest.mark.parametrize("on_error", ["skip", "replace"])
@pytest.mark.parametrize("order", ["seed", "its own generator"])
def test_lost_samples_stay_lost(files, on_error, order, tmp_path):
    """Batches that lost all their samples too."""
    gone = [*files[:4], *("gone.png" for _ in range(8)), *files[12:]]
    arguments = {"on_error": on_error, **({"transform": CROP, "shuffle": False} if order == "seed" else {})}
    wanted, after = one_run(gone, order, **arguments)
    for k in range(len(wanted) + 1):
        loader = loader_of(gone, order, **arguments)
        iterator = iter(loader)
        got = list(itertools.islice(iterator, k))
        state = through_a_file(loader.state_dict(), tmp_path / "state.pt")
        again = loader_of(gone, order, **arguments)
        again.load_state_dict(state)
        assert_same([*got, *again], wanted)
        assert_same(list(again), after)
        assert {error.index for error in again.errors} <= set(range(4, 12))


def test_an_error_that_was_raised_is_behind(files):
    broken = [*files[:5], "gone.png", *files[6:]]
    loader = loader_of(broken, "in order")
    iterator = iter(loader)
    first = next(iterator)
    with pytest.raises(pyfastdl.SampleError):
        next(iterator)
    again = loader_of(broken, "in order")
    again.load_state_dict(loader.state_dict())
    got = [first, *again]
    assert [batch[-1].tolist()[0] for batch in got] == [0, 8, 12, 16]
    assert_same(got[1:], list(iterator))


@pytest.mark.parametrize("told", ["the loader", "the sampler"])
def test_a_distributed_sampler_goes_on_in_its_epoch(files, told):
    def tell(loader, epoch):
        (loader if told == "the loader" else loader.sampler).set_epoch(epoch)

    def run(loader, epochs):
        for epoch in epochs:
            tell(loader, epoch)
            yield list(loader)

    wanted = list(run(loader_of(files, "distributed"), range(4)))
    assert wanted[1][0][-1].tolist() != wanted[2][0][-1].tolist()
    loader = loader_of(files, "distributed")
    got = list(run(loader, range(2)))
    tell(loader, 2)
    iterator = iter(loader)
    head = [next(iterator), next(iterator)]
    again = loader_of(files, "distributed")
    again.load_state_dict(loader.state_dict())
    if told == "the loader":
        again.set_epoch(2)  # as loops do that count epochs
    assert_same([*got, [*head, *again], *run(again, [3])], wanted)


def test_another_epoch_than_the_states_starts_afresh(files):
    wanted = one_run(files, "seed", 3)
    loader = loader_of(files, "seed")
    next(iter(loader))
    again = loader_of(files, "seed")
    again.load_state_dict(loader.state_dict())
    again.set_epoch(2)
    assert_same(list(again), wanted[2])


@pytest.mark.parametrize("order", ["seed", "in order", "distributed", "stateful", "its own generator"])
def test_torchs_default_generator_is_left_alone_where_nothing_depends_on_it(files, order):
    loader = loader_of(files, order)
    next(iter(loader))
    states = [loader.state_dict(), loader_of(files, order).state_dict()]
    for state in states:
        torch.manual_seed(5)
        wanted = torch.rand(3)
        again = loader_of(files, order)
        again.load_state_dict(state)
        torch.manual_seed(5)
        list(again)
        assert torch.equal(torch.rand(3), wanted)


def test_other_states_are_refused_in_words(files, tmp_path):
    loader = loader_of(files, "seed")
    state = loader.state_dict()
    for wrong in ({"epoch": 3}, None, [], {"version": 1}):
        with pytest.raises(ValueError, match=r"what state_dict\(\) of a pyfastdl.NativeLoader gave"):
            loader.load_state_dict(wrong)
    with pytest.raises(ValueError, match="version 7.*version 1"):
        loader.load_state_dict({**state, "version": 7})
    with pytest.raises(ValueError, match="22 samples, and this one has 21"):
        loader_of(files[1:], "seed").load_state_dict(state)
    with pytest.raises(ValueError, match="batch_size=4.*batch_size=3"):
        loader_of(files, "seed", batch_size=3).load_state_dict(state)
    with pytest.raises(ValueError, match="shuffle=True.*a sampler"):
        loader_of(files, "stateful").load_state_dict(state)
    with pytest.raises(ValueError, match="other generators or another sampler"):
        loader_of(files, "stateful").load_state_dict(loader_of(files, "distributed", batch_size=4).state_dict())
    with pytest.raises(ValueError, match="other generators"):
        loader_of(files, "generator", seed=3).load_state_dict(loader_of(files, "generator").state_dict())
    with pytest.raises(ValueError, match="of a pyfastdl.DataLoader"):
        loader.load_state_dict(pyfastdl.DataLoader(Subset(range(LENGTH), range(4))).state_dict())
    assert len(list(loader)) == 6  # none of it changed anything


def test_a_sampler_that_ends_too_early_is_named(files):
    long, short = SequentialSampler(range(LENGTH)), SequentialSampler(range(6))
    loader = pyfastdl.NativeLoader(files, 2, sampler=long, transform=CROP)
    iterator = iter(loader)
    for _ in range(5):
        next(iterator)
    again = pyfastdl.NativeLoader(files, 2, sampler=short, transform=CROP)
    again.load_state_dict(loader.state_dict())
    with pytest.raises(pyfastdl.LoaderError, match="ended after 3 batches, but the loaded state is 5 batches"):
        iter(again)
