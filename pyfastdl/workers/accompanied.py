"""What a worker process sends with a batch that has more to it: samples that failed, and its dataset's state."""

from __future__ import annotations

import dataclasses
import pickle
from multiprocessing import reduction
from typing import Any

from torch._utils import ExceptionWrapper
from torch.utils.data._utils import pin_memory as torch_pinning
from torch.utils.data._utils.worker import _IterableDatasetStopIteration

from pyfastdl.errors import Failure
from pyfastdl.workers.states import WorkerDataset

__all__ = ["Accompanied", "Ended", "accompanied", "sendable"]


class Accompanied:
    """A batch (or an exception, or NOTHING), with failures and a state. Both are bytes: no object in them is to take a
    descriptor on its way.

    Args:
        error: of asking for the state. The batch comes along all the same, since its block would be lost otherwise.
    """

    def __init__(self, data: Any, failures: bytes, state: bytes | None, error: Any) -> None:
        self._data = data
        self._failures = failures
        self.state = state
        self._error = error

    def failures(self) -> list[Failure]:
        return pickle.loads(self._failures)  # type: ignore[no-any-return]

    def take(self) -> Any:
        """What torch's loop would have sent."""
        return self._data if self._error is None else self._error

    def pin_memory(self, device: Any = None) -> Accompanied:
        """torch's thread for page-locking asks for this."""
        if not isinstance(self._data, ExceptionWrapper):
            self._data = torch_pinning.pin_memory(self._data, device)  # type: ignore[no-untyped-call]
        return self


@dataclasses.dataclass(frozen=True)
class Ended(_IterableDatasetStopIteration):
    """An iterable's end, for torch; and the state that its dataset is left in."""

    state: bytes | None = None


def accompanied(data: Any, dataset: WorkerDataset, where: str) -> Any:
    """In the worker: a result of torch's loop with what belongs to it. Most have nothing, and go as they are."""
    failures = dataset.take_failures()
    state = error = None
    try:
        state = dataset.state()
    except Exception:
        error = sendable(ExceptionWrapper(where=where))  # type: ignore[no-untyped-call]
    if isinstance(data, _IterableDatasetStopIteration):
        # (A failure here has no batch to be raised at; the state after the last batch stays.)
        return data if state is None else Ended(data.worker_id, state)
    if not failures and state is None and error is None:
        return data
    return Accompanied(data, pickle.dumps(failures), state, error)


def sendable(failure: ExceptionWrapper) -> ExceptionWrapper:
    """One that survives the way: sent as it is, it would be lost, and the training loop would wait for ever."""
    try:
        reduction.ForkingPickler.dumps(failure.exc_type)
    except Exception:
        # A class that the parent can't be told about; its name is in the traceback that goes along.
        failure.exc_type = RuntimeError
    return failure
