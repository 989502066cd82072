"""DataLoader: torch's DataLoader, with other workers behind it."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from torch.utils.data import Dataset, IterableDataset, IterDataPipe, MapDataPipe, Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from pyfastdl import _core
from pyfastdl.errors import FailedSample
from pyfastdl.failure_log import FailureLog
from pyfastdl.locks import ProcessLock
from pyfastdl.lowering import Lowering
from pyfastdl.pipelines import KeptPipelines
from pyfastdl.workers.device import device_of, mover
from pyfastdl.workers.report import Report
from pyfastdl.workers.resume import Progress, between_epochs, counts_to_the_end, next_epoch
from pyfastdl.workers.state_check import checked
from pyfastdl.workers.states import has_state
from pyfastdl.workers.width import Width, fixed_width

if TYPE_CHECKING:
    from pyfastdl.workers.process_iterator import ProcessIterator

__all__ = ["AutoWorkers", "DataLoader"]

T_co = TypeVar("T_co", covariant=True)
WorkerMode = Literal["auto", "native", "thread", "process"]

_MODES = ("auto", "native", "thread", "process")
_ENVIRONMENT = "PYFASTDL_WORKER_MODE"
_NATIVE_AHEAD = 4


class AutoWorkers(int):
    """A number of workers that was chosen for ``num_workers="auto"``: given to another loader, it means "auto" again.

    So a trainer that makes a loader anew from its attributes gets the same kind.
    """


class DataLoader(torch.utils.data.DataLoader[T_co]):
    """``torch.utils.data.DataLoader``: its arguments, attributes, order of samples, errors and batches, faster.

    Processes write their batches into shared memory that is used again and again, instead of sending them; threads need
    no processes at all. All arguments of torch's class mean what they mean there; what follows is more.

    Args:
        num_workers: also ``"auto"``: threads, many while the dataset waits for disks or networks, not more than the
            process has CPUs while it computes (:meth:`explain` says how many there are now; the attribute stays what
            they start with). The dataset's ``__getitem__`` is then called by several threads at a time.
        worker_mode: ``"thread"`` or ``"process"`` for what the workers are. ``"auto"`` loads natively what the core can
            (see below); for all else it is processes, as torch has them, unless the dataset has an attribute
            ``thread_safe`` that is True, or ``num_workers="auto"`` asks for threads. ``"native"`` refuses a dataset
            that the core can't load, and has threads for what is left to Python. None is what the environment variable
            PYFASTDL_WORKER_MODE says (where "native" is "auto": it is meant for all loaders of a program), else
            "auto". Without workers (``num_workers=0``) samples are loaded where the batch is asked for, in each mode.
        device: where the batches' tensors go ("cuda", "cuda:1", a torch.device); None leaves them where they are.
        on_error: what becomes of an exception that a map-style dataset raises for a sample. "raise": it is raised in
            the training loop. "skip": the sample is left out, which makes its batch smaller; an empty batch isn't
            handed out, and ``len(loader)`` is an upper bound. "replace": another one of the dataset takes its place,
            chosen by the sample's own random numbers; :class:`~pyfastdl.SampleError` when up to a hundred of them fail
            too. All are listed in :attr:`errors`. What isn't about a sample is raised as ever: a lack of memory, a
            worker's death, a timeout, exceptions of ``collate_fn``, ``worker_init_fn`` and samplers.

    What is loaded natively: torchvision's ImageFolder and DatasetFolder with their own loader, and
    :class:`pyfastdl.ImageFolder`, also within Subset and ConcatDataset. Of the transform (torchvision's v1 or v2) as
    many as the core does to the bit are done there, from the first on; the rest runs in Python, in workers. Where
    nothing is left to Python, there are no workers, but ``num_workers`` native threads (with 0 and "auto": as many as
    the process has CPUs). Random transforms have torchvision's distribution, but draw other numbers than torch's
    generators give. :meth:`explain` says what is done where, and why.

    With threads, a batch of tensors, arrays and numbers that look alike is written straight into the memory that the
    batch's tensors have; samples are what threads share out (with a ``collate_fn`` of your own, or ``__getitems__``,
    whole batches are). Ask :func:`pyfastdl.get_worker_info` instead of torch's function, which knows one worker a
    process, and :func:`pyfastdl.sample_rng` for random numbers that don't depend on workers. An exception is raised as
    it was, with a note that names sample and worker.

    A dataset (or an iterable's iterator), sampler or batch_sampler that has ``state_dict()`` and ``load_state_dict()``
    is asked for its state, for :meth:`state_dict`: where workers load ahead, after each batch (keep it small), each
    worker for its own. So each thread has a copy of such a dataset (``copy.deepcopy``), and loads whole batches.

    Raises:
        ValueError, TypeError: as torch's class; for a ``worker_mode`` or ``on_error`` other than those above; and for
            an ``on_error`` other than "raise" with an iterable dataset.
        LoaderError: at the end of an epoch, when not one of its samples could be loaded.

    Example:
        >>> from pyfastdl import DataLoader                                             # doctest: +SKIP
        >>> loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers="auto")
        >>> for images, labels in loader:
        ...     train(images, labels)
        >>> print(loader.explain())
    """

    worker_mode: WorkerMode

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int | Literal["auto"] = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_mode: WorkerMode | None = None,
        device: Any = None,
        on_error: Literal["raise", "replace", "skip"] = "raise",
    ) -> None:
        self.worker_mode = _worker_mode(worker_mode)
        self.on_error = _on_error(on_error, dataset)
        self._failures = FailureLog()
        self.device = device_of(device)
        self._auto = isinstance(num_workers, AutoWorkers) or num_workers == "auto"
        if self._auto:
            num_workers = _auto_workers(dataset, self.worker_mode)
        elif isinstance(num_workers, str):
            raise ValueError(f'num_workers must be an int or "auto", got {num_workers!r}')
        self._threads = _wants_threads(dataset, self.worker_mode, num_workers, self._auto)
        self._report = Report()
        self._next_epoch = 0
        self._progress: Progress | None = None  # of the epoch that was started last
        self._resumed: dict[str, Any] | None = None
        self._idle_blocks: list[Any] = []  # at most one ring, of an epoch that is over
        self._pipelines = KeptPipelines()
        self._lowering = Lowering(self.worker_mode)
        self._iterator_pid = 0
        self._lock = ProcessLock()  # of what says which epoch comes next, and where it is
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            **({} if in_order else {"in_order": False}),  # torch up to 2.5 has no such argument
        )
        self.in_order = in_order
        self._auto_width: Width | None = None
        if not hasattr(type(self).__init__, "__wrapped__"):
            # Lightning wraps the constructors that it finds when it calls a hook, and notes their arguments for making
            # a loader anew. A class that is imported in the hook isn't found, and what is noted is torch's part of it.
            # Without notes it goes by attributes, which say everything.
            for notes in ("__pl_saved_args", "__pl_attrs_record"):
                self.__dict__.pop(notes, None)
        if self.worker_mode == "native":
            self._lowering.of(self)  # for what it refuses

    def explain(self) -> str:
        """What the workers are and why, how many there are, and which way the batches went so far."""
        lowered = self._lowering.of(self)
        workers = [] if lowered.whole is not None else [self._explain_workers()]
        return "\n".join([*lowered.lines(self), *workers, *self._report.lines()])

    def __iter__(self) -> Any:
        while True:
            kept: Any = self._iterator
            # Workers that stay get another epoch between two batches of the last one, whichever thread takes those.
            # That lock comes first: who has it may ask a sampler, and that for anything.
            with contextlib.nullcontext() if kept is None else kept.next_turn(), self._lock():
                if self._iterator is kept:
                    return self._start()

    def _start(self) -> Any:
        kept: Any = self._iterator
        if kept is not None and (
            self._iterator_pid != os.getpid()
            or kept.broken()
            or kept.native != (self._lowering.of(self).whole is not None)
        ):
            # The parent's workers aren't this process's; ones that died or hang are of no use; and the dataset may have
            # become another kind meanwhile.
            self._iterator = None
        self._iterator_pid = os.getpid()
        resumed = self._resumed
        if resumed is None and self._progress is not None:
            resumed = self._progress.untouched()
        if resumed is not None:
            self._iterator = None  # workers that stay have another run's seeds
            self._next_epoch = resumed["epoch"]
        self._progress = Progress(self, resumed)
        self._resumed = None
        return super().__iter__()

    @property
    def errors(self) -> list[FailedSample]:
        """The samples that could not be loaded so far, in the order of the batches (at most 10,000 are kept)."""
        return list(self._failures.kept)

    def state_dict(self) -> dict[str, Any]:
        """Where the epoch that was started last is: for a checkpoint, beside the model's.

        A loader of the same dataset and arguments that loads it goes on with the next batch, then with the next epochs,
        as this one would: the order is the same, and so are :func:`pyfastdl.sample_rng` and worker seeds. The number of
        workers, what they are and ``prefetch_factor`` may be others (not the number, for an iterable dataset, or one
        with a state of its own).
        """
        while True:
            with self._lock():
                if self._resumed is not None:
                    return copy.deepcopy(self._resumed)  # loaded, and not gone on from yet
                progress = self._progress
                if progress is None or progress.over:
                    return between_epochs(self, self._next_epoch)
            state = progress.state(self)  # (not within: it may wait for a batch)
            if state is not None:
                return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next ``iter()`` goes on where ``state_dict()`` was called. Batches that were handed out before aren't
        loaded again; an iterable dataset without a state of its own has to be gone through from its start.

        Objects with a state get it back when the epoch starts.

        torch's default generator (or the loader's ``generator``, and the sampler's) gets the state that it had then.

        Raises:
            ValueError: not such a state; or one of a loader with another batch_size, drop_last, kind of sampler or
                length of its dataset, or (where that matters) another number of workers.
        """
        caller = sys._getframe(1).f_globals.get("__name__", "")
        resumed = copy.deepcopy(checked(state, self))
        with self._lock():
            self._resumed = next_epoch(resumed) if counts_to_the_end(caller) else resumed
            self._progress = None

    def __getstate__(self) -> dict[str, Any]:
        # Without the memory and the threads of this process.
        return {
            **self.__dict__,
            "_idle_blocks": [],
            "_progress": None,
            "_lowering": Lowering(self.worker_mode),
        }

    def check_worker_number_rationality(self) -> None:
        """torch's warning of more worker processes than CPUs. Threads may be more: those that wait use none."""
        if not self._threads and self._lowering.of(self).whole is None:
            super().check_worker_number_rationality()

    # -- for the iterators

    def _get_iterator(self) -> _BaseDataLoaderIter:
        lowered = self._lowering.of(self)
        if lowered.whole is not None:
            from pyfastdl.workers.native_iterator import NativeIterator

            return NativeIterator(self, lowered.whole)
        if self.num_workers == 0:
            from pyfastdl.workers.single_iterator import SingleIterator

            return SingleIterator(self)
        if self._threads:
            from pyfastdl.workers.thread_iterator import ThreadIterator

            return ThreadIterator(self)
        self.check_worker_number_rationality()
        return self._process_iterator()

    def _loaded_dataset(self) -> Any:
        """What workers load from: the dataset, or what stands in for it."""
        stand_in = self._lowering.of(self).stand_in
        return self.dataset if stand_in is None else stand_in

    def _decode_threads(self) -> int:
        """How many threads decode where the core makes the batches."""
        return _core.granted_cpus() if self._auto or self.num_workers == 0 else int(self.num_workers)

    def _process_iterator(self) -> ProcessIterator:
        from pyfastdl.workers.process_iterator import ProcessIterator

        return ProcessIterator(self)

    def _start_epoch(self) -> int:
        epoch, self._next_epoch = self._next_epoch, self._next_epoch + 1
        return epoch

    def _width(self) -> Width:
        """How many threads; with "auto" what was learnt in one epoch stays for the next."""
        if not self._auto or self._dataset_kind == _DatasetKind.Iterable or has_state(self.dataset):
            return fixed_width(self.num_workers)
        if self._auto_width is None:
            self._auto_width = Width(_core.granted_cpus())
        return self._auto_width

    def _batches_ahead(self, width: Width | None) -> int:
        """How many batches are worked on at a time: by threads as wide, or natively."""
        if width is None and (self._auto or self.num_workers == 0):
            return self._native_batches()  # torch's number, so many a worker, says nothing
        assert self.prefetch_factor is not None
        if self.prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0")
        if width is None or self._auto_width is None or self.batch_sampler is None:
            return self.prefetch_factor * self.num_workers
        size = getattr(self.batch_sampler, "batch_size", None)
        size = size if isinstance(size, int) and size > 0 else 1
        return self.prefetch_factor * -(-width.now // size)

    def _native_batches(self) -> int:
        """How many batches keep all decode threads busy."""
        size = getattr(self.batch_sampler, "batch_size", None)
        size = size if isinstance(size, int) and size > 0 else 1
        return max(_NATIVE_AHEAD, -(-2 * self._decode_threads() // size))

    def _mover(self) -> Callable[[Any], Any] | None:
        return mover(self.device)

    def _explain_workers(self) -> str:
        if self.num_workers == 0:
            return "no workers: samples are loaded where the batch is asked for (num_workers=0)"
        if not self._threads:
            return f"{int(self.num_workers)} processes, as torch's DataLoader has (worker_mode={self.worker_mode!r})"
        why = f"worker_mode={self.worker_mode!r}"
        if self._auto:
            why = 'num_workers="auto"'
        elif self.worker_mode == "auto":
            why = "the dataset says thread_safe = True"
        if self._auto_width is not None:
            return f"{self._auto_width.now} threads ({why}); {self._auto_width.reason}"
        return f"{int(self.num_workers)} threads ({why})"


def _on_error(policy: Any, dataset: Any) -> Literal["raise", "replace", "skip"]:
    if policy not in ("raise", "replace", "skip"):
        raise ValueError(f'on_error must be one of "raise", "replace", "skip", got {policy!r}')
    if policy != "raise" and isinstance(dataset, IterableDataset):
        raise ValueError(
            f"on_error={policy!r} needs a map-style dataset: an iterable that raised is over, and what came after the "
            "sample can't be had; catch the exception within its __iter__, and go on there"
        )
    return policy  # type: ignore[no-any-return]


def _worker_mode(mode: Any) -> WorkerMode:
    origin = "worker_mode"
    if mode is None:
        mode, origin = os.environ.get(_ENVIRONMENT) or "auto", f"the environment variable {_ENVIRONMENT}"
        if mode == "native":
            return "auto"
    if mode not in _MODES:
        raise ValueError(f"{origin} must be one of {', '.join(map(repr, _MODES))}, got {mode!r}")
    return mode  # type: ignore[no-any-return]


def _auto_workers(dataset: Any, mode: WorkerMode) -> AutoWorkers:
    if isinstance(dataset, IterableDataset):
        return AutoWorkers(1)  # more would each go through all of it, unless it says which part is whose
    if mode == "process" or has_state(dataset):
        return AutoWorkers(_core.granted_cpus())
    return AutoWorkers(Width(_core.granted_cpus()).now)


def _wants_threads(dataset: Any, mode: WorkerMode, num_workers: int, auto: bool) -> bool:
    if num_workers == 0 or mode == "process":
        return False
    wanted = mode in ("thread", "native") or auto or _is_thread_safe(dataset)
    if wanted and isinstance(dataset, (IterDataPipe, MapDataPipe)):
        raise ValueError(
            "a DataPipe can't run in threads, since sharding changes it for one worker at a time: "
            'use worker_mode="process", with a number of workers'
        )
    return wanted


def _is_thread_safe(dataset: Any) -> bool:
    while isinstance(dataset, torch.utils.data.Subset):
        dataset = dataset.dataset
    if isinstance(dataset, torch.utils.data.ConcatDataset):
        return all(map(_is_thread_safe, dataset.datasets))
    return getattr(dataset, "thread_safe", False) is True
