"""A table of nodes: an id, features, and a class for those whose class is known."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from settwister.errors import InputError
from settwister.tables.columns import check_columns, check_features, check_finite, kind, listed, missing, whole
from settwister.tables.ids import check_ids, classes_from_cells, from_cells
from settwister.tables.reading import open_table
from settwister.tables.table import Frame, Table

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Nodes as a person's table has them.

    Args:
        ids: one per node, none missing, none twice.
        features: a row per node, at least one column; missing values are null.
        target: the class of each node, null where unknown or blank; None where the table has no such column.
    """

    ids: "polars.Series"
    features: "polars.DataFrame"
    target: "polars.Series | None" = None


def read_nodes(
    source: Any,
    id: str | None,
    target: str | None = None,
    features: Sequence[str] | None = None,
    text: Collection[str] = (),
    *,
    trained: bool = False,
) -> NodeTable:
    """The nodes in ``source``, a path or a data frame.

    Args:
        id: the column that names the nodes; None takes the index of a pandas data frame.
        target: the column to predict, null where it is unknown.
        features: the columns to predict from; all others where left out.
        text: features that are text, whatever the cells of a CSV file look like.
        trained: whether these are the columns of a model.
    """
    table = open_table(source)
    named = [name for name in (id, target) if name is not None]
    if len(set(named)) < len(named):
        raise InputError(f"the id and the target are both {id!r}, expected two columns")
    check_columns(named, table.names, table.title, trained=trained)
    chosen = _chosen_features(features, named, table, trained=trained)
    frame = table.whole([*named, *chosen], text=[*named, *(name for name in chosen if name in text)])
    ids = _ids(table, frame, id)
    check_ids(ids, table.title)
    check_features(frame.select(chosen), table.title)
    classes = None
    if target is not None:
        classes = _classes(frame[target], table.title, typed=table.typed)
    return NodeTable(ids, frame.select(chosen), classes)


def labels(target: "polars.Series") -> tuple["NDArray[np.int64]", "NDArray[Any]"]:
    """Every node's class as a number from 0, -1 where missing, and the classes in ascending order.

    >>> import polars
    >>> codes, classes = labels(polars.Series(["no", None, "yes", "no", "yes"]))
    >>> codes.tolist(), classes.tolist()
    ([0, -1, 1, 0, 1], ['no', 'yes'])
    """
    import polars as pl

    target = _classes(target, "the table")
    if not (target.dtype.is_integer() or target.dtype == pl.Boolean):
        target = as_words(target)  # in the order of the alphabet, as scikit-learn has it
    values = target.drop_nulls().unique().sort()
    codes = target.rank("dense").cast(pl.Int64).fill_null(1 + UNKNOWN).to_numpy() - 1
    name = target.name or "target"
    if len(values) < 2:
        raise InputError(
            f"the target {name!r} has one class only, {values[0]!r}, expected at least two: there is nothing to learn"
        )
    alone = np.flatnonzero(np.bincount(codes[codes >= 0]) == 1).tolist()
    if alone:
        few = listed(values.gather(alone).to_list(), 3)
        raise InputError(
            f"the target {name!r} has one member only of {few}, expected at least two of a class: give more of it or "
            "drop it"
        )
    return codes, values.to_numpy()


def as_words(target: "polars.Series") -> "polars.Series":
    """Classes as text."""
    import polars as pl

    try:
        return target.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"the target {target.name!r} is {target.dtype}, expected classes: text, whole numbers or dates"
        ) from None


def _chosen_features(
    features: Sequence[str] | None, named: list[str], table: Table, *, trained: bool = False
) -> list[str]:
    if features is None:
        chosen = [name for name in table.names if name not in named]
        if not chosen:
            raise InputError(f"{table.title} has the columns {listed(table.names)} only, expected at least one feature")
        return chosen
    if isinstance(features, str) or not all(isinstance(name, str) for name in features):
        raise InputError(f"features is {features!r}, expected a list of column names")
    chosen = list(features)
    if not chosen:
        raise InputError("features is empty, expected at least one column name: leave it out to take all others")
    check_columns(chosen, table.names, table.title, trained=trained)
    if len(set(chosen)) < len(chosen):
        raise InputError(f"features is {listed(chosen)}, expected every column once")
    if both := [name for name in chosen if name in named]:
        raise InputError(f"features has {listed(both)}, which is the id or the target, expected other columns")
    return chosen


def _ids(table: Table, frame: "polars.DataFrame", id: str | None) -> "polars.Series":
    if id is not None:
        return frame[id] if table.typed else from_cells(frame[id])
    index = table.index() if isinstance(table, Frame) else None
    if index is None:
        raise InputError(
            f"no id column is named for {table.title}, expected one of {listed(table.names)}: only a pandas index can "
            "stand in for it"
        )
    return index


def _classes(target: "polars.Series", title: str, *, typed: bool = True) -> "polars.Series":
    """The target as classes: blanks are unknown, floats that are whole numbers integers, other floats are refused."""
    import polars as pl

    if kind(target.dtype) == "text":
        words = target.cast(pl.String)
        target = pl.select(pl.when(~missing(words)).then(words)).to_series().alias(target.name)
    if not typed:
        target = classes_from_cells(target)
    if target.dtype.is_nested() or target.dtype == pl.Object:
        raise InputError(f"the target {target.name!r} of {title} is {target.dtype}, expected one class per node")
    if target.null_count() == len(target):
        raise InputError(f"the target {target.name!r} of {title} is missing in every row, expected some to be known")
    if target.dtype.is_decimal():
        target = target.cast(pl.Float64)
    if not target.dtype.is_float():
        return target
    check_finite(target, title)
    if not whole(target).all():
        example = target.filter(~whole(target))[0]
        raise InputError(
            f"the target {target.name!r} of {title} holds {example}, expected classes, not measurements: put the "
            "numbers in ranges, or write the classes as text"
        )
    return target.cast(pl.Int64)
