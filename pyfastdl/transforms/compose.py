"""Compose: a list of transforms, and the random numbers that a sample would get. Views: several of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pyfastdl._arguments import (
    MAX_EPOCH,
    MAX_INDEX,
    MAX_OCCURRENCE,
    MAX_POSITION,
    MAX_VIEW,
    integer,
    integer_in,
    seed_bits,
)
from pyfastdl.transforms.conversion import PILToTensor, ToDtype, ToImage, ToTensor
from pyfastdl.transforms.torchvisions import refuse_torchvisions
from pyfastdl.transforms.transform import Transform
from pyfastdl.transforms.values import Normalize, RandomErasing

if TYPE_CHECKING:
    from pyfastdl._core import Plan


__all__ = ["Compose", "Views"]


class Compose:
    """Transforms that run one after another.

    Args:
        transforms: :class:`Transform` objects, in order; behind them, at the end, functions of your own (or other
            callables: each gets a sample's image as a tensor (3, H, W), and the next one what it returns).

    Attributes:
        transforms: all of them.

    Raises:
        TypeError: for an object that is neither; and for one of torchvision's where there is a transform of the same
            name here, which would run in Python unnoticed.
        ValueError: for a transform behind a callable: the native core has done its part by then.

    Example:
        >>> from pyfastdl import transforms as T
        >>> numbers = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip()]).sample(
        ...     375, 500, seed=0, epoch=0, index=7)
        >>> sorted(numbers)
        ['flip', 'height', 'left', 'top', 'width']
    """

    def __init__(self, transforms: Iterable[Transform | Callable[[Any], Any]]) -> None:
        if isinstance(transforms, Transform):
            raise TypeError(f"Compose takes a list of transforms, got one: write [{transforms!r}]")
        refuse_torchvisions(transforms)
        self.transforms = list(transforms)
        behind = None
        for transform in self.transforms:
            refuse_torchvisions(transform, behind)
            if isinstance(transform, Transform):
                if behind is not None:
                    raise ValueError(
                        f"{transform!r} stands behind {behind!r}, a Python callable, and those run after "
                        f"everything native: move {type(transform).__name__} before it"
                    )
            elif callable(transform) and not isinstance(transform, type):
                behind = transform
            else:
                raise TypeError(
                    f"every transform must come from pyfastdl.transforms, or be a function of an image's tensor at the "
                    f"end of the list; got {transform!r} "
                    f"({type(transform).__module__}.{type(transform).__qualname__}){_hint(transform)}"
                )

    @property
    def native(self) -> list[Transform]:
        """The transforms that the core runs."""
        return [transform for transform in self.transforms if isinstance(transform, Transform)]

    @property
    def callables(self) -> tuple[Callable[[Any], Any], ...]:
        """The functions behind them."""
        return tuple(transform for transform in self.transforms if not isinstance(transform, Transform))

    def __repr__(self) -> str:
        return f"Compose({self.transforms!r})"

    @property
    def normalization(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """(mean, std) of the Normalize among the transforms, or None."""
        for transform in self.native:
            if isinstance(transform, Normalize):
                return transform.mean, transform.std
        return None

    @property
    def conversion(self) -> tuple[str, str]:
        """What the transforms alone make of bytes: the dtype's name, and how bytes become floats, which is "divide"
        (by 255), "multiply" (by 1/255) or "none"."""
        dtype, scale = None, "divide"
        for transform in self.native:
            if isinstance(transform, (PILToTensor, ToImage)):
                dtype = dtype or "uint8"
            elif isinstance(transform, ToDtype):
                if transform.name != "uint8" and dtype in (None, "uint8"):
                    scale = "multiply" if transform.scale else "none"
                dtype = transform.name if transform.name != "uint8" else dtype or "uint8"
            elif isinstance(transform, (Normalize, RandomErasing, ToTensor)):
                dtype = dtype or "float32"
        return dtype or "float32", scale

    def plan(self, *, dtype: str | None = None, channels_last: bool = False, normalize: bool = True) -> Plan:
        """The native plan of these transforms, up to the callables.

        Args:
            dtype: what the pixels become: "float32", "float16", "bfloat16" or "uint8"; None is what the transforms
                alone make of them.
            channels_last: cells are (height, width, channel) in memory.
            normalize: False leaves every Normalize out (it is then done elsewhere, on bytes).

        Raises:
            ValueError: for an order that has no meaning, or a dtype that does not go with the transforms.
        """
        from pyfastdl import _core
        from pyfastdl._pillow import pass_order

        def make(transforms: list[Transform], dtype: str) -> Plan:
            specs = [transform.spec() for transform in transforms]
            return _core.Plan(specs, dtype=dtype, channels_last=channels_last, pass_order=pass_order())

        if normalize:
            return make(self.native, dtype or self.conversion[0])
        make(self.native, self.conversion[0])  # for what it refuses
        erasings = [transform for transform in self.native if isinstance(transform, RandomErasing)]
        last = max(i for i, transform in enumerate(self.native) if isinstance(transform, Normalize))
        if any(transform.value != (0.0, 0.0, 0.0) or transform in self.native[last:] for transform in erasings):
            raise ValueError(
                "with dtype=torch.uint8 Normalize runs on finished batches, and only RandomErasing(value=0) before it "
                "can be done on the bytes: choose a float dtype"
            )
        return make([transform for transform in self.native if not isinstance(transform, Normalize)], "uint8")

    @functools.cached_property
    def _sampling_plan(self) -> Plan:
        return self.plan()

    def sample(
        self, height: int, width: int, *, seed: int, epoch: int, index: int, occurrence: int = 0, view: int = 0
    ) -> dict[str, Any]:
        """The random numbers that the sample ``index`` of an epoch gets, for an image of that size in pixels.

        With them torchvision's functions do the same to the bit.

        Args:
            height, width: the image's size.
            seed, epoch, index: as the loader has them.
            occurrence: how many times the index came before in the epoch (samplers with replacement).
            view: which view of the sample (see :class:`Views`); 0 for a loader of one view.

        Returns:
            A dict with the keys of the random transforms that are present. Where a key comes a second time it is
            ``top_2`` and so on.

            ===================== ====================================================================
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
                integer_in("view", view, 0, MAX_VIEW),
            )
        )


class Views:
    """Several transforms of the same sample, each with random numbers of its own, as contrastive learning has them.

    A loader then gives a tuple of image batches where it would have given one: ``for (a, b), labels in loader``. A
    sample is read and decoded once for all its views. The views may differ in size.

    Args:
        transforms: a :class:`Compose`, or a list of transforms, a view. View 0 has the random numbers that a loader of
            that view alone would have; those of the others are independent of it and of each other.

    Raises:
        ValueError: for no view at all.
        TypeError: for something else than transforms.

    Example:
        >>> from pyfastdl import transforms as T
        >>> large, small = [T.RandomResizedCrop(224)], [T.RandomResizedCrop(96)]
        >>> len(T.Views([large, large, small, small, small, small]).transforms)
        6
    """

    def __init__(self, transforms: Iterable[Compose | Iterable[Transform | Callable[[Any], Any]]]) -> None:
        refuse_torchvisions(transforms)
        self.transforms = [
            transform if isinstance(transform, Compose) else Compose(transform) for transform in transforms
        ]
        if not self.transforms:
            raise ValueError("Views needs at least one transform")

    def __repr__(self) -> str:
        return f"Views({self.transforms!r})"

    def sample(
        self, height: int, width: int, *, seed: int, epoch: int, index: int, occurrence: int = 0
    ) -> list[dict[str, Any]]:
        """:meth:`Compose.sample` of each view."""
        return [
            transform.sample(height, width, seed=seed, epoch=epoch, index=index, occurrence=occurrence, view=view)
            for view, transform in enumerate(self.transforms)
        ]


def _hint(transform: Any) -> str:
    if isinstance(transform, (Compose, list, tuple)):
        return ": either all elements of the list are lists (or Compose; each is a view then, see Views), or none is"
    if isinstance(transform, type):
        return f": a class; make an object of it, {transform.__name__}(...)"
    return ""


def as_transform(transform: Any) -> Compose | Views:
    """What users pass as ``transform``: None, one transform, a list, a Compose; or Views, or a list of lists."""
    if transform is None:
        return Compose([])
    refuse_torchvisions(transform)
    if isinstance(transform, (Compose, Views)):
        return transform
    if isinstance(transform, Transform):
        return Compose([transform])
    if isinstance(transform, (list, tuple)):
        if transform and all(isinstance(view, (Compose, list, tuple)) for view in transform):
            return Views(transform)
        return Compose(transform)
    raise TypeError(
        f"transform must be a list of pyfastdl.transforms (or a Compose of them), got {transform!r} "
        f"({type(transform).__module__}.{type(transform).__qualname__})"
    )


def views_of(transform: Compose | Views) -> list[Compose]:
    """Each view's transforms; one where there are no Views."""
    return transform.transforms if isinstance(transform, Views) else [transform]
