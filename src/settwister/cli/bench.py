"""``settwister bench``: speed, as ratios measured in one run."""

from typing import Annotated

import typer

from settwister._checks import choice
from settwister.bench import BENCHMARKS, Row
from settwister.cli.output import JsonOption, print_rows, print_table, progress


def bench(
    name: Annotated[str, typer.Argument(help=f"Which benchmark: {', '.join(BENCHMARKS)}.")] = "twist",
    as_json: JsonOption = False,
) -> None:
    """Measure speed on this machine, each thing against another in the same run, best of several rounds.

    [bold]twist[/]: the forms of the twist at M=8, k=4, forward and backward, and whole models of larger M and k.
    [bold]sets[/]: a training step of Set Twister against DeepSets, stacked seeds against a plain loop, growth with n.
    [bold]nodes[/]: an epoch and a neighbour sum against PyG's, and predictions as the graph grows; on stand-ins of the
    same size where the data directory (SETTWISTER_DATA) lacks a graph.

    Example: [cyan]settwister bench twist[/]
    """
    choice("benchmark", name, BENCHMARKS)
    parts, rows = BENCHMARKS[name](), list[Row]()
    with progress() as bars:
        for part in bars.track(parts, task_id=bars.add_task(name, total=len(parts), note="")):
            rows += part()
    if as_json:
        print_rows(row.as_row() for row in rows)
        return
    print_table(
        f"{name}: other time / our time, best of several rounds in one run",
        ["what", "ratio", "ours", "other", "against"],
        [
            (
                row.name,
                "–" if row.ratio is None else f"{row.ratio:.2f}",
                f"{row.ours:.2f} {row.unit}",
                "not run" if row.other is None else f"{row.other:.2f} {row.unit}",
                row.against,
            )
            for row in rows
        ],
    )
