"""Collation outside of torch's worker context: inside it, default_collate allocates torch's own shared memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data._utils import collate as torch_collate

__all__ = ["is_default", "learns_schemas", "plain_collate"]

_STOCK = dict(torch_collate.default_collate_fn_map)
_stock_tensor_fn = torch_collate.collate_tensor_fn


def is_default(collate_fn: Any) -> bool:
    return collate_fn is torch_collate.default_collate


def learns_schemas() -> bool:
    """Whether default_collate does what it came with: users may register functions for types of their own."""
    return torch_collate.default_collate_fn_map == _STOCK


def plain_collate(batch: Any) -> Any:
    """What default_collate gives in a process that isn't a worker: in ordinary memory, whoever calls it."""
    registered = torch_collate.default_collate_fn_map
    if registered.get(torch.Tensor) is not _stock_tensor_fn:
        return torch_collate.default_collate(batch)  # type: ignore[no-untyped-call]
    return torch_collate.collate(batch, collate_fn_map={**registered, torch.Tensor: _stack})


def _stack(batch: Any, *, collate_fn_map: Any = None) -> Any:
    first = batch[0]
    if first.is_nested or first.layout is not torch.strided:
        return _stock_tensor_fn(batch, collate_fn_map=collate_fn_map)  # which refuses most of them in its own words
    return torch.stack(batch, 0)
