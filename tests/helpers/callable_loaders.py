"""NativeLoaders with Python functions at the end of their transforms, and functions that fail."""

from __future__ import annotations

import torch

import pyfastdl
from pyfastdl import transforms as T
from pyfastdl.workers.context import context

CROP = [T.RandomResizedCrop(24), T.RandomHorizontalFlip()]
SQUARE = [T.Resize((12, 12))]


def loader_of(files, *callables, transform=CROP, batch_size=4, **arguments):
    return pyfastdl.NativeLoader(
        files, batch_size, transform=[*transform, *callables], **{"seed": 3, "num_workers": 2, **arguments}
    )


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def place():
    """Which sample of the epoch a function has in its hands."""
    return context.index


def fails_on(indices, error):
    """Fails at those places of the epoch."""

    def fail(image):
        if place() in indices:
            raise error
        return image

    return fail


def fails_on_pictures_of(files, indices):
    """Fails for those samples, wherever they come."""
    pictures = torch.cat(list(pyfastdl.NativeLoader([files[i] for i in indices], 1, transform=SQUARE)))

    def fail(image):
        if any(torch.equal(image, picture) for picture in pictures):
            raise ValueError("no good")
        return image

    return fail
