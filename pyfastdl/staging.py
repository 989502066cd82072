"""From a finished CPU batch to what the training loop gets: on its device, normalised there if it came as bytes."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["Staging"]

# Names of the dtypes that cells can have.
DTYPES = {
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.uint8: "uint8",
}


class Staging:
    """Moves batches to a device.

    Args:
        device: a torch device, or None: batches stay the zero-copy CPU tensors that they are.
        normalize: (mean, std), three floats each, where the pixels travel as uint8 and are to be normalised: float32
            ``(x / 255 - mean) / std``, bit-equal to what the CPU would have done.

    Raises:
        ValueError: for a CUDA device that torch doesn't have.
    """

    def __init__(self, device: Any, normalize: tuple[Any, Any] | None) -> None:
        self.device = None if device is None else torch.device(device)
        if self.device is not None and self.device.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(
                f"device={device!r} was asked for, but torch sees no CUDA device here "
                "(torch.cuda.is_available() is False): leave device out, or install a torch with CUDA"
            )
        self._normalize = normalize
        self._constants: tuple[torch.Tensor, torch.Tensor] | None = None

    def __call__(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        if self.device is not None and self.device.type != "cpu":
            tensors = [tensor.to(self.device, non_blocking=True) for tensor in tensors]
        if self._normalize is not None:
            tensors[0] = self._normalized(tensors[0])
        return tensors

    def _normalized(self, images: torch.Tensor) -> torch.Tensor:
        if self._constants is None:
            mean, std = (
                torch.tensor(values, dtype=torch.float32, device=images.device).view(1, 3, 1, 1)
                for values in self._normalize or ()
            )
            self._constants = mean, std
        mean, std = self._constants
        return images.to(torch.float32).div_(255).sub_(mean).div_(std)
