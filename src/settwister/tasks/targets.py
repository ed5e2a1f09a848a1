"""What is to be computed from a sequence of integers: the paper's three targets, and Janossy pooling's."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from settwister._checks import choice


@dataclass(frozen=True)
class Target:
    """A permutation-invariant function of integers.

    Args:
        function: (B, n) int64 → (B,) float32.
        metric: ``"mae"``, or ``"accuracy"`` for whole-numbered targets: how often the rounded output is right.
        least_length: the shortest sequence for which it is defined.
    """

    function: Callable[[Tensor], Tensor]
    metric: str = "accuracy"
    least_length: int = 1

    def __call__(self, numbers: Tensor) -> Tensor:
        return self.function(numbers).float()


def variance(y: Tensor) -> Tensor:
    """The population variance, (1 / 2n²) Σ_ij (y_i - y_j)².

    >>> variance(torch.tensor([[0, 2, 4]]))
    tensor([2.6667])
    """
    return y.double().var(1, correction=0).float()


def value_range(y: Tensor) -> Tensor:
    """Largest minus smallest.

    >>> value_range(torch.tensor([[3, 9, 4]]))
    tensor([6])
    """
    return y.amax(1) - y.amin(1)


def maxmin(y: Tensor) -> Tensor:
    """max_i min_{j≠i} |y_i - y_j|: how far the loneliest number is from its nearest neighbour.

    In sorted order the nearest neighbour is next door.

    >>> maxmin(torch.tensor([[1, 2, 9, 12]]))
    tensor([3])
    """
    gaps = y.sort(1).values.diff(dim=1)
    to_left = torch.cat([gaps[:, :1], gaps], dim=1)
    to_right = torch.cat([gaps, gaps[:, -1:]], dim=1)
    return torch.minimum(to_left, to_right).amax(1)


def unique_sum(y: Tensor) -> Tensor:
    """The sum of the distinct values.

    >>> unique_sum(torch.tensor([[5, 5, 1]]))
    tensor([6])
    """
    ordered = y.sort(1).values
    return (ordered * _first_of_its_kind(ordered)).sum(1)


def unique_count(y: Tensor) -> Tensor:
    """How many distinct values there are.

    >>> unique_count(torch.tensor([[5, 5, 1]]))
    tensor([2])
    """
    return _first_of_its_kind(y.sort(1).values).sum(1)


def _first_of_its_kind(ordered: Tensor) -> Tensor:
    return torch.cat([torch.ones_like(ordered[:, :1], dtype=torch.bool), ordered[:, 1:] != ordered[:, :-1]], dim=1)


TARGETS: dict[str, Target] = {
    "variance": Target(variance, metric="mae"),
    "range": Target(value_range),
    "maxmin": Target(maxmin, least_length=2),
    "sum": Target(lambda y: y.sum(1)),
    "unique_sum": Target(unique_sum),
    "unique_count": Target(unique_count),
}


def target(name: str) -> Target:
    """One of :data:`TARGETS`; an unknown name lists the known ones."""
    return TARGETS[choice("target", name, TARGETS)]
