"""Arithmetic on images of digits: the labels are summed up, the images are what a model sees."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from settwister._checks import flag, whole_number
from settwister.errors import InputError
from settwister.tasks.digits import load_digits
from settwister.tasks.infimnist import SCALE, InfiMnist
from settwister.tasks.sequences import SPLITS, Sequences
from settwister.tasks.streams import stream
from settwister.tasks.targets import target


@dataclass(frozen=True)
class ImageTask:
    """Sequences of images drawn uniformly with replacement from a pool of deformed digits.

    Args:
        target: a key of :data:`~settwister.tasks.TARGETS`, of the digits shown.
        length: images per sequence.
        pool: how many deformed digits there are to draw from, the same for all seeds.
        holdout: draw validation and test images from the undeformed test digits, whose writers are not in the pool;
            otherwise, as in the paper, all three splits draw from the pool.
        data_dir: where MNIST is; see :func:`~settwister.tasks.load_digits`.
        scale: of the deformations, in pixels.
        train, validation, test: sequences per split.
    """

    target: str
    length: int = 5
    pool: int = 180_000
    holdout: bool = False
    data_dir: str | None = None
    scale: float = SCALE
    train: int = 100_000
    validation: int = 10_000
    test: int = 10_000

    def __post_init__(self) -> None:
        wanted = target(self.target)
        flag("holdout", self.holdout)
        for name in ("pool", *SPLITS):
            whole_number(name, getattr(self, name))
        if whole_number("length", self.length) < wanted.least_length:
            raise InputError(f"length is {self.length}, expected at least {wanted.least_length} for {self.target}")

    def source(self) -> str:
        """What the images are made of, for people."""
        name = load_digits(self.data_dir).name
        return "MNIST" if name == "mnist" else "scikit-learn's 8×8 digits, enlarged (no MNIST in the data directory)"

    def generate(self, seed: int) -> Sequences:
        """The data of one run: sequences from streams of the seed's own over the shared pool."""
        wanted = target(self.target)
        elements, labels, tests = _pool(self.data_dir, self.pool, self.scale, self.holdout)
        index, targets = {}, {}
        for split in SPLITS:
            start, stop = (0, self.pool) if tests == 0 or split == "train" else (self.pool, self.pool + tests)
            drawn = stream(seed, split).integers(start, stop, size=(getattr(self, split), self.length))
            index[split] = torch.from_numpy(drawn)
            targets[split] = wanted(labels[index[split]])
        return Sequences(elements, index, targets, wanted.metric)


@lru_cache(maxsize=1)
def _pool(data_dir: str | None, size: int, scale: float, holdout: bool) -> tuple[Tensor, Tensor, int]:
    """Images (U, 784) and labels (U,), the held-out test digits behind the pool; how many of those there are."""
    infinite = InfiMnist.open(load_digits(data_dir), scale)
    tests = len(infinite.digits.test_x)
    first = tests + len(infinite.digits.train_x)
    numbers = np.arange(first, first + size)
    if holdout:
        numbers = np.concatenate([numbers, np.arange(tests)])
    images = torch.from_numpy(infinite.images(numbers)).flatten(1)
    return images, torch.from_numpy(infinite.labels(numbers)), tests if holdout else 0
