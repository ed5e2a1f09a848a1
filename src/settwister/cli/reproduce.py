"""``settwister reproduce``: the paper's tables, ours beside the published numbers."""

from collections.abc import Callable
from typing import Annotated

import typer

from settwister import paper
from settwister.cli.output import JsonOption, print_rows, print_table
from settwister.errors import InputError
from settwister.paper.cost import Count

COUNTED: dict[str, Callable[[], list[Count]]] = {
    "parameters": paper.parameter_counts,
    "figure1_cost": paper.figure1_counts,
}


def reproduce(
    table: Annotated[str, typer.Argument(help=f"Which table: {', '.join(COUNTED)}.", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """Reproduce a table of the paper and print our numbers beside the published ones.

    [bold]parameters[/]: the 22 trainable-parameter counts of the supplement, from the models as built.
    [bold]figure1_cost[/]: the operations and parameters of Figure 1. Both exit with 1 unless every number is equal.

    Example: [cyan]settwister reproduce parameters[/]
    """
    if table not in COUNTED:
        known = "a table whose training runs are not part of this version" if table in paper.published() else "unknown"
        raise InputError(f"table {table!r} is {known}, expected one of {', '.join(COUNTED)}")
    counts = COUNTED[table]()
    if as_json:
        print_rows(count.as_row() for count in counts)
    else:
        print_table(
            paper.table(table)["title"],
            ["model", "column", "ours", "paper", "equal"],
            [
                (c.model, c.column, f"{c.ours:,}", f"{c.paper:,}", "yes" if c.ours == c.paper else "[red]no[/]")
                for c in counts
            ],
        )
    if any(count.ours != count.paper for count in counts):
        raise typer.Exit(1)
