"""Which way a loader's batches went, for explain()."""

from __future__ import annotations

import dataclasses

from pyfastdl.locks import ProcessLock

__all__ = ["Report"]


@dataclasses.dataclass
class Report:
    """Counted in all iterators of a loader.

    Attributes:
        native: batches that the core decoded into their memory.
        written: batches that were written sample by sample into a block of the ring.
        packed: batches that a worker process made, and then copied into a block.
        collated: batches that default_collate made of samples that look unlike the first one, or hold other things.
        sent: batches that a worker process sent the slow way: no block was free yet, or none was large enough.
        copied: batches that were handed over as copies, since the training loop keeps others.
    """

    native: int = 0
    written: int = 0
    packed: int = 0
    collated: int = 0
    sent: int = 0
    copied: int = 0

    def __post_init__(self) -> None:
        self._lock = ProcessLock()

    def count(self, how: str, batches: int = 1) -> None:
        """Threads of workers, and of several iterators, count at the same time."""
        with self._lock():
            setattr(self, how, getattr(self, how) + batches)

    def lines(self) -> list[str]:
        words = {
            "native": "decoded natively into their memory",
            "written": "written straight into their memory",
            "packed": "copied into shared memory by a worker",
            "collated": "made by default_collate",
            "sent": "sent by a worker the slow way",
            "copied": "handed over as copies, since others were kept",
        }
        return [f"batches {words[name]}: {count}" for name, count in dataclasses.asdict(self).items() if count]
