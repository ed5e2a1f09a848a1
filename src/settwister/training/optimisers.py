"""Optimisers of stacked parameters: pure functions of one matrix, every seed with a learning rate of its own."""

import torch
from torch import Tensor

from settwister.training.recipe import Recipe

BETAS = (0.9, 0.999)
EPS = 1e-8


def clip_each(gradient: Tensor, largest: float) -> Tensor:
    """Scale each seed's gradient, (S, P), to a norm of at most ``largest``; 0 leaves it alone."""
    if not largest:
        return gradient
    norm: Tensor = gradient.norm(dim=1, keepdim=True)
    return gradient * (largest / (norm + 1e-6)).clamp(max=1)


def update(
    recipe: Recipe, rows: Tensor, gradient: Tensor, first: Tensor, second: Tensor, step: Tensor, rate: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One step, as torch.optim takes it.

    Args:
        rows, gradient: (S, P).
        first, second: (S, P) moments; SGD keeps its momentum in ``first`` and leaves ``second`` alone.
        step: () the number of this step, from 1.
        rate: (S, 1).

    Returns:
        The new rows, first and second.
    """
    gradient = clip_each(gradient, recipe.clip)
    if recipe.optimiser == "adamw":
        rows = rows * (1 - rate * recipe.weight_decay)
    elif recipe.weight_decay:
        gradient = gradient + recipe.weight_decay * rows
    if recipe.optimiser == "sgd":
        first = recipe.momentum * first + gradient
        return rows - rate * first, first, second
    first = torch.lerp(first, gradient, 1 - BETAS[0])
    second = BETAS[1] * second + (1 - BETAS[1]) * gradient.square()
    size = rate / (1 - BETAS[0] ** step)
    return rows - size * first / ((second / (1 - BETAS[1] ** step)).sqrt() + EPS), first, second
