"""Batches to a device: the tensors in them, wherever they are nested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

__all__ = ["device_of", "mover"]


def device_of(device: Any) -> torch.device | None:
    """What users pass as ``device``; None stays None.

    Raises:
        ValueError: for a name that torch doesn't know.
        TypeError: for what names no device at all.
    """
    if device is None:
        return None
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f'device must be "cuda", "cuda:1", "cpu", a torch.device or None, got {device!r}') from error


def mover(device: torch.device | None) -> Callable[[Any], Any] | None:
    """A function that moves a batch; None where batches stay as they are."""
    if device is None:
        return None

    def move(batch: Any) -> Any:
        if isinstance(batch, torch.Tensor):
            return batch.to(device, non_blocking=True)
        if isinstance(batch, (str, bytes)):
            return batch
        if isinstance(batch, Mapping):
            moved = {key: move(value) for key, value in batch.items()}
            return moved if type(batch) is dict else _like(batch, moved)
        if isinstance(batch, tuple) and hasattr(batch, "_fields"):
            return type(batch)(*map(move, batch))
        if isinstance(batch, Sequence):
            items = [move(value) for value in batch]
            return items if type(batch) is list else _like(batch, items)
        if hasattr(batch, "to"):  # a type of the user's, as pin_memory() is asked of those
            return batch.to(device)
        return batch

    return move


def _like(batch: Any, content: Any) -> Any:
    try:
        return type(batch)(content)
    except TypeError:
        return content
