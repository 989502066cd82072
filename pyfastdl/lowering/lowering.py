"""Lowering: what a DataLoader loads natively, as its dataset is now."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pyfastdl.lowering.datasets import Files, NotLowered, files_of
from pyfastdl.lowering.lowered import LoweredDataset
from pyfastdl.workers.collating import is_default, learns_schemas

if TYPE_CHECKING:
    import numpy.typing as npt

    from pyfastdl.dataloader import DataLoader

__all__ = ["Lowered", "Lowering"]


@dataclasses.dataclass(frozen=True)
class Lowered:
    """
    Attributes:
        stand_in: what workers load from in place of the user's dataset; None: from that one.
        targets: of all samples, where the core can make whole batches; None where it can't.
        reason: why nothing is lowered, or why batches are put together in workers.
    """

    stand_in: LoweredDataset | None
    targets: npt.NDArray[Any] | None = None
    reason: str = ""

    @property
    def whole(self) -> tuple[LoweredDataset, npt.NDArray[Any]] | None:
        """What the core makes whole batches of, without workers."""
        return None if self.stand_in is None or self.targets is None else (self.stand_in, self.targets)

    def lines(self, loader: DataLoader[Any]) -> list[str]:
        """For explain()."""
        if self.stand_in is None:
            return [f"not loaded natively: {self.reason}"] if self.reason else []
        files = self.stand_in.files
        lines = [f"{files.kind} of {len(self.stand_in):,} files, read and decoded natively"]
        steps = files.transform.steps
        lines += [f"  {_short(step.transform)}: native" for step in steps if step.native is not None]
        # All behind the first one are left to Python for the same reason: it is said once.
        left = itertools.groupby((step for step in steps if step.native is None), lambda step: step.reason)
        for reason, same in left:
            lines.append(f"  {', '.join(_short(step.transform) for step in same)}: Python: {reason}")
        if files.target_transform is not None:
            lines.append(f"  {_short(files.target_transform)}, of targets: Python")
        if any(_is_random(one) for step in files.transform.steps for one in step.native or ()):
            lines.append(
                "native random transforms have torchvision's distribution, but numbers of their own: a function of the "
                "epoch's seed, the epoch and the sample, whatever the number of threads"
            )
        if self.targets is None:
            lines.append(f"batches are put together by workers: {self.reason}")
        else:
            lines.append(
                f"whole batches by {loader._decode_threads()} native threads, without workers"
                + (" (worker_init_fn isn't called)" if loader.worker_init_fn is not None else "")
            )
        return lines


class Lowering:
    """Looks at a loader's dataset each time it is asked, since transforms and lists may be changed between epochs;
    what hasn't changed is lowered once.

    Args:
        mode: the loader's ``worker_mode``.
    """

    def __init__(self, mode: str) -> None:
        self._mode = mode
        # What was lowered, what of, and its targets: one value, since threads may ask at the same time.
        self._known: tuple[Files, LoweredDataset, npt.NDArray[Any] | str] | None = None

    def of(self, loader: DataLoader[Any]) -> Lowered:
        """
        Raises:
            ValueError: ``worker_mode="native"``, and nothing of the dataset is native.
        """
        if self._mode not in ("auto", "native"):
            return Lowered(None)
        try:
            stand_in, targets = self._lower(loader.dataset)
        except NotLowered as error:
            if self._mode == "native":
                raise ValueError(
                    f'worker_mode is "native", but this dataset can\'t be loaded natively: {error}; use "auto", '
                    '"thread" or "process"'
                ) from None
            return Lowered(None, None, str(error))
        reason = stand_in.whole_batches() or _collation(loader) or (targets if isinstance(targets, str) else "")
        return Lowered(stand_in, None if reason else np.asarray(targets), reason)

    def _lower(self, dataset: Any) -> tuple[LoweredDataset, npt.NDArray[Any] | str]:
        files = files_of(dataset)
        known = self._known
        if known is None or not known[0].same_as(files):
            stand_in = LoweredDataset(dataset, files)
            self._known = known = files, stand_in, stand_in.batch_targets()
            _warn_of_odd_files(dataset, files)
        return known[1:]


def _collation(loader: DataLoader[Any]) -> str:
    if loader.batch_sampler is None:
        return "batch_size=None asks for single samples"
    if not is_default(loader.collate_fn):
        return "the collate_fn runs in Python"
    return "" if learns_schemas() else "default_collate was changed"


def _is_random(transform: Any) -> bool:
    return type(transform).__name__.startswith(("Random", "Rand", "Trivial", "ColorJitter"))


def _short(transform: Any) -> str:
    words = re.sub(r"\s+", " ", repr(transform))
    return words if len(words) <= 120 else f"{type(transform).__qualname__}(…)"


# What torchvision lists too, and nobody means: see NativeLoader, which leaves them out.
_ODD = re.compile(r"/(\.[^/]+|__MACOSX)(/|$)")


def _warn_of_odd_files(dataset: Any, files: Files) -> None:
    root = os.fspath(getattr(dataset, "root", ""))
    odd = [path for path, _ in files.samples if "/." in path or "/__MACOSX" in path] if root else []
    odd = [path for path in odd if _ODD.search(path.removeprefix(root))]
    if odd:
        warnings.warn(
            f"{len(odd)} of the dataset's files lie in hidden folders or have hidden names, as {odd[0]!r}: "
            "torchvision lists such files too; delete them if they aren't meant",
            stacklevel=7,  # who made the loader
        )
