"""How each cell is trained under each budget: the paper's way to the letter, ours, or just to see that it runs."""

from dataclasses import dataclass, replace
from typing import Any

from settwister._checks import choice
from settwister.experiments.cells import PLUS, Cell
from settwister.training import Recipe

BUDGETS = ("smoke", "quick", "paper")
#: attention and recurrence: the paper gives them Adam and a larger rate throughout, ours a smaller one
SEQUENTIAL = ("set_transformer", "janossy_full_gru")
PAIRS = "janossy_2ary"
#: epochs of our own row
OURS = {
    "images": {"variance": 30, "range": 30, "maxmin": 60},
    "integers": {"variance": 60, "range": 200, "maxmin": 400},
}


@dataclass(frozen=True)
class Plan:
    """How one cell is run.

    Args:
        recipe: optimiser, schedule, epochs.
        seeds: how many, from 0.
        data: options of the task's class, such as the sizes of its splits.
        compiled: whether torch.compile is worth its minute.
    """

    recipe: Recipe
    seeds: int
    data: dict[str, Any]
    compiled: bool


def plan(cell: Cell, budget: str, epochs: int | None = None) -> Plan:
    """The plan of a cell; ``epochs`` overrides the budget's own number."""
    found = {"smoke": _smoke, "quick": _quick, "paper": _paper}[choice("budget", budget, BUDGETS)](cell)
    return found if epochs is None else replace(found, recipe=replace(found.recipe, epochs=epochs))


def _smoke(cell: Cell) -> Plan:
    sizes: dict[str, Any] = dict(train=1280, validation=256, test=256) | (dict(pool=1000) if cell.images else {})
    return Plan(replace(_quick(cell).recipe, epochs=1), seeds=1, data=sizes, compiled=False)


def _quick(cell: Cell) -> Plan:
    """Standardised targets and a cosine from a high rate: what the paper reaches in 2,000 epochs, in tens."""
    if cell.images and cell.target == "maxmin":  # a higher rate leaves the paper's tanh networks where they began
        rate, epochs = (5e-4 if cell.model in SEQUENTIAL else 1e-3), 60
    elif cell.images:
        rate, epochs = (5e-4 if cell.model in SEQUENTIAL else 4e-3), 30
    elif cell.target == "maxmin":
        rate, epochs = (1e-3 if cell.model in SEQUENTIAL else 2e-3), 100
    else:
        rate, epochs = (1e-3 if cell.model in SEQUENTIAL else 5e-3), 60
    if cell.model == PLUS:
        epochs = OURS["images" if cell.images else "integers"][cell.target]
        rate = 3e-3 if cell.images else rate
    # An epoch of these costs more than the others': about twice with images, up to a hundred times with integers.
    if cell.model in SEQUENTIAL or (cell.model == PAIRS and cell.target == "maxmin" and not cell.images):
        epochs = max(10, epochs // 4)
    elif cell.model == PAIRS and cell.images:
        epochs //= 2
    return Plan(Recipe(epochs, rate), seeds=3, data={}, compiled=True)


def _paper(cell: Cell) -> Plan:
    sequential = cell.model in SEQUENTIAL
    plain: dict[str, Any] = dict(schedule="constant", standardise=False, clip=0.0)
    if cell.images:
        recipe = Recipe(2000, 5e-4 if sequential else 1e-4, **plain)
    elif cell.target != "maxmin":
        recipe = Recipe(2000, 5e-4, **plain)
    else:
        optimiser = "adam" if sequential else "sgd"
        recipe = Recipe(40_000, 5e-4, **plain | dict(optimiser=optimiser, schedule="plateau"))
    if "linear_rho" in cell.table:
        recipe = replace(recipe, epochs=1000)
    return Plan(recipe, seeds=5, data={}, compiled=True)
