"""Trains the same small network twice on the same photographs: fed by pyfastdl, then by torch's own DataLoader.

The last lines are a table: what each learnt, how fast it went and how long the training loop waited for data. The exit
status says whether both learnt (whether the labels belong to the pixels). Run by `make demo`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torchvision
from photographs import tiles
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from torch import nn
from torchvision import transforms as tv

import pyfastdl
from pyfastdl import transforms as T

CROP = 112
BATCH = 64
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
Batches = Iterable[tuple[torch.Tensor, torch.Tensor]]


@dataclass
class Feed:
    """A way to feed the network: one loader for training, one for validation."""

    name: str
    train: Any
    val: Any
    start_epoch: Callable[[int], None] = lambda epoch: None
    verdict: Callable[[], str] = lambda: ""


@dataclass
class Result:
    images: int = 0
    seconds: float = 0.0
    waiting: float = 0.0
    accuracy: float = 0.0
    losses: list[float] = field(default_factory=list)


def native(data: Path, workers: int) -> Feed:
    train = pyfastdl.NativeLoader(
        str(data / "train"),
        batch_size=BATCH,
        shuffle=True,
        seed=0,
        num_workers=workers,
        transform=[
            T.RandomResizedCrop(CROP, scale=(0.3, 1.0)),
            T.RandomHorizontalFlip(),
            T.Normalize(MEAN, STD),
        ],
    )
    val = pyfastdl.NativeLoader(
        str(data / "val"),
        batch_size=BATCH,
        num_workers=workers,
        transform=[T.Resize(CROP), T.CenterCrop(CROP), T.Normalize(MEAN, STD)],
    )
    return Feed("pyfastdl.NativeLoader", train, val, train.set_epoch, lambda: train.stats().verdict)


def stock(data: Path, workers: int) -> Feed:
    to_floats = [tv.ToTensor(), tv.Normalize(MEAN, STD)]
    augment = tv.Compose([tv.RandomResizedCrop(CROP, scale=(0.3, 1.0)), tv.RandomHorizontalFlip(), *to_floats])
    plain = tv.Compose([tv.Resize(CROP), tv.CenterCrop(CROP), *to_floats])
    train, val = (
        torch.utils.data.DataLoader(
            torchvision.datasets.ImageFolder(str(data / split), transform),
            batch_size=BATCH,
            shuffle=split == "train",
            num_workers=workers,
            persistent_workers=workers > 0,
        )
        for split, transform in (("train", augment), ("val", plain))
    )
    return Feed("torch DataLoader", train, val)


def network(classes: int) -> nn.Module:
    """Patches, then three strided convolutions: small enough that feeding it is the work."""
    layers: list[nn.Module] = [nn.Conv2d(3, 32, 4, stride=4, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    for narrow, wide in ((32, 64), (64, 64), (64, 128)):
        layers += [
            nn.Conv2d(narrow, wide, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, classes))


def train(feed: Feed, classes: int, epochs: int, device: torch.device, progress: Progress) -> Result:
    torch.manual_seed(0)
    model = network(classes).to(device)
    steps = epochs * len(feed.train)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=3e-3, total_steps=steps)
    task = progress.add_task(feed.name, total=steps, note="")
    result = Result()
    for epoch in range(epochs):
        feed.start_epoch(epoch)
        begin = waited_from = time.perf_counter()
        for images, labels in feed.train:
            result.waiting += time.perf_counter() - waited_from
            images, labels = images.to(device), labels.to(device)
            loss = nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            result.losses.append(loss.item())
            result.images += len(labels)
            progress.update(task, advance=1, note=f"loss {result.losses[-1]:.2f}")
            waited_from = time.perf_counter()
        result.seconds += time.perf_counter() - begin
        if not progress.console.is_terminal:  # a log has no bar that moves
            so_far = f"loss {result.losses[-1]:.2f}, {result.images / result.seconds:.0f} images/s"
            progress.console.print(f"{feed.name}: epoch {epoch + 1} of {epochs}, {so_far}")
    result.accuracy = accuracy(model, feed.val, device)
    progress.update(task, note=f"accuracy {result.accuracy:.1%}")
    return result


@torch.no_grad()
def accuracy(model: nn.Module, batches: Batches, device: torch.device) -> float:
    model.eval()
    right = total = 0
    for images, labels in batches:
        right += int((model(images.to(device)).argmax(1).cpu() == labels).sum())
        total += len(labels)
    return right / total


def why_slower(ours: Result, theirs: Result, device: torch.device) -> str:
    """One sentence on what makes training with the stock loader slower; empty where it isn't."""
    if theirs.seconds <= ours.seconds:
        return ""
    waited = max(theirs.waiting - ours.waiting, 0.0)
    steps = max((theirs.seconds - theirs.waiting) - (ours.seconds - ours.waiting), 0.0)
    if waited >= steps:
        return f"The stock loader's training is slower because it waits for data, {waited:.1f} s longer."
    shared = "decode on the CPUs that the network computes on" if device.type == "cpu" else "take the CPU from the loop"
    return (
        f"The stock loader's training is slower because its steps take {steps:.1f} s longer in all: its worker "
        f"processes need more CPU time for an image, and {shared}."
    )


def prepare(folder: Path, train_per_class: int, val_per_class: int, console: Console) -> None:
    """Makes the image folder, once; a half-made one (interrupted) is made anew."""
    complete = folder / "complete"
    wanted = f"{train_per_class} {val_per_class}\n"
    if complete.exists() and complete.read_text() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with console.status("cutting photographs into tiles …"):
        tiles(folder, train_per_class, val_per_class)
    complete.write_text(wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("build/demo"), help="where the image folder is made")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--per-class", type=int, default=200, help="training images a class")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="for either loader")
    arguments = parser.parse_args()

    console = Console()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # A network on the CPU leaves half of it to the loader: with all of it, each stops the other's threads.
    torch.set_num_threads(max(arguments.workers // 2, 1))
    prepare(arguments.data, arguments.per_class, max(arguments.per_class // 5, 1), console)
    classes = sorted(entry.name for entry in (arguments.data / "train").iterdir())
    console.print(
        f"{len(classes)} classes × {arguments.per_class} JPEGs, {arguments.epochs} epochs, "
        f"{arguments.workers} workers, training on {device}"
    )

    results: dict[str, Result] = {}
    verdict = ""
    columns = (TextColumn("{task.description:22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=console) as progress:
        for make in (native, stock):
            feed = make(arguments.data, arguments.workers)
            results[feed.name] = train(feed, len(classes), arguments.epochs, device, progress)
            verdict = verdict or feed.verdict()
            del feed  # its threads or workers end here, before the next one is timed

    table = Table("loader", title="The same network on the same files")
    for heading in ("accuracy", "images/s", "waiting for data"):
        table.add_column(heading, justify="right")
    for name, result in results.items():
        waiting = f"{result.waiting:.1f} s of {result.seconds:.1f} s"
        table.add_row(name, f"{result.accuracy:.1%}", f"{result.images / result.seconds:.0f}", waiting)
    console.print(table)
    ours, theirs = results.values()
    if reason := why_slower(ours, theirs, device):
        console.print(reason)
    console.print(f"pyfastdl says: {verdict}")

    needed = 4 / len(classes)
    dull = [name for name, result in results.items() if result.accuracy < needed]
    for name in dull:
        console.print(f"{name}: accuracy is below {needed:.0%}: labels and pixels don't belong together", style="red")
    return 1 if dull else 0


if __name__ == "__main__":
    sys.exit(main())
