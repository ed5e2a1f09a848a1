"""The node table in the paper's shape: a line per method, a column per graph."""

from collections.abc import Sequence
from typing import Any

from settwister import paper
from settwister.experiments.nodes.cells import TABLE, NodeCell
from settwister.experiments.nodes.methods import METHODS, method
from settwister.experiments.render import name_of, spread, title, winners
from settwister.experiments.runner import Row
from settwister.experiments.statistics import mean_std
from settwister.experiments.terms import Terms


def node_table(
    rows: Sequence[Row], bold: str, published: str = " ({})", wanted: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """Header and body, in every cell our mean and deviation and behind it the paper's mean.

    Args:
        bold: how to set the best of a graph in bold, with ``{}`` for the number; published: how to set the paper's.
        wanted: runs that a cell should have, its own number where left out; where some are missing it says so.
    """
    graphs = [graph for graph in paper.table(TABLE)["columns"] if any(row.cell.task == graph for row in rows)]
    by_cell = {(row.cell.model, row.cell.task): row for row in rows}
    best = {graph: models for graph, models in winners(rows).items() if _rivals(rows, graph) > 1}
    body = []
    for model in sorted({row.cell.model for row in rows}, key=_place):
        name = next(name_of(row) for row in rows if row.cell.model == model)
        found = [by_cell.get((model, graph)) for graph in graphs]
        styles = [bold if model in best.get(graph, ()) else "{}" for graph in graphs]
        body.append([name, *(_cell(*one, published, wanted) for one in zip(found, styles, strict=True))])
    return ["method", *graphs], body


def by_labels_used(rows: Sequence[Row], terms: Terms) -> list[tuple[str, list[Row]]]:
    """Rows to be compared with one another, under their headings: who learns from validation labels stands apart."""
    parts = {crossed: [row for row in rows if method(row.cell.model).crossed == crossed] for crossed in (False, True)}
    of_all = f"{title(TABLE)}; {terms.words(TABLE)}; in parentheses, apart from ours, the paper's"
    headings = {False: of_all, True: f"{of_all}: methods that learn from validation labels, too"}
    return [(headings[crossed], some) for crossed, some in parts.items() if some]


def node_row(row: Row, terms: Terms) -> dict[str, Any]:
    """The fixed form of ``reproduce nodes --json``."""
    first = row.runs[0]
    return (
        row.as_row()
        | terms.as_fields(TABLE)
        | {
            "trials": first.get("trials", 0),
            "settings": first.get("settings"),
            "learns_from_validation": method(row.cell.model).crossed,
        }
    )


def _rivals(rows: Sequence[Row], graph: str) -> int:
    return sum(row.cell.task == graph for row in rows)


def _place(model: str) -> tuple[int, str]:
    """In the table's order; behind it what the table does not show, by name."""
    shown = list(METHODS)
    return (shown.index(model) if model in shown else len(shown)), model


def _cell(row: Row | None, style: str, published: str, wanted: int | None) -> str:
    if row is None:
        return "–"
    ours, theirs = style.format(spread(*mean_std(row.scores), row.cell.digits)), row.cell.published()
    shown = ours if theirs is None else ours + published.format(f"{theirs['mean']:.{row.cell.digits}f}")
    assert isinstance(row.cell, NodeCell)
    wanted = wanted or len(row.cell.seeds)
    return shown if len(row.runs) >= wanted else f"{shown}, {len(row.runs)} of {wanted} runs"


def settings_tried(rows: Sequence[Row], protocol: str) -> str:
    """How many settings a search tried, by graph and number; of a grid, how many it has. Empty where none was."""
    tried: dict[str, dict[str, list[str]]] = {graph: {} for graph in paper.table(TABLE)["columns"]}
    for row in sorted(rows, key=lambda row: _place(row.cell.model)):
        cell, count = row.cell, row.runs[0].get("trials", 0)
        if count:
            whole = method(cell.model).paper_effort(cell.task) if protocol == "paper" else 0
            share = f"{count} of {whole}" if whole else str(count)
            tried[cell.task].setdefault(share, []).append(name_of(row))
    parts = []
    for graph, by_count in tried.items():
        counts = [f"{share} for {', '.join(names)}" for share, names in by_count.items()]
        parts += [f"{graph}: {'; '.join(counts)}"] if counts else []
    where = "on split 0 (of random splits: most nodes that the others test are among those known there)"
    return f"Settings tried per method, {where}: {'. '.join(parts)}." if parts else ""
