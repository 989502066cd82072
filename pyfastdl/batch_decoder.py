"""BatchDecoder: samples of a list of files, on native threads, in whichever process and thread asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from pyfastdl import _core
from pyfastdl._pipeline import Pipeline
from pyfastdl.decoding import DecodeOptions
from pyfastdl.images import decode_with
from pyfastdl.workers.turns import Turns

if TYPE_CHECKING:
    import numpy.typing as npt

    from pyfastdl._core import PathTable, Plan

__all__ = ["BatchDecoder"]

_READ_THREADS = 8
_MASK64 = 0xFFFFFFFFFFFFFFFF


class BatchDecoder:
    """Loads the images of a batch at once, or one alone; the random numbers are those that a loader's sample of the
    same seed, epoch, index and occurrence has.

    Its threads are started in the process that first needs them, also in a forked one, and calls take turns.

    Args:
        paths: all files.
        plans: one a view.
        decoding: the options of decoding.
        channels_last: whether that is the plans' memory format.
    """

    def __init__(
        self, paths: PathTable, plans: Sequence[Plan], decoding: DecodeOptions, channels_last: bool = False
    ) -> None:
        self._paths = paths
        self._plans = list(plans)
        self._decoding = decoding
        self._channels_last = channels_last
        self._turns = Turns("a sample")
        self._pipeline: Pipeline | None = None

    @property
    def sizes(self) -> list[tuple[int, int]] | None:
        """(height, width) of each view in pixels; None where they depend on the file, so that there's no batch."""
        sizes = [plan.static_output_size() for plan in self._plans]
        return None if None in sizes else [size for size in sizes if size is not None]

    def batch(
        self, indices: npt.NDArray[np.int64], seed: int, epoch: int, occurrences: Sequence[int] = ()
    ) -> list[torch.Tensor]:
        """The images of each view, (B, 3, H, W). REQUIRES: :attr:`sizes` isn't None; at least one index.

        Raises:
            SampleError: one of them can't be loaded.
        """
        sizes = self.sizes
        assert sizes is not None
        with self._turns():
            pipeline = self._pipeline
            # (A forked worker has another turn, and none of the threads.)
            if pipeline is None or not pipeline.usable_here() or pipeline.batch_size < len(indices):
                if pipeline is not None:
                    pipeline.close()
                self._pipeline = pipeline = self._start(sizes, len(indices))
            pipeline.start_epoch(seed, epoch)
            pipeline.open(indices, occurrences)
            capsules = pipeline.next(0)
        assert capsules is not None
        return [torch.utils.dlpack.from_dlpack(capsule) for capsule in capsules]

    def one(
        self, index: int, seed: int, epoch: int, occurrence: int = 0, *, place: int | None = None
    ) -> list[torch.Tensor]:
        """The image in each view, (3, H, W), of whatever size.

        Args:
            place: the sample whose place it takes, and whose random numbers it gets; None: its own.

        Raises:
            SampleError, OSError: it can't be loaded.
        """
        rgb = decode_with(self._paths[index], self._decoding)
        images = [
            _tensor(plan.apply(rgb, seed & _MASK64, epoch, index if place is None else place, occurrence, view))
            for view, plan in enumerate(self._plans)
        ]
        # Such a plan's array is (H, W, 3).
        return [image.permute(2, 0, 1) for image in images] if self._channels_last else images

    def _start(self, sizes: list[tuple[int, int]], batch_size: int) -> Pipeline:
        return Pipeline(
            paths=self._paths,
            views=list(zip(self._plans, sizes, strict=True)),
            targets=None,
            batch_size=batch_size,
            prefetch=1,
            decode_threads=_threads(),
            read_threads=_READ_THREADS,
            return_index=False,
            on_error="raise",
            **self._decoding.config(),
        )


def _tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """A native array; bfloat16 comes as its bits."""
    if array.dtype == np.uint16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _threads() -> int:
    """The CPUs that this process may use; its share of them in a worker process of a torch DataLoader."""
    info = get_worker_info()
    return max(1, _core.granted_cpus() // (info.num_workers if info is not None else 1))
