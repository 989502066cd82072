"""The exceptions of samples: raised in the training loop as they were, with the worker and the sample added."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Any, NoReturn

from torch.utils.data import ConcatDataset, Subset

from pyfastdl.errors import add_note
from pyfastdl.lowering.lowered import LoweredDataset

if TYPE_CHECKING:
    from pyfastdl.workers.threads import Job

__all__ = ["add_note", "described", "path_of", "reraise", "sample_words"]


def reraise(job: Job, dataset: Any) -> NoReturn:
    """Raises a job's error: the object itself, with a note."""
    error, job.error = job.error, None
    assert error is not None
    doing = "collating" if job.error_place == job.count else "loading"
    where = (
        f"in worker thread {job.error_worker} of pyfastdl.DataLoader, "
        f"while {doing} {sample_words(job.error_index, dataset)}"
    )
    try:
        if isinstance(error, StopIteration):
            # It would end the training loop's epoch early, without a word.
            raise RuntimeError(f"StopIteration was raised {where}") from error
        if not isinstance(error, Exception):
            raise RuntimeError(f"{type(error).__name__} was raised {where}: {error}") from error
        add_note(error, f"Raised {where}.")
        raise error
    finally:
        del error  # the traceback holds this frame


def described(job: Job, dataset: Any) -> str:
    """Which samples of an unfinished job are in whose hands, for a timeout's message."""
    loading = sorted(job.loading.items())
    if not loading:
        return ""
    return "; still being loaded: " + ", ".join(
        f"{sample_words(index, dataset)} by worker thread {worker}" for worker, index in loading[:3]
    )


def sample_words(index: Any, dataset: Any) -> str:
    if index is None or (isinstance(index, list) and all(one is None for one in index)):
        return "the next samples"  # an iterable's
    if isinstance(index, list):
        shown = ", ".join(map(repr, index[:8])) + (", …" if len(index) > 8 else "")
        return f"samples [{shown}]"
    path = path_of(dataset, index)
    return f"sample {index!r}" + (f" ({path})" if path else "")


def path_of(dataset: Any, index: Any) -> str:
    """The file of a sample, where the dataset lists it as torchvision's folders do; otherwise ''."""
    try:
        if isinstance(dataset, LoweredDataset):
            dataset = dataset.dataset
        while isinstance(dataset, (Subset, ConcatDataset)):
            if isinstance(dataset, Subset):
                dataset, index = dataset.dataset, dataset.indices[index]
            else:
                index = range(len(dataset))[index]
                part = bisect.bisect_right(dataset.cumulative_sizes, index)
                index -= dataset.cumulative_sizes[part - 1] if part else 0
                dataset = dataset.datasets[part]
        entry = dataset.samples[index]
        path = entry[0] if isinstance(entry, tuple) else entry
        return path if isinstance(path, str) else ""
    except Exception:
        return ""
