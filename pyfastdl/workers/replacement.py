"""Which sample takes the place of one that could not be loaded: the core's choice, for datasets in Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pyfastdl import _core
from pyfastdl._arguments import seed_bits

__all__ = ["replacements"]


def replacements(key: tuple[int, int, int, int], samples: int) -> Iterator[int]:
    """Indices to try instead of a sample that can't be loaded: never its own, and none of them twice.

    Args:
        key: (seed, epoch, index, occurrence) of the sample, its index from 0 to samples - 1. They decide alone.
        samples: how many the dataset has.
    """
    seed, epoch, index, occurrence = key
    for attempt in itertools.count():
        other = _core.replacement(seed_bits(seed), epoch, index, occurrence, samples, attempt)
        if other is None:
            return
        yield other
