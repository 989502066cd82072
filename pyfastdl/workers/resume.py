"""How far an epoch is, and how to go on from there: what state_dict() holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from pyfastdl.workers.context import Occurrences

if TYPE_CHECKING:
    from pyfastdl.dataloader import DataLoader

__all__ = ["Progress", "Resumable", "between_epochs", "check"]

_VERSION = 1


class Progress:
    """One epoch of a loader.

    The order of samples follows from the generators' states right before the sampler is asked for the first time;
    random numbers of samples and workers from ``seed`` and ``epoch``.
    """

    def __init__(self, loader: DataLoader[Any], resumed: dict[str, Any] | None) -> None:
        self._generators = _generators(loader)
        self._resumed = resumed
        if resumed is not None and resumed["seed"] is None:
            self._restore()  # before the epoch draws anything
            self._resumed = None
        self.skip: int = resumed["yielded"] if resumed else 0
        self.seed: int | None = resumed["seed"] if resumed else None  # None: whatever the iterator draws
        self.epoch = 0
        self.yielded = self.skip
        self.finished = False
        self._states: list[torch.Tensor] | None = None

    def begin(self) -> None:
        """Before the sampler's first index."""
        if self._states is not None:
            return
        if self._resumed is not None:
            self._restore()
        self._states = [generator.get_state() for generator in self._generators]

    def _restore(self) -> None:
        assert self._resumed is not None
        for generator, state in zip(self._generators, self._resumed["generators"], strict=False):
            generator.set_state(state)

    def state(self, workers: int | None) -> dict[str, Any] | None:
        """None once the epoch is over."""
        if self.finished or self.seed is None:
            return None
        self.begin()
        return {
            "version": _VERSION,
            "epoch": self.epoch,
            "yielded": self.yielded,
            "seed": self.seed,
            "generators": self._states,
            "num_workers": workers,
        }


def between_epochs(loader: DataLoader[Any], epoch: int) -> dict[str, Any]:
    """The state of a loader that isn't in an epoch: the next one starts as it would have."""
    states = [generator.get_state() for generator in _generators(loader)]
    return {
        **{"version": _VERSION, "epoch": epoch, "yielded": 0, "seed": None, "generators": states},
        "num_workers": None,
    }


def check(state: Any, loader: DataLoader[Any]) -> dict[str, Any]:
    if not isinstance(state, dict) or state.get("version") != _VERSION or "yielded" not in state:
        raise ValueError("load_state_dict() wants what state_dict() of a pyfastdl.DataLoader gave")
    workers = state["num_workers"]
    if workers is not None and workers != loader.num_workers:
        raise ValueError(
            f"an iterable dataset is shared out by workers: the state is of a loader with num_workers={workers}, "
            f"and this one has {int(loader.num_workers)}; make it with as many"
        )
    return state


def _generators(loader: DataLoader[Any]) -> list[torch.Generator]:
    """Those that decide on the order: the loader's or torch's, and the samplers' own."""
    found = [loader.generator if loader.generator is not None else torch.default_generator]
    sampler, seen = loader._index_sampler, set()
    while sampler is not None and id(sampler) not in seen:
        seen.add(id(sampler))
        own = getattr(sampler, "generator", None)
        if isinstance(own, torch.Generator) and all(own is not one for one in found):
            found.append(own)
        sampler = getattr(sampler, "sampler", None)
    return found


class Resumable(_BaseDataLoaderIter):
    """An iterator that counts, and can start in mid-epoch. It goes in front of the iterator's own class."""

    native = False  # whether it hands out the core's batches
    _progress: Progress
    _occurrences: Occurrences
    _drawn_seed: int

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
        self._progress = loader._progress
        self._progress.epoch = loader._start_epoch()
        if hasattr(self, "_drawn_seed"):  # workers that stay keep their seed
            self._progress.seed = self._drawn_seed

    def _next_index(self) -> Any:
        progress = self._progress
        progress.begin()
        if self._dataset_kind == _DatasetKind.Map:
            while progress.skip:
                index = super()._next_index()  # type: ignore[no-untyped-call]
                self._occurrences.of(index if self._auto_collation and isinstance(index, list) else [index])
                progress.skip -= 1
        return super()._next_index()  # type: ignore[no-untyped-call]

    def __next__(self) -> Any:
        progress = self._progress
        try:
            if self._dataset_kind == _DatasetKind.Iterable:
                while progress.skip:  # an iterable has no other way to get there
                    progress.skip -= 1
                    super().__next__()
            batch = super().__next__()
        except StopIteration:
            progress.finished = True
            raise
        progress.yielded += 1
        return batch
