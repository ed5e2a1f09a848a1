"""Whether more sums and higher orders help where they cost what two of each do.

    python benchmarks/orders.py [cost] [maxmin-10] [maxmin-20] [unique-sum]

Two to four minutes a line on one core, but for ``cost``, which times one eager step of every model in turn, best of
200. All have the same widths, so M sums are each 1 / M as wide. Scores are of the validation split and of seeds that no
table uses.
"""

import sys
from functools import partial
from typing import Any

import torch

from settwister import Sets, SetTwister
from settwister.bench.timing import best_times
from settwister.tasks import IntegerTask
from settwister.training import Recipe, train

SEEDS = (5, 6)
RECIPE = Recipe(60, 2e-3)
TASKS = {
    "maxmin-10": IntegerTask("maxmin", length=10),
    "maxmin-20": IntegerTask("maxmin", length=20),
    "unique-sum": IntegerTask("unique_sum", length=10),
}
SMALLEST = "M=2, k=2"
MODELS: dict[str, dict[str, Any]] = {
    SMALLEST: dict(M=2, k=2),
    "M=4, k=2": dict(M=4, k=2),
    "M=2, k=3": dict(M=2, k=3),
    "M=4, k=3": dict(M=4, k=3),
    "M=4, k=3, factored, rank 4": dict(M=4, k=3, form="factored", rank=4),
    "M=8, k=4, factored, rank 4": dict(M=8, k=4, form="factored", rank=4),
    "M=8, k=4, factored, rank 16": dict(M=8, k=4, form="factored", rank=16),
}


def build(**options: Any) -> SetTwister:
    return SetTwister(100, 1, (120, 120), (50, 50), **options)


def step(model: SetTwister, sets: Sets) -> None:
    model(sets).sum().backward()


def cost() -> None:
    sets = Sets.dense(torch.randn(128, 10, 100))
    models = {name: build(**options) for name, options in MODELS.items()}
    times = best_times({name: partial(step, model, sets) for name, model in models.items()}, 200)
    for name, model in models.items():
        print(f"| {name} | {times[name] / times[SMALLEST]:.2f} | {model.num_parameters():,} |", flush=True)


def scores(task: str) -> None:
    for name, options in MODELS.items():
        found = train(partial(build, **options), TASKS[task].generate, SEEDS, RECIPE)
        print(f"| {task} | {name} | {', '.join(f'{trained.validation:.3f}' for trained in found)} |", flush=True)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ["cost", *TASKS]:
        cost() if wanted == "cost" else scores(wanted)
