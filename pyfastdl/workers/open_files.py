"""Files that a dataset keeps open: a file has one position, and workers that share it read each other's records."""

from __future__ import annotations

import fcntl
import io
import itertools
import os
import stat
import tarfile
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

import torch

__all__ = ["find_shared", "own_positions", "refuse_shared"]

# Of a list or a dict of files, so many are looked at: they are all alike.
_FIRST_ITEMS = 16
# So many objects are looked at in all.
_MOST = 1000


def own_positions() -> None:
    """In a worker process: each file that it inherited by fork, and only reads, gets a position of its own.

    A forked process shares positions with its parent and all other workers, so that `seek()` and `read()` of one come
    between those of another. The descriptor keeps its number, and so every file object its file.
    """
    for entry in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        fd = int(entry)
        if fd <= 2:
            continue  # a position of stdin's that is shared is meant so
        try:
            flags = fcntl.fcntl(fd, fcntl.F_GETFL)
            # Those that write, too, may rely on a common end: logs.
            if not stat.S_ISREG(os.fstat(fd).st_mode) or flags & os.O_ACCMODE != os.O_RDONLY or flags & os.O_PATH:
                continue
            own = os.open(f"/proc/self/fd/{fd}", flags | os.O_CLOEXEC)
        except OSError:  # that listing's own descriptor, or a file that isn't ours to open any more
            continue
        try:
            os.lseek(own, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
            os.dup2(own, fd, inheritable=os.get_inheritable(fd))
        finally:
            os.close(own)


def refuse_shared(dataset: Any) -> None:
    """For worker threads, which have one dataset and so one position together.

    Raises:
        ValueError: the dataset has an open file, and nothing that looks as if it took care of that.
    """
    found = find_shared(dataset)
    if found is None:
        return
    where, file = found
    name = getattr(file, "name", None)
    raise ValueError(
        f"the dataset's {where} is an open file{f' ({name})' if isinstance(name, str) else ''}, and all worker threads "
        "would share its position: one would read another's record. Read with os.pread(file.fileno(), size, offset), "
        'or keep a file for each thread (threading.local), or use worker_mode="process". If the dataset locks its '
        "reads, or doesn't use the position, say so by an attribute: thread_safe = True"
    )


def find_shared(dataset: Any) -> tuple[str, Any] | None:
    """The first open file that can be read and has a position, with the way to it ("dataset.file").

    Looked through are datasets, lists, tuples, dicts, and objects of classes that the dataset's own author wrote (of
    the same package): a library's object may well lock what it reads. So may one that has a lock beside the file.
    """
    package = _package(dataset)
    queue, seen = deque([("", dataset)]), {id(dataset)}
    while queue:
        where, value = queue.popleft()
        if isinstance(value, tarfile.TarFile):
            return where, value
        if isinstance(value, io.IOBase):
            if not value.closed and value.readable() and value.seekable():
                return where, value
            continue
        for name, item in _parts(value, package):
            if id(item) not in seen and len(seen) < _MOST:
                seen.add(id(item))
                queue.append((f"{where}{name}".removeprefix("."), item))
    return None


def _parts(value: Any, package: str) -> Iterable[tuple[str, Any]]:
    if type(value) in (list, tuple):
        return ((f"[{place}]", item) for place, item in enumerate(value[:_FIRST_ITEMS]))
    if type(value) is dict:
        try:
            first = list(itertools.islice(value.items(), _FIRST_ITEMS))
        except RuntimeError:  # other workers fill it: a cache, and no table of files
            return ()
        return ((f"[{key!r}]", item) for key, item in first)
    if isinstance(value, type) or not (isinstance(value, torch.utils.data.Dataset) or _package(value) == package):
        return ()
    own = dict(getattr(value, "__dict__", {}))
    if getattr(value, "thread_safe", False) is True or any(map(_guards, own.values())):
        return ()
    return ((f".{name}", item) for name, item in own.items())


def _guards(value: Any) -> bool:
    return isinstance(value, threading.local) or (hasattr(value, "acquire") and hasattr(value, "release"))


def _package(value: Any) -> str:
    return type(value).__module__.partition(".")[0]
