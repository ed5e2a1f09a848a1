"""What a node is called in a table, and where in the graph it stands."""

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from settwister.errors import InputError
from settwister.tables.columns import listed, missing, whole

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

FEW = 3  # ids that a message shows


def check_ids(ids: "polars.Series", title: str) -> None:
    """Refuse ids that are missing or not one per node."""
    import polars as pl

    if ids.dtype.is_nested() or ids.dtype in (pl.Object, pl.Null):
        raise InputError(f"column {ids.name!r} of {title} is {ids.dtype}, expected ids such as numbers or text")
    if gone := int(missing(ids).sum()):
        raise InputError(
            f"column {ids.name!r} of {title} has {gone} of {len(ids)} ids missing, expected an id for every node: "
            "fill them in or drop those rows (blanks and, in CSV, NA, null and None are missing too)"
        )
    repeated = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    if len(repeated):
        raise InputError(
            f"column {ids.name!r} of {title} has {len(repeated)} id{'s'[: len(repeated) > 1]} more than once, such as "
            f"{listed(repeated.head(FEW).to_list())}, expected one row per node: drop the repeats"
        )


def from_cells(cells: "polars.Series") -> "polars.Series":
    """Ids from the cells of a CSV file: whole numbers if every cell is written as one, text otherwise.

    So 007 stays 007, and a number of twenty digits keeps all of them.
    """
    import polars as pl

    numbers = cells.cast(pl.Int64, strict=False)
    return numbers if (numbers.cast(pl.String) == cells).all(ignore_nulls=False) else cells


def classes_from_cells(cells: "polars.Series") -> "polars.Series":
    """Classes from the cells of a CSV file: numbers if every cell is written as one, text otherwise.

    So 007 stays 007; 1.0 is a number, and whether it can be a class is for others to say.
    """
    import polars as pl

    known = cells.drop_nulls()
    whole_numbers = from_cells(known)
    if whole_numbers.dtype == pl.Int64:
        return cells.cast(pl.Int64)
    numbers = known.cast(pl.Float64, strict=False)
    padded = bool(known.str.contains(r"^[+-]?0[0-9]").any())
    return cells if padded or numbers.null_count() else cells.cast(pl.Float64)


class Positions:
    """Finds nodes by id, whatever the width of the integers and whether text is a category or a string."""

    def __init__(self, ids: "polars.Series") -> None:
        import polars as pl

        ids = _plain(ids.alias("id"))
        if ids.dtype.is_numeric():
            ids = _as_whole(ids)
        self.dtype = ids.dtype
        # Half the memory of int64 while millions of edges are gathered.
        self._index_type = np.int32 if len(ids) < 2**31 else np.int64
        self._table = pl.DataFrame([ids, pl.Series("position", np.arange(len(ids), dtype=self._index_type))])

    def find(self, column: "polars.Series", title: str, *, typed: bool = True) -> "NDArray[np.signedinteger]":
        """The position of each id in ``column``, -1 where no node has it.

        Args:
            typed: False for the cells of a CSV file, where text may stand for a number.
        """
        alike = self._alike(_plain(column), title, typed=typed).alias("id").to_frame()
        found = alike.join(self._table, on="id", how="left", maintain_order="left")["position"]
        return found.fill_null(-1).to_numpy().astype(self._index_type, copy=False)

    def _alike(self, column: "polars.Series", title: str, *, typed: bool) -> "polars.Series":
        """``column`` with the type of the nodes' ids; null where no such id can be."""
        import polars as pl

        given, wanted = column.dtype, self.dtype
        if given == wanted or given == pl.Null:
            return column.cast(wanted)
        if given.is_numeric() and wanted == pl.String:
            return _as_whole(column).cast(pl.String)
        if given.is_numeric() and wanted.is_integer():
            return _as_whole(column, keep=False).cast(wanted, strict=False)
        if not typed and given == pl.String and wanted.is_numeric():
            return self._parsed(column)
        if (given.is_numeric() and wanted.is_numeric()) or (given.is_temporal() and wanted.is_temporal()):
            with suppress(pl.exceptions.PolarsError):  # no date is a duration
                return column.cast(wanted, strict=False)
        raise InputError(
            f"column {column.name!r} of {title} is {given} and the nodes' ids are {wanted}, expected the same type in "
            "both: convert one of them"
        )

    def _parsed(self, cells: "polars.Series") -> "polars.Series":
        """Numbers from the cells of a CSV file; null where a cell is none, and so no node's id."""
        import polars as pl

        cells = cells.str.strip_chars()
        if not self.dtype.is_integer():
            return cells.cast(pl.Float64, strict=False).cast(self.dtype, strict=False)
        numbers = cells.cast(self.dtype, strict=False)  # not by way of Int64, which does not hold all of UInt64
        if numbers.null_count() > cells.null_count():  # 3.0 may stand for 3
            floats = _as_whole(cells.cast(pl.Float64, strict=False), keep=False)
            numbers = numbers.fill_null(floats.cast(self.dtype, strict=False))
        return numbers


def _plain(column: "polars.Series") -> "polars.Series":
    import polars as pl

    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column


def _as_whole(column: "polars.Series", *, keep: bool = True) -> "polars.Series":
    """Floats and decimals as whole numbers: all or none, or with ``keep=False`` null for those that are not whole."""
    import polars as pl

    if column.dtype.is_integer():
        return column
    # Decimals may have more digits than floats hold, and databases give them to large ids.
    numbers = column.cast(pl.Int64 if column.dtype.is_float() else pl.Int128, strict=False)
    fits = whole(column) if column.dtype.is_float() else column == numbers
    if not keep:
        return pl.select(pl.when(fits).then(numbers)).to_series().alias(column.name)
    return numbers if fits.all() else column
