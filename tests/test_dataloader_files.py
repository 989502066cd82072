"""A dataset that keeps files open, whose positions workers would share: right records, or a refusal. Case L12."""

from __future__ import annotations

import gzip
import os
import tarfile
import threading

import pytest
import torch
from loaders import MODES, Sharded, Squares
from torch.utils.data import ConcatDataset, DataLoader, Subset

import pyfastdl
from pyfastdl.workers.open_files import find_shared

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

RECORD = 8000  # so that a file object's buffer holds one record, and a race has time to happen


class Records(torch.utils.data.Dataset):
    """Record i has only bytes i."""

    def __init__(self, path, length=200, buffering=-1):
        self.path = path
        self.length = length
        self.file = open(path, "rb", buffering)  # noqa: SIM115

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        self.file.seek(index * RECORD)
        data = torch.frombuffer(bytearray(self.file.read(RECORD)), dtype=torch.uint8)
        return index, data

    def __del__(self):
        self.file.close()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"".join(bytes([i]) * RECORD for i in range(200)))
    return path


def wrong(loader):
    """How many records aren't those that were asked for."""
    count = 0
    for indices, data in loader:
        assert data.shape[1:] == (RECORD,)
        count += int((data != indices.to(torch.uint8)[:, None]).any(1).sum())
    return count


of_processes = pytest.mark.skipif("process" not in MODES, reason="of processes")
of_threads = pytest.mark.skipif("thread" not in MODES, reason="of threads")


@of_processes
@pytest.mark.parametrize("buffering", [0, -1])
@pytest.mark.parametrize("persistent", [False, True])
def test_forked_workers_read_their_own_records(path, buffering, persistent):
    """They have one position together, as they are forked: torch's workers give wrong records."""
    dataset = Records(path, buffering=buffering)
    position = os.lseek(dataset.file.fileno(), 40, os.SEEK_SET)
    arguments = {"multiprocessing_context": "fork", "persistent_workers": persistent, "worker_mode": "process"}
    assert wrong(pyfastdl.DataLoader(dataset, 10, num_workers=4, **arguments)) == 0
    assert os.lseek(dataset.file.fileno(), 0, os.SEEK_CUR) == position, "the parent's stays where it was"
    assert wrong(DataLoader(dataset, 10)) == 0


class Tells(torch.utils.data.Dataset):
    """Where worker 0's read leaves the descriptors for worker 1, which comes after it."""

    def __init__(self, files):
        self.files = files

    def __len__(self):
        return 2

    def __getitem__(self, index):
        read, written = self.files
        os.write(written.fileno(), b"!")
        return os.read(read.fileno(), 3)


@of_processes
def test_what_is_shared_on_purpose_stays_shared(tmp_path):
    """Files that are written to have one end; pipes have no position. And a removed file is a file."""
    (tmp_path / "records").write_bytes(b"abcdef")
    with open(tmp_path / "records", "rb") as read, open(tmp_path / "log", "wb") as written:
        os.unlink(tmp_path / "records")
        loader = pyfastdl.DataLoader(
            Tells([read, written]), None, num_workers=2, worker_mode="process", multiprocessing_context="fork"
        )
        assert list(loader) == [b"abc", b"abc"]
    assert (tmp_path / "log").read_bytes() == b"!!"


@of_processes
@pytest.mark.filterwarnings("ignore:Got pickle error")
@pytest.mark.parametrize("loader_class", [DataLoader, pyfastdl.DataLoader])
def test_spawned_workers_refuse_as_torchs_do(path, loader_class):
    with pytest.raises(TypeError, match="cannot pickle"):
        list(loader_class(Records(path), 10, num_workers=1, multiprocessing_context="spawn"))


@of_threads
@pytest.mark.parametrize("wrapped", [lambda d: d, lambda d: Subset(d, range(50)), lambda d: ConcatDataset([d, d])])
def test_threads_refuse(path, wrapped, monkeypatch):
    monkeypatch.delenv("PYFASTDL_WORKER_MODE", raising=False)
    for arguments in ({"num_workers": 4, "worker_mode": "thread"}, {"num_workers": "auto"}):
        loader = pyfastdl.DataLoader(wrapped(Records(path)), 10, **arguments)
        with pytest.raises(ValueError, match=r"file is an open file \(.*records\).*os.pread.*thread_safe = True"):
            iter(loader)
    one = pyfastdl.DataLoader(wrapped(Records(path)), 10, num_workers=1, worker_mode="thread")
    assert wrong(one) == 0, "one thread shares nothing"


@of_threads
def test_threads_refuse_what_the_first_sample_opens(path):
    """The habit with worker processes, each of which opens its own."""

    opening = threading.Lock()

    class Lazy(Records):
        file = None

        def __init__(self, path):
            self.path, self.length = path, 200

        def __getitem__(self, index):
            with opening:
                if self.file is None:
                    self.file = open(self.path, "rb")  # noqa: SIM115
            return super().__getitem__(index)

    loader = pyfastdl.DataLoader(Lazy(path), 10, num_workers=4, worker_mode="thread")
    with pytest.raises(ValueError, match="file is an open file"):
        next(iter(loader))


@of_threads
def test_threads_take_what_says_that_it_is_safe(path):
    class Pread(Records):
        thread_safe = True

        def __getitem__(self, index):
            data = os.pread(self.file.fileno(), RECORD, index * RECORD)
            return index, torch.frombuffer(bytearray(data), dtype=torch.uint8)

    class Locked(Records):
        def __init__(self, path):
            super().__init__(path)
            self.lock = threading.Lock()

        def __getitem__(self, index):
            with self.lock:
                return super().__getitem__(index)

    for dataset in (Pread(path), Locked(path), Subset(Pread(path), range(100))):
        assert wrong(pyfastdl.DataLoader(dataset, 10, num_workers=4, worker_mode="thread")) == 0


class Reader:
    def __init__(self, file):
        self.file = file


def test_what_is_found_and_what_is_no_such_file(path, tmp_path):
    def way(**attributes):
        dataset = Squares()
        vars(dataset).update(attributes)
        found = find_shared(dataset)
        return None if found is None else found[0]

    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(path, "records")
    closed = open(path, "rb")  # noqa: SIM115
    closed.close()
    with (
        open(path, "rb") as file,
        open(path) as text,
        open(tmp_path / "log", "w") as log,
        gzip.open(tmp_path / "a.gz", "wb") as zipped,
        tarfile.open(tmp_path / "a.tar") as archive,
    ):
        assert way(file=file) == "file"
        assert way(lines=text) == "lines"
        assert way(shards=[file, file]) == "shards[0]"
        assert way(by_name={"a": (closed, file)}) == "by_name['a'][1]"
        assert way(inner=Subset(ConcatDataset([Squares(), Records(path)]), [0])) == "inner.dataset.datasets[1].file"
        assert way(archive=archive) == "archive"
        assert way(log=log, zipped=zipped, closed=closed, path=str(path), fd=file.fileno(), data=torch.ones(3)) is None
        assert way(library=gzip, kind=Reader, call=file.read) is None
        own = type("Own", (Reader,), {"__module__": Squares.__module__ + ".readers"})
        assert way(reader=own(file)) == "reader.file"
        assert way(reader=[type("Others", (Reader,), {"__module__": "elsewhere"})(file)]) is None
        assert way(file=file, lock=threading.RLock()) is None
        assert way(file=file, thread_safe=True) is None
        circle = own(None)
        circle.file = circle
        assert way(circle=circle) is None
    assert find_shared([1, 2]) is None and find_shared(Sharded()) is None
