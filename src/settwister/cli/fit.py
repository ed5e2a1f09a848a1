"""``settwister fit`` and ``settwister compare``: tables in, a judged and saved classifier out."""

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from settwister import files
from settwister.cli.output import JsonOption, print_table, progress
from settwister.errors import InputError

if TYPE_CHECKING:
    from settwister.estimator.comparison import Contender
    from settwister.estimator.table import TableClassifier
    from settwister.report import LeaderboardRow

OURS = ("set_twister", "deepsets", "mlp")
Nodes = Annotated[Path, typer.Option(help="The table of nodes, Parquet or CSV: an id, columns to predict from.")]
Edges = Annotated[
    Path | None, typer.Option(help="The table of edges, Parquet or CSV: two columns of ids. None where left out.")
]
Id = Annotated[str, typer.Option(metavar="COLUMN", help="The column of the nodes' ids.")]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict; empty where it is unknown.")]
Features = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="The columns to predict from; all others where left out.")
]
SourceColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Of the edges; source, or the first, where left out.")
]
TargetColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Of the edges; target, or the second, where left out.")
]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Of the edges: numbers of at least 0.")]
DropUnknown = Annotated[
    bool, typer.Option("--drop-unknown", help="Leave out edges to nodes that are not in the table.")
]
Directed = Annotated[
    bool, typer.Option("--directed", help="Only sources are neighbours; else an edge counts both ways.")
]
Balanced = Annotated[bool, typer.Option("--balanced", help="All classes count alike, however many nodes they have.")]
Epochs = Annotated[int, typer.Option(min=1, help="At most so many passes over the nodes.")]
Members = Annotated[
    int | None,
    typer.Option(min=1, max=64, help="Networks that answer as one; 1 is fastest. By default 3 where labels are many."),
]
Seed = Annotated[int, typer.Option(min=0, help="For the split and the training.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a folder that was written before.")]


def fit(
    nodes: Nodes,
    id: Id,
    target: Target,
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    edges: Edges = None,
    features: Features = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    weight: Weight = None,
    drop_unknown: DropUnknown = False,
    directed: Directed = False,
    balanced: Balanced = False,
    model: Annotated[str, typer.Option(help="set_twister, deepsets or mlp.")] = "set_twister",
    epochs: Epochs = 1000,
    members: Members = None,
    tune: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Look for better settings for so long. What was tried is kept in OUT.trials.json until the model is "
            "saved, so that the same command goes on where a stopped one was.",
        ),
    ] = 0,
    seed: Seed = 0,
    force: Force = False,
    as_json: JsonOption = False,
) -> None:
    """Train a classifier of nodes on your own tables, judge it, and save it with a page about it.

    Of the nodes whose class is known, a fifth is set aside to judge the outcome by, and another fifth says when to
    stop. Columns may be numbers, categories, booleans, dates or text, with gaps. The folder holds the model,
    report.html and all that predict needs; nothing in it is ever run.

    Example: [cyan]settwister fit --nodes people.parquet --edges friends.parquet --id name --target team --out model[/]
    """
    files.writable(out, marker="estimator.json", force=force)
    table = table_classifier(
        id,
        target,
        features,
        source_column,
        target_column,
        weight,
        drop_unknown,
        directed,
        balanced,
        epochs,
        members,
        seed,
    )
    assert table.classifier is not None
    table.classifier.set_params(model=model)
    trials = out.with_name(f"{out.name}.trials.json")
    with progress() as bars:
        shown = bars.add_task("reading", total=None, note="")
        graph, split = table.read(nodes, edges)
        if tune:
            bars.update(shown, description="tuning", total=tune)
            _tune(table, graph, split, tune, trials, lambda spent, note: bars.update(shown, completed=spent, note=note))
        bars.update(shown, description="training", total=table.classifier.max_epochs, completed=0)
        table.learn(graph, split, lambda done, note: bars.update(shown, completed=done, note=note))
    report = table.report(usage=_usage(nodes, edges, out), notes=_notes(graph.dropped))
    table.save(out, force=force, report=report)
    if tune:
        trials.unlink(missing_ok=True)
    found = table.evaluation_
    if as_json:
        content = {"model": str(out), "data": asdict(table.data_), "test": found.to_json()}
        print(json.dumps(content | {"dropped_edges": graph.dropped}, indent=1))
        return
    say_dropped(graph.dropped)
    console = Console()
    low, high = found.interval
    console.print(
        f"[bold]{found.accuracy:.1%}[/] of {found.nodes} test nodes are right (95% interval {low:.1%} to {high:.1%}); "
        f"always answering the commonest class would be {found.majority:.1%}."
    )
    fitted = table.classifier_
    networks = fitted.network_.config.get("members", 1)
    trained = "The network was" if networks == 1 else f"{networks} networks, answering as one, were"
    whose = "" if networks == 1 else " of the first"
    console.print(
        f"{trained} trained in {table.seconds_:.1f} s; epoch {fitted.best_epoch_} of {fitted.n_iter_}{whose} was kept."
    )
    console.print(f"Model: {escape(str(out))}   Page: {escape(str(out / 'report.html'))}", highlight=False)
    for what, line in _usage(nodes, edges, out).items():
        console.print(f"{what}: [cyan]{escape(line)}[/]", highlight=False, soft_wrap=True)


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

    Set Twister, DeepSets and an MLP as fit trains them; GCN; label propagation; gradient boosting on the nodes' own
    columns. Scores are those of test nodes; which is best was decided by validation nodes.

    Example: [cyan]settwister compare --nodes people.csv --edges friends.csv --id name --target team[/]
    """
    if out is not None:
        files.writable(out, marker="estimator.json", force=force)
    table = table_classifier(
        id,
        target,
        features,
        source_column,
        target_column,
        weight,
        drop_unknown,
        directed,
        balanced,
        epochs,
        members,
        seed,
    )
    found = leaderboard(table, nodes, edges, None if models is None else models.split(","), out, force=force)
    if as_json:
        print(json.dumps(found.to_json(), indent=1))
    else:
        found.show()


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Who was compared, best first, which of them was saved where, and how many edges were left out."""

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
    rows = [one.row(chosen=i == 0) for i, one in enumerate(found)]
    if out is None:
        return Leaderboard(found, rows, None, None, graph.dropped)
    best = next(one for one in found if one.classifier is not None)
    assert best.classifier is not None
    table.judge(best.classifier, graph, split, best.seconds)
    report = table.report(
        usage=_usage(nodes, edges, out),
        leaderboard=rows,
        leaderboard_on="test nodes; the first is the best on validation nodes",
        notes=_notes(graph.dropped),
    )
    table.save(out, force=force, report=report)
    return Leaderboard(found, rows, best.name, out, graph.dropped)


def table_classifier(
    id: str,
    target: str,
    features: str | None = None,
    source: str | None = None,
    end: str | None = None,
    weight: str | None = None,
    drop_unknown: bool = False,
    directed: bool = False,
    balanced: bool = False,
    epochs: int = 1000,
    members: int | None = None,
    seed: int = 0,
) -> "TableClassifier":
    """What the options say, not yet fitted."""
    from settwister.estimator import OneHopClassifier
    from settwister.estimator.table import TableClassifier

    return TableClassifier(
        id,
        target,
        features=None if features is None else features.split(","),
        source=source,
        end=end,
        weight=weight,
        drop_unknown=drop_unknown,
        classifier=OneHopClassifier(
            directed=directed,
            class_weight="balanced" if balanced else None,
            max_epochs=epochs,
            members="auto" if members is None else members,
        ),
        random_state=seed,
    )


def _tune(table: Any, graph: Any, split: Any, seconds: float, trials: Path, tell: Any) -> None:
    """Better settings for the table's classifier, judged on its validation nodes."""
    import torch

    from settwister.estimator.tuning import fingerprint, tuned

    began = time.monotonic()
    seen = torch.cat([split.train, split.validation])
    about = fingerprint(graph.x, graph.codes[seen], seen, graph.sets, split.validation)
    found, _ = tuned(
        table.classifier.set_params(random_state=table.random_state),
        lambda copy: table.trained(graph, split, **copy.get_params()),
        time_limit=seconds,
        trials=None,
        path=trials,
        about=about,
        tell=lambda done, note: tell(time.monotonic() - began, note),
        size=(graph.x.shape[1], len(seen)),
    )
    table.classifier.set_params(**found)


def _usage(nodes: Path, edges: Path | None, out: Path) -> dict[str, str]:
    tables = f"--nodes {nodes}" + ("" if edges is None else f" --edges {edges}")
    return {
        "Predict": f"settwister predict --model {out} {tables} --out predictions.parquet",
        "Explain": f"settwister explain --model {out} {tables} --node ID",
    }


def _notes(dropped: int) -> list[str]:
    edges = "1 edge" if dropped == 1 else f"{dropped} edges"
    were = "was" if dropped == 1 else "were"
    return [f"{edges} to nodes that are not in the table {were} left out."] if dropped else []


def say_dropped(dropped: int) -> None:
    """How many edges were left out, if any were, for people; results stay alone on standard output."""
    for note in _notes(dropped):
        print(note, file=sys.stderr)
