"""Odd datasets, samplers and uses of loaders whose dataset the core loads."""

from __future__ import annotations

import copy
import signal

import numpy as np
import pytest
import torch
from file_datasets import EVALUATION, TRAINING, folder, numbered
from loaders import Invert, assert_same
from PIL import Image, PngImagePlugin
from torch.utils.data import DataLoader, Subset
from torchvision import transforms as v1

import pyfastdl

SIZES_OF_THE_FILE = {
    "flip": [v1.RandomHorizontalFlip(1.0)],
    "resize": [v1.Resize(40)],
    "pad": [v1.Pad((1, 2, 3, 4), fill=(1, 2, 3))],
    "grayscale": [v1.Grayscale(3)],
    "colours": [v1.ColorJitter((0.5, 0.5))],
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("beginning", SIZES_OF_THE_FILE)
def test_pictures_of_any_size_for_the_user(beginning, num_workers, image_folder):
    """Also of three pixels' height, which another memory format could be taken for."""
    for i, size in enumerate([(20, 3), (3, 20), (3, 3), (1, 1)]):
        pixels = np.random.default_rng(i).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(image_folder / "ant" / f"{i}.png")
    dataset = folder(image_folder, v1.Compose([*SIZES_OF_THE_FILE[beginning], Invert(), v1.PILToTensor()]))
    loader = pyfastdl.DataLoader(dataset, num_workers=num_workers, worker_mode="auto")
    assert "natively" in loader.explain()
    assert_same(list(loader), list(DataLoader(dataset)))


def test_metadata_behind_the_pixels(tmp_path):
    """A PNG may have them there."""
    (tmp_path / "a").mkdir()
    image = Image.new("RGB", (30, 20), (1, 2, 3))
    info = PngImagePlugin.PngInfo()
    info.add(b"tEXt", b"Comment\0late", after_idat=True)
    image.save(tmp_path / "a" / "1.png", pnginfo=info, transparency=(1, 2, 3))
    seen = []

    def look(picture):
        seen.append(dict(picture.info))
        return picture

    dataset = folder(tmp_path, v1.Compose([v1.CenterCrop(10), look, v1.ToTensor()]))
    list(DataLoader(dataset))
    list(pyfastdl.DataLoader(dataset, worker_mode="native"))
    assert seen[0] == seen[1]
    assert seen[0]["Comment"] == "late"


# -- lists that change


KINDS = {
    "lists": lambda samples: [list(sample) for sample in samples],
    "an array": lambda samples: np.array(samples, dtype=object),
    "a tuple of lists": lambda samples: tuple(list(sample) for sample in samples),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rest", [[], [torch.clone]])
def test_samples_that_are_changed_in_place(kind, rest, image_folder):
    dataset = folder(image_folder, v1.Compose([EVALUATION, *rest]))
    dataset.samples = KINDS[kind](dataset.samples)
    loader = pyfastdl.DataLoader(dataset, batch_size=4, worker_mode="native")
    assert_same(list(loader), list(DataLoader(dataset, batch_size=4)))
    for sample in dataset.samples:
        sample[1] = 2 - sample[1]
    dataset.samples[0][0], dataset.samples[5][0] = dataset.samples[5][0], dataset.samples[0][0]
    assert_same(list(loader), list(DataLoader(dataset, batch_size=4)))


@pytest.mark.parametrize("kind", [float, bool])
def test_targets_of_another_type(kind, image_folder):
    dataset = folder(image_folder)
    dataset.samples = [(path, target % 2) for path, target in dataset.samples]
    loader = pyfastdl.DataLoader(dataset, batch_size=4, worker_mode="native")
    list(loader)
    dataset.samples = [(path, kind(target)) for path, target in dataset.samples]
    assert_same(list(loader), list(DataLoader(dataset, batch_size=4)))


@pytest.mark.parametrize("rest", [[], [torch.clone]])
def test_a_change_in_mid_epoch_mixes_nothing(rest, image_folder):
    """Pixels and targets are those of one sample, whenever it was listed."""
    dataset = folder(image_folder, v1.Compose([EVALUATION, *rest]))
    expected = {path: pixels for (path, _), (pixels, _) in zip(dataset.samples, dataset, strict=True)}
    target = dict(dataset.samples)
    iterator = iter(pyfastdl.DataLoader(dataset, batch_size=3, worker_mode="native"))
    batches = [next(iterator)]
    dataset.samples.reverse()
    batches += iterator
    for images, targets in batches:
        for image, label in zip(images, targets.tolist(), strict=True):
            (path,) = [path for path, pixels in expected.items() if torch.equal(image, pixels)]
            assert target[path] == label


def test_a_subset_whose_indices_are_a_dict(image_folder):
    dataset = Subset(folder(image_folder), {0: 5, 1: 7})
    loader = pyfastdl.DataLoader(dataset, batch_size=2, worker_mode="native")
    assert_same(list(loader), list(DataLoader(dataset, batch_size=2)))


# -- samplers


@pytest.mark.parametrize("options", [{"num_workers": 2}, {}, {"num_workers": "auto"}])
def test_batches_of_indices_that_are_tuples(options, image_folder):
    """Repeats are counted in them as in lists, whoever loads them."""
    batches = [(1, 1, 2), (1, 2)]
    wanted = None
    for transform in (TRAINING, [*TRAINING, torch.clone]):
        for kind in (list, tuple):
            loader = pyfastdl.DataLoader(
                numbered(image_folder, v1.Compose(transform)), batch_sampler=[kind(batch) for batch in batches],
                generator=torch.Generator().manual_seed(4), worker_mode="auto", **options,
            )  # fmt: skip
            got = list(loader)
            assert not torch.equal(got[0][0][0], got[0][0][1])
            wanted = wanted or got
            assert_same(got, wanted)


class RaisesFirst:
    """Once; and goes on then."""

    def __init__(self, single):
        self.single, self.count = single, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        if self.count == 1:
            raise ValueError("mine")
        if self.count > 4:
            raise StopIteration
        return self.count if self.single else [self.count]


@pytest.mark.parametrize("single", [False, True])
def test_a_sampler_that_raises_and_goes_on(single, image_folder):
    dataset = numbered(image_folder)
    outcomes = []
    for loader_class in (DataLoader, pyfastdl.DataLoader):
        sampler = RaisesFirst(single)
        iterator = iter(loader_class(dataset, **({"sampler": sampler} if single else {"batch_sampler": sampler})))
        seen = []
        for _ in range(5):
            try:
                seen.append(next(iterator)[1].tolist())
            except (ValueError, StopIteration) as error:
                seen.append(repr(error))
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(("mode", "num_workers"), [("native", 0), ("native", 1), ("thread", 1)])
def test_a_batch_asked_for_within_its_own_request(mode, num_workers, image_folder):
    class Nested:
        def __iter__(self):
            yield from range(6)
            next(iterator)
            yield 6

    options = {"num_workers": num_workers, "worker_mode": mode}
    iterator = iter(pyfastdl.DataLoader(numbered(image_folder), sampler=Nested(), **options))
    with pytest.raises(pyfastdl.LoaderError, match="take one batch at a time"):
        list(iterator)


def test_a_signal_handler_that_asks_for_a_batch(image_folder):
    dataset = numbered(image_folder, v1.Compose([v1.Resize((900, 900)), v1.ToTensor()]))
    iterator = iter(pyfastdl.DataLoader(dataset, batch_size=5, worker_mode="native"))
    outcomes = []

    def handler(*_):
        try:
            outcomes.append(next(iterator)[1].tolist())
        except pyfastdl.LoaderError as error:
            outcomes.append(str(error))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        seen = [index for _, targets in iterator for index in targets.tolist()]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert sorted(seen + [index for one in outcomes if isinstance(one, list) for index in one]) == list(range(15))


def test_a_state_is_a_copy(image_folder):
    def make():
        return pyfastdl.DataLoader(numbered(image_folder), batch_size=4, shuffle=True, worker_mode="native")

    loader = make()
    next(iter(loader))
    state = loader.state_dict()
    resumed = make()
    given = copy.deepcopy(state)
    resumed.load_state_dict(given)
    given["yielded"] = 11
    resumed.state_dict()["yielded"] = 11
    for generator in given["generators"]:
        generator.zero_()
    assert len(list(resumed)) == 3
