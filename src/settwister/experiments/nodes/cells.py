"""The node table as data: which method, on which graph, with which published number."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from settwister import paper
from settwister.experiments.cells import named
from settwister.experiments.nodes.methods import METHODS, method
from settwister.graphs import GRAPHS

TABLE = "nodes"
#: runs of a number: initialisations, each with a split of its own where splits are random
SEEDS = 5
#: graphs that come with more splits than that, all of which the paper averages over
SEEDS_OF = {"wikics": 20}


@dataclass(frozen=True)
class NodeCell:
    """One number of the table: a method on a graph; in the manner of :class:`~settwister.experiments.Cell`."""

    model: str
    task: str
    table: str = TABLE
    digits: int = 2

    @property
    def metric(self) -> str:
        """Of the headline number; run files have all three: accuracy, its mean over classes, macro-F1."""
        return "balanced_acc" if GRAPHS[self.task].balanced else "acc"

    @property
    def home(self) -> tuple[str, str]:
        return self.table, self.task

    @property
    def seeds(self) -> range:
        """The runs that make the number."""
        return range(SEEDS_OF.get(self.task, SEEDS))

    def published(self) -> dict[str, float] | None:
        """The paper's mean and, where it has one, deviation, in percent; None for a method that it lacks."""
        rows: list[dict[str, Any]] = paper.table(TABLE)["rows"]
        found = next((row[self.task] for row in rows if row["model"] == self.model), None)
        return None if found is None else {"std": float("nan")} | found


def node_cells(models: Iterable[str] | None = None, graphs: Iterable[str] | None = None) -> list[NodeCell]:
    """The cells of the table, graph by graph; only some methods or graphs where named.

    Args:
        models: names that :func:`~settwister.experiments.nodes.methods.method` knows; those that the table does not
            show come last.
    """
    columns: list[str] = paper.table(TABLE)["columns"]
    wanted = list(METHODS if models is None else models)
    for name in wanted:
        method(name)
    chosen_models = [name for name in METHODS if name in wanted]
    chosen_models += [name for name in dict.fromkeys(wanted) if name not in METHODS]
    chosen_graphs = named("task", graphs, columns, TABLE)
    return [NodeCell(model, graph) for graph in chosen_graphs for model in chosen_models]
