"""Checks of what users pass: the same rules and words in every public call. Nothing here needs torch."""

from __future__ import annotations

import difflib
import inspect
import operator
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "MAX_COUNT", "MAX_EPOCH", "MAX_INDEX", "MAX_OCCURRENCE", "MAX_POSITION", "MAX_SIDE", "MAX_VIEW", "at_least", "flag",
    "integer", "integer_in", "nearest", "one_of", "refuse_others", "seed_bits",
]  # fmt: skip

# What the core's integers hold.
MAX_COUNT = 2**31 - 1  # batches, batch sizes, threads
MAX_POSITION = 2**31 - 1  # pixels of an image
MAX_SIDE = 2**24  # of a result: kMaxSide in csrc/transform/steps.h
MAX_EPOCH = 2**32 - 1  # words of the random numbers' counter: csrc/base/random.h
MAX_OCCURRENCE = 2**32 - 1
MAX_VIEW = 2**32 - 1
MAX_INDEX = 2**48 - 1


def integer(name: str, value: Any) -> int:
    """An int from an int or what counts as one (numpy's).

    Raises:
        TypeError: for anything else, bools too.
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} must be an int, got {value!r}")


def at_least(name: str, value: Any, low: int) -> int:
    """
    Raises:
        TypeError: as :func:`integer`.
        ValueError: for one below ``low``.
    """
    number = integer(name, value)
    if number < low:
        raise ValueError(f"{name} must be at least {low}, got {number}")
    return number


def integer_in(name: str, value: Any, low: int, high: int) -> int:
    """
    Raises:
        TypeError: as :func:`integer`.
        ValueError: for one outside ``low`` to ``high``.
    """
    number = at_least(name, value, low)
    if number > high:
        raise ValueError(f"{name} must be at most {high}, got {number}")
    return number


def flag(name: str, value: Any) -> bool:
    """A bool from a bool, numpy's bool, 0 or 1, or None (torch's "not set").

    Raises:
        TypeError: for anything else: what a string or a list means can only be guessed.
    """
    if value is None:
        return False
    if not isinstance(value, str) and not hasattr(value, "__len__"):
        try:
            if value in (0, 1):
                return bool(value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} must be True or False, got {value!r}")


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def seed_bits(seed: int) -> int:
    """The 64 bits of a seed that count."""
    return seed & 0xFFFFFFFFFFFFFFFF


# Arguments of torch's DataLoader that NativeLoader lacks, and what to do instead.
_OF_DATALOADER = {
    "dataset": "pass the folder or the list of files as the first argument; a Dataset goes to torch's DataLoader",
    "collate_fn": (
        "samples are written straight into their batch, so there is nothing to collate: give targets as vectors, "
        "or change the finished batch in the training loop"
    ),
    "pin_memory": "leave it out: device='cuda' brings the batches to the GPU",
    "pin_memory_device": "leave it out: device='cuda:1' names the GPU",
    "worker_init_fn": (
        "leave it out: the workers are native threads that run no Python, and seed= fixes every random number"
    ),
    "multiprocessing_context": "leave it out: the workers are threads; no process is started or forked",
    "persistent_workers": "leave it out: the threads always live as long as the loader",
    "in_order": "leave it out: batches always come in the sampler's order",
}

# Arguments of torchvision's ImageFolder that ImageFolder and NativeLoader lack.
_OF_IMAGE_FOLDER = {
    "target_transform": (
        "leave it out: change the targets in the training loop; NativeLoader's targets= takes others from the start"
    ),
    "loader": (
        "leave it out: files are read and decoded natively; torchvision's ImageFolder with a loader of your own runs "
        "under pyfastdl.DataLoader"
    ),
    "is_valid_file": (
        "leave it out: images are told by the ends of their names; give NativeLoader a list of files, or take some of "
        "an ImageFolder by torch.utils.data.Subset"
    ),
}

_INSTEAD = {
    "NativeLoader": {"torch's DataLoader": _OF_DATALOADER, "torchvision's ImageFolder": _OF_IMAGE_FOLDER},
    "ImageFolder": {"torchvision's ImageFolder": _OF_IMAGE_FOLDER},
}


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one of the names that was probably meant, or None."""
    return next(iter(difflib.get_close_matches(name, list(names), n=1)), None)


def refuse_others(call: str, others: Mapping[str, Any]) -> None:
    """
    Args:
        call: the class that was called: "NativeLoader" or "ImageFolder".
        others: keyword arguments that it doesn't have.

    Raises:
        TypeError: for the first of them. It says what to do instead of one of torch's or torchvision's; which other
            class has it; or which argument is spelt nearly so.
    """
    if not others:
        return
    name = next(iter(others))
    for whose, instead in _INSTEAD[call].items():
        if name in instead:
            raise TypeError(f"{call} has no argument {name!r} of {whose}: {instead[name]}")
    names = {other: _keywords(other) for other in ("NativeLoader", "DataLoader", "ImageFolder")}
    having = [f"pyfastdl.{other}" for other in names if name in names[other]]
    hint = ""
    if having:
        hint = f": {' and '.join(having)} {'has' if len(having) == 1 else 'have'} it"
    elif close := nearest(name, names[call]):
        hint = f": did you mean {close!r}?"
    raise TypeError(f"{call} got an unexpected keyword argument {name!r}{hint}")


def _keywords(call: str) -> list[str]:
    import pyfastdl

    parameters = inspect.signature(getattr(pyfastdl, call)).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
