"""The iterator of a DataLoader whose workers are processes: torch's own, with a ring in place of pickled tensors."""

from __future__ import annotations

import contextlib
import multiprocessing.process
import os
import signal
from typing import TYPE_CHECKING, Any

import torch
from torch._C import _error_if_any_worker_fails, _remove_worker_pids, _set_worker_pids
from torch.utils.data.dataloader import _DatasetKind, _MultiProcessingDataLoaderIter

from pyfastdl.errors import LoaderError
from pyfastdl.locks import Living
from pyfastdl.workers import process_main
from pyfastdl.workers.accompanied import Accompanied, Ended
from pyfastdl.workers.context import Batch, Occurrences
from pyfastdl.workers.failures import sample_words
from pyfastdl.workers.interrupts import deferred
from pyfastdl.workers.packing import PackingCollate
from pyfastdl.workers.resume import Resumable
from pyfastdl.workers.shared_blocks import Received, RingRequest, SharedBlocks
from pyfastdl.workers.tolerance import NOTHING, tracks_samples
from pyfastdl.workers.view import LoaderView

if TYPE_CHECKING:
    from pyfastdl.dataloader import DataLoader

__all__ = ["ProcessIterator"]


class ProcessIterator(Resumable, _MultiProcessingDataLoaderIter):
    """Everything but the transport of batches is torch's: starting workers, seeds, order, resets, time limits."""

    _pid = 0  # until there's something to end: a constructor may be interrupted before its first line
    _notes = -1

    def __init__(self, loader: DataLoader[Any]) -> None:
        with deferred():
            self._prepare(loader)
            # Blocked too, so that a worker isn't interrupted before it has got to its own code.
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                super().__init__(_View(loader, self, blocked))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _prepare(self, loader: DataLoader[Any]) -> None:
        self._broken = False
        self._move = loader._mover()
        self._follow(loader)
        self._report = loader._report
        self._on_error = loader.on_error
        self._sent: dict[int, Any] = {}  # task: index, of those that aren't back
        self._asked: Any = None
        self._workers: list[Any] = []
        self._shutdown = True  # nothing to end, until torch's constructor says otherwise
        self._gave_back = True  # no ring to give back, until there's one
        self._idle: list[Any] = loader._idle_blocks
        if loader.prefetch_factor is not None and loader.prefetch_factor > 0:
            self._notes = os.memfd_create("pyfastdl-notes", os.MFD_CLOEXEC)
            ahead = loader.prefetch_factor * loader.num_workers
            self._blocks = _taken(self._idle, ahead) or SharedBlocks(ahead, loader._report)
            self._gave_back = False
        self._pid = os.getpid()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        if first_iter:
            self._watch(False)
        else:
            self._follow(loader)
        self._occurrences = Occurrences(self._index_sampler)
        self._sent.clear()
        super()._reset(loader, first_iter)

    # -- out: indices

    def _tracking(self) -> int:
        if self._dataset_kind != _DatasetKind.Map:
            return 0
        if not self._auto_collation:
            return 2
        return int(self._on_error != "raise" or tracks_samples(self._dataset))

    def _next_index(self) -> Any:
        index = super()._next_index()
        self._asked = index
        tracking = self._tracking()
        if tracking == 2:
            return index, (self._occurrences.of([index]) or [0])[0]
        if tracking == 1 and type(index) in (list, tuple):
            occurrences = self._occurrences.of(index)
            if occurrences is not None:
                return Batch(index, occurrences)
        return index

    def _try_put_index(self) -> None:
        before = self._send_idx
        if before == 0:
            self._worker_queue_idx_cycle = self._progress.turns(self._num_workers)
        super()._try_put_index()
        if self._send_idx > before:
            self._sent[before] = self._asked
        self._asked = None

    # -- in: batches

    def _next_data(self) -> Any:
        if self._pid != os.getpid():
            raise LoaderError(
                f"this loader's iterator was made in process {self._pid} and is used in its forked child "
                f"{os.getpid()}, whose workers don't listen to it: call iter(loader) in the child"
            )
        data: Any = NOTHING
        while data is NOTHING:
            data = super()._next_data()  # type: ignore[no-untyped-call]
        if isinstance(data, Received):
            data = data.unpack()
        else:
            self._report.count("sent")
        return data if self._move is None else self._move(data)

    def _get_data(self) -> Any:
        while True:
            try:
                task, data = super()._get_data()  # type: ignore[no-untyped-call]
            except RuntimeError as error:
                self._broken = True
                if "timed out" in str(error):
                    raise RuntimeError(f"{error}{self._still_loading()}") from None
                raise
            if isinstance(data, RingRequest):
                self._blocks.make(data.block_bytes)
                continue
            if isinstance(data, Ended) and data.state is not None:
                self._progress.ends[data.worker_id] = data.state
            return task, data

    def _watch(self, watched: bool) -> None:
        """Whether torch's handler of SIGCHLD, and its check, raise when one of these workers died.

        They are to do so only while a batch is waited for: the handler would raise wherever the program is, in a
        training step or behind the lines that say what the worker was at.
        """
        if self._worker_pids_set:
            with contextlib.suppress(ValueError):  # an interrupt came before they were
                _remove_worker_pids(id(self))
            self._worker_pids_set = False
        if watched:
            self._worker_pids_set = True
            _set_worker_pids(id(self), tuple(worker.pid for worker in self._workers))

    def _try_get_data(self, timeout: float = 5.0) -> Any:
        try:
            self._watch(True)
            try:
                _error_if_any_worker_fails()
                return super()._try_get_data(timeout)  # type: ignore[no-untyped-call]
            finally:
                self._watch(False)
        except RuntimeError as error:
            self._broken = True
            lost = [worker for worker in self._workers if worker.exitcode not in (None, 0)]
            if not lost:
                raise
            self._blocks.reap()
            words = ". ".join(self._how_it_ended(worker) for worker in lost)
            raise RuntimeError(f"{error}. {words}") from error

    def _process_data(self, data: Any, worker_idx: int) -> Any:
        for task in [task for task in self._sent if task not in self._task_info]:
            del self._sent[task]
        if isinstance(data, Accompanied):
            self._through(data.failures(), worker_idx, data.state)
            data = data.take()
        else:
            self._through([])
        return super()._process_data(data, worker_idx)  # type: ignore[no-untyped-call]

    # -- the end

    def broken(self) -> bool:
        """Whether a worker died or hangs, so that the next epoch needs others."""
        return self._broken

    def _shutdown_workers(self) -> None:
        if self._pid != os.getpid():
            return  # a forked child's copy: these workers are its parent's
        if self._broken and not self._shutdown:
            for worker in self._workers:
                if worker.is_alive():
                    worker.terminate()  # one that hangs would be waited for
        with deferred(again=True):
            self._watch(False)
            super()._shutdown_workers()
        if self._shutdown:
            _queues.pop(id(self), None)
        if self._gave_back or not self._shutdown:
            return
        self._gave_back = True
        if all(worker.exitcode is not None for worker in self._workers):
            self._idle[:] = [self._blocks]  # for the next epoch: its memory is there

    def __del__(self) -> None:
        super().__del__()
        if self._notes >= 0:
            os.close(self._notes)

    def _task_of(self, worker: int) -> str:
        task = int.from_bytes(os.pread(self._notes, 8, 8 * worker), "little") - 1
        if task not in self._sent:
            return "between two batches"
        return f"while loading {sample_words(self._sent[task], self._dataset)}"

    def _how_it_ended(self, worker: Any) -> str:
        place = self._workers.index(worker)
        code = worker.exitcode
        how = f"exited with code {code}"
        if code < 0:
            try:
                how = f"was killed by {signal.Signals(-code).name}"
            except ValueError:
                how = f"was killed by signal {-code}"
            if -code == signal.SIGKILL:
                how += " (often a lack of memory)"
        return f"Worker {place} (pid {worker.pid}) {how} {self._task_of(place)}"

    def _still_loading(self) -> str:
        workers = enumerate(self._workers)
        return "; " + "; ".join(f"worker {place} (pid {one.pid}) {self._task_of(place)}" for place, one in workers)


def _taken(idle: list[Any], ahead: int) -> SharedBlocks | None:
    """The ring of an epoch that is over, if it is one for this epoch. (A list's pop is atomic.)"""
    blocks = idle.pop() if idle else None
    if not isinstance(blocks, SharedBlocks) or not blocks.fits(ahead):
        return None
    blocks.restart()
    return blocks


class _View(LoaderView):
    """With our collate_fn, and a context that starts our workers."""

    def __init__(self, loader: DataLoader[Any], iterator: ProcessIterator, blocked: set[Any]) -> None:
        super().__init__(loader)
        context = loader.multiprocessing_context or torch.multiprocessing
        self.multiprocessing_context = _Context(context, iterator, blocked)
        self.collate_fn = loader.collate_fn
        if hasattr(iterator, "_blocks"):
            size = getattr(loader.batch_sampler, "batch_size", None)
            self.collate_fn = PackingCollate(
                loader.collate_fn,
                batched=loader._auto_collation,
                fd=iterator._blocks.fd,
                notes=iterator._notes,
                ring=iterator._blocks.name,
                capacity=size if isinstance(size, int) else None,
            )


class _Context:
    def __init__(self, context: Any, iterator: ProcessIterator, blocked: set[Any]) -> None:
        self._context = context
        self._iterator = iterator
        self._blocked = tuple(int(number) for number in blocked)
        self._latest_queue: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def Queue(self) -> Any:
        self._latest_queue = self._context.Queue()
        _queues.setdefault(id(self._iterator), []).append(self._latest_queue)
        return self._latest_queue

    def Process(self, target: Any, args: tuple[Any, ...]) -> Any:
        iterator = self._iterator

        def place(wanted: Any) -> int:
            return next(place for place, value in enumerate(args) if value is wanted)

        setup = process_main.Setup(
            worker=len(iterator._workers),
            index_queue=place(self._latest_queue),
            result_queue=place(iterator._worker_result_queue),
            done_event=place(iterator._workers_done_event),
            collate_fn=place(iterator._collate_fn),
            init_fn=place(iterator._worker_init_fn),
            seed=int(iterator._base_seed),
            epoch=iterator._progress.epoch,
            tracks=iterator._tracking(),
            signals=self._blocked,
            parent=iterator._pid,
            on_error=iterator._on_error,
            start=iterator._progress.place.workers.get(len(iterator._workers)),
        )
        process = self._context.Process(target=process_main.run, args=(setup, target, args))
        _processes.add(process)
        return process


# By iterator, until its workers were told to end: the collector, which calls destructors in any order, would close
# pipes whose numbers are others' files by the time that something is sent there.
_queues: dict[int, list[Any]] = {}
_processes: Living[Any] = Living()


def _disown() -> None:
    """In a child that was forked by hand, the workers are its parent's. multiprocessing takes them for the child's, and
    would end them when it exits."""
    for process in _processes.all():
        multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_disown)
