"""Datasets and samplers with a state of their own: ``state_dict()`` and ``load_state_dict()``, as torchdata names them.

A state is pickled where it is asked for: what the object does next must not change it, and from a worker process it
travels as bytes (tensors in it would otherwise each take a file descriptor).
"""

from __future__ import annotations

import pickle
from typing import Any

from torch.utils.data import BatchSampler, IterableDataset, IterDataPipe, MapDataPipe

from pyfastdl.errors import Failure
from pyfastdl.workers.tolerance import Tolerant

__all__ = ["WorkerDataset", "ask", "for_next_epoch", "give", "has_state", "sampler_of"]


def has_state(thing: Any) -> bool:
    """Whether it has both methods. (A DataPipe answers to any name.)"""
    if isinstance(thing, (IterDataPipe, MapDataPipe)):
        return False
    return all(callable(getattr(thing, name, None)) for name in ("state_dict", "load_state_dict"))


def ask(thing: Any) -> Any:
    """The state of a thing as it is now, which stays as it is; None where it has none."""
    return pickle.loads(pickle.dumps(thing.state_dict())) if has_state(thing) else None


def give(thing: Any, state: Any) -> None:
    """Gives a state back; None: there was none.

    Raises:
        ValueError: the thing has no ``load_state_dict``.
    """
    if state is None:
        return
    if not has_state(thing):
        raise ValueError(
            f"the loader's state holds one of a {type(thing).__name__}'s own, which has no state_dict() and "
            "load_state_dict() now: load it into a loader of the same dataset and sampler"
        )
    thing.load_state_dict(pickle.loads(pickle.dumps(state)))  # what it does with it is not the checkpoint's


def sampler_of(index_sampler: Any) -> Any:
    """The sampler that decides on the order: torch's BatchSampler takes from its own only what the batch needs."""
    while type(index_sampler) is BatchSampler:
        index_sampler = index_sampler.sampler
    return index_sampler


class WorkerDataset:
    """The dataset as one worker has it: under the loader's ``on_error``, and with a state that is kept.

    Attributes:
        dataset: the user's object.
        for_fetcher: what torch's fetcher gets in its stead.

    Args:
        start: the state to go on from, as :meth:`state` gave it; None: from the beginning.
    """

    def __init__(self, dataset: Any, on_error: str, start: bytes | None) -> None:
        self.dataset = dataset
        self.for_fetcher = dataset
        self._tolerant: Tolerant | None = None
        self._iterable: _Iterable | None = None
        self._start = start
        if isinstance(dataset, IterableDataset):
            if not isinstance(dataset, IterDataPipe):
                self._iterable = self.for_fetcher = _Iterable(dataset, start)
        elif on_error != "raise":
            self._tolerant = self.for_fetcher = Tolerant(dataset, on_error)

    def restore(self) -> None:
        """Before a map-style dataset's first sample, and after worker_init_fn. (An iterable restores itself.)"""
        start, self._start = self._start, None
        if self._iterable is None and start is not None:
            give(self.dataset, pickle.loads(start)["dataset"])

    def take_failures(self) -> list[Failure]:
        return self._tolerant.take_failures() if self._tolerant is not None else []

    def state(self) -> bytes | None:
        """As of now, pickled; None where neither the dataset nor its iterator has one."""
        own = has_state(self.dataset)
        iterable = self._iterable
        if iterable is not None:
            return iterable.state() if own or iterable.has_state() else None
        return _pickled(self.dataset.state_dict(), None, False) if own else None


class _Iterable(IterableDataset[Any]):
    """An iterable dataset that knows its iterator, and can start in the middle.

    When it does, the dataset is opened at the first sample: whatever else an epoch's start does to random numbers is
    done by then.
    """

    def __init__(self, dataset: Any, start: bytes | None) -> None:
        self._dataset = dataset
        self._start = start
        self._iterator: Any = None
        self._ended = False

    def __iter__(self) -> Any:
        self._iterator, self._ended = None, False
        if self._start is None:
            iterator = iter(self._dataset)
            if not has_state(self._dataset) and not has_state(iterator):
                return iterator
            self._iterator = iterator
        return self

    def __next__(self) -> Any:
        if self._iterator is None:
            self._open()
        try:
            return next(self._iterator)
        except StopIteration:
            self._ended = True
            raise

    def _open(self) -> None:
        assert self._start is not None
        start, self._start = pickle.loads(self._start), None
        give(self._dataset, start["dataset"])
        if start["ended"]:
            self._iterator = iter(())  # it would begin again
            return
        self._iterator = iter(self._dataset)
        give(self._iterator, start["iterator"])

    def has_state(self) -> bool:
        return self._start is not None or has_state(self._iterator)

    def state(self) -> bytes | None:
        if self._start is not None:
            return self._start
        own = self._dataset.state_dict() if has_state(self._dataset) else None
        if self._iterator is self._dataset:
            iterator = own  # given back after iter() too, which may have set it to its start
        else:
            iterator = self._iterator.state_dict() if has_state(self._iterator) else None
        return _pickled(own, iterator, self._ended)


def _pickled(dataset: Any, iterator: Any, ended: bool) -> bytes | None:
    if dataset is None and iterator is None:
        return None
    return pickle.dumps({"dataset": dataset, "iterator": iterator, "ended": ended})


def for_next_epoch(state: bytes) -> bytes:
    """What stays of a worker's state when its epoch is over: its iterator will be another one."""
    return pickle.dumps({**pickle.loads(state), "iterator": None, "ended": False})
