"""Why the quick recipe is what it is: one choice changed at a time, on some of the paper's tasks.

    python benchmarks/recipe.py [variance|maxmin|image-variance|image-maxmin|image-maxmin-deepsets] [choice ...]

About a minute a line on one core. Scores are of the validation split, because choices are made by them, and of seeds
that no table uses.
"""

import sys
from dataclasses import replace
from typing import Any

from settwister.experiments import Cell, plan
from settwister.training import Recipe, train

SEEDS = (5, 6)
#: the cell, epochs; images need MNIST in SETTWISTER_DATA and a quarter of an hour a line
TASKS = {
    "variance": (Cell("integers", "set_twister_m2_k2", "variance"), 40),
    "maxmin": (Cell("maxmin_length", "set_twister_plus", "n10"), 40),
    "image-variance": (Cell("images", "set_twister_m2_k2", "variance"), 12),
    "image-maxmin": (Cell("images", "set_twister_plus", "maxmin"), 8),
    "image-maxmin-deepsets": (Cell("images", "deepsets", "maxmin"), 10),
}
CHOICES: dict[str, dict[str, Any]] = {
    "the recipe": {},
    "twice the rate": {"rate": 2.0},
    "half the rate": {"rate": 0.5},
    "a quarter of the rate": {"rate": 0.25},
    "a third of the rate": {"rate": 1 / 3},
    "constant rate": {"schedule": "constant"},
    "no warm-up": {"warm_up": 0.0},
    "raw targets": {"standardise": False},
    "no clipping": {"clip": 0.0},
    "batch 64": {"batch": 64},
    "batch 512": {"batch": 512},
    "AdamW, decay 1e-2": {"optimiser": "adamw", "weight_decay": 1e-2},
    "SGD with momentum": {"optimiser": "sgd"},
}


def changed(recipe: Recipe, choice: dict[str, Any]) -> Recipe:
    choice = dict(choice)
    return replace(recipe, learning_rate=recipe.learning_rate * choice.pop("rate", 1.0), **choice)


def main(tasks: list[str], choices: list[str]) -> None:
    for task in tasks:
        cell, epochs = TASKS[task]
        recipe = replace(plan(cell, "quick").recipe, epochs=epochs)
        for choice in choices:
            found = train(cell.build, cell.data().generate, SEEDS, changed(recipe, CHOICES[choice]))
            scores = ", ".join(f"{trained.validation:.3f}" for trained in found)
            print(f"| {task} | {choice} | {scores} |", flush=True)


if __name__ == "__main__":
    named = sys.argv[1:]
    main(
        [n for n in named if n in TASKS] or ["variance", "maxmin"], [n for n in named if n in CHOICES] or list(CHOICES)
    )
