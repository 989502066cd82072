"""Whether a state of a DataLoader's is one that this loader can go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data import BatchSampler, RandomSampler
from torch.utils.data.dataloader import _DatasetKind

from pyfastdl.sampling import sampler_chain

if TYPE_CHECKING:
    from pyfastdl.dataloader import DataLoader

__all__ = ["checked", "common"]

_VERSION = 3


def common(loader: DataLoader[Any]) -> dict[str, Any]:
    """What each state says of its loader: its epochs' places mean something in loaders of the same kind only."""
    return {"version": _VERSION, "samples": _samples(loader), "order": _order(loader)}


def checked(state: Any, loader: DataLoader[Any]) -> dict[str, Any]:
    """The state, if it can be one of such a loader.

    Raises:
        ValueError: says what differs, and what to change.
    """
    if isinstance(state, dict) and "batches" in state and "order" in state:
        raise ValueError("the state is of a pyfastdl.NativeLoader, and a DataLoader wants one of its own")
    if not isinstance(state, dict) or "version" not in state or "yielded" not in state:
        raise ValueError(
            f"load_state_dict() wants what state_dict() of a pyfastdl.DataLoader gave, and got {_short(state)}"
        )
    if state["version"] != _VERSION:
        raise ValueError(
            f"the state has version {state['version']}, and this pyfastdl writes and reads version {_VERSION}: "
            "load it with the pyfastdl that saved it"
        )
    ours = common(loader)
    if None not in (state["samples"], ours["samples"]) and state["samples"] != ours["samples"]:
        raise ValueError(
            f"the state is of a loader of {state['samples']} samples, and this one has {ours['samples']}: "
            "it can only go on with the dataset that it had"
        )
    if state["order"] != ours["order"]:
        raise ValueError(
            f"the state is of a loader with {state['order']}, and this one has {ours['order']}: "
            "make it alike (shuffle=True means a RandomSampler, shuffle=False a SequentialSampler)"
        )
    workers = state["num_workers"]
    if workers is not None and workers != loader.num_workers:
        why = "an iterable dataset is shared out by workers" if _is_iterable(loader) else "each has a dataset's state"
        raise ValueError(
            f"{why}: the state is of a loader with num_workers={workers}, and this one has {int(loader.num_workers)}; "
            "make it with as many"
        )
    return state


def _is_iterable(loader: DataLoader[Any]) -> bool:
    return loader._dataset_kind == _DatasetKind.Iterable


def _samples(loader: DataLoader[Any]) -> int | None:
    """None for a dataset without a length, and for iterables, whose length is a guess."""
    if _is_iterable(loader):
        return None
    dataset: Any = loader.dataset
    try:
        return len(dataset)
    except Exception:  # of the user's, and nothing depends on it
        return None


def _order(loader: DataLoader[Any]) -> str:
    """What decides which samples make which batch, in words."""
    if _is_iterable(loader):
        return f"an iterable dataset, batch_size={loader.batch_size}, drop_last={loader.drop_last}"
    words = [_sampler_words(one) for one in sampler_chain(loader._index_sampler)]
    return " of ".join(words) + (" without batches" if loader.batch_sampler is None else "")


# Which batches these give follows from these numbers, too. Of a class of the user's nothing but its name is compared:
# what it has may change as it runs.
_NUMBERS: dict[type, tuple[str, ...]] = {
    BatchSampler: ("batch_size", "drop_last"),
    RandomSampler: ("replacement", "num_samples"),
}


def _sampler_words(sampler: Any) -> str:
    shown = ", ".join(f"{name}={getattr(sampler, name)}" for name in _NUMBERS.get(type(sampler), ()))
    return f"a {type(sampler).__qualname__}" + (f"({shown})" if shown else "")


def _short(state: Any) -> str:
    if isinstance(state, dict):
        keys = ", ".join(map(repr, list(state)[:8])) + (", …" if len(state) > 8 else "")
        return f"a dict with {keys}" if state else "an empty dict"
    return "None" if state is None else f"a {type(state).__qualname__}"
