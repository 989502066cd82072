"""NativeLoader: files in, batches of tensors out, with nothing of Python in between."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterable
from typing import Any, Literal, NoReturn

import torch

from pyfastdl import _core
from pyfastdl._arguments import MAX_COUNT, MAX_EPOCH, flag, integer, integer_in, one_of, refuse_others
from pyfastdl._pipeline import Pipeline
from pyfastdl.decoding import DecodeOptions
from pyfastdl.epoch import Epoch
from pyfastdl.errors import FailedSample, LoaderError, SampleError
from pyfastdl.sampling import make_batch_source
from pyfastdl.sources import open_source
from pyfastdl.staging import DTYPES, BatchNormalize, Staging
from pyfastdl.stats import Stats
from pyfastdl.transforms.compose import Views, as_transform, views_of

__all__ = ["FailedSample", "NativeLoader"]

# Threads that wait for files which the page cache doesn't have; they use no CPU while they wait.
_READ_THREADS = 8

# The list of failures stops growing here; `stats().failed_samples` goes on counting.
_MAX_ERRORS = 10_000


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
        transform: a list of :mod:`pyfastdl.transforms`. Without one the images must all have the same size. A list of
            lists (or of :class:`~pyfastdl.transforms.Compose`) gives several views of each sample; see
            :class:`~pyfastdl.transforms.Views`.
        num_workers: decode threads; "auto" is the CPUs that this process may really use (all of them: with several
            ranks on one machine, give each its share).
        device: where the batches go ("cuda", "cuda:1", a torch.device); None gives CPU tensors without a copy.
        dtype: float32, float16, bfloat16 or uint8. With uint8 a Normalize runs on the batch's device and gives float32.
        memory_format: torch.contiguous_format or torch.channels_last.
        on_error: "raise" a :class:`SampleError` for a sample that can't be loaded; "replace" it by another one of the
            dataset, chosen by the sample's own random numbers; or "skip" it, which makes its batch smaller. All are
            listed in :attr:`errors`. A lack of memory is never passed over: it raises MemoryError.
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
        self._idle: list[Pipeline] = []  # at most one; a list, because its pop() is atomic
        self._running: weakref.WeakSet[Epoch] = weakref.WeakSet()
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
        on_device = [dtype == torch.uint8 and view.normalization is not None for view in views]
        self._plans = [
            view.plan(dtype=DTYPES[dtype], channels_last=memory_format == torch.channels_last, normalize=not later)
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
        _check_sampler(sampler)
        _check_sampler(batch_sampler)
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
        self._targets = None if self.dataset.target_array is None else _core.Targets(self.dataset.target_array)
        self._return_index = flag("return_index", return_index)
        self._cell_sizes = [plan.static_output_size() for plan in self._plans]  # None: as the first image's

        self._next_epoch = 0
        # Weakly: an epoch holds its loader, and threads must end when both are dropped, not when the collector runs.
        self._last: weakref.ref[Epoch] | None = None
        self._last_stats = Stats()
        self._errors: list[FailedSample] = []

    # -- iteration

    def __len__(self) -> int:
        """Batches an epoch. With ``on_error="skip"`` an upper bound."""
        return len(self._batches)

    def __iter__(self) -> Epoch:
        """Starts the next epoch."""
        if self._closed:
            raise LoaderError("the loader was closed: make a new one")
        self._leave_parent()
        epoch = self._next_epoch
        if epoch > MAX_EPOCH:
            raise ValueError(f"epoch {MAX_EPOCH} is the last one that has random numbers of its own: set_epoch(0)")
        seed = self.seed
        if seed is None:
            # One draw, as torch's DataLoader draws its base seed.
            seed = int(torch.empty((), dtype=torch.int64).random_(generator=self.generator).item())
        started = Epoch(self, seed, epoch)
        self._next_epoch = epoch + 1
        self._running.add(started)
        self._last = weakref.ref(started)
        return started

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` starts this epoch, and the ones after it count on from there. A sampler that has a
        ``set_epoch`` (DistributedSampler) is told too."""
        self._next_epoch = integer_in("epoch", epoch, 0, MAX_EPOCH)
        self._batches.set_epoch(self._next_epoch)

    # -- what happened

    @property
    def errors(self) -> list[FailedSample]:
        """The samples that could not be loaded so far, in the order of the batches (at most 10,000 are kept)."""
        return list(self._errors)

    def stats(self) -> Stats:
        """Where the time of the epoch that was started last went, so far; ``.verdict`` says it in words."""
        epoch = self._last() if self._last is not None else None
        return self._last_stats if epoch is None else epoch.stats()

    # -- the end

    def close(self) -> None:
        """Ends all threads and frees the ring; batches that are still held stay valid. The loader can't be iterated
        any more. May be called again."""
        self._closed = True
        if self._pid != os.getpid():
            return
        for epoch in list(self._running):
            epoch.close()
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> NativeLoader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> Any:
        raise TypeError("a NativeLoader can't be pickled: make it in the process that iterates it")

    def __repr__(self) -> str:
        return f"NativeLoader({self.dataset!r}, batch_size={self.batch_size}, num_workers={self.num_workers})"

    # -- for Epoch

    def _take_pipeline(self, batch_size: int) -> Pipeline:
        """An idle pipeline with slots for batches of that size, or a new one."""
        try:
            pipeline = self._idle.pop()
        except IndexError:
            pass
        else:
            if pipeline.batch_size >= batch_size:
                return pipeline
            pipeline.close()
        if None in self._cell_sizes:
            first = self._first_size()
            self._cell_sizes = [
                size or plan.output_size(*first) for plan, size in zip(self._plans, self._cell_sizes, strict=True)
            ]
        return Pipeline(
            paths=self.dataset.paths,
            views=list(zip(self._plans, self._cell_sizes, strict=True)),
            targets=self._targets,
            batch_size=batch_size,
            prefetch=self.prefetch_factor,
            decode_threads=self.num_workers,
            read_threads=_READ_THREADS,
            return_index=self._return_index,
            on_error=self.on_error,
            **self.decoding.config(),
        )

    def _give_back(self, pipeline: Pipeline) -> None:
        """Takes a pipeline that nobody uses any more; one is kept for the next epoch."""
        if self._closed or self._idle:
            pipeline.close()
            return
        pipeline.cancel()
        self._idle.append(pipeline)

    def _add_errors(self, errors: list[tuple[int, str, str, int | None]]) -> None:
        room = _MAX_ERRORS - len(self._errors)
        self._errors.extend(FailedSample(*error) for error in errors[:room])

    def _leave_parent(self) -> None:
        """In a forked child: forgets the parent's threads, which don't exist here."""
        if self._pid == os.getpid():
            return
        self._idle = []
        self._last = None
        self._running = weakref.WeakSet()
        self._pid = os.getpid()

    def _first_size(self) -> tuple[int, int]:
        """The first image's size: where a transform fixes none, what it makes of this image all others must become."""
        from pyfastdl.images import decode_image

        paths = self.dataset.paths
        for index in range(min(len(paths), 10)):
            try:
                height, width = decode_image(
                    paths[index], apply_exif_orientation=self.decoding.apply_exif_orientation
                ).shape[:2]
            except (OSError, SampleError) as error:
                failure = error
                continue
            return int(height), int(width)
        reason = failure.reason if isinstance(failure, SampleError) else str(failure)
        raise SampleError(paths[0], 0, f"none of the first images can be loaded, so their size is unknown: {reason}")


def _workers(num_workers: Any) -> int:
    if isinstance(num_workers, str) and num_workers == "auto":
        return _core.granted_cpus()
    number = integer('num_workers (or "auto")', num_workers)
    if number < 1:
        raise ValueError(
            f'num_workers must be "auto" or at least 1, got {number}: NativeLoader decodes on threads of its own'
        )
    return integer_in("num_workers", number, 1, MAX_COUNT)


def _check_sampler(sampler: Any) -> None:
    """A sampler over a loader would count its batches."""
    for owner in (sampler, getattr(sampler, "sampler", None)):
        for attribute in ("data_source", "dataset"):
            if isinstance(getattr(owner, attribute, None), NativeLoader):
                raise ValueError(
                    "the sampler was made over a NativeLoader, whose length is its number of batches: "
                    "make it over the loader's .dataset, or over range(number of files)"
                )
