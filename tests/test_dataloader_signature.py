"""The face of the drop-in: torch's signature and attributes; what trainers do with a loader. Case S8."""

from __future__ import annotations

import inspect
import pickle

import pytest
import torch
from loaders import MODES, Sharded, Squares, assert_same
from torch.utils.data import DataLoader, IterDataPipe, SequentialSampler

import pyfastdl

OURS = {"worker_mode", "device", "on_error"}


def test_the_signature_is_torchs_and_ours_is_keyword_only():
    stock = inspect.signature(DataLoader).parameters
    ours = inspect.signature(pyfastdl.DataLoader).parameters
    assert set(ours) - set(stock) == OURS
    assert [name for name in ours if name not in OURS] == list(stock)
    for name, parameter in stock.items():
        assert ours[name].kind == parameter.kind
        assert ours[name].default == parameter.default
    assert all(ours[name].kind == inspect.Parameter.KEYWORD_ONLY for name in OURS)


def test_it_is_a_dataloader_with_its_attributes():
    arguments = {"batch_size": 4, "num_workers": 2, "drop_last": True, "timeout": 3}
    ours, stock = pyfastdl.DataLoader(Squares(), **arguments), DataLoader(Squares(), **arguments)
    assert isinstance(ours, DataLoader)
    for name, value in vars(stock).items():
        if name not in ("dataset", "sampler", "batch_sampler"):
            assert getattr(ours, name) == value, name
    assert type(ours.sampler) is SequentialSampler
    assert pyfastdl.DataLoader[int] is not None
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        ours.batch_size = 3


def rebuilt(loader, **changed):
    """As Lightning does it: the arguments are attributes of the same name."""
    names = [name for name in inspect.signature(type(loader).__init__).parameters if name != "self"]
    arguments = {name: getattr(loader, name) for name in names if hasattr(loader, name)}
    arguments |= {"batch_size": 1, "shuffle": None, "sampler": None, "drop_last": False}
    if loader.batch_sampler is None:
        arguments["batch_size"] = None
    return type(loader)(**{**arguments, **changed})


@pytest.mark.parametrize("mode", MODES)
def test_a_trainer_can_make_it_anew(mode):
    loader = pyfastdl.DataLoader(Squares(), batch_size=4, num_workers=2, worker_mode=mode, timeout=30)
    again = rebuilt(loader, batch_sampler=torch.utils.data.BatchSampler(range(10), 5, False))
    assert type(again) is pyfastdl.DataLoader
    assert (again.worker_mode, again.num_workers, again.timeout) == (mode, 2, 30)
    assert again.explain() == loader.explain()


def test_auto_stays_auto_when_it_is_made_anew(monkeypatch):
    monkeypatch.delenv("PYFASTDL_WORKER_MODE", raising=False)
    loader = pyfastdl.DataLoader(Squares(), batch_size=4, num_workers="auto")
    assert isinstance(loader.num_workers, int)
    assert loader.num_workers > 1
    again = rebuilt(loader)
    assert "auto" in again.explain()
    assert_same(list(again), list(DataLoader(Squares(), batch_size=4)))


def test_who_gets_threads(monkeypatch):
    monkeypatch.delenv("PYFASTDL_WORKER_MODE", raising=False)

    def kind(dataset=None, **arguments):
        return pyfastdl.DataLoader(dataset or Squares(), **arguments).explain()

    safe = Squares()
    safe.thread_safe = True
    assert "no workers" in kind()
    assert "no workers" in kind(worker_mode="thread")
    assert "2 processes" in kind(num_workers=2)
    assert "2 threads" in kind(num_workers=2, worker_mode="thread")
    assert "2 threads" in kind(safe, num_workers=2)
    assert "2 threads" in kind(torch.utils.data.Subset(safe, [1]), num_workers=2)
    assert "2 processes" in kind(torch.utils.data.ConcatDataset([safe, Squares()]), num_workers=2)
    assert "2 processes" in kind(safe, num_workers=2, worker_mode="process")
    assert "threads" in kind(num_workers="auto")
    assert "processes" in kind(num_workers="auto", worker_mode="process")
    monkeypatch.setenv("PYFASTDL_WORKER_MODE", "thread")
    assert "2 threads" in kind(num_workers=2)
    assert "2 processes" in kind(num_workers=2, worker_mode="process")


def test_wrong_arguments_of_ours(monkeypatch):
    with pytest.raises(ValueError, match="worker_mode must be one of"):
        pyfastdl.DataLoader(Squares(), worker_mode="fibre")
    with pytest.raises(ValueError, match="on_error"):
        pyfastdl.DataLoader(Squares(), on_error="ignore")
    with pytest.raises(ValueError, match='"auto"'):
        pyfastdl.DataLoader(Squares(), num_workers="many")
    with pytest.raises(ValueError, match='device must be "cuda", "cuda:1".*got \'gpu\''):
        pyfastdl.DataLoader(Squares(), device="gpu")
    with pytest.raises(TypeError, match="device must be"):
        pyfastdl.DataLoader(Squares(), device=[0])
    with pytest.raises(ValueError, match="native"):
        pyfastdl.DataLoader(Squares(), worker_mode="native")
    monkeypatch.setenv("PYFASTDL_WORKER_MODE", "fibre")
    with pytest.raises(ValueError, match="PYFASTDL_WORKER_MODE"):
        pyfastdl.DataLoader(Squares())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_datapipes_run_in_processes_only():
    class Pipe(IterDataPipe):
        def __iter__(self):
            return iter(range(3))

    with pytest.raises(ValueError, match="DataPipe"):
        pyfastdl.DataLoader(Pipe(), num_workers=1, worker_mode="thread")


def test_a_loader_can_be_pickled_before_it_is_iterated():
    loader = pickle.loads(pickle.dumps(pyfastdl.DataLoader(Squares(), batch_size=4, num_workers="auto")))
    assert_same(list(loader), list(DataLoader(Squares(), batch_size=4)))
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(loader))


@pytest.mark.parametrize("mode", MODES)
def test_lengths_are_torchs(mode):
    for arguments in ({}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}):
        ours = pyfastdl.DataLoader(Squares(), num_workers=1, worker_mode=mode, **arguments)
        assert len(ours) == len(DataLoader(Squares(), num_workers=1, **arguments))
    with pytest.raises(TypeError):
        len(pyfastdl.DataLoader(Sharded()))
