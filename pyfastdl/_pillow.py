"""In which order the installed Pillow runs the two passes of a resize: the results differ by 1 in some pixels.

"Exact" means exact to the installed Pillow. Its version says which rule it follows; a probe of a few pixels confirms
it, and where the two disagree (a build with patches, a version to come) the probe is believed.
"""

from __future__ import annotations

import os

__all__ = ["PASS_ORDERS", "pass_order"]

# What each order means, by the two sizes (height, width) before and after: see csrc/transform/filter.h.
PASS_ORDERS = ("horizontal_first", "tall_vertical_first", "shrink_vertical_first")

ENVIRONMENT_VARIABLE = "PYFASTDL_PILLOW_PASS_ORDER"

_found: str | None = None  # no lock: each thread finds the same, and a lock may be taken when a process forks


def pass_order(pinned: str | None = None) -> str:
    """The order of the resize passes: one of :data:`PASS_ORDERS`.

    Args:
        pinned: this order, whatever Pillow is installed, so that a run elsewhere can be repeated. So does the
            environment variable ``PYFASTDL_PILLOW_PASS_ORDER``, when nothing is passed here.

    Raises:
        ValueError: for a name that is not one of the orders.
    """
    global _found
    if pinned is not None:
        return _checked(pinned, "pass_order")
    if from_environment := os.environ.get(ENVIRONMENT_VARIABLE):
        return _checked(from_environment, ENVIRONMENT_VARIABLE)
    if _found is None:
        import PIL

        by_version = _by_version(PIL.__version__)
        _found = by_version if _behaves_like(by_version) else _by_probe(by_version)
    return _found


def _checked(name: str, what: str) -> str:
    if name not in PASS_ORDERS:
        raise ValueError(f"{what} must be one of {', '.join(PASS_ORDERS)}, got {name!r}")
    return name


def _by_version(version: str) -> str:
    """The rule of a Pillow of this version (forks such as pillow-simd count as the Pillow they started from)."""
    numbers = []
    for part in version.split(".")[:2]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    if numbers >= [13]:
        return "shrink_vertical_first"
    return "tall_vertical_first" if numbers >= [12, 2] else "horizontal_first"


# Two sizes (height, width), before and after, that tell the orders apart: a very tall image, and one whose height
# shrinks by more than twice what its width does.
_PROBES = (((404, 4), (3, 3)), ((40, 12), (7, 10)))


def _vertical_first(order: str) -> list[bool]:
    """What an order does with each of the probes."""
    return {
        "horizontal_first": [False, False],
        "tall_vertical_first": [True, False],
        "shrink_vertical_first": [True, True],
    }[order]


def _behaves_like(order: str) -> bool:
    return _probed() == _vertical_first(order)


def _by_probe(otherwise: str) -> str:
    """The order that the installed Pillow shows; a behaviour that fits none is left to its version."""
    seen = _probed()
    return next((order for order in PASS_ORDERS if _vertical_first(order) == seen), otherwise)


def _probed() -> list[bool | None]:
    """For each probe, whether the installed Pillow runs the vertical pass first; None when it can't be told."""
    import random

    from PIL import Image

    answers: list[bool | None] = []
    for before, after in _PROBES:
        pixels = random.Random(1).randbytes(before[0] * before[1] * 3)
        image = Image.frombytes("RGB", (before[1], before[0]), pixels)
        bilinear = Image.Resampling.BILINEAR
        at_once = image.resize((after[1], after[0]), bilinear).tobytes()
        vertical = image.resize((before[1], after[0]), bilinear).resize((after[1], after[0]), bilinear).tobytes()
        horizontal = image.resize((after[1], before[0]), bilinear).resize((after[1], after[0]), bilinear).tobytes()
        same = at_once == vertical, at_once == horizontal
        answers.append(None if same[0] == same[1] else same[0])
    return answers
