"""torchvision's folders for the tests of lowering."""

from __future__ import annotations

import torchvision
from torchvision import transforms as v1

STATISTICS = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
EVALUATION = v1.Compose([v1.Resize(40), v1.CenterCrop(32), v1.ToTensor(), v1.Normalize(**STATISTICS)])
TRAINING = [v1.RandomResizedCrop(32), v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(**STATISTICS)]


def folder(root, transform=EVALUATION, **more):
    return torchvision.datasets.ImageFolder(root, transform, **more)


def numbered(root, transform=EVALUATION, length=15):
    """Each sample's target is its index."""
    dataset = folder(root, transform)
    dataset.samples = [(path, i) for i, (path, _) in enumerate(dataset.samples[:length])]
    return dataset


def is_native(loader):
    return "without workers" in loader.explain()


def with_targets(root, targets):
    dataset = folder(root)
    dataset.samples = [(path, target) for (path, _), target in zip(dataset.samples, targets, strict=True)]
    return dataset
