"""Datasets that the core loads in place of Python: the same batches, order, errors and habits as the stock loader's."""

from __future__ import annotations

import itertools
import os
import pickle
import shutil

import pytest
import torch
from file_datasets import EVALUATION, STATISTICS, TRAINING, folder, is_native, numbered, with_targets
from loaders import Invert, assert_same
from PIL import Image, ImageFile
from torch.utils.data import ConcatDataset, DataLoader, Subset, random_split
from torchvision import transforms as v1
from torchvision.transforms import v2

import pyfastdl
from pyfastdl import transforms as T

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def double(target):
    return {"twice": 2 * target}


def stack_first(samples):
    return torch.stack([image for image, _ in samples]), "mine"


# -- the values

WHOLE = {
    "folder": folder,
    "subset": lambda root: Subset(folder(root), [3, 1, -1, 3]),
    "subset of a subset, by a tensor": lambda root: Subset(Subset(folder(root), range(9)), torch.tensor([8, 0, 2])),
    "concatenation": lambda root: ConcatDataset([folder(root), Subset(folder(root), [0, 2])]),
    "random_split": lambda root: random_split(folder(root), [7, 8], torch.Generator().manual_seed(1))[1],
    "targets are floats": lambda root: with_targets(root, [i / 7 for i in range(15)]),
    "targets are bools": lambda root: with_targets(root, [i % 2 == 0 for i in range(15)]),
}


@pytest.mark.parametrize("dataset", WHOLE)
@pytest.mark.parametrize("num_workers", [0, 2, "auto"])
def test_whole_batches(dataset, num_workers, image_folder):
    dataset = WHOLE[dataset](image_folder)
    ours = pyfastdl.DataLoader(dataset, batch_size=4, num_workers=num_workers, worker_mode="auto")
    assert is_native(ours)
    stock = list(DataLoader(dataset, batch_size=4))
    for _ in range(2):
        assert_same(list(ours), stock)


def test_an_empty_dataset(image_folder):
    for num_workers in (0, 2):
        assert list(pyfastdl.DataLoader(Subset(folder(image_folder), []), num_workers=num_workers)) == []


PARTLY = {
    "a picture for the user": {"transform": v1.Compose([v1.CenterCrop(50), Invert(), EVALUATION])},
    "a tensor for the user": {"transform": v1.Compose([v1.Resize(20), v1.CenterCrop(16), v1.ToTensor(), torch.neg])},
    "a tv_tensor for v2": {
        "transform": v2.Compose([v2.CenterCrop(30), v2.ToImage(), v2.Resize((9, 7)), v2.ToDtype(torch.float32)])
    },
    "a target_transform": {"transform": EVALUATION, "target_transform": double},
    "sizes that differ": {"transform": v1.Compose([v1.Resize(20), v1.ToTensor(), v1.CenterCrop(10)])},
}


@pytest.mark.parametrize("kind", PARTLY)
@pytest.mark.parametrize("workers", [0, "fork", "thread", "auto"])
def test_the_rest_runs_in_python(kind, workers, image_folder):
    options = {"num_workers": 2, "worker_mode": "auto"}
    if workers in (0, "auto"):
        options["num_workers"] = workers
    elif workers == "thread":
        options["worker_mode"] = "native"
    else:
        options["multiprocessing_context"] = workers
    check_partly(folder(image_folder, **PARTLY[kind]), options)


def test_spawned_workers_lower_it_again(image_folder):
    dataset = Subset(folder(image_folder, **PARTLY["a picture for the user"]), [7, 3, 1])
    check_partly(dataset, {"num_workers": 1, "multiprocessing_context": "spawn", "worker_mode": "auto"})


def test_what_is_left_to_python_is_explained_once(image_folder):
    transform = v1.Compose([v1.Resize(40), Invert(), v1.CenterCrop(32), v1.ToTensor()])
    loader = pyfastdl.DataLoader(folder(image_folder, transform), num_workers=2, worker_mode="native")
    lines = loader.explain().splitlines()
    assert lines[1].endswith(": native")
    assert "Invert" in lines[2] and lines[2].endswith(": Python: pyfastdl doesn't know it")
    assert lines[3] == "  CenterCrop(size=(32, 32)), ToTensor(): Python: what comes before stays Python"
    assert lines[-1] == "2 threads (worker_mode='native')"


def check_partly(dataset, options):
    loader = pyfastdl.DataLoader(dataset, batch_size=4, **options)
    assert_same(list(loader), list(DataLoader(dataset, batch_size=4)))
    assert "Python" in loader.explain()
    assert "natively" in loader.explain()


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("options", [{"batch_size": None}, {"batch_size": 4, "collate_fn": stack_first}])
def test_single_samples_and_collate_fns(num_workers, options, image_folder):
    dataset = Subset(folder(image_folder), [5, 2, 7])
    loader = pyfastdl.DataLoader(dataset, num_workers=num_workers, worker_mode="auto", **options)
    assert_same(list(loader), list(DataLoader(dataset, **options)))
    assert "batches are put together by workers" in loader.explain()


def test_a_picture_keeps_its_metadata(tmp_path):
    """A user's transform may look at them: the orientation, say."""
    (tmp_path / "a").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 30), "red").save(tmp_path / "a" / "1.jpg", exif=exif)
    seen = []

    def look(image):
        seen.append((image.getexif()[0x0112], image.mode, image.size))
        return image

    dataset = folder(tmp_path, v1.Compose([v1.CenterCrop(20), look, v1.ToTensor()]))
    list(DataLoader(dataset))
    list(pyfastdl.DataLoader(dataset, worker_mode="native"))
    assert seen[0] == seen[1] == (6, "RGB", (20, 20))


# -- random numbers and order


def test_random_numbers_are_those_of_seed_epoch_and_sample(image_folder):
    """Whoever loads a sample; and NativeLoader's, which the exactness tests compare with torchvision."""
    epochs = {}
    for name, transform, options in [
        ("whole", TRAINING, {"num_workers": 2}),
        ("whole, no workers", TRAINING, {}),
        ("processes", [*TRAINING, torch.clone], {"num_workers": 2}),
        ("threads", [*TRAINING, torch.clone], {"num_workers": "auto"}),
        ("no workers", [*TRAINING, torch.clone], {}),
        ("collate_fn", TRAINING, {"num_workers": 2, "collate_fn": torch.utils.data._utils.collate.default_collate}),
    ]:
        loader = pyfastdl.DataLoader(
            numbered(image_folder, v1.Compose(transform)), batch_size=4, worker_mode="auto",
            sampler=[3, 1, 3, 14, 3, 1], generator=torch.Generator().manual_seed(5), **options,
        )  # fmt: skip
        epochs[name] = [list(loader), list(loader)]
        seed = loader._progress.seed
    assert not torch.equal(epochs["whole"][0][0][0][0], epochs["whole"][0][0][0][2]), "the same sample a second time"
    for other in epochs.values():
        for one, wanted in zip(other, epochs["whole"], strict=True):
            assert_same(one, wanted)
    native = pyfastdl.NativeLoader(
        numbered(image_folder).samples, 4, sampler=[3, 1, 3, 14, 3, 1], seed=seed,
        transform=[T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(**STATISTICS)],
    )  # fmt: skip
    native.set_epoch(1)
    assert_same([list(batch) for batch in native], epochs["whole"][1])


SAMPLERS = {
    "shuffle": {"shuffle": True},
    "in order": {},
    "with replacement": "RandomSampler(range(15), replacement=True, num_samples=70)",
    "weighted": "WeightedRandomSampler([0.1] * 15, 40)",
    "subset": "SubsetRandomSampler([4, 2, 9])",
    "more than once": "RandomSampler(range(15), num_samples=40)",
}


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_order_and_draws_are_torchs(sampler, num_workers, persistent, image_folder):
    if persistent and not num_workers:
        return
    dataset = numbered(image_folder)
    seen = []
    for loader_class in (DataLoader, pyfastdl.DataLoader):
        options = SAMPLERS[sampler]
        if isinstance(options, str):
            options = {"sampler": eval(options, vars(torch.utils.data))}
        torch.manual_seed(3)
        loader = loader_class(dataset, batch_size=4, num_workers=num_workers, persistent_workers=persistent, **options)
        draws = []
        for _ in range(2):
            iterator = iter(loader)
            draws.append(torch.rand(1).item())
            for _, targets in iterator:
                draws.append((targets.tolist(), torch.rand(1).item()))
        seen.append(draws)
        if loader_class is pyfastdl.DataLoader and not os.environ.get("PYFASTDL_WORKER_MODE"):
            assert is_native(loader)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("at", range(5))
def test_resume(num_workers, at, image_folder):
    def make(workers):
        return pyfastdl.DataLoader(
            numbered(image_folder, v1.Compose(TRAINING)), batch_size=4, shuffle=True, num_workers=workers,
            worker_mode="auto",
        )  # fmt: skip

    torch.manual_seed(1)
    whole = make(num_workers)
    wanted = [list(whole), list(whole)]
    torch.manual_seed(1)
    loader = make(num_workers)
    first = list(itertools.islice(loader, at))
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    torch.manual_seed(99)
    resumed = make(2 - num_workers)
    resumed.load_state_dict(state)
    if at:
        assert_same(first + list(resumed), wanted[0])
    else:
        assert_same(list(resumed), wanted[0])
    assert_same(list(resumed), wanted[1])


# -- what can't be loaded


@pytest.fixture
def broken(image_folder):
    (image_folder / "ant" / "2.jpg").write_bytes(b"<html>")
    shutil.copy(image_folder / "bee" / "0.jpg", image_folder / "bee" / "1.jpg")
    os.truncate(image_folder / "bee" / "1.jpg", os.path.getsize(image_folder / "bee" / "1.jpg") - 60)
    os.remove(image_folder / "cat" / "4.jpg")
    os.symlink("nowhere", image_folder / "cat" / "4.jpg")
    return image_folder


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("transform", [EVALUATION, v1.Compose([EVALUATION, torch.clone])])
def test_errors_are_the_datasets_own(num_workers, transform, broken):
    dataset = folder(broken, transform)
    seen = []
    for loader_class in (DataLoader, pyfastdl.DataLoader):
        outcomes = []
        iterator = iter(loader_class(dataset, batch_size=1, num_workers=num_workers))
        while True:
            try:
                outcomes.append(next(iterator)[1].tolist())
            except StopIteration:
                break
            except Exception as error:
                outcomes.append(type(error))
        seen.append(outcomes)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 15
    assert len([one for one in seen[0] if isinstance(one, type)]) == 3


def test_an_error_names_the_sample(broken):
    with pytest.raises(Image.UnidentifiedImageError) as raised:
        list(pyfastdl.DataLoader(folder(broken), batch_size=4, worker_mode="native"))
    notes = " ".join(getattr(raised.value, "__notes__", ()))
    assert "sample 2 (" in notes
    assert "2.jpg" in notes
    assert "HTML" in notes, "what pyfastdl saw is said too"


@pytest.mark.parametrize("num_workers", [0, 2])
def test_truncated_images_where_the_user_allows_them(num_workers, broken, monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    dataset = Subset(folder(broken), [4, 5, 6, 7])
    loader = pyfastdl.DataLoader(dataset, batch_size=4, num_workers=num_workers, worker_mode="native")
    assert_same(list(loader), list(DataLoader(dataset, batch_size=4)))


@pytest.mark.parametrize("index", [15, -16, "0", 1.0, (0,), None])
def test_an_index_that_is_none_of_the_datasets(index, image_folder):
    dataset = folder(image_folder)
    ours = pyfastdl.DataLoader(dataset, batch_sampler=[[0], [1, index], [2]], worker_mode="native")
    stock = DataLoader(dataset, batch_sampler=[[0], [1, index], [2]])
    for loader in (ours, stock):
        iterator = iter(loader)
        next(iterator)
        with pytest.raises((IndexError, TypeError)) as raised:
            next(iterator)
        if loader is ours:
            kind = type(raised.value)
        assert next(iterator)[1].tolist() == [0]
    assert kind is type(raised.value)


def test_a_fifo_does_not_hang(image_folder):
    dataset = folder(image_folder)
    os.remove(image_folder / "bee" / "1.jpg")
    os.mkfifo(image_folder / "bee" / "1.jpg")
    loader = pyfastdl.DataLoader(dataset, batch_size=5, worker_mode="native")
    with pytest.raises(pyfastdl.SampleError, match="FIFO"):
        list(loader)
    assert len(list(pyfastdl.DataLoader(Subset(dataset, [0, 1]), worker_mode="native"))) == 2
