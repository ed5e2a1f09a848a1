"""How a set model is trained: one frozen description, written into every run file."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from settwister._checks import choice, flag, whole_number
from settwister.errors import InputError

OPTIMISERS = ("adam", "adamw", "sgd")
SCHEDULES = ("constant", "cosine", "plateau")


@dataclass(frozen=True)
class Recipe:
    """Optimiser, schedule and budget.

    Args:
        epochs: passes over the training sequences.
        learning_rate: the peak.
        batch: sequences per step; a last, smaller batch is left out.
        optimiser: ``"adam"``, ``"adamw"`` or ``"sgd"`` with ``momentum``.
        schedule: ``"constant"``; ``"cosine"``, from the peak to 0 after ``warm_up``; ``"plateau"``, times ``factor``
            after ``patience`` epochs without a better validation score (the paper's).
        warm_up: the part of all steps in which the rate rises from 0; cosine only.
        standardise: train on targets of mean 0 and deviation 1; scores are in the target's own units either way.
        clip: the largest norm of a seed's gradient; 0 leaves gradients alone.
    """

    epochs: int
    learning_rate: float
    batch: int = 128
    optimiser: str = "adam"
    schedule: str = "cosine"
    warm_up: float = 0.05
    standardise: bool = True
    clip: float = 1.0
    weight_decay: float = 0.0
    momentum: float = 0.9
    factor: float = 0.9
    patience: int = 500

    def __post_init__(self) -> None:
        whole_number("epochs", self.epochs)
        whole_number("batch", self.batch)
        whole_number("patience", self.patience)
        choice("optimiser", self.optimiser, OPTIMISERS)
        choice("schedule", self.schedule, SCHEDULES)
        flag("standardise", self.standardise)
        for name in ("learning_rate", "clip", "weight_decay", "momentum", "warm_up", "factor"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
                raise InputError(f"{name} is {value!r}, expected a number of at least 0")
        if self.learning_rate == 0:
            raise InputError("learning_rate is 0, expected a positive number")

    def part_of_rate(self, step: int, total: int) -> float:
        """The part of the peak rate at a step, counted from 1."""
        if self.schedule != "cosine":
            return 1.0
        warm = self.warm_up * total
        if step < warm:
            return step / warm
        return (1 + math.cos(math.pi * (step - warm) / max(1.0, total - warm))) / 2

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Recipe":
        known = {field.name for field in fields(cls)}
        if unknown := sorted(content.keys() - known):
            raise InputError(f"a recipe has no {unknown[0]!r}, expected only {', '.join(sorted(known))}")
        return cls(**content)
