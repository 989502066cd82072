"""ImageFolder: a map-style dataset whose images are decoded natively, under any loader."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import torch
from torch.utils.data import Dataset

from pyfastdl._arguments import refuse_others
from pyfastdl.batch_decoder import BatchDecoder
from pyfastdl.calling import CallFailed, run_callables, sample_context
from pyfastdl.decoding import DecodeOptions
from pyfastdl.order import repeats_within
from pyfastdl.sources import open_source
from pyfastdl.transforms.compose import Views, as_transform, views_of
from pyfastdl.workers.context import context

__all__ = ["ImageFolder"]


# An image; a tuple of them where the transform has views. Callables make anything of it.
_Images = Any


class ImageFolder(Dataset[tuple[Any, Any]]):
    """A folder of class folders as a map-style dataset, for ``torch.utils.data.DataLoader`` and all that build one.

    ``dataset[i]`` is ``(image, class index)``. ``dataset.__getitems__(indices)``, which torch's loaders call where it
    exists, decodes a whole batch on native threads.

    Random transforms draw one seed a call from torch's default generator, so that torch's own seeding (also that of
    worker processes) fixes them; under :class:`pyfastdl.DataLoader` with workers they follow its seed and epoch.

    A file that can't be loaded raises :class:`~pyfastdl.SampleError`, also out of a worker process. Under torch's
    loader use ``num_workers=0`` or few: one process decodes on all CPUs that it may use.

    Args:
        root: the folder; see :class:`~pyfastdl.NativeLoader` for what is ignored in it.
        transform: a list of :mod:`pyfastdl.transforms`; None gives the whole image. Functions of your own at its end
            get the image's tensor, and run in the thread that asks for the sample, which finds the sample's own
            generators in :func:`pyfastdl.sample_rng`. A list of lists (or
            :class:`~pyfastdl.transforms.Views`) gives a tuple of images a sample, one a view.
        apply_exif_orientation, decode: as :class:`~pyfastdl.NativeLoader` has them.

    Attributes:
        classes: names of the classes, sorted.
        class_to_idx: class name to index.
        samples: ``(path, class index)`` per image, made when asked for.
        targets: class index per image.

    Raises:
        FileNotFoundError: no such folder, or a folder without classes or images.
        ValueError, TypeError: wrong arguments.

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
        **others: NoReturn,
    ) -> None:
        refuse_others("ImageFolder", others)
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
        self._labels = np.asarray(self._source.target_array)
        views = views_of(self.transform)
        self._callables = [view.callables for view in views]
        self._decoder = BatchDecoder(self._source.paths, [view.plan() for view in views], self.decoding)

    def __len__(self) -> int:
        return len(self._source.paths)

    def __repr__(self) -> str:
        return f"ImageFolder({str(self.root)!r}, {len(self)} images, {len(self.classes or ())} classes)"

    def __getitem__(self, index: int) -> tuple[_Images, int]:
        """``(image, class index)``: float32 (3, H, W), from 0 to 1 unless normalised; of another dtype where the
        transform says so (PILToTensor, ToDtype), or what its last function returned. With views the image is a tuple,
        one a view."""
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[_Images, int]]:
        """A batch at once, decoded on native threads."""
        array = np.array([self._checked(index) for index in indices], dtype=np.int64)
        if array.size == 0:
            return []
        seed, epoch = context.seed, context.epoch  # of a pyfastdl.DataLoader whose worker this is
        if seed is None:
            seed, epoch = int(torch.empty((), dtype=torch.int64).random_().item()), 0
        occurrences = repeats_within(array).tolist()
        if len(array) == 1 and context.seed is not None and context.index == array[0]:
            occurrences = [context.occurrence]
        if self._decoder.sizes is None:
            numbered = zip(array.tolist(), occurrences, strict=True)
            samples = [self._decoder.one(index, seed, epoch, occurrence) for index, occurrence in numbered]
        else:
            batches = self._decoder.batch(array, seed, epoch, occurrences)
            samples = list(map(list, zip(*(images.unbind(0) for images in batches), strict=True)))
        targets = self._labels[array].tolist()
        return [
            (self._finished(images, (seed, epoch, index, occurrence)), target)
            for images, index, occurrence, target in zip(samples, array.tolist(), occurrences, targets, strict=True)
        ]

    def _checked(self, index: int) -> int:
        i = operator.index(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"index {i} is out of range for {len(self)} images")
        return i % len(self)

    def _finished(self, images: list[torch.Tensor], key: tuple[int, int, int, int]) -> _Images:
        """The images of the views after their callables, which may have random numbers by that key: (seed, epoch,
        index, occurrence)."""
        failure = None
        done: list[Any] = images
        if any(self._callables):
            with sample_context(*key):
                try:
                    done = [run_callables(image, calls) for image, calls in zip(images, self._callables, strict=True)]
                except CallFailed as error:
                    failure = error
        if failure is not None:
            raise failure.noted(f"sample {key[2]} ({self._source.paths[key[2]]})")
        return tuple(done) if isinstance(self.transform, Views) else done[0]

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
