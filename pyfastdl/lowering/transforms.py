"""torchvision's transforms to pyfastdl's: the longest beginning of a pipeline that gives the same pixels natively.

torchvision isn't needed, and isn't imported: its classes are told by module and name, so that a subclass, whose methods
may do anything, is none of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import torch

from pyfastdl import transforms as T
from pyfastdl.transforms.compose import Views, views_of
from pyfastdl.transforms.transform import Transform

__all__ = ["LoweredTransform", "Step", "lower_transform"]

# What a step gets and gives: a picture (PIL), bytes as a tensor, or floats as a tensor.
_PICTURE, _BYTES, _FLOATS = "picture", "bytes", "floats"


@dataclasses.dataclass(frozen=True)
class Step:
    """One transform of the user's, and what becomes of it.

    Attributes:
        transform: the user's object.
        native: what the core does instead; nothing where the transform changes nothing; None where it stays Python.
        reason: why it stays Python.
    """

    transform: Any
    native: tuple[Transform, ...] | None
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class LoweredTransform:
    """A transform in two: what the core does, and what is left to Python.

    Attributes:
        steps: all of the user's transforms in order; the native ones come first.
        native: the core's transforms; several views only where they were pyfastdl's already.
        picture: what the core makes is to be given on as a PIL image, and not as a tensor.
        wrapped: it is to be given on as a ``torchvision.tv_tensors.Image``.
    """

    steps: tuple[Step, ...]
    native: T.Compose | Views
    picture: bool
    wrapped: bool = False

    @property
    def rest(self) -> list[Callable[[Any], Any]]:
        return [step.transform for step in self.steps if step.native is None]

    def same_as(self, other: LoweredTransform) -> bool:
        """Whether both do the same: the same numbers natively, and the very same objects in Python."""
        mine, others = self.rest, other.rest
        return (
            len(mine) == len(others)
            and all(one is another for one, another in zip(mine, others, strict=True))
            and (self.picture, self.wrapped) == (other.picture, other.wrapped)
            and _specs(self.native) == _specs(other.native)
        )


def lower_transform(transform: Any) -> LoweredTransform:
    """
    Args:
        transform: what torchvision's datasets have as ``transform``: a transform of torchvision's (v1 or v2), a
            ``Compose`` or ``nn.Sequential`` of them, any callable, or None.
    """
    state, wrapped = _PICTURE, False
    steps: list[Step] = []
    native: list[Transform] = []
    left_over = False
    for one in _flat(transform):
        found = "what comes before stays Python" if left_over else _lower(one, state)
        if isinstance(found, str):
            steps.append(Step(one, None, found))
            left_over = True
            continue
        replaced = native[:-1] if found.replaces_last else native
        error = _refused([*replaced, *found.transforms])
        if error:
            steps.append(Step(one, None, error))
            left_over = True
            continue
        native = [*replaced, *found.transforms]
        state, wrapped = found.state or state, found.wrapped if found.wrapped is not None else wrapped
        steps.append(Step(one, tuple(found.transforms)))
    return LoweredTransform(tuple(steps), T.Compose(native), state == _PICTURE, wrapped)


@dataclasses.dataclass(frozen=True)
class _Found:
    transforms: tuple[Transform, ...]
    state: str | None = None  # None: as before
    wrapped: bool | None = None
    replaces_last: bool = False


def _flat(transform: Any) -> Iterable[Any]:
    """The transforms of nested lists of them, in order."""
    if transform is None:
        return
    if _name(transform) in _COMPOSES and not _hooked(transform):
        for one in transform.transforms:
            yield from _flat(one)
    elif type(transform) is torch.nn.Sequential and not _hooked(transform):
        for one in transform:
            yield from _flat(one)
    else:
        yield transform


def _name(transform: Any) -> str:
    """ "v1.Resize", "v2.Resize"; "" for what isn't torchvision's."""
    kind = type(transform)
    module = str(kind.__module__)
    if module.startswith("torchvision.transforms.v2."):
        return f"v2.{kind.__qualname__}"
    if module in ("torchvision.transforms.transforms", "torchvision.transforms.autoaugment"):
        return f"v1.{kind.__qualname__}"
    return ""


_COMPOSES = ("v1.Compose", "v2.Compose")


def _hooked(transform: Any) -> bool:
    """Whether it does more than its class says: hooks of nn.Module, or methods put on the object."""
    own = vars(transform)
    return bool(own.get("_forward_hooks") or own.get("_forward_pre_hooks") or {"forward", "__call__"} & own.keys())


def _lower(transform: Any, state: str) -> _Found | str:
    """What the core does instead; or why it can't."""
    name = _name(transform)
    if not name:
        return "pyfastdl doesn't know it"
    if _hooked(transform):
        return "it has hooks, or methods of its own"
    version, _, kind = name.partition(".")
    if kind in _ON_PICTURES and state != _PICTURE:
        return "it comes after the conversion to a tensor, where torchvision computes other pixels than on a picture"
    make = _ON_PICTURES.get(kind) or _ANYWHERE.get(kind)
    try:
        if make is not None:
            if version == "v2" and kind in ("RandAugment", "TrivialAugmentWide"):
                _check_solarize(transform)
            return _Found((make(transform),))
        return _convert(transform, version, kind, state)
    except (TypeError, ValueError, AttributeError) as error:
        return str(error)


def _check_solarize(t: Any) -> None:
    """v2 takes Solarize's thresholds from 1 to 0 times 255, v1 (as pyfastdl) from 255 to 0: those that come out at a
    whole number may be rounded to another side of it. All other magnitudes are the same."""
    chosen = slice(None) if not hasattr(t, "magnitude") else t.magnitude
    v1 = torch.linspace(255.0, 0.0, t.num_magnitude_bins)[chosen].double()
    v2 = torch.linspace(1.0, 0.0, t.num_magnitude_bins)[chosen].double() * 255.0
    if not torch.equal(v1.ceil(), v2.ceil()):
        raise ValueError("with this number of magnitudes torchvision's v2 solarizes other pixels than its v1")


# Each takes a transform of torchvision's and gives pyfastdl's of the same arguments. The constructors check them.
_ON_PICTURES: dict[str, Callable[[Any], Transform]] = {
    "RandomResizedCrop": lambda t: T.RandomResizedCrop(t.size, t.scale, t.ratio, t.interpolation),
    "Resize": lambda t: T.Resize(_given(t.size, "size"), t.interpolation, t.max_size),
    "CenterCrop": lambda t: T.CenterCrop(t.size),
    "Pad": lambda t: T.Pad(t.padding, _constant(t.fill), t.padding_mode),
    "RandomCrop": lambda t: T.RandomCrop(t.size, _padding(t), t.pad_if_needed, _constant(t.fill), t.padding_mode),
    "Grayscale": lambda t: T.Grayscale(t.num_output_channels),
    "RandomGrayscale": lambda t: T.RandomGrayscale(t.p),
    "ColorJitter": lambda t: T.ColorJitter(*map(_zero, (t.brightness, t.contrast, t.saturation, t.hue))),
    "RandAugment": lambda t: T.RandAugment(t.num_ops, t.magnitude, t.num_magnitude_bins, t.interpolation, t.fill),
    "TrivialAugmentWide": lambda t: T.TrivialAugmentWide(t.num_magnitude_bins, t.interpolation, t.fill),
}

# Moves of whole pixels are the same on pictures and on tensors.
_ANYWHERE: dict[str, Callable[[Any], Transform]] = {
    "RandomHorizontalFlip": lambda t: T.RandomHorizontalFlip(t.p),
    "RandomVerticalFlip": lambda t: T.RandomVerticalFlip(t.p),
}


def _convert(t: Any, version: str, kind: str, state: str) -> _Found | str:
    """Conversions, and what works on numbers."""
    if kind in ("Identity", "RGB") and version == "v2":
        return _Found(()) if kind == "Identity" or state == _PICTURE else "it works on pictures here"
    if kind == "ToTensor" and state == _PICTURE:
        return _Found((T.ToTensor(),), _FLOATS, wrapped=False)
    if kind == "PILToTensor" and state == _PICTURE:
        return _Found((T.PILToTensor(),), _BYTES, wrapped=False)
    if kind == "ToImage" and state == _PICTURE:
        return _Found((T.ToImage(),), _BYTES, wrapped=True)
    if kind == "ToPureTensor" and state != _PICTURE:
        return _Found((), wrapped=False)
    if kind == "ConvertImageDtype" and version == "v1" and state == _BYTES and t.dtype == torch.float32:
        # By division, as ToTensor does it.
        return _Found((T.ToTensor(),), _FLOATS, replaces_last=True)
    if kind in ("ToDtype", "ConvertImageDtype") and version == "v2" and state == _BYTES:
        lowered = T.ToDtype(t.dtype, scale=True if kind == "ConvertImageDtype" else t.scale)
        return _Found((lowered,), _FLOATS if lowered.name != "uint8" else None)
    if kind == "Normalize" and state == _FLOATS:
        return _Found((T.Normalize(t.mean, t.std),))
    if kind == "RandomErasing" and state == _FLOATS:
        value = "random" if t.value is None else t.value  # as v2 has it
        return _Found((T.RandomErasing(t.p, t.scale, t.ratio, value),))
    if kind in ("Normalize", "RandomErasing", "ToDtype", "ConvertImageDtype"):
        return f"it works on {'floats' if kind != 'ToDtype' else 'tensors'}, and gets {_WORDS[state]}"
    return "pyfastdl has none that is equal to it"


_WORDS = {_PICTURE: "a picture", _BYTES: "bytes", _FLOATS: "floats"}


def _given(value: Any, what: str) -> Any:
    if value is None:
        raise ValueError(f"its {what} is None")
    return value


def _constant(fill: Any) -> Any:
    """v2 may have a fill for each type of its inputs."""
    if isinstance(fill, dict):
        raise ValueError("its fill differs by type")
    return fill


def _padding(crop: Any) -> Any:
    """v2 keeps left, right, top, bottom of what was given as left, top, right, bottom."""
    if crop.padding is None or _name(crop).startswith("v1."):
        return crop.padding
    left, right, top, bottom = crop.padding
    return left, top, right, bottom


def _zero(factors: Any) -> Any:
    """ColorJitter keeps None for what it leaves out."""
    return 0 if factors is None else tuple(factors)


def _refused(native: list[Transform]) -> str:
    """Why the core doesn't do these in this order; "" if it does."""
    try:
        T.Compose(native).plan()
    except ValueError as error:
        return str(error)
    return ""


def _specs(native: T.Compose | Views) -> list[list[Any]]:
    return [[transform.spec() for transform in view.native] for view in views_of(native)]
