"""The order of one epoch: batches of indices as they are drawn, how far the training loop is, how to go on there."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pyfastdl.errors import LoaderError
from pyfastdl.sampling import BatchSource

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Drawn", "Order", "between_epochs", "checked", "deciding_generators", "repeats_within", "restore"]

_VERSION = 1


@dataclasses.dataclass(eq=False)
class Drawn:
    """One batch that was drawn.

    Attributes:
        number: batches drawn in this epoch up to and with this one.
        indices: (B,) of its samples.
        occurrences: (B,) how many times each came before in the epoch; None: never.
        sampler_state: what a sampler with a ``state_dict`` said right after it.
    """

    number: int
    indices: npt.NDArray[np.int64]
    occurrences: npt.NDArray[np.uint32] | None = None
    sampler_state: Any = None


class Order:
    """Draws the batches of an epoch; ``next`` gives a :class:`Drawn`. Batches are drawn ahead of the training loop:
    :meth:`hand_over` says which one it got.

    The order follows from ``seed`` and ``epoch``, or from a sampler and the states that ``generators`` have now; a
    sampler with ``state_dict`` and ``load_state_dict`` is asked for its own instead.

    Args:
        source: where the batches come from.
        samples: in the dataset.
        generators: those that the order or the next epoch's seed may depend on; see :func:`restore`.
        resumed: a state of this epoch: it goes on behind the batches that were handed over then.
        spared: what :func:`restore` gave.

    Raises:
        LoaderError: the sampler ends before the place where the state is.
    """

    def __init__(
        self,
        source: BatchSource,
        samples: int,
        seed: int,
        epoch: int,
        generators: list[torch.Generator],
        resumed: dict[str, Any] | None = None,
        spared: torch.Tensor | None = None,
    ) -> None:
        self.seed = seed
        self.epoch = epoch
        self.finished = False
        self._source = source
        self._states = [generator.get_state() for generator in generators]
        self._sampler_epoch = source.sampler_epoch()
        self._spared = None if spared is None else (spared, torch.default_generator.get_state())
        self._stateful: Any = source.stateful_sampler()
        self._samples = samples
        # A sampler's own state says nothing of how often indices came before it.
        self._repeats = _Repeats(samples) if source.may_repeat else None
        # So its state comes with what came up to the loaded one, and in the batches drawn since: numbers and indices.
        self._came = _Repeats(samples) if self._repeats and self._stateful else None
        self._since: list[tuple[int, npt.NDArray[np.int64]]] = []
        self._number = 0
        self._ended: tuple[int, Any] | None = None  # after so many batches, and what the sampler's state was then
        if resumed is not None and self._stateful is not None:
            self._stateful.load_state_dict(copy.deepcopy(resumed["sampler"]))
            self._number = resumed["batches"]
            for repeats in (self._repeats, self._came):
                if repeats is not None and resumed["came"] is not None:
                    repeats.set(resumed["came"].numpy())
        self._last = Drawn(self._number, np.empty(0, np.int64), None, self._sampler_state())
        self._batches = source.batches(seed, epoch)
        if resumed is not None and self._stateful is None:
            self._pass_over(resumed["batches"])
            self._last.number = self._number
        elif resumed is not None and resumed["ended"]:
            self._batches = iter(())  # the sampler would start again

    def __iter__(self) -> Order:
        return self

    def __next__(self) -> Drawn:
        """
        Raises:
            ValueError: for an index that isn't in the dataset; the next call goes on behind it.
            StopIteration, and whatever the sampler raises.
        """
        try:
            indices = next(self._batches)
        except StopIteration:
            self._ended = self._ended or (self._number, self._sampler_state())
            raise
        finally:
            self._give_back_spared()
        self._number += 1
        self._check(indices)
        occurrences = self._repeats.count(indices) if self._repeats is not None else None
        if self._came is not None:
            self._since.append((self._number, indices))
        return Drawn(self._number, indices, occurrences, self._sampler_state())

    @property
    def handed_over(self) -> int:
        """Batches that the training loop has got in this epoch, also before a state was loaded."""
        return self._last.number

    def hand_over(self, drawn: Drawn) -> None:
        """The training loop has got this batch, and all before it."""
        self._last = drawn  # nothing else: threads and signal handlers may ask for the state at any moment

    def finish(self) -> None:
        """The training loop was told that this was all."""
        self.finished = True
        self._batches = iter(())

    def state(self) -> dict[str, Any]:
        """For :meth:`NativeLoader.state_dict`; see :func:`checked`."""
        last, end = self._last, self._ended
        ended = end is not None and end[0] == last.number
        sampler_state = end[1] if end is not None and ended else last.sampler_state
        return {
            **_common(self._source, self._samples),
            "epoch": self.epoch,
            "batches": last.number,
            "seed": self.seed,
            "generators": [state.clone() for state in self._states],
            "sampler": copy.deepcopy(sampler_state),
            "sampler_epoch": self._sampler_epoch,
            "came": self._came_until(last.number),
            "ended": ended,
        }

    def _came_until(self, number: int) -> torch.Tensor | None:
        if self._came is None:
            return None
        came = self._came.copy()
        for one, indices in list(self._since):
            if one <= number:
                came.count(indices)
        return torch.from_numpy(came.get())

    def _pass_over(self, batches: int) -> None:
        """Draws what was handed over before: the samplers and their generators come to where they were."""
        for number in range(batches):
            try:
                indices = next(self._batches)
            except StopIteration:
                raise LoaderError(
                    f"the sampler ended after {number} batches, but the loaded state is {batches} batches into the "
                    "epoch: make the loader with the sampler that it had"
                ) from None
            self._number += 1
            if self._repeats is not None and self._is_in_dataset(indices):
                self._repeats.count(indices)

    def _give_back_spared(self) -> None:
        spared, self._spared = self._spared, None
        if spared is not None and torch.equal(torch.default_generator.get_state(), spared[1]):
            torch.default_generator.set_state(spared[0])

    def _sampler_state(self) -> Any:
        # A copy: samplers give what they go on changing.
        return None if self._stateful is None else copy.deepcopy(self._stateful.state_dict())

    def _is_in_dataset(self, indices: npt.NDArray[np.int64]) -> bool:
        return not indices.size or (int(indices.min()) >= 0 and int(indices.max()) < self._samples)

    def _check(self, indices: npt.NDArray[np.int64]) -> None:
        if not self._is_in_dataset(indices):
            wrong = indices[(indices < 0) | (indices >= self._samples)][0]
            raise ValueError(
                f"the sampler gave index {wrong}, but the dataset has {self._samples} samples "
                f"(0 to {self._samples - 1})"
            )


class _Repeats:
    """How often each index came so far."""

    def __init__(self, samples: int) -> None:
        self._came = np.zeros(samples, dtype=np.uint32)

    def count(self, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        """How often each came before; they have come once more then."""
        before = self._came[indices] + repeats_within(indices)
        np.add.at(self._came, indices, np.uint32(1))
        return before

    def copy(self) -> _Repeats:
        return copy.deepcopy(self)

    def get(self) -> npt.NDArray[np.int64]:
        """(N,), in a dtype that every torch has."""
        return self._came.astype(np.int64)

    def set(self, came: npt.NDArray[np.int64]) -> None:
        self._came[:] = came


def repeats_within(indices: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """How often each index came before in the same array."""
    counts = np.zeros(len(indices), dtype=np.uint32)
    if len(np.unique(indices)) < len(indices):
        seen: dict[int, int] = {}
        for place, index in enumerate(indices.tolist()):
            counts[place] = seen.get(index, 0)
            seen[index] = seen.get(index, 0) + 1
    return counts


# -- states


def between_epochs(source: BatchSource, samples: int, epoch: int, generators: list[torch.Generator]) -> dict[str, Any]:
    """The state of a loader that isn't in an epoch: the next one starts as it would have."""
    stateful = source.stateful_sampler()
    return {
        **_common(source, samples),
        "epoch": epoch,
        "batches": 0,
        "seed": None,
        "generators": [generator.get_state() for generator in generators],
        "sampler": None if stateful is None else copy.deepcopy(stateful.state_dict()),
        "sampler_epoch": source.sampler_epoch(),
        "came": None,
        "ended": False,
    }


def _common(source: BatchSource, samples: int) -> dict[str, Any]:
    return {"version": _VERSION, "samples": samples, "order": source.words()}


def checked(state: Any, source: BatchSource, samples: int, generators: int) -> dict[str, Any]:
    """The state, if it can be one of such a loader.

    Raises:
        ValueError: says what differs.
    """
    if isinstance(state, dict) and "yielded" in state:
        raise ValueError("the state is of a pyfastdl.DataLoader, and a NativeLoader wants one of its own")
    if not isinstance(state, dict) or "version" not in state or "batches" not in state:
        raise ValueError("load_state_dict() wants what state_dict() of a pyfastdl.NativeLoader gave")
    if state["version"] != _VERSION:
        raise ValueError(
            f"the state has version {state['version']}, and this pyfastdl writes and reads version {_VERSION}: "
            "load it with the pyfastdl that saved it"
        )
    if state["samples"] != samples:
        raise ValueError(
            f"the state is of a loader of {state['samples']} samples, and this one has {samples}: "
            "it can only go on with the dataset that it had"
        )
    ours = source.words()
    if state["order"] != ours:
        raise ValueError(f"the state is of a loader with {state['order']}, and this one has {ours}: make it alike")
    if len(state["generators"]) != generators or (state["sampler"] is None) != (source.stateful_sampler() is None):
        raise ValueError("the state is of a loader with other generators or another sampler: make it alike")
    return state


def deciding_generators(
    source: BatchSource, seed: int | None, generator: torch.Generator | None
) -> tuple[list[torch.Generator], bool]:
    """Those that the order and the seeds of a loader may depend on.

    Args:
        seed, generator: as the loader has them.

    Returns:
        The generators; and whether torch's default one is among them (the last) only because a sampler may draw from
        it.
    """
    found = [] if seed is not None else [generator or torch.default_generator]
    for one in source.generators():
        if all(one is not other for other in found):
            found.append(one)
    if source.sampler is None or any(one is torch.default_generator for one in found):
        return found, False
    return [*found, torch.default_generator], True


def restore(states: list[torch.Tensor], generators: list[torch.Generator], spare: bool) -> torch.Tensor | None:
    """Gives generators the states that they had.

    Args:
        spare: torch's default generator is among them only because a sampler may draw from it.

    Returns:
        With ``spare`` what torch's default generator was before, for the :class:`Order`: it gets that back if the
        sampler doesn't draw from it, since then its state is the training loop's affair.
    """
    spared = torch.default_generator.get_state() if spare else None
    for generator, state in zip(generators, states, strict=True):
        generator.set_state(state)
    return spared
