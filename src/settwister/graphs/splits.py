"""Which nodes are trained on, which choose the model, and which judge it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from settwister.errors import InputError
from settwister.tasks.streams import permutation


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint lists of node numbers."""

    train: Tensor
    validation: Tensor
    test: Tensor

    @classmethod
    def from_masks(cls, train: Tensor, validation: Tensor, test: Tensor) -> "Split":
        """From booleans, one per node.

        Raises:
            InputError: where a node is in two parts, which would leak its label.
        """
        twice = int(((train.int() + validation.int() + test.int()) > 1).sum())
        if twice:
            raise InputError(f"{twice} nodes are in more than one part of a split, expected disjoint masks")
        return cls(*(mask.nonzero().squeeze(-1) for mask in (train, validation, test)))


def random_split(labelled: Tensor, seed: int, train: float = 0.6, validation: float = 0.2) -> Split:
    """Labelled nodes cut at random into 60% / 20% / 20%, the same for the same seed on every machine.

    Args:
        labelled: node numbers, or a mask of all nodes.
        train, validation: shares; the rest is the test part.

    >>> split = random_split(torch.arange(10), seed=0)
    >>> [len(part) for part in (split.train, split.validation, split.test)]
    [6, 2, 2]
    """
    if not (train > 0 and validation > 0 and train + validation < 1):
        raise InputError(f"train={train} and validation={validation}, expected positive shares that leave a test part")
    if labelled.dtype == torch.bool:
        labelled = labelled.nonzero().squeeze(-1)
    shuffled = labelled[permutation(len(labelled), seed, "split")]
    first, second = round(train * len(labelled)), round((train + validation) * len(labelled))
    parts = shuffled[:first], shuffled[first:second], shuffled[second:]
    if not all(len(part) for part in parts):
        raise InputError(f"{len(labelled)} labelled nodes cannot be cut in three, expected at least 5")
    return Split(*(part.sort().values for part in parts))


def stratified_parts(classes: NDArray[np.int64], shares: Sequence[float], seed: int) -> NDArray[np.int64]:
    """The part that each node falls into, every class cut in the same shares.

    A class with fewer members than parts is in the first ones only; one with enough is in all that have a share.

    Args:
        classes: (N,) the class of every node, from 0.
        shares: of the parts; they add up to 1.

    >>> stratified_parts(np.array([0, 0, 0, 0, 0, 1, 1, 2]), (0.6, 0.2, 0.2), seed=0)
    array([0, 2, 0, 1, 0, 1, 0, 0])
    """
    generator = np.random.default_rng(np.random.SeedSequence([seed, len(classes)]))
    parts = np.zeros(len(classes), dtype=np.int64)
    wanted = [part for part, share in enumerate(shares) if share > 0]
    for one in np.unique(classes):
        members = generator.permutation((classes == one).nonzero()[0])
        ends = np.round(np.cumsum(shares) * len(members)).astype(np.int64)
        sizes = np.diff(ends, prepend=0)
        for part in wanted[: len(members)]:  # at least one each, taken from the largest, of equals from the last
            if sizes[part] == 0:
                sizes[len(sizes) - 1 - sizes[::-1].argmax()] -= 1
                sizes[part] += 1
        parts[members] = np.repeat(np.arange(len(shares)), sizes)
    return parts
