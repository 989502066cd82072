"""``on_error="replace"`` and ``"skip"`` of the drop-in: the same in every kind of worker. Case F9."""

from __future__ import annotations

import pickle

import numpy as np
import psutil
import pytest
import torch
from file_datasets import EVALUATION, folder
from loaders import MODES, By, Faulty, FaultyAtOnce, OnlyAtOnce, Squares, assert_same, indices_of
from loaders import on_error_loader as loader_of
from PIL import Image
from torch._utils import ExceptionWrapper
from torch.utils.data import ConcatDataset, Subset, default_collate

import pyfastdl
from pyfastdl.errors import FailedSample
from pyfastdl.workers.accompanied import Accompanied
from pyfastdl.workers.replacement import replacements
from pyfastdl.workers.tolerance import NOTHING

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
POLICIES = ["skip", "replace"]
BAD = [3, 7, 8, 9, 10, 11, 25]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 3])
def test_skip_closes_the_batch_up_and_yields_no_empty_one(mode, workers):
    loader = loader_of(Faulty(), workers, mode, "skip")
    assert indices_of(loader) == [[0, 1, 2], [4, 5, 6], [12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23], [24]]
    assert len(loader) == 7, "an upper bound"
    assert loader.errors == [FailedSample(index, "", f"ValueError: sample {index} is bad") for index in BAD]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 3])
def test_replace_keeps_the_batch_and_says_with_what(mode, workers):
    loader = loader_of(Faulty(bad=[3, 25]), workers, mode, "replace")
    batches = list(loader)
    assert [len(batch[1]) for batch in batches] == [4] * 6 + [2]
    first, last = loader.errors
    assert (first.index, last.index) == (3, 25)
    assert {first.replaced_by, last.replaced_by}.isdisjoint([3, 25, None])
    wanted = [*range(3), first.replaced_by, *range(4, 25), last.replaced_by]
    assert torch.cat([batch[1] for batch in batches]).tolist() == wanted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 3])
def test_what_was_tried_in_vain_is_listed_too(mode, workers):
    loader = loader_of(Faulty(8, bad=range(7)), workers, mode, "replace", batch_size=1, sampler=[4])
    assert indices_of(loader) == [[7]]
    tried = [error.index for error in loader.errors]
    assert tried[0] == 4
    assert tried[1:] == [(tried[1] + step) % 8 for step in range(len(tried) - 1)], "on from a random start"
    assert {error.replaced_by for error in loader.errors} == {7}


def halves(samples):
    return [index for _, index in samples], len(samples)


def two_epochs(*arguments, **more):
    loader = loader_of(*arguments, **more)
    return [list(loader), list(loader)], loader.errors


CASES = {
    "shuffled": (Faulty(), {"shuffle": True}),
    "no batches": (Faulty(), {"batch_size": None}),
    "collate_fn": (Faulty(), {"collate_fn": halves, "drop_last": True}),
    "batch_sampler": (Faulty(), {"batch_size": 1, "batch_sampler": [(3, 4, 3), [7, 7, 7, 7], [8], [-1, 2]]}),
    "repeated": (Faulty(), {"sampler": [*range(26), *range(26), 3, 3]}),
    "at once": (FaultyAtOnce(), {}),
    "one at once": (FaultyAtOnce(), {"batch_size": None}),
    "only at once": (OnlyAtOnce(FaultyAtOnce()), {"collate_fn": halves}),
    "subset": (Subset(Faulty(), range(20, 0, -2)), {"shuffle": True}),
    "subset at once": (Subset(OnlyAtOnce(FaultyAtOnce()), range(20, 0, -2)), {"batch_size": 3}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_batches_and_errors_are_the_same_whatever_the_workers(mode, case):
    dataset, arguments = CASES[case]
    for workers, on_error in ((1, "skip"), (3, "replace")):
        wanted, errors = two_epochs(dataset, 0, None, on_error, **arguments)
        assert errors
        got, listed = two_epochs(dataset, workers, mode, on_error, **arguments)
        assert_same(got, wanted)
        assert listed == errors


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_error", POLICIES)
def test_workers_may_stay(mode, on_error):
    wanted, errors = two_epochs(Faulty(), 0, None, on_error)
    got, listed = two_epochs(Faulty(), 2, mode, on_error, persistent_workers=True, prefetch_factor=1)
    assert_same(got[0], wanted[0])
    assert [len(batch[1]) for batch in got[1]] == [len(batch[1]) for batch in wanted[1]]
    if on_error == "skip":  # replacements are others with the seed that stays too
        assert_same([batch[1] for batch in got[1]], [batch[1] for batch in wanted[1]])
        assert listed == errors


@pytest.mark.skipif(MODES == ["thread"], reason="about starting processes")
@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_workers_may_be_started_in_any_way(context):
    wanted, errors = two_epochs(Faulty(), 0, None, "replace")
    loader = loader_of(Faulty(), 1, "process", "replace", multiprocessing_context=context)
    assert_same(list(loader), wanted[0])
    assert loader.errors == errors[: len(loader.errors)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_error", POLICIES)
def test_out_of_order_nothing_is_lost(mode, on_error):
    wanted = loader_of(Faulty(), 0, None, on_error)
    batches = sorted(indices_of(wanted))
    loader = loader_of(Faulty(), 3, mode, on_error, in_order=False)
    assert sorted(indices_of(loader)) == batches
    assert sorted(map(str, loader.errors)) == sorted(map(str, wanted.errors))


def test_replacements_are_those_of_nativeloader(tmp_path):
    """One rule for both: a function of seed, epoch, index and occurrence."""
    files = []
    for index in range(9):
        files.append(str(tmp_path / f"{index}.png"))
        if index in (2, 5, 6):
            (tmp_path / f"{index}.png").write_bytes(b"")
        else:
            Image.new("RGB", (4, 4), (index, 0, 0)).save(files[-1])

    def read(index):
        return np.asarray(Image.open(files[index])).copy(), index

    sampler = [5, 2, 2, 0, 5, 6, 1]
    native = pyfastdl.NativeLoader(
        files, 2, sampler=sampler, generator=torch.Generator().manual_seed(8), on_error="replace", return_index=True
    )
    loader = loader_of(By(read, 9), 0, None, "replace", seed=8, batch_size=2, sampler=sampler)
    for _ in range(3):
        assert indices_of(loader) == indices_of(native)
    pairs = [(error.index, error.replaced_by) for error in loader.errors]
    assert pairs == [(error.index, error.replaced_by) for error in native.errors]
    assert len({other for index, other in pairs if index == 5}) > 1, "another one in another epoch"


@pytest.mark.parametrize("samples", [1, 2, 7, 300, 2**32, 2**40])
def test_replacements_are_each_tried_once(samples):
    tried = list(replacements((3, 0, samples - 1, 0), samples))
    assert len(tried) == len(set(tried)) == min(samples - 1, 100)
    assert all(0 <= other < samples - 1 for other in tried)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 2])
def test_the_file_is_listed(mode, workers):
    dataset = Faulty(12, bad=[2])
    dataset.samples = [(f"data/{index}.jpg", 0) for index in range(12)]
    for whole, index in (
        (Subset(dataset, [4, 2]), 1),
        (ConcatDataset([Squares(3), Subset(dataset, [4, 2])]), 4),
        (ConcatDataset([dataset, Squares(3)]), -13),
    ):
        loader = loader_of(whole, workers, mode, "skip", sampler=[0, index])
        assert len(next(iter(loader))[1]) == 1
        assert loader.errors == [FailedSample(index, "data/2.jpg", "ValueError: sample 2 is bad")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 2])
def test_if_all_fail_it_stops(mode, workers):
    loader = loader_of(Faulty(5, bad=range(5)), workers, mode, "skip")
    for _ in range(2):
        with pytest.raises(pyfastdl.LoaderError, match=r"not one of 5 samples.*sample 0 is bad"):
            list(loader)
    assert [error.index for error in loader.errors] == [0, 1, 2, 3, 4] * 2
    loader = loader_of(Faulty(5, bad=range(5)), workers, mode, "replace")
    with pytest.raises(pyfastdl.SampleError, match=r"sample 0 is bad; no replacement was found: 4 other samples"):
        list(loader)
    assert sorted(error.index for error in loader.errors) == [0, 1, 2, 3, 4]
    assert loader.errors[0] == FailedSample(0, "", "ValueError: sample 0 is bad")


@pytest.mark.parametrize("mode", MODES)
def test_a_sampler_of_names_can_skip_but_not_replace(mode):
    def make(name):
        if name == "b":
            raise KeyError(name)
        return name

    for workers in (0, 1):
        loader = loader_of(By(make), workers, mode, "skip", sampler=["a", "b", "c"])
        assert list(loader) == [["a", "c"]]
        assert loader.errors == [FailedSample("b", "", "KeyError: 'b'")]
        loader = loader_of(By(make), workers, mode, "replace", sampler=["a", "b", "c"])
        with pytest.raises(pyfastdl.SampleError, match="only a sample whose index is an int"):
            list(loader)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_goes_on_after_batches_that_were_left_out(mode, workers):
    whole = loader_of(Faulty(), 0, None, "skip")
    wanted = list(whole)
    for count in range(7) if workers == 0 else (2, 6):
        loader = loader_of(Faulty(), workers, mode, "skip")
        iterator = iter(loader)
        got = [next(iterator) for _ in range(min(count, 6))]
        state = loader.state_dict()
        again = loader_of(Faulty(), 0, None, "skip", seed=1)
        again.load_state_dict(state)
        assert_same([*got, *again], wanted)
        assert [*loader.errors, *again.errors] == whole.errors


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_workers_dataset_is_the_users(mode, workers):
    def who(index):
        if index == 1:
            raise ValueError("bad")
        info = pyfastdl.get_worker_info()
        return "By" if info is None else type(info.dataset).__name__

    def init(worker):
        assert type(pyfastdl.get_worker_info().dataset) is By

    loader = loader_of(By(who), workers, mode, "skip", worker_init_fn=init)
    assert {name for batch in loader for name in batch} == {"By"}
    assert type(loader.dataset) is By


@pytest.mark.skipif(MODES == ["thread"], reason="about what goes through pipes")
def test_failures_take_no_descriptors():
    """Also where a sampler's indices are tensors."""
    loader = loader_of(Faulty(), 1, "process", "skip", sampler=list(torch.arange(26).repeat(4)))
    iterator = iter(loader)
    kept = [next(iterator)]
    before = psutil.Process().num_fds()
    kept += iterator
    assert len(loader.errors) == 4 * len(BAD)
    assert type(loader.errors[0].index) is int
    assert psutil.Process().num_fds() <= before


def test_the_list_of_errors_is_bounded():
    loader = loader_of(Faulty(), 0, None, "skip")
    for _ in range(3):
        loader._failures.add([(index, "", "bad", None) for index in range(4_000)])
    assert len(loader.errors) == 10_000
    assert loader.errors[-1].index == 1_999
    list(loader)
    assert len(loader.errors) == 10_000


def test_what_comes_beside_a_batch_leaves_page_locking_alone():
    class Pinnable:
        def pin_memory(self):
            return "page-locked"

    failed = ExceptionWrapper((ValueError, ValueError("bad"), None))
    for data, wanted in ((Pinnable(), "page-locked"), (failed, failed), (NOTHING, NOTHING)):
        message = Accompanied(data, pickle.dumps([(1, "", "bad", None)]), None, None)
        assert message.pin_memory().take() is wanted
        assert message.failures() == [(1, "", "bad", None)]


@pytest.mark.parametrize("on_error", POLICIES)
def test_natively_loaded_files_are_passed_over_by_the_same_rule(on_error, image_folder):
    """Whole batches of the core, samples of it in any worker, and torchvision alone."""
    for name in ("ant/1.jpg", "bee/0.jpg", "bee/1.jpg", "cat/4.jpg"):
        (image_folder / name).write_bytes(b"no image")
    dataset = folder(image_folder, EVALUATION)
    collate = {"collate_fn": lambda samples: default_collate(samples)}

    def loaded(workers, mode, **arguments):
        loader = loader_of(dataset, workers, mode, on_error, shuffle=True, batch_size=2, **arguments)
        return loader, [list(loader), list(loader)]

    alone, wanted = loaded(0, "thread")
    assert {error.path for error in alone.errors} >= {str(image_folder / "bee/1.jpg")}
    ways = [(0, "auto", {}), (2, "auto", {}), (0, "auto", collate), (2, "auto", collate), ("auto", "auto", collate)]
    for workers, mode, arguments in ways:
        loader, got = loaded(workers, mode, **arguments)
        assert "natively" in loader.explain()
        assert_same(got, wanted)
        assert loader.errors == alone.errors


def test_an_epoch_of_bad_files_stops(image_folder):
    for path in image_folder.rglob("*.jpg"):
        path.write_bytes(b"no image")
    dataset = folder(image_folder, EVALUATION)
    with pytest.raises(pyfastdl.LoaderError, match="not one of 15 samples"):
        list(loader_of(dataset, 0, "auto", "skip"))
    with pytest.raises(pyfastdl.SampleError, match="no replacement was found: 14 other"):
        list(loader_of(dataset, 0, "auto", "replace"))
