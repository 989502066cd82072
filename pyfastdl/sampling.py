"""Which samples make which batch: arrays of indices, from the loader's own order or from torch's samplers."""

from __future__ import annotations

import abc
import operator
from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["BatchSource", "FromBatchSampler", "FromSampler", "OwnOrder", "make_batch_source"]


class BatchSource(abc.ABC):
    """Where batches of indices come from, epoch after epoch."""

    #: The largest batch to expect; a larger one is possible from a batch sampler, and only costs time.
    capacity: int

    @abc.abstractmethod
    def __len__(self) -> int: ...

    @abc.abstractmethod
    def batches(self, seed: int, epoch: int) -> Iterator[npt.NDArray[np.int64]]:
        """The batches of one epoch."""

    def set_epoch(self, epoch: int) -> None:  # noqa: B027  (most sources have nobody to tell)
        """Tells samplers that follow the epoch (DistributedSampler) which one comes next."""


def _count(samples: int, batch_size: int, drop_last: bool) -> int:
    return samples // batch_size if drop_last else -(-samples // batch_size)


class OwnOrder(BatchSource):
    """All samples, one after another or shuffled natively for (seed, epoch)."""

    def __init__(self, samples: int, batch_size: int, shuffle: bool, drop_last: bool) -> None:
        self._samples = samples
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._drop_last = drop_last
        self.capacity = min(batch_size, samples)

    def __len__(self) -> int:
        return _count(self._samples, self._batch_size, self._drop_last)

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
        self._sampler = sampler
        self._batch_size = batch_size
        self._drop_last = drop_last
        self.capacity = batch_size
        if isinstance(sampler, Sized):
            self.capacity = max(1, min(batch_size, len(sampler)))

    def __len__(self) -> int:
        return _count(len(self._sampler), self._batch_size, self._drop_last)  # type: ignore[arg-type]

    def batches(self, seed: int, epoch: int) -> Iterator[npt.NDArray[np.int64]]:
        batch: list[int] = []
        for index in self._sampler:
            batch.append(operator.index(index))
            if len(batch) == self._batch_size:
                yield np.array(batch, dtype=np.int64)
                batch = []
        if batch and not self._drop_last:
            yield np.array(batch, dtype=np.int64)

    def set_epoch(self, epoch: int) -> None:
        _tell(self._sampler, epoch)


class FromBatchSampler(BatchSource):
    """Whole batches from any iterable of lists of integers."""

    def __init__(self, batch_sampler: Iterable[Iterable[int]]) -> None:
        self._batch_sampler = batch_sampler
        size = getattr(batch_sampler, "batch_size", None)
        self.capacity = size if isinstance(size, int) and size > 0 else 1

    def __len__(self) -> int:
        return len(self._batch_sampler)  # type: ignore[arg-type]

    def batches(self, seed: int, epoch: int) -> Iterator[npt.NDArray[np.int64]]:
        for batch in self._batch_sampler:
            indices = np.array([operator.index(index) for index in batch], dtype=np.int64)
            if indices.size == 0:
                raise ValueError("the batch_sampler gave a batch without indices: leave such batches out")
            yield indices

    def set_epoch(self, epoch: int) -> None:
        _tell(self._batch_sampler, epoch)


def _tell(sampler: Any, epoch: int) -> None:
    """Calls ``set_epoch`` of the sampler, or of the one that a batch sampler wraps."""
    seen: set[int] = set()
    while sampler is not None and id(sampler) not in seen:
        seen.add(id(sampler))
        if callable(getattr(sampler, "set_epoch", None)):
            sampler.set_epoch(epoch)
            return
        sampler = getattr(sampler, "sampler", None)


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
        ValueError: for arguments that exclude each other.
    """
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
