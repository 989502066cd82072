"""The iterator without workers: torch's, with the numbers that sample_rng() needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from pyfastdl.workers.context import Batch, Occurrences, context
from pyfastdl.workers.failures import add_note, sample_words
from pyfastdl.workers.resume import Resumable
from pyfastdl.workers.states import WorkerDataset
from pyfastdl.workers.tolerance import NOTHING, tracks_samples
from pyfastdl.workers.view import LoaderView

if TYPE_CHECKING:
    from pyfastdl.dataloader import DataLoader

__all__ = ["SingleIterator"]


class SingleIterator(Resumable, _SingleProcessDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        self._follow(loader)
        view = LoaderView(loader)
        self._own = WorkerDataset(view.dataset, loader.on_error, self._progress.place.workers.get(0))
        view.dataset = self._own.for_fetcher
        super().__init__(view)
        if self._dataset is self._own.for_fetcher:
            self._dataset = self._own.dataset
        if self._own.dataset is loader.dataset:
            self._progress.watch = self._own.state
        self._move = loader._mover()
        self._occurrences = Occurrences(self._index_sampler)
        tracks = loader.on_error != "raise" or tracks_samples(self._own.dataset)
        self._tracks = self._dataset_kind == 0 and tracks

        collate = self._dataset_fetcher.collate_fn

        def collate_no_sample(data: Any) -> Any:
            context.index, self._doing = None, "collating"
            batch = NOTHING if data is NOTHING else collate(data)
            self._doing = ""
            return batch

        self._dataset_fetcher.collate_fn = collate_no_sample

    def _next_index(self) -> Any:
        index = super()._next_index()
        self._asked = True
        self._own.restore()
        self._doing, self._wanted = "loading", index
        if self._tracks:
            if not self._auto_collation:
                context.index = index
                context.occurrence = (self._occurrences.of([index]) or [0])[0]
            elif type(index) in (list, tuple):
                return Batch(index, self._occurrences.of(index))
        return index

    def _next_data(self) -> Any:
        data: Any = NOTHING
        while data is NOTHING:
            self._asked, self._doing = False, ""
            before = context.seed, context.epoch, context.index, context.occurrence  # a loader within a dataset
            context.seed, context.epoch, context.index = int(self._base_seed), self._progress.epoch, None
            try:
                data = super()._next_data()  # type: ignore[no-untyped-call]
            except BaseException as error:
                self._name_sample(error)
                if self._asked and not isinstance(error, StopIteration):
                    self._through(self._own.take_failures())
                raise
            finally:
                context.seed, context.epoch, context.index, context.occurrence = before
            self._through(self._own.take_failures())
        return data if self._move is None else self._move(data)

    def _name_sample(self, error: BaseException) -> None:
        """As workers do it: of what is a sample's or a batch's, and not the sampler's or an iterable's."""
        if not self._doing or self._dataset_kind != 0 or not isinstance(error, Exception):
            return
        index = self._wanted if context.index is None else context.index
        add_note(error, f"Raised in pyfastdl.DataLoader, while {self._doing} {sample_words(index, self._own.dataset)}.")
