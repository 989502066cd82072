"""A worker process's batches: arrays in a block of shared memory, the rest pickled, and a small message for both.

The worker side. What receives the messages is shared_blocks.py.
"""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import time
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from pyfastdl import _core
from pyfastdl._workers import Schema, dlpack_code
from pyfastdl.workers.blocks import learn
from pyfastdl.workers.collating import is_default, plain_collate
from pyfastdl.workers.context import context
from pyfastdl.workers.shared_blocks import Leaf, Message, RingRequest
from pyfastdl.workers.tolerance import NOTHING

__all__ = ["PackingCollate"]

_ALIGNMENT = 64
# Smaller arrays of numpy's are pickled with the rest.
_ARRAY_BYTES = 2048
# More than this isn't sent through a pipe, but in torch's own way: by descriptors of memory made for this batch.
_INLINE_BYTES = 1 << 20
# How long a worker's first batch waits for the ring that it asked for. The loop that makes it waits for batches.
_RING_PATIENCE = 0.5


class _Aliased(Exception):
    """Two tensors of a batch share memory, and would not after packing."""


class _Pickler(reduction.ForkingPickler):
    """Pickles a batch without its arrays, which it collects."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.arrays: list[Any] = []
        self._places: dict[int, int] = {}
        self._storages: dict[int, int] = {}  # storage: the tensor that has it

    def persistent_id(self, value: Any) -> Any:
        kind = type(value)
        if kind is torch.Tensor:
            self._check_alias(value)
            if not _is_packable(value):
                return None
        elif kind is np.ndarray:
            if value.nbytes < _ARRAY_BYTES or not _is_packable_array(value):
                return None
        elif kind is not _Marker:
            return None
        place = self._places.get(id(value))
        if place is None:
            place = self._places[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return place, kind is np.ndarray

    def _check_alias(self, tensor: torch.Tensor) -> None:
        if tensor.layout is not torch.strided or id(tensor) in self._places:
            return
        storage = tensor.untyped_storage()._cdata
        if self._storages.setdefault(storage, id(tensor)) != id(tensor):
            raise _Aliased


class _Marker:
    """Stands for a tensor whose bytes are in the block already."""


def _is_packable(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and dlpack_code(tensor.dtype) is not None
        and not tensor.requires_grad
        and not tensor.is_neg()
        and tensor.dim() <= 16
        and (tensor.is_contiguous() or _is_dense(tensor))
    )


def _is_dense(tensor: torch.Tensor) -> bool:
    """Without gaps and overlaps, in whatever order of its dimensions."""
    step = 1
    for stride, side in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if side != 1 and stride != step:
            return False
        step *= side
    return True


def _is_packable_array(array: np.ndarray[Any, Any]) -> bool:
    return (
        array.dtype.kind in "biuf"
        and array.dtype.isnative
        and array.dtype.itemsize <= 8
        and array.flags.c_contiguous
        and array.ndim <= 16
        and array.flags.writeable
    )


class PackingCollate:
    """What torch's worker loop gets for a collate_fn: collates, and packs what comes out.

    Args:
        collate_fn: the user's, or default_collate.
        fd: of the memory that the ring will be in.
        notes: of a file that has a number for each worker: the task that it is at, from 1; 0 between tasks.
        ring: names the ring to the process that owns it.
        capacity: samples of the largest batch to expect; None: the first batch's.
    """

    def __init__(self, collate_fn: Any, batched: bool, fd: int, notes: int, ring: int, capacity: int | None) -> None:
        self._collate_fn = collate_fn
        self._default = batched and is_default(collate_fn)
        self._fd = fd
        self._notes = notes
        self._ring = ring
        self._capacity = capacity
        self._writer: _core.BlockWriter | None = None
        self._block: tuple[int, int] | None = None  # claimed, and not written yet
        self._schema: Schema | None = None
        self._learnt = self._asked = False
        self._skeleton: bytes | None = None
        #: Set in the worker: sends a message to the owner, past torch's loop.
        self.send: Callable[[Any], None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Only while a worker is started by spawn or forkserver: the descriptors go along under numbers of their own.
        fds = {name: reduction.DupFd(getattr(self, name)) for name in ("_fd", "_notes")}
        return {**self.__dict__, **fds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fd = state["_fd"].detach()
        self._notes = state["_notes"].detach()

    def note(self, worker: int, task: int) -> None:
        """In the worker: what it is at, for the owner to read if this process ends here."""
        os.pwrite(self._notes, task.to_bytes(8, "little"), 8 * worker)

    def __call__(self, data: Any) -> Any:
        context.index = None
        if data is NOTHING:
            return NOTHING
        if not self._default or type(data) is not list or not data:
            return self._pack(self._collate_fn(data), len(data) if isinstance(data, list) else 1, "packed")
        message = self._write(data)
        if message is not None:
            return message
        try:
            batch = plain_collate(data)
        except Exception:
            batch = default_collate(data)  # the stock loader's words for what is wrong
        return self._pack(batch, len(data), "collated")

    def _write(self, samples: list[Any]) -> Message | None:
        """The samples straight to a block; None where they don't fit the schema, or no block is there."""
        if not self._learnt:
            self._learnt = True
            self._schema = learn(samples[0], max(self._capacity or 0, len(samples)))
        schema = self._schema
        if schema is None or not self._claim(schema.block_bytes, 1.0):
            return None
        assert self._block is not None
        number, address = self._block
        objects: list[list[Any]] = [[None] * len(samples) for _ in range(schema.object_count)]
        for place, sample in enumerate(samples):
            if not schema.write(sample, address, place, objects):
                return None  # the block stays claimed, for the next batch
        skeleton = self._skeleton
        if skeleton is None:
            markers: Any = [_Marker() for _ in schema.leaves]
            file = io.BytesIO()
            pickler = _Pickler(file)
            pickler.arrays.extend(markers)  # in the leaves' order, wherever they come in the batch
            pickler._places.update({id(marker): place for place, marker in enumerate(markers)})
            pickler.dump(schema.build(markers, objects))
            skeleton = file.getvalue()
            if not objects:
                self._skeleton = skeleton
        leaves = tuple(
            Leaf(offset, *(dlpack_code(dtype) or (0, 0)), (len(samples), *shape), None)
            for offset, dtype, shape in schema.leaves
        )
        self._publish()
        return Message(self._ring, number, skeleton, leaves, (), "written")

    def _pack(self, batch: Any, samples: int, how: str) -> Any:
        """A batch that is there already: copied to a block, or sent with the message."""
        file = io.BytesIO()
        pickler = _Pickler(file)
        try:
            pickler.dump(batch)
        except Exception:  # aliased memory, or what can't be pickled: torch's own way, and its own errors
            return batch
        arrays = pickler.arrays
        if not arrays:
            return Message(self._ring, -1, file.getvalue(), (), (), how)
        leaves, offset = [], 0
        for array in arrays:
            tensor = array if isinstance(array, torch.Tensor) else torch.from_numpy(array)
            code, bits = dlpack_code(tensor.dtype) or (0, 0)
            strides = None if tensor.is_contiguous() else tuple(tensor.stride())
            leaves.append((Leaf(offset, code, bits, tuple(tensor.shape), strides), tensor))
            offset += -(-tensor.numel() * bits // 8 // _ALIGNMENT) * _ALIGNMENT
        scale = max(1.0, (self._capacity or 1) / max(1, samples))
        if not self._claim(offset, scale):
            if offset > _INLINE_BYTES:
                return batch
            return Message(
                *(self._ring, -1, file.getvalue(), tuple(leaf for leaf, _ in leaves)),
                tuple(ctypes.string_at(tensor.data_ptr(), _bytes(tensor)) for _, tensor in leaves),
                "sent",
            )
        assert self._block is not None
        number, address = self._block
        for leaf, tensor in leaves:
            ctypes.memmove(address + leaf.offset, tensor.data_ptr(), _bytes(tensor))
        self._publish()
        return Message(self._ring, number, file.getvalue(), tuple(leaf for leaf, _ in leaves), (), how)

    def _claim(self, needed: int, scale: float) -> bool:
        """Whether there is a block of so many bytes in ``self._block``."""
        if self._block is not None:
            return needed <= self._block_bytes()
        self._try_claim()
        if self._writer is None and not self._asked and self.send is not None:
            self._asked = True
            self.send(RingRequest(self._ring, int(needed * scale)))
            end = time.monotonic() + _RING_PATIENCE
            while self._block is None and time.monotonic() < end:
                time.sleep(0.0005)
                self._try_claim()
        return self._block is not None and needed <= self._block_bytes()

    def _try_claim(self) -> None:
        if self._writer is None:
            self._writer = _core.BlockWriter.attach(self._fd)
        if self._writer is not None:
            self._block = self._writer.claim()

    def _block_bytes(self) -> int:
        return self._writer.block_bytes if self._writer is not None else 0

    def _publish(self) -> None:
        assert self._writer is not None and self._block is not None
        self._writer.publish(self._block[0])
        self._block = None


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()
