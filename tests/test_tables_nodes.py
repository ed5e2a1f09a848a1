"""Tables of nodes: ids of any type, features, classes, and what is refused and how."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from example_tables import INF, NAN, refusal, written
from settwister.tables import labels, read_edges, read_nodes

NODES = "id,age,city,kind\n1,31,Rome,a\n2,,Oslo,b\n3,45,Rome,a\n4,20,NA,b\n"


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


@pytest.mark.parametrize(
    ("asked", "hint"), [("scroe", ": did you mean 'Score'?"), ("KIND", ": did you mean 'kind'?"), ("zzz", "'kind'")]
)
def test_the_column_that_may_be_meant_is_named(asked: str, hint: str) -> None:
    frame = pl.DataFrame({"id": [1, 2], "Score": [1, 2], "kind": ["a", "b"]})
    told = {
        refusal(lambda: read_nodes(frame, asked)),
        refusal(lambda: read_nodes(frame, "id", target=asked)),
        refusal(lambda: read_nodes(frame, "id", features=[asked])),
        refusal(lambda: read_edges(frame, frame["id"], weight=asked)),
    }
    (message,) = told
    assert message.endswith(hint)
    assert f"has no column {asked!r}, expected one of 'id', 'Score', 'kind'" in message


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
        ([dt.date(2024, 2, 1), dt.date(2023, 1, 1)] * 2, [1, 0, 1, 0], ["2023-01-01", "2024-02-01"]),
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


BLANKS = ["", " ", "\t", "\n \u00a0", None]


@pytest.mark.parametrize("form", ["n.csv", "n.parquet", "polars", "pandas"])
@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
@pytest.mark.parametrize(("words", "known"), [("abab", ["a", "b"] * 2), ("1212", None)])
def test_a_blank_target_is_unknown(tmp_path: Path, form: str, kind: Any, words: str, known: Any) -> None:
    """Whatever holds it; and the other cells of a CSV file stay numbers."""
    frame = pl.DataFrame({"id": range(9), "x": 1, "y": pl.Series([*words, *BLANKS]).cast(kind)})
    source: Any = frame
    if form == "pandas":
        source = frame.to_pandas()
    elif form != "polars":
        source = written(tmp_path, form, frame.write_csv() if form == "n.csv" else frame)
    target = read_nodes(source, "id", target="y").target
    assert target is not None
    numbers = [int(word) for word in words] if known is None and form == "n.csv" else list(words)
    assert target.to_list() == [*(known or numbers), *[None] * 5]
    assert labels(target)[0].tolist() == [0, 1, 0, 1, *[-1] * 5]
    assert labels(frame["y"])[0].tolist() == [0, 1, 0, 1, *[-1] * 5]
    blank = frame.with_columns(y=pl.lit(" ").cast(kind))
    assert "is missing in every row" in refusal(lambda: read_nodes(blank, "id", target="y"))


@pytest.mark.parametrize("cell", BLANKS[:-1])
def test_a_blank_id_is_missing(tmp_path: Path, cell: str) -> None:
    frame = pl.DataFrame({"id": ["a", cell, "b"], "x": 1})
    for source in (frame, frame.to_pandas(), written(tmp_path, "n.parquet", frame)):
        assert "has 1 of 3 ids missing" in refusal(lambda source=source: read_nodes(source, "id"))  # type: ignore[misc]
    path = written(tmp_path, "n.csv", f'id,x\n"{cell}",1\n2,1\n')
    assert "has 1 of 2 ids missing" in refusal(lambda: read_nodes(path, "id"))
    edges = pl.DataFrame({"a": ["a", "b"], "b": ["b", cell]})
    sentence = "has nothing in column 'b' of data row 2"
    assert sentence in refusal(lambda: read_edges(edges, pl.Series(["a", "b"])))
    path = written(tmp_path, "e.csv", f'a,b\n1,2\n1,"{cell}"\n')
    assert sentence in refusal(lambda: read_edges(path, pl.Series([1, 2]), drop_unknown=True))


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


@pytest.mark.parametrize("values", [[dt.timedelta(1), dt.timedelta(2)] * 2, [b"\xff", b"a"] * 2])
def test_a_target_that_has_no_words_for_its_classes_is_refused(values: list[Any]) -> None:
    assert "expected classes: text, whole numbers or dates" in refusal(lambda: labels(pl.Series("y", values)))
