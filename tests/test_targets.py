"""Targets: one array of what users give per file, in the types that torch would give it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pyfastdl._samples import pack_targets
from pyfastdl.sources import open_source


@pytest.mark.parametrize(
    "targets",
    [
        [0, 1, -5, 2**62],
        [0.5, 1.0, float("inf")],
        [1, 0.1, 16777217],
        [16777217, 0.25],
        [True, False],
        [True, 3],
        [False, 2.5],
        [np.int32(3), 4],
        [np.float64(0.1), 0.2],
        [0.25, np.float64(0.1)],
        [np.int16(3), np.int16(4)],
        [[np.float64(0.1), 0.2], [1, 2]],
        [[np.float32(0.1), np.float32(0.2)]],
        [[0.5, 2**63]],
        [np.float16(0.5), 1],
        [1, np.float64(0.1)],
        [True, np.int8(3)],
        [np.float32(0.1), np.float32(0.2)],
        [np.float16(0.1), np.float16(7)],
        [[0.1, 0.2], [0.3, 0.4]],
        [[1, 2], [3, 4]],
        [(1, 2), (0.5, 4)],
        [[1], [2], [3]],
        [[True, False], [False, False]],
        np.array([1, 2, 3], np.int32),
        np.array([[0.1, 0.2], [0.3, 0.4]], np.float64),
        np.array([0.5, 0.25], np.float16),
        np.arange(12).reshape(3, 4)[:, ::2],
        torch.tensor([1, 2], dtype=torch.uint8),
        torch.tensor([[0.1, 0.2]], requires_grad=True),
        [torch.tensor(3), torch.tensor(4)],
        [torch.tensor(0.5), torch.tensor(1.5)],
    ],
    ids=repr,
)
def test_targets_are_what_torch_makes_of_them(targets):
    wanted = torch.as_tensor(targets).detach()
    array = pack_targets(targets)
    assert torch.from_numpy(array).dtype == wanted.dtype
    assert torch.equal(torch.from_numpy(array), wanted)
    assert array.flags.c_contiguous and array.flags.writeable
    if isinstance(targets, np.ndarray):
        assert not np.shares_memory(array, targets)
    files = [f"{i}.jpg" for i in range(len(targets))]
    assert np.array_equal(open_source(files, targets).target_array, array)
    if isinstance(targets, list):
        pairs = open_source(list(zip(files, targets, strict=True)))
        assert pairs.target_array.dtype == array.dtype and np.array_equal(pairs.target_array, array)


def test_vectors_of_arrays_and_tensors_keep_their_type():
    rows = [np.array([1, 2], np.int16), np.array([3, 4], np.int16)]
    assert pack_targets(rows).dtype == np.int16
    assert pack_targets([*rows, np.array([5, 6], np.int32)]).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert pack_targets([*rows, np.array([5, 6], np.int32)]).dtype == np.int32
    assert pack_targets([torch.ones(3, dtype=torch.float64)] * 2).dtype == np.float64
    assert pack_targets([np.array([1, 2]), np.array([0.5, 1], np.float32)]).dtype == np.float32
    source = open_source([("a", [0.5, 1.5]), ("b", [2.5, 3.5])])
    assert source.samples[1][1].tolist() == [2.5, 3.5]
    assert source.samples == [("a", np.array([0.5, 1.5])), ("b", np.array([2.5, 3.5]))]


@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.booleans(), st.floats(width=32)), min_size=1))
def test_mixed_numbers_are_what_torch_makes_of_them(numbers):
    wanted, array = torch.as_tensor(numbers), torch.from_numpy(pack_targets(numbers))
    assert array.dtype == wanted.dtype
    assert (
        torch.equal(array.nan_to_num(7.5), wanted.nan_to_num(7.5))
        if array.is_floating_point()
        else torch.equal(array, wanted)
    )


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (["cat", "dog"], r"targets\[0\] is of type str \('cat'\)"),
        ([1, None], r"targets\[1\] is None"),
        ([1, "2"], r"targets\[1\] is of type str"),
        ([1, 2**63], r"targets\[1\] is 9223372036854775808"),
        ([[1, 2], [1]], r"targets\[1\] has the shape \(1,\), targets\[0\] has \(2,\)"),
        ([[1], 1], r"targets\[1\] has the shape \(\)"),
        ([1, [1]], r"targets\[1\] has the shape \(1,\)"),
        ([[1, [2]], [1, [2]]], r"targets\[0\] is of type list"),
        ([["a"], ["b"]], r"targets\[0\] is of type list .*dtype <U1"),
        ([[[1]], [[2]]], r"targets\[0\] has the shape \(1, 1\)"),
        ([[], []], r"targets\[0\] has the shape \(0,\)"),
        ([1, 1j], r"targets\[1\] is of type complex"),
        ([{"a": 1}, 2], r"targets\[0\] is of type dict"),
        ([torch.ones(2, dtype=torch.bfloat16)] * 2, r"targets\[0\].*numpy can't hold"),
        ([[1, 2**63], [1, 2]], r"targets\[0\]"),
        (np.array(["a", "b"]), "dtype <U1"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros((2, 0)), r"shape \(2, 0\)"),
        (5, "type int"),
        ([1], "1 targets for 2 files"),
        ([1, 2, 3], "3 targets for 2 files"),
    ],
)
def test_bad_targets_are_named(targets, words):
    with pytest.raises((TypeError, ValueError), match=words):
        open_source(["a", "b"], targets)


def test_targets_given_twice_are_refused():
    with pytest.raises(ValueError, match="given twice"):
        open_source([("a", 1)], targets=[1])


def test_tensors_are_known_by_what_they_do():
    class Duck:
        def detach(self):
            return self

        def cpu(self):
            return SimpleNamespace(numpy=lambda: np.array([1.5, 2.5]))

        def numpy(self):
            raise TypeError("can't convert a cuda tensor")

    assert pack_targets(Duck()).tolist() == [1.5, 2.5]
    assert pack_targets([Duck(), Duck()]).tolist() == [[1.5, 2.5]] * 2
