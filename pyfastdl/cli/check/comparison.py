"""One file through pyfastdl and through the reference, and what came of it."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pyfastdl import transforms as T
from pyfastdl.cli.check.reference import MEAN, SIZE, STD, Reference, describe_format
from pyfastdl.errors import SampleError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pyfastdl._pipeline import Pipeline

__all__ = ["Checker", "Difference", "Outcome", "Result"]

Outcome = Literal["equal", "different", "refused_by_both", "refused_by_pyfastdl", "refused_by_reference"]

# Images of more pixels take turns, so that the memory of all threads together stays bounded.
_LARGE_PIXELS = 24_000_000

# Rows that are compared at a time.
_ROWS = 256


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first value in which a file differs, in the order of its rows.

    Attributes:
        what: "full decode", "region ..." or "transform ...".
        y, x, channel: where, in what was compared; None where the sizes differ already.
        reference, pyfastdl: the two values, or the two shapes.
    """

    what: str
    y: int | None
    x: int | None
    channel: int | None
    reference: Any
    pyfastdl: Any

    def __str__(self) -> str:
        where = "size" if self.y is None else f"pixel (y={self.y}, x={self.x}, channel={self.channel})"
        return f"{self.what}, {where}: reference {self.reference}, pyfastdl {self.pyfastdl}"


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of one file.

    Attributes:
        index, path: which file.
        format: "JPEG progressive", ...
        route: how pyfastdl decoded it: "native regions" (only the region asked for), "native" (whole), "Pillow", or
            "none".
        outcome: see Outcome.
        difference: the first one, for the outcome "different".
        reason: why it was refused, in words.
    """

    index: int
    path: str
    format: str
    route: str
    outcome: Outcome
    difference: Difference | None = None
    reason: str | None = None


class _Capsule:
    """A DLPack capsule as an object that numpy takes: no torch is needed here."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # kDLCPU


class Checker:
    """Checks files. Any number of threads may call it, each for another file.

    Args:
        files: all files; a file's index fixes its random numbers.
        regions: how many random regions are compared.
        seed: of the random numbers.
    """

    def __init__(self, files: Sequence[str], *, regions: int, seed: int) -> None:
        from pyfastdl import _core, _samples

        self.reference = Reference()
        self._files = files
        self._regions = regions
        self._seed = seed
        self._transform = T.Compose([T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.Normalize(MEAN, STD)])
        self._plan = self._transform.plan()
        self._paths = _core.PathTable.from_packed(*_samples.pack_paths(files, "files"))
        self._large = threading.Lock()
        self._of_thread = threading.local()
        self._pipelines: list[Pipeline] = []

    def close(self) -> None:
        """Ends the native threads."""
        for pipeline in self._pipelines:
            pipeline.close()

    def check(self, index: int) -> Result:
        """What a file becomes on both sides. Whatever the file is, it is data: nothing is raised for it."""
        from pyfastdl.images import read_source

        path = self._files[index]
        try:
            data = read_source(path, "check")[0]
        except (OSError, SampleError, ValueError) as error:
            reason = error.reason if isinstance(error, SampleError) else str(error)
            return Result(index, path, "unreadable", "none", "refused_by_both", reason=reason)
        try:
            with self.reference.open(data) as image:
                pixels = image.width * image.height
        except Exception:
            pixels = 0
        if pixels > _LARGE_PIXELS:
            with self._large:
                return self._compare(index, path, data)
        return self._compare(index, path, data)

    def _compare(self, index: int, path: str, data: bytes) -> Result:
        import numpy as np

        from pyfastdl import _core
        from pyfastdl.images import decode_image

        kind = {"other": "no known image"}.get(codec := _core.sniff(data), codec.upper())
        refusal = theirs = rgb = None
        try:
            with self.reference.open(data) as image:
                kind = describe_format(image)
                rgb = image.convert("RGB")
                theirs = np.asarray(rgb)
        except Exception as error:  # Pillow raises half a dozen classes for bad files
            refusal = f"{error}" or type(error).__qualname__
        try:
            ours = decode_image(data)
        except (SampleError, MemoryError) as error:
            reason = error.reason if isinstance(error, SampleError) else "not enough memory"
            if theirs is None:
                return Result(index, path, kind, "none", "refused_by_both", reason=reason)
            return Result(index, path, kind, "none", "refused_by_pyfastdl", reason=reason)
        route = _route(data, *ours.shape[:2])
        if theirs is None or rgb is None:
            return Result(index, path, kind, route, "refused_by_reference", reason=refusal)

        difference = first_difference("full decode", theirs, ours)
        del ours
        if difference is None:
            difference = self._compare_regions(index, data, theirs, 1 if route == "Pillow" else self._regions)
        if difference is None:
            try:
                difference = self._compare_transform(index, rgb)
            except SampleError as error:
                return Result(index, path, kind, route, "refused_by_pyfastdl", reason=error.reason)
        return Result(index, path, kind, route, "equal" if difference is None else "different", difference)

    def _compare_regions(self, index: int, data: bytes, theirs: npt.NDArray[np.uint8], count: int) -> Difference | None:
        rng = random.Random(f"{self._seed} {index}")
        for _ in range(count):
            top, left, height, width = _random_region(rng, *theirs.shape[:2])
            ours = T.functional.resized_crop(data, top, left, height, width, (height, width))
            name = f"region (top={top}, left={left}, height={height}, width={width})"
            difference = first_difference(name, theirs[top : top + height, left : left + width], ours)
            if difference is not None:
                return difference
        return None

    def _compare_transform(self, index: int, rgb: Any) -> Difference | None:
        """What a loader hands over for that sample, its own reading of the file included."""
        import numpy as np

        numbers = self._transform.sample(rgb.height, rgb.width, seed=self._seed, epoch=0, index=index)
        theirs = self.reference.transform(rgb, numbers)
        pipeline = self._pipeline()
        pipeline.start_epoch(self._seed, 0)
        pipeline.open(np.array([index], dtype=np.int64))
        capsules = pipeline.next(0)
        assert capsules is not None
        ours = np.from_dlpack(_Capsule(capsules[0]))[0]
        name = "transform ({})".format(", ".join(f"{key}={value}" for key, value in numbers.items()))
        return first_difference(name, theirs.transpose(1, 2, 0), ours.transpose(1, 2, 0))

    def _pipeline(self) -> Pipeline:
        """This thread's own."""
        from pyfastdl._pipeline import Pipeline
        from pyfastdl.decoding import DecodeOptions

        if not hasattr(self._of_thread, "pipeline"):
            self._of_thread.pipeline = Pipeline(
                paths=self._paths,
                views=[(self._plan, (SIZE, SIZE))],
                targets=None,
                batch_size=1,
                prefetch=1,
                decode_threads=1,
                read_threads=1,
                return_index=False,
                on_error="raise",
                **DecodeOptions().config(),
            )
            self._pipelines.append(self._of_thread.pipeline)
        pipeline: Pipeline = self._of_thread.pipeline
        return pipeline


def _route(data: bytes, height: int, width: int) -> str:
    """How pyfastdl decodes this file: asked for its middle."""
    from pyfastdl import _core

    region = (height // 4, width // 4, max(1, height // 2), max(1, width // 2))
    try:
        skips = _core.skips_around(data, *region)
    except ValueError:
        skips = None
    return "Pillow" if skips is None else "native regions" if skips else "native"


def _random_region(rng: random.Random, height: int, width: int) -> tuple[int, int, int, int]:
    h, w = rng.randint(1, height), rng.randint(1, width)
    return rng.randint(0, height - h), rng.randint(0, width - w), h, w


def first_difference(what: str, theirs: npt.NDArray[Any], ours: npt.NDArray[Any]) -> Difference | None:
    """The first value, row by row, in which two arrays (height, width, channel) differ; None where they are equal."""
    import numpy as np

    if theirs.shape != ours.shape:
        return Difference(what, None, None, None, theirs.shape, ours.shape)
    for top in range(0, theirs.shape[0], _ROWS):
        unequal = theirs[top : top + _ROWS] != ours[top : top + _ROWS]
        if unequal.any():
            y, x, channel = (int(i) for i in np.unravel_index(int(unequal.argmax()), unequal.shape))
            y += top
            return Difference(what, y, x, channel, theirs[y, x, channel].item(), ours[y, x, channel].item())
    return None
