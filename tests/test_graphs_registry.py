"""Where graphs are looked for, and the real ones where they are."""

from pathlib import Path

import pytest

from graph_files import few_arrays, planetoid_objects, refusal, write_npz, write_planetoid
from settwister import paper
from settwister.graphs import GRAPHS, available, load
from settwister.graphs import npz as npz_format
from settwister.graphs.parts import fingerprint


def test_a_missing_graph_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = refusal(lambda: load("cora", tmp_path))
    for place in ("cora/cora.npz", "cora/raw/ind.cora.x", "Cora/raw/ind.cora.x"):
        assert str(tmp_path / place) in said
    assert "settwister datasets --download cora" in said
    assert available(tmp_path) == dict.fromkeys(GRAPHS)
    monkeypatch.delenv("SETTWISTER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "neither is a data directory: pass one, set SETTWISTER_DATA" in refusal(lambda: load("cora"))
    assert "graph is 'karate', expected one of 'cora'" in refusal(lambda: load("karate", tmp_path))
    assert "is not there, expected a folder" in refusal(lambda: load("cora", tmp_path / "nowhere"))


def test_a_graph_that_is_there_in_part_says_what_it_lacks(tmp_path: Path) -> None:
    objects = planetoid_objects()
    write_planetoid(tmp_path / "Cora" / "raw", "cora", objects)
    (tmp_path / "Cora" / "raw" / "ind.cora.ty").unlink()
    assert f"{tmp_path / 'Cora'} lacks raw/ind.cora.ty, expected all of" in refusal(lambda: load("cora", tmp_path))


def test_the_npz_comes_before_published_files(tmp_path: Path) -> None:
    write_planetoid(tmp_path / "cora" / "raw", "cora", planetoid_objects())
    assert available(tmp_path)["cora"] == tmp_path / "cora"
    path = write_npz(tmp_path, "cora", few_arrays())
    assert available(tmp_path)["cora"] == path
    assert load("cora", tmp_path).num_nodes == 12


UNIQUE_EDGES = {"cora": 5278, "citeseer": 4552, "pubmed": 44324, "friendster": 145407, "arxiv": 1157799}
ISOLATED = {"cora": 0, "citeseer": 48, "pubmed": 0, "friendster": 0}
FEATURES = {"cora": 1433, "citeseer": 3703, "pubmed": 500, "friendster": 644, "arxiv": 128, "wikics": 300}
SIZES = {"cora": (140, 500, 1000), "citeseer": (120, 500, 1000), "pubmed": (60, 500, 1000)}


@pytest.mark.parametrize("name", GRAPHS)
def test_real_graphs_are_those_of_the_paper(name: str) -> None:
    if available()[name] is None:
        pytest.skip(f"no {name}: point SETTWISTER_DATA at a folder that has it")
    graph = load(name)
    printed = next(row for row in paper.table("datasets")["rows"] if row["dataset"] == name)
    assert (graph.num_nodes, graph.num_classes) == (printed["nodes"], printed["classes"])
    assert graph.num_features == FEATURES[name]
    assert graph.num_edges == UNIQUE_EDGES.get(name, graph.num_edges)
    assert graph.num_edges <= printed["edges"]
    assert int((graph.degrees == 0).sum()) == ISOLATED.get(name, int((graph.degrees == 0).sum()))
    if name in SIZES:
        split = graph.splits["public"][0]
        assert (len(split.train), len(split.validation), len(split.test)) == SIZES[name]


def test_the_known_friendster_has_the_recorded_fingerprint() -> None:
    path = available()["friendster"]
    if path is None or not path.is_file():
        pytest.skip("no friendster.npz: point SETTWISTER_DATA at a folder that has it")
    assert fingerprint(npz_format.read(path, "fixed"), "fixed") == GRAPHS["friendster"].prints
