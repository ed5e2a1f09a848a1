"""What the commands that read tables share: their options, and the classifier that these describe."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from settwister.cli.output import listed
from settwister.errors import InputError

if TYPE_CHECKING:
    import polars

    from settwister.estimator import OneHopClassifier
    from settwister.estimator.table import TableClassifier
    from settwister.evaluation import Evaluation

LARGEST_SEED = 2**32 - 1  # of scikit-learn

Nodes = Annotated[Path, typer.Option(help="The table of nodes, Parquet or CSV: an id, columns to predict from.")]
Edges = Annotated[
    Path | None, typer.Option(help="The table of edges, Parquet or CSV: two columns of ids. None where left out.")
]
Id = Annotated[str, typer.Option(metavar="COLUMN", help="The column of the nodes' ids.")]
Target = Annotated[
    str,
    typer.Option(
        metavar="COLUMN", help="The column to predict; empty where it is unknown (in CSV also NA, null or None)."
    ),
]
Features = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="The columns to predict from; all others where left out.")
]
SourceColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Of the edges; where left out source, or the first of two.")
]
TargetColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Of the edges; where left out target, or the second of two.")
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
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="For the split and the training.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a folder that was written before.")]


def one_hop_classifier(
    directed: bool, balanced: bool, epochs: int, members: int | None, model: str = "set_twister"
) -> "OneHopClassifier":
    """What the options say of the training."""
    from settwister.estimator import OneHopClassifier

    return OneHopClassifier(
        model=model,
        directed=directed,
        class_weight="balanced" if balanced else None,
        max_epochs=epochs,
        members="auto" if members is None else members,
    )


def edge_options(
    edges: Path | None,
    source_column: str | None,
    target_column: str | None,
    weight: str | None,
    drop_unknown: bool,
    directed: bool,
) -> dict[str, Any]:
    """How a table of edges is read; refused where there is none."""
    given = {
        "--source-column": source_column,
        "--target-column": target_column,
        "--weight": weight,
        "--drop-unknown": drop_unknown,
        "--directed": directed,
    }
    if edges is None and (said := [option for option, value in given.items() if value not in (None, False)]):
        raise InputError(f"{said[0]} is given without --edges, expected a table of edges, too")
    return {"source": source_column, "end": target_column, "weight": weight, "drop_unknown": drop_unknown}


def table_classifier(
    id: str, target: str, features: str | None, reading: dict[str, Any], classifier: "OneHopClassifier", seed: int
) -> "TableClassifier":
    """What the options say of the tables, around a classifier; not yet fitted.

    Args:
        reading: of edges, as :func:`edge_options` gives it.
    """
    from settwister.estimator.table import TableClassifier

    return TableClassifier(id, target, features=listed(features), classifier=classifier, random_state=seed, **reading)


def check_model_folder(out: Path, *, force: bool) -> None:
    """Refuse a folder that could not be written when the model is there."""
    from settwister import files
    from settwister.estimator.folder import OURS

    files.writable(out, ours=OURS, force=force)


def write_table(frame: "polars.DataFrame", path: Path) -> None:
    """As Parquet or CSV, by the ending; a full disk is an OSError, as of any other file."""
    import polars

    try:
        frame.write_parquet(path) if path.suffix.lower() == ".parquet" else frame.write_csv(path)
    except polars.exceptions.ComputeError as error:
        raise OSError(f"{path.name} was not written: {error}") from error


def usage_lines(nodes: Path, edges: Path | None, out: Path, drop_unknown: bool) -> dict[str, str]:
    """Commands that use a model on the tables it was fitted on, as a shell takes them."""
    given = ["--model", str(out), "--nodes", str(nodes)]
    if edges is not None:
        given += ["--edges", str(edges), *(["--drop-unknown"] if drop_unknown else [])]
    return {
        "Predict": shlex.join(["settwister", "predict", *given, "--out", "predictions.parquet"]),
        "Explain": shlex.join(["settwister", "explain", *given, "--node", "ID"]),
    }


def notes_on(dropped: int) -> list[str]:
    edges = "1 edge" if dropped == 1 else f"{dropped} edges"
    were = "was" if dropped == 1 else "were"
    return [f"{edges} to nodes that are not in the table {were} left out."] if dropped else []


def verdict(found: "Evaluation", nodes: str, *, balanced: bool) -> str:
    """How good answers for so many nodes are, in rich's markup; first of all what was asked for."""
    low, high = found.interval
    sentences = [
        f"{found.accuracy:.1%} of {found.nodes} {nodes} are right (95% interval {low:.1%} to {high:.1%}); always "
        f"answering the commonest class would be {found.majority:.1%}."
    ]
    if balanced:
        alike = f"is the balanced accuracy, every class counted alike; guessing would be {found.chance:.1%}."
        sentences.insert(0, f"{found.balanced_accuracy:.1%} {alike}")
    share, rest = " ".join(sentences).split(" ", 1)
    return f"[bold]{share}[/] {rest}"


def say_isolated(table: "TableClassifier", edges: Path | None) -> None:
    """A word to people who left out the edges of a model that was fitted with some."""
    if edges is None and table.classifier_.saw_edges_:
        print("No --edges for a model that was fitted with some: every node is taken as isolated.", file=sys.stderr)


def say_dropped(dropped: int) -> None:
    """How many edges were left out, if any were, for people; results stay alone on standard output."""
    for note in notes_on(dropped):
        print(note, file=sys.stderr)
