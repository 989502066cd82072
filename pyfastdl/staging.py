"""From a finished CPU batch to what the training loop gets: on its device, normalised there if it came as bytes."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import torch

from pyfastdl.workers.device import device_of, mover

if TYPE_CHECKING:
    from pyfastdl.transforms.compose import Compose

__all__ = ["BatchNormalize", "Staging"]

# Names of the dtypes that cells can have.
DTYPES = {
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.uint8: "uint8",
}


@dataclasses.dataclass(frozen=True)
class BatchNormalize:
    """Bytes to normalised floats, for pixels that travel as uint8: bit-equal to what the CPU would have done.

    Attributes:
        mean, std: three floats each.
        dtype: of the result, and of the arithmetic.
        scale: how bytes become floats: "divide" (by 255), "multiply" (by 1/255) or "none".
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    dtype: torch.dtype = torch.float32
    scale: str = "divide"

    @classmethod
    def of(cls, transform: Compose) -> BatchNormalize:
        """What a transform with a Normalize asks for."""
        assert transform.normalization is not None
        dtype, scale = transform.conversion
        return cls(*transform.normalization, dtype=getattr(torch, dtype), scale=scale)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        mean, std = (_constants(values, self.dtype, images.device) for values in (self.mean, self.std))
        floats = images.to(self.dtype)
        if self.scale == "divide":
            floats.div_(255)
        elif self.scale == "multiply":
            floats.mul_(1.0 / 255.0)
        return floats.sub_(mean).div_(std)


@functools.lru_cache(maxsize=64)
def _constants(values: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, device=device).view(1, 3, 1, 1)


class Staging:
    """Moves batches to a device.

    Args:
        device: a torch device, or None: batches stay the zero-copy CPU tensors that they are.
        normalize: for each view of a sample, what is still to be done to its pixels, or None.

    Attributes:
        views: how many of a batch's parts are images; they are its first.

    Raises:
        ValueError: for a name that is no device, or a CUDA device that torch doesn't have.
        TypeError: for what names no device at all.
    """

    def __init__(self, device: Any, normalize: list[BatchNormalize | None]) -> None:
        self.device = device_of(device)
        if self.device is not None and self.device.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(
                f"device={device!r} was asked for, but torch sees no CUDA device here "
                "(torch.cuda.is_available() is False): leave device out, or install a torch with CUDA"
            )
        self.views = len(normalize)
        self._normalize = normalize
        self._move = mover(None if self.device is None or self.device.type == "cpu" else self.device)

    def __call__(self, values: list[Any]) -> list[Any]:
        """
        Args:
            values: the parts of a batch: tensors, or what default_collate made of the results of a user's functions.
        """
        if self._move is not None:
            values = list(map(self._move, values))
        for view, normalize in enumerate(self._normalize):
            if normalize is not None:
                values[view] = normalize(values[view])
        return values
