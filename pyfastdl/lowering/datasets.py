"""Which datasets are lists of files to pyfastdl: torchvision's folders and our own, also within torch's wrappers.

Nothing is scanned here: a dataset's own list says what its samples are.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from typing import Any

from torch.utils.data import ConcatDataset, Subset

from pyfastdl.decoding import DecodeOptions
from pyfastdl.folder import ImageFolder
from pyfastdl.lowering.transforms import LoweredTransform, Step, lower_transform
from pyfastdl.transforms.compose import views_of

__all__ = ["Files", "NotLowered", "files_of"]


class NotLowered(Exception):
    """Why a dataset isn't lowered, in words."""


@dataclasses.dataclass(frozen=True)
class Files:
    """A dataset as a list of files.

    Attributes:
        samples: ``(path, target)`` per sample of the dataset, in its order; as they were when it was looked at.
        transform: what all of them go through.
        target_transform: a callable of the user's for targets, or None.
        decoding: how they are decoded.
        kind: of the folders, for words.
    """

    samples: Any
    transform: LoweredTransform
    target_transform: Any
    decoding: DecodeOptions
    kind: str

    def same_as(self, other: Files) -> bool:
        """Whether both load the same samples the same way. Quick where the lists hold the same objects."""
        return (
            self.transform.same_as(other.transform)
            and self.target_transform is other.target_transform
            and self.decoding == other.decoding
            and _same_list(self.samples, other.samples)
        )


def files_of(dataset: Any) -> Files:
    """
    Raises:
        NotLowered: the dataset is something else, or more, than a list of files.
    """
    leaves: list[Files] = []
    samples = _samples(dataset, leaves)
    first = leaves[0]
    for other in leaves[1:]:
        if not (
            first.transform.same_as(other.transform)
            and first.target_transform is other.target_transform
            and first.decoding == other.decoding
        ):
            raise NotLowered("the datasets of its ConcatDataset have different transforms")
    return dataclasses.replace(first, samples=samples)


def _samples(dataset: Any, leaves: list[Files]) -> Any:
    """The samples of a dataset in its order; each folder that they come from is added to ``leaves``."""
    if type(dataset) is Subset:
        inner = _samples(dataset.dataset, leaves)
        indices = dataset.indices
        try:
            if not isinstance(indices, (list, tuple, range)):  # a tensor, say; whatever it is, the Subset asks it so
                indices = [indices[place] for place in range(len(indices))]
            return [inner[operator.index(index)] for index in indices]
        except (TypeError, IndexError, KeyError) as error:
            raise NotLowered(f"its Subset has indices that aren't the dataset's: {error}") from error
    if type(dataset) is ConcatDataset:
        return [sample for part in dataset.datasets for sample in _samples(part, leaves)]
    leaf = _leaf(dataset)
    leaves.append(leaf)
    return leaf.samples


def _leaf(dataset: Any) -> Files:
    if type(dataset) is ImageFolder:
        views = views_of(dataset.transform)
        if any(view.callables for view in views):
            raise NotLowered("its transform ends with Python functions, which the dataset itself runs")
        steps = tuple(Step(one, (one,)) for view in views for one in view.native)
        transform = LoweredTransform(steps, dataset.transform, picture=False)
        return Files(dataset.samples, transform, None, dataset.decoding, "pyfastdl.ImageFolder")
    folder = sys.modules.get("torchvision.datasets.folder")
    if folder is None or not isinstance(dataset, folder.DatasetFolder):
        raise NotLowered(f"pyfastdl doesn't know what a {type(dataset).__qualname__} does")
    for method in ("__getitem__", "__len__", "__getitems__", "__getattribute__"):
        own, known = getattr(type(dataset), method, None), getattr(folder.DatasetFolder, method, None)
        if own is not known or method in vars(dataset):
            raise NotLowered(f"{type(dataset).__qualname__} has a {method} of its own")
    if dataset.loader is folder.default_loader:
        backend = sys.modules["torchvision"].get_image_backend()
        if backend != "PIL":
            raise NotLowered(f"torchvision's image backend is {backend!r}, not PIL")
    elif dataset.loader is not folder.pil_loader:
        raise NotLowered("it has a loader of its own")
    transform = lower_transform(dataset.transform)
    kind = f"torchvision's {type(dataset).__qualname__}"
    return Files(_frozen(dataset.samples), transform, dataset.target_transform, DecodeOptions(), kind)


def _frozen(samples: Any) -> list[tuple[Any, Any]]:
    """The pairs as they are now, in a list that its user doesn't change in place."""
    try:
        if type(samples) is list and set(map(type, samples)) <= {tuple}:
            return list(samples)
        return [(path, target) for path, target in samples]
    except (TypeError, ValueError) as error:
        raise NotLowered(f"its samples aren't (path, target) pairs: {error}") from error


def _same_list(one: Any, other: Any) -> bool:
    if not isinstance(one, list) or not isinstance(other, list):
        return one is other
    if len(one) == len(other) and all(map(operator.is_, one, other)):
        return True  # the very same objects, most of the time
    # Others may be equal and of another type (1, 1.0, True).
    return one == other and all(type(mine[1]) is type(theirs[1]) for mine, theirs in zip(one, other, strict=True))
