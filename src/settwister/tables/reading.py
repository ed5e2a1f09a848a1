"""A table from a Parquet or CSV file, or from a data frame that is already there.

Files are read by pyarrow, not by polars: a Parquet file with a few flipped bytes gives an error there, and may bring
polars down with a panic. Either way the answer is a polars data frame.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from settwister.errors import InputError
from settwister.tables.converting import check_names, from_pandas, from_pandas_columns, reason, to_polars
from settwister.tables.extra import needs

if TYPE_CHECKING:
    import polars

SEPARATORS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")
ENDINGS = (*PARQUET, *SEPARATORS)
MISSING = ["", "NA", "NaN", "nan", "null", "None"]  # cells of a CSV file
BATCH_ROWS = 2**20
BLOCK_BYTES = 2**24  # of a CSV file at a time; no row may be longer


def read_table(source: Any) -> "polars.DataFrame":
    """The table in ``source``: a path by its ending, or a pandas or polars data frame.

    In CSV the empty cell and NA, NaN, nan, null and None are missing; in pandas NaN is. A pandas index is left out.
    """
    return open_table(source).whole()


def open_table(source: Any) -> "Table":
    """``source`` as something with columns that can be read whole or in batches."""
    needs("polars", "pyarrow")
    import polars as pl

    if isinstance(source, str | Path):
        return _open_file(Path(source).expanduser())
    if isinstance(source, pl.DataFrame):
        return Frame(source, "the polars data frame")
    # A pandas data frame cannot come from anywhere but an imported pandas.
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return Frame(from_pandas(source), "the pandas data frame", index=source.index)
    raise InputError(
        f"the table is a {type(source).__name__}, expected a path or a pandas or polars data frame: convert it first"
    )


class Table(ABC):
    """Columns by name, read whole or in batches.

    Args:
        title: what messages call it.
        names: the columns, in order.
        typed: whether columns have types; the cells of a CSV file are text until something else is made of them.
    """

    typed = True

    def __init__(self, title: str, names: list[str]) -> None:
        self.title = title
        self.names = names
        check_names(names, title)

    def whole(self, columns: list[str] | None = None, text: Collection[str] = ()) -> "polars.DataFrame":
        """The named columns, all where None; those in ``text`` stay text where the table has no types."""
        frame = self._whole(self.names if columns is None else columns, text)
        if frame.height == 0:
            raise InputError(f"{self.title} has no rows, expected at least one")
        return frame

    @abstractmethod
    def _whole(self, columns: list[str], text: Collection[str]) -> "polars.DataFrame": ...

    @abstractmethod
    def batches(self, columns: list[str]) -> Iterator["polars.DataFrame"]:
        """The named columns, some rows at a time; all of them text where the table has no types."""


class Frame(Table):
    """A data frame that is in memory already."""

    def __init__(self, frame: "polars.DataFrame", title: str, index: Any = None) -> None:
        super().__init__(title, frame.columns)
        self._frame = frame
        self._index = index

    def _whole(self, columns: list[str], text: Collection[str]) -> "polars.DataFrame":
        return self._frame.select(columns)

    def batches(self, columns: list[str]) -> Iterator["polars.DataFrame"]:
        return self._frame.select(columns).iter_slices(BATCH_ROWS)

    def index(self) -> "polars.Series | None":
        """The pandas index, which polars frames do not have."""
        if self._index is None:
            return None
        if self._index.nlevels > 1:
            raise InputError(
                f"the index of {self.title} has {self._index.nlevels} levels, expected one: name an id column"
            )
        return from_pandas_columns(
            [self._index.to_series()], [str(self._index.name or "index")], self.title
        ).to_series()


class ParquetFile(Table):
    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self._path = path
        with _reading(path, "Parquet"), parquet.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
        super().__init__(str(path), names)

    def _whole(self, columns: list[str], text: Collection[str]) -> "polars.DataFrame":
        from pyarrow import parquet

        with _reading(self._path, "Parquet"), parquet.ParquetFile(self._path, pre_buffer=False) as file:
            return to_polars(file.read(columns=columns).select(columns))

    def batches(self, columns: list[str]) -> Iterator["polars.DataFrame"]:
        import pyarrow as pa
        from pyarrow import parquet

        # Without the buffer a row group is in memory at once, and some writers make one group of the whole file.
        options = {"pre_buffer": False, "buffer_size": 2**20}
        with _reading(self._path, "Parquet"), parquet.ParquetFile(self._path, **options) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
                yield to_polars(pa.Table.from_batches([batch]).select(columns))


class CsvFile(Table):
    typed = False

    def __init__(self, path: Path, separator: str) -> None:
        self._path = path
        self._separator = separator
        with _reading(path, "CSV"), self._stream() as stream:
            names = list(self._open(stream).schema.names)
        super().__init__(str(path), names)

    def _whole(self, columns: list[str], text: Collection[str]) -> "polars.DataFrame":
        import polars as pl
        from pyarrow import csv

        with _reading(self._path, "CSV"), self._stream() as stream:
            frame = to_polars(csv.read_csv(stream, *self._options(columns, text)))
        for column in frame:
            if column.dtype == pl.Binary:
                raise InputError(f"{self.title} has cells in {column.name!r} that are not UTF-8: save it as UTF-8")
        return frame

    def batches(self, columns: list[str]) -> Iterator["polars.DataFrame"]:
        import pyarrow as pa

        with _reading(self._path, "CSV"), self._stream() as stream:
            for batch in self._open(stream, columns):
                yield to_polars(pa.Table.from_batches([batch]).select(columns))

    def _stream(self) -> Any:
        import pyarrow as pa

        return pa.input_stream(str(self._path), compression="gzip" if self._path.suffix.lower() == ".gz" else None)

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


def _open_file(path: Path) -> Table:
    name = path.name.lower()
    ending = next((ending for ending in ENDINGS if name.endswith(ending)), None)
    if ending is None:
        raise InputError(f"{path} is not a table by its name, expected it to end in {', '.join(ENDINGS)}")
    if not path.exists():
        raise InputError(f"{path} is not there, expected a table: check the path")
    if not path.is_file():
        raise InputError(f"{path} is not a file, expected a table: name one of the files in it")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty, expected a table with a row of column names")
    return ParquetFile(path) if ending in PARQUET else CsvFile(path, SEPARATORS[ending])


@contextmanager
def _reading(path: Path, form: str) -> Iterator[None]:
    """Turn whatever reading ``path`` raises into one :class:`InputError` that names the file."""
    import polars as pl

    try:
        yield
    except InputError:
        raise
    # A panic of polars is no Exception, and the libraries below raise anything from OSError to UnicodeDecodeError.
    except (Exception, pl.exceptions.PanicException) as error:
        raise InputError(f"{path} cannot be read ({reason(error)}), expected {form}: write it again") from error
