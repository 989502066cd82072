"""The ring that worker processes write to, as its owner sees it; and the messages that come with the blocks."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import pickle
import threading
import warnings
import weakref
from typing import Any, NamedTuple

import torch
from torch.utils.data._utils import pin_memory as torch_pinning

from pyfastdl import _core
from pyfastdl._workers import dlpack_code
from pyfastdl.errors import LoaderError
from pyfastdl.workers.blocks import SPARE_BLOCKS
from pyfastdl.workers.report import Report

__all__ = ["Leaf", "Message", "Received", "RingRequest", "SharedBlocks"]

_DTYPES = {
    dlpack_code(dtype): dtype
    for dtype in (getattr(torch, name, None) for name in dir(torch))
    if isinstance(dtype, torch.dtype) and dlpack_code(dtype) is not None
}


class Leaf(NamedTuple):
    """A tensor in a block: offset in bytes, DLPack's type, shape and (where it isn't contiguous) strides in items."""

    offset: int
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None


class RingRequest(NamedTuple):
    """A worker's first batch says how large blocks have to be."""

    ring: int
    block_bytes: int


class Message:
    """A batch, as it leaves a worker. It arrives as a :class:`Received`.

    Args:
        block: where the leaves are; -1: their bytes are ``inline``.
        skeleton: the batch, pickled, with numbers of leaves where they belong.
        how: the count of :class:`Report` that it belongs to.
    """

    def __init__(
        self, ring: int, block: int, skeleton: bytes, leaves: tuple[Leaf, ...], inline: tuple[bytes, ...], how: str
    ) -> None:
        self._content = ring, block, skeleton, tuple(map(tuple, leaves)), inline, how

    def __reduce__(self) -> Any:
        return Received, self._content


class Received:
    """A batch that arrived, and is taken once; one that nobody takes gives its block back."""

    def __init__(
        self, ring: int, block: int, skeleton: bytes, leaves: tuple[Any, ...], inline: tuple[bytes, ...], how: str
    ) -> None:
        self._block = block
        self._blocks = _rings.get(ring)
        self._skeleton = skeleton
        self._leaves = leaves
        self._inline = inline
        self._how = how

    def unpack(self) -> Any:
        """The batch."""
        if self._blocks is None:
            raise LoaderError("a batch came in a process that isn't the loader's: take batches where iter() was called")
        block, self._block = self._block, -1
        tensors = self._blocks.tensors(block, self._leaves, self._inline, self._how)
        return _Unpickler(self._skeleton, tensors).load()

    def pin_memory(self, device: Any = None) -> Any:
        """torch's thread for page-locking asks for this."""
        return torch_pinning.pin_memory(self.unpack(), device)  # type: ignore[no-untyped-call]

    def __del__(self) -> None:
        if self._block >= 0 and self._blocks is not None:
            self._blocks.drop(self._block)


class _Unpickler(pickle.Unpickler):
    def __init__(self, skeleton: bytes, tensors: list[torch.Tensor]) -> None:
        super().__init__(io.BytesIO(skeleton))
        self._tensors = tensors
        self._arrays: dict[int, Any] = {}

    def persistent_load(self, name: Any) -> Any:
        place, is_array = name
        if not is_array:
            return self._tensors[place]
        if place not in self._arrays:
            self._arrays[place] = self._tensors[place].numpy()
        return self._arrays[place]


class SharedBlocks:
    """Shared memory that is made when the first batch says how large a batch is; workers have its descriptor before.

    Args:
        ahead: batches that are worked on at a time.
        report: where it is counted which way batches went.
    """

    def __init__(self, ahead: int, report: Report) -> None:
        self._fd = -1
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._ahead = ahead
        self._report = report
        self._ring: _core.BlockRing | None = None
        self._tried = False
        self.name = next(_names)
        self._fd = _core.reserve_segment()
        _rings[self.name] = self

    @property
    def fd(self) -> int:
        return self._fd

    def fits(self, ahead: int) -> bool:
        """Whether another epoch of such a kind can use this ring."""
        return self._ring is not None and (self._pid, self._ahead) == (os.getpid(), ahead)

    def restart(self) -> None:
        """For the workers of another epoch. REQUIRES: those before have ended."""
        assert self._ring is not None
        self._ring.reset()
        self._ring.offer()

    def make(self, block_bytes: int) -> None:
        """Once; whoever comes later uses what is there."""
        with self._lock:
            if self._tried or block_bytes <= 0:
                return
            self._tried = True
            try:
                self._ring = _core.BlockRing.shared(self._fd, self._ahead + SPARE_BLOCKS, block_bytes)
            except (MemoryError, OSError, ValueError) as error:
                warnings.warn(f"batches are sent through pipes, which is slow: {error}", stacklevel=2)
                return
            self._ring.offer()

    def tensors(self, block: int, leaves: tuple[Any, ...], inline: tuple[bytes, ...], how: str) -> list[torch.Tensor]:
        with self._lock:
            self._report.count(how)
            if block < 0:
                return [_from_bytes(Leaf(*leaf), data) for leaf, data in zip(leaves, inline, strict=True)]
            ring = self._ring
            assert ring is not None
            lease = ring.take(block)
            copy = ring.leased > SPARE_BLOCKS - 1
            self._report.count("copied", copy)
            tensors = [torch.utils.dlpack.from_dlpack(lease.capsule(*leaf)) for leaf in leaves]
            if copy:
                tensors = [tensor.clone() for tensor in tensors]
            del lease
            ring.offer()
            return tensors

    def drop(self, block: int) -> None:
        if self._pid == os.getpid() and self._ring is not None:
            with contextlib.suppress(LoaderError):  # it was free already: restart()
                self._ring.cancel(block)

    def reap(self) -> None:
        """After a worker's death: what it held is free again."""
        if self._ring is not None:
            self._ring.reap()

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _from_bytes(leaf: Leaf, data: bytes) -> torch.Tensor:
    dtype = _DTYPES[(leaf.code, leaf.bits)]
    tensor = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
    return tensor.view(leaf.shape) if leaf.strides is None else tensor.as_strided(leaf.shape, leaf.strides)


_names = itertools.count(1)
_rings: weakref.WeakValueDictionary[int, SharedBlocks] = weakref.WeakValueDictionary()
