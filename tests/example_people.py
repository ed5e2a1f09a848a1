"""What the tests of classifiers of tables share: people and who their friends are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from settwister.demo.social import social_tables
from settwister.estimator import OneHopClassifier

PEOPLE = 300
SMALL = OneHopClassifier(width=8, max_epochs=15)
Tables = tuple[pl.DataFrame, pl.DataFrame]


def social() -> Tables:
    return social_tables(PEOPLE)


def written(tables: Tables, folder: Path) -> Path:
    for name, table in zip(("people", "friends"), tables, strict=True):
        table.write_parquet(folder / f"{name}.parquet")
    return folder


def fit_arguments(files: Path, *more: Any) -> list[Any]:
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    return ["fit", *tables, "--id", "person", "--target", "kind", "--out", files / "model", "--epochs", 3, *more]


def without(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.drop(column)


def replaced(column: str, values: Callable[[pl.Series], Any]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(pl.Series(column, values(table[column])))
