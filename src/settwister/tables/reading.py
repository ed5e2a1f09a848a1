"""A table from a Parquet or CSV file, or from a data frame that is already there.

Files are read by pyarrow, not by polars: a Parquet file with a few flipped bytes gives an error there, and may bring
polars down with a panic. Either way the answer is a polars data frame.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from settwister.errors import InputError
from settwister.extras import needs
from settwister.tables.converting import from_pandas
from settwister.tables.csv_file import CsvFile
from settwister.tables.parquet_file import ParquetFile
from settwister.tables.table import Frame, Table

if TYPE_CHECKING:
    import polars

SEPARATORS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")
ENDINGS = (*PARQUET, *SEPARATORS)


def read_table(source: Any) -> "polars.DataFrame":
    """The table in ``source``: a path by its ending, or a pandas or polars data frame.

    In CSV the empty cell and NA, NaN, nan, null and None are missing; in pandas NaN is. A pandas index is left out.
    """
    return open_table(source).whole()


def open_table(source: Any) -> Table:
    """``source`` as something with columns that can be read whole or in batches."""
    needs("a table", "tables", "polars", "pyarrow")
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
