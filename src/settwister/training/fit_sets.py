"""Training any set model on any sets, one model at a time.

The arithmetic tables train many seeds at once, see ``set_trainer``; this is the loop for a person's own sets.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from settwister.errors import InputError
from settwister.nn import SetModel
from settwister.sets import Sets
from settwister.tasks.streams import permutation, stream
from settwister.training.recipe import Recipe
from settwister.training.set_trainer import Tell

EVALUATE_AT_ONCE = 4096  # sets

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(eq=False)
class SetsFitted:
    """The best weights are in the model; this is how they came about.

    Args:
        best_epoch: whose weights they are, counted from 1.
        validation: the loss that they reached; NaN where no sets were held back.
        curves: the mean training loss and the validation loss of every epoch.
    """

    best_epoch: int
    validation: float
    curves: dict[str, list[float]] = field(repr=False)


def fit_sets(
    model: SetModel,
    sets: Sets,
    target: Tensor,
    train: Tensor,
    validation: Tensor,
    recipe: Recipe,
    loss: Loss,
    patience: int,
    seed: int = 0,
    tell: Tell = lambda epoch, note: None,
) -> SetsFitted:
    """Train a model with Adam and keep the weights with the smallest validation loss.

    Args:
        model: changed in place.
        recipe: its epochs, rate, batch, schedule, clipping and weight decay; the optimiser is Adam, targets are taken
            as they are, and a last, smaller batch counts too.
        target: (B,) or (B, out_dim), whatever the loss compares the output with.
        train, validation: numbers of sets; without any of the latter all epochs are run and the last weights kept.
        patience: stop after so many epochs without a better validation loss.
    """
    optimiser = torch.optim.Adam(model.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay)
    batch = min(recipe.batch, len(train))
    steps = -(-len(train) // batch)
    best, best_epoch = float("inf"), 0
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    curves: dict[str, list[float]] = {"train_loss": [], "validation_loss": []}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, "sets").integers(2**62)))
        for epoch in range(1, recipe.epochs + 1):
            model.train()
            seen = []
            for i, rows in enumerate(train[permutation(len(train), seed, "batches", epoch)].split(batch)):
                part = recipe.part_of_rate((epoch - 1) * steps + i + 1, recipe.epochs * steps)
                optimiser.param_groups[0]["lr"] = part * recipe.learning_rate
                optimiser.zero_grad()
                value = loss(model(sets.take(rows)), target[rows])
                value.backward()
                if recipe.clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
                optimiser.step()
                seen.append(float(value.detach()))
            curves["train_loss"].append(sum(seen) / len(seen))
            if not math.isfinite(curves["train_loss"][-1]):
                raise InputError(f"the loss is not finite after {epoch} epochs, expected it to fall: lower the rate")
            if len(validation) == 0:
                best_epoch = epoch
                tell(epoch, f"loss {curves['train_loss'][-1]:.3f}")
                continue
            with torch.no_grad():
                reached = float(loss(outputs(model, sets, validation), target[validation]))
            curves["validation_loss"].append(reached)
            tell(epoch, f"loss {curves['train_loss'][-1]:.3f}, validation {reached:.3f}")
            if reached < best:
                best, best_epoch = reached, epoch
                weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
            elif epoch - best_epoch >= patience:
                break
    if len(validation):
        model.load_state_dict(weights)
    model.eval()
    return SetsFitted(best_epoch, best if len(validation) else math.nan, curves)


def outputs(model: SetModel, sets: Sets, rows: Tensor | None = None) -> Tensor:
    """(B, out_dim) of some sets, or of all, without gradients, a part at a time."""
    model.eval()
    wanted = torch.arange(len(sets)) if rows is None else rows
    with torch.no_grad():
        return torch.cat([model(sets.take(part)) for part in wanted.split(EVALUATE_AT_ONCE)])
