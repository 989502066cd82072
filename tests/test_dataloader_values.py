"""What a batch holds: as torch's loader has it, value for value and type for type. Case S4."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from loaders import MODES, By, Of, Options, Point, Record, assert_same
from torch.utils.data import DataLoader

import pyfastdl

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def image(i):
    return torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) + i


#: One kind of sample each, as a function of the index.
KINDS = {
    "int": lambda i: i,
    "float": lambda i: i / 3,
    "bool": lambda i: i % 2 == 0,
    "bool or int": lambda i: i % 2 == 0 if i < 7 else i,
    "huge int": lambda i: 2**62 + i,
    "str": str,
    "bytes": lambda i: b"%d" % i,
    "tensor": image,
    "0-d tensor": lambda i: torch.tensor(i),
    "empty tensor": lambda i: torch.empty(0, 3),
    "bfloat16": lambda i: image(i).to(torch.bfloat16),
    "float16": lambda i: image(i).half(),
    "bool tensor": lambda i: image(i) > 7,
    "complex": lambda i: torch.tensor([1 + 2j]) * i,
    "conjugate's part": lambda i: (torch.tensor([[1 + 2j], [3 - 1j]]) * i).conj().imag,
    "permuted": lambda i: image(i).permute(2, 0, 1),
    "every other": lambda i: image(i)[:, ::2],
    "expanded": lambda i: torch.tensor([i]).expand(3),
    "array": lambda i: np.arange(6, dtype=np.int16).reshape(2, 3) + np.int16(i),
    "0-d array": lambda i: np.array(i, np.float32),
    "fortran array": lambda i: np.asfortranarray(np.arange(6.0).reshape(2, 3) * i),
    "bool array": lambda i: np.arange(4) > i,
    "numpy scalar": lambda i: np.float32(i) / 3,
    "numpy int": lambda i: np.int64(i),
    "numpy bool": lambda i: np.bool_(i % 2),
    "float64 scalar": lambda i: np.float64(i),
    "tuple": lambda i: (image(i), i, f"{i}.jpg"),
    "list": lambda i: [image(i), [i, float(i)]],
    "dict": lambda i: {"image": image(i), "name": str(i), "more": {"label": i}},
    "dict in another order": lambda i: {"a": i, "b": -i} if i % 3 else {"b": -i, "a": i},
    "dict with more keys": lambda i: {"a": i} if i % 2 == 0 else {"a": i, "b": 1},
    "dict subclass": lambda i: Options(a=i, b=image(i)),
    "namedtuple": lambda i: Point(image(i), (i, str(i))),
    "50 tensors": lambda i: [torch.full((3,), float(i + k)) for k in range(50)],
    "100 tensors": lambda i: [torch.full((2,), float(i + k)) for k in range(100)],
    "requires grad": lambda i: image(i).requires_grad_(i > 90),
}

#: Those that default_collate refuses, or refuses in mid-epoch.
REFUSED = {
    "None": lambda i: None,
    "dataclass": Record,
    "ragged": lambda i: torch.ones(2 + i % 2),
    "ragged downwards": lambda i: torch.ones(9 - i % 2),
    "ragged later": lambda i: torch.ones(3 if i < 9 else 4),
    "lists of other lengths": lambda i: [1] * (1 + i % 2),
    "missing keys": lambda i: {"a": i, "b": i} if i < 9 else {"a": i},
    "int too large": lambda i: 2**70 if i == 9 else i,
    "other type later": lambda i: torch.ones(2) if i < 9 else "text",
}


def batches(loader):
    """Batches, and the class of the exception in place of one that has one."""
    iterator, seen = iter(loader), []
    while True:
        try:
            seen.append(next(iterator))
        except StopIteration:
            return seen
        except Exception as error:
            seen.append(type(error))


@pytest.fixture(scope="module", params=MODES)
def mode(request):
    return request.param


# The rest is the same code as in threads, and starting processes takes time.
PROCESS_KINDS = [
    *("tuple", "dict", "namedtuple", "str", "complex", "100 tensors", "dict subclass", "bool or int", "permuted"),
    *("ragged later", "None", "other type later"),
]


@pytest.mark.parametrize(
    "mode, kind",
    [(mode, kind) for mode in MODES for kind in (PROCESS_KINDS if mode != "thread" else [*KINDS, *REFUSED])],
)
def test_default_collate(mode, kind):
    """One worker: after a failed batch, torch's next one comes from the same place.

    In torch's worker processes default_collate goes about it otherwise, and so may fail otherwise.
    """
    make = {**KINDS, **REFUSED}[kind]
    got = batches(pyfastdl.DataLoader(By(make), batch_size=4, num_workers=1, worker_mode=mode))
    workers = 1 if mode != "thread" and kind in REFUSED else 0
    assert_same(got, batches(DataLoader(By(make), batch_size=4, num_workers=workers)))


def as_arrays(samples):
    return np.stack([sample.numpy() for sample in samples]), [Record(len(samples))]


def strided(samples):
    stacked = torch.stack(samples)
    return {"last": stacked.permute(0, 2, 3, 1), "part": stacked[:, :1], "again": stacked}


def of_numbers(samples):
    return Options(count=len(samples), sum=torch.stack(samples).sum(0))


@pytest.mark.skipif(torch.accelerator.is_available(), reason="of machines without an accelerator")
@pytest.mark.parametrize("workers", [0, 1])
def test_pin_memory_without_an_accelerator(mode, workers):
    """torch warns, and batches are as they were."""
    runs = []
    for cls, arguments in ((DataLoader, {}), (pyfastdl.DataLoader, {"worker_mode": mode})):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = cls(By(KINDS["dict"]), batch_size=4, num_workers=workers, pin_memory=True, **arguments)
            batches = list(loader)
        words = [str(one.message) for one in caught if "pin_memory" in str(one.message)]
        assert not any(batch["image"].is_pinned() for batch in batches)
        runs.append((words, batches))
    assert runs[0][0] and runs[0][0] == runs[1][0]
    assert_same(runs[1][1], runs[0][1])


@pytest.mark.parametrize("collate_fn", [as_arrays, strided, of_numbers, list, len])
def test_collate_fn_of_the_users(collate_fn, mode):
    arguments = {"batch_size": 4, "collate_fn": collate_fn}
    got = list(pyfastdl.DataLoader(By(image), num_workers=1, worker_mode=mode, **arguments))
    assert_same(got, list(DataLoader(By(image), **arguments)))
    if collate_fn is strided:
        assert got[0]["last"].stride() == (24, 1, 4, 12)[:1] + got[0]["last"].stride()[1:]
        got[0]["again"][0, 0] = -1
        assert (got[0]["last"][0, ..., 0] == -1).all(), "tensors that shared memory still do"


def test_no_batches_at_all(mode):
    samples = [image(1), np.arange(3), 4, "five", Point(6, np.float32(7)), {"a": [8]}, None, Record(9)]
    got = list(pyfastdl.DataLoader(Of(samples), batch_size=None, num_workers=1, worker_mode=mode))
    assert_same(got, list(DataLoader(Of(samples), batch_size=None)))


def test_batches_are_the_users_own(mode):
    """Written to, grown in a list, pickled, shared: a batch is an ordinary batch."""
    import pickle

    loader = pyfastdl.DataLoader(By(image, 64), batch_size=2, num_workers=2, worker_mode=mode)
    kept = []
    for number, batch in enumerate(loader):
        assert torch.equal(batch[0], image(2 * number))
        batch.add_(1000)
        assert batch.numpy().flags.writeable
        kept.append(batch)
    for number, batch in enumerate(kept):
        assert torch.equal(batch[1], image(2 * number + 1) + 1000)
    assert torch.equal(pickle.loads(pickle.dumps(kept[0])), kept[0])
    assert kept[1].clone().share_memory_().is_shared()
    assert kept[1].share_memory_().is_shared()
    assert "copies" in loader.explain()


def test_registered_collate_functions_are_used(mode, monkeypatch):
    from torch.utils.data._utils.collate import default_collate_fn_map

    monkeypatch.setitem(default_collate_fn_map, int, lambda batch, *, collate_fn_map=None: sum(batch))
    loader = pyfastdl.DataLoader(By(lambda i: (i, image(i))), batch_size=4, num_workers=1, worker_mode=mode)
    assert [total for total, _ in loader] == [6, 22, 38]


def test_to_a_device(mode):
    loader = pyfastdl.DataLoader(By(KINDS["dict"]), batch_size=4, num_workers=1, worker_mode=mode, device="meta")
    for batch in loader:
        assert batch["image"].device.type == batch["more"]["label"].device.type == "meta"
        assert batch["name"] == [str(int(name)) for name in batch["name"]]
