"""ImageFolder: a map-style dataset whose images are decoded natively, under any loader."""

from __future__ import annotations

import operator
import os
import threading
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import Dataset, get_worker_info

from pyfastdl import _core
from pyfastdl._pipeline import Pipeline
from pyfastdl.decoding import DecodeOptions
from pyfastdl.images import decode_image
from pyfastdl.sources import open_source
from pyfastdl.transforms.compose import Views, as_transform, views_of

__all__ = ["ImageFolder"]


# An image; a tuple of them where the transform has views.
_Images = torch.Tensor | tuple[torch.Tensor, ...]


class ImageFolder(Dataset[tuple[Any, Any]]):
    """A folder of class folders as a map-style dataset, for ``torch.utils.data.DataLoader`` and all that build one.

    ``dataset[i]`` is ``(image, class index)``. ``dataset.__getitems__(indices)``, which torch's loaders call where it
    exists, decodes a whole batch on native threads.

    Random transforms draw one seed a call from torch's default generator, so that torch's own seeding (also that of
    worker processes) fixes them.

    A file that can't be loaded raises :class:`~pyfastdl.SampleError`, also out of a worker process. Under torch's
    loader use ``num_workers=0`` or few: one process decodes on all CPUs that it may use.

    Args:
        root: the folder; see :class:`~pyfastdl.NativeLoader` for what is ignored in it.
        transform: a list of :mod:`pyfastdl.transforms`; None gives the whole image. A list of lists (or
            :class:`~pyfastdl.transforms.Views`) gives a tuple of images a sample, one a view.
        apply_exif_orientation, decode: as :class:`~pyfastdl.NativeLoader` has them.

    Attributes:
        classes: names of the classes, sorted.
        class_to_idx: class name to index.
        samples: ``(path, class index)`` per image, made when asked for.
        targets: class index per image.

    Raises:
        FileNotFoundError: no such folder, or a folder without classes or images.

    Example:
        >>> import pyfastdl, torch                                                      # doctest: +SKIP
        >>> from pyfastdl import transforms as T
        >>> dataset = pyfastdl.ImageFolder("data/val", [T.Resize(256), T.CenterCrop(224)])
        >>> for images, labels in torch.utils.data.DataLoader(dataset, batch_size=64):
        ...     evaluate(images, labels)
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Any = None,
        *,
        apply_exif_orientation: bool = False,
        decode: Literal["exact", "fast"] = "exact",
    ) -> None:
        self.root = root
        self.decoding = DecodeOptions(apply_exif_orientation, decode)
        self.transform = as_transform(transform)
        source = open_source(root, None)
        if source.classes is None or source.target_array is None:
            raise TypeError(f"ImageFolder needs a folder of class folders, got {root!r}")
        for note in source.notes:
            warnings.warn(note, stacklevel=2)
        self._source = source
        self._start()

    def _start(self) -> None:
        """What isn't pickled."""
        self.classes = self._source.classes
        self.class_to_idx = self._source.class_to_idx
        self.samples = self._source.samples
        self.targets = self._source.targets
        self._plans = [view.plan() for view in views_of(self.transform)]
        self._labels = np.asarray(self._source.target_array)
        self._targets = _core.Targets(self._labels)
        self._decoder = _BatchDecoder()

    def __len__(self) -> int:
        return len(self._source.paths)

    def __repr__(self) -> str:
        return f"ImageFolder({str(self.root)!r}, {len(self)} images, {len(self.classes or ())} classes)"

    def __getitem__(self, index: int) -> tuple[_Images, int]:
        """``(image, class index)``: float32 (3, H, W), from 0 to 1 unless normalised; of another dtype where the
        transform says so (PILToTensor, ToDtype). With views the image is a tuple, one a view."""
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[_Images, int]]:
        """A batch at once, decoded on native threads."""
        array = np.array([self._checked(index) for index in indices], dtype=np.int64)
        if array.size == 0:
            return []
        seed = int(torch.empty((), dtype=torch.int64).random_().item())
        sizes = [plan.static_output_size() for plan in self._plans]
        if None in sizes:
            return [self._alone(int(index), seed, i) for i, index in enumerate(array)]
        views, targets = self._decoder.load(self, sizes, seed, array)
        samples = zip(*(images.unbind(0) for images in views), strict=True)
        return [(self._packed(sample), target) for sample, target in zip(samples, targets.tolist(), strict=True)]

    def _checked(self, index: int) -> int:
        i = operator.index(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"index {i} is out of range for {len(self)} images")
        return i % len(self)

    def _packed(self, views: tuple[torch.Tensor, ...]) -> _Images:
        return views if isinstance(self.transform, Views) else views[0]

    def _alone(self, index: int, seed: int, occurrence: int) -> tuple[_Images, int]:
        """One image whose size depends on the file."""
        path = self._source.paths[index]
        # At full size: what "fast" may leave out is known by the plan only, which gets the whole image here.
        rgb = decode_image(path, apply_exif_orientation=self.decoding.apply_exif_orientation)
        views = tuple(
            _tensor(plan.apply(rgb, seed & 0xFFFFFFFFFFFFFFFF, 0, index, occurrence, view))
            for view, plan in enumerate(self._plans)
        )
        return self._packed(views), int(self._labels[index])

    def __getstate__(self) -> dict[str, Any]:
        return {
            "root": self.root,
            "transform": self.transform,
            "source": self._source,
            "decoding": self.decoding,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.root, self.transform, self._source = state["root"], state["transform"], state["source"]
        self.decoding = state["decoding"]
        self._start()


class _BatchDecoder:
    """A pipeline of one open batch, made in the process that first needs it; its calls take turns."""

    def __init__(self) -> None:
        self._enter_process()

    def _enter_process(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._pipeline: Pipeline | None = None

    def load(
        self,
        dataset: ImageFolder,
        sizes: list[tuple[int, int] | None],
        seed: int,
        indices: np.ndarray[Any, np.dtype[np.int64]],
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """The images of each view, and the targets."""
        if self._pid != os.getpid():
            self._enter_process()  # a forked worker has neither the threads nor, perhaps, a lock that is free
        with self._lock:
            if self._pipeline is None or self._pipeline.batch_size < len(indices):
                if self._pipeline is not None:
                    self._pipeline.close()
                self._pipeline = Pipeline(
                    paths=dataset._source.paths,
                    views=list(zip(dataset._plans, sizes, strict=True)),
                    targets=dataset._targets,
                    batch_size=len(indices),
                    prefetch=1,
                    decode_threads=_threads(),
                    read_threads=8,
                    return_index=False,
                    on_error="raise",
                    **dataset.decoding.config(),
                )
            self._pipeline.start_epoch(seed, 0)
            self._pipeline.open(indices)
            capsules = self._pipeline.next(0)
        assert capsules is not None
        *views, targets = (torch.utils.dlpack.from_dlpack(capsule) for capsule in capsules)
        return views, targets


def _tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """A native array; bfloat16 comes as its bits."""
    if array.dtype == np.uint16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _threads() -> int:
    """The CPUs that this process may use; its share of them in a worker process of a torch DataLoader."""
    info = get_worker_info()
    return max(1, _core.granted_cpus() // (info.num_workers if info is not None else 1))
