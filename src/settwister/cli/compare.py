"""``settwister compare``: several classifiers on the same tables, and the best of them saved."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from settwister.cli.output import JsonOption, listed, print_table, progress
from settwister.cli.tables import (
    Balanced,
    Directed,
    DropUnknown,
    Edges,
    Epochs,
    Features,
    Force,
    Id,
    Members,
    Nodes,
    Seed,
    SourceColumn,
    Target,
    TargetColumn,
    Weight,
    check_model_folder,
    edge_options,
    notes_on,
    one_hop_classifier,
    say_dropped,
    table_classifier,
    usage_lines,
)
from settwister.errors import InputError

if TYPE_CHECKING:
    from settwister.estimator.comparison import Contender
    from settwister.estimator.table import TableClassifier
    from settwister.report import LeaderboardRow

OURS = ("set_twister", "deepsets", "mlp")


def compare(
    nodes: Nodes,
    id: Id,
    target: Target,
    edges: Edges = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the best of those that can be saved, with the page.")
    ] = None,
    models: Annotated[str | None, typer.Option(metavar="A,B,…", help="Only these; all where left out.")] = None,
    features: Features = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    weight: Weight = None,
    drop_unknown: DropUnknown = False,
    directed: Directed = False,
    balanced: Balanced = False,
    epochs: Epochs = 1000,
    members: Members = None,
    seed: Seed = 0,
    force: Force = False,
    as_json: JsonOption = False,
) -> None:
    """Train several classifiers on the same nodes and print a leaderboard.

    Set Twister, DeepSets and an MLP as fit trains them; GCN; an MLP whose answers are corrected and smoothed along
    edges; label propagation; gradient boosting on the nodes' own columns. Scores are those of test nodes; which is best
    was decided by validation nodes.

    Example: [cyan]settwister compare --nodes people.csv --edges friends.csv --id name --target team[/]
    """
    if out is not None:
        check_model_folder(out, force=force)
    classifier = one_hop_classifier(directed, balanced, epochs, members)
    reading = edge_options(edges, source_column, target_column, weight, drop_unknown, directed)
    table = table_classifier(id, target, features, reading, classifier, seed)
    found = leaderboard(table, nodes, edges, listed(models), out, force=force)
    if as_json:
        print(json.dumps(found.to_json(), indent=1))
    else:
        found.show()


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Who was compared, the best on validation nodes first, who was saved where, and how many edges were left out."""

    found: "list[Contender]"
    rows: "list[LeaderboardRow]"
    saved: str | None
    out: Path | None
    dropped: int

    def to_json(self) -> dict[str, Any]:
        both = zip(self.rows, self.found, strict=True)
        return {
            "rows": [asdict(row) | {"name": one.name, "validation": one.validation} for row, one in both],
            "saved": self.saved,
            "dropped_edges": self.dropped,
        }

    def show(self) -> None:
        say_dropped(self.dropped)
        print_table(
            "Test nodes, the best on validation nodes first",
            ["model", "validation", "accuracy", "balanced", "macro-F1", "seconds"],
            [
                [row.model, *(f"{share:.1%}" for share in shares), f"{row.seconds:.1f}"]
                for row, one in zip(self.rows, self.found, strict=True)
                for shares in [(one.validation, row.accuracy, row.balanced_accuracy, row.macro_f1)]
            ],
        )
        if self.out is not None:
            page = escape(str(self.out / "report.html"))
            Console().print(f"Saved {self.saved} in {escape(str(self.out))}; page: {page}", highlight=False)


def leaderboard(
    table: "TableClassifier",
    nodes: Path,
    edges: Path | None,
    models: list[str] | None,
    out: Path | None,
    *,
    force: bool,
) -> Leaderboard:
    """Compare classifiers on two tables, and save the best of those that can be."""
    from settwister.estimator.comparison import CONTENDERS, compare

    wanted = list(CONTENDERS) if models is None else models
    if unknown := [name for name in wanted if name not in CONTENDERS]:
        raise InputError(f"unknown model {unknown[0]!r}, expected one of {', '.join(CONTENDERS)}")
    if out is not None and not set(wanted) & set(OURS):
        raise InputError(
            f"none of {', '.join(wanted)} can be saved, expected {', '.join(OURS)} among them, or no --out"
        )
    with progress() as bars:
        shown = bars.add_task("reading", total=len(wanted), note="")
        graph, split = table.read(nodes, edges)

        def tell(name: str, done: int, total: int) -> None:
            bars.update(shown, description=CONTENDERS[name], completed=done)

        found = compare(table, graph, split, wanted, tell)
    best = next((one for one in found if one.classifier is not None), None)
    rows = [one.row(chosen=out is not None and one is best) for one in found]
    if out is None:
        return Leaderboard(found, rows, None, None, graph.dropped)
    assert best is not None
    assert best.classifier is not None
    table.judge(best.classifier, graph, split, best.seconds)
    report = table.report(
        usage=usage_lines(nodes, edges, out, table.drop_unknown),
        leaderboard=rows,
        notes=notes_on(graph.dropped),
    )
    table.save(out, force=force, report=report)
    return Leaderboard(found, rows, best.name, out, graph.dropped)
