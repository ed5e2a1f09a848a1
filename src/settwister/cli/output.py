"""How commands speak: tables for people, JSON for programs, progress on standard error."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from settwister.errors import InputError

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def listed(given: str | None) -> list[str] | None:
    """``A, B,C`` as a list; None where nothing was given.

    >>> listed("gcn, mlp,")
    ['gcn', 'mlp']
    """
    if given is None:
        return None
    found = [part.strip() for part in given.split(",") if part.strip()]
    if not found:
        raise InputError(f"{given!r} names nothing, expected names separated by commas")
    return found


def print_rows(rows: Iterable[dict[str, Any]]) -> None:
    """The machine's form of a result, ``{"rows": [...]}``."""
    print(json.dumps({"rows": list(rows)}, indent=1))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """The person's form: the first column to the left, the others, numbers, to the right.

    Args:
        rows: words as they are, brackets and all; a :class:`~rich.text.Text` where some of them are styled.
    """
    console, table = Console(), Table()
    for i, column in enumerate(columns):
        table.add_column(escape(column), justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(escape(cell) if isinstance(cell, str) else cell for cell in row))
    console.print(f"[bold]{escape(title)}[/]", highlight=False)
    console.print(table)


def progress() -> Progress:
    """A bar with the time left, on standard error, and only where somebody is watching."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A bar without an end, for what takes as long as it takes."""
    with progress() as bars:
        bars.add_task(what, total=None, note="")
        yield
