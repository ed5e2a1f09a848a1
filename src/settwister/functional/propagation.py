"""Adjacency matrices with normalised weights, and what spreads along them: labels, residuals, features."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from settwister.functional.neighbour_sum import Csr

Normalisation = Literal["DAD", "DA", "AD"]
NORMALISATIONS: tuple[Normalisation, ...] = ("DAD", "DA", "AD")


def normalised(neighbours: Csr, kind: Normalisation = "DAD", *, loops: bool = False) -> Csr:
    """D^-1/2 A D^-1/2, D^-1 A or A D^-1, of A or of A + I, with D the row sums.

    Args:
        neighbours: N × N and symmetric.
        loops: add I first (a loop that is already there becomes one of weight 1).
    """
    rows, columns = neighbours.rows, neighbours.index.long()
    given = torch.ones(len(rows), device=rows.device) if neighbours.weight is None else neighbours.weight
    if loops:
        apart = rows != columns
        every = torch.arange(neighbours.num_sets, device=rows.device)
        if torch.compiler.is_compiling():  # how many loops there are must not decide a shape
            given = torch.where(apart, given, 0)
        else:
            rows, columns, given = rows[apart], columns[apart], given[apart]
        rows, columns = torch.cat([rows, every]), torch.cat([columns, every])
        given = torch.cat([given, torch.ones_like(every, dtype=given.dtype)])
    degree = torch.zeros(neighbours.num_sets, dtype=given.dtype, device=rows.device).index_add(0, rows, given)
    degree = torch.where(degree > 0, degree, 1)  # an isolated node has no entries to divide
    left, right = {"DAD": (-0.5, -0.5), "DA": (-1.0, 0.0), "AD": (0.0, -1.0)}[kind]
    weight = given * degree[rows] ** left * degree[columns] ** right
    return Csr.from_pairs(rows, columns, neighbours.num_sets, neighbours.num_elements, weight).with_transpose()


def spread(start: Tensor, adjacency: Csr, alpha: float, steps: int, low: float, high: float) -> Tensor:
    """``x ← (1 - alpha) start + alpha A x``, clamped to [low, high], that many times from ``start``."""
    found = start
    for _ in range(steps):
        found = ((1 - alpha) * start + alpha * adjacency.sum(found)).clamp(low, high)
    return found


def one_hot_rows(index: Tensor, labels: Tensor, num_nodes: int, num_classes: int) -> Tensor:
    """(N, C): the given nodes' labels as one-hot rows, zero elsewhere."""
    found = torch.zeros(num_nodes, num_classes, device=labels.device)
    found[index, labels] = 1
    return found


def label_propagation(
    index: Tensor, labels: Tensor, num_classes: int, adjacency: Csr, alpha: float, steps: int
) -> Tensor:
    """(N, C) scores that spread from the given labels; a node that none reaches scores 0 for every class."""
    return spread(one_hot_rows(index, labels, adjacency.num_sets, num_classes), adjacency, alpha, steps, 0.0, 1.0)


def correct(z: Tensor, index: Tensor, labels: Tensor, adjacency: Csr, alpha: float, steps: int = 50) -> Tensor:
    """The base predictions plus their spread-out errors on the given nodes, autoscaled (Huang et al. 2020).

    Args:
        z: (N, C) base probabilities.
        index, labels: the training nodes, and no others.
    """
    error = torch.zeros_like(z)
    error[index] = one_hot_rows(index, labels, *z.shape)[index] - z[index]
    smoothed = spread(error, adjacency, alpha, steps, -1.0, 1.0)
    sigma = error[index].abs().sum(1).mean()
    scale = sigma / smoothed.abs().sum(1, keepdim=True)
    scale = torch.where(scale.isfinite() & (scale <= 1000), scale, 1.0)
    corrected = z + scale * smoothed
    return torch.where(corrected.isnan(), z, corrected)


def smooth(z: Tensor, index: Tensor, labels: Tensor, adjacency: Csr, alpha: float, steps: int = 50) -> Tensor:
    """Predictions averaged along edges, the given nodes starting from their labels (Huang et al. 2020).

    Args:
        z: (N, C), or (N, V, C) for V versions of them, which side by side take much less time than one by one.
        index, labels: the training nodes, and no others.
    """
    start, known = z.clone(), F.one_hot(labels, z.shape[-1]).to(z.dtype)
    start[index] = known if z.dim() == 2 else known.unsqueeze(1)
    return spread(start.flatten(1), adjacency, alpha, steps, 0.0, 1.0).view(z.shape)
