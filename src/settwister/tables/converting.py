"""Data frames of pandas and tables of Arrow as polars has them."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from settwister.errors import InputError, reason
from settwister.tables.columns import listed

if TYPE_CHECKING:
    import polars


def from_pandas(frame: Any) -> "polars.DataFrame":
    names = [str(name) for name in frame.columns]
    title = "the pandas data frame"
    check_names(names, title)
    return from_pandas_columns([frame.iloc[:, place] for place in range(len(names))], names, title)


def from_pandas_columns(columns: list[Any], names: list[str], title: str) -> "polars.DataFrame":
    """Columns of pandas as polars has them, NaN as null."""
    import polars as pl
    import pyarrow as pa

    converted = []
    for column, name in zip(columns, names, strict=True):
        try:
            table = pa.table([pa.array(column, from_pandas=True)], names=[name])
            converted.append(to_polars(table).with_columns(pl.selectors.float().fill_nan(None)))
        except (Exception, pl.exceptions.PanicException) as error:  # a cell may be any object, with any complaint
            raise InputError(
                f"column {name!r} of {title} cannot be used ({reason(error)}), expected values of one type: convert it"
            ) from error
    return pl.concat(converted, how="horizontal") if converted else pl.DataFrame()


def to_polars(table: Any) -> "polars.DataFrame":
    """An Arrow table as polars has it, after a look at every offset and byte, which polars takes on trust."""
    import polars as pl
    import pyarrow as pa

    table.validate(full=True)
    for place, field in enumerate(table.schema):
        kind = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        elif pa.types.is_decimal(kind) and not pa.types.is_decimal128(kind):  # the only width that polars has
            kind = pa.float64()
        if kind != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(kind))
    # Numbered in between: to a column without a name, as pandas gives the index in a CSV file, polars gives another.
    frame = pl.from_arrow(table.rename_columns([str(place) for place in range(table.num_columns)]))
    assert isinstance(frame, pl.DataFrame)
    frame.columns = table.column_names
    return frame


def check_names(names: list[str], title: str) -> None:
    if broken := [name for name in names if "\0" in name]:
        raise InputError(f"{title} has a column named {broken[0]!r}, expected names without zero bytes: rename it")
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise InputError(
            f"{title} has more than one column named {listed(twice, 3)}, expected names to differ: rename them"
        )
