"""Pillow, for every image that the native decoders leave to it, on threads that Python owns.

Native threads never take the GIL: they queue such a sample, and the threads started here fetch it, decode it with
Pillow (which gives up the GIL while it decodes) and hand the pixels back. They are started when the first such sample
comes by.
"""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pyfastdl import _core

__all__ = ["decode_rgb", "describe_failure", "start_threads"]

# Threads look up from their queue this often, in seconds; stopping wakes them at once.
_POLL = 60.0


def decode_rgb(data: Any) -> npt.NDArray[np.uint8]:
    """What ``Image.open(data).convert("RGB")`` gives, as an array (height, width, 3)."""
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def describe_failure(error: BaseException, data: Any) -> str:
    """Why a sample could not be decoded: Pillow's words, or what the bytes look like where it knows no image."""
    from PIL import UnidentifiedImageError

    from pyfastdl import _core

    if isinstance(error, UnidentifiedImageError):
        return f"wanted an image, got {_core.describe(data)}"
    return f"{error}" or type(error).__qualname__


def start_threads(pipeline: _core.Pipeline, count: int, threads: list[threading.Thread]) -> None:
    """Starts ``count`` threads that decode for this pipeline until it is closed, and adds each to ``threads``."""
    for number in range(count):
        # The worker keeps the pipeline's memory, not the pipeline: dropping that is what ends the thread.
        worker = pipeline.pillow_worker()
        # Daemons: at the interpreter's exit the pipeline is closed by an atexit handler, which runs after the
        # interpreter has waited for all other threads.
        thread = threading.Thread(target=_serve, args=(worker,), name=f"pyfastdl-pillow-{number}", daemon=True)
        thread.start()
        threads.append(thread)


def _serve(worker: _core.PillowWorker) -> None:
    while not worker.stopped():
        if not worker.next(_POLL):
            continue
        data = worker.data()
        try:
            worker.complete(decode_rgb(data))
        except BaseException as error:  # also what plugins raise past Exception: a lost sample is a wait without an end
            worker.fail(describe_failure(error, data))
