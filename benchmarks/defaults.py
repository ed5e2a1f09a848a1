"""Why SetTwister's defaults are what they are: one choice changed at a time, on two of the paper's tasks.

    python benchmarks/defaults.py [variance|maxmin] [choice ...]

About two minutes a line on one core. Scores are on the validation split, because choices are made by them.
"""

import math
import sys
from functools import partial
from typing import Any

from torch import nn

from settwister import SetTwister
from settwister.nn.twist import Asinh
from settwister.tasks import IntegerTask
from settwister.training import Recipe, train

SEEDS = (5, 6)  # not those of the tables
TASKS = {  # width of phi and rho, recipe
    "variance": ((16, 46), (100,), Recipe(60, 5e-3)),
    "maxmin": ((60, 60), (50, 50), Recipe(60, 2e-3)),
}
CHOICES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "gain from 1": {"gain": 1.0},
    "gain from 0.3": {"gain": 0.3},
    "gain from 0.1": {"gain": 0.1},
    "norm=None": {"norm": None},
    "norm='layer'": {"norm": "layer"},
    "lower_orders=None": {"lower_orders": None},
    "activation='tanh'": {"activation": "tanh"},
    "the paper's form": {"norm": None, "lower_orders": None, "activation": "tanh"},
}


def build(phi: tuple[int, ...], rho: tuple[int, ...], gain: float = Asinh.START, **options: Any) -> SetTwister:
    """A model whose asinh has the given gain inside at the start, and passes small values unchanged as ever."""
    model = SetTwister(100, 1, phi, rho, **options)
    for part in model.modules():
        if isinstance(part, Asinh):
            nn.init.constant_(part.log_gain, math.log(gain))
            nn.init.constant_(part.weight, 1 / gain)
    return model


def main(tasks: list[str], choices: list[str]) -> None:
    for task in tasks:
        phi, rho, recipe = TASKS[task]
        for choice in choices:
            found = train(
                partial(build, phi, rho, **CHOICES[choice]),
                IntegerTask(task, length=10).generate,
                SEEDS,
                recipe,
            )
            scores = ", ".join(f"{trained.validation:.3f}" for trained in found)
            print(f"| {task} | {choice} | {scores} | {found[0].model.num_parameters():,} |", flush=True)


if __name__ == "__main__":
    named = sys.argv[1:]
    main([n for n in named if n in TASKS] or list(TASKS), [n for n in named if n in CHOICES] or list(CHOICES))
