"""The contestants, one module each, and the work that is the same for all.

A module has

    NEEDS: the modules that must be importable where it runs (missing: it is skipped, by name);
    VERSIONS: the distributions whose versions belong to its figures;
    start(work): imports, and whatever is made once for a data folder and not timed; returns a function that makes the
        loader. Making it and drawing the first batch is timed together; an epoch is one pass over the loader.

A contestant that is no loader has `run(work, epochs)` in place of `start`, and returns `Figures` itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

SIZE = 224
BATCH = 64
MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]
SCALE = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)

DESCRIPTION = (
    f"read, decode, random resized crop to {SIZE} (scale {SCALE[0]}-{SCALE[1]:g}, ratio 3/4-4/3), random flip, "
    f"normalise to float32, batches of {BATCH}, shuffled"
)

# In the order in which they take turns; name:workers, n = the CPUs of this process.
DEFAULT = [
    "ours:n",
    "stock_pil:0",
    "stock_pil:n",
    "stock_tvio:0",
    "stock_tvio:n",
    "dali:n",
    "ffcv:n",
    "jpeg_turbo:1",
]


@dataclass(frozen=True)
class Work:
    data: Path  # a folder of class folders
    workers: int
    cache: Path  # where a contestant may keep what it makes of the data

    def files(self) -> list[Path]:
        return sorted(path for path in self.data.glob("*/*") if path.is_file())


@dataclass
class Figures:
    images: int
    epochs: list[tuple[float, float]]  # wall seconds, CPU seconds
    first_batch_s: float | None = None
    memory_mb: float | None = None
    versions: dict[str, str] = field(default_factory=dict)
