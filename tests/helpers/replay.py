"""What torchvision makes of a picture with the random numbers that `Compose.sample` names: the reference of the
exactness tests. Everything random comes from those numbers; the rest is torchvision's own functions on PIL images."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment
from torchvision.transforms import functional as F
from torchvision.transforms.v2 import functional as F2

from pyfastdl import transforms as T

ADJUST = {
    "brightness": F.adjust_brightness,
    "contrast": F.adjust_contrast,
    "saturation": F.adjust_saturation,
    "hue": F.adjust_hue,
}


class Numbers:
    """The numbers of a sample, key by key: the second `take("flip")` gives `flip_2`."""

    def __init__(self, numbers: dict[str, Any]) -> None:
        self.numbers = numbers
        self.taken: dict[str, int] = {}

    def take(self, key: str) -> Any:
        self.taken[key] = count = self.taken.get(key, 0) + 1
        return self.numbers[key if count == 1 else f"{key}_{count}"]

    def box(self) -> list[int]:
        return [self.take(key) for key in ("top", "left", "height", "width")]

    def all_taken(self) -> bool:
        return sum(self.taken.values()) == len(self.numbers)


def padded(x: Any, padding: Any, transform: Any) -> Any:
    fill = list(transform.fill) if isinstance(x, Image.Image) else 0
    return F.pad(x, list(padding), fill, transform.padding_mode)


def random_crop(x: Any, t: T.RandomCrop, numbers: Numbers) -> Any:
    if t.padding is not None:
        x = padded(x, t.padding, t)
    _, height, width = F.get_dimensions(x)
    if t.pad_if_needed and width < t.size[1]:
        x = padded(x, (t.size[1] - width, 0), t)
    if t.pad_if_needed and height < t.size[0]:
        x = padded(x, (0, t.size[0] - height), t)
    _, height, width = F.get_dimensions(x)
    if height < t.size[0] or width < t.size[1]:
        raise ValueError("smaller than the crop")
    return F.crop(x, *numbers.box())


def jitter(x: Any, t: T.ColorJitter, numbers: Numbers) -> Any:
    order = numbers.take("order")
    factors = {name: numbers.take(name) for name in ADJUST if getattr(t, name) is not None}
    for name in order:
        if name in factors:
            x = ADJUST[name](x, factors[name])
    return x


def augment(x: Any, t: Any, numbers: Numbers) -> Any:
    if getattr(t, "num_ops", 1) == 0:
        return x
    for name, magnitude in numbers.take("ops"):
        x = autoaugment._apply_op(x, name, magnitude, InterpolationMode(t.interpolation), list(t.fill))
    return x


def tensor(x: Any, dtype: torch.dtype) -> torch.Tensor:
    """What a picture becomes where no transform says it."""
    if isinstance(x, torch.Tensor):
        return x
    return F.pil_to_tensor(x) if dtype == torch.uint8 else F.to_tensor(x)


def erase(x: Any, t: T.RandomErasing, numbers: Numbers) -> Any:
    box = numbers.take("erase")
    if box is None:
        return x
    value = (
        torch.from_numpy(numbers.take("erase_noise")) if t.value == "random" else torch.tensor(t.value)[:, None, None]
    )
    return F.erase(x, *box, value)


def step(x: Any, t: Any, numbers: Numbers, dtype: torch.dtype) -> Any:
    match t:
        case T.RandomResizedCrop():
            return F.resized_crop(x, *numbers.box(), list(t.size), InterpolationMode(t.interpolation))
        case T.Resize():
            size = t.size if isinstance(t.size, int) else list(t.size)
            return F.resize(x, size, InterpolationMode(t.interpolation), max_size=t.max_size)
        case T.CenterCrop():
            return F.center_crop(x, list(t.size))
        case T.Pad():
            return padded(x, t.padding, t)
        case T.RandomCrop():
            return random_crop(x, t, numbers)
        case T.RandomHorizontalFlip():
            return F.hflip(x) if numbers.take("flip") else x
        case T.RandomVerticalFlip():
            return F.vflip(x) if numbers.take("vflip") else x
        case T.Grayscale():
            return F.to_grayscale(x, 3)
        case T.RandomGrayscale():
            return F.to_grayscale(x, 3) if numbers.take("grayscale") else x
        case T.ColorJitter():
            return jitter(x, t, numbers)
        case T.RandAugment() | T.TrivialAugmentWide():
            return augment(x, t, numbers)
        case T.ToTensor():
            return F.to_tensor(x)
        case T.PILToTensor():
            return F.pil_to_tensor(x)
        case T.ToImage():
            return x if isinstance(x, torch.Tensor) else F2.pil_to_tensor(x)
        case T.ToDtype():
            return F2.to_dtype(tensor(x, torch.uint8), t.dtype, t.scale)
        case T.Normalize():
            return F.normalize(tensor(x, dtype), t.mean, t.std)
        case T.RandomErasing():
            return erase(tensor(x, dtype), t, numbers)
    raise AssertionError(t)


def replay(
    transforms: list[Any], picture: np.ndarray, numbers: dict[str, Any], dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    """(3, H, W) in that dtype. The picture is uint8 (height, width, 3)."""
    x: Any = Image.fromarray(picture)
    left = Numbers(numbers)
    for t in transforms:
        x = step(x, t, left, dtype)
        if 0 in F.get_dimensions(x)[1:]:
            raise ValueError("nothing is left")
    assert left.all_taken(), "a number was drawn that nothing uses"
    return tensor(x, dtype).to(dtype)


def cell(
    compose: T.Compose,
    picture: np.ndarray,
    index: int = 0,
    *,
    dtype: torch.dtype = torch.float32,
    channels_last: bool = False,
) -> torch.Tensor:
    """What the native core makes of it, as (3, H, W): seed 1, epoch 0."""
    plan = compose.plan(dtype=str(dtype).removeprefix("torch."), channels_last=channels_last)
    array = plan.apply(picture, 1, 0, index)
    bits = dtype == torch.bfloat16
    result = torch.from_numpy(array.view(np.int16)).view(dtype) if bits else torch.from_numpy(array)
    return result.permute(2, 0, 1) if channels_last else result


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    ints = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[a.element_size()]
    return (
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.contiguous().view(ints), b.contiguous().view(ints))
    )
