"""Whatever table comes, it is read or refused: no bytes bring up anything but InputError."""

import datetime as dt
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from example_tables import QUICK, attempt, damage, parquet_bytes, written
from settwister.tables import TableEncoder, labels, read_edges, read_nodes

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


def test_the_files_that_are_damaged_are_whole_to_begin_with(tmp_path: Path) -> None:
    for name, content in FILES.items():
        nodes = read_nodes(written(tmp_path, name, content), "id", target="y")
        assert nodes.ids.to_list() == [0, 1, 2, 3]
