"""NativeLoader: files in, batches of tensors out, with nothing of Python in between."""

from __future__ import annotations

import copy
import os
import warnings
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import torch

from pyfastdl import _core
from pyfastdl._arguments import MAX_COUNT, MAX_EPOCH, flag, integer, integer_in, one_of, refuse_others, seed_bits
from pyfastdl.decoding import DecodeOptions
from pyfastdl.epoch import Epoch
from pyfastdl.errors import FailedSample, LoaderError
from pyfastdl.failure_log import FailureLog
from pyfastdl.locks import Living, ProcessLock
from pyfastdl.native_batches import NativeBatches
from pyfastdl.order import Order, between_epochs, checked, deciding_generators, restore
from pyfastdl.pipelines import Pipelines
from pyfastdl.sampling import check_sampler, make_batch_source
from pyfastdl.sources import open_source
from pyfastdl.staging import DTYPES, BatchNormalize, Staging
from pyfastdl.stats import Stats
from pyfastdl.transforms.compose import Views, as_transform, views_of

if TYPE_CHECKING:
    from pyfastdl.callable_batches import CallableBatches
    from pyfastdl.workers.blocks import ThreadBlocks

__all__ = ["FailedSample", "NativeLoader"]


class NativeLoader:
    """Loads images in batches: read, decoded and transformed by native threads, straight into the batch's memory.

    Args:
        data: a folder of class folders (as torchvision's ImageFolder, but hidden folders and the like are ignored, and
            said so); a list of files; or a list of (file, target) pairs.
        batch_size: images a batch.
        shuffle: a new order each epoch, a function of seed and epoch.
        seed: fixes order and augmentation. Without it they come from one draw of ``generator``, or of torch's default
            generator, at each ``iter()``.
        drop_last: leave out a last batch that would be smaller.
        targets: one int, float or vector per file, where the paths don't say it. Kept dtypes are those of
            ``torch.as_tensor(targets)``.
        return_index: adds the samples' indices (int64) to each batch.
        sampler, batch_sampler: any of torch's, instead of ``shuffle``.
        transform: a list of :mod:`pyfastdl.transforms`. Without one the images must all have the same size. Behind
            them may stand functions of your own: each gets a sample's image as a tensor (3, H, W) of the loader's
            dtype, its own to change, and the next one what it returns; a batch is what ``default_collate`` makes of the
            results. They run ahead of the training loop on up to ``num_workers`` Python threads, where
            :func:`pyfastdl.sample_rng` is reproducible and process-wide generators aren't. A list of
            lists (or of :class:`~pyfastdl.transforms.Compose`) gives several views of each sample; see
            :class:`~pyfastdl.transforms.Views`.
        num_workers: decode threads; "auto" is the CPUs that this process may really use (all of them: with several
            ranks on one machine, give each its share).
        device: where the batches go ("cuda", "cuda:1", a torch.device); None gives CPU tensors without a copy.
        dtype: float32, float16, bfloat16 or uint8. With uint8 a Normalize runs on the batch's device and gives float32;
            before a Python function it has run already, and that gets float32.
        memory_format: torch.contiguous_format or torch.channels_last.
        on_error: "raise" a :class:`SampleError` for a sample that can't be loaded; "replace" it by another one of the
            dataset, chosen by the sample's own random numbers; or "skip" it, which makes its batch smaller. All are
            listed in :attr:`errors`. A lack of memory is never passed over: it raises MemoryError. What a Python
            function of the transform raises is raised as it was, with a note; or treated like a file that is broken.
        prefetch_factor: batches that are worked on ahead, in all.
        generator: a torch.Generator that seeds come from, when ``seed`` isn't given.
        decode: "exact", or "fast": JPEGs are decoded at 1/8, 1/4 or 1/2 of their size where the transform's first crop
            then still has, in both directions, as many pixels as its resize makes of it, and their chroma is spread by
            repetition. Not exact: the README says by how much. Boxes are drawn on the full size, and keep their
            fractional edges on the smaller one.
        apply_exif_orientation: turn and mirror each image as its EXIF orientation says before the transform, as
            ``PIL.ImageOps.exif_transpose`` does. Broken metadata turn nothing.
        max_pixels: images of more are refused before memory is taken. None: twice ``PIL.Image.MAX_IMAGE_PIXELS``, where
            Pillow raises, as it is set when the threads are started. (Formats that Pillow decodes keep its limit too.)
        max_scans: progressive JPEGs of more scans are refused: each costs a pass over the whole image.
        max_memory: bytes that the images which are decoded at a time may take together, as far as they must be held
            whole: progressive JPEG, interlaced PNG, WebP, images turned by their orientation, and all that Pillow
            decodes. Threads wait for each other; an image that alone needs more is refused. None: a quarter of the
            memory that this process may use (several ranks on one machine: give each its share).
        timeout: seconds after which a batch that doesn't come is a :class:`LoaderError`; 0 waits for ever.

    Attributes:
        dataset: the files, with ``classes``, ``class_to_idx``, ``samples`` and ``targets`` as torchvision's ImageFolder
            has them, and a length, which is what a sampler needs: ``DistributedSampler(loader.dataset)``.
        decoding: the options of decoding, checked.

    Yields:
        ``images`` (B, 3, H, W), or ``(images, labels)`` with labels (B,) int64 (or as ``targets``, (B,) or (B, D)), or
        either with the indices (B,) added. With views, ``images`` is a tuple of such tensors, one a view, in their
        order and each of its own size: ``for (a, b), labels in loader``, and ``for a, b in loader`` without labels.
        Each batch is the caller's own, to keep or to change.

    Raises:
        FileNotFoundError: no such folder, or a folder without images.
        ValueError, TypeError: wrong arguments.
        MemoryError: while iterating, when there is not enough memory to read or decode a sample.

    Example:
        >>> import pyfastdl, torch                                                      # doctest: +SKIP
        >>> from pyfastdl import transforms as T
        >>> loader = pyfastdl.NativeLoader(
        ...     "data/train", batch_size=256, shuffle=True, seed=0,
        ...     transform=[T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize(0.5, 0.5)])
        >>> for images, labels in loader:
        ...     train(images, labels)
    """

    def __init__(
        self,
        data: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        seed: int | None = None,
        drop_last: bool = False,
        targets: Any = None,
        return_index: bool = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Iterable[int]] | None = None,
        transform: Any = None,
        num_workers: int | Literal["auto"] = "auto",
        device: Any = None,
        dtype: torch.dtype = torch.float32,
        memory_format: torch.memory_format = torch.contiguous_format,
        on_error: Literal["raise", "replace", "skip"] = "raise",
        prefetch_factor: int = 4,
        generator: torch.Generator | None = None,
        timeout: float = 0,
        decode: Literal["exact", "fast"] = "exact",
        apply_exif_orientation: bool = False,
        max_pixels: int | None = None,
        max_scans: int = 500,
        max_memory: int | None = None,
        **others: NoReturn,
    ) -> None:
        refuse_others("NativeLoader", others)
        self._closed = False
        self._running: Living[Epoch] = Living()
        self._pid = os.getpid()

        self.num_workers = _workers(num_workers)
        self.on_error = one_of("on_error", on_error, ("raise", "replace", "skip"))
        self.prefetch_factor = integer_in("prefetch_factor", prefetch_factor, 1, MAX_COUNT)
        if not isinstance(timeout, (int, float)) or isinstance(timeout, bool) or not timeout >= 0:
            raise ValueError(f"timeout must be a number of seconds, 0 or more, got {timeout!r}")
        self.timeout = float(timeout)
        self.seed = None if seed is None else integer("seed", seed)
        if generator is not None and not isinstance(generator, torch.Generator):
            raise TypeError(f"generator must be a torch.Generator, got {generator!r}")
        self.generator = generator
        if dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(map(str, DTYPES))}, got {dtype!r}")
        if memory_format not in (torch.contiguous_format, torch.channels_last):
            raise ValueError(
                f"memory_format must be torch.contiguous_format or torch.channels_last, got {memory_format!r}"
            )

        self.decoding = DecodeOptions(apply_exif_orientation, decode, max_pixels, max_scans, max_memory)
        self.transform = as_transform(transform)
        # A batch's images are a tuple of tensors, one a view.
        self._has_views = isinstance(self.transform, Views)
        views = views_of(self.transform)
        self._callables = [view.callables for view in views]
        # A callable gets an image that is normalised already, so the core does that.
        on_device = [dtype == torch.uint8 and view.normalization is not None and not view.callables for view in views]
        self._channels_last = memory_format == torch.channels_last
        self._plans = [
            view.plan(
                dtype=None if dtype == torch.uint8 and view.normalization and not later else DTYPES[dtype],
                channels_last=self._channels_last,
                normalize=not later,
            )
            for view, later in zip(views, on_device, strict=True)
        ]
        self._staging = Staging(
            device,
            [BatchNormalize.of(view) if later else None for view, later in zip(views, on_device, strict=True)],
        )
        self.device = self._staging.device

        self.dataset = open_source(data, targets)
        for note in self.dataset.notes:
            warnings.warn(note, stacklevel=2)
        for owner in (sampler, batch_sampler):
            check_sampler(owner, NativeLoader)
        self.batch_size = integer_in("batch_size", batch_size, 1, MAX_COUNT)
        self.drop_last = flag("drop_last", drop_last)
        self._batches = make_batch_source(
            len(self.dataset.paths),
            batch_size=self.batch_size,
            shuffle=flag("shuffle", shuffle),
            sampler=sampler,
            batch_sampler=batch_sampler,
            drop_last=self.drop_last,
        )
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self._return_index = flag("return_index", return_index)
        self._pipelines = Pipelines(
            self.dataset.paths,
            self._plans,
            self.decoding,
            targets=None if self.dataset.target_array is None else _core.Targets(self.dataset.target_array),
            prefetch=self.prefetch_factor,
            # Those that are in the callables' hands are still in their slots.
            held=self.prefetch_factor if any(self._callables) else 1,
            decode_threads=self.num_workers,
            return_index=self._return_index or any(self._callables),
            on_error=self.on_error,
        )

        self._lock = ProcessLock()  # of what says which epoch comes next, and where it is
        self._next_epoch = 0
        self._order: Order | None = None  # of the epoch that was started last
        self._resumed: dict[str, Any] | None = None
        self._idle_blocks: list[ThreadBlocks] = []  # at most one, of an epoch with callables that is over
        # Weakly: an epoch holds its loader, and threads must end when both are dropped, not when the collector runs.
        self._last: weakref.ref[Epoch] | None = None
        self._last_stats = Stats()
        self._failures = FailureLog()

    # -- iteration

    def __len__(self) -> int:
        """Batches an epoch. With ``on_error="skip"`` an upper bound."""
        return len(self._batches)

    def __iter__(self) -> Epoch:
        """Starts the next epoch."""
        if self._closed:
            raise LoaderError("the loader was closed: make a new one")
        with self._lock():
            return self._start_epoch()

    def _start_epoch(self) -> Epoch:
        self._leave_parent()
        epoch = self._next_epoch
        if epoch > MAX_EPOCH:
            raise ValueError(f"epoch {MAX_EPOCH} is the last one that has random numbers of its own: set_epoch(0)")
        resumed = self._resumed
        generators, spare = self._generators()
        spared = restore(resumed["generators"], generators, spare) if resumed is not None else None
        middle = resumed if resumed is not None and resumed["seed"] is not None else None
        seed = self.seed if middle is None else middle["seed"]
        if seed is None:
            # One draw, as torch's DataLoader draws its base seed.
            seed = int(torch.empty((), dtype=torch.int64).random_(generator=self.generator).item())
        if resumed is not None and middle is None and resumed["sampler"] is not None:
            self._batches.stateful_sampler().load_state_dict(copy.deepcopy(resumed["sampler"]))
        order = Order(self._batches, len(self.dataset), seed, epoch, generators, middle, spared)
        started = Epoch(self, order)
        self._order = order
        self._resumed = None
        self._next_epoch = epoch + 1
        self._running.add(started)
        self._last = weakref.ref(started)
        if self._closed:  # meanwhile, by another thread: this one didn't see it yet
            started.close()
        return started

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` starts this epoch, and the ones after it count on from there. A sampler that has a
        ``set_epoch`` (DistributedSampler) is told too. A state that was loaded stays, if it is of this epoch."""
        number = integer_in("epoch", epoch, 0, MAX_EPOCH)
        with self._lock():
            self._next_epoch = number
            self._batches.set_epoch(number)
            if self._resumed is not None and self._resumed["epoch"] != number:
                self._resumed = None

    # -- resume

    def state_dict(self) -> dict[str, Any]:
        """Where the epoch that was started last is: for a checkpoint, beside the model's.

        A loader of the same dataset and arguments that loads it goes on with the next batch, then with the next epochs,
        as this one would, to the bit. ``num_workers`` and ``prefetch_factor`` may be others, and it does not matter
        which batches were loaded ahead. It holds numbers and tensors only, as far as a sampler's own ``state_dict``
        does, and so ``torch.load(..., weights_only=True)`` reads it.
        """
        with self._lock():
            if self._resumed is not None:
                return dict(self._resumed)
            if self._order is None or self._order.finished:
                return between_epochs(self._batches, len(self.dataset), self._next_epoch, self._generators()[0])
            return self._order.state()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next ``iter()`` goes on where ``state_dict()`` was called. Batches that were handed out before aren't
        loaded again; a sampler is asked for their indices again, unless it has a ``state_dict`` of its own.

        The generators that decide on the order and on seeds get the states that they had at that ``iter()``:
        ``generator``, a sampler's own, and torch's default one where seeds come from it, or a sampler draws from it.

        Raises:
            ValueError: not such a state; or of a dataset of another length, another order, another version.
        """
        resumed = checked(state, self._batches, len(self.dataset), len(self._generators()[0]))
        with self._lock():
            self._resumed = resumed
            self._next_epoch = state["epoch"]
            if state["sampler_epoch"] is not None:
                self._batches.set_epoch(state["sampler_epoch"])
            self._order = None

    def _generators(self) -> tuple[list[torch.Generator], bool]:
        return deciding_generators(self._batches, self.seed, self.generator)

    # -- what happened

    @property
    def errors(self) -> list[FailedSample]:
        """The samples that could not be loaded so far, in the order of the batches (at most 10,000 are kept)."""
        return list(self._failures.kept)

    def stats(self) -> Stats:
        """Where the time of the epoch that was started last went, so far; ``.verdict`` says it in words."""
        last = self._last
        epoch = last() if last is not None else None
        return self._last_stats if epoch is None else epoch.stats()

    # -- the end

    def close(self) -> None:
        """Ends all threads and frees the ring; batches that are still held stay valid. The loader can't be iterated
        any more. May be called again."""
        self._closed = True
        if self._pid != os.getpid():
            return
        for epoch in self._running.all():
            epoch.close()
        self._pipelines.close()
        self._idle_blocks.clear()

    def __enter__(self) -> NativeLoader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> Any:
        raise TypeError("a NativeLoader can't be pickled: make it in the process that iterates it")

    def __repr__(self) -> str:
        return f"NativeLoader({self.dataset!r}, batch_size={self.batch_size}, num_workers={self.num_workers})"

    # -- for Epoch

    def _start_batches(self, order: Order) -> NativeBatches | CallableBatches:
        ahead = self.prefetch_factor
        native = NativeBatches(self._pipelines, self._batches.capacity, ahead, seed_bits(order.seed), order.epoch)
        if not any(self._callables):
            return native
        from pyfastdl.callable_batches import CallableBatches, take_blocks
        from pyfastdl.callables import CallableWork

        work = CallableWork(
            self.dataset,
            self._plans,
            self._pipelines.cell_sizes(),
            self._callables,
            self.decoding,
            num_workers=self.num_workers,
            on_error=self.on_error,
            return_index=self._return_index,
            channels_last=self._channels_last,
            blocks=None if self._channels_last else take_blocks(self._idle_blocks, ahead, self._batches.capacity),
            seed=order.seed,
            epoch=order.epoch,
        )
        return CallableBatches(native, work, self.num_workers, ahead, self._idle_blocks)

    def _leave_parent(self) -> None:
        """In a forked child: forgets the parent's threads, which don't exist here."""
        if self._pid == os.getpid():
            return
        self._last = None
        self._running = Living()
        self._pid = os.getpid()


def _workers(num_workers: Any) -> int:
    if isinstance(num_workers, str) and num_workers == "auto":
        return _core.granted_cpus()
    number = integer('num_workers (or "auto")', num_workers)
    if number < 1:
        raise ValueError(
            f'num_workers must be "auto" or at least 1, got {number}: NativeLoader decodes on threads of its own'
        )
    return integer_in("num_workers", number, 1, MAX_COUNT)
