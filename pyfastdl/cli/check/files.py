"""Which files are checked: folders, files, names from stdin; all of them or a sample."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterable, Sequence

__all__ = ["NotFound", "collect", "sample"]


class NotFound(Exception):
    """A path on the command line that isn't there: a mistake of whoever typed it, not a finding."""


def collect(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """
    Args:
        paths: files; folders, of which every image below is taken, with or without class folders (by the scan that the
            loaders use: suffixes count, links are followed, a loop is walked once, hidden folders are left out); ``-``
            for names on stdin, one a line or with NUL bytes between them.

    Returns:
        The files, each once, in the order in which they were named; and notes on what was left out.

    Raises:
        NotFound: for a path that isn't there.
    """
    files: dict[str, None] = {}
    notes: list[str] = []
    for path in paths:
        if path == "-":
            # What a list names and isn't there any more is the list's business: it will be one of the refused files.
            for name in _names_on_stdin():
                _add(name, files, notes)
        elif not os.path.lexists(path):
            raise NotFound(f"there is no file or folder {path!r}")
        else:
            _add(path, files, notes)
    return list(files), notes


def sample(files: Sequence[str], limit: int | None, seed: int) -> list[str]:
    """``limit`` of the files by chance, in the same order; all of them for None."""
    if limit is None or limit >= len(files):
        return list(files)
    return [files[i] for i in sorted(random.Random(seed).sample(range(len(files)), limit))]


def _add(path: str, files: dict[str, None], notes: list[str]) -> None:
    if not os.path.isdir(path):
        files[path] = None
        return
    from pyfastdl import _core

    try:
        found = _core.list_images(path)
    except OSError as error:
        notes.append(f"{path}: {error}")
        return
    notes.extend(found.notes)
    files.update((found.paths[i], None) for i in range(len(found.paths)))


def _names_on_stdin() -> list[str]:
    data = sys.stdin.buffer.read()
    names = data.split(b"\0") if b"\0" in data else data.splitlines()
    return [os.fsdecode(name) for name in names if name]
