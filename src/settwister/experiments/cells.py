"""The paper's arithmetic tables as data: which model, on which task, with which published number."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from settwister import paper
from settwister.errors import InputError
from settwister.nn import SetModel, SetTwister
from settwister.paper.architectures import setting
from settwister.tasks import ImageTask, IntegerTask

TABLES = tuple(name for name in paper.published() if name.startswith(("images", "integers", "maxmin")))
PLUS = "set_twister_plus"
TOLERANCE = 0.02
#: tables that ask for the same training under two names: it is run once, for the second
SAME = {("integers", "maxmin"): ("maxmin_length", "n10")}
SAME_PLUS = {
    ("images_relu", "variance"): ("images", "variance"),
    ("images_relu", "range"): ("images", "range"),
    ("images_relu", "maxmin"): ("images", "maxmin"),
    ("integers_relu", "variance"): ("integers", "variance"),
    ("integers_relu", "range"): ("integers", "range"),
    ("maxmin_relu", "n10"): ("maxmin_length", "n10"),
    ("maxmin_relu", "n20"): ("maxmin_length", "n20"),
    ("maxmin_fixed_width", "n20"): ("maxmin_length", "n20"),
}


class TableCell(Protocol):
    """One number of one table, whatever it is about: what the run store and the rendering need to know."""

    @property
    def table(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def metric(self) -> str: ...

    @property
    def digits(self) -> int:
        """Behind the point."""

    @property
    def home(self) -> tuple[str, str]:
        """The table and task whose runs these are, where another cell asks for the same training."""

    def published(self) -> dict[str, float] | None:
        """The paper's mean and std; None for a model that it lacks."""


@dataclass(frozen=True)
class Cell:
    """One number of one table: a model on a task."""

    table: str
    model: str
    task: str

    @property
    def images(self) -> bool:
        return self.table.startswith("images")

    @property
    def target(self) -> str:
        """What is computed; the maxmin tables name their tasks by length."""
        return "maxmin" if self.task.startswith("n") else self.task

    @property
    def length(self) -> int:
        if self.images:
            return 5
        return {"variance": 10, "range": 5, "maxmin": 10, "n10": 10, "n20": 20}[self.task]

    @property
    def metric(self) -> str:
        return "mae" if self.target == "variance" else "acc"

    @property
    def digits(self) -> int:
        return 3

    @property
    def home(self) -> tuple[str, str]:
        """The table and task whose runs these are."""
        return home(self.table, self.model, self.task)

    def published(self) -> dict[str, float] | None:
        """The paper's mean and std; None for a model that it lacks."""
        column = f"{self.task}_{self.metric}"
        rows: list[dict[str, Any]] = paper.table(self.table)["rows"]
        return next((row.get(column) for row in rows if row["model"] == self.model), None)

    def build(self) -> SetModel:
        """The model, freshly initialised."""
        if self.model == PLUS:
            return plus(self.table, self.task)
        return paper.model(self.table, self.model, self.task)

    def data(self, **options: Any) -> IntegerTask | ImageTask:
        """The task's data; options are those of its class."""
        if self.images:
            return ImageTask(self.target, self.length, **options)
        s = setting(self.table, self.task)
        width = s.pair_in_dim if self.model == "janossy_2ary" else s.in_dim
        return IntegerTask(self.target, self.length, width=width, **options)


def home(table: str, model: str, task: str) -> tuple[str, str]:
    """The table and task whose runs a cell has: ours is GELU throughout, so its row with ReLU is the same row."""
    same = SAME | SAME_PLUS if model == PLUS else SAME
    return same.get((table, task), (table, task))


def plus(table: str, task: str) -> SetTwister:
    """The library's default Set Twister, widened or narrowed to DeepSets' parameter count within 2%.

    Like DeepSets it has the table's number of layers and its rho; only phi's widths give way.
    """
    s = setting(table, task)
    wanted = paper.model(table, "deepsets", task).num_parameters()

    def sized(last: int, first: int) -> SetTwister:
        """phi's widths in proportion to the last, each a multiple of M = 2, the first moved by a little."""
        phi = [2 * round(width * last / s.phi[-1] / 2) for width in s.phi]
        phi[0] += 2 * first
        return SetTwister(s.in_dim, 1, tuple(max(2, width) for width in phi), s.rho)

    with torch.device("meta"):  # counts parameters without making any
        choices = [(last, first) for last in range(2, 2 * s.phi[-1], 2) for first in (0, -1, 1)]
        misses = {choice: abs(sized(*choice).num_parameters() - wanted) / wanted for choice in choices}
    proportional = min((c for c in choices if c[1] == 0), key=misses.__getitem__)
    best = proportional if misses[proportional] < TOLERANCE else min(choices, key=misses.__getitem__)
    return sized(*best)


def cells(table: str, models: Iterable[str] | None = None, tasks: Iterable[str] | None = None) -> list[Cell]:
    """The cells of a table, ours included, row by row; only some models or tasks where named."""
    if table not in TABLES:
        raise InputError(f"unknown table {table!r}, expected one of {', '.join(TABLES)}")
    known_models, known_tasks = [*paper.models_of(table), PLUS], paper.tasks_of(table)
    chosen_models = named("model", models, known_models, table)
    chosen_tasks = named("task", tasks, known_tasks, table)
    return [Cell(table, model, task) for model in chosen_models for task in chosen_tasks]


def named(kind: str, wanted: Iterable[str] | None, known: list[str], table: str) -> list[str]:
    """Those of the known that are wanted, in their order; all where none is named."""
    if wanted is None:
        return known
    wanted = list(wanted)
    for name in wanted:
        if name not in known:
            raise InputError(f"table {table!r} has no {kind} {name!r}, expected one of {', '.join(known)}")
    return [name for name in known if name in wanted]
