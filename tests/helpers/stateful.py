"""Datasets and samplers with a state of their own, for test_dataloader_state.py."""

from __future__ import annotations

import itertools

import torch
from torch.utils.data import Dataset, IterableDataset

import pyfastdl


class Lines(IterableDataset):
    """A stream that begins anew after its end, each worker its part, of another length; what it opened is counted."""

    def __init__(self, length=23):
        self.length = length
        self.at = 0
        self.epoch = 0
        self.read = 0

    def part(self):
        info = pyfastdl.get_worker_info()
        return range(self.length) if info is None else range(info.id, self.length, info.num_workers + info.id)

    def __iter__(self):
        part = self.part()
        while self.at < len(part):
            self.at += 1
            self.read += 1
            yield part[self.at - 1], self.epoch, self.read
        self.at = 0
        self.epoch += 1

    def state_dict(self):
        return {"at": self.at, "epoch": self.epoch, "as tensor": torch.tensor([self.at])}

    def load_state_dict(self, state):
        self.at, self.epoch = state["at"], state["epoch"]
        assert state["as tensor"].item() == self.at


class Cursors(Lines):
    """The state is the iterator's alone."""

    state_dict = load_state_dict = None

    def __iter__(self):
        return Cursor(self.part())


class Cursor:
    def __init__(self, part):
        self.part = part
        self.places = []  # a state that changes in place

    def __iter__(self):
        return self

    def __next__(self):
        if len(self.places) == len(self.part):
            raise StopIteration
        self.places.append(self.part[len(self.places)])
        return self.places[-1], 0, 0

    def state_dict(self):
        return {"places": self.places}

    def load_state_dict(self, state):
        self.places = state["places"]


class Itself(Lines):
    """Is its own iterator, which iter() sets to its start."""

    def __iter__(self):
        self.at = 0
        self.epoch += 1
        return self

    def __next__(self):
        part = self.part()
        if self.at == len(part):
            raise StopIteration
        self.at += 1
        return part[self.at - 1], self.epoch, 0


class Counting(Dataset):
    """A map-style dataset whose samples depend on those that it gave before."""

    def __init__(self):
        self.given = 0

    def __len__(self):
        return 22

    def __getitem__(self, index):
        self.given += 1
        return index, self.given

    def state_dict(self):
        return {"given": self.given}

    def load_state_dict(self, state):
        self.given = state["given"]


class Drawing:
    """Draws each index when it is asked for, by a generator that only it knows."""

    def __init__(self, length=22):
        self.random = torch.Generator().manual_seed(1)
        self.length = length
        self.at = 0

    def __iter__(self):
        while self.at < self.length:
            self.at += 1
            yield int(torch.randint(100, (1,), generator=self.random))
        self.at = 0

    def state_dict(self):
        return {"at": self.at, "random": self.random.get_state()}

    def load_state_dict(self, state):
        self.at = state["at"]
        self.random.set_state(state["random"])


class Permuting(Drawing):
    """Draws them all at the start, from the state that its generator had then."""

    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(2)

    def __iter__(self):
        if self.at == 0:
            self.start = self.generator.get_state()
        order = torch.randperm(22, generator=self.generator).tolist()
        while self.at < 22:
            self.at += 1
            yield order[self.at - 1]
        self.at = 0

    def state_dict(self):
        return {"at": self.at, "start": self.start if self.at else self.generator.get_state()}

    def load_state_dict(self, state):
        self.at, self.start = state["at"], state["start"]
        self.generator.set_state(self.start)


class Batches(Drawing):
    """A batch_sampler with a state."""

    def __iter__(self):
        numbers = super().__iter__()
        while batch := list(itertools.islice(numbers, 4)):
            yield batch


class Steps:
    """The state is the iterator's."""

    def __iter__(self):
        return Stepping()


class Stepping(Cursor):
    def __init__(self):
        super().__init__([[one, one + 1] for one in range(9)])

    def __next__(self):
        return super().__next__()[0]
