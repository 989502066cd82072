"""What a worker knows while it runs a user's code: which worker it is, and which sample it is loading."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from torch.utils.data import get_worker_info as _torch_worker_info
from torch.utils.data._utils.worker import WorkerInfo

__all__ = ["Batch", "Occurrences", "context", "get_worker_info", "make_worker_info"]


class _Context(threading.local):
    """One per thread."""

    info: WorkerInfo | None = None
    # What the sample's random numbers depend on (sample_rng.py); no seed: no epoch is running in this thread.
    seed: int | None = None
    epoch: int = 0
    index: Any = None
    occurrence: int = 0


context = _Context()


def get_worker_info() -> WorkerInfo | None:
    """Which worker this code runs in: what ``torch.utils.data.get_worker_info()`` gives, also in worker threads.

    torch's own function knows one worker a process, so it answers None in a thread; this one answers there too, and is
    torch's everywhere else. In the main thread both give None.

    Returns:
        An object with ``id`` (0 to num_workers - 1), ``num_workers``, ``seed`` (the epoch's base seed + id) and
        ``dataset`` (in threads: the loader's own, which all of them share), or None outside workers.

    Example:
        >>> import pyfastdl
        >>> class Numbers(torch.utils.data.IterableDataset):                            # doctest: +SKIP
        ...     def __iter__(self):
        ...         info = pyfastdl.get_worker_info()
        ...         return iter(range(100) if info is None else range(info.id, 100, info.num_workers))
    """
    return context.info if context.info is not None else _torch_worker_info()


def make_worker_info(worker: int, workers: int, seed: int, dataset: Any) -> WorkerInfo:
    values: dict[str, Any] = {"id": worker, "num_workers": workers, "seed": seed, "dataset": dataset}
    try:
        return WorkerInfo(**values, worker_method="thread")
    except TypeError:  # torch up to 2.9 has no such field
        return WorkerInfo(**values)


class Batch(list[Any]):
    """The indices of one batch, which note the one that is being loaded as a fetcher goes through them."""

    def __init__(self, indices: Sequence[Any], occurrences: list[int] | None = None) -> None:
        super().__init__(indices)
        self.occurrences = occurrences

    def __iter__(self) -> Iterator[Any]:
        for place, index in enumerate(super().__iter__()):
            context.index = index
            context.occurrence = self.occurrences[place] if self.occurrences is not None else 0
            yield index

    def __reduce__(self) -> Any:
        return Batch, (list(super().__iter__()), self.occurrences)


class Occurrences:
    """Counts how often an index came before in its epoch, for samplers that may repeat one."""

    def __init__(self, sampler: Any) -> None:
        self._seen: dict[Any, int] | None = {} if _may_repeat(sampler) else None

    def of(self, indices: Sequence[Any]) -> list[int] | None:
        """One number an index; None when all are 0."""
        if self._seen is None:
            return None
        seen, counts = self._seen, []
        for index in indices:
            try:
                count = seen.get(index, 0)
                seen[index] = count + 1
            except TypeError:  # not hashable
                count = 0
            counts.append(count)
        return counts if any(counts) else None


def _may_repeat(sampler: Any) -> bool:
    from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

    while type(sampler) is BatchSampler:
        sampler = sampler.sampler
    if type(sampler) is RandomSampler:
        return sampler.replacement or sampler.num_samples > len(sampler.data_source)
    return type(sampler) is not SequentialSampler
