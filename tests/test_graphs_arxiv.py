"""ogbn-arxiv's gzipped tables."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graph_files import PARTS, arxiv_tables, dense, little_memory, pairs, refusal, write_arxiv
from settwister.graphs import arxiv as arxiv_format
from settwister.graphs import load


@pytest.mark.parametrize("rows_at_once", [7, 8192])
def test_arxiv_is_read_block_by_block(rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arxiv_format, "ROWS_AT_ONCE", rows_at_once)
    tables = arxiv_tables()
    write_arxiv(tmp_path / "ogbn_arxiv", tables)
    graph = load("arxiv", tmp_path)
    assert np.array_equal(dense(graph.x).numpy(), tables["raw/node-feat.csv.gz"].astype(np.float32))
    assert graph.y.tolist() == tables["raw/node-label.csv.gz"].tolist()
    edges = tables["raw/edge.csv.gz"].tolist()
    assert pairs(graph) == {pair for a, b in edges if a != b for pair in ((a, b), (b, a))}
    assert (graph.given_edges, list(graph.splits)) == (40, ["year"])
    for part, file in zip(PARTS, ("train", "valid", "test"), strict=True):
        assert getattr(graph.splits["year"][0], part).tolist() == tables[f"split/time/{file}.csv.gz"].tolist()


@pytest.mark.parametrize(
    ("name", "table", "sentence"),
    [
        ("raw/edge.csv.gz", [[0, 1, 2]], "there are 3 columns, expected 2"),
        ("raw/edge.csv.gz", [[0, 20]], "edges hold node 20, expected ids from 0 to 19"),
        ("raw/edge.csv.gz", [["a", "b"]], "edge.csv.gz cannot be read (could not convert string"),
        ("raw/edge.csv.gz", [], "there are 0 columns, expected 2"),
        ("raw/node-feat.csv.gz", [["nan", 1]] * 20, "x has values that are NaN or infinite"),
        ("raw/node-feat.csv.gz", [[1, 2], [3]], "node-feat.csv.gz cannot be read"),
        ("raw/node-label.csv.gz", [1] * 19, "node-label is int64 of shape (19,)"),
        ("raw/node_year.csv.gz", [2015] * 20, "expected parts that follow each other in time"),
        ("split/time/train.csv.gz", [99], "a part of the split names node 99, expected 0 to 19"),
        ("split/time/train.csv.gz", [3, 0], "1 nodes are in more than one part"),
    ],
)
def test_bad_arxiv_is_refused(name: str, table: Any, sentence: str, tmp_path: Path) -> None:
    write_arxiv(tmp_path / "arxiv", arxiv_tables() | {name: table})
    assert sentence in refusal(lambda: load("arxiv", tmp_path))


def test_truncated_arxiv_is_refused(tmp_path: Path) -> None:
    write_arxiv(tmp_path / "arxiv", arxiv_tables())
    path = tmp_path / "arxiv" / "raw" / "node-feat.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    assert refusal(lambda: load("arxiv", tmp_path)).startswith(f"{path} cannot be read")


# ---- what is too large ----------------------------------------------------------------------------------------------


def refused(folder: Path, name: str, text: bytes) -> str:
    write_arxiv(folder / "arxiv", arxiv_tables())
    path = folder / "arxiv" / name
    path.write_bytes(gzip.compress(text, 1))
    assert path.stat().st_size < len(text) / 50
    with little_memory():
        said = refusal(lambda: load("arxiv", folder))
    assert said.startswith(f"{path}: ")
    return said


@pytest.mark.parametrize("content", [b"0", b"0,", b" "])
def test_a_line_without_an_end_is_refused(content: bytes, tmp_path: Path) -> None:
    said = refused(tmp_path, "raw/node-feat.csv.gz", content * 80_000_000)
    assert "there are 65537 characters or more in a line, expected at most 65536" in said


def test_more_numbers_than_a_graph_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arxiv_format, "MOST_NUMBERS", 50_000)
    said = refused(tmp_path, "raw/edge.csv.gz", b"0,1\n" * 20_000_000)
    assert "there are 65536 numbers or more, expected at most 50000" in said


def test_wide_rows_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arxiv_format, "MOST_NUMBERS", 2**20)
    monkeypatch.setattr(arxiv_format, "CHARACTERS_AT_ONCE", 2**20)
    said = refused(tmp_path, "raw/node-feat.csv.gz", (b"0," * 30_000 + b"0\n") * 1000)
    assert "numbers or more, expected at most 1048576" in said


def test_text_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of nothing hold no number, and would be unpacked for ever."""
    monkeypatch.setattr(arxiv_format, "LARGEST_FILE", 10**5)
    said = refused(tmp_path, "split/time/train.csv.gz", b"\n" * 10_000_000)
    assert "there are 100001 characters or more, expected at most 100000" in said


def test_lines_of_nothing_are_skipped(tmp_path: Path) -> None:
    write_arxiv(tmp_path / "arxiv", arxiv_tables())
    plain = load("arxiv", tmp_path)
    for path in (tmp_path / "arxiv").rglob("*.gz"):
        path.write_bytes(gzip.compress(b"\n  \n" + gzip.decompress(path.read_bytes()).replace(b"\n", b"\n\n")))
    again = load("arxiv", tmp_path)
    assert pairs(again) == pairs(plain)
    assert np.array_equal(dense(again.x), dense(plain.x))


def test_a_file_of_a_terabyte_of_nothing_is_refused(tmp_path: Path) -> None:
    write_arxiv(tmp_path / "arxiv", arxiv_tables())
    path = tmp_path / "arxiv" / "raw" / "edge.csv.gz"
    with path.open("r+b") as handle:
        handle.truncate(2**40)
    assert f"{path}: there are 1099511627776 bytes" in refusal(lambda: load("arxiv", tmp_path))
