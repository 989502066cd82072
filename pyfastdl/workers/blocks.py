"""Batches in blocks of a ring: where the samples of one batch are written, and the tensors over them."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

import torch

from pyfastdl import _core
from pyfastdl._workers import Schema, dlpack_code
from pyfastdl.workers.collating import learns_schemas, plain_collate
from pyfastdl.workers.report import Report
from pyfastdl.workers.tolerance import NOTHING

__all__ = ["SPARE_BLOCKS", "BlockBatch", "ThreadBlocks", "export", "learn"]

# Blocks beyond those that are being filled: the batch that the training loop has, the one that it is given, and one
# that is between the two.
SPARE_BLOCKS = 3


def learn(sample: Any, capacity: int) -> Schema | None:
    """The schema of a sample; None where default_collate has to make the batches."""
    if not learns_schemas():
        return None
    try:
        return Schema.learn(sample, plain_collate([sample]), capacity)
    except Exception:  # default_collate refuses it: so it will the batch, where the user sees why
        return None


def export(lease: _core.BlockLease, leaves: Any, samples: int, copy: bool) -> list[torch.Tensor]:
    """Tensors over a block: (offset, dtype, shape of a sample) each. ``copy``: in memory of their own."""
    tensors = []
    for offset, dtype, shape in leaves:
        code, bits = dlpack_code(dtype) or (0, 0)
        tensor = torch.utils.dlpack.from_dlpack(lease.capsule(offset, code, bits, (samples, *shape)))
        if tensor.dtype is not dtype:
            tensor = tensor.view(dtype)
        tensors.append(tensor.clone() if copy else tensor)
    return tensors


class BlockBatch:
    """One batch that is being written: samples go to the block where they fit the schema, else they are kept."""

    __slots__ = ("_address", "_blocks", "_number", "_objects", "_samples", "_size", "written")

    def __init__(self, blocks: ThreadBlocks, block: tuple[int, int] | None, size: int) -> None:
        self._blocks = blocks
        self._number, self._address = block if block is not None else (-1, 0)
        self._size = size
        self._samples: dict[int, Any] = {}
        self._objects: list[list[Any]] = []
        self.written = False  # all of it is in the block
        if block is not None:
            assert blocks.schema is not None
            self._objects = [[None] * size for _ in range(blocks.schema.object_count)]

    def write(self, sample: Any, place: int) -> None:
        schema = self._blocks.schema
        if self._number >= 0:
            assert schema is not None
            if schema.write(sample, self._address, place, self._objects):
                return
        elif schema is None:
            self._blocks.learn(sample)
        self._samples[place] = sample

    def leave_out(self, place: int) -> None:
        """There is no sample at this place: those after it move up."""
        self._samples[place] = NOTHING

    def finish(self, collate: Any) -> Any:
        """After the last sample, on a worker: the batch, or None when it is in the block, for take(). NOTHING when all
        samples were left out."""
        blocks, number = self._blocks, self._number
        if number >= 0 and not self._samples:
            blocks.ring.publish(number)
            self.written = True
            blocks.report.count("written")
            return None
        samples = [self._samples.get(place) for place in range(self._size)]
        if number >= 0:
            assert blocks.schema is not None
            blocks.ring.publish(number)
            tensors = export(blocks.ring.take(number), blocks.schema.leaves, self._size, False)
            for place in range(self._size):
                if place not in self._samples:
                    samples[place] = blocks.schema.restore(tensors, self._objects, place)
            del tensors
        self._number = -1
        self._samples = {}
        samples = [sample for sample in samples if sample is not NOTHING]
        if not samples:
            return NOTHING
        blocks.report.count("collated")
        return collate(samples)

    def take(self) -> Any:
        """The batch that is in the block."""
        blocks = self._blocks
        assert blocks.schema is not None
        lease = blocks.ring.take(self._number)
        self._number = -1
        copy = blocks.ring.leased > SPARE_BLOCKS - 1
        blocks.report.count("copied", copy)
        return blocks.schema.build(export(lease, blocks.schema.leaves, self._size, copy), self._objects)

    def drop(self) -> None:
        """Nobody will take it, and nobody writes to it any more."""
        number, self._number = self._number, -1
        self._samples = {}
        if number >= 0:
            if not self.written:
                self._blocks.ring.publish(number)
            self._blocks.ring.cancel(number)


class ThreadBlocks:
    """The ring of a loader's threads, made when the first sample says how large a batch is.

    Args:
        ahead: batches that are worked on at a time.
        capacity: samples of the largest batch to expect; a larger one is left to default_collate.
        report: where it is counted which way batches went.
    """

    def __init__(self, ahead: int, capacity: int, report: Report) -> None:
        self._lock = threading.Lock()
        self._key = os.getpid(), ahead, capacity
        self._ahead = ahead
        self._capacity = capacity
        self._tried = False
        self._ring: _core.BlockRing | None = None
        self.schema: Schema | None = None
        self.report = report

    @property
    def ring(self) -> _core.BlockRing:
        assert self._ring is not None
        return self._ring

    def fits(self, ahead: int, capacity: int) -> bool:
        """Whether another epoch of such a kind can use this ring."""
        return self.schema is not None and self._key == (os.getpid(), ahead, capacity)

    def learn(self, sample: Any) -> None:
        with self._lock:
            if self._tried:
                return
            self._tried = True
            schema = learn(sample, self._capacity)
            if schema is None:
                return
            with contextlib.suppress(MemoryError, ValueError):  # no room: default_collate takes less at a time
                self._ring = _core.BlockRing(self._ahead + SPARE_BLOCKS, schema.block_bytes)
                self.schema = schema

    def batch(self, size: int) -> BlockBatch:
        """For the next batch."""
        if self.schema is None or size > self._capacity:
            return BlockBatch(self, None, size)
        return BlockBatch(self, self.ring.acquire(), size)
