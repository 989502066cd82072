"""Another thread comes between any two lines: what it and we get is as if one of us had come first."""

from __future__ import annotations

import pytest
import torch
from interleaving import interleaved
from loaders import MODES, By, Squares
from torch.utils.data import IterableDataset

import pyfastdl
from pyfastdl import transforms as T
from pyfastdl.locks import Living
from pyfastdl.order import Order
from pyfastdl.sampling import FromSampler

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

WORKERS = [(0, "thread"), *((2, mode) for mode in MODES)]


@pytest.fixture
def files(image_folder):
    return sorted(str(path) for path in image_folder.glob("*/*.jpg"))[:6]


def native(files, **more):
    arguments = {"transform": [T.Resize((8, 8))], "return_index": True, "shuffle": True, "seed": 3, "num_workers": 1}
    return pyfastdl.NativeLoader(files, 2, **{**arguments, **more})


def epoch_of(loader):
    return loader.state_dict()["epoch"]


def test_an_epoch_that_is_closed_while_a_batch_is_taken(files):
    """It is over then, whoever came first, and the next one is whole."""
    loader = native(files, shuffle=False, prefetch_factor=2)

    def take(epoch):
        try:
            return next(epoch)[1].tolist()
        except pyfastdl.LoaderError:
            return [0, 1]

    names = {"__next__", "_next_values", "_take", "_end_if_closing", "close", "_finish", "_end"}
    for epoch, got, _ in interleaved(names, lambda: iter(loader), take, lambda epoch: epoch.close()):
        assert got == [0, 1]
        assert epoch._batches is None
        assert [index.tolist() for _, index in loader] == [[0, 1], [2, 3], [4, 5]]


def test_figures_that_are_asked_for_while_a_batch_is_taken(files):
    batches = []

    def all_of(loader):
        batches[:] = loader
        return len(batches)

    names = {"_end", "_release", "_use", "_grow", "close", "give_back"}
    samplers = [[[0], [1], [2, 3, 4], [5]]]  # a larger batch needs another pipeline

    def make():
        return pyfastdl.NativeLoader(files, batch_sampler=samplers[0], transform=[T.Resize((8, 8))], num_workers=1)

    for loader, count, stats in interleaved(names, make, all_of, lambda loader: loader.stats()):
        assert count == 4
        assert 0 <= stats.samples <= 6
        assert loader.stats().samples == 6


def test_pipelines_that_come_back_while_the_loader_is_closed(files):
    def make():
        loader = native(files)
        loader.epochs = [iter(loader), iter(loader)]
        return loader

    def end_one(loader):
        loader.epochs[0].close()

    def end_other(loader):
        loader.epochs[1].close()

    for others in (end_other, lambda loader: loader.close()):
        for loader, _, _ in interleaved({"give_back", "_end_idle"}, make, end_one, others):
            assert len(loader._pipelines._idle) <= 1 - loader._closed


# -- which epoch is next, and where it is


def test_an_epoch_that_is_set_while_another_starts(files):
    for loader, epoch, _ in interleaved(
        {"__iter__", "_start_epoch", "set_epoch"}, lambda: native(files), iter, lambda loader: loader.set_epoch(7)
    ):
        assert (epoch_of(loader), loader._next_epoch) in {(0, 7), (7, 8)}
        epoch.close()


def test_an_epoch_that_starts_while_another_is_set(files):
    def start(loader):
        return epoch_of(loader) if iter(loader) else None

    for loader, _, epoch in interleaved({"set_epoch"}, lambda: native(files), lambda one: one.set_epoch(7), start):
        assert (epoch, loader._next_epoch) in {(0, 7), (7, 8)}


@pytest.mark.parametrize("first", ["iter", "load"])
def test_a_state_that_is_loaded_while_an_epoch_starts(files, first):
    loader = native(files)
    loader.set_epoch(3)
    next(iter(loader))
    state = loader.state_dict()
    acts = [lambda one: len(list(one)), lambda one: one.load_state_dict(state)]
    if first == "load":
        acts.reverse()
    for loader, *gave in interleaved({"__iter__", "_start_epoch", "load_state_dict"}, lambda: native(files), *acts):
        batches = next(count for count in gave if count is not None)
        assert (batches, epoch_of(loader)) in {(3, 3), (2, 4)}


@pytest.mark.parametrize("first", ["iter", "load"])
@pytest.mark.parametrize(("workers", "mode"), WORKERS[:2])
def test_a_state_of_the_drop_in_that_is_loaded_while_an_epoch_starts(workers, mode, first):
    def make():
        return pyfastdl.DataLoader(Squares(6), 2, num_workers=workers, worker_mode=mode)

    loader = make()
    for _ in range(3):
        iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    acts = [lambda one: len(list(one)), lambda one: one.load_state_dict(state)]
    if first == "load":
        acts.reverse()
    for loader, *gave in interleaved({"__iter__", "_start", "load_state_dict"}, make, *acts):
        batches = next(count for count in gave if count is not None)
        assert (batches, epoch_of(loader)) in {(3, 2), (2, 3)}


def test_sets_that_change_while_another_thread_goes_through_them():
    """Which a WeakSet doesn't stand."""

    def make():
        living = Living()
        living.kept = [Squares() for _ in range(3)]
        for one in living.kept:
            living.add(one)
        return living

    def change(living):
        living.kept.append(Squares())
        living.add(living.kept[-1])
        living.kept.pop(0)

    for living, found, _ in interleaved({"all", "<listcomp>", "add"}, make, Living.all, change):
        del found
        assert set(living.all()) >= set(living.kept)


class Counting:
    """A sampler that repeats itself, with a state."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < 12:
            self.at += 1
            yield self.at % 3

    def __len__(self):
        return 12

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("first", ["hand_over", "state"])
def test_the_state_of_an_order_is_of_one_batch(first):
    def make():
        order = Order(FromSampler(Counting(), 2, False), 3, 0, 0, [])
        order.drawn = [next(order) for _ in range(4)]
        order.hand_over(order.drawn[0])
        return order

    def hand_over(order):
        for drawn in order.drawn[1:3]:
            order.hand_over(drawn)

    acts = [hand_over, Order.state]
    if first == "state":
        acts.reverse()
    for order, *gave in interleaved({"hand_over", "state", "_came_until", "count"}, make, *acts):
        for state in (next(one for one in gave if one is not None), order.state()):
            assert state["came"].sum() == 2 * state["batches"] == state["sampler"]["at"]


def test_batches_that_lost_all_their_samples_came_too():
    order = Order(FromSampler(Counting(), 2, False), 3, 0, 0, [])
    drawn = [next(order) for _ in range(3)]
    order.hand_over(drawn[2])
    assert order.state()["came"].tolist() == [2, 2, 2]


class Cursor(IterableDataset):
    """Its state is where it is."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < 12:
            self.at += 1
            yield self.at - 1

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("first", ["next", "state"])
@pytest.mark.parametrize(("workers", "kind"), [(0, "sampler"), (1, "sampler"), (0, "iterable"), (1, "iterable")])
def test_the_state_of_the_drop_in_is_of_one_batch(workers, kind, first):
    def make():
        more = {"sampler": Counting()} if kind == "sampler" else {}
        dataset = By(lambda index: index) if kind == "sampler" else Cursor()
        loader = pyfastdl.DataLoader(dataset, 2, num_workers=workers, worker_mode="thread", **more)
        loader.running = iter(loader)
        return loader

    def take(loader):
        for _ in range(2):
            next(loader.running)

    acts = [take, pyfastdl.DataLoader.state_dict]
    if first == "state":
        acts.reverse()
    names = {"_next_index", "begin", "asked", "_through", "through", "fetch", "state", "_state", "state_dict"}
    for loader, *gave in interleaved(names, make, *acts):
        states = [next(one for one in gave if one is not None), loader.state_dict()]
        loader.running = None
        for state in states:
            assert state["yielded"] in range(3)
            resumed = make()
            resumed.running = None
            resumed.load_state_dict(state)
            assert sum(map(len, resumed)) == 12 - 2 * state["yielded"]


# -- an iterator that threads share


def rest_of(iterator):
    return [sample for batch in iterator for sample in batch.tolist()]


class Bad(By):
    def __getitem__(self, index):
        if index % 2:
            raise ValueError("bad")
        return index


def take(iterator):
    return next(iterator, torch.tensor([], dtype=torch.int64)).tolist()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize(("workers", "mode"), WORKERS)
def test_threads_that_share_an_iterator_get_each_sample_once(workers, mode, on_error):
    def make():
        dataset = (Bad if on_error == "skip" else By)(lambda index: index, 3)
        return iter(pyfastdl.DataLoader(dataset, 3, num_workers=workers, worker_mode=mode, on_error=on_error))

    names = {"__next__", "_next_of_all", "_next_data", "_next_batch", "_next_index", "_try_put_index"}
    for iterator, mine, others in interleaved(
        names, make, take, take, file="data" if mode == "process" else "pyfastdl"
    ):
        expected = [0, 2] if on_error == "skip" else [0, 1, 2]
        assert sorted(mine + others + rest_of(iterator)) == expected


@pytest.mark.parametrize(("workers", "mode"), WORKERS)
def test_threads_that_share_an_iterable_that_goes_on_get_each_sample_once(workers, mode):
    class Numbers(IterableDataset):
        def __iter__(self):
            return iter(range(8))

    def loader():
        return pyfastdl.DataLoader(Numbers(), 2, num_workers=min(workers, 1), worker_mode=mode)

    whole = loader()
    iterator = iter(whole)
    next(iterator)
    state = whole.state_dict()
    del iterator

    def make():
        resumed = loader()
        resumed.load_state_dict(state)
        return iter(resumed)

    for iterator, mine, others in interleaved({"__next__", "_next_of_all"}, make, take, take):
        assert sorted(mine + others + rest_of(iterator)) == list(range(2, 8))


@pytest.mark.parametrize("mode", MODES)
def test_workers_that_stay_get_another_epoch_while_a_batch_is_taken(mode):
    loader = pyfastdl.DataLoader(By(lambda index: index), 3, num_workers=1, worker_mode=mode, persistent_workers=True)

    def make():
        iterator = iter(loader)
        next(iterator)
        return iterator

    names = {"__next__", "_next_of_all", "_next_data", "_next_batch", "_put", "_wait", "_process_data"}
    for iterator, mine, _ in interleaved(names, make, take, lambda _: iter(loader)):
        rest = rest_of(iterator)
        assert rest == list(range(12)) or (mine + rest == list(range(12)) and mine == [0, 1, 2])
