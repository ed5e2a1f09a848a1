"""Tables from files and data frames: what is read, and what is refused and how."""

import datetime as dt
import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from example_tables import parquet_bytes, refusal, written
from settwister.tables import TableEncoder, read_edges, read_nodes, read_table


@pytest.mark.parametrize("name", ["t.csv", "T.CSV", "t.tsv", "t.csv.gz", "t.parquet", "t.pq"])
def test_every_ending_gives_the_same_table(tmp_path: Path, name: str) -> None:
    expected = pl.DataFrame({"id": [1, 2], "x": [0.5, None], "word": ["a", None], "day": [dt.date(2024, 1, 31), None]})
    text = "id,x,word,day\n1,0.5,a,2024-01-31\n2,NaN,null,\n"
    content: Any = expected
    if "pq" not in name and "parquet" not in name:
        content = text.replace(",", "\t") if "tsv" in name else text
    if name.endswith(".gz"):
        content = gzip.compress(text.encode())
    path = written(tmp_path, name, content)
    assert read_table(path).equals(expected)
    assert read_table(str(path)).equals(expected)


def test_data_frames_are_taken_as_they_are() -> None:
    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    assert read_table(frame).equals(frame)
    from_pandas = read_table(
        pd.DataFrame(
            {
                "float": [1.5, np.nan],
                "arrow": pd.array([np.nan, 2.0], dtype=pd.ArrowDtype(pa.float64())),
                "category": pd.Categorical([3, None]),
                "when": pd.to_datetime(["2024-01-31", None]),
                7: [True, None],
            },
            index=[5, 5],
        )
    )
    assert from_pandas.to_dict(as_series=False) == {
        "float": [1.5, None],
        "arrow": [None, 2.0],
        "category": [3, None],
        "when": [dt.datetime(2024, 1, 31), None],
        "7": [True, None],
    }


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "nan", "null", "None"])
def test_missing_cells_of_csv(tmp_path: Path, cell: str) -> None:
    table = read_table(written(tmp_path, "t.csv", f"a,b\n{cell},{cell}\n1,x\n"))
    assert table.to_dict(as_series=False) == {"a": [None, 1], "b": [None, "x"]}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_column_without_a_name_keeps_it(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame({"": [5, 6], "column_0": [7, 8]})
    path = written(tmp_path, name, ",column_0\n5,7\n6,8\n" if name == "t.csv" else frame)
    assert read_table(path).equals(frame)
    assert read_nodes(path, "").ids.to_list() == [5, 6]
    for kind in (pl.Int64, pl.String, pl.Date):
        features = read_nodes(path, "column_0").features.cast(pl.Int32).cast(kind)
        assert set(TableEncoder().fit(features).origin) == {""}
    assert read_edges(path, pl.Series([8, 7, 6, 5])).pairs.tolist() == [[3, 2], [1, 0]]


def test_csv_with_newlines_quotes_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = '\ufeffa,b\n"one\ntwo","say ""hi"", please"\n'
    assert read_table(written(tmp_path, "t.csv", text)).row(0) == ("one\ntwo", 'say "hi", please')


def test_types_that_polars_lacks_are_converted(tmp_path: Path) -> None:
    table = pa.table(
        {
            "codes": pa.array([7, 8]).dictionary_encode(),
            "long": pa.array([1, None], pa.decimal256(50, 2)),
            "uuid": pa.array([b"0" * 16, b"1" * 16], pa.uuid()),
            "a.b": [1, 2],
        }
    )
    read = read_table(written(tmp_path, "t.parquet", parquet_bytes(table)))
    assert read["codes"].to_list() == [7, 8]
    assert read["long"].to_list() == [1.0, None]
    assert read["uuid"].to_list() == [b"0" * 16, b"1" * 16]
    assert read["a.b"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.xlsx", "a", "t.xlsx is not a table by its name, expected it to end in .parquet, .pq, .csv, .tsv, .csv.gz"),
        ("t.csv", "", "t.csv is empty, expected a table"),
        ("t.parquet", "", "t.parquet is empty, expected a table"),
        ("t.csv", "\n\n", "t.csv cannot be read (CSV parse error: Empty CSV file"),
        ("t.csv", "a,b\n", "t.csv has no rows"),
        ("t.parquet", pl.DataFrame({"a": [], "b": []}), "t.parquet has no rows"),
        ("t.csv", "a,b,a,b,a\n1,2,3,4,5\n", "t.csv has more than one column named 'a', 'b', expected names to differ"),
        ("t.csv", "a,b\0\n1,2\n", r"t.csv has a column named 'b\x00', expected names without zero bytes"),
        ("t.parquet", b"PAR1" + bytes(100) + b"PAR1", "t.parquet cannot be read ("),
        ("t.parquet", "a,b\n1,2\n", "t.parquet cannot be read ("),
        ("t.csv", "a,b\n1,2\n3\n", "Expected 2 columns, got 1: 3), expected CSV: write it again"),
        ("t.csv", "a,b\n1,2\n3,4,5\n", "expected CSV: write it again"),
        ("t.csv", b"a,b\n\xff\xfe,2\n", "t.csv has cells in 'a' that are not UTF-8: save it as UTF-8"),
        ("t.csv", b"\xff,b\n1,2\n", "t.csv cannot be read ('utf-8' codec"),
        ("t.csv.gz", "a,b\n1,2\n", "t.csv.gz cannot be read (zlib inflate failed: incorrect header check)"),
        (
            "t.csv.gz",
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-20],
            "t.csv.gz cannot be read (Truncated compressed stream)",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, content: Any, sentence: str) -> None:
    path = written(tmp_path, name, content)
    message = refusal(lambda: read_table(path))
    assert message.startswith(str(path))
    assert sentence in message


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (parquet_bytes(pa.table({"a": [1], "b": ["x"]})), "is a Parquet file, expected CSV in UTF-8: name it .parquet"),
        ("a,b\n1,2\n".encode("utf-16"), "is UTF-16, expected CSV in UTF-8: save it as UTF-8"),
        (b"\xfe\xff" + "a,b\n1,2\n".encode("utf-16-be"), "is UTF-16, expected CSV in UTF-8: save it as UTF-8"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "is packed by gzip, expected CSV in UTF-8: name it .csv.gz or .tsv.gz"),
        (b"PK\x03\x04\x14\0\x06\0", "is a workbook or another zip file, expected CSV in UTF-8: save it as CSV"),
    ],
    ids=["parquet", "little", "big", "gzip", "zip"],
)
def test_what_is_not_csv_is_called_what_it_is(tmp_path: Path, ending: str, content: bytes, sentence: str) -> None:
    path = written(tmp_path, f"t.{ending}", gzip.compress(content) if ending == "csv.gz" else content)
    assert refusal(lambda: read_table(path)) == f"{path} {sentence}"


def test_a_column_may_be_called_as_parquet_begins(tmp_path: Path) -> None:
    assert read_table(written(tmp_path, "t.csv", "PAR1,PAR2\n1,2\n")).row(0) == (1, 2)


def test_no_control_characters_of_a_file_reach_the_terminal(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", b"a,b\n1,2\n\x1b[31mred\x07\xe2\x80\xae\n")
    message = refusal(lambda: read_table(path))
    assert "Expected 2 columns, got 1: \ufffd[31mred\ufffd\ufffd)" in message
    assert message.isprintable()


def test_what_is_no_table(tmp_path: Path) -> None:
    assert refusal(lambda: read_table(tmp_path / "t.csv")).endswith(
        "t.csv is not there, expected a table: check the path"
    )
    (tmp_path / "d.parquet").mkdir()
    assert "d.parquet is not a file" in refusal(lambda: read_table(tmp_path / "d.parquet"))
    assert "the table is a dict, expected a path or a pandas or polars" in refusal(lambda: read_table({"a": [1]}))
    assert "is a LazyFrame" in refusal(lambda: read_table(pl.LazyFrame({"a": [1]})))
    assert "the polars data frame has no rows" in refusal(lambda: read_table(pl.DataFrame({"a": []})))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert "the pandas data frame has more than one column named 'a'" in refusal(lambda: read_table(twice))
    mixed = pd.DataFrame({"m": [1, "x", b"y"]}, dtype=object)
    assert "column 'm' of the pandas data frame cannot be used (" in refusal(lambda: read_table(mixed))
    truncated = written(tmp_path, "t.parquet", pl.DataFrame({"a": range(99)}))
    truncated.write_bytes(truncated.read_bytes()[:-9])
    assert f"{truncated} cannot be read (" in refusal(lambda: read_table(truncated))
    twice_in_parquet = parquet_bytes(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))
    path = written(tmp_path, "twice.parquet", twice_in_parquet)
    assert "twice.parquet has more than one column named 'a'" in refusal(lambda: read_table(path))


@pytest.mark.parametrize("package", ["polars", "pyarrow", "skrub", "skops"])
def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0]})
    monkeypatch.setitem(sys.modules, package, None)
    expected = f"a table needs {package}, which is not installed: pip install 'settwister[tables]'"
    assert refusal(lambda: TableEncoder().fit(frame)) == expected
    if package in ("polars", "pyarrow"):
        assert refusal(lambda: read_table("t.csv")) == expected
        assert refusal(lambda: read_edges("t.csv", frame["a"])) == expected


def test_importing_the_package_imports_none_of_the_extra() -> None:
    code = (
        "import sys, settwister.tables as _; print(sorted({'polars', 'pyarrow', 'skrub', 'skops'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(("mark", "hint"), [(";", "instead of ';'"), ("\t", "or call it .tsv")])
def test_another_separator_is_named(tmp_path: Path, mark: str, hint: str) -> None:
    (tmp_path / "nodes.csv").write_text(f"id{mark}age\na{mark}1\n")
    assert hint in refusal(lambda: read_table(tmp_path / "nodes.csv"))
