"""Which samples make which batch: arrays of indices, from the loader's own order or from torch's samplers."""

from __future__ import annotations

import abc
import operator
from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "BatchSource", "FromBatchSampler", "FromSampler", "OwnOrder", "check_sampler", "make_batch_source", "sampler_chain",
]  # fmt: skip


class BatchSource(abc.ABC):
    """Where batches of indices come from, epoch after epoch."""

    #: The largest batch to expect; a larger one is possible from a batch sampler, and only costs time.
    capacity: int
    #: Whether an index may come more than once in an epoch.
    may_repeat = True
    #: torch's sampler or batch sampler, where there is one.
    sampler: Any = None

    @abc.abstractmethod
    def __len__(self) -> int: ...

    @abc.abstractmethod
    def batches(self, seed: int, epoch: int) -> Iterator[npt.NDArray[np.int64]]:
        """The batches of one epoch."""

    @abc.abstractmethod
    def words(self) -> str:
        """What the order is, in words: a state of another one is refused."""

    def set_epoch(self, epoch: int) -> None:
        """Tells samplers that follow the epoch (DistributedSampler) which one comes next."""
        follower = self._follower()
        if follower is not None:
            follower.set_epoch(epoch)

    def sampler_epoch(self) -> int | None:
        """Which epoch such a sampler was told, by whomever; None where there is none that can say it."""
        epoch = getattr(self._follower(), "epoch", None)
        return epoch if isinstance(epoch, int) else None

    def _follower(self) -> Any:
        return next((one for one in sampler_chain(self.sampler) if callable(getattr(one, "set_epoch", None))), None)

    def stateful_sampler(self) -> Any:
        """The first one that saves and loads its own state, or None."""
        for one in sampler_chain(self.sampler):
            if all(callable(getattr(one, name, None)) for name in ("state_dict", "load_state_dict")):
                return one
        return None

    def generators(self) -> list[torch.Generator]:
        """The samplers' own."""
        found = (getattr(one, "generator", None) for one in sampler_chain(self.sampler))
        return [generator for generator in found if isinstance(generator, torch.Generator)]


def sampler_chain(sampler: Any) -> Iterator[Any]:
    """A sampler, the one that it wraps, and so on."""
    seen: set[int] = set()
    while sampler is not None and id(sampler) not in seen:
        seen.add(id(sampler))
        yield sampler
        sampler = getattr(sampler, "sampler", None)


def check_sampler(sampler: Any, loader: type) -> None:
    """
    Raises:
        ValueError: for a sampler over a loader of that class: it would count the loader's batches.
    """
    for owner in (sampler, getattr(sampler, "sampler", None)):
        for attribute in ("data_source", "dataset"):
            if isinstance(getattr(owner, attribute, None), loader):
                raise ValueError(
                    f"the sampler was made over a {loader.__name__}, whose length is its number of batches: "
                    "make it over the loader's .dataset, or over range(number of files)"
                )


def _check_iterable(name: str, value: Any, of: str) -> None:
    # Python also iterates what has __getitem__ alone. Text is iterable too, but not of numbers.
    iterates = isinstance(value, Iterable) or hasattr(value, "__getitem__")
    if value is not None and (not iterates or isinstance(value, (str, bytes, type))):
        hint = f": a class; make an object of it, {value.__name__}(...)" if isinstance(value, type) else ""
        raise TypeError(f"{name} must be one of torch's samplers or another iterable of {of}, got {value!r}{hint}")


def _count(samples: int, batch_size: int, drop_last: bool) -> int:
    return samples // batch_size if drop_last else -(-samples // batch_size)


def _cut(batch_size: int, drop_last: bool) -> str:
    return f"batch_size={batch_size}, drop_last={drop_last}"


class OwnOrder(BatchSource):
    """All samples, one after another or shuffled natively for (seed, epoch)."""

    may_repeat = False

    def __init__(self, samples: int, batch_size: int, shuffle: bool, drop_last: bool) -> None:
        self._samples = samples
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._drop_last = drop_last
        self.capacity = min(batch_size, samples)

    def __len__(self) -> int:
        return _count(self._samples, self._batch_size, self._drop_last)

    def words(self) -> str:
        return f"shuffle={self._shuffle} and {_cut(self._batch_size, self._drop_last)}"

    def batches(self, seed: int, epoch: int) -> Iterator[npt.NDArray[np.int64]]:
        from pyfastdl import _core

        if self._shuffle:
            order = _core.permutation(self._samples, seed, epoch)
        else:
            order = np.arange(self._samples, dtype=np.int64)
        for number in range(len(self)):
            yield order[number * self._batch_size : (number + 1) * self._batch_size]


class FromSampler(BatchSource):
    """Indices from any iterable of integers, cut into batches."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.sampler = sampler
        self._batch_size = batch_size
        self._drop_last = drop_last
        self.capacity = batch_size
        if isinstance(sampler, Sized):
            self.capacity = max(1, min(batch_size, len(sampler)))

    def __len__(self) -> int:
        return _count(len(self.sampler), self._batch_size, self._drop_last)

    def words(self) -> str:
        return f"a sampler and {_cut(self._batch_size, self._drop_last)}"

    def batches(self, seed: int, epoch: int) -> Iterator[npt.NDArray[np.int64]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(operator.index(index))
            if len(batch) == self._batch_size:
                yield np.array(batch, dtype=np.int64)
                batch = []
        if batch and not self._drop_last:
            yield np.array(batch, dtype=np.int64)


class FromBatchSampler(BatchSource):
    """Whole batches from any iterable of lists of integers."""

    def __init__(self, batch_sampler: Iterable[Iterable[int]]) -> None:
        self.sampler = batch_sampler
        size = getattr(batch_sampler, "batch_size", None)
        self.capacity = size if isinstance(size, int) and size > 0 else 1

    def __len__(self) -> int:
        return len(self.sampler)

    def words(self) -> str:
        return "a batch_sampler"

    def batches(self, seed: int, epoch: int) -> Iterator[npt.NDArray[np.int64]]:
        for batch in self.sampler:
            indices = np.array([operator.index(index) for index in batch], dtype=np.int64)
            if indices.size == 0:
                raise ValueError("the batch_sampler gave a batch without indices: leave such batches out")
            yield indices


def make_batch_source(
    samples: int,
    *,
    batch_size: int,
    shuffle: bool,
    sampler: Iterable[int] | None,
    batch_sampler: Iterable[Iterable[int]] | None,
    drop_last: bool,
) -> BatchSource:
    """Checks the arguments against each other, as torch's DataLoader does, and picks the source.

    Raises:
        TypeError: for a sampler that can't be iterated.
        ValueError: for arguments that exclude each other.
    """
    _check_iterable("sampler", sampler, "indices")
    _check_iterable("batch_sampler", batch_sampler, "lists of indices")
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle: leave shuffle out")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last: "
                "leave those out"
            )
        return FromBatchSampler(batch_sampler)
    if sampler is not None:
        return FromSampler(sampler, batch_size, drop_last)
    return OwnOrder(samples, batch_size, shuffle, drop_last)
