"""How far an epoch is, and how to go on from there: what state_dict() holds."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from pyfastdl.errors import Failure, LoaderError
from pyfastdl.failure_log import EpochFailures
from pyfastdl.workers.context import Occurrences
from pyfastdl.workers.state_check import common
from pyfastdl.workers.states import ask, for_next_epoch, give, has_state, sampler_of
from pyfastdl.workers.turns import Turns

if TYPE_CHECKING:
    from pyfastdl.dataloader import DataLoader

__all__ = ["Progress", "Resumable", "between_epochs", "counts_to_the_end", "next_epoch"]


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where the training loop is. Replaced as a whole, so that a state that another thread or a signal handler asks for
    is that of one batch.

    Attributes:
        yielded: batches that were handed out, left out or failed.
        workers: the states of workers' datasets after the last batch of each, pickled.
        last_worker: whose batch was the last, where workers have states.
        order: the generators' states and the sampler's, pickled; None before the sampler was asked.
    """

    yielded: int = 0
    workers: dict[int, bytes] = dataclasses.field(default_factory=dict)
    last_worker: int | None = None
    order: tuple[list[torch.Tensor], bytes] | None = None


class Progress:
    """One epoch of a loader.

    The order of samples follows from the generators' states right before the sampler is asked for the first time, or
    from the sampler's own state, where it has one; random numbers of samples and workers from ``seed`` and ``epoch``.

    Attributes:
        skip: batches that have to be asked for and thrown away to get to where the epoch goes on.
        place: where the training loop is.
        ends: the states of workers' datasets after their last batch, of iterables that came to their end.
        next_turn: of the epoch's iterator; set with it.
        watch: instead of workers' states, where datasets aren't ahead of the training loop: the state as of now.
    """

    def __init__(self, loader: DataLoader[Any], resumed: dict[str, Any] | None) -> None:
        self._sampler = sampler_of(loader._index_sampler)
        self._generators = _generators(loader)
        self._resumed = self._loaded = resumed
        if resumed is not None:
            give(loader.dataset, resumed["dataset"])
            give(self._sampler, resumed["sampler"]["sampler"])  # before it is iterated
            if resumed["seed"] is None:
                self._restore()  # before the epoch draws anything
                self._resumed = None
        self.place = _Place()
        if resumed is not None:
            workers = {worker: pickle.dumps(state) for worker, state in resumed["workers"].items()}
            self.place = _Place(resumed["yielded"], workers, resumed["last_worker"])
        self.ends: dict[int, bytes] = {}
        self.next_turn = Turns()
        self.watch: Callable[[], bytes | None] | None = None
        self.skip = 0 if resumed is not None and self._is_placed(loader, resumed) else self.place.yielded
        self.seed: int | None = resumed["seed"] if resumed else None  # None: whatever the iterator draws
        self.epoch = 0
        self.finished = False
        self.wanted = False  # a batch was asked for
        self._orders: deque[tuple[list[torch.Tensor], bytes]] = deque()  # after each batch that isn't handed out yet

    def untouched(self) -> dict[str, Any] | None:
        """The state that this epoch was to go on from, while nobody has asked it for a batch.

        Trainers call ``iter()`` ahead, and again when they get to work: both mean the same epoch.
        """
        return None if self.wanted else self._loaded

    def _is_placed(self, loader: DataLoader[Any], resumed: dict[str, Any]) -> bool:
        """Whether states bring the epoch to where it goes on."""
        if loader._dataset_kind == _DatasetKind.Iterable:
            return bool(self.place.workers)
        return any(state is not None for state in resumed["sampler"].values())

    # -- the order

    def begin(self, iterator: Any) -> None:
        """Before the first index of the sampler's iterator."""
        if self.place.order is not None:
            return
        if self._resumed is not None:
            give(iterator, self._resumed["sampler"]["iterator"])
            self._restore()
        self.place = dataclasses.replace(self.place, order=self._order_of(iterator))

    def asked(self, iterator: Any) -> None:
        """After each index: where the order stands, if only the sampler can say it."""
        if has_state(self._sampler) or has_state(iterator):
            self._orders.append(self._order_of(iterator))

    def _order_of(self, iterator: Any) -> tuple[list[torch.Tensor], bytes]:
        sampler = self._sampler.state_dict() if has_state(self._sampler) else None
        own = iterator.state_dict() if iterator is not self._sampler and has_state(iterator) else None
        return [one.get_state() for one in self._generators], pickle.dumps({"sampler": sampler, "iterator": own})

    def _restore(self) -> None:
        assert self._resumed is not None
        for generator, state in zip(self._generators, self._resumed["generators"], strict=False):
            generator.set_state(state)

    # -- what is through

    def turns(self, workers: int) -> Any:
        """Which worker is the next one's, again and again: after the one whose batch came last."""
        last = self.place.last_worker
        first = 0 if last is None else last + 1
        return itertools.islice(itertools.cycle(range(workers)), first % workers, None)

    def through(self, worker: int, state: bytes | None) -> None:
        """One more batch of the sampler's was handed out, left out or failed."""
        place = self.place
        workers, last_worker = place.workers, place.last_worker
        if state is not None:
            workers, last_worker = {**workers, worker: state}, worker
        order = self._orders.popleft() if self._orders else place.order
        self.place = _Place(place.yielded + (not self.skip), workers, last_worker, order)
        self.skip = max(0, self.skip - 1)

    def left(self) -> dict[int, bytes]:
        """What the workers' datasets begin the next epoch with, if the workers stay. (Where this epoch was broken off,
        that is as of the batches that were handed out, too.)"""
        return {worker: for_next_epoch(state) for worker, state in {**self.place.workers, **self.ends}.items()}

    @property
    def over(self) -> bool:
        return self.finished or self.seed is None

    def state(self, loader: DataLoader[Any]) -> dict[str, Any] | None:
        """None once the epoch is over."""
        place = self.place
        if place.order is not None and self.watch is None:
            return self._state(loader, place)
        with self.next_turn.look():  # what the generators and the dataset say belongs to a batch, too
            return self._state(loader, self.place)

    def _state(self, loader: DataLoader[Any], place: _Place) -> dict[str, Any] | None:
        if self.over:
            return None
        if place.order is None and self._resumed is not None:
            generators, sampler = self._resumed["generators"], self._resumed["sampler"]
        else:
            generators, order = place.order or self._order_of(None)
            sampler = pickle.loads(order)
        states: dict[int, bytes | None] = dict(place.workers) if self.watch is None else {0: self.watch()}
        return {
            **common(loader),
            "epoch": self.epoch,
            "yielded": place.yielded,
            "seed": self.seed,
            "generators": generators,
            "sampler": sampler,
            "dataset": ask(loader.dataset) if self.watch is None else None,
            "workers": {worker: pickle.loads(state) for worker, state in states.items() if state is not None},
            "last_worker": place.last_worker,
            "num_workers": _workers_that_matter(loader),
            # With the last batch nobody knows yet whether the caller will see the epoch's end, or counts to it.
            "after": between_epochs(loader, self.epoch + 1) if place.yielded == _batches(loader) else None,
        }


def between_epochs(loader: DataLoader[Any], epoch: int) -> dict[str, Any]:
    """The state of a loader that isn't in an epoch: the next one starts as it would have."""
    progress = loader._progress if loader.persistent_workers else None
    left = progress.left() if progress is not None else {}
    return {
        **common(loader),
        "epoch": epoch,
        "yielded": 0,
        "seed": progress.seed if progress is not None else None,  # workers that stay keep it
        "generators": [generator.get_state() for generator in _generators(loader)],
        "sampler": {"sampler": ask(sampler_of(loader._index_sampler)), "iterator": None},
        "dataset": ask(loader.dataset),
        "workers": {worker: pickle.loads(state) for worker, state in left.items()},
        "last_worker": None,
        "num_workers": _workers_that_matter(loader) if left else None,
    }


def counts_to_the_end(caller: str) -> bool:
    """Whether that module takes an epoch as over with its last batch, without asking for one more.

    Lightning does: of a checkpoint at the last step it wants the next epoch at once. It would take the rest of the
    old one, which is empty, for the next one's batches: an epoch would be lost without a word.
    """
    return caller.startswith(("pytorch_lightning.", "lightning."))


def next_epoch(state: dict[str, Any]) -> dict[str, Any]:
    """What follows a state of an epoch's last batch; other states stay."""
    return state.get("after") or state


def _batches(loader: DataLoader[Any]) -> int | None:
    if loader._dataset_kind == _DatasetKind.Iterable and loader._IterableDataset_len_called is None:
        return None  # asking has torch warn of more samples; and who counts batches has asked
    try:
        return len(loader)
    except (TypeError, NotImplementedError):  # a sampler that doesn't say
        return None


def _workers_that_matter(loader: DataLoader[Any]) -> int | None:
    iterable = loader._dataset_kind == _DatasetKind.Iterable
    return int(loader.num_workers) if iterable or has_state(loader.dataset) else None


def _generators(loader: DataLoader[Any]) -> list[torch.Generator]:
    """Those that decide on the order: the loader's or torch's, and the samplers' own. (What a sampler with a state
    calls its generator is in that state, and for it alone to set.)"""
    first = loader.generator if loader.generator is not None else torch.default_generator
    found: list[torch.Generator] = [first]
    sampler, seen = loader._index_sampler, set()
    while sampler is not None and id(sampler) not in seen:
        seen.add(id(sampler))
        own = getattr(sampler, "generator", None)
        if has_state(sampler):
            return [one for one in found if one is not own]
        if isinstance(own, torch.Generator) and all(own is not one for one in found):
            found.append(own)
        sampler = getattr(sampler, "sampler", None)
    return found


class Resumable(_BaseDataLoaderIter):
    """An iterator that counts, and can start in mid-epoch. It goes in front of the iterator's own class."""

    native = False  # whether it hands out the core's batches
    next_turn: Turns  # threads of the user's may share an iterator
    _torn = False  # an interrupt came between a batch and the training loop
    _progress: Progress
    _occurrences: Occurrences
    _drawn_seed: int
    _failures: EpochFailures

    @property
    def _base_seed(self) -> Any:
        return self._drawn_seed

    @_base_seed.setter
    def _base_seed(self, drawn: Any) -> None:
        # Drawn all the same: the draw is part of what an epoch does to the generator.
        self._drawn_seed = drawn if self._progress.seed is None else self._progress.seed
        self._progress.seed = self._drawn_seed

    def _follow(self, loader: Any) -> None:
        """At the start of each epoch; before torch's own constructor, which draws the seed."""
        if hasattr(self, "_drawn_seed"):  # workers that stay keep their seed, and their datasets
            loader._progress.seed = self._drawn_seed
            loader._progress.place = dataclasses.replace(loader._progress.place, workers=self._progress.left())
        if not hasattr(self, "next_turn"):
            self.next_turn = Turns()
        loader._progress.next_turn = self.next_turn
        self._progress = loader._progress
        self._progress.epoch = loader._start_epoch()
        self._failures = EpochFailures(loader._failures, self._progress.place.yielded > 0)

    def _next_index(self) -> Any:
        progress = self._progress
        progress.begin(self._sampler_iter)
        if self._dataset_kind == _DatasetKind.Map:
            while progress.skip:
                index = super()._next_index()  # type: ignore[no-untyped-call]
                self._occurrences.of(index if self._auto_collation and isinstance(index, (list, tuple)) else [index])
                progress.skip -= 1
        index = super()._next_index()  # type: ignore[no-untyped-call]
        progress.asked(self._sampler_iter)
        return index

    def _through(self, failures: list[Failure], worker: int = 0, state: bytes | None = None) -> None:
        """A batch is at its turn, with what its worker said beside it: it will be handed out, left out, or raised."""
        self._progress.through(worker, state)
        self._failures.add(failures)

    def __next__(self) -> Any:
        with self.next_turn():
            if self._torn:
                raise LoaderError("an interrupt came between a batch and the training loop: start another epoch")
            try:
                batch = self._next_of_all()
            except Exception:
                self._torn = False
                raise
            self._torn = False
        return batch

    def _next_of_all(self) -> Any:
        progress = self._progress
        progress.wanted = True
        try:
            if self._dataset_kind == _DatasetKind.Iterable:
                while progress.skip:  # an iterable has no other way to get there
                    super().__next__()
            batch = super().__next__()
        except StopIteration:
            progress.finished = True
            self._failures.check_end("the dataset")
            raise
        self._failures.handed_over = True
        return batch
