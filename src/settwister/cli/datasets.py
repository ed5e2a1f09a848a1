"""``settwister datasets``: the paper's graphs, what is there of them, and how to get the rest."""

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import TaskID
from torch import Tensor

from settwister import paper
from settwister.cli.output import JsonOption, print_rows, print_table, progress
from settwister.errors import InputError
from settwister.graphs import GRAPHS, Graph, available, load
from settwister.graphs.registry import how_to_get, other_than_published


def datasets(
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the graphs are; else SETTWISTER_DATA, else the cache folder.")
    ] = None,
    download: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"Fetch one that is not there: {', '.join(GRAPHS)}. May be repeated."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the paper's six graphs: its numbers, and those of what is in the data directory.

    A graph is read from NAME/NAME.npz, or from its published files in NAME/ or in the folders of PyG and OGB. Nothing
    is fetched without --download. Published files that were changed, or put there by hand and are others, are named.

    Edges are counted once for both directions, without loops; given are those of the files, where some are repeated.
    The degree is the median, the density the share of features that are not 0.

    One that cannot be read does not keep the others from being listed; the exit code is then 2.

    Example: [cyan]settwister datasets --download cora[/]
    """
    for name in download or []:
        _fetch(name, data_dir)
    printed = {row["dataset"]: row for row in paper.table("datasets")["rows"]}
    rows = []
    for name, source in available(data_dir).items():
        row: dict[str, Any] = {
            "graph": name,
            "paper": {key: printed[name][key] for key in ("classes", "nodes", "edges")},
        }
        if source is None:
            row |= {"source": None, "how": how_to_get(name)}
        else:
            row |= {"source": str(source)} | _read(name, source, data_dir)
        rows.append(row)
    if as_json:
        print_rows(rows)
    else:
        _print(rows)
    broken = [row["broken"] for row in rows if "broken" in row]
    for sentence in broken:
        print(f"settwister: {sentence}", file=sys.stderr)
    if broken:
        raise typer.Exit(2)


def _read(name: str, source: Path, data_dir: Path | None) -> dict[str, Any]:
    """What is said of a graph that is there; where it cannot be read, why not."""
    try:
        return {"other_files": other_than_published(name, source)} | statistics(load(name, data_dir))
    except (InputError, OSError) as error:
        return {"broken": str(error)}


def statistics(graph: Graph) -> dict[str, Any]:
    """The numbers that tell one graph from another."""
    degrees = graph.degrees.numpy()
    stored = int(graph.x.count_nonzero()) if isinstance(graph.x, Tensor) else len(graph.x.index)
    return {
        "classes": graph.num_classes,
        "nodes": graph.num_nodes,
        "given_edges": graph.given_edges,
        "edges": graph.num_edges,
        "isolated": int((degrees == 0).sum()),
        "degree": {"min": int(degrees.min()), "median": float(np.median(degrees)), "max": int(degrees.max())},
        "features": graph.num_features,
        "density": stored / (graph.num_nodes * graph.num_features),
        "splits": {name: len(splits) for name, splits in graph.splits.items()},
    }


def _fetch(name: str, data_dir: Path | None) -> None:
    with progress() as bars:
        shown: dict[str, TaskID] = {}

        def tell(file: str, done: int, total: int | None) -> None:
            if file not in shown:
                shown[file] = bars.add_task(file, total=total, note="")
            bars.update(shown[file], completed=done, note=f"{done / 1e6:.1f} MB")

        load(name, data_dir, download=True, tell=tell)


def _print(rows: list[dict[str, Any]]) -> None:
    lines = [
        ("classes", [_number(row, "classes") for row in rows]),
        ("  paper", [f"{row['paper']['classes']:,}" for row in rows]),
        ("nodes", [_number(row, "nodes") for row in rows]),
        ("  paper", [f"{row['paper']['nodes']:,}" for row in rows]),
        ("edges", [_number(row, "edges") for row in rows]),
        ("  given", [_number(row, "given_edges") for row in rows]),
        ("  paper", [f"{row['paper']['edges']:,}" for row in rows]),
        ("isolated", [_number(row, "isolated") for row in rows]),
        ("degree", [_degree(row, "median") for row in rows]),
        ("  least", [_degree(row, "min") for row in rows]),
        ("  most", [_degree(row, "max") for row in rows]),
        ("features", [_number(row, "features") for row in rows]),
        ("density", [f"{row['density']:.2%}" if "density" in row else "–" for row in rows]),
        ("splits", ["\n".join(f"{n} {name}" for name, n in row.get("splits", {}).items()) or "–" for row in rows]),
    ]
    print_table(
        "The paper's graphs, as they are here and as it describes them",
        ["", *(row["graph"] for row in rows)],
        [(name, *cells) for name, cells in lines],
    )
    console = Console(soft_wrap=True, highlight=False)
    for row in rows:
        where = escape(row["source"]) if row["source"] else f"[yellow]not there[/]: {escape(row['how'])}"
        if "broken" in row:
            where += " [red](cannot be read)[/]"
        if row.get("other_files"):
            where += f" [yellow]({', '.join(row['other_files'])}: other than published)[/]"
        console.print(f"{row['graph']}: {where}")


def _number(row: dict[str, Any], key: str) -> str:
    return f"{row[key]:,}" if key in row else "–"


def _degree(row: dict[str, Any], key: str) -> str:
    return f"{row['degree'][key]:,g}" if "degree" in row else "–"
