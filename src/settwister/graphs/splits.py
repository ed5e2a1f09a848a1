"""Which nodes are trained on, which choose the model, and which judge it."""

from dataclasses import dataclass

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
        labelled: node numbers.
        train, validation: shares; the rest is the test part.

    >>> import torch
    >>> split = random_split(torch.arange(10), seed=0)
    >>> [len(part) for part in (split.train, split.validation, split.test)]
    [6, 2, 2]
    """
    if not (train > 0 and validation > 0 and train + validation < 1):
        raise InputError(f"train={train} and validation={validation}, expected positive shares that leave a test part")
    shuffled = labelled[permutation(len(labelled), seed, "split")]
    first, second = round(train * len(labelled)), round((train + validation) * len(labelled))
    parts = shuffled[:first], shuffled[first:second], shuffled[second:]
    if not all(len(part) for part in parts):
        raise InputError(f"{len(labelled)} labelled nodes cannot be cut in three, expected at least 5")
    return Split(*(part.sort().values for part in parts))
