"""Sources: what they list equals torchvision's list, and what they can't take is refused in words."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torchvision.datasets import ImageFolder

from pyfastdl import _core
from pyfastdl._samples import pack_paths, pack_samples, pack_targets
from pyfastdl.sources import open_source


def touch(root: Path, *names: str | bytes) -> None:
    for name in names:
        path = os.path.join(os.fsencode(root), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"x")


def scanned(root, **options):
    """(samples, classes) as torchvision's ImageFolder has them."""
    found = _core.scan_folder(root, **{"ignore_hidden": False, **options})
    paths = [found.paths[i] for i in range(len(found.paths))]
    return list(zip(paths, found.labels.tolist(), strict=True)), found.classes


def assert_as_torchvision(root) -> None:
    theirs = ImageFolder(root, allow_empty=True)
    samples, classes = scanned(root, allow_empty=True)
    assert samples == theirs.samples
    assert classes == theirs.classes


# -- folders


def test_lists_what_torchvision_lists(tmp_path):
    touch(
        tmp_path, "1/a.jpg", "2/a.jpg", "10/a.jpg", "a/x.JPG", "a/x.JpEg", "B/y.png", "é/z.webp", "a/n/m/1.bmp",
        "a/n-m/2.pgm", "a/n/3.ppm", "a/n0/4.TIFF", "a/.jpg", "a/.h.tif", "a/._q.jpg", ".hid/x.jpg", "B/t.txt",
        "B/gif.gif", "loose.jpg",
        b"\xff\xfe/\x80.jpg", b"\xff\xfe/\xef\xbc\x81.jpg", b"\xff\xfe/\xc3\xa9.jpg", "a/dir.jpg/in.jpg",
    )  # fmt: skip
    os.symlink("../1/a.jpg", tmp_path / "a" / "link.jpg")
    os.symlink("../1", tmp_path / "a" / "linked")
    os.symlink("1", tmp_path / "linked-class")
    os.symlink("nowhere", tmp_path / "a" / "dangling.jpg")
    os.symlink("nowhere", tmp_path / "dangling")
    os.mkfifo(tmp_path / "a" / "fifo.jpg")
    for root in (tmp_path, str(tmp_path), f"{tmp_path}/", f"{tmp_path}//", f"{tmp_path}/1/.."):
        assert_as_torchvision(root)


def test_relative_roots_stay_relative(tmp_path, monkeypatch):
    touch(tmp_path, "data/a/x.jpg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for root in ("data", "./data", "data/", Path("data")):
        assert_as_torchvision(root)
        assert open_source(root).samples == ImageFolder(root).samples
    assert open_source("~/data").samples == ImageFolder("~/data").samples
    assert open_source(b"data").samples == [("data/a/x.jpg", 0)]


# Names of bytes: ASCII that sorts around "/" and ".", letters beyond, and what no UTF-8 has.
_pieces = st.sampled_from(
    [b"a", b"B", b"-", b"0", b" ", b"~", b"\n", b"\xc3\xa9", b"\xef\xbc\x81", b"\xf0\x9f\x98\x80", b"\xff", b"\x80",
     b"\xed\xa0\x80", b"\xc3", b"\xe2\x82", b"\xc4\xb0", b"\xe2\x84\xaa"]
)  # fmt: skip
_names = st.lists(_pieces, min_size=1, max_size=3).map(b"".join)
_suffixes = st.sampled_from(
    [
        b".jpg",
        b".JPG",
        b".jPeG",
        b".png",
        b".webp",
        b".tif",
        b".TIFF",
        b".txt",
        b"",
        b".",
        b".jpg ",
        b"jpg",
        b".t\xc4\xb0f",
    ]
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(st.lists(_names, min_size=1, max_size=3), _names, _suffixes), min_size=1, max_size=12))
def test_sorts_any_names_as_torchvision_does(tmp_path_factory, files):
    root = os.fsencode(tmp_path_factory.mktemp("tree"))
    for folders, name, suffix in files:
        path = os.path.join(root, *folders, name + suffix)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb"):
                pass
        except (NotADirectoryError, FileExistsError, IsADirectoryError):
            continue  # one name for a file and a folder
    if any(os.path.isdir(os.path.join(root, name)) for name in os.listdir(root)):
        assert_as_torchvision(os.fsdecode(root))


def test_a_link_loop_is_walked_once(tmp_path):
    touch(tmp_path, "a/x.jpg", "a/sub/y.jpg", "b/z.jpg")
    os.symlink("..", tmp_path / "a" / "sub" / "up")
    os.symlink(tmp_path, tmp_path / "b" / "root")
    source = open_source(tmp_path)
    assert [os.path.relpath(path, tmp_path) for path, _ in source.samples] == ["a/x.jpg", "a/sub/y.jpg", "b/z.jpg"]
    assert len(ImageFolder(tmp_path).samples) > 80  # torchvision: until the system gives up
    (note,) = source.notes
    assert "2 links" in note and "listed once" in note


def test_ignores_what_is_no_part_of_a_dataset_and_says_so(tmp_path):
    touch(tmp_path, "a/x.jpg")
    wanted = ImageFolder(tmp_path)
    touch(
        tmp_path, "a/._x.jpg", "a/.ipynb_checkpoints/x.jpg", "a/Thumbs.db", ".git/x.jpg", "__MACOSX/a/x.jpg",
        ".ipynb_checkpoints/y.png",
    )  # fmt: skip
    source = open_source(tmp_path)
    assert source.samples == wanted.samples
    assert source.classes == wanted.classes
    notes = "\n".join(source.notes)
    for name in ("3 hidden folders", "._x.jpg", "Thumbs.db", "__MACOSX"):
        assert name in notes
    assert len(source.notes) == 4
    assert_as_torchvision(tmp_path)  # with ignore_hidden=False: all of them


@pytest.mark.parametrize("missing", ["empty class", "no class", "no root", "a file"])
def test_errors_are_torchvisions(tmp_path, missing):
    root = tmp_path / "data"
    if missing == "empty class":
        touch(root, "a/x.jpg", "b/x.txt", "c/d/e.gif")
    elif missing == "no class":
        touch(root, "x.jpg")
    elif missing == "a file":
        touch(tmp_path, "data")
    with pytest.raises(OSError) as theirs:
        ImageFolder(root)
    with pytest.raises(OSError) as ours:
        open_source(root)
    assert type(ours.value) is type(theirs.value)
    assert ours.value.errno == theirs.value.errno
    assert str(ours.value).startswith(str(theirs.value))
    assert len(str(ours.value)) > len(str(theirs.value)) + 20  # what to change


def test_a_folder_refuses_what_cannot_be_meant(tmp_path):
    touch(tmp_path, "a/x.jpg")
    with pytest.raises(ValueError, match="folder of class folders"):
        open_source(tmp_path, targets=[1])
    with pytest.raises(ValueError, match="null byte"):
        open_source("a\0b")


def test_sources_of_folders_have_torchvisions_attributes(tmp_path):
    touch(tmp_path, *[f"c{i % 3}/{i}.jpg" for i in range(10)])
    theirs, source = ImageFolder(tmp_path), open_source(tmp_path)
    assert source.class_to_idx == theirs.class_to_idx
    assert source.targets == theirs.targets
    assert source.samples == theirs.samples
    assert source.target_array.dtype == np.int64
    assert len(source) == 10
    again = pickle.loads(pickle.dumps(source))
    assert again.samples == theirs.samples and again.classes == theirs.classes and again.targets == theirs.targets


# -- lazy sequences


def test_lazy_sequences_act_as_lists():
    pairs = [(f"f/{i}.jpg", i * i) for i in range(20)]
    source = open_source(pairs)
    samples, targets = source.samples, source.targets
    for lazy, real in ((samples, pairs), (targets, [t for _, t in pairs])):
        assert lazy == real and lazy == tuple(real)
        assert lazy != real[:-1] and lazy != [*real[:-1], None]
        assert lazy[3] == real[3] and lazy[-1] == real[-1] and lazy[np.int64(2)] == real[2]
        assert lazy[2:9:3] == real[2:9:3] and lazy[::-1] == real[::-1]
        assert list(lazy) == real and list(reversed(lazy)) == real[::-1]
        assert real[5] in lazy and lazy.index(real[5]) == 5
        for outside in (20, -21):
            with pytest.raises(IndexError):
                lazy[outside]
        with pytest.raises(TypeError):
            lazy["0"]
    assert type(samples[0]) is tuple and type(samples[0][1]) is int
    assert repr(samples) == "<Samples: 20 [('f/0.jpg', 0), ('f/1.jpg', 1), ('f/2.jpg', 4), …]>"
    assert repr(targets[:2]) == "[0, 1]"
    assert np.asarray(targets).tolist() == list(targets)
    np.asarray(targets)[:] = 7  # a copy
    assert targets[2] == 4
    assert torch.tensor(targets).tolist() == list(targets)
    assert repr(source) == "<Source: 20 files, targets (20,)>"


# -- lists


def test_lists_of_files():
    class Weird(str):
        pass

    for files in (
        ["a/x.jpg", "b.png"],
        ("a/x.jpg", "b.png"),
        [b"a/x.jpg", b"b.png"],
        [Path("a/x.jpg"), Path("b.png")],
        [Weird("a/x.jpg"), os.path.join("", "b.png")],
        np.array(["a/x.jpg", "b.png"]),
        np.array(["a/x.jpg", "b.png"], dtype=object),
    ):
        source = open_source(files)
        assert source.samples == [("a/x.jpg", None), ("b.png", None)]
        assert source.targets is None and source.target_array is None
        assert source.classes is None and source.class_to_idx is None
        assert source.notes == ()


@given(
    st.lists(st.one_of(st.binary(max_size=12).map(lambda b: b.replace(b"\0", b"/")), st.text(max_size=8)), min_size=1)
)
def test_any_path_survives(paths):
    def allowed(path):
        try:
            return "\0" not in path and os.fsencode(path) is not None
        except UnicodeEncodeError:
            return False

    paths = [path for path in paths if isinstance(path, bytes) or allowed(path)]
    table = _core.PathTable.from_packed(*pack_paths(paths))
    assert [os.fsencode(table[i]) for i in range(len(table))] == [os.fsencode(path) for path in paths]


def test_what_is_no_list_is_refused_in_words():
    for data, words in (
        ([], "empty list"),
        (np.array([], dtype=str), "empty list"),
        (3, "type int"),
        (None, "type NoneType"),
        ({"a": 1}, "type dict"),
        ({"a", "b"}, r"list\(data\)"),
        ((x for x in "ab"), r"list\(data\)"),
        (torch.utils.data.TensorDataset(torch.zeros(3)), "torch.utils.data.DataLoader"),
        ([3], r"data\[0\] is of type int"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (["a", 3], r"data\[1\] is of type int \(3\)"),
        (["a", ("b", 1)], r"data\[1\] is of type tuple"),
        ([("a", 1), "bc"], r"data\[1\] is of type str"),
        ([("a", 1), ("b",)], r"data\[1\] is of type tuple"),
        ([("a", 1), ("b", 1, 2)], r"data\[1\] is of type tuple"),
        ([("a", 1), (2, 1)], r"data\[1\] is of type int"),
        (["a\0b"], r"data\[0\]: embedded null byte"),
        (["a", "\ud800"], r"data\[1\] can't be the name of a file"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            open_source(data)


# -- size


def test_a_list_that_changes_while_it_is_read_is_an_error():
    class Growing(list):
        def __len__(self):
            return 2

    for pack, items in ((pack_paths, ["a"] * 3), (pack_targets, [1] * 3), (pack_samples, [("a", 1)] * 3)):
        with pytest.raises(RuntimeError, match="changed its length"):
            pack(Growing(items))
        with pytest.raises(RuntimeError, match="changed its length"):
            pack(Growing(items[:1]))


class MadeOnTheWay:
    """A list of (path, target) that makes its items while it is read."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        return (
            (f"/data/imagenet/train/n{i // 1300:08d}/n{i // 1300:08d}_{i}.JPEG", i // 1300) for i in range(self.length)
        )


def test_millions_of_paths_are_no_python_objects():
    arena, offsets, targets = pack_samples(MadeOnTheWay(2_000_000))
    table = _core.PathTable.from_packed(arena, offsets)
    assert len(table) == 2_000_000
    assert table[1_999_999] == "/data/imagenet/train/n00001538/n00001538_1999999.JPEG"
    assert (table.memory_bytes() + targets.nbytes) / len(table) < 60


def test_packing_takes_the_results_memory_and_no_more():
    tracemalloc.start()
    try:
        arena, offsets, targets = pack_samples(MadeOnTheWay(50_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The arena grows by half, and is copied once at the end.
    assert peak < 2.6 * (len(arena) + offsets.nbytes + targets.nbytes)


def test_packing_keeps_nothing_of_the_list():
    files = [f"folder/é{i}.jpg" for i in range(100)] + [f"folder/{i}.jpg" for i in range(100)]
    before = [(sys.getsizeof(name), sys.getrefcount(name)) for name in files]
    pack_paths(files)
    assert [(sys.getsizeof(name), sys.getrefcount(name)) for name in files] == before


# -- the rest of the binding


def test_path_table_is_a_sequence_of_str():
    table = _core.PathTable.from_packed(b"a/bc\xff", np.array([0, 3, 5]))
    assert [table[0], table[1], table[-1]] == ["a/b", "c\udcff", "c\udcff"]
    for outside in (2, -3):
        with pytest.raises(IndexError):
            table[outside]
    again = pickle.loads(pickle.dumps(table))
    assert [again[0], again[1]] == ["a/b", "c\udcff"]
    for arena, offsets in ((b"ab", [0, 3]), (b"ab", [1, 0]), (b"ab", []), (b"a\0", [0, 2]), (b"ab", [[0, 1]])):
        with pytest.raises(ValueError):
            _core.PathTable.from_packed(arena, np.array(offsets, np.int64))
    with pytest.raises(TypeError):
        _core.PathTable.from_packed(np.zeros((2, 2)), np.array([0]))


def test_permutation_is_a_function_of_seed_and_epoch():
    order = _core.permutation(1000, 3, 5)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(1000))
    assert np.array_equal(order, _core.permutation(1000, 3, 5))
    assert not np.array_equal(order, _core.permutation(1000, 4, 5))
    assert not np.array_equal(order, _core.permutation(1000, 3, 6))
    assert np.array_equal(_core.permutation(50, -1, 0), _core.permutation(50, 2**64 - 1, 0))
    assert _core.permutation(10, 0, 0).tolist() == [3, 4, 0, 6, 9, 1, 7, 5, 8, 2]
    assert _core.permutation(0, 0, 0).tolist() == []


def test_granted_cpus_follow_affinity():
    allowed = os.sched_getaffinity(0)
    assert 1 <= _core.granted_cpus() <= len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert _core.granted_cpus() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_scan_answers_ctrl_c(tmp_path):
    touch(tmp_path, "a/x.jpg")

    def interrupt(*_):
        raise KeyboardInterrupt

    # The signal is there before the scan begins, so that the first look finds it.
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGUSR1)
            _core.scan_folder(tmp_path)
    finally:
        signal.signal(signal.SIGUSR1, before)
