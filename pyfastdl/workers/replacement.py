"""Which sample takes the place of one that could not be loaded: the choice of csrc/pipeline/replacement.h."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pyfastdl.workers.sample_rng import philox_block

__all__ = ["replacements"]

_DOMAIN = 2  # Domain::replacement of csrc/base/random.h
_MOST = 100  # tries before the sample is given up
_BITS_32 = 1 << 32


def replacements(key: tuple[int, int, int, int], samples: int) -> Iterator[int]:
    """Indices to try instead of a sample that can't be loaded: never its own, and none of them twice.

    Args:
        key: (seed, epoch, index, occurrence) of the sample, its index from 0 to samples - 1. They decide alone.
        samples: how many the dataset has.
    """
    others = samples - 1
    if others < 1:
        return
    start = _below(others, _words(key))
    for attempt in range(min(others, _MOST)):
        yield (key[2] + 1 + (start + attempt) % others) % samples


def _words(key: tuple[int, int, int, int]) -> Iterator[int]:
    return itertools.chain.from_iterable(philox_block(key, _DOMAIN, block) for block in itertools.count())


def _below(bound: int, words: Iterator[int]) -> int:
    """Uniform in 0 to bound - 1, as SampleRandom::below of csrc/base/random.cpp draws it."""
    if bound < _BITS_32:  # Lemire's multiply-and-reject
        threshold = (_BITS_32 - bound) % bound
        product = next(words) * bound
        while product % _BITS_32 < threshold:
            product = next(words) * bound
        return product // _BITS_32
    limit = bound * ((_BITS_32 * _BITS_32 - 1) // bound)
    while True:
        drawn = next(words) * _BITS_32 + next(words)
        if drawn < limit:
            return drawn % bound
