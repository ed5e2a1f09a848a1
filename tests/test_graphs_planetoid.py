"""Planetoid's eight files: against PyG's reader, from every protocol of pickles, and what is refused."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graph_files import dense, equal_splits, little_memory, pairs, planetoid_objects, refusal, write_planetoid
from settwister.graphs import from_pyg, load


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # PyG makes a numpy.matrix on the way
@pytest.mark.parametrize(
    ("name", "gaps", "binary"), [("Cora", (), True), ("CiteSeer", (523, 530), True), ("PubMed", (), False)]
)
def test_planetoid_is_what_pyg_makes_of_it(name: str, gaps: tuple[int, ...], binary: bool, tmp_path: Path) -> None:
    from torch_geometric.datasets import Planetoid

    objects = planetoid_objects(gaps, binary)
    write_planetoid(tmp_path / name / "raw", name.lower(), objects)
    graph, data = load(name.lower(), tmp_path), Planetoid(str(tmp_path), name)[0]
    assert torch.equal(dense(graph.x), data.x)
    assert torch.equal(graph.y, data.y)
    assert pairs(graph) == set(zip(*data.edge_index.tolist(), strict=True))
    assert equal_splits(graph, from_pyg(data))
    assert graph.given_edges == 903 + 12  # the loop is twice in its list, and so are the repeated edges
    assert graph.num_edges < graph.given_edges
    for gap in gaps:
        assert graph.degrees[gap] == 0
        assert not dense(graph.x)[gap].any()


def as_python_2(content: bytes) -> bytes:
    """The same pickle as numpy and scipy wrote it then."""
    return content.replace(b"numpy._core", b"numpy.core").replace(b"scipy.sparse._csr", b"scipy.sparse.csr")


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_planetoid_is_read_from_every_protocol_and_old_names(protocol: int, tmp_path: Path) -> None:
    objects = planetoid_objects()
    write_planetoid(tmp_path / "cora" / "raw", "cora", objects, protocol)
    first = load("cora", tmp_path)
    old = {
        name: as_python_2(pickle.dumps(value, min(protocol, 2))) if name != "test.index" else value
        for name, value in objects.items()
    }
    write_planetoid(tmp_path / "old" / "cora" / "raw", "cora", old)
    second = load("cora", tmp_path / "old")
    assert torch.equal(dense(first.x), dense(second.x))
    assert pairs(first) == pairs(second)
    assert torch.equal(first.y, second.y)


def bent(matrix: Any, **state: Any) -> Any:
    """A csr_matrix whose parts do not fit, as no honest program would write it."""
    copy = matrix.copy()
    copy.__dict__.update(state)
    return copy


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda o: {"tx": o["tx"][:-1]}, "ind.cora.tx has 11 rows of 17, expected 12, as there are labels, of 17"),
        (lambda o: {"tx": o["tx"][:, :-1]}, "ind.cora.tx has 12 rows of 16"),
        (lambda o: {"allx": bent(o["allx"], indices=o["allx"].indices + 17)}, "expected 0 to 16"),
        (lambda o: {"allx": bent(o["allx"], indptr=o["allx"].indptr[:-1])}, "there are 520 row starts, expected 521"),
        (lambda o: {"allx": bent(o["allx"], data=o["allx"].data[:-1])}, "the sparse features have"),
        (lambda o: {"allx": bent(o["allx"], _shape=(520, -1))}, "a matrix has the shape (520, -1)"),
        (
            lambda o: {"allx": bent(o["allx"], _shape=(520, 10**12))},
            "there are 1000000000000 features, expected at most",
        ),
        (lambda o: {"allx": o["ally"]}, "there is a ndarray, expected a csr_matrix"),
        (lambda o: {"allx": o["allx"] * np.float32("nan")}, "x has values that are NaN or infinite"),
        (lambda o: {"ally": o["allx"]}, "there is no table of numbers"),
        (lambda o: {"graph": {0: [532]}}, "node 532 has an edge, expected nodes 0 to 531"),
        (lambda o: {"graph": {-1: [0]}}, "node -1 has an edge"),
        (lambda o: {"graph": {0: [1.5]}}, "node 1.5 has an edge"),
        (lambda o: {"graph": {0: ["a" * 10**6]}}, "a' has an edge, expected nodes 0 to 531"),
        (
            lambda o: {"graph": b"}(K\x00](" + b"(" * 10**5 + b"t" * 10**5 + b"eu."},
            "has an edge, expected nodes 0 to 531",
        ),
        (lambda o: {"graph": [0]}, "there are no adjacency lists"),
        (lambda o: {"test.index": o["test.index"][:-1]}, "there are 11 different nodes, expected 12"),
        (lambda o: {"test.index": [*o["test.index"][1:], 10**12]}, "expected about 12 from 520 on"),
        (lambda o: {"test.index": [*o["test.index"][1:], 3]}, "nodes 3 to 531 are tested"),
        (lambda o: {"test.index": ["one"]}, "cannot be read (invalid literal"),
        (lambda o: {"allx": o["allx"][:300], "ally": o["ally"][:300]}, "ind.cora."),
    ],
)
def test_bad_planetoid_files_are_refused(change: Callable[[Any], Any], sentence: str, tmp_path: Path) -> None:
    objects = planetoid_objects()
    write_planetoid(tmp_path / "cora" / "raw", "cora", objects | change(objects))
    said = refusal(lambda: load("cora", tmp_path))
    assert sentence in said
    assert len(said) < 1000


def test_one_list_for_every_node_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle names it as often as it likes; as an array it would be there as often."""
    ends = [0] * 100_000
    write_planetoid(tmp_path / "cora" / "raw", "cora", planetoid_objects() | {"graph": dict.fromkeys(range(500), ends)})
    assert (tmp_path / "cora" / "raw" / "ind.cora.graph").stat().st_size < 250_000
    with little_memory():
        said = refusal(lambda: load("cora", tmp_path))
    assert "ind.cora.graph: there are 50000000 edges, expected at most 16777216" in said


@pytest.mark.parametrize("ending", ["x", "graph", "test.index"])
def test_files_of_a_terabyte_of_nothing_are_refused(ending: str, tmp_path: Path) -> None:
    write_planetoid(tmp_path / "cora" / "raw", "cora", planetoid_objects())
    path = tmp_path / "cora" / "raw" / f"ind.cora.{ending}"
    with path.open("r+b") as handle:
        handle.truncate(2**40)
    assert f"{path}: there are 1099511627776 bytes, expected at most" in refusal(lambda: load("cora", tmp_path))
