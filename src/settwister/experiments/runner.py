"""Runs what is missing of a table, and gathers what is there."""

import math
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from settwister.experiments.cells import Cell, TableCell
from settwister.experiments.recipes import Plan, plan
from settwister.experiments.statistics import mean_std
from settwister.experiments.store import RunStore
from settwister.tasks import ImageTask
from settwister.training import train
from settwister.training.set_trainer import summary
from settwister.training.stacked import passes

Tell = Callable[[Cell, int, int, str], None]


@dataclass(frozen=True)
class Row:
    """A cell's runs beside the paper's number.

    Args:
        left_out: seeds of runs that are there, but have other settings than these.
    """

    cell: TableCell
    runs: list[dict[str, Any]] = field(repr=False)
    left_out: list[int] = field(default_factory=list)

    @property
    def scores(self) -> list[float]:
        return [run["test"] for run in self.runs]

    @property
    def epochs(self) -> int:
        """How many were run; on average, where seeds stopped early."""
        return round(mean_std([run.get("epochs", run["recipe"]["epochs"]) for run in self.runs])[0])

    def as_row(self) -> dict[str, Any]:
        """The fixed form of ``reproduce --json``."""
        mean, std = mean_std(self.scores)
        published = {key: value for key, value in (self.cell.published() or {}).items() if not math.isnan(value)}
        row = {
            "model": self.cell.model,
            "task": self.cell.task,
            "metric": self.cell.metric,
            "mean": mean,
            "std": std if len(self.runs) > 1 else None,
            "seeds": [run["seed"] for run in self.runs],
            "epochs": self.epochs,
            "parameters": self.runs[0]["parameters"],
            "seconds_per_epoch": mean_std([run["seconds_per_epoch"] for run in self.runs])[0],
            "paper_mean": published.get("mean"),
            "paper_std": published.get("std"),
        }
        if further := [run["test_metrics"] for run in self.runs if "test_metrics" in run]:
            row["test_metrics"] = {name: mean_std([one[name] for one in further])[0] for name in further[0]}
        return row


def seeds_of(planned: Plan, wanted: Sequence[int] | None) -> list[int]:
    return list(range(planned.seeds)) if wanted is None else list(wanted)


def run_missing(
    cells: Iterable[Cell],
    store: RunStore,
    budget: str,
    *,
    seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    image_options: dict[str, Any] | None = None,
    tell: Tell = lambda cell, done, total, note: None,
) -> None:
    """Train every seed of every cell that has no run file yet, several seeds at once.

    Args:
        image_options: further options of :class:`~settwister.tasks.ImageTask`.
        tell: called with the cell, epochs done, epochs in all, and a note for people.
    """
    cells = list(cells)
    store.check_writable((cell, seed) for cell in cells for seed in seeds_of(plan(cell, budget), seeds))
    for cell in cells:
        planned = plan(cell, budget, epochs)
        missing = [seed for seed in seeds_of(planned, seeds) if store.read(cell, seed) is None]
        if missing:
            _run(cell, planned, missing, store, image_options or {}, tell)


def _run(
    cell: Cell, planned: Plan, seeds: list[int], store: RunStore, image_options: dict[str, Any], tell: Tell
) -> None:
    task = cell.data(**planned.data, **(image_options if cell.images else {}))
    epochs = planned.recipe.epochs * passes(cell.build(), len(seeds))
    tell(cell, 0, epochs, "")
    unfinished = store.checkpoints(cell)
    trained = train(
        cell.build,
        task.generate,
        seeds,
        planned.recipe,
        checkpoint=unfinished,
        compiled=planned.compiled,
        tell=lambda done, note: tell(cell, done, epochs, note),
    )
    images = {"images": task.source()} if isinstance(task, ImageTask) else {}
    for outcome in trained:
        content = summary(outcome) | {"recipe": planned.recipe.to_json(), "data": _described(task) | images}
        store.write(cell, outcome.seed, content)
    shutil.rmtree(unfinished, ignore_errors=True)


def _described(task: Any) -> dict[str, Any]:
    """The data's settings, without the place on disk that they came from."""
    return {name: value for name, value in vars(task).items() if name != "data_dir"}


def rows(cells: Iterable[Cell], store: RunStore, budget: str, seeds: Sequence[int] | None = None) -> list[Row]:
    """What the store has of these cells; cells without a run are left out."""
    found = []
    for cell in cells:
        wanted = seeds_of(plan(cell, budget), seeds)
        runs = [run for seed in wanted if (run := store.read(cell, seed)) is not None]
        if runs:
            found.append(Row(cell, runs))
    return found
