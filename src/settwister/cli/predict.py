"""``settwister predict``, ``evaluate`` and ``explain``: what a saved classifier says of tables."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from settwister.cli.output import JsonOption, busy, print_table
from settwister.cli.tables import (
    DropUnknown,
    Edges,
    SourceColumn,
    TargetColumn,
    say_dropped,
    say_isolated,
    verdict,
    write_table,
)
from settwister.errors import InputError
from settwister.files import check_writable, new_file

if TYPE_CHECKING:
    from settwister.estimator.explanation import Explanation
    from settwister.estimator.table import TableClassifier

Model = Annotated[Path, typer.Option(help="A folder that settwister fit wrote.")]
Nodes = Annotated[Path, typer.Option(help="The table of nodes, with the columns that were trained on.")]
ENDINGS = (".parquet", ".csv")


def predict(
    model: Model,
    nodes: Nodes,
    out: Annotated[Path, typer.Option(help="The table to write: .parquet or .csv.")],
    edges: Edges = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    drop_unknown: DropUnknown = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Predict the class of every node of a table, of the graph that was trained on or of another.

    The table that is written has the id, the prediction, and the probability of every class.

    Example: [cyan]settwister predict --model model --nodes people.csv --edges friends.csv --out teams.parquet[/]
    """
    out = out.expanduser()
    if out.suffix.lower() not in ENDINGS:
        raise InputError(f"{out} ends in {out.suffix!r}, expected one of {', '.join(ENDINGS)}")
    if out.exists() and any(given is not None and given.exists() and out.samefile(given) for given in (nodes, edges)):
        raise InputError(f"{out} is one of the tables to read, expected another name: it would be lost")
    if out.exists() and not force:
        raise InputError(f"{out} exists already, expected a new file: --force replaces it")
    if out.is_dir():
        raise InputError(f"{out} is a folder, expected the name of a file")
    check_writable(out)
    table = opened(model, source_column, target_column, drop_unknown)
    say_isolated(table, edges)
    with busy("reading and predicting"):
        graph = table.read_new(nodes, edges)
        found = table.predicted(graph)
    with new_file(out) as staging:
        write_table(found, staging)
    counts = dict(found["prediction"].cast(str).value_counts(sort=True).iter_rows())
    if as_json:
        content = {"out": str(out), "nodes": found.height, "predictions": counts, "dropped_edges": graph.dropped}
        print(json.dumps(content, indent=1))
        return
    say_dropped(graph.dropped)
    print_table(f"{found.height} nodes, in {out}", ["prediction", "nodes"], [[k, str(v)] for k, v in counts.items()])


def evaluate(
    model: Model,
    nodes: Nodes,
    edges: Edges = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    drop_unknown: DropUnknown = False,
    as_json: JsonOption = False,
) -> None:
    """Compare predictions with the classes that a table gives, for all nodes that have one.

    Nodes that the model was trained on count too: for an honest number, give a table of others. That of the test nodes
    set aside in training is in the model's report.html.

    Example: [cyan]settwister evaluate --model model --nodes new_people.parquet --edges new_friends.parquet[/]
    """
    table = opened(model, source_column, target_column, drop_unknown)
    say_isolated(table, edges)
    with busy("reading and predicting"):
        graph = table.read_new(nodes, edges, with_target=True)
        found = table.evaluated(graph)
    if as_json:
        print(json.dumps(found.to_json() | {"dropped_edges": graph.dropped}, indent=1))
        return
    say_dropped(graph.dropped)
    balanced = table.classifier_.class_weight is not None
    more = "" if balanced else f"Balanced accuracy {found.balanced_accuracy:.1%}. "
    Console().print(
        f"{verdict(found, 'nodes', balanced=balanced)} {more}Macro-F1 {found.macro_f1:.1%}, calibration error "
        f"{found.calibration_error:.3f}."
    )
    print_table(
        "By class",
        ["class", "nodes", "precision", "recall", "F1"],
        [
            [row["name"], str(row["support"]), *(f"{row[key]:.1%}" for key in ("precision", "recall", "f1"))]
            for row in found.per_class
        ],
    )


def explain(
    model: Model,
    nodes: Nodes,
    node: Annotated[str, typer.Option(metavar="ID", help="Whose prediction to explain.")],
    edges: Edges = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    top: Annotated[int, typer.Option(min=1, help="How many neighbours and columns to show.")] = 10,
    drop_unknown: DropUnknown = False,
    as_json: JsonOption = False,
) -> None:
    """Say which neighbours and which columns moved the prediction of one node.

    Each neighbour is left out in turn, and the node predicted again: exact, not estimated. Each column is replaced by
    its average over the training nodes, in the node's own row and in its neighbours' rows.

    Example: [cyan]settwister explain --model model --nodes people.parquet --edges friends.parquet --node Ada[/]
    """
    table = opened(model, source_column, target_column, drop_unknown)
    say_isolated(table, edges)
    with busy("reading and predicting"):
        graph = table.read_new(nodes, edges)
        found = table.explained(node, graph)
    if as_json:
        print(json.dumps(found.to_json() | {"dropped_edges": graph.dropped}, indent=1, default=str))
        return
    say_dropped(graph.dropped)
    show_explanation(found, top)


def show_explanation(found: "Explanation", top: int) -> None:
    """For people."""
    node, prediction = escape(str(found.node)), escape(str(found.prediction))
    Console().print(f"{node} is predicted [bold]{prediction}[/] with probability {found.probability:.1%}.")

    def points(change: float) -> str:
        return f"{100 * change:+.2f}"

    print_table(
        f"Points of probability that a neighbour adds ({len(found.neighbours)} in all)",
        ["neighbour", "points"],
        [[str(row["node"]), points(row["change"])] for row in found.neighbours[:top]],
    )
    print_table(
        "Points that a column adds, against its average",
        ["column", "own", "neighbours'"],
        [[row["column"], points(row["own"]), points(row["neighbours"])] for row in found.columns[:top]],
    )


def opened(
    model: Path, source_column: str | None = None, target_column: str | None = None, drop_unknown: bool = False
) -> "TableClassifier":
    """The classifier in a folder, to read edges as it was fitted unless other columns are named."""
    from settwister.estimator.table import TableClassifier

    if not model.is_dir():
        raise InputError(f"{model} is not a folder, expected one that settwister fit wrote")
    found = TableClassifier.load(model)
    found.source = found.source if source_column is None else source_column
    found.end = found.end if target_column is None else target_column
    found.drop_unknown = drop_unknown
    return found
