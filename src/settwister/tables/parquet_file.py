"""A Parquet file, of which it is known what it will take in memory before it is read."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from settwister.tables import table
from settwister.tables.converting import to_polars
from settwister.tables.table import Table, reading
from settwister.tables.unpacking import Allowance

if TYPE_CHECKING:
    import polars

ALWAYS = 2**32  # bytes that any file may become
ADVICE = "write it as CSV, or read it yourself and give the data frame"
TEXT = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
#: encodings in which every row has its own text; RLE is that of missing values
PLAIN = frozenset(("PLAIN", "RLE", "BIT_PACKED", "DELTA_LENGTH_BYTE_ARRAY"))
BYTES_OF_OTHERS = 8  # of a cell that has no fixed width: where its text or list begins


class ParquetFile(Table):
    def __init__(self, path: Path) -> None:
        self._path = path
        with reading(path, "Parquet"), self._open() as file:
            names = list(file.schema_arrow.names)
        super().__init__(str(path), names)

    def _whole(self, columns: list[str], text: Collection[str]) -> "polars.DataFrame":
        import pyarrow as pa

        allowance = self._allowance()
        with reading(self._path, "Parquet"), self._open(self._counted(columns)) as file:
            batches = []
            for batch in file.iter_batches(table.BATCH_ROWS, columns=columns):
                allowance.take(_text_bytes(batch))
                batches.append(batch)
            schema = batches[0].schema if batches else file.schema_arrow
            return to_polars(pa.Table.from_batches(batches, schema).select(columns))

    def batches(self, columns: list[str]) -> Iterator["polars.DataFrame"]:
        import pyarrow as pa

        with reading(self._path, "Parquet"), self._open(self._counted(columns)) as file:
            for batch in file.iter_batches(table.BATCH_ROWS, columns=columns, use_threads=False):
                self._allowance().take(_text_bytes(batch))  # one batch is in memory at a time
                yield to_polars(pa.Table.from_batches([batch]).select(columns))

    def _allowance(self) -> Allowance:
        return Allowance(self._path, ALWAYS, ADVICE)

    def _open(self, dictionaries: Collection[str] = ()) -> Any:
        """The file, some columns of text read as a dictionary and places in it: what repeats is in memory once."""
        from pyarrow import parquet

        # Without the buffer a row group is in memory at once, and some writers make one group of the whole file.
        return parquet.ParquetFile(self._path, pre_buffer=False, buffer_size=2**20, read_dictionary=list(dictionaries))

    def _counted(self, columns: list[str]) -> list[str]:
        """Which columns of text have to be counted as they are read, after a look at how much there is of all.

        One text in a dictionary may stand in every row. Where that would not be too much, nothing needs counting,
        which takes as long as reading does.
        """
        with self._open() as file:
            self._allowance().take(_claimed_bytes(file, columns))
            repeating = _repeating(file, columns)
        with self._open(repeating) as file:
            return repeating if repeating and _most_text(file, repeating) > ALWAYS else []


def _claimed_bytes(file: Any, columns: list[str]) -> int:
    """What the file says it unpacks to, or as much as the rows that it says it has take, whichever is more.

    A column of one value throughout is a few bytes for any number of rows, so that the first does not tell.
    """
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    rows: int = max(file.metadata.num_rows, sum(group.num_rows for group in groups))
    unpacked: int = sum(group.total_byte_size for group in groups)
    return max(unpacked, rows * sum(_width(file.schema_arrow.field(name).type) for name in columns))


def _width(kind: Any) -> int:
    """Bytes of a cell, at least, rounded up."""
    try:
        return -(-int(kind.bit_width) // 8)
    except ValueError:
        return BYTES_OF_OTHERS


def _repeating(file: Any, columns: list[str]) -> list[str]:
    """Those columns of text in which a text may be there once and stand in many rows."""
    wanted = [name for name in columns if _is_text(file.schema_arrow.field(name).type)]
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    found = set()
    for place in range(file.metadata.num_columns):
        name = file.metadata.schema.column(place).path
        if name in wanted and any(not PLAIN.issuperset(group.column(place).encodings) for group in groups):
            found.add(name)
    return sorted(found)


def _is_text(kind: Any) -> bool:
    """Whether cells are text or bytes, which Parquet's dictionaries can hold."""
    from pyarrow import types

    return str(kind.value_type if types.is_dictionary(kind) else kind) in TEXT


def _most_text(file: Any, columns: list[str]) -> int:
    """What the text would take if the longest in each dictionary stood in every row.

    Args:
        file: opened with dictionaries for these columns; to see them takes one row of every group.
    """
    size = 0
    for place in range(file.metadata.num_row_groups):
        for batch in file.iter_batches(1, row_groups=[place], columns=columns):
            size += file.metadata.row_group(place).num_rows * sum(map(_longest, batch.columns))
            break
    return size


def _longest(column: Any) -> int:
    from pyarrow import compute

    return int(compute.max(compute.binary_length(column.dictionary)).as_py() or 0)


def _text_bytes(batch: Any) -> int:
    """What text that is read as a dictionary takes when every row has its own."""
    from pyarrow import compute, types

    size = 0
    for column in batch.columns:
        if types.is_dictionary(column.type) and _is_text(column.type):
            column.validate(full=True)  # places may lie outside the dictionary
            size += compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    return size
