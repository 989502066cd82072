"""A dataset of files as the core loads it."""

from __future__ import annotations

import importlib
import operator
import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import Dataset

from pyfastdl import _core, _samples
from pyfastdl.batch_decoder import BatchDecoder
from pyfastdl.errors import SampleError
from pyfastdl.folder import ImageFolder
from pyfastdl.lowering.datasets import Files, NotLowered, files_of
from pyfastdl.transforms.compose import Views, views_of
from pyfastdl.workers.context import context

if TYPE_CHECKING:
    import numpy.typing as npt

    from pyfastdl._core import PathTable, Plan

__all__ = ["LoweredDataset"]


class LoweredDataset(Dataset[Any]):
    """Stands in for a dataset of files: the same samples, whose pixels come from the native core.

    A sample that the core can't load is loaded by the user's dataset, which raises what its user knows, or knows
    better.

    The random numbers of its native transforms are those of (seed, epoch, index, occurrence), as a worker's context
    has them; outside of a loader one seed a call is drawn from torch's default generator.

    Args:
        dataset: the user's.
        files: what it is to the core.

    Raises:
        NotLowered: nothing of its work can be done natively.
    """

    def __init__(self, dataset: Any, files: Files) -> None:
        transform = files.transform
        if transform.picture and not any(step.native for step in transform.steps):
            first = next((step for step in transform.steps if step.native is None), None)
            raise NotLowered(
                "it gives PIL images" if first is None else f"{_called(first.transform)} comes first: {first.reason}"
            )
        self.dataset = dataset
        self.files = files
        self.paths: PathTable = dataset._source.paths if type(dataset) is ImageFolder else _path_table(files.samples)
        # A picture's rows are of pixels, not planes, as PIL has them.
        options: dict[str, Any] = {"dtype": "uint8", "channels_last": True} if transform.picture else {}
        self.plans: list[Plan] = [view.plan(**options) for view in views_of(transform.native)]
        self._rest = transform.rest
        self._decoder = BatchDecoder(self.paths, self.plans, files.decoding, transform.picture)

    def __reduce__(self) -> Any:
        # A worker process that is spawned makes its own: the lists that it takes are the dataset's.
        return _remade, (self.dataset,)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: Any) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        """The samples, of which the core loads as many at once as it can."""
        occurrences = getattr(indices, "occurrences", None) or [0] * len(indices)
        if len(indices) == 1 and context.index is indices[0]:
            occurrences = [context.occurrence]
        seed = context.seed
        if seed is None:
            seed = int(torch.empty((), dtype=torch.int64).random_().item())
        known = self.known(indices)
        if known is not None and len(known) and self._decoder.sizes is not None:
            try:
                batches = self._decoder.batch(known, seed, context.epoch, occurrences)
            except SampleError:
                pass  # one by one, to find out which
            else:
                views = zip(*(images.unbind(0) for images in batches), strict=True)
                numbered = zip(indices, known.tolist(), occurrences, views, strict=True)
                return [self._finish(*sample) for sample in numbered]
        return [self._one(index, seed, count) for index, count in zip(indices, occurrences, strict=True)]

    def known(self, indices: Sequence[Any]) -> npt.NDArray[np.int64] | None:
        """The indices as numbers from 0, or None where one isn't such a number: the user's dataset knows what it is."""
        count = len(self)
        try:
            numbers = [operator.index(index) for index in indices]
        except TypeError:
            return None
        if not all(-count <= number < count for number in numbers):
            return None
        return np.array([number % count for number in numbers], dtype=np.int64)

    def _one(self, index: Any, seed: int, occurrence: int) -> Any:
        known = self.known([index])
        if known is not None:
            number = int(known[0])
            try:
                if self._decoder.sizes is not None:
                    images = self._decoder.batch(known, seed, context.epoch, [occurrence])
                    views = tuple(image[0] for image in images)
                else:
                    views = tuple(self._decoder.one(number, seed, context.epoch, occurrence))
            except (SampleError, OSError):
                if _never_ends(self.files.samples[number][0]):
                    raise
            else:
                return self._finish(index, number, occurrence, views)
        context.index, context.occurrence = index, occurrence
        return self.dataset[index]

    def _finish(self, index: Any, number: int, occurrence: int, views: tuple[torch.Tensor, ...]) -> Any:
        """What Python has to do for a sample."""
        context.index, context.occurrence = index, occurrence
        transform = self.files.transform
        path, target = self.files.samples[number]
        image: Any = views if isinstance(transform.native, Views) else views[0]
        if transform.picture:
            image = _picture(image, path)
        elif transform.wrapped:
            image = importlib.import_module("torchvision.tv_tensors").Image(image)
        for step in self._rest:
            image = step(image)
        if self.files.target_transform is not None:
            target = self.files.target_transform(target)
        return image, target

    # -- for whole batches that never see Python

    def batch_targets(self) -> npt.NDArray[Any] | str:
        """All targets as the numbers that default_collate would make of them; or why they aren't such numbers."""
        if type(self.dataset) is ImageFolder:
            return self.dataset._labels
        targets = [target for _, target in self.files.samples]
        if not targets:
            return "it has no samples"
        kinds = set(map(type, targets))
        if len(kinds) == 1 and kinds <= {int, float, bool}:
            try:
                return np.array(targets, dtype={int: np.int64, float: np.float64, bool: np.bool_}[kinds.pop()])
            except OverflowError:
                pass
        return "its targets aren't plain numbers"

    def whole_batches(self) -> str:
        """Why the core alone can't make its batches; "" if it can."""
        if self._rest:
            return f"{_called(self._rest[0])} runs in Python"
        if self.files.target_transform is not None:
            return "its target_transform runs in Python"
        if self.files.transform.picture:
            return "it gives PIL images"
        if self._decoder.sizes is None:
            return "the size of its images depends on the file"
        return ""


def _remade(dataset: Any) -> Any:
    return LoweredDataset(dataset, files_of(dataset))


def _path_table(samples: Any) -> PathTable:
    try:
        return _core.PathTable.from_packed(*_samples.pack_paths([path for path, _ in samples], "dataset.samples"))
    except (TypeError, ValueError) as error:
        raise NotLowered(f"its samples aren't (path, target) pairs: {error}") from error


def _picture(pixels: torch.Tensor, path: str) -> Any:
    """(3, H, W) uint8, whose memory is rows of pixels, as the PIL image that torchvision would have at that place: also
    with the file's metadata, which all of torchvision's operations on pictures pass on."""
    from PIL import Image

    image = Image.fromarray(pixels.permute(1, 2, 0).numpy())
    with Image.open(path) as file:
        # Only a JPEG has all of them before its pixels, and none that its conversion changes.
        image.info = dict(file.info) if file.format == "JPEG" else file.convert("RGB").info
    return image


def _never_ends(path: str) -> bool:
    """Whether opening or reading it may take for ever, as it would in the user's dataset: a FIFO, a device."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _called(transform: Any) -> str:
    name = getattr(transform, "__qualname__", None)
    return name if isinstance(name, str) else type(transform).__qualname__
