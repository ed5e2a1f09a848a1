"""How a node classifier is trained."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from settwister._checks import choice, flag, whole_number
from settwister.errors import InputError

#: how much of the running average of weights a step leaves, where one is kept: steadier than the weights of one epoch
AVERAGE = 0.95
#: what the epoch that is kept is chosen by, on validation nodes
CHOSEN_BY = ("score", "loss")


@dataclass(frozen=True)
class NodeRecipe:
    """Adam on the cross-entropy, stopped early.

    Args:
        rate: the learning rate.
        weight_decay: added to the gradient, as the paper's optimiser has it.
        epochs: at most so many.
        patience: stop after so many epochs that were no better on validation nodes.
        balanced: weigh classes by the inverse of their size; the score is the mean of their recalls.
        class_weight: one number per class, which weighs both the loss and the score that is chosen by.
        batch: nodes per step, for models of one hop; None takes all in one.
        average: judge and keep a running average of the weights, each step weighing (1 - average), or as much as all
            before it in the first steps; 0 keeps the weights themselves.
        chosen_by: keep the epoch of the best validation score, ties decided by the loss; or that of the lowest loss,
            which is steadier where a score rests on a handful of nodes of a rare class.
    """

    rate: float = 1e-2
    weight_decay: float = 5e-4
    epochs: int = 2000
    patience: int = 200
    balanced: bool = False
    batch: int | None = None
    class_weight: tuple[float, ...] | None = None
    average: float = 0.0
    chosen_by: str = "score"

    def __post_init__(self) -> None:
        for name in ("epochs", "patience"):
            whole_number(name, getattr(self, name))
        flag("balanced", self.balanced)
        choice("chosen_by", self.chosen_by, CHOSEN_BY)
        if self.batch is not None:
            whole_number("batch", self.batch)
        if self.class_weight is not None and not (
            isinstance(self.class_weight, tuple | list) and all(_positive(weight) for weight in self.class_weight)
        ):
            raise InputError(f"class_weight is {self.class_weight}, expected finite numbers above 0, one per class")
        if not self.rate > 0:
            raise InputError(f"rate is {self.rate}, expected a positive learning rate")
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay is {self.weight_decay}, expected 0 or more")
        if not 0 <= self.average < 1:
            raise InputError(f"average is {self.average}, expected at least 0 and less than 1")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0
