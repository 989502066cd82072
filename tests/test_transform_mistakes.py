"""Lists of transforms that hold what was not meant: torchvision's objects, lists among transforms, unknown names."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import torchvision.transforms as v1
from torchvision.transforms import v2

import pyfastdl
from pyfastdl import transforms as T

# Arguments of those that need some.
ARGUMENTS = {
    "CenterCrop": [8],
    "Normalize": [[0.5], [0.5]],
    "Pad": [1],
    "RandomCrop": [8],
    "RandomResizedCrop": [8],
    "Resize": [8],
    "ToDtype": [torch.float32],
}
NAMES = [
    name
    for name in T.__all__
    if isinstance(getattr(T, name), type) and issubclass(getattr(T, name), T.Transform) and name != "Transform"
]


def made(module, name):
    return getattr(module, name)(*ARGUMENTS.get(name, []))


def of_every_kind(transform):
    """The ways in which a transform gets into a list."""
    return [
        lambda: T.Compose([transform]),
        lambda: T.Compose([T.CenterCrop(8), transform]),
        lambda: T.Views([[T.CenterCrop(8)], [transform]]),
        lambda: T.Compose(transform),
    ]


@pytest.mark.filterwarnings("ignore:.*ToTensor")  # torchvision's wish that it goes
@pytest.mark.parametrize(
    ("module", "name"), [(v2, name) for name in NAMES] + [(v1, name) for name in NAMES if hasattr(v1, name)]
)
def test_torchvisions_transforms_are_refused_where_there_is_an_equal(module, name):
    words = rf"is torchvision's: write pyfastdl\.transforms\.{name} \(from pyfastdl import transforms as T\)"
    for make in of_every_kind(made(module, name)):
        with pytest.raises(TypeError, match=words):
            make()
    with pytest.raises(TypeError, match=words):
        T.Compose([getattr(module, name)])


@pytest.mark.parametrize("module", [v1, v2], ids=["v1", "v2"])
def test_the_loader_and_the_folder_say_so_too(image_folder, module):
    crop = module.RandomResizedCrop(8)
    for make in (pyfastdl.NativeLoader, pyfastdl.ImageFolder):
        for transform in ([crop, v1.ToTensor()], crop, [[T.CenterCrop(8)], [crop]]):
            with pytest.raises(TypeError, match=r"write pyfastdl\.transforms\.RandomResizedCrop"):
                make(image_folder, transform=transform)
        compose = module.Compose([crop])
        for transform in (compose, [compose], [compose, compose], [T.CenterCrop(8), compose]):
            with pytest.raises(TypeError, match="this Compose is torchvision's.*pass its list"):
                make(image_folder, transform=transform)


def test_behind_a_callable_both_ways_out_are_said():
    with pytest.raises(TypeError, match=r"pyfastdl\.transforms\.Normalize.*before the Python callable.*or call"):
        T.Compose([T.CenterCrop(8), torch.sqrt, v1.Normalize(0.5, 0.5)])


class Own(v2.Resize):
    """A user's: its methods may do anything."""


@pytest.mark.parametrize(
    "transform",
    [v1.GaussianBlur(3, 1.0), v2.GaussianBlur(3, 1.0), v1.RandomRotation((5, 5)), v2.Lambda(torch.sqrt), Own(6)],
    ids=repr,
)
def test_what_has_no_equal_is_a_callable(image_folder, transform):
    assert T.Compose([T.CenterCrop(8), transform]).callables == (transform,)
    crop, _ = pyfastdl.ImageFolder(image_folder, [T.CenterCrop(8)])[0]
    image, _ = pyfastdl.ImageFolder(image_folder, [T.CenterCrop(8), transform])[0]
    assert torch.equal(image, transform(crop))


@pytest.mark.parametrize(
    "transform",
    [
        [[T.CenterCrop(8)], T.CenterCrop(8)],
        [T.CenterCrop(8), [T.CenterCrop(8)]],
        [T.CenterCrop(8), (T.CenterCrop(8),)],
        [T.CenterCrop(8), T.Compose([T.CenterCrop(8)])],
        [[T.CenterCrop(8)], abs],
        [[], T.CenterCrop(8)],
    ],
)
def test_lists_among_transforms_are_all_or_none(image_folder, transform):
    for make in (pyfastdl.NativeLoader, pyfastdl.ImageFolder):
        with pytest.raises(TypeError, match="either all elements of the list are lists.*or none is"):
            make(image_folder, transform=transform)


@pytest.mark.parametrize("name", ["GaussianBlur", "RandomRotation", "Lambda", "RandomApply", "anything"])
def test_a_name_that_is_none_says_which_are(name):
    with pytest.raises(AttributeError) as caught:
        getattr(T, name)
    words = str(caught.value)
    assert f"pyfastdl.transforms has no {name!r}" in words
    assert all(other in words for other in T.__all__)
    assert "Python callable" in words
    assert "pyfastdl.DataLoader" in words
    assert not hasattr(T, name)


def test_a_name_that_is_nearly_one_says_which():
    with pytest.raises(AttributeError, match="did you mean 'RandomResizedCrop'"):
        _ = T.RandomResizeCrop
    with pytest.raises(AttributeError, match="has no attribute '__wrapped__'"):
        _ = T.__wrapped__
    with pytest.raises(ImportError, match="GaussianBlur"):
        from pyfastdl.transforms import GaussianBlur  # noqa: F401


def test_torchvision_is_not_imported_for_it():
    code = (
        "import sys; sys.modules['torchvision'] = None\n"
        "from pyfastdl import transforms as T\n"
        "print(len(T.Compose([T.CenterCrop(8), abs]).callables))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert (done.stdout, done.stderr) == ("1\n", "")
