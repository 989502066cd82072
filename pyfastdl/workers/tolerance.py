"""``on_error="replace"`` and ``"skip"`` of a dataset in Python: what happens to a sample that can't be loaded."""

from __future__ import annotations

import enum
import errno
import operator
from typing import Any, Literal

import torch
from torch.utils.data import Dataset, Subset

from pyfastdl.errors import Failure, SampleError
from pyfastdl.lowering.lowered import LoweredDataset
from pyfastdl.workers.context import Batch, context
from pyfastdl.workers.failures import path_of
from pyfastdl.workers.replacement import replacements

__all__ = ["NOTHING", "Tolerant", "has_getitems", "tracks_samples"]


class _Nothing(enum.Enum):
    """An enum's member is the same one in every process."""

    NOTHING = "nothing"


#: In a sample's place: it was skipped. In a batch's place: all of its samples were.
NOTHING: Literal[_Nothing.NOTHING] = _Nothing.NOTHING


class Tolerant(Dataset[Any]):
    """A map-style dataset as its fetcher sees it: a sample that fails is replaced, or :data:`NOTHING`.

    What is no fault of a sample's is raised as ever: a lack of memory, what isn't an Exception, StopIteration (which
    has a meaning of its own for torch), and an index that the dataset doesn't have, which is its sampler's.

    Raises:
        SampleError: with "replace", when none of the samples that were tried instead could be loaded.
    """

    def __init__(self, dataset: Any, on_error: str) -> None:
        self.dataset = dataset
        self._replace = on_error == "replace"
        self._failures: list[Failure] = []

    def take_failures(self) -> list[Failure]:
        """Those since the last call, in the order of the samples."""
        failures, self._failures = self._failures, []
        return failures

    def __getitem__(self, index: Any) -> Any:
        return self.load(index, context.occurrence)

    def __getitems__(self, indices: Any) -> Any:
        if has_getitems(self.dataset):
            try:
                plain = isinstance(indices, Batch) and not tracks_samples(self.dataset)
                return self.dataset.__getitems__(indices[:] if plain else indices)
            except Exception as error:
                if not _is_a_samples(error):
                    raise
        occurrences = indices.occurrences if isinstance(indices, Batch) else None
        samples = []
        for place, index in enumerate(indices):
            context.index, context.occurrence = index, occurrences[place] if occurrences is not None else 0
            sample = self.load(index, context.occurrence)
            if sample is not NOTHING:
                samples.append(sample)
        return samples if samples or not self._failures else NOTHING

    def load(self, index: Any, occurrence: int) -> Any:
        """One sample, or the one that replaces it, or NOTHING. (The random numbers of a sample that replaces another
        are those of the place that it takes.)"""
        failed: list[tuple[Any, str]] = []
        replaced_by = None
        try:
            try:
                return self._ask(index)
            except Exception as error:
                self._pass_over(error, index, failed)
            if not self._replace:
                return NOTHING
            for other in self._others(index, occurrence):
                try:
                    sample = self._ask(other)
                except Exception as error:
                    self._pass_over(error, other, failed)
                else:
                    replaced_by = other
                    return sample
        finally:
            for one, reason in failed:
                self._failures.append((_plain(one), path_of(self.dataset, one), reason, replaced_by))
        reason = f"{failed[0][1]}; no replacement was found: {len(failed) - 1} other samples failed too"
        number = _plain(index)
        if not isinstance(number, int):
            raise SampleError(f"sample {number!r}: {reason}; only a sample whose index is an int has others")
        raise SampleError(path_of(self.dataset, index), number, reason)

    def _ask(self, index: Any) -> Any:
        if _has_getitem(self.dataset):
            return self.dataset[index]
        return self.dataset.__getitems__([index])[0]

    def _pass_over(self, error: Exception, index: Any, failed: list[tuple[Any, str]]) -> None:
        if not _is_a_samples(error) or not self._has(index):
            raise error
        failed.append((index, _reason(error)))

    def _has(self, index: Any) -> bool:
        """Whether a number is within the dataset's length, as far as it has one."""
        number, length = _plain(index), self._length()
        return not isinstance(number, int) or length is None or -length <= number < length

    def _others(self, index: Any, occurrence: int) -> Any:
        number, length = _plain(index), self._length()
        if not isinstance(number, int) or length is None:
            return ()
        assert context.seed is not None  # an epoch is running
        return replacements((context.seed, context.epoch, number % length, occurrence), length)

    def _length(self) -> int | None:
        try:
            return len(self.dataset)
        except Exception:  # it has none
            return None


def has_getitems(dataset: Any) -> bool:
    """Whether the fetcher asks this dataset for whole batches. A Subset only hands such a call on to its dataset."""
    return bool(getattr(_without_subsets(dataset), "__getitems__", None))


def tracks_samples(dataset: Any) -> bool:
    """Whether each sample of a batch can be known as it is loaded: the fetcher asks for one after the other, or the
    dataset says so itself."""
    return isinstance(dataset, LoweredDataset) or not has_getitems(dataset)


def _has_getitem(dataset: Any) -> bool:
    """Whether single samples can be asked for: torch's base class has a ``__getitem__`` that only raises."""
    own = getattr(type(_without_subsets(dataset)), "__getitem__", None)
    return own is not None and own is not Dataset.__getitem__


def _without_subsets(dataset: Any) -> Any:
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return dataset


def _is_a_samples(error: BaseException) -> bool:
    """Whether an exception of ``__getitem__`` is about the sample, and not about the machine or the epoch."""
    if isinstance(error, (StopIteration, MemoryError, torch.cuda.OutOfMemoryError)) or not isinstance(error, Exception):
        return False
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return False
    if type(error) is RuntimeError and "DefaultCPUAllocator" in str(error):  # torch has no class for it
        return False
    return error.__cause__ is None or _is_a_samples(error.__cause__)


def _reason(error: Exception) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _plain(index: Any) -> Any:
    """An int, where the index is one in any form: samplers may give numpy's or torch's."""
    try:
        return operator.index(index)
    except TypeError:
        return index
