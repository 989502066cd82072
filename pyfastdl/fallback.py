"""Pillow, for every image that the native decoders leave to it, on threads that Python owns.

Native threads never take the GIL: they queue such a sample, and the threads started here fetch it, decode it with
Pillow (which gives up the GIL while it decodes) and hand the pixels back. They are started when the first such sample
comes by.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL import Image

    from pyfastdl import _core

__all__ = ["decode_rgb", "describe_failure", "start_threads"]

# Threads look up from their queue this often, in seconds; stopping wakes them at once.
_POLL = 60.0


def decode_rgb(
    data: Any,
    *,
    apply_exif_orientation: bool = False,
    max_pixels: int | None = None,
    reserve: Callable[[int], None] = lambda needed: None,
) -> npt.NDArray[np.uint8]:
    """What ``Image.open(data).convert("RGB")`` gives, as an array (height, width, 3).

    Args:
        data: the encoded bytes.
        apply_exif_orientation: run ``ImageOps.exif_transpose`` before the conversion. Metadata that it fails on turn
            nothing.
        max_pixels: a limit of our own; Pillow's holds too.
        reserve: called with the bytes that decoding will take, once they are known and before they are taken.
    """
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        if max_pixels is not None and width * height > max_pixels:
            raise ValueError(
                f"the image claims {height} x {width} = {height * width} pixels, more than the limit of "
                f"{max_pixels} (max_pixels)"
            )
        reserve(_needed_bytes(image, apply_exif_orientation))
        image.load()
        if apply_exif_orientation:
            _apply_orientation(image)
        return np.asarray(image if image.mode == "RGB" else image.convert("RGB"))


def _needed_bytes(image: Image.Image, oriented: bool) -> int:
    """An estimate from the header. Pillow holds four bytes a pixel, in the file's mode and once more for each thing
    done to it; as an array they are three, twice while they are put together."""
    copies = 1 + (image.mode != "RGB") + oriented
    return image.width * image.height * (4 * copies + 6)


def _apply_orientation(image: Image.Image) -> None:
    from PIL import ImageOps

    try:
        # In place: what it does to the metadata afterwards may fail, and doesn't matter.
        ImageOps.exif_transpose(image, in_place=True)
    except MemoryError:
        raise
    except Exception:  # broken metadata never fail a file
        pass


def describe_failure(error: BaseException, data: Any, reason: str = "") -> str:
    """Why a sample could not be decoded: Pillow's words and ours, or what the bytes look like where it knows no image.

    Args:
        error: what Pillow raised.
        data: the encoded bytes.
        reason: why the native decoder had passed them on, or "".
    """
    from PIL import UnidentifiedImageError

    from pyfastdl import _core

    if not isinstance(error, UnidentifiedImageError):
        words = f"{error}" or type(error).__qualname__
        return f"{words}: {reason}" if reason else words
    looks = _core.describe(data)
    if _core.sniff(data) != "other":
        return f"wanted an image, got {looks} that can't be opened: {reason or 'its header is broken'}"
    if looks.endswith(" image"):
        return f"wanted an image, got {looks} that Pillow can't open: its header is broken, or Pillow lacks the format"
    return f"wanted an image, got {looks}"


def start_threads(pipeline: _core.Pipeline, count: int, threads: list[threading.Thread], **options: Any) -> None:
    """Starts ``count`` threads that decode for this pipeline until it is closed, and adds each to ``threads``.

    ``options`` are those of :func:`decode_rgb`.
    """
    for number in range(count):
        # The worker keeps the pipeline's memory, not the pipeline: dropping that is what ends the thread.
        worker = pipeline.pillow_worker()
        # Daemons: at the interpreter's exit the pipeline is closed by an atexit handler, which runs after the
        # interpreter has waited for all other threads.
        thread = threading.Thread(target=_serve, args=(worker, options), name=f"pyfastdl-pillow-{number}", daemon=True)
        thread.start()
        threads.append(thread)


def _serve(worker: _core.PillowWorker, options: dict[str, Any]) -> None:
    while not worker.stopped():
        if not worker.next(_POLL):
            continue
        data = worker.data()
        reason = worker.reason()
        try:
            worker.complete(decode_rgb(data, reserve=worker.reserve, **options))
        except MemoryError as error:
            worker.fail(f"not enough memory to decode the image with Pillow {error}".rstrip(), out_of_memory=True)
        except BaseException as error:  # also what plugins raise past Exception: a lost sample is a wait without an end
            worker.fail(describe_failure(error, data, reason))
