"""torchvision's transforms where pyfastdl's are wanted. They are callable, so they would run in Python unnoticed."""

from __future__ import annotations

from typing import Any

from pyfastdl.transforms.transform import Transform

__all__ = ["refuse_torchvisions"]


def refuse_torchvisions(transform: Any, behind: Any = None) -> None:
    """
    Args:
        transform: an element of a list of transforms, or what was given instead of a list.
        behind: a callable that stands before it in the list.

    Raises:
        TypeError: for an object (or class) of torchvision's that pyfastdl has an equal of. All else may be a callable.
    """
    kind = transform if isinstance(transform, type) else type(transform)
    # Told by its module, since torchvision may not be installed. A subclass of the user's is a callable of the user's.
    if not f"{kind.__module__}.".startswith("torchvision.transforms."):
        return
    from pyfastdl import transforms as ours

    name = kind.__name__
    imported = "(from pyfastdl import transforms as T)"
    if name == "Compose":
        raise TypeError(
            f"this Compose is torchvision's ({kind.__module__}): pass its list itself, made of pyfastdl's transforms "
            f"{imported}"
        )
    equal = getattr(ours, name) if name in ours.__all__ else None
    if isinstance(equal, type) and issubclass(equal, Transform) and equal is not Transform:
        where = ""
        if behind is not None:
            where = (
                f", before the Python callable {behind!r}; or call torchvision's within a function of your own, if it "
                "is to run behind that, in Python"
            )
        raise TypeError(f"{transform!r} is torchvision's: write pyfastdl.transforms.{name} {imported}{where}")
