"""Compose: a list of transforms, and the random numbers that a sample would get."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyfastdl._arguments import (
    MAX_EPOCH,
    MAX_INDEX,
    MAX_OCCURRENCE,
    MAX_POSITION,
    integer,
    integer_in,
    seed_bits,
)
from pyfastdl.transforms.ops import Normalize, Transform

if TYPE_CHECKING:
    from pyfastdl._core import Plan


class Compose:
    """Transforms that run one after another.

    Args:
        transforms: :class:`Transform` objects, in order.

    Raises:
        TypeError: for an object that is not one of ``pyfastdl.transforms``.

    Example:
        >>> from pyfastdl import transforms as T
        >>> numbers = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip()]).sample(
        ...     375, 500, seed=0, epoch=0, index=7)
        >>> sorted(numbers)
        ['flip', 'height', 'left', 'top', 'width']
    """

    def __init__(self, transforms: Iterable[Transform]) -> None:
        if isinstance(transforms, Transform):
            raise TypeError(f"Compose takes a list of transforms, got one: write [{transforms!r}]")
        self.transforms = list(transforms)
        for transform in self.transforms:
            if not isinstance(transform, Transform):
                raise TypeError(
                    f"every transform must come from pyfastdl.transforms, got {transform!r} "
                    f"({type(transform).__module__}.{type(transform).__qualname__})"
                )

    def __repr__(self) -> str:
        return f"Compose({self.transforms!r})"

    @property
    def normalization(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """(mean, std) of the Normalize among the transforms, or None."""
        for transform in self.transforms:
            if isinstance(transform, Normalize):
                return transform.mean, transform.std
        return None

    def plan(self, *, dtype: str = "float32", channels_last: bool = False, normalize: bool = True) -> Plan:
        """The native plan of these transforms.

        Args:
            dtype: what the pixels become: "float32", "float16", "bfloat16" or "uint8".
            channels_last: cells are (height, width, channel) in memory.
            normalize: False leaves every Normalize out (it is then done elsewhere).
        """
        from pyfastdl import _core
        from pyfastdl._pillow import pass_order

        specs = [
            spec
            for transform in self.transforms
            if (normalize or not isinstance(transform, Normalize)) and (spec := transform.spec()) is not None
        ]
        return _core.Plan(specs, dtype=dtype, channels_last=channels_last, pass_order=pass_order())

    @functools.cached_property
    def _sampling_plan(self) -> Plan:
        return self.plan()

    def sample(
        self, height: int, width: int, *, seed: int, epoch: int, index: int, occurrence: int = 0
    ) -> dict[str, Any]:
        """The random numbers that the sample ``index`` of an epoch gets, for an image of that size in pixels.

        Args:
            height, width: the image's size.
            seed, epoch, index: as the loader has them.
            occurrence: how many times the index came before in the epoch (samplers with replacement).

        Returns:
            A dict with the keys of the random transforms that are present: ``top, left, height, width`` of the box
            (RandomResizedCrop) and ``flip``.

        Raises:
            TypeError: for anything but ints.
            ValueError: for ints outside their range: sides from 1, epochs and occurrences below 2**32, indices below
                2**48. Of a seed the lowest 64 bits count.
        """
        return dict(
            self._sampling_plan.sample(
                integer_in("height", height, 1, MAX_POSITION),
                integer_in("width", width, 1, MAX_POSITION),
                seed_bits(integer("seed", seed)),
                integer_in("epoch", epoch, 0, MAX_EPOCH),
                integer_in("index", index, 0, MAX_INDEX),
                integer_in("occurrence", occurrence, 0, MAX_OCCURRENCE),
            )
        )


def as_compose(transform: Any) -> Compose:
    """A Compose from what users pass as ``transform``: None, one transform, a list, or a Compose."""
    if transform is None:
        return Compose([])
    if isinstance(transform, Compose):
        return transform
    if isinstance(transform, Transform):
        return Compose([transform])
    if isinstance(transform, (list, tuple)):
        return Compose(transform)
    raise TypeError(
        f"transform must be a list of pyfastdl.transforms (or a Compose of them), got {transform!r} "
        f"({type(transform).__module__}.{type(transform).__qualname__})"
    )
