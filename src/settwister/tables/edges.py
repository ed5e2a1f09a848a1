"""A table of edges, read a batch at a time: what stays in memory is two positions per edge."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from settwister.errors import InputError
from settwister.extras import needs
from settwister.tables.columns import check_columns, listed, missing
from settwister.tables.ids import FEW, Positions, check_ids
from settwister.tables.reading import open_table
from settwister.tables.table import Table

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

MOST_LOOKED_AT = 1000  # lost ends of a batch, for examples


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges between nodes by their positions in a table of nodes.

    Args:
        pairs: (2, E) int64, source and target; loops and repeats as they were given.
        weight: (E,) float32, finite and not negative; None where no column was named.
        dropped: how many edges were left out because a node was not there.
    """

    pairs: Tensor
    weight: Tensor | None = None
    dropped: int = 0


def read_edges(
    source: Any,
    ids: "polars.Series",
    source_column: str | None = None,
    target_column: str | None = None,
    weight: str | None = None,
    drop_unknown: bool = False,
) -> EdgeTable:
    """The edges in ``source``, a path or a data frame, between the nodes called ``ids``.

    Args:
        ids: of the nodes, in order.
        source_column, target_column: if left out, "source" and "target", or the two columns of a table of two.
        weight: a column of numbers.
        drop_unknown: go on without the edges of nodes that are not in ``ids``.
    """
    needs("a table", "tables", "polars", "pyarrow")
    import polars as pl

    if not isinstance(ids, pl.Series):
        raise InputError(f"ids is a {type(ids).__name__}, expected a polars Series such as that of read_nodes")
    check_ids(ids, "the nodes")
    table = open_table(source)
    ends = _ends(table, source_column, target_column, weight)
    positions = Positions(ids)
    unknown = _Unknown()
    pieces: list[NDArray[Any]] = []
    weights: list[NDArray[np.float32]] = []
    row = 0
    for batch in table.batches([*ends, *([] if weight is None else [weight])]):
        found = np.stack([_positions(batch[name], positions, table, row) for name in ends])
        known = (found >= 0).all(axis=0)
        if not known.all():
            unknown.add(batch.select(ends), found)
        pieces.append(found[:, known])
        if weight is not None:
            weights.append(_weights(batch[weight], table, row)[known])
        row += batch.height
    if unknown.edges and not drop_unknown:
        raise InputError(
            f"{table.title} has {unknown.edges} of {row} edges to nodes that are not in the table of nodes, such as "
            f"{listed(unknown.examples)}, expected every end, columns {listed(ends)}, to be a node: add them, name "
            "other columns, or go on without these edges by --drop-unknown (in Python drop_unknown=True)"
        )
    return EdgeTable(_joined(pieces), None if weight is None else _concatenated(weights), unknown.edges)


class _Unknown:
    """Counts the edges whose node is not there, and keeps a few ids as examples."""

    def __init__(self) -> None:
        self.edges = 0
        self.examples: list[Any] = []

    def add(self, ends: "polars.DataFrame", found: "NDArray[Any]") -> None:
        lost = found < 0
        self.edges += int(lost.any(axis=0).sum())
        # In the order of the rows; one node may be lost a million times, so not all of them.
        for row, end in np.argwhere(lost.T)[:MOST_LOOKED_AT].tolist():
            value = ends[row, end]
            if len(self.examples) < FEW and value not in self.examples:
                self.examples.append(value)


def _ends(table: Table, source: str | None, target: str | None, weight: str | None) -> list[str]:
    check_columns([name for name in (source, target, weight) if name is not None], table.names, table.title)
    free = [name for name in table.names if name not in (source, target, weight)]
    wanted = [end for end, given in (("source", source), ("target", target)) if given is None]
    if len(free) < len(wanted):
        raise InputError(f"{table.title} has the columns {listed(table.names)} only, expected one for either end")
    by_name = set(wanted) <= set(free)
    # A third column, such as a row number, would be taken for an end, and the graph be wrong without a word.
    if len(free) > len(wanted) and not by_name:
        raise InputError(
            f"{table.title} has the columns {listed(free)} for {' and '.join(wanted)}, expected just one for each, or "
            "columns called so: name them by --source-column and --target-column (in Python source and end)"
        )
    found = iter(wanted if by_name else free)
    source = next(found) if source is None else source
    target = next(found) if target is None else target
    if source == target or weight in (source, target):
        raise InputError(
            f"source, target and weight are {source!r}, {target!r} and {weight!r}, expected columns that differ"
        )
    return [source, target]


def _positions(column: "polars.Series", positions: Positions, table: Table, row: int) -> "NDArray[Any]":
    gone = missing(column)
    if gone.any():
        raise InputError(
            f"{table.title} has nothing in column {column.name!r} of data row {row + _first(gone)}, expected both "
            "ends of every edge: fill it in or drop that row"
        )
    return positions.find(column, table.title, typed=table.typed)


def _weights(column: "polars.Series", table: Table, row: int) -> "NDArray[np.float32]":
    import polars as pl

    cells = column if table.typed else column.str.strip_chars()
    if table.typed and not column.dtype.is_numeric() and column.dtype != pl.Null:
        raise InputError(f"the weights {column.name!r} of {table.title} are {column.dtype}, expected numbers")
    numbers = cells.cast(pl.Float32, strict=False)
    bad = ~((numbers >= 0) & numbers.is_finite()).fill_null(False)
    if bad.any():
        value = "nothing" if (first := column.filter(bad)[0]) is None else repr(first)
        raise InputError(
            f"{table.title} has {value} for a weight in data row {row + _first(bad)}, "
            "expected finite numbers of at least 0: correct or drop that row"
        )
    return numbers.to_numpy()


def _first(which: "polars.Series") -> int:
    """The first row that holds, counted from 1."""
    place = which.arg_max()
    assert place is not None
    return place + 1


def _joined(pieces: list["NDArray[Any]"]) -> Tensor:
    """All pieces side by side, each let go as it is copied."""
    pairs = torch.empty(2, sum(piece.shape[1] for piece in pieces), dtype=torch.int64)
    start = 0
    for place in range(len(pieces)):
        piece, pieces[place] = pieces[place], np.empty((2, 0), dtype=np.int32)
        pairs[:, start : start + piece.shape[1]] = torch.from_numpy(piece)
        start += piece.shape[1]
    return pairs


def _concatenated(weights: list["NDArray[np.float32]"]) -> Tensor:
    return torch.from_numpy(np.concatenate(weights)) if weights else torch.empty(0)
