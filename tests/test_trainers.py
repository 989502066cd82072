"""Trainers that take a loader apart and put it together again: Lightning, Accelerate, torch's own sampler. Case S8."""

from __future__ import annotations

import json

import accelerate
import pytest
import pytorch_lightning as pl
import torch
import torchvision
from lightning_fabric.utilities.data import _replace_dunder_methods
from loaders import MODES, By, Squares, assert_same
from PIL import Image
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.utilities.data import _update_dataloader
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms as v1

import pyfastdl
from pyfastdl import transforms as T

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    # Lightning's advice (more workers, a logger, …), and what it still uses of torch.
    pytest.mark.filterwarnings("ignore:::pytorch_lightning"),
    pytest.mark.filterwarnings("ignore:::lightning_fabric"),
]

EACH_MODE = pytest.mark.parametrize("mode", MODES)


class Net(pl.LightningModule):
    """Notes the batches that it is given."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(6, 1)
        self.seen = []
        self.checked = []

    def training_step(self, batch, _):
        self.seen.append((self.current_epoch, batch[1].tolist()))
        return self.layer(batch[0].flatten(1)).mean()

    def validation_step(self, batch, _):
        self.checked.append((self.current_epoch, batch[1].tolist()))
        self.log("loss", self.layer(batch[0].flatten(1)).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-4)


def trainer(folder, **arguments):
    arguments = {"max_epochs": 3, "enable_checkpointing": False, **arguments}
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "barebones": False}
    return pl.Trainer(accelerator="cpu", devices=1, default_root_dir=folder, **quiet, **arguments)


def train_loader(cls, seed=5, dataset=None, **arguments):
    generator = torch.Generator().manual_seed(seed)
    return cls(dataset or Squares(22), batch_size=4, shuffle=True, generator=generator, **arguments)


@pytest.fixture
def classes(tmp_path):
    """torchvision's dataset of 22 images of 22 classes, that is lowered."""
    for i in range(22):
        (tmp_path / "images" / f"{i:02}").mkdir(parents=True)
        Image.new("RGB", (8, 4), (i, 2 * i, 3 * i)).save(tmp_path / "images" / f"{i:02}" / "0.png")
    transform = v1.Compose([v1.Resize((1, 2)), v1.ToTensor()])
    return torchvision.datasets.ImageFolder(str(tmp_path / "images"), transform)


# -- Lightning


@EACH_MODE
@pytest.mark.parametrize("workers", [0, 2])
def test_lightning_trains_as_with_the_stock_loader(mode, workers, tmp_path):
    """Sanity check, training and validation: the same batches at the same steps, and so the same weights."""
    runs = []
    for cls, arguments in ((DataLoader, {}), (pyfastdl.DataLoader, {"num_workers": workers, "worker_mode": mode})):
        torch.manual_seed(1)
        net = Net()
        validation = cls(Squares(10), batch_size=3, **arguments)
        trainer(tmp_path, max_epochs=2, num_sanity_val_steps=2).fit(net, train_loader(cls, **arguments), validation)
        runs.append((net.seen, net.checked, net.layer.weight.tolist(), torch.rand(1).item()))
    assert runs[0] == runs[1]
    assert len(runs[0][0]) == 2 * 6 and len(runs[0][1]) == 2 + 2 * 4


@pytest.mark.parametrize("mode", [*MODES, "native"])
@pytest.mark.parametrize("workers", [0, 2])
def test_lightning_goes_on_from_a_checkpoint(mode, workers, tmp_path, classes):
    """In mid-epoch, at an epoch's last step, and in the validation after it: the batches are those of one run."""
    arguments = {"num_workers": workers, "worker_mode": mode, "dataset": classes if mode == "native" else Squares(22)}
    validation = DataLoader(Squares(4), batch_size=4)
    every = ModelCheckpoint(tmp_path, filename="{step}", every_n_train_steps=3, save_top_k=-1)
    validated = ModelCheckpoint(
        tmp_path, filename="{epoch}", monitor="loss", save_top_k=-1, save_on_train_epoch_end=False
    )
    whole = Net()
    run = trainer(tmp_path, enable_checkpointing=True, callbacks=[every, validated])
    run.fit(whole, train_loader(pyfastdl.DataLoader, **arguments), validation)
    assert len(whole.seen) == 18
    for name, done in (("step=3", 3), ("step=9", 9), ("step=12", 12), ("epoch=0", 6)):
        net = Net()
        # Another order, if the checkpoint didn't say it.
        loader = train_loader(pyfastdl.DataLoader, seed=77, **arguments)
        path = str(tmp_path / f"{name}.ckpt")
        trainer(tmp_path).fit(net, loader, validation, ckpt_path=path, weights_only=False)
        assert net.seen == whole.seen[done:], name


@pytest.mark.parametrize("where", ["in a hook", "elsewhere"])
def test_what_lightning_makes_anew_is_ours(where, classes, monkeypatch):
    """Its way to put another sampler in, from a loader's attributes or (made in a hook) from its arguments."""
    monkeypatch.delenv("PYFASTDL_WORKER_MODE", raising=False)
    cases = [
        {"worker_mode": "thread", "num_workers": 2, "device": "meta", "on_error": "skip"},
        {"worker_mode": "thread", "num_workers": 1, "timeout": 9, "prefetch_factor": 3, "on_error": "replace"},
        {"worker_mode": "process", "num_workers": 1, "persistent_workers": True, "in_order": False},
        {"worker_mode": "process", "num_workers": 1, "multiprocessing_context": "fork"},
        {"num_workers": "auto", "drop_last": True},
        {"num_workers": 0, "collate_fn": list, "generator": torch.Generator()},
        {"dataset": classes},
        {"dataset": classes, "num_workers": 2, "worker_mode": "native"},
    ]
    for arguments in cases:
        arguments = {"dataset": Squares(), **arguments}
        if where == "in a hook":
            with _replace_dunder_methods(DataLoader, "dataset"):
                loader = pyfastdl.DataLoader(batch_size=4, shuffle=True, **arguments)
        else:
            loader = pyfastdl.DataLoader(batch_size=4, shuffle=True, **arguments)
        sampler = DistributedSampler(loader.dataset, 2, 1)
        again = _update_dataloader(loader, sampler)
        assert type(again) is pyfastdl.DataLoader
        assert again.sampler is sampler
        for name, value in vars(loader).items():
            if not name.startswith("_") and name not in ("sampler", "batch_sampler"):
                assert getattr(again, name) == value, name
        assert again.multiprocessing_context == loader.multiprocessing_context
        assert again.explain() == loader.explain()
        if arguments["dataset"] is classes:
            assert next(iter(again))[0].shape == (4, 3, 1, 2)
            assert "decoded natively" in again.explain().splitlines()[0]
        half = Squares(len(loader.dataset) // 2)
        assert len(again) == len(DataLoader(half, batch_size=4, drop_last=loader.drop_last))


def test_lightning_shares_the_samples_out_to_two_processes(run_python, tmp_path):
    """Loaders made in hooks (the first of which imports the class) get their sampler by Lightning, and stay ours."""
    code = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
import pytorch_lightning as pl
import torch, pyfastdl
from torch.utils.data import DistributedSampler
class Data(torch.utils.data.Dataset):
    def __len__(self): return 26
    def __getitem__(self, i): return torch.full((2,), float(i)), i
class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.seen = {"train": [[], []], "val": [[], []]}
    def train_dataloader(self):
        return pyfastdl.DataLoader(Data(), batch_size=4, shuffle=True, num_workers="auto")
    def val_dataloader(self):
        return pyfastdl.DataLoader(Data(), 4, num_workers=2, worker_mode="process")
    def training_step(self, batch, _):
        self.seen["train"][self.current_epoch] += batch[1].tolist()
        return self.layer(batch[0]).mean()
    def validation_step(self, batch, _):
        self.seen["val"][self.current_epoch] += batch[1].tolist()
    def on_train_end(self):
        train = self.trainer.train_dataloader
        val = self.trainer.val_dataloaders
        assert all(type(one) is pyfastdl.DataLoader for one in (train, val))
        assert all(isinstance(one.sampler, DistributedSampler) for one in (train, val))
        assert 'num_workers="auto"' in train.explain() and "2 processes" in val.explain(), train.explain()
        with open(f"rank{self.global_rank}.json", "w") as file:
            json.dump(self.seen, file)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-4)
if __name__ == "__main__":
    trainer = pl.Trainer(accelerator="cpu", devices=2, strategy="ddp_fork", max_epochs=2, num_sanity_val_steps=0,
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Net())
"""
    done = run_python(code, env={"PYFASTDL_WORKER_MODE": ""}, timeout=200)
    assert done.returncode == 0, done.stderr
    ranks = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1)]
    for epoch in (0, 1):
        for kind in ("train", "val"):
            shares = [rank[kind][epoch] for rank in ranks]
            assert [len(share) for share in shares] == [13, 13]
            assert sorted(shares[0] + shares[1]) == list(range(26))
    assert ranks[0]["train"][0] != ranks[0]["train"][1], "each epoch has an order of its own"


# -- Accelerate, which makes the stock class of every loader


@pytest.fixture
def accelerator():
    yield accelerate.Accelerator(cpu=True)
    accelerate.Accelerator().free_memory()
    accelerate.state.AcceleratorState._reset_state(True)


@EACH_MODE
def test_a_prepared_loader_has_the_stock_loaders_batches(mode, accelerator):
    runs = []
    for cls, arguments in ((DataLoader, {}), (pyfastdl.DataLoader, {"num_workers": 1, "worker_mode": mode})):
        prepared = accelerator.prepare(train_loader(cls, **arguments))
        runs.append([batch for _ in range(2) for batch in prepared])
    assert_same(runs[1], runs[0])


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("prepared", [False, True])
def test_an_image_folder_is_decoded_natively_by_the_stock_class(
    workers, prepared, accelerator, image_folder, monkeypatch
):
    """Whole batches, and Pillow is never asked."""
    dataset = pyfastdl.ImageFolder(image_folder, [T.Resize(40), T.CenterCrop(32)])
    wanted = [
        (images.clone(), labels)
        for images, labels in pyfastdl.NativeLoader(
            image_folder, batch_size=4, transform=[T.Resize(40), T.CenterCrop(32)]
        )
    ]

    def refuse(*_, **__):
        raise AssertionError("not by Pillow, and not one by one")

    monkeypatch.setattr("PIL.Image.open", refuse)
    monkeypatch.setattr(pyfastdl.ImageFolder, "__getitem__", refuse)
    for cls in (pyfastdl.DataLoader, DataLoader):
        loader = cls(dataset, batch_size=4, num_workers=workers)
        if prepared:
            loader = accelerator.prepare(loader)
            assert not isinstance(loader, pyfastdl.DataLoader), "what this test is about"
        for (images, labels), (images_wanted, labels_wanted) in zip(loader, wanted, strict=True):
            assert torch.equal(images, images_wanted) and torch.equal(labels, labels_wanted)


def test_accelerate_shares_the_samples_out_to_two_processes(run_python, tmp_path, image_folder):
    """An ImageFolder's loader prepared, and a loader of ours with a sampler for the rank, as README says."""
    code = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, pyfastdl
from accelerate import Accelerator, debug_launcher
from pyfastdl import transforms as T
from torch.utils.data import DistributedSampler
class Data(torch.utils.data.Dataset):
    def __len__(self): return 26
    def __getitem__(self, i): return torch.full((2,), float(i)), i
def train(folder):
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    images = pyfastdl.ImageFolder(folder, [T.Resize((16, 16))])
    images = torch.utils.data.Subset(images, range(12))
    prepared = accelerator.prepare(pyfastdl.DataLoader(images, batch_size=2, shuffle=True, num_workers=1))
    assert type(prepared) is not pyfastdl.DataLoader
    seen = torch.cat([image for image, _ in prepared])
    sampler = DistributedSampler(Data(), accelerator.num_processes, rank)
    ours = pyfastdl.DataLoader(Data(), batch_size=4, sampler=sampler, num_workers=2, worker_mode="thread",
        device=accelerator.device)
    layer, optimizer = torch.nn.Linear(2, 1), None
    layer, optimizer = accelerator.prepare(layer, torch.optim.SGD(layer.parameters(), 1e-4))
    shares = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        shares.append([])
        for x, i in ours:
            shares[-1] += i.tolist()
            optimizer.zero_grad()
            accelerator.backward(layer(x).mean())
            optimizer.step()
    torch.save({"images": seen, "shares": shares}, f"rank{rank}.pt")
    accelerator.end_training()
if __name__ == "__main__":
    debug_launcher(train, args=(sys.argv[1],), num_processes=2)
"""
    done = run_python(code, str(image_folder), env={"PYFASTDL_WORKER_MODE": ""}, timeout=200)
    assert done.returncode == 0, done.stderr
    ranks = [torch.load(tmp_path / f"rank{rank}.pt") for rank in (0, 1)]
    dataset = pyfastdl.ImageFolder(image_folder, [T.Resize((16, 16))])
    seen = torch.cat([rank["images"] for rank in ranks])
    assert len(ranks[0]["images"]) == len(ranks[1]["images"]) == 6
    assert all(sum(torch.equal(image, other) for other in seen) == 1 for image, _ in (dataset[i] for i in range(12)))
    for epoch in (0, 1):
        assert sorted(ranks[0]["shares"][epoch] + ranks[1]["shares"][epoch]) == list(range(26))
    assert ranks[0]["shares"][0] != ranks[0]["shares"][1]


# -- torch's own sampler, by hand


@EACH_MODE
def test_distributed_sampler(mode):
    dataset = Squares(25)
    for epoch in (0, 1):
        everything = []
        for rank in range(3):
            sampler = DistributedSampler(dataset, 3, rank, seed=4)
            sampler.set_epoch(epoch)
            got = list(pyfastdl.DataLoader(dataset, 4, sampler=sampler, num_workers=2, worker_mode=mode))
            assert_same(got, list(DataLoader(dataset, 4, sampler=sampler)))
            everything += [int(i) for _, indices in got for i in indices]
        assert len(everything) == 27 and set(everything) == set(range(25))


def test_ranks_draw_each_samples_numbers_alike():
    """sample_rng() follows from the seed and the index, so a sample is the same on whichever rank it is loaded."""

    def draw(index):
        return index, pyfastdl.sample_rng().numpy.integers(1 << 40)

    def numbers(ranks):
        found = {}
        for rank in range(ranks):
            torch.manual_seed(3)
            sampler = DistributedSampler(By(draw, 24), ranks, rank)
            for index, number in pyfastdl.DataLoader(By(draw, 24), batch_size=None, sampler=sampler):
                found[index] = int(number)
        return found

    assert numbers(1) == numbers(2) == numbers(3)
