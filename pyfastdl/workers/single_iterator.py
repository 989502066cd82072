"""The iterator without workers: torch's, with the numbers that sample_rng() needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from pyfastdl.workers.context import Batch, Occurrences, context
from pyfastdl.workers.resume import Resumable
from pyfastdl.workers.thread_works import tracks_samples
from pyfastdl.workers.view import LoaderView

if TYPE_CHECKING:
    from pyfastdl.dataloader import DataLoader

__all__ = ["SingleIterator"]


class SingleIterator(Resumable, _SingleProcessDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        self._follow(loader)
        super().__init__(LoaderView(loader))
        self._move = loader._mover()
        self._occurrences = Occurrences(self._index_sampler)
        self._tracks = self._dataset_kind == 0 and tracks_samples(self._dataset)

        collate = self._dataset_fetcher.collate_fn

        def collate_no_sample(data: Any) -> Any:
            context.index = None
            return collate(data)

        self._dataset_fetcher.collate_fn = collate_no_sample

    def _next_index(self) -> Any:
        index = super()._next_index()
        if self._tracks:
            if not self._auto_collation:
                context.index = index
                context.occurrence = (self._occurrences.of([index]) or [0])[0]
            elif type(index) is list:
                return Batch(index, self._occurrences.of(index))
        return index

    def _next_data(self) -> Any:
        before = context.seed, context.epoch, context.index, context.occurrence  # a loader within a dataset
        context.seed, context.epoch, context.index = int(self._base_seed), self._progress.epoch, None
        try:
            data = super()._next_data()  # type: ignore[no-untyped-call]
        finally:
            context.seed, context.epoch, context.index, context.occurrence = before
        return data if self._move is None else self._move(data)
