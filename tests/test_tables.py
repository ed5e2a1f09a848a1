"""A person's own tables: what is read, what is refused and how, and that no bytes bring up anything but InputError."""

import datetime as dt
import gzip
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skops.io
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from settwister import InputError
from settwister.tables import TableEncoder, labels, read_edges, read_nodes, read_table, saved
from settwister.tables.vectorising import _vectoriser, fit_columns

NODES = "id,age,city,kind\n1,31,Rome,a\n2,,Oslo,b\n3,45,Rome,a\n4,20,NA,b\n"


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


def written(folder: Path, name: str, content: str | bytes | pl.DataFrame) -> Path:
    path = folder / name
    if isinstance(content, pl.DataFrame):
        content.write_parquet(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def parquet_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


# ---- reading --------------------------------------------------------------------------------------------------------


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
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-20], "t.csv.gz cannot be read (Truncated compressed stream)"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, content: Any, sentence: str) -> None:
    path = written(tmp_path, name, content)
    message = refusal(lambda: read_table(path))
    assert message.startswith(str(path))
    assert sentence in message


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
    expected = f"tables need {package}, which is not installed: pip install 'settwister[tables]'"
    assert refusal(lambda: TableEncoder().fit(frame)) == expected
    if package in ("polars", "pyarrow"):
        assert refusal(lambda: read_table("t.csv")) == expected
        assert refusal(lambda: read_edges("t.csv", frame["a"])) == expected


def test_importing_the_package_imports_none_of_the_extra() -> None:
    code = (
        "import sys, settwister.tables as _; print(sorted({'polars', 'pyarrow', 'skrub', 'skops'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# ---- nodes ----------------------------------------------------------------------------------------------------------


def test_nodes_from_csv(tmp_path: Path) -> None:
    nodes = read_nodes(written(tmp_path, "n.csv", NODES), "id", target="kind")
    assert nodes.ids.to_list() == [1, 2, 3, 4]
    assert nodes.features.to_dict(as_series=False) == {
        "age": [31, None, 45, 20],
        "city": ["Rome", "Oslo", "Rome", None],
    }
    assert nodes.target is not None
    assert nodes.target.to_list() == ["a", "b", "a", "b"]
    fewer = read_nodes(tmp_path / "n.csv", "id", features=["city", "age"])
    assert fewer.features.columns == ["city", "age"]
    assert fewer.target is None


def test_ids_of_csv_keep_every_digit(tmp_path: Path) -> None:
    def ids(*cells: str) -> list[Any]:
        return read_nodes(written(tmp_path, "n.csv", "id,x\n" + "".join(f"{c},1\n" for c in cells)), "id").ids.to_list()

    assert ids("1", "-2") == [1, -2]
    assert ids("007", "7") == ["007", "7"]
    assert ids("12345678901234567890", "12345678901234567891") == ["12345678901234567890", "12345678901234567891"]
    assert ids("1", "b") == ["1", "b"]
    assert ids("2024-01-31", "2024-02-01") == ["2024-01-31", "2024-02-01"]


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1],
        ["x", "y"],
        [1.5, 2.0],
        [True, False],
        [dt.date(2024, 1, 1), dt.date(2024, 1, 2)],
        pl.Series(["x", "y"], dtype=pl.Categorical),
        pl.Series([2**64 - 1, 0], dtype=pl.UInt64),
        [b"x", b"y"],
    ],
    ids=lambda ids: str(pl.Series(ids).dtype),
)
def test_ids_of_any_type(ids: Any) -> None:
    frame = pl.DataFrame({"id": ids, "x": [1, 2]})
    nodes = read_nodes(frame, "id")
    assert nodes.ids.equals(frame["id"])
    edges = read_edges(frame.select(source="id", target=pl.col("id").reverse()), nodes.ids)
    assert edges.pairs.tolist() == [[0, 1], [1, 0]]


def test_the_index_of_pandas_is_the_id_only_if_none_is_named() -> None:
    frame = pd.DataFrame({"id": [7, 8], "x": [1.0, np.nan]}, index=pd.Index(["u", "v"], name="id"))
    nodes = read_nodes(frame, None)
    assert nodes.ids.to_list() == ["u", "v"]
    assert nodes.features.to_dict(as_series=False) == {"id": [7, 8], "x": [1.0, None]}
    assert read_nodes(frame, "id").ids.to_list() == [7, 8]
    assert read_nodes(pd.DataFrame({"x": [1, 2]}), None).ids.to_list() == [0, 1]
    levels = pd.DataFrame({"x": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, 2), (3, 4)]))
    assert "has 2 levels, expected one: name an id column" in refusal(lambda: read_nodes(levels, None))
    message = refusal(lambda: read_nodes(pl.DataFrame({"x": [1]}), None))
    assert message.startswith("no id column is named for the polars data frame, expected one of 'x'")
    repeated = pd.DataFrame({"x": [1, 2]}, index=[1, 1])
    assert "column 'index' of the pandas data frame has 1 id more than once" in refusal(
        lambda: read_nodes(repeated, None)
    )


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("columns", "arguments", "sentence"),
    [
        ({"a": [1]}, {"id": "id"}, "has no column 'id', expected one of 'a'"),
        ({"id": [1], "a": [1]}, {"id": "id", "target": "y"}, "has no column 'y', expected one of 'id', 'a'"),
        ({"id": [1], "a": [1]}, {"id": "id", "features": ["a", "b"]}, "has no column 'b', expected one of 'id', 'a'"),
        ({"id": [1, 1, 2, 2, 3, 3, 4, 4, 5], "a": [1] * 9}, {"id": "id"}, "has 4 ids more than once, such as 1, 2, 3,"),
        ({"id": ["x", "x"], "a": [1, 1]}, {"id": "id"}, "has 1 id more than once, such as 'x', expected one row per"),
        ({"id": [1, None, None], "a": [1, 1, 1]}, {"id": "id"}, "column 'id' of the polars data frame has 2 of 3 ids"),
        ({"id": [1.0, NAN], "a": [1, 1]}, {"id": "id"}, "has 1 of 2 ids missing"),
        ({"id": [None], "a": [1]}, {"id": "id"}, "is Null, expected ids such as numbers or text"),
        ({"id": [[1]], "a": [1]}, {"id": "id"}, "is List(Int64), expected ids such as numbers or text"),
        ({"id": [1], "y": [1]}, {"id": "id", "target": "y"}, "has the columns 'id', 'y' only, expected at least one"),
        ({"id": [1], "y": [1]}, {"id": "id", "target": "id"}, "the id and the target are both 'id'"),
        ({"id": [1], "a": [1]}, {"id": "id", "features": []}, "features is empty"),
        ({"id": [1], "a": [1]}, {"id": "id", "features": "a"}, "features is 'a', expected a list of column names"),
        (
            {"id": [1], "a": [1]},
            {"id": "id", "features": ["a", "a"]},
            "features is 'a', 'a', expected every column once",
        ),
        ({"id": [1], "a": [1]}, {"id": "id", "features": ["id"]}, "features has 'id', which is the id or the target"),
        ({"id": [1, 2], "a": [INF, -INF]}, {"id": "id"}, "column 'a' of the polars data frame holds 2 infinite values"),
        ({"id": [1, 2], "a": [NAN, 1]}, {"id": "id"}, "holds 1 NaN value, expected missing values as null"),
        (
            {"id": [1], "a": [[1, 2]]},
            {"id": "id"},
            "column 'a' of the polars data frame is List(Int64), expected numbers",
        ),
        ({"id": [1], "a": [{"b": 2}]}, {"id": "id"}, "column 'a' of the polars data frame is Struct("),
        ({"id": [1], "a": [b"x"]}, {"id": "id"}, "column 'a' of the polars data frame is Binary"),
        (
            {"id": [1], "a": [1], "y": [[1]]},
            {"id": "id", "target": "y"},
            "the target 'y' of the polars data frame is List",
        ),
        ({"id": [1], "a": [1], "y": [None]}, {"id": "id", "target": "y"}, "is missing in every row, expected some"),
        (
            {"id": [1], "a": [1], "y": [1.5]},
            {"id": "id", "target": "y"},
            "holds 1.5, expected classes, not measurements",
        ),
        ({"id": [1], "a": [1], "y": [1e300]}, {"id": "id", "target": "y"}, "holds 1e+300, expected classes"),
        ({"id": [1], "a": [1], "y": [NAN]}, {"id": "id", "target": "y"}, "holds 1 NaN value"),
    ],
)
def test_nodes_that_cannot_be_used(
    tmp_path: Path, columns: dict[str, Any], arguments: dict[str, Any], sentence: str
) -> None:
    frame = pl.DataFrame(columns)
    assert sentence in refusal(lambda: read_nodes(frame, **arguments))
    path = written(tmp_path, "n.parquet", frame)
    assert sentence.replace("the polars data frame", str(path)) in refusal(lambda: read_nodes(path, **arguments))


def test_nan_is_missing_in_pandas_and_csv_but_infinity_is_nowhere(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1, 2], "a": [np.nan, 1.0]})
    assert read_nodes(frame, "id").features["a"].to_list() == [None, 1.0]
    frame.loc[0, "a"] = np.inf
    assert "holds 1 infinite value" in refusal(lambda: read_nodes(frame, "id"))
    path = written(tmp_path, "n.csv", "id,a\n1,inf\n2,0.5\n")
    assert "holds 1 infinite value" in refusal(lambda: read_nodes(path, "id"))


@pytest.mark.parametrize(
    ("values", "codes", "classes"),
    [
        (["b", "a", None, "a", "b"], [1, 0, -1, 0, 1], ["a", "b"]),
        ([10, 2, 10, 2], [1, 0, 1, 0], [2, 10]),
        ([2.0, None, 1.0, 1.0, 2.0], [1, -1, 0, 0, 1], [1, 2]),
        ([True, False, False, True, None], [1, 0, 0, 1, -1], [False, True]),
        (pl.Series(["z", "y", "z", "y"], dtype=pl.Categorical), [1, 0, 1, 0], ["y", "z"]),
        (pl.Series(["z", "y", "z", "y"], dtype=pl.Enum(["z", "y", "w"])), [1, 0, 1, 0], ["y", "z"]),
        ([dt.date(2024, 2, 1), dt.date(2023, 1, 1)] * 2, [1, 0, 1, 0], [dt.date(2023, 1, 1), dt.date(2024, 2, 1)]),
        (["a\0", "a", "a\0", "a"], [1, 0, 1, 0], ["a", "a\0"]),
    ],
)
def test_labels(values: Any, codes: list[int], classes: list[Any]) -> None:
    frame = pl.DataFrame({"id": range(len(values)), "x": 1, "y": values})
    target = read_nodes(frame, "id", target="y").target
    assert target is not None
    found = labels(target)
    assert found[0].tolist() == codes
    assert found[0].dtype == np.int64
    assert found[1].tolist() == classes


def test_labels_that_teach_nothing() -> None:
    message = refusal(lambda: labels(pl.Series("y", ["a", "a", None])))
    assert message == "the target 'y' has one class only, 'a', expected at least two: there is nothing to learn"
    message = refusal(lambda: labels(pl.Series("y", ["a", "a", "b", "c", "c"])))
    assert (
        message
        == "the target 'y' has one member only of 'b', expected at least two of a class: give more of it or drop it"
    )
    assert "of 0, 1, 2 and 2 more, expected" in refusal(lambda: labels(pl.Series("y", range(5))))
    assert "holds 0.5, expected classes" in refusal(lambda: labels(pl.Series("y", [0.5, 0.5, 1, 1])))


# ---- edges ----------------------------------------------------------------------------------------------------------

IDS = pl.Series("id", [10, 20, 30])


@pytest.mark.parametrize("form", ["e.csv", "e.parquet", "polars", "pandas"])
def test_edges_by_position_loops_and_repeats_left_alone(tmp_path: Path, form: str) -> None:
    frame = pl.DataFrame({"w": [0.0, 1.5, 2.0], "target": [20, 30, 30], "source": [10, 30, 10]})
    source: Any = frame
    if form == "pandas":
        source = frame.to_pandas()
    elif form != "polars":
        source = written(tmp_path, form, frame.write_csv() if form == "e.csv" else frame)
    edges = read_edges(source, IDS)
    assert edges.pairs.dtype == torch.int64
    assert edges.pairs.tolist() == [[0, 2, 0], [1, 2, 2]]
    assert edges.weight is None
    assert edges.dropped == 0
    weight = read_edges(source, IDS, weight="w").weight
    assert weight is not None
    assert weight.dtype == torch.float32
    assert weight.tolist() == [0.0, 1.5, 2.0]
    assert read_edges(source, IDS, source_column="target", target_column="source").pairs.tolist() == [
        [1, 2, 2],
        [0, 2, 0],
    ]


@pytest.mark.parametrize(
    ("columns", "arguments", "expected"),
    [
        (["target", "source", "x"], {}, ["source", "target"]),
        (["a", "target", "b"], {}, ["a", "target"]),
        (["w", "a", "b"], {"weight": "w"}, ["a", "b"]),
        (["a", "b", "target"], {"source_column": "b"}, ["b", "target"]),
        (["a", "b", "c"], {"source_column": "a"}, ["a", "b"]),
        (["a", "b", "source"], {"target_column": "a"}, ["source", "a"]),
        (["a", "b", "c"], {"target_column": "a"}, ["b", "a"]),
    ],
)
def test_which_columns_are_the_ends(columns: list[str], arguments: dict[str, str], expected: list[str]) -> None:
    frame = pl.DataFrame({name: [10 * (place + 1)] for place, name in enumerate(columns)})
    pairs = read_edges(frame, IDS, **arguments).pairs
    assert pairs[:, 0].tolist() == [columns.index(name) for name in expected]


@pytest.mark.parametrize(
    "nodes", [pl.Int8, pl.UInt16, pl.Int32, pl.Int64, pl.UInt64, pl.Float64, pl.String, pl.Categorical]
)
@pytest.mark.parametrize("ends", [pl.Int8, pl.UInt32, pl.Int64, pl.Float32, pl.Decimal(10, 2)])
def test_numbers_of_any_width_name_the_same_node(nodes: Any, ends: Any) -> None:
    ids = IDS.cast(nodes) if nodes != pl.Categorical else IDS.cast(pl.String).cast(nodes)
    frame = pl.DataFrame({"source": [10, 30], "target": [20, 10]}).cast(ends)
    assert read_edges(frame, ids).pairs.tolist() == [[0, 2], [1, 0]]


def test_edges_of_csv_have_no_types(tmp_path: Path) -> None:
    path = written(tmp_path, "e.csv", "a,b,w\n10, 20,1\n30.0,10, 0.5\n")
    edges = read_edges(path, IDS, weight="w")
    assert edges.pairs.tolist() == [[0, 2], [1, 0]]
    assert edges.weight is not None
    assert edges.weight.tolist() == [1.0, 0.5]
    names = written(tmp_path, "names.csv", "a,b\n007,7\n")
    assert read_edges(names, pl.Series(["7", "007"])).pairs.tolist() == [[1], [0]]
    assert read_edges(names, pl.Series([7.5, 7.0])).pairs.tolist() == [[1], [1]]


def test_unknown_nodes(tmp_path: Path) -> None:
    ends = {"source": [10, 99, 98, 99, -1, 10], "target": [20, 10, 97, 98, 20, 2**40]}
    for ids in (IDS, IDS.cast(pl.UInt8)):
        for source in (pl.DataFrame(ends), written(tmp_path, "e.parquet", pl.DataFrame(ends))):
            message = refusal(lambda source=source, ids=ids: read_edges(source, ids))  # type: ignore[misc]
            assert (
                "has 5 of 6 edges to nodes that are not in the table of nodes, such as 99, 98, 97, expected" in message
            )
            assert "--drop-unknown (in Python drop_unknown=True)" in message
            kept = read_edges(source, ids, drop_unknown=True)
            assert kept.pairs.tolist() == [[0], [1]]
            assert kept.dropped == 5
    half = pl.DataFrame({"source": [10.5, 10.0], "target": [20.0, 20.0], "w": [7, 8]})
    kept = read_edges(half, IDS, weight="w", drop_unknown=True)
    assert kept.pairs.tolist() == [[0], [1]]
    assert kept.weight is not None
    assert kept.weight.tolist() == [8.0]


@pytest.mark.parametrize(
    ("columns", "arguments", "sentence"),
    [
        ({"a": [1]}, {}, "has the columns 'a' only, expected one for either end"),
        ({"a": [10], "b": [10]}, {"weight": "w"}, "has no column 'w', expected one of 'a', 'b'"),
        ({"a": [10], "b": [10]}, {"source_column": "c"}, "has no column 'c', expected one of 'a', 'b'"),
        ({"a": [10], "b": [10]}, {"source_column": "a", "target_column": "a"}, "expected columns that differ"),
        ({"a": [10], "b": [10]}, {"source_column": "a", "target_column": "b", "weight": "b"}, "are 'a', 'b' and 'b'"),
        ({"a": [10, 10], "b": [10, None]}, {}, "has nothing in column 'b' of data row 2, expected both ends"),
        ({"a": [None, 10], "b": [10, 10]}, {}, "has nothing in column 'a' of data row 1"),
        ({"a": [10, 10], "b": [10.0, NAN]}, {}, "has nothing in column 'b' of data row 2"),
        ({"a": ["10"], "b": ["20"]}, {}, "is String and the nodes' ids are Int64, expected the same type in both"),
        ({"a": [dt.date(2024, 1, 1)], "b": [10]}, {}, "is Date and the nodes' ids are Int64"),
        ({"a": [10], "b": [10], "w": [-0.5]}, {"weight": "w"}, "has -0.5 for a weight in data row 1, expected finite"),
        ({"a": [10] * 2, "b": [10] * 2, "w": [0.0, NAN]}, {"weight": "w"}, "has nan for a weight in data row 2"),
        ({"a": [10], "b": [10], "w": [INF]}, {"weight": "w"}, "has inf for a weight in data row 1"),
        ({"a": [10], "b": [10], "w": [1e39]}, {"weight": "w"}, "has 1e+39 for a weight in data row 1"),
        ({"a": [10] * 2, "b": [10] * 2, "w": [1, None]}, {"weight": "w"}, "has nothing for a weight in data row 2"),
        ({"a": [10], "b": [10], "w": [None]}, {"weight": "w"}, "has nothing for a weight in data row 1"),
        (
            {"a": [10], "b": [10], "w": ["heavy"]},
            {"weight": "w"},
            "the weights 'w' of the polars data frame are String",
        ),
        ({"a": [10], "b": [10], "w": [True]}, {"weight": "w"}, "are Boolean, expected numbers"),
    ],
)
def test_edges_that_cannot_be_used(columns: dict[str, Any], arguments: dict[str, str], sentence: str) -> None:
    assert sentence in refusal(lambda: read_edges(pl.DataFrame(columns), IDS, **arguments))


def test_edges_of_csv_that_cannot_be_used(tmp_path: Path) -> None:
    def told(text: str, **more: Any) -> str:
        return refusal(lambda: read_edges(written(tmp_path, "e.csv", text), IDS, **more))

    assert "column 'a' of " in told("a,b\nx,20\n")
    assert "holds 'x' and the nodes' ids are Int64, expected numbers in both" in told("a,b\n10.5,20\nx,20\n")
    assert "such as '10.5', expected" in told("a,b\n10.5,20\n")
    assert "has nothing in column 'b' of data row 2" in told("a,b\n10,20\n10,NA\n")
    assert "has 'heavy' for a weight in data row 1" in told("a,b,w\n10,20,heavy\n", weight="w")
    assert "has nothing for a weight in data row 1" in told("a,b,w\n10,20,NaN\n", weight="w")
    assert "has '-1' for a weight in data row 1" in told("a,b,w\n10,20,-1\n", weight="w")
    assert "e.csv is empty" in told("")
    assert "cannot be read" in told("a,b\n10,20\n30\n")


def test_ids_that_edges_cannot_be_matched_with() -> None:
    frame = pl.DataFrame({"source": [10], "target": [20]})
    assert "ids is a list, expected a polars Series" in refusal(lambda: read_edges(frame, [10, 20]))  # type: ignore[arg-type]
    assert "has 1 id more than once" in refusal(lambda: read_edges(frame, pl.Series([10, 10, 20])))
    days = pl.Series([dt.timedelta(1)])
    clash = pl.DataFrame({"source": [dt.date(2024, 1, 1)], "target": [dt.date(2024, 1, 1)]})
    assert "is Date and the nodes' ids are Duration" in refusal(lambda: read_edges(clash, days))


def test_no_edges_are_no_mistake(tmp_path: Path) -> None:
    empty = pl.DataFrame({"a": [], "b": [], "w": []})
    for source in (
        written(tmp_path, "e.csv", "a,b,w\n"),
        written(tmp_path, "e.parquet", empty),
        empty,
        empty.to_pandas(),
    ):
        edges = read_edges(source, IDS, weight="w")
        assert edges.pairs.shape == (2, 0)
        assert edges.pairs.dtype == torch.int64
        assert edges.weight is not None
        assert edges.weight.shape == (0,)


@pytest.mark.parametrize("form", ["e.csv", "e.parquet"])
def test_batches_make_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr("settwister.tables.reading.BATCH_ROWS", 7)
    monkeypatch.setattr("settwister.tables.reading.BLOCK_BYTES", 64)
    rng = np.random.default_rng(0)
    ids = pl.Series(rng.permutation(1000))
    frame = pl.DataFrame({"s": rng.integers(0, 1000, 500), "t": rng.integers(0, 1000, 500), "w": rng.random(500)})
    path = written(tmp_path, form, frame.write_csv() if form == "e.csv" else frame)
    edges = read_edges(path, ids, weight="w")
    place = {value: position for position, value in enumerate(ids)}
    assert edges.pairs.tolist() == [[place[value] for value in frame[name]] for name in "st"]
    assert edges.weight is not None
    assert np.array_equal(edges.weight.numpy(), frame["w"].to_numpy().astype(np.float32))
    bad = frame.with_columns(w=pl.when(pl.int_range(500) == 432).then(-1.0).otherwise("w"))
    path = written(tmp_path, form, bad.write_csv() if form == "e.csv" else bad)
    assert "in data row 433" in refusal(lambda: read_edges(path, ids, weight="w"))


# ---- the encoder ----------------------------------------------------------------------------------------------------


def people(rows: int = 120, seed: int = 0) -> pl.DataFrame:
    """A table with a column of every kind, some of each missing."""
    rng = np.random.default_rng(seed)
    words = ["graph", "neural", "sets", "theory", "protein", "poetry", "market", "river", "physics", "history"]
    days = rng.integers(0, 900, rows)
    frame = pl.DataFrame(
        {
            "height": rng.normal(170, 10, rows),
            "children": rng.integers(0, 5, rows),
            "member": rng.random(rows) < 0.5,
            "city": rng.choice(["Rome", "Oslo", "Lima"], rows).tolist(),
            "size": pl.Series(rng.choice(["S", "M"], rows).tolist(), dtype=pl.Enum(["S", "M", "L"])),
            "title": [" ".join(rng.choice(words, 5)) for _ in range(rows)],
            "born": [dt.date(1990, 1, 1) + dt.timedelta(days=int(day)) for day in days],
            "seen": pl.Series(
                [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(day)) for day in days]
            ).dt.replace_time_zone("UTC"),
            "written_date": [f"{1 + day % 28:02d}/{1 + day % 12:02d}/2023" for day in days],
            "written_number": [f"{number:.3f}" for number in rng.normal(size=rows)],
            "stay": [dt.timedelta(minutes=int(day)) for day in days],
            "alarm": [dt.time(int(day) % 24, 30) for day in days],
        }
    )
    gone = pl.DataFrame(rng.random((rows, frame.width)) < 0.1, schema=frame.columns)
    return frame.with_columns(
        pl.when(gone[name]).then(None).otherwise(pl.col(name)).alias(name) for name in frame.columns
    )


@pytest.fixture(scope="module")
def encoder() -> TableEncoder:
    return TableEncoder().fit(people(), np.arange(80))


@pytest.fixture(scope="module")
def blob(encoder: TableEncoder) -> bytes:
    return encoder.to_bytes()


def test_every_kind_of_column_comes_out_finite(encoder: TableEncoder) -> None:
    table = people()
    x = encoder.transform(table)
    assert x.dtype == np.float32
    assert x.shape == (120, len(encoder.names))
    assert np.isfinite(x).all()
    assert len(set(encoder.names)) == len(encoder.names) == len(encoder.origin)
    assert set(encoder.origin) == set(table.columns)
    named = dict(zip(encoder.names, encoder.origin, strict=True))
    expected = {
        "height": "height",
        "height_missing": "height",
        "member": "member",
        "member_missing": "member",
        "city_Rome": "city",
        "city_missing": "city",
        "size_M": "size",
        "title_00": "title",
        "born_year": "born",
        "born_missing": "born",
        "seen_hour": "seen",
        "written_date_month": "written_date",
        "written_number": "written_number",
        "stay": "stay",
        "alarm": "alarm",
    }
    assert expected.items() <= named.items()
    assert encoder.names.count("born_missing") == 1
    column = {name: x[:, place] for place, name in enumerate(encoder.names)}
    for name in ("city_Rome", "size_M", "height_missing", "born_missing"):
        assert set(column[name].tolist()) == {0.0, 1.0}
    assert column["city_Rome"].tolist() == (table["city"] == "Rome").fill_null(False).cast(pl.Float32).to_list()
    assert column["born_missing"].tolist() == table["born"].is_null().cast(pl.Float32).to_list()
    seen = table["member"].is_not_null()
    assert column["member"][seen.to_numpy()].tolist() == table["member"].drop_nulls().cast(pl.Float32).to_list()
    order = np.argsort(table["height"].drop_nulls().to_numpy())
    heights = column["height"][table["height"].is_not_null().to_numpy()][order]
    assert (np.diff(heights) >= 0).all()
    assert np.abs(x[:, [encoder.origin[place] != "title" for place in range(x.shape[1])]]).max() <= 3


def test_columns_of_text_and_dates_are_what_skrub_makes_of_them() -> None:
    """The slow and obvious way: the whole TableVectorizer, of whose steps we keep only some."""
    table = people().select("city", "born", "seen", "written_date", "written_number").head(100)
    vectoriser = _vectoriser(100).fit(table)
    columns = fit_columns(table.get_columns())
    assert sum(column.measured for column in columns.values()) == 4
    later = people(seed=1).select(table.columns)
    expected = vectoriser.transform(later)
    found = pl.concat([column.transform(later[name]) for name, column in columns.items()], how="horizontal")
    assert found.columns == expected.columns
    assert found.cast(pl.Float32).equals(expected)


def test_only_training_rows_are_looked_at(encoder: TableEncoder) -> None:
    table = people()
    changed = pl.concat(
        [table.head(80), people(seed=9).tail(40).with_columns(height=pl.lit(1e9), city=pl.lit("Paris"))]
    )
    again = TableEncoder().fit(changed, np.arange(120) < 80)
    assert again.names == encoder.names
    assert np.array_equal(again.transform(table), encoder.transform(table))
    assert not np.array_equal(TableEncoder().fit(table).transform(table)[:, 0], encoder.transform(table)[:, 0])


def test_what_was_not_there_in_training(encoder: TableEncoder) -> None:
    later = people(seed=1).with_columns(
        city=pl.lit("Paris"), title=pl.lit(None, pl.String), written_date=pl.lit("soon"), written_number=pl.lit("few")
    )
    x = encoder.transform(later)
    assert np.isfinite(x).all()
    origin = np.array(encoder.origin)
    assert not x[:, origin == "city"].any()
    assert not x[:, origin == "title"].any()
    assert x[:, encoder.names.index("written_date_missing")].all()
    assert x[:, encoder.names.index("written_number_missing")].all()
    nothing = encoder.transform(pl.DataFrame({name: [None] for name in later.columns}))
    assert np.isfinite(nothing).all()
    assert nothing[0, encoder.names.index("seen_missing")] == 1


def test_a_value_missing_only_later_becomes_the_median() -> None:
    encoder = TableEncoder().fit(pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, 100.0]}))
    assert encoder.names == ["a"]
    missing, median = encoder.transform(pl.DataFrame({"a": [None, 3.0]}))[:, 0]
    assert missing == median


def test_outliers_leave_the_others_where_they_were() -> None:
    usual = np.linspace(0, 1, 99)
    calm = TableEncoder().fit(pl.DataFrame({"a": usual}))
    wild = TableEncoder().fit(pl.DataFrame({"a": np.append(usual, 1e12)}))
    near = pl.DataFrame({"a": usual})
    assert np.abs(calm.transform(near) - wild.transform(near)).max() < 0.05
    assert wild.transform(pl.DataFrame({"a": [1e300, -1e300, 1e12]})).tolist() == [[3.0], [-3.0], [3.0]]


def test_large_numbers_keep_their_differences() -> None:
    days = [20240101.0 + place for place in range(30)]
    x = TableEncoder().fit(pl.DataFrame({"day": days})).transform(pl.DataFrame({"day": days}))
    assert len(np.unique(x)) == 30


def test_mostly_missing_numbers_are_still_scaled_by_those_that_are_there() -> None:
    values = [float(place % 10) * 1000 if place % 4 == 0 else None for place in range(80)]
    x = TableEncoder().fit(pl.DataFrame({"a": values})).transform(pl.DataFrame({"a": values}))
    assert 0.5 < x[::4, 0].std() < 2


def test_few_training_rows_of_titles_are_text_not_categories() -> None:
    titles = [f"paper {place} on {'sets' if place % 2 else 'trees'}" for place in range(20)]
    encoder = TableEncoder().fit(pl.DataFrame({"title": titles, "half": ["a", "b"] * 10}))
    assert "title_00" in encoder.names
    assert {"half_a", "half_b"} <= set(encoder.names)
    later = encoder.transform(pl.DataFrame({"title": ["more on sets", "sets", "trees", "of trees"], "half": ["a"] * 4}))
    text = later[:, np.array(encoder.origin) == "title"]
    text /= np.linalg.norm(text, axis=1, keepdims=True)
    alike = text @ text.T
    assert min(alike[0, 1], alike[2, 3]) > max(alike[0, 2], alike[0, 3], alike[1, 2], alike[1, 3])


def test_columns_with_nothing_in_training_are_left_out() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [None, None, 7.0], "c": [None, None, "x"], "d": ["NA", "?", "x"]})
    encoder = TableEncoder().fit(frame, np.array([0, 1]))
    assert encoder.names == ["a"]
    assert encoder.transform(frame).shape == (3, 1)
    message = refusal(lambda: TableEncoder().fit(frame.select("b", "c", "d"), np.array([0, 1])))
    assert "has no value in the training rows of 'b', 'c', 'd'" in message


def test_texts_of_nothing_but_blanks_are_left_out() -> None:
    frame = pl.DataFrame({"a": [" " * place for place in range(1, 30)], "b": range(29)})
    assert TableEncoder().fit(frame).names == ["b"]
    assert "has no value in the training rows of 'a'" in refusal(lambda: TableEncoder().fit(frame.select("a")))


def test_names_differ_even_where_the_tables_own_clash() -> None:
    frame = pl.DataFrame({"a_b": [1.0, 2.0], "a": ["b", None], "a_missing": ["x", "y"]})
    encoder = TableEncoder().fit(frame)
    assert encoder.names == ["a_b", "a_b (2)", "a_missing", "a_missing_x", "a_missing_y"]
    assert encoder.origin == ["a_b", "a", "a", "a_missing", "a_missing"]


def test_rows_in_pieces_are_the_same(encoder: TableEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()
    whole = encoder.transform(table)
    monkeypatch.setattr("settwister.tables.encoder.ROWS_AT_ONCE", 17)
    assert np.allclose(encoder.transform(table), whole, atol=1e-6)
    assert encoder.transform(table.clear()).shape == (0, whole.shape[1])
    reordered = table.select(reversed(table.columns))
    assert np.allclose(encoder.transform(reordered), whole, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.drop("height", "city"), "the table of features lacks 'height', 'city', expected the columns of"),
        (lambda t: t.with_columns(x=1, y=2), "has 'x', 'y' as well, expected only the columns of training"),
        (
            lambda t: t.with_columns(height=pl.lit("tall")),
            "column 'height' of the table of features is String, expected a number column as in",
        ),
        (
            lambda t: t.with_columns(city=pl.lit(7)),
            "column 'city' of the table of features is Int32, expected a text column",
        ),
        (lambda t: t.with_columns(born=pl.lit(1990)), "expected a date column as in training: convert it"),
        (lambda t: t.with_columns(member=pl.lit(0.5)), "expected a boolean column as in training"),
        (lambda t: t.with_columns(height=pl.lit(NAN)), "column 'height' of the table of features holds 120 NaN values"),
        (lambda t: t.with_columns(height=pl.lit(INF)), "holds 120 infinite values"),
        (lambda t: t.with_columns(height=pl.lit([1, 2])), "column 'height' of the table of features is List"),
        (lambda t: t.to_pandas(), "the features are a DataFrame, expected a polars data frame"),
    ],
)
def test_tables_that_differ_from_training(encoder: TableEncoder, change: Any, sentence: str) -> None:
    table = change(people())
    assert sentence in refusal(lambda: encoder.transform(table))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "there are 0 training rows of 1 columns"),
        ([0, 3], "rows go from 0 to 3, expected positions from 0 to 2"),
        ([-1], "rows go from -1 to -1"),
        ([True, False], "rows are bool of shape (2,), expected positions, or a mask of 3 rows"),
        ([0.0], "rows are float64"),
        ([[0]], "of shape (1, 1)"),
    ],
)
def test_training_rows_that_are_not_there(rows: Any, sentence: str) -> None:
    assert sentence in refusal(lambda: TableEncoder().fit(pl.DataFrame({"a": [1, 2, 3]}), np.array(rows)))


def test_an_encoder_that_learned_nothing() -> None:
    assert "expected a call of fit first" in refusal(lambda: TableEncoder().transform(people()))
    assert "expected a call of fit first" in refusal(lambda: TableEncoder().to_bytes())
    assert "0 columns" in refusal(lambda: TableEncoder().fit(pl.DataFrame()))


# ---- the encoder as bytes -------------------------------------------------------------------------------------------


def test_bytes_bring_the_same_encoder_back(encoder: TableEncoder, blob: bytes) -> None:
    again = TableEncoder.from_bytes(blob)
    later = people(seed=3)
    assert np.array_equal(again.transform(later), encoder.transform(later))
    assert (again.names, again.origin) == (encoder.names, encoder.origin)
    assert len(blob) < 700_000
    assert "is String, expected a number column" in refusal(
        lambda: again.transform(later.with_columns(height=pl.lit("x")))
    )
    assert np.array_equal(TableEncoder.from_bytes(again.to_bytes()).transform(later), encoder.transform(later))


@pytest.mark.parametrize(
    "column", [[1, 1, 1, 1, 2], ["a", "b", "a"], [True, False], [dt.datetime(2024, 1, 1)], ["1", "2"]]
)
def test_bytes_of_single_columns(column: Any) -> None:
    frame = pl.DataFrame({"a": column})
    encoder = TableEncoder().fit(frame)
    assert np.array_equal(TableEncoder.from_bytes(encoder.to_bytes()).transform(frame), encoder.transform(frame))


def signed(packed: bytes) -> bytes:
    """Bytes that pass every check of form: what somebody who means harm would send."""
    return saved.MAGIC + hashlib.sha256(packed).digest() + packed


def parts(blob: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(blob[len(saved.MAGIC) + 32 :])) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return sink.getvalue()


TOUCHED: list[str] = []


class Trap:
    """Leaves a trace when it is made or filled."""

    def __setstate__(self, state: Any) -> None:
        TOUCHED.append("filled")


@pytest.mark.parametrize(
    ("planted", "named"),
    [
        (Trap(), "test_tables.Trap"),
        (FunctionTransformer(np.exp), "FunctionTransformer"),
        (StandardScaler(), "StandardScaler"),  # skops trusts it, we do not
        (np.random.RandomState(0), "RandomState"),
        (np.exp, "exp"),
        (print, "builtins.print"),
        ({1: "x"}, "builtins.int"),
        (people, "people"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_types_that_we_do_not_write_are_refused_and_nothing_runs(planted: Any, named: str) -> None:
    assert any(named in name for name in list_types(skops.io.dumps({"imputer": planted})))
    harmful = signed(skops.io.dumps({"about": "{}", "steps": {"a": [SimpleImputer(), planted]}}))
    message = refusal(lambda: TableEncoder.from_bytes(harmful))
    assert "the table encoder holds " in message
    assert named in message
    assert not TOUCHED


def list_types(packed: bytes) -> list[str]:
    schema = json.loads(zipfile.ZipFile(io.BytesIO(packed)).read("schema.json"))
    return [f"{node['__module__']}.{node['__class__']}" for node in saved._nodes(schema)]


def test_an_allowed_type_by_another_builder_is_refused(blob: bytes) -> None:
    members = parts(blob)
    schema = members["schema.json"].replace(b'"ObjectNode"', b'"ConstructorFromReduceNode"')
    assert schema != members["schema.json"]
    harmful = signed(zipped({**members, "schema.json": schema}))
    assert "the table encoder holds " in refusal(lambda: TableEncoder.from_bytes(harmful))


@pytest.mark.parametrize(
    "state",
    [
        ["a list"],
        {},
        {"about": "no JSON", "steps": {}, "texts": {}, "scaler": None, "imputer": None},
        {"about": "[]", "steps": {}, "texts": {}, "scaler": None, "imputer": None},
        {
            "about": json.dumps(
                dict(names=["a"], origin=["a"], kinds={"a": "number"}, numbers=["a"], measured={}, gaps=[])
            ),
            "steps": {},
            "texts": {},
            "scaler": None,
            "imputer": SimpleImputer(),
        },
    ],
)
def test_parts_that_are_no_encoder(state: Any) -> None:
    message = refusal(lambda: TableEncoder.from_bytes(signed(skops.io.dumps(state))))
    assert message.startswith("the table encoder")


def test_an_encoder_that_would_give_nan_is_refused(blob: bytes) -> None:
    members = parts(blob)
    for name, content in members.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(content))
            if array.dtype.kind == "f":
                sink = io.BytesIO()
                np.save(sink, np.full_like(array, np.nan))
                members[name] = sink.getvalue()
    assert refusal(lambda: TableEncoder.from_bytes(signed(zipped(members)))).startswith("the table encoder")


def test_sizes_are_looked_at_before_anything_is_unpacked(blob: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = signed(zipped({**parts(blob), "x.npy": bytes(2**20)}))
    assert len(bomb) < len(blob) + 2**16
    monkeypatch.setattr(saved, "LARGEST", 2**20)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("unpacked"))
    assert "unpacks to" in refusal(lambda: TableEncoder.from_bytes(bomb))
    monkeypatch.setattr(saved, "LARGEST_SCHEMA", 1000)
    assert "schema has" in refusal(lambda: TableEncoder.from_bytes(signed(zipped({"schema.json": bytes(1001)}))))
    monkeypatch.setattr(saved, "MOST_MEMBERS", 2)
    assert "in 3 parts" in refusal(lambda: TableEncoder.from_bytes(signed(zipped(dict.fromkeys("abc", b"")))))
    monkeypatch.setattr(saved, "LARGEST", 1000)
    assert "expected at most 1000" in refusal(lambda: TableEncoder.from_bytes(blob))


def test_a_schema_of_endless_depth_is_refused(blob: bytes) -> None:
    deep = b"[" * 200_000 + b"]" * 200_000
    harmful = signed(zipped({**parts(blob), "schema.json": deep}))
    assert "cannot be read" in refusal(lambda: TableEncoder.from_bytes(harmful))


# ---- whatever comes -------------------------------------------------------------------------------------------------

CELLS = some.one_of(
    some.none(),
    some.integers(-(2**63), 2**63 - 1),
    some.floats(),
    some.booleans(),
    some.text(max_size=6),
    some.dates(),
    some.datetimes(),
    some.timedeltas(),
    some.times(),
    some.binary(max_size=3),
    some.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-999, max_value=999),
)
KINDS = [
    some.integers(-(2**63), 2**63 - 1),
    some.integers(0, 3),
    some.floats(),
    some.floats(allow_nan=False, allow_infinity=False),
    some.booleans(),
    some.text(max_size=6),
    some.sampled_from(["a", "b", "2024-01-31", "1.5", "NA", ""]),
    some.dates(),
    some.datetimes(),
    some.timedeltas(),
    some.times(),
    some.binary(max_size=3),
    some.lists(some.integers(0, 3), max_size=2),
]
QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@some.composite
def frames(draw: Any) -> pl.DataFrame:
    """Small tables of one type per column, with missing values."""
    rows = draw(some.integers(0, 6))
    names = draw(some.lists(some.sampled_from(["id", "x", "y", "z", "source", "target", ""]), unique=True, max_size=4))
    cells = {
        name: draw(some.lists(some.one_of(some.none(), draw(some.sampled_from(KINDS))), min_size=rows, max_size=rows))
        for name in names
    }
    return pl.DataFrame({name: pl.Series(values, strict=False) for name, values in cells.items()})


def attempt(call: Callable[[], Any]) -> Any:
    """What ``call`` gives, None where it refuses; any other error is a failure."""
    try:
        return call()
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    return None


def check_readers(source: Any) -> None:
    """Every reader either gives a well-formed answer or an InputError."""
    nodes = attempt(lambda: read_nodes(source, "id", target="y"))
    if nodes is not None:
        assert len(nodes.ids) == nodes.features.height > 0
        assert nodes.ids.n_unique() == len(nodes.ids)
        assert nodes.target is not None
        check_labels(nodes.target)
        check_encoder(nodes.features)
    for drop in (False, True):
        edges = attempt(lambda drop=drop: read_edges(source, pl.Series([0, 1, 2]), drop_unknown=drop, weight="z"))
        if edges is not None:
            assert edges.weight.dtype == torch.float32
            assert edges.pairs.shape == (2, len(edges.weight))
            assert ((edges.pairs >= 0) & (edges.pairs < 3)).all()
            assert edges.weight.isfinite().all()


def check_labels(target: pl.Series) -> None:
    found = attempt(lambda: labels(target))
    if found is not None:
        codes, classes = found
        assert set(codes.tolist()) <= set(range(-1, len(classes)))
        assert ((codes == -1) == target.is_null().to_numpy()).all()


def check_encoder(features: pl.DataFrame) -> None:
    encoder = attempt(lambda: TableEncoder().fit(features))
    if encoder is not None:
        x = encoder.transform(features)
        assert x.shape == (features.height, len(encoder.names))
        assert np.isfinite(x).all()
        assert np.array_equal(TableEncoder.from_bytes(encoder.to_bytes()).transform(features), x)


@QUICK
@given(frames())
def test_any_table_is_read_or_refused(tmp_path: Path, frame: pl.DataFrame) -> None:
    check_readers(frame)
    check_readers(written(tmp_path, "t.parquet", frame))


@QUICK
@given(some.lists(some.lists(CELLS, min_size=3, max_size=3), max_size=4))
def test_any_pandas_table_is_read_or_refused(rows: list[list[Any]]) -> None:
    check_readers(pd.DataFrame(rows, columns=["id", "x", "y"], dtype=object))
    check_readers(
        pd.DataFrame({"id": range(len(rows)), "x": pd.Series([row[0] for row in rows], dtype=object), "y": 1})
    )


@QUICK
@given(some.one_of(some.binary(max_size=40), some.text("id,xyz\n\"'\r\t019.-aé", max_size=60).map(str.encode)))
def test_any_csv_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    check_readers(written(tmp_path, "t.csv", content))
    check_readers(written(tmp_path, "t.csv", b"id,x,y,z\n" + content))
    check_readers(written(tmp_path, "t.csv.gz", gzip.compress(content)))


@some.composite
def damage(draw: Any) -> Callable[[bytes], bytes]:
    """Some bytes changed, cut out, put in, or all from some place on gone."""
    what = draw(some.sampled_from(["change", "cut", "insert", "end"]))
    where = draw(some.lists(some.floats(0, 1, exclude_max=True), min_size=1, max_size=4))
    value = draw(some.binary(min_size=1, max_size=4))

    def damaged(content: bytes) -> bytes:
        for place in (int(share * len(content)) for share in where):
            if what == "end":
                return content[:place]
            kept = content[place + (len(value) if what in ("change", "cut") else 0) :]
            content = content[:place] + (b"" if what == "cut" else value) + kept
        return content

    return damaged


FILES = {
    "t.parquet": parquet_bytes(
        pa.table(
            {
                "id": [0, 1, 2, 3],
                "x": [0.5, None, 1.5, 2.5],
                "y": ["a", "b", "a", "b"],
                "z": [1, 2, 3, 4],
                "day": pa.array([dt.date(2024, 1, 31)] * 4),
            }
        )
    ),
    "t.csv": b"id,x,y,z\n0,0.5,a,1\n1,,b,2\n2,1.5,a,3\n3,2.5,b,4\n",
    "t.csv.gz": gzip.compress(b"id,x,y,z\n0,0.5,a,1\n1,,b,2\n2,1.5,a,3\n3,2.5,b,4\n"),
}


@pytest.mark.parametrize("name", FILES)
@settings(QUICK, max_examples=100)
@given(damage=damage())
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str, damage: Callable[[bytes], bytes]) -> None:
    check_readers(written(tmp_path, name, damage(FILES[name])))


@QUICK
@given(damage=damage())
def test_damaged_encoders_are_refused(blob: bytes, damage: Callable[[bytes], bytes]) -> None:
    damaged = damage(blob)
    if damaged != blob:
        message = refusal(lambda: TableEncoder.from_bytes(damaged))
        assert "are damaged" in message or "are not a table encoder" in message


@QUICK
@given(damage=damage(), which=some.floats(0, 1, exclude_max=True))
def test_damaged_parts_of_an_encoder_are_refused_or_harmless(
    blob: bytes, damage: Callable[[bytes], bytes], which: float
) -> None:
    """With the checksums of zip and ours made right again, as somebody who means harm would."""
    members = parts(blob)
    name = sorted(members, key=lambda name: name != "schema.json")[int(which * len(members))]
    members[name] = damage(members[name])
    encoder = attempt(lambda: TableEncoder.from_bytes(signed(zipped(members))))
    if encoder is not None:
        assert len(encoder.names) == len(encoder.origin)


def test_the_files_and_the_encoder_that_are_damaged_are_whole_to_begin_with(tmp_path: Path, blob: bytes) -> None:
    for name, content in FILES.items():
        nodes = read_nodes(written(tmp_path, name, content), "id", target="y")
        assert nodes.ids.to_list() == [0, 1, 2, 3]
    assert TableEncoder.from_bytes(signed(zipped(parts(blob)))).names
