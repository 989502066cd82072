"""Datasets that the core doesn't load, with the reason; and the life of loaders of those that it does."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import threading
import warnings

import numpy as np
import pytest
import torch
import torchvision
from file_datasets import EVALUATION, TRAINING, folder, is_native, numbered, with_targets
from loaders import Invert, assert_same, tasks, until
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import transforms as v1

import pyfastdl
from pyfastdl import transforms as T

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def double(target):
    return {"twice": 2 * target}


# -- what isn't lowered


class Other(torchvision.datasets.ImageFolder):
    def __getitem__(self, index):
        image, target = super().__getitem__(index)
        return image, target + 100


class Counted(torchvision.datasets.ImageFolder):
    """A subclass that only lists other files."""

    def find_classes(self, directory):
        return ["bee"], {"bee": 0}


def read_red(path):
    return Image.new("RGB", (64, 64), "red")


def patched(root):
    dataset = folder(root)
    dataset.__getitems__ = lambda indices: [(torch.zeros(1), 7) for _ in indices]
    return dataset


KEPT = {
    "another __getitem__": (lambda root: Other(root, EVALUATION), "has a __getitem__ of its own"),
    "a method on the object": (patched, "has a __getitems__ of its own"),
    "a loader": (lambda root: folder(root, loader=read_red), "a loader of its own"),
    "pictures": (lambda root: folder(root, Invert()), "Invert comes first: pyfastdl doesn't know it"),
    "transforms that differ": (
        lambda root: ConcatDataset([folder(root), folder(root, TRAINING[0])]),
        "different transforms",
    ),
    "any dataset": (lambda root: torch.utils.data.TensorDataset(torch.arange(5)), "doesn't know what a TensorDataset"),
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_is_not_lowered_says_why(kind, image_folder):
    make, why = KEPT[kind]
    dataset = make(image_folder)
    loader = pyfastdl.DataLoader(dataset, batch_size=3, worker_mode="auto")
    assert "not loaded natively" in loader.explain()
    assert why in loader.explain()
    with pytest.raises(ValueError, match=r"can't be loaded natively"):
        pyfastdl.DataLoader(dataset, worker_mode="native")
    if kind not in ("pictures", "transforms that differ"):
        assert_same(list(loader), list(DataLoader(dataset, batch_size=3)))


def test_a_subclass_that_lists_other_files_is_lowered(image_folder):
    dataset = Counted(image_folder, EVALUATION)
    loader = pyfastdl.DataLoader(dataset, batch_size=4, worker_mode="native")
    assert len(dataset) == 5
    assert_same(list(loader), list(DataLoader(dataset, batch_size=4)))


def test_another_image_backend_is_not_lowered(image_folder, monkeypatch):
    monkeypatch.setattr(torchvision, "_image_backend", "accimage")
    assert "accimage" in pyfastdl.DataLoader(folder(image_folder), worker_mode="auto").explain()


@pytest.mark.parametrize("mode", ["thread", "process"])
def test_other_modes_leave_the_dataset_to_python(mode, image_folder):
    loader = pyfastdl.DataLoader(folder(image_folder), batch_size=4, num_workers=2, worker_mode=mode)
    assert "native" not in loader.explain()
    assert_same(list(loader), list(DataLoader(folder(image_folder), batch_size=4)))


def test_torchvision_is_not_needed(image_folder, run_python):
    code = """
import sys, torch, pyfastdl
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torchvision":
            raise ImportError(name)
sys.meta_path.insert(0, Block())
dataset = pyfastdl.ImageFolder(sys.argv[1], [pyfastdl.transforms.Resize((8, 9))])
loader = pyfastdl.DataLoader(dataset, batch_size=5)
assert [tuple(images.shape) for images, _ in loader] == [(5, 3, 8, 9)] * 3
assert "without workers" in loader.explain()
assert list(pyfastdl.DataLoader(range(3))) == [0, 1, 2]
"""
    done = run_python(code, str(image_folder), env={"PYFASTDL_WORKER_MODE": "auto"})
    assert done.returncode == 0, done.stderr


# -- our own folder


def test_our_own_folder_is_loaded_whole(image_folder):
    views = [[T.Resize((8, 8))], [T.CenterCrop(6), T.RandomHorizontalFlip(1.0)]]
    for transform in (views[0], views):
        dataset = Subset(pyfastdl.ImageFolder(image_folder, transform), [4, 9, 2, 2])
        loader = pyfastdl.DataLoader(dataset, batch_size=3, worker_mode="native")
        assert is_native(loader)
        assert_same(list(loader), list(DataLoader(dataset, batch_size=3)))


# -- life


def test_what_changes_between_epochs_is_seen(image_folder):
    dataset = folder(image_folder)
    loader = pyfastdl.DataLoader(dataset, batch_size=5, worker_mode="native")
    assert_same(list(loader), list(DataLoader(dataset, batch_size=5)))
    for change in (
        lambda: setattr(dataset, "transform", v1.Compose([v1.Resize((9, 9)), v1.ToTensor()])),
        lambda: dataset.transform.transforms.insert(1, v1.CenterCrop(5)),
        lambda: setattr(dataset.transform.transforms[0], "size", (7, 7)),
        lambda: dataset.samples.__setitem__(3, (dataset.samples[8][0], 2)),
        lambda: dataset.samples.pop(),
        lambda: dataset.transform.transforms.append(torch.neg),
        lambda: setattr(dataset, "target_transform", double),
    ):
        change()
        assert_same(list(loader), list(DataLoader(dataset, batch_size=5)))


def test_unchanged_it_is_lowered_once(image_folder):
    loader = pyfastdl.DataLoader(folder(image_folder), batch_size=5, worker_mode="native")
    first = loader._lowering.of(loader).stand_in
    list(loader)
    assert loader._lowering.of(loader).stand_in is first


@pytest.mark.parametrize("persistent", [False, True])
def test_epochs_share_threads_and_none_is_left(persistent, image_folder):
    loader = pyfastdl.DataLoader(
        folder(image_folder), batch_size=2, num_workers=2, worker_mode="native", persistent_workers=persistent
    )
    wanted = list(DataLoader(folder(image_folder), batch_size=2))
    others = tasks()
    next(iter(loader))
    during = tasks()
    for _ in range(20):
        assert_same(next(iter(loader)), wanted[0])
    assert tasks() <= during
    one, other = iter(loader), iter(loader)
    if not persistent:
        assert_same([next(one), next(other), next(other)], [wanted[0], wanted[0], wanted[1]])
    assert_same(list(loader), wanted)
    before = threading.active_count()
    del loader, one, other
    assert threading.active_count() <= before
    assert during - others
    assert until(lambda: tasks() <= others)


def test_an_interrupt_at_any_line_loses_no_batch(image_folder):
    """Used on, the iterator goes on where it was."""
    loader = pyfastdl.DataLoader(
        numbered(image_folder, v1.Compose(TRAINING)), 2, shuffle=True, num_workers=2, worker_mode="native"
    )
    # Not what asks for the batch that comes after those ahead: the oldest is out by then.
    functions = {"_outcome", "next", "poll", "_taken"}
    lines = moment = 0

    def trace(frame, event, argument):
        nonlocal lines
        if event == "line" and frame.f_code.co_name in functions and "pyfastdl" in frame.f_code.co_filename:
            lines += 1
            if lines == moment:
                raise KeyboardInterrupt
        return trace

    state = loader.state_dict()

    def epoch(before):
        """All batches of always the same epoch; so many come before there is an interrupt."""
        loader.load_state_dict(state)
        iterator = iter(loader)
        got = [next(iterator) for _ in range(before)]
        while True:
            if lines < moment:
                sys.settrace(trace)
            try:
                got.append(next(iterator))
            except KeyboardInterrupt:
                assert lines == moment
            except StopIteration:
                return got
            finally:
                sys.settrace(None)

    wanted = epoch(0)
    assert len(wanted) == 8
    for before in (0, 3, 7):
        moment = 0
        while lines >= moment:
            lines, moment = 0, moment + 1
            assert_same(epoch(before), wanted)
        assert moment > 10


def test_batches_are_the_callers_own(image_folder):
    loader = pyfastdl.DataLoader(folder(image_folder), batch_size=2, worker_mode="native")
    wanted = list(DataLoader(folder(image_folder), batch_size=2))
    kept = list(loader)
    for images, _ in loader:
        images.add_(1)
    assert_same(kept, wanted)
    assert_same(list(loader), wanted)


def test_a_forked_child_makes_its_own(image_folder):
    loader = pyfastdl.DataLoader(folder(image_folder), batch_size=4, worker_mode="native")
    iterator = iter(loader)
    first = next(iterator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            try:
                next(iterator)
            except pyfastdl.LoaderError:
                assert_same(next(iter(loader)), first)
                code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert_same([first, *iterator], list(DataLoader(folder(image_folder), batch_size=4)))


def test_batches_of_any_size(image_folder):
    batches = [[0], [1, 2, 3], list(range(15)), [4], [], [5, 6]]
    dataset = numbered(image_folder)
    loader = pyfastdl.DataLoader(dataset, batch_sampler=batches[:4], worker_mode="native", num_workers=1)
    for _ in range(2):
        assert [targets.tolist() for _, targets in loader] == batches[:4]
    with pytest.raises(IndexError):
        list(pyfastdl.DataLoader(dataset, batch_sampler=batches, worker_mode="native"))


def test_a_loader_can_be_pickled(image_folder):
    loader = pyfastdl.DataLoader(folder(image_folder), batch_size=4, worker_mode="native")
    batches = list(loader)
    assert_same(list(pickle.loads(pickle.dumps(loader))), batches)


def test_odd_files_are_listed_as_torchvision_does_and_warned_of(image_folder):
    shutil.copy(image_folder / "ant" / "0.jpg", image_folder / "ant" / "._0.jpg")
    (image_folder / "bee" / ".ipynb_checkpoints").mkdir()
    shutil.copy(image_folder / "ant" / "0.jpg", image_folder / "bee" / ".ipynb_checkpoints" / "1.jpg")
    dataset = folder(image_folder)
    with pytest.warns(UserWarning, match="2 of the dataset's files lie in hidden folders") as warned:
        loader = pyfastdl.DataLoader(dataset, batch_size=4, worker_mode="auto")
    assert warned[0].filename == __file__
    assert_same(list(loader), list(DataLoader(dataset, batch_size=4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(loader)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_targets_that_are_not_plain_numbers(dtype, image_folder):
    dataset = with_targets(image_folder, list(np.arange(15, dtype=dtype)))
    loader = pyfastdl.DataLoader(dataset, batch_size=4, worker_mode="native")
    assert_same(list(loader), list(DataLoader(dataset, batch_size=4)))
    assert "its targets aren't plain numbers" in loader.explain()
