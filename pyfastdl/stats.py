"""Where an epoch's time went, and what that means."""

from __future__ import annotations

import dataclasses

__all__ = ["Stats"]

# Below this share of the time spent waiting, the loader is not what holds the training up.
_KEEPS_UP = 0.05
# Up to this one, the start of an epoch explains it as well as anything else.
_NEARLY = 0.2


@dataclasses.dataclass(frozen=True)
class Stats:
    """Times in seconds, of the epoch that was started last. ``print(stats)`` gives a table.

    Attributes:
        samples: finished (some may not have been handed over yet).
        batches: handed over; ``copied_batches`` of them as private copies, because the training loop kept others.
        failed_samples: could not be loaded; see ``loader.errors``.
        pillow_samples: decoded by Pillow, because the core has no decoder for them.
        region_samples: decoded natively without the pixels that the crop doesn't need.
        untrusted_samples: JPEGs decoded in full, because the libjpeg in this process failed the test of decoding parts.
        libjpeg_samples: JPEGs (progressive ones, CMYK, damaged ones …) that libjpeg-turbo decoded, not pyfastdl's own,
            faster decoder.
        file_bytes: encoded bytes read.
        cached_reads, waited_reads: files that the page cache had, and files that a reader thread waited for.
        wall_s: from the start of the epoch to its last batch so far.
        wait_s: the training loop waited for a batch.
        read_s, decode_s, transform_s: spent by the threads, added up over them (decode and transform are measured on
            one image in eight).
        python_s: spent in the Python callables of the transform, added up over the threads that run them.
        idle_s: decode threads had nothing to do, added up over them: all slots were full, or files weren't read yet.
        wait_memory_s: threads waited for memory that others held for large images (``max_memory``), added up over them.
        peak_memory: the most bytes that such images held at a time, since the loader's threads were started.
        num_workers: decode threads; as many more run Python callables, where the transform has some.
    """

    samples: int = 0
    batches: int = 0
    copied_batches: int = 0
    failed_samples: int = 0
    pillow_samples: int = 0
    region_samples: int = 0
    untrusted_samples: int = 0
    libjpeg_samples: int = 0
    file_bytes: int = 0
    cached_reads: int = 0
    waited_reads: int = 0
    wall_s: float = 0.0
    wait_s: float = 0.0
    read_s: float = 0.0
    decode_s: float = 0.0
    transform_s: float = 0.0
    python_s: float = 0.0
    idle_s: float = 0.0
    wait_memory_s: float = 0.0
    peak_memory: int = 0
    num_workers: int = 0

    @property
    def wait_share(self) -> float:
        """The share of the time that the training loop spent waiting for data, 0 to 1."""
        return self.wait_s / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def images_per_s(self) -> float:
        return self.samples / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def verdict(self) -> str:
        """One sentence on what limits the training loop, and what would help."""
        if self.batches == 0:
            return "nothing was loaded yet"
        share = f"{self.wait_share:.0%} of the time was spent waiting for data"
        if self.wait_share <= _KEEPS_UP:
            return f"the loader keeps up: {share}"
        if self.wait_share <= _NEARLY:
            return f"the loader nearly keeps up: {share}, the rest was the training loop's own"
        workers = f"{self.num_workers} decode thread{'s' if self.num_workers != 1 else ''}"
        idle = self.idle_s / (self.wall_s * self.num_workers) if self.num_workers else 0.0
        parts = {"reading": self.read_s, "decoding": self.decode_s, "resizing": self.transform_s}
        python = self.python_s / (self.wall_s * self.num_workers) if self.num_workers else 0.0
        if python > 0.5 and self.python_s > sum(parts.values()):
            return (
                f"the Python callables of the transform are the bottleneck: {share}; the threads that run them spent "
                f"{python:.0%} of it in them: make them faster, use pyfastdl.transforms instead, or apply them to "
                "whole batches in the training loop"
            )
        if idle > 0.5 and self.waited_reads > self.cached_reads:
            return (
                f"storage is the bottleneck: {share}, while {workers} waited for files {idle:.0%} of it: "
                "use a faster disk, or files that fit into memory"
            )
        if idle > 0.5:
            return (
                f"the loader is short of batches in flight: {share}, though {workers} were idle {idle:.0%} of it: "
                "raise prefetch_factor, or make the batches larger"
            )
        largest = max(parts, key=lambda name: parts[name])
        part = parts[largest] / (sum(parts.values()) or 1.0)
        return (
            f"the CPU is the bottleneck: {share}; {workers} spent {part:.0%} of the work on {largest}: "
            "give the loader more CPUs, or smaller files"
        )

    def __str__(self) -> str:
        untrusted = ""
        if self.untrusted_samples:
            untrusted = f", {self.untrusted_samples} in full because this libjpeg can't be trusted with parts"
        rows = [
            ("images", f"{self.samples} ({self.images_per_s:.0f}/s)"),
            ("batches", f"{self.batches} ({self.copied_batches} copied)"),
            ("waiting for data", f"{self.wait_s:.2f} s of {self.wall_s:.2f} s ({self.wait_share:.0%})"),
            ("read", f"{self.read_s:.2f} s ({self.file_bytes / 1e6:.1f} MB, {self.waited_reads} files not cached)"),
            ("decode", f"{self.decode_s:.2f} s"),
            ("decoded only in part", f"{self.region_samples} images{untrusted}"),
            ("not by pyfastdl", f"{self.libjpeg_samples} images by libjpeg-turbo, {self.pillow_samples} by Pillow"),
            ("transform", f"{self.transform_s:.2f} s"),
            ("Python callables", f"{self.python_s:.2f} s"),
            ("large images", f"{self.peak_memory / 1e6:.1f} MB at most, {self.wait_memory_s:.2f} s waited for memory"),
            ("threads idle", f"{self.idle_s:.2f} s over {self.num_workers}"),
            ("failed samples", f"{self.failed_samples}"),
            ("verdict", self.verdict),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
