"""Random numbers of one sample, the same whatever the number of workers and whichever of them loads it.

Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), with the counter
laid out as csrc/base/random.h does; Python code has a domain of its own there, so that it shares no number with the
native transforms.
"""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Any

from pyfastdl.errors import LoaderError
from pyfastdl.workers.context import context

if TYPE_CHECKING:
    import numpy as np
    import torch

__all__ = ["SampleRng", "sample_rng"]

_DOMAIN = 4  # Domain::python of csrc/base/random.h
_MASK32 = 0xFFFFFFFF


class SampleRng:
    """Generators of one sample: ``numpy`` (a ``numpy.random.Generator``) and ``torch`` (a ``torch.Generator``).

    Each is made when it is first asked for, and starts at the same place each time the sample is loaded in an epoch.
    """

    def __init__(self, seed: int, epoch: int, index: int, occurrence: int) -> None:
        self._key = (seed, epoch, index, occurrence)

    @functools.cached_property
    def numpy(self) -> np.random.Generator:
        import numpy as np

        key = self._words(0)
        return np.random.Generator(np.random.Philox(key=[key[0] << 32 | key[1], key[2] << 32 | key[3]]))

    @functools.cached_property
    def torch(self) -> torch.Generator:
        import torch

        words = self._words(1)
        return torch.Generator().manual_seed(words[0] << 32 | words[1])

    def _words(self, block: int) -> tuple[int, int, int, int]:
        seed, epoch, index, occurrence = self._key
        first = block | _DOMAIN << 12 | (index >> 32 & 0xFFFF) << 16
        counter = (first, index & _MASK32, epoch & _MASK32, occurrence & _MASK32)
        return philox4x32_10(counter, (seed & _MASK32, seed >> 32 & _MASK32))


def sample_rng() -> SampleRng:
    """Random generators for the sample that is being loaded, to be called in a dataset's ``__getitem__``.

    They are a function of the epoch's seed, the epoch, the sample's index and how often that index came before in the
    epoch: batches come out the same with 0, 1 or 16 workers, threads or processes. (Draws from ``random``,
    ``numpy.random`` or torch's default generator can't in threads: those are one per process, and whichever thread
    comes first draws first.)

    Raises:
        LoaderError: outside of a pyfastdl loader, or in a collate_fn, where there is no one sample.

    Example:
        >>> class Noisy(torch.utils.data.Dataset):                                      # doctest: +SKIP
        ...     def __getitem__(self, index):
        ...         rng = pyfastdl.sample_rng()
        ...         noise = torch.randn(8, generator=rng.torch)
        ...         return noise * rng.numpy.uniform(0.9, 1.1), index
    """
    if context.seed is None or context.index is None:
        raise LoaderError(
            "sample_rng() was called where no sample is being loaded: call it in the dataset's __getitem__ "
            "(or __getitems__'s loop over samples), under a pyfastdl.DataLoader"
        )
    return SampleRng(context.seed, context.epoch, _number(context.index), context.occurrence)


def _number(index: Any) -> int:
    """Indices that aren't numbers (a sampler may yield anything) by a hash that is the same in each process."""
    try:
        return int(index.__index__()) & (1 << 48) - 1
    except AttributeError:
        return int.from_bytes(hashlib.blake2b(repr(index).encode(), digest_size=6).digest(), "little")


def philox4x32_10(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """One block of four 32-bit words. The constants are the paper's."""
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k, q & _MASK32, (p >> 32) ^ d ^ m, p & _MASK32
        k, m = (k + 0x9E3779B9) & _MASK32, (m + 0xBB67AE85) & _MASK32
    return a, b, c, d
