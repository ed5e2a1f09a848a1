"""``settwister datasets``."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graph_files import (
    Server,
    arxiv_tables,
    dense,
    few_arrays,
    friendster_objects,
    planetoid_objects,
    serve_wikics,
    wikics_content,
    write_arxiv,
    write_friendster,
    write_npz,
    write_planetoid,
    write_wikics,
)
from settwister.cli import main
from settwister.graphs import GRAPHS, load
from settwister.graphs.download import sha256


@pytest.fixture
def wikics_server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return serve_wikics(monkeypatch)


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["settwister", "datasets", *arguments])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as caught:
        main()
    said = capsys.readouterr()
    return int(caught.value.code or 0), said.out, said.err


def test_the_command_lists_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_npz(tmp_path, "cora", few_arrays())
    code, out, err = run(capsys, monkeypatch, "--data-dir", str(tmp_path), "--json")
    assert (code, err) == (0, "")
    rows = {row["graph"]: row for row in json.loads(out)["rows"]}
    assert list(rows) == list(GRAPHS)
    assert rows["cora"] == {
        "graph": "cora",
        "paper": {"classes": 7, "nodes": 2708, "edges": 5429},
        "source": str(path),
        "other_files": [],
        "classes": 4,
        "nodes": 12,
        "given_edges": 11,
        "edges": 11,
        "isolated": 0,
        "degree": {"min": 1, "median": 2.0, "max": 2},
        "features": 5,
        "density": 0.5,
        "splits": {"public": 1, "geom": 2},
    }
    assert rows["arxiv"]["source"] is None
    assert rows["arxiv"]["how"].endswith("settwister datasets --download arxiv")
    code, out, _ = run(capsys, monkeypatch, "--data-dir", str(tmp_path))
    assert code == 0
    assert f"cora: {path}" in out
    assert "wikics: not there: put wikics/wikics.npz or wikics/raw/data.json in the data directory" in out
    assert "1,166,243" in out


def test_the_command_reads_every_published_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each from the files and in the folder in which its publisher or a library keeps it."""
    write_npz(tmp_path, "cora", few_arrays())
    write_planetoid(tmp_path / "CiteSeer" / "raw", "citeseer", planetoid_objects(gaps=(523,)))
    write_planetoid(tmp_path / "PubMed" / "raw", "pubmed", planetoid_objects(binary=False))
    write_wikics(tmp_path / "WikiCS", wikics_content())
    write_arxiv(tmp_path / "ogbn_arxiv", arxiv_tables())
    write_friendster(tmp_path / "Friendster-25K", friendster_objects())
    code, out, err = run(capsys, monkeypatch, "--data-dir", str(tmp_path), "--json")
    assert (code, err) == (0, "")
    rows = {row["graph"]: row for row in json.loads(out)["rows"]}
    found = {
        name: (Path(row["source"]).name, row["classes"], row["nodes"], row["features"], row["splits"])
        for name, row in rows.items()
    }
    assert found == {
        "cora": ("cora.npz", 4, 12, 5, {"public": 1, "geom": 2}),
        "citeseer": ("CiteSeer", 3, 533, 17, {"public": 1}),
        "pubmed": ("PubMed", 3, 532, 17, {"public": 1}),
        "wikics": ("WikiCS", 3, 15, 4, {"official": 20}),
        "arxiv": ("ogbn_arxiv", 7, 20, 3, {"year": 1}),
        "friendster": ("Friendster-25K", 4, 16, 6, {"fixed": 1}),
    }
    for name, row in rows.items():
        graph = load(name, tmp_path)
        assert (row["edges"], row["given_edges"]) == (graph.num_edges, graph.given_edges)
        assert row["edges"] <= row["given_edges"]
        assert row["isolated"] == int((graph.degrees == 0).sum())
        assert row["degree"]["max"] == int(graph.degrees.max())
        assert row["density"] == pytest.approx(float((dense(graph.x) != 0).double().mean()))
    code, out, _ = run(capsys, monkeypatch, "--data-dir", str(tmp_path))
    assert code == 0
    assert "not there" not in out
    assert all(f"{name}: {row['source']}" in out for name, row in rows.items())


BREAKING: dict[str, tuple[Callable[[Path], Any], str]] = {
    "citeseer": (
        lambda folder: write_planetoid(folder / "citeseer" / "raw", "citeseer", planetoid_objects() | {"x": b"?"}),
        "citeseer/raw/ind.citeseer.x",
    ),
    "wikics": (lambda folder: write_wikics(folder / "wikics", []), "wikics/raw/data.json"),
    "arxiv": (
        lambda folder: write_arxiv(folder / "arxiv", arxiv_tables() | {"raw/edge.csv.gz": [["?"]]}),
        "arxiv/raw/edge.csv.gz",
    ),
    "friendster": (
        lambda folder: write_friendster(folder / "friendster", friendster_objects() | {"target": np.zeros(16)}),
        "friendster/raw/friendster_25K.h5",
    ),
}


@pytest.mark.parametrize("name", BREAKING)
def test_the_command_names_the_published_file_that_is_broken(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write, file = BREAKING[name]
    write(tmp_path)
    code, out, err = run(capsys, monkeypatch, "--data-dir", str(tmp_path), "--json")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"settwister: {tmp_path / file}")
    row = next(row for row in json.loads(out)["rows"] if row["graph"] == name)
    assert err == f"settwister: {row['broken']}\n"
    assert "nodes" not in row


def test_files_that_are_not_the_published_ones_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wikics(tmp_path / "wikics", wikics_content())
    code, out, _ = run(capsys, monkeypatch, "--data-dir", str(tmp_path))
    assert code == 0
    assert f"wikics: {tmp_path / 'wikics'} (raw/data.json: other than published)" in out
    published = replace(GRAPHS["wikics"].downloads[0], sha256=sha256(tmp_path / "wikics/raw/data.json"))
    monkeypatch.setitem(GRAPHS, "wikics", replace(GRAPHS["wikics"], downloads=(published,)))
    assert "other than published" not in run(capsys, monkeypatch, "--data-dir", str(tmp_path))[1]


def test_the_command_fetches_what_is_named(
    wikics_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = run(capsys, monkeypatch, "--data-dir", str(tmp_path), "--download", "wikics", "--json")
    assert code == 0
    assert json.loads(out)["rows"][3]["splits"] == {"official": 20}
    assert wikics_server.asked == ["https://here/data.json"]
    code, out, err = run(capsys, monkeypatch, "--data-dir", str(tmp_path), "--download", "karate")
    assert (code, out) == (2, "")
    assert err.startswith("settwister: graph is 'karate', expected one of 'cora'")


def test_a_broken_graph_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, whole = write_npz(tmp_path, "cora", few_arrays()), write_npz(tmp_path, "pubmed", few_arrays())
    path.write_bytes(b"PK")
    code, out, err = run(capsys, monkeypatch, "--data-dir", str(tmp_path))
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"settwister: {path} cannot be read")
    assert f"cora: {path} (cannot be read)\n" in out
    assert f"pubmed: {whole}\n" in out
    assert "1 public" in out


def test_the_command_has_an_example(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run(capsys, monkeypatch, "--help")
    assert code == 0
    assert "Example: settwister datasets" in out
