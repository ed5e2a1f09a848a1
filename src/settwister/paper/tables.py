"""The paper's published numbers, as data."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from settwister.errors import InputError


@cache
def published() -> dict[str, dict[str, Any]]:
    """Every table of the paper: name → title, columns, note, rows.

    >>> published()["integers"]["rows"][0]["variance_mae"]["mean"]
    0.333
    """
    tables: dict[str, dict[str, Any]] = json.loads(files(__package__).joinpath("tables.json").read_text("utf-8"))
    return tables


def table(name: str) -> dict[str, Any]:
    """One table of :func:`published`; an unknown name lists the known ones."""
    if name not in published():
        raise InputError(f"unknown table {name!r}, expected one of {', '.join(published())}")
    return published()[name]
