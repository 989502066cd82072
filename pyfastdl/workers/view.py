"""The loader, as torch's iterators see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyfastdl.dataloader import DataLoader

__all__ = ["LoaderView"]


class LoaderView:
    """All of the loader's attributes, but the dataset that is loaded from, which may stand in for the user's."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader
        self.dataset = loader._loaded_dataset()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
