"""Tables of edges: positions of nodes, weights, batches, and what is refused and how."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from example_tables import INF, NAN, refusal, written
from settwister.tables import read_edges

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
        (["a", "target"], {}, ["a", "target"]),
        (["target", "source"], {}, ["source", "target"]),
        (["w", "a", "b"], {"weight": "w"}, ["a", "b"]),
        (["a", "b", "target"], {"source_column": "b"}, ["b", "target"]),
        (["a", "b"], {"source_column": "b"}, ["b", "a"]),
        (["w", "a", "b"], {"source_column": "b", "weight": "w"}, ["b", "a"]),
        (["a", "b", "source"], {"target_column": "a"}, ["source", "a"]),
        (["a", "b"], {"target_column": "a"}, ["b", "a"]),
    ],
)
def test_which_columns_are_the_ends(columns: list[str], arguments: dict[str, str], expected: list[str]) -> None:
    frame = pl.DataFrame({name: [10 * (place + 1)] for place, name in enumerate(columns)})
    pairs = read_edges(frame, IDS, **arguments).pairs
    assert pairs[:, 0].tolist() == [columns.index(name) for name in expected]


@pytest.mark.parametrize(
    ("columns", "arguments", "free", "wanted"),
    [
        (["row", "from", "to"], {}, "'row', 'from', 'to'", "source and target"),
        (["row", "target", "from"], {}, "'row', 'target', 'from'", "source and target"),
        (["row", "from", "to", "w"], {"weight": "w"}, "'row', 'from', 'to'", "source and target"),
        (["row", "from", "to"], {"source_column": "from"}, "'row', 'to'", "target"),
        (["row", "from", "to"], {"target_column": "to"}, "'row', 'from'", "source"),
    ],
)
def test_ends_are_not_guessed(columns: list[str], arguments: dict[str, str], free: str, wanted: str) -> None:
    frame = pl.DataFrame({name: [10] for name in columns})
    message = refusal(lambda: read_edges(frame, IDS, **arguments))
    assert f"has the columns {free} for {wanted}, expected just one for each, or columns called so" in message
    assert "--source-column and --target-column (in Python source and end)" in message


@pytest.mark.parametrize(
    "nodes",
    [pl.Int8, pl.UInt16, pl.Int32, pl.Int64, pl.UInt64, pl.Float64, pl.Decimal(10, 2), pl.String, pl.Categorical],
)
@pytest.mark.parametrize("ends", [pl.Int8, pl.UInt32, pl.Int64, pl.Float32, pl.Decimal(10, 2)])
def test_numbers_of_any_width_name_the_same_node(nodes: Any, ends: Any) -> None:
    ids = IDS.cast(nodes) if nodes != pl.Categorical else IDS.cast(pl.String).cast(nodes)
    frame = pl.DataFrame({"source": [10, 30], "target": [20, 10]}).cast(ends)
    assert read_edges(frame, ids).pairs.tolist() == [[0, 2], [1, 0]]


LARGE = [2**53, 2**53 + 1, 2**63 - 1]
LARGER = [*LARGE, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("ends", ["e.csv", pl.Int64, pl.UInt64, pl.Decimal(20, 0), pl.Decimal(38, 2)])
@pytest.mark.parametrize(
    ("nodes", "values"),
    [
        (pl.Int64, LARGE),
        (pl.UInt64, LARGER),
        (pl.Int128, LARGER),
        (pl.Decimal(20, 0), LARGER),
        (pl.Decimal(38, 2), LARGER),
        (pl.String, LARGER),
    ],
    ids=str,
)
def test_large_numbers_name_their_own_node_and_no_other(
    tmp_path: Path, nodes: Any, values: list[int], ends: Any
) -> None:
    ids = pl.Series([str(value) for value in values]).cast(nodes)
    there = values if ends != pl.Int64 else LARGE
    frame = pl.DataFrame(
        {"source": there, "target": there[::-1]}, schema_overrides=dict.fromkeys(["source", "target"], pl.UInt64)
    )
    strange = frame.head(1).with_columns(target=pl.lit(2**53 + 2, pl.UInt64))
    frame = pl.concat([frame, strange])
    source: Any = written(tmp_path, ends, frame.write_csv()) if ends == "e.csv" else frame.cast(ends)
    edges = read_edges(source, ids, drop_unknown=True)
    places = list(range(len(there)))
    assert edges.pairs.tolist() == [places, places[::-1]]
    assert edges.dropped == 1


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

    assert "has 1 of 1 edges to nodes that are not in the table of nodes, such as 'x', expected" in told("a,b\nx,20\n")
    assert "has 2 of 2 edges to nodes that are not in the table of nodes, such as '10.5', 'x', expected" in told(
        "a,b\n10.5,20\nx,20\n"
    )
    assert "has nothing in column 'b' of data row 2" in told("a,b\n10,20\n10,NA\n")
    assert "has 'heavy' for a weight in data row 1" in told("a,b,w\n10,20,heavy\n", weight="w")
    assert "has nothing for a weight in data row 1" in told("a,b,w\n10,20,NaN\n", weight="w")
    assert "has '-1' for a weight in data row 1" in told("a,b,w\n10,20,-1\n", weight="w")
    assert "e.csv is empty" in told("")
    assert "cannot be read" in told("a,b\n10,20\n30\n")


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt8, pl.Float64])
def test_what_cannot_be_an_id_is_an_unknown_node(tmp_path: Path, kind: Any) -> None:
    """A word among numbers is dropped as another number is."""
    path = written(tmp_path, "e.csv", "a,b,w\n10,20,1\nx,20,2\n30,NaN?,3\n10,1e999,4\n30.0,10,5\n99,10,6\n")
    edges = read_edges(path, IDS.cast(kind), drop_unknown=True, weight="w")
    assert edges.pairs.tolist() == [[0, 2], [1, 0]]
    assert edges.dropped == 4
    assert edges.weight is not None
    assert edges.weight.tolist() == [1.0, 5.0]


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
    monkeypatch.setattr("settwister.tables.table.BATCH_ROWS", 7)
    monkeypatch.setattr("settwister.tables.csv_file.BLOCK_BYTES", 64)
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
