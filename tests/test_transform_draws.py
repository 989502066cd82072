"""The random numbers of each transform against its documented distribution. All seeds are fixed: a test either always
passes or never."""

from __future__ import annotations

import collections
import math
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import transforms as TV

from pyfastdl import transforms as T

COUNT = 3000


def samples(transform: Any, height: int = 60, width: int = 80, count: int = COUNT, **key: int) -> list[dict[str, Any]]:
    compose = T.Compose([transform])
    key = {"seed": 5, "epoch": 1, **key}
    return [compose.sample(height, width, index=i, **key) for i in range(count)]


def equally_often(values: list[Any], kinds: int) -> bool:
    """Chi-squared, by its normal approximation, at one in a thousand."""
    counts = np.array(list(collections.Counter(values).values()), float)
    assert len(counts) == kinds
    expected = len(values) / kinds
    free = kinds - 1
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic < free * (1 - 2 / (9 * free) + 3.1 * math.sqrt(2 / (9 * free))) ** 3  # Wilson and Hilferty


def distance(values: Any, cdf: Any) -> float:
    """Kolmogorov and Smirnov's."""
    ordered = np.sort(np.asarray(values, float))
    below = cdf(ordered)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(max((steps[1:] - below).max(), (below - steps[:-1]).max()))


def as_often_as(values: Any, p: float) -> bool:
    return abs(sum(values) - len(values) * p) < 3.3 * math.sqrt(len(values) * p * (1 - p))


FITS = 1.95 / math.sqrt(COUNT)  # exceeded once in a thousand


@pytest.mark.parametrize(
    ("transform", "key"),
    [
        (T.RandomVerticalFlip, "vflip"),
        (T.RandomHorizontalFlip, "flip"),
        (T.RandomGrayscale, "grayscale"),
    ],
)
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_choices_have_their_probability(transform: Any, key: str, p: float) -> None:
    taken = [numbers[key] for numbers in samples(transform(p))]
    assert sum(taken) == COUNT * p if p in (0.0, 1.0) else as_often_as(taken, p)


def test_random_crop_is_uniform_in_the_padded_image() -> None:
    drawn = samples(T.RandomCrop((60, 70), padding=4))
    assert equally_often([numbers["top"] for numbers in drawn], 9)
    assert equally_often([numbers["left"] for numbers in drawn], 19)
    assert {(numbers["height"], numbers["width"]) for numbers in drawn} == {(60, 70)}
    assert abs(np.corrcoef([(n["top"], n["left"]) for n in drawn], rowvar=False)[0, 1]) < 4 / math.sqrt(COUNT)


def test_random_crop_of_its_own_size_draws_nothing() -> None:
    compose = T.Compose([T.RandomCrop((60, 80)), T.RandomHorizontalFlip()])
    flips = T.Compose([T.RandomHorizontalFlip()])
    for i in range(20):
        numbers = compose.sample(60, 80, seed=1, epoch=0, index=i)
        assert numbers == {
            "top": 0,
            "left": 0,
            "height": 60,
            "width": 80,
            **flips.sample(60, 80, seed=1, epoch=0, index=i),
        }


def test_jitter_is_uniform_in_its_ranges_and_in_its_orders() -> None:
    transform = T.ColorJitter(brightness=0.4, contrast=(0.5, 0.7), saturation=3, hue=0.25)
    drawn = samples(transform)
    for name, (low, high) in {
        "brightness": (0.6, 1.4),
        "contrast": (0.5, 0.7),
        "saturation": (0.0, 4.0),
        "hue": (-0.25, 0.25),
    }.items():
        values = np.array([numbers[name] for numbers in drawn])
        assert low <= values.min() <= values.max() <= high
        assert distance(values, lambda x, low=low, high=high: (x - low) / (high - low)) < FITS, name
    assert equally_often([numbers["order"] for numbers in drawn], 24)
    assert sorted(drawn[0]["order"]) == ["brightness", "contrast", "hue", "saturation"]
    together = np.corrcoef([(n["brightness"], n["contrast"], n["saturation"], n["hue"]) for n in drawn], rowvar=False)
    assert np.abs(together - np.eye(4)).max() < 4 / math.sqrt(COUNT)


def test_what_jitter_leaves_out_is_not_drawn() -> None:
    assert list(samples(T.ColorJitter(hue=0.1), count=1)[0]) == ["order", "hue"]


def space(transform: Any, size: tuple[int, int]) -> dict[str, tuple[Any, bool]]:
    """torchvision's own table of operations."""
    if isinstance(transform, T.RandAugment):
        return TV.RandAugment()._augmentation_space(transform.num_magnitude_bins, size)
    return TV.TrivialAugmentWide()._augmentation_space(transform.num_magnitude_bins)


@pytest.mark.parametrize("bins", [2, 3, 10, 31, 100])
@pytest.mark.parametrize("size", [(224, 224), (37, 501)])
def test_magnitudes_are_torchvisions(bins: int, size: tuple[int, int]) -> None:
    for transform in (T.RandAugment(40, bins // 2, bins), T.TrivialAugmentWide(bins)):
        table = space(transform, size)
        seen = set()
        for numbers in samples(transform, *size, count=60 if transform.spec()[0] == "rand_augment" else COUNT):
            for name, magnitude in numbers["ops"]:
                values, signed = table[name]
                seen.add(name)
                if values.ndim == 0:
                    assert magnitude == 0.0
                elif isinstance(transform, T.RandAugment):
                    assert abs(magnitude) == pytest.approx(float(values[bins // 2]), rel=1e-6)
                else:
                    # torch's vector code may round the last bit otherwise on another CPU.
                    assert float((values - abs(magnitude)).abs().min()) <= 1e-6 * max(1.0, abs(magnitude))
                assert signed or magnitude >= 0
        assert seen == set(table)


def test_augmentations_and_signs_are_equally_likely() -> None:
    ops = [op for numbers in samples(T.RandAugment(num_ops=2)) for op in numbers["ops"]]
    assert len(ops) == 2 * COUNT
    assert equally_often([name for name, _ in ops], 14)
    signed = [magnitude > 0 for name, magnitude in ops if name in ("ShearX", "TranslateY", "Rotate", "Color")]
    assert as_often_as(signed, 0.5)
    assert {magnitude > 0 for name, magnitude in ops if name == "Solarize"} == {True}
    assert samples(T.RandAugment(num_ops=0), count=1)[0] == {}


def test_trivial_augments_magnitudes_are_equally_likely() -> None:
    ops = [op for numbers in samples(T.TrivialAugmentWide(5), count=2 * COUNT) for op in numbers["ops"]]
    assert equally_often([name for name, _ in ops], 14)
    assert equally_often([round(magnitude, 3) for name, magnitude in ops if name == "Solarize"], 5)
    assert equally_often([round(abs(magnitude), 3) for name, magnitude in ops if name == "Rotate"], 5)


def test_erasing_draws_its_box_as_torchvision() -> None:
    drawn = [numbers["erase"] for numbers in samples(T.RandomErasing(p=0.7), count=2 * COUNT)]
    assert as_often_as([box is not None for box in drawn], 0.7)
    ours = np.array([box for box in drawn if box is not None], float)
    state = torch.get_rng_state()
    torch.manual_seed(3)
    blank = torch.zeros(3, 60, 80)
    theirs = np.array(
        [TV.RandomErasing.get_params(blank, (0.02, 0.33), (0.3, 3.3), [0.0])[:4] for _ in range(len(ours))], float
    )
    torch.set_rng_state(state)
    for a, b in zip(ours.T, theirs.T, strict=True):
        points = np.union1d(a, b)
        gap = np.searchsorted(np.sort(a), points, "right") - np.searchsorted(np.sort(b), points, "right")
        assert np.abs(gap).max() / len(a) < 1.95 * math.sqrt(2 / len(a))


def test_erasing_noise_is_normal_and_another_each_time() -> None:
    drawn = [
        numbers["erase_noise"] for numbers in samples(T.RandomErasing(p=1.0, value="random"), 40, 40, 60)
    ]  # some boxes are empty
    values = np.concatenate([noise.ravel() for noise in drawn])
    assert all(noise.dtype == np.float32 and noise.shape[0] == 3 for noise in drawn)
    normal = np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))
    assert len(values) > 20000
    assert distance(values, normal) < 1.95 / math.sqrt(len(values))
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 4 / math.sqrt(len(values))
    assert len(np.unique(values)) > 0.99 * len(values)


def test_views_draw_numbers_of_their_own() -> None:
    compose = T.Compose([T.RandomResizedCrop(9), T.ColorJitter(0.5, 0.5, 0.5, 0.5)])
    views = T.Views([compose] * 3)
    alone = [compose.sample(60, 80, seed=2, epoch=3, index=i, occurrence=1) for i in range(500)]
    together = [views.sample(60, 80, seed=2, epoch=3, index=i, occurrence=1) for i in range(500)]
    assert [numbers[0] for numbers in together] == alone  # view 0 is a loader of one view
    factors = np.array([[view["hue"] for view in numbers] for numbers in together])
    assert np.abs(np.corrcoef(factors, rowvar=False) - np.eye(3)).max() < 4 / math.sqrt(500)


def test_a_second_time_has_a_key_of_its_own() -> None:
    compose = T.Compose([T.Pad(3), T.RandomCrop(9), T.RandomVerticalFlip(), T.RandomCrop(5), T.RandomVerticalFlip()])
    box = ["top", "left", "height", "width"]
    keys = list(compose.sample(30, 40, seed=0, epoch=0, index=0))
    assert keys == [*box, "vflip", *(f"{key}_2" for key in box), "vflip_2"]
    assert T.Compose([T.Pad(3), T.Grayscale(), T.ToTensor()]).sample(30, 40, seed=0, epoch=0, index=0) == {}
