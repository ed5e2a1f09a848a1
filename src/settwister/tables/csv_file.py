"""A CSV file, packed or not: its cells are text until something else is made of them."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from settwister.errors import InputError
from settwister.tables.converting import to_polars
from settwister.tables.table import Table, reading
from settwister.tables.unpacking import Allowance

if TYPE_CHECKING:
    import polars

MISSING = ["", "NA", "NaN", "nan", "null", "None"]  # cells
#: what a file is by its first bytes, when zeros follow, which CSV does not have; and what to do
OTHERS = {
    b"PAR1": ("a Parquet file", "name it .parquet"),
    b"\xff\xfe": ("UTF-16", "save it as UTF-8"),
    b"\xfe\xff": ("UTF-16", "save it as UTF-8"),
    b"\x1f\x8b": ("packed by gzip", "name it .csv.gz or .tsv.gz"),
    b"PK\x03\x04": ("a workbook or another zip file", "save it as CSV"),
}
BLOCK_BYTES = 2**24  # at a time; no row may be longer
MOST_COLUMNS = 2**16  # pyarrow takes eight kilobytes for each, so that a line of commas could fill the memory
MOST_OF_GZIP = 1032  # bytes that one byte can become
ALWAYS = 2**29  # bytes of CSV that any packed file may become; in memory a short cell takes eight times its length


class CsvFile(Table):
    typed = False

    def __init__(self, path: Path, separator: str) -> None:
        self._path = path
        self._packed = path.suffix.lower() == ".gz"
        self._separator = separator
        with reading(path, "CSV"):
            with self._stream() as stream:
                self._check(stream)
            with self._stream() as stream:
                names = list(self._open(stream).schema.names)
        super().__init__(str(path), names)
        if len(names) == 1 and (other := next((mark for mark in ";\t|" if mark in names[0]), None)):
            raise InputError(
                f"{path} has one column, {names[0]!r}, expected several between {separator!r}: write it with these "
                f"instead of {other!r}" + (", or call it .tsv" if other == "\t" else "")
            )

    def _whole(self, columns: list[str], text: Collection[str]) -> "polars.DataFrame":
        import polars as pl
        from pyarrow import csv

        with reading(self._path, "CSV"), self._stream() as stream:
            frame = to_polars(csv.read_csv(stream, *self._options(columns, text)))
        for column in frame:
            if column.dtype == pl.Binary:
                raise InputError(f"{self.title} has cells in {column.name!r} that are not UTF-8: save it as UTF-8")
        return frame

    def batches(self, columns: list[str]) -> Iterator["polars.DataFrame"]:
        import pyarrow as pa

        with reading(self._path, "CSV"), self._stream() as stream:
            for batch in self._open(stream, columns):
                yield to_polars(pa.Table.from_batches([batch]).select(columns))

    def _stream(self) -> Any:
        import pyarrow as pa

        return pa.input_stream(str(self._path), compression="gzip" if self._packed else None)

    def _check(self, stream: Any) -> None:
        """Refuse what is not CSV or would fill the memory, before pyarrow has it, whose readers cannot be stopped."""
        block = stream.read(BLOCK_BYTES)
        for mark, (what, advice) in OTHERS.items():
            if block.startswith(mark) and b"\0" in block:
                raise InputError(f"{self._path} is {what}, expected CSV in UTF-8: {advice}")
        self._check_width(block)
        if self._packed and self._path.stat().st_size * MOST_OF_GZIP > ALWAYS:
            allowance = Allowance(self._path, ALWAYS, "decompress it first")
            while block:
                allowance.take(len(block))
                block = stream.read(BLOCK_BYTES)

    def _check_width(self, start: bytes) -> None:
        """Refuse a first line with more columns than could be meant; commas within quotes count too."""
        separator = self._separator.encode()
        first = _first_line(separator).match(start)
        assert first is not None
        if (columns := 1 + first[0].count(separator)) > MOST_COLUMNS:
            raise InputError(
                f"{self._path} has {columns} columns, expected at most {MOST_COLUMNS}: choose some of them"
            )

    def _open(self, stream: Any, columns: list[str] | None = None) -> Any:
        from pyarrow import csv

        return csv.open_csv(stream, *self._options(columns, columns or ()))

    def _options(self, columns: list[str] | None, text: Collection[str]) -> tuple[Any, Any, Any]:
        import pyarrow as pa
        from pyarrow import csv

        convert = csv.ConvertOptions(
            include_columns=columns,
            column_types={name: pa.string() for name in text},
            null_values=MISSING,
            strings_can_be_null=True,
        )
        parse = csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        return csv.ReadOptions(block_size=BLOCK_BYTES), parse, convert


def _first_line(separator: bytes) -> re.Pattern[bytes]:
    """A byte order mark and empty lines, then cells, where quotes at the beginning may hold ends of lines."""
    cell = rb'(?:"(?:[^"]++|"")*+"?+)?+[^%b\r\n]*+' % separator
    return re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*+%b(?:%b%b)*+" % (cell, separator, cell))
