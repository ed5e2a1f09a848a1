"""Graphs: every format against its own library's reader, what is refused, and the real ones where they are."""

import gzip
import hashlib
import io
import itertools
import json
import os
import pickle
import ssl
import sys
import urllib.request
import zipfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import example, given
from hypothesis import strategies as some

from settwister import InputError, paper
from settwister.cli import main
from settwister.functional import Csr
from settwister.graphs import (
    GRAPHS,
    Graph,
    available,
    download,
    from_pyg,
    load,
    neighbour_sets,
    open_folder,
    random_split,
    save_folder,
    scaled,
)
from settwister.graphs import arxiv as arxiv_format
from settwister.graphs import folder as folder_format
from settwister.graphs import npz as npz_format
from settwister.graphs.download import Download
from settwister.graphs.features import from_entries
from settwister.graphs.parts import Parts, fingerprint
from settwister.graphs.splits import stratified_parts
from settwister.graphs.synthetic import pairwise_graph, stand_in
from settwister.nn.features import row_normalised

PARTS = ("train", "validation", "test")


def dense(x: torch.Tensor | Csr) -> torch.Tensor:
    """The slow and obvious way: one entry at a time."""
    if isinstance(x, torch.Tensor):
        return x
    out = torch.zeros(x.num_sets, x.num_elements)
    for row in range(x.num_sets):
        for place in range(int(x.ptr[row]), int(x.ptr[row + 1])):
            out[row, int(x.index[place])] += 1.0 if x.weight is None else float(x.weight[place])
    return out


def pairs(graph: Graph) -> set[tuple[int, int]]:
    """(node, neighbour), all of them."""
    return set(zip(graph.neighbours.rows.tolist(), graph.neighbours.index.tolist(), strict=True))


def equal_splits(first: Graph, second: Graph) -> bool:
    assert {name: len(splits) for name, splits in first.splits.items()} == {
        name: len(splits) for name, splits in second.splits.items()
    }
    return all(
        torch.equal(getattr(a, part), getattr(b, part))
        for name in first.splits
        for a, b in zip(first.splits[name], second.splits[name], strict=True)
        for part in PARTS
    )


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- the graph ------------------------------------------------------------------------------------------------------


def test_an_edge_counts_both_ways_and_once_and_loops_not_at_all() -> None:
    edges = torch.tensor([[0, 1, 0, 0, 2, 2], [1, 0, 1, 2, 2, 0]])
    graph = Graph.make(torch.ones(4, 1), edges, [0, 1, 0, 1])
    assert pairs(graph) == {(0, 1), (1, 0), (0, 2), (2, 0)}
    assert graph.degrees.tolist() == [2, 1, 1, 0]
    assert (graph.num_edges, graph.given_edges, graph.num_nodes) == (2, 6, 4)
    directed = Graph.make(torch.ones(4, 1), edges, [0, 1, 0, 1], directed=True, loops=True)
    assert pairs(directed) == {(1, 0), (0, 1), (2, 0), (2, 2), (0, 2)}
    assert directed.num_edges == 2


@given(
    edges=some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4), some.integers(0, 12)), max_size=30),
    directed=some.booleans(),
    loops=some.booleans(),
    weighted=some.booleans(),
)
def test_neighbourhoods_are_what_a_loop_over_the_edges_finds(
    edges: list[tuple[int, int, int]], directed: bool, loops: bool, weighted: bool
) -> None:
    """An edge that is given again is one edge, and weighs as much as all its copies; a loop is its own other way."""
    expected: dict[tuple[int, int], float] = defaultdict(float)
    for source, target, quarters in edges:
        if source == target and not loops:
            continue
        expected[target, source] += quarters / 4
        if not directed and source != target:
            expected[source, target] += quarters / 4
    ends = torch.tensor([edge[:2] for edge in edges], dtype=torch.long).reshape(-1, 2).t()
    weight = torch.tensor([edge[2] / 4 for edge in edges])
    found = neighbour_sets(ends, 5, weight=weight if weighted else None, directed=directed, loops=loops)
    values = torch.ones(len(found.index)) if found.weight is None else found.weight
    listed = list(zip(found.rows.tolist(), found.index.tolist(), strict=True))
    assert listed == sorted(expected), "each once, in order"
    assert values.tolist() == [expected[pair] if weighted else 1.0 for pair in listed]
    assert found.transpose is not None
    torch.testing.assert_close(dense(found) @ torch.eye(5), found.sum(torch.eye(5)))


def test_weights_are_one_per_edge() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    assert "weight has shape (3,), expected (2,), one per edge" in refusal(
        lambda: neighbour_sets(edges, 3, weight=torch.ones(3))
    )
    graph = Graph.make(torch.ones(3, 1), edges, [0, 1, 0], weight=torch.tensor([0.5, 2.0]))
    assert dense(graph.neighbours).tolist() == [[0.0, 0.5, 0.0], [0.5, 0.0, 2.0], [0.0, 2.0, 0.0]]


def test_unknown_labels_are_negative_and_not_labelled() -> None:
    graph = Graph.make(torch.ones(4, 1), torch.zeros(2, 0, dtype=torch.long), [2, -7, 0, -1])
    assert graph.y.tolist() == [2, -1, 0, -1]
    assert graph.labelled.tolist() == [0, 2]
    assert graph.num_classes == 3
    assert graph.num_edges == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((torch.tensor([[float("nan")]]), [[0], [0]], [0]), "x has values that are NaN or infinite"),
        ((torch.ones(2, 1), [[0], [2]], [0, 1]), "edges hold node 2, expected ids from 0 to 1"),
        ((torch.ones(2, 1), [[-1], [1]], [0, 1]), "edges hold node -1, expected ids from 0 to 1"),
        ((torch.ones(2, 1), [[0.5], [1.0]], [0, 1]), "edges are float32 of shape (2, 1), expected whole numbers"),
        ((torch.ones(2, 1), [[0], [1]], [0]), "y has shape (1,), expected (2,)"),
        ((torch.ones(0, 1), [[], []], []), "x has 0 rows"),
    ],
)
def test_bad_graphs_are_refused(arguments: tuple[Any, ...], sentence: str) -> None:
    assert sentence in refusal(lambda: Graph.make(*arguments))


@given(nodes=some.integers(5, 60), seed=some.integers(0, 5))
def test_random_splits_are_disjoint_complete_and_the_same_again(nodes: int, seed: int) -> None:
    labelled = torch.arange(nodes) * 3
    split, again = random_split(labelled, seed), random_split(labelled, seed)
    parts = [getattr(split, part) for part in PARTS]
    assert torch.equal(torch.cat(parts).sort().values, labelled)
    assert all(torch.equal(part, getattr(again, name)) for part, name in zip(parts, PARTS, strict=True))
    assert len(split.train) == round(0.6 * nodes)


def test_random_splits_differ_by_seed_and_need_a_share_for_each_part() -> None:
    assert not torch.equal(random_split(torch.arange(100), 0).test, random_split(torch.arange(100), 1).test)
    assert "expected positive shares" in refusal(lambda: random_split(torch.arange(9), 0, 0.8, 0.2))
    assert "cannot be cut in three" in refusal(lambda: random_split(torch.arange(2), 0))


@given(
    sizes=some.lists(some.integers(1, 30), min_size=1, max_size=5),
    shares=some.sampled_from([(0.6, 0.2, 0.2), (0.8, 0.2), (0.2, 0.4, 0.4), (0.5, 0.0, 0.5), (0.1, 0.9), (1.0, 0.0)]),
    seed=some.integers(0, 5),
)
@example(sizes=[1, 2, 3, 4], shares=(0.2, 0.4, 0.4), seed=0)
@example(sizes=[1, 2, 3, 4], shares=(0.6, 0.2, 0.2), seed=0)
def test_every_class_is_cut_in_the_same_shares(sizes: list[int], shares: tuple[float, ...], seed: int) -> None:
    """To within one node, unless a part would get none; the smallest classes are in the first parts only."""
    classes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    parts = stratified_parts(classes, shares, seed)
    np.testing.assert_array_equal(parts, stratified_parts(classes, shares, seed))
    wanted = [part for part, share in enumerate(shares) if share > 0]
    for one, size in enumerate(sizes):
        counts = np.bincount(parts[classes == one], minlength=len(shares))
        assert counts.sum() == size
        assert len(counts) == len(shares)
        assert all((counts[part] > 0) == (part in wanted[:size]) for part in range(len(shares)) if size <= len(wanted))
        assert all((counts[part] > 0) == (part in wanted) for part in range(len(shares)) if size >= len(wanted))
        if size * min(shares[part] for part in wanted) >= 1:
            assert np.abs(counts - size * np.array(shares)).max() <= 1


def test_which_members_of_a_class_go_where_is_random() -> None:
    classes = np.repeat([0, 1], 500)
    one, other = (stratified_parts(classes, (0.5, 0.5), seed) for seed in (0, 1))
    assert 0.4 < np.mean(one == other) < 0.6
    assert 0.4 < np.mean(one[::2]) < 0.6, "not by place"
    assert 0.4 < np.mean(one[:500] == one[500:]) < 0.6, "not alike in all classes"


# ---- features -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [True, False])
def test_sparse_features_are_scaled_as_dense_ones(binary: bool) -> None:
    random = np.random.default_rng(0)
    table = np.where(random.random((30, 6)) < 0.4, random.normal(size=(30, 6)), 0).astype(np.float32)
    table[:, 0], table[:, 1] = 0.1, 0  # a constant column has no spread, up to rounding, and an empty one none at all
    table = (table != 0).astype(np.float32) if binary else table
    rows, columns = table.nonzero()
    sparse = from_entries(rows, columns, table[rows, columns], 30, 6)
    assert (sparse.weight is None) == binary
    full = torch.from_numpy(table)
    spread = torch.tensor([1.0 if column < 2 else float(table[:, column].astype(float).std()) for column in range(6)])
    torch.testing.assert_close(scaled(full), full / spread)
    torch.testing.assert_close(dense(scaled(sparse)), full / spread)
    total = full.abs().sum(1, keepdim=True)
    torch.testing.assert_close(row_normalised(full), full / total)
    torch.testing.assert_close(dense(row_normalised(sparse)), full / total)


def test_sparse_features_keep_their_gradients() -> None:
    table = torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    rows, columns = (part.numpy() for part in table.nonzero(as_tuple=True))
    x = row_normalised(from_entries(rows, columns, table.numpy()[rows, columns], 3, 2))
    assert isinstance(x, Csr)
    weight = torch.randn(2, 4, requires_grad=True)
    (x.sum(weight) * torch.arange(3.0).unsqueeze(1)).sum().backward()
    torch.testing.assert_close(weight.grad, torch.tensor([[1.0] * 4, [0.0] * 4]))


# ---- npz ------------------------------------------------------------------------------------------------------------


def few_arrays(nodes: int = 12, features: int = 5) -> dict[str, Any]:
    x = scipy.sparse.random(nodes, features, 0.5, "csr", np.float32, np.random.default_rng(1))
    masks = np.arange(nodes) % 3
    geom = np.stack([(masks + shift) % 3 for shift in range(2)])
    return {
        "x_indptr": x.indptr,
        "x_indices": x.indices.astype(np.int16),
        "x_shape": np.array([nodes, features]),
        "x_data": x.data,
        "edge_index": np.stack([np.arange(nodes - 1), np.arange(1, nodes)]).astype(np.int32),
        "y": (np.arange(nodes) % 4).astype(np.int16),
        **{f"{name}_mask": masks == i for i, name in enumerate(("train", "val", "test"))},
        **{f"geom_{name}_mask": geom == i for i, name in enumerate(("train", "val", "test"))},
    }


def write_npz(folder: Path, name: str, arrays: dict[str, Any]) -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / name / f"{name}.npz", **arrays)
    return folder / name / f"{name}.npz"


def test_npz_is_read_sparse_and_dense(tmp_path: Path) -> None:
    arrays = few_arrays()
    write_npz(tmp_path, "cora", arrays)
    sparse = load("cora", tmp_path)
    expected = scipy.sparse.csr_matrix((arrays["x_data"], arrays["x_indices"], arrays["x_indptr"]), arrays["x_shape"])
    assert np.array_equal(dense(sparse.x).numpy(), expected.toarray())
    assert sparse.y.tolist() == arrays["y"].tolist()
    assert (sparse.num_edges, sparse.given_edges, sparse.name, sparse.balanced) == (11, 11, "cora", False)
    assert {name: len(splits) for name, splits in sparse.splits.items()} == {"public": 1, "geom": 2}
    assert sparse.splits["geom"][1].train.tolist() == arrays["geom_train_mask"][1].nonzero()[0].tolist()
    kept = {name: array for name, array in arrays.items() if not name.startswith("x_")}
    write_npz(tmp_path, "cora", kept | {"x": expected.toarray()})
    full = load("cora", tmp_path)
    assert isinstance(full.x, torch.Tensor)
    assert full.x.dtype == torch.float32
    assert torch.equal(full.x, dense(sparse.x))
    assert equal_splits(full, sparse)


def test_npz_without_values_is_all_ones(tmp_path: Path) -> None:
    arrays = few_arrays()
    del arrays["x_data"]
    write_npz(tmp_path, "citeseer", arrays)
    graph = load("citeseer", tmp_path)
    assert isinstance(graph.x, Csr)
    assert graph.x.weight is None
    assert int(dense(graph.x).sum()) == len(arrays["x_indices"])


def test_splits_are_called_what_their_graph_calls_them(tmp_path: Path) -> None:
    arrays = {name: array for name, array in few_arrays().items() if not name.startswith("geom")}
    for name in ("arxiv", "pubmed"):
        write_npz(tmp_path, name, arrays)
    wikics = arrays | {f"{part}_mask": np.tile(arrays[f"{part}_mask"], (20, 1)) for part in ("train", "val")}
    write_npz(tmp_path, "wikics", wikics)
    found = {
        name: {f: len(s) for f, s in load(name, tmp_path).splits.items()} for name in ("arxiv", "pubmed", "wikics")
    }
    assert found == {"arxiv": {"year": 1}, "pubmed": {"public": 1}, "wikics": {"official": 20}}


def test_friendster_has_unknown_labels_and_uneven_classes(tmp_path: Path) -> None:
    arrays = {name: array for name, array in few_arrays().items() if not name.startswith("geom")}
    arrays["y"] = np.where(arrays["train_mask"] | arrays["val_mask"] | arrays["test_mask"], arrays["y"], 4)
    arrays["y"][0], arrays["train_mask"][0] = 4, False
    write_npz(tmp_path, "friendster", arrays)
    graph = load("friendster", tmp_path)
    assert (graph.num_classes, graph.balanced, list(graph.splits)) == (4, True, ["fixed"])
    assert graph.y[0] == -1
    assert 0 not in graph.labelled
    assert isinstance(graph.x, Csr)
    assert graph.x.weight is None or bool((graph.x.weight != 0).all())
    arrays["train_mask"][0] = True
    path = write_npz(tmp_path, "friendster", arrays)
    assert f"{path}: a node of the split fixed has no label" in refusal(lambda: load("friendster", tmp_path))
    arrays["y"][1] = 5
    write_npz(tmp_path, "friendster", arrays | {"train_mask": arrays["train_mask"] & (arrays["y"] < 4)})
    assert "y holds 5, expected labels below num_classes=4" in refusal(lambda: load("friendster", tmp_path))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": None}, "there is no array y, expected edge_index, y and features"),
        ({"x_shape": None}, "there are no features, expected x, or x_indptr"),
        ({"x_shape": np.array([12, 2])}, "name column 4, expected 0 to 1"),
        ({"x_shape": np.array([10**12, 5])}, "x_shape is (1000000000000, 5), expected 12 rows"),
        ({"x_indices": np.full(30, -1)}, "the sparse features name column"),
        ({"x_indptr": np.arange(13)[::-1]}, "row starts that do not rise from 0 to"),
        ({"x_data": np.ones(3)}, "have 3 values (float64), expected"),
        ({"x_data": np.full(30, np.nan, np.float32)}, "x has values that are NaN or infinite"),
        ({"x": np.ones(12)}, "x is float64 of shape (12,), expected numbers of shape (nodes, features)"),
        ({"x": np.array([["a"] * 5] * 12)}, "x is <U1 of shape (12, 5), expected numbers"),
        ({"x": np.ones((12, 5), dtype=object)}, "cannot be read (Object arrays cannot be loaded"),
        ({"y": np.zeros(11, int)}, "y is int64 of shape (11,), expected whole numbers of shape (12,)"),
        ({"y": np.zeros(12)}, "y is float64 of shape (12,), expected whole numbers"),
        ({"edge_index": np.zeros((3, 4), int)}, "edge_index is int64 of shape (3, 4)"),
        ({"edge_index": np.array([[0], [12]])}, "edges hold node 12, expected ids from 0 to 11"),
        ({"train_mask": np.ones(12, bool)}, "8 nodes are in more than one part of a split, expected disjoint masks"),
        ({"train_mask": np.ones(11, bool)}, "a mask of the splits is bool of shape (11,)"),
        ({"val_mask": np.zeros(12)}, "a mask of the splits is float64 of shape (12,), expected booleans"),
        ({"geom_test_mask": None}, "one of the masks geom_train_mask, geom_val_mask, geom_test_mask is missing"),
    ],
)
def test_bad_npz_is_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    arrays = few_arrays() | change
    path = write_npz(tmp_path, "pubmed", {name: array for name, array in arrays.items() if array is not None})
    assert len(few_arrays()["x_indices"]) == 30
    said = refusal(lambda: load("pubmed", tmp_path))
    assert sentence in said
    assert said.startswith(str(path))


@pytest.mark.parametrize("kept", [0, 10, 300, -30])
def test_truncated_npz_is_refused(kept: int, tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    path.write_bytes(path.read_bytes()[:kept])
    assert refusal(lambda: load("pubmed", tmp_path)).startswith(f"{path} cannot be read")


# ---- Planetoid ------------------------------------------------------------------------------------------------------


def planetoid_objects(gaps: tuple[int, ...] = (), binary: bool = True) -> dict[str, Any]:
    """The eight objects of a small graph, with repeated edges, a loop and shuffled test nodes."""
    random, train, rest, test, features, classes = np.random.default_rng(2), 9, 520, 12, 17, 3
    x = scipy.sparse.random(rest + test, features, 0.2, "csr", np.float32, random)
    if binary:
        x.data[:] = 1
    y = np.eye(classes, dtype=np.int32)[random.integers(classes, size=rest + test)]
    index = random.permutation([node for node in range(rest, rest + test + len(gaps)) if node not in gaps])
    graph: defaultdict[int, list[int]] = defaultdict(list)
    for first, second in [*random.integers(rest, size=(900, 2)).tolist(), [1, 1], [2, 3], [2, 3]]:
        graph[first].append(second)
        graph[second].append(first)
    for node in index.tolist():
        graph[node].append(5)
        graph[5].append(node)
    return {
        **{"x": x[:train], "tx": x[rest:], "allx": x[:rest]},
        **{"y": y[:train], "ty": y[rest:], "ally": y[:rest]},
        **{"graph": graph, "test.index": index},
    }


def write_planetoid(folder: Path, name: str, objects: dict[str, Any], protocol: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for ending, value in objects.items():
        path = folder / f"ind.{name}.{ending}"
        if ending == "test.index":
            path.write_text("".join(f"{node}\n" for node in value))
        else:
            path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol))


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


class Harmful:
    """What a pickle can do to whoever trusts it."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> Any:
        return self.call, self.arguments


@pytest.mark.parametrize("ending", ["x", "tx", "allx", "y", "ty", "ally", "graph"])
def test_harmful_pickles_run_nothing(ending: str, tmp_path: Path) -> None:
    objects, trace = planetoid_objects(), tmp_path / "trace"
    for call, arguments in [(os.system, (f"touch {trace}",)), (eval, (f"open({str(trace)!r}, 'w')",))]:
        for protocol in (0, 2, 4):
            bomb = pickle.dumps({"inside": [Harmful(call, *arguments)]}, protocol)
            write_planetoid(tmp_path / "cora" / "raw", "cora", objects | {ending: bomb})
            said = refusal(lambda: load("cora", tmp_path))
            assert f"ind.cora.{ending} cannot be read (it names " in said
            assert "nothing was run" in said
            assert not trace.exists()


def pickled(*instructions: bytes) -> bytes:
    return b"\x80\x02" + b"".join(instructions) + b"."


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80",
        b"not a pickle",
        pickle.dumps("text", 2),
        pickle.dumps(planetoid_objects()["x"], 2)[:-40],
        pickled(b"cnumpy\nndarray\n", b"}(U\x05valueK\x01ub"),  # a state for the class itself
        pickled(b"cnumpy._core.multiarray\n_reconstruct\n", b"N}U\x0c__defaults__K\x01s\x86b"),  # and for a function
        pickled(b"c__builtin__\nlist\n", b"N}U\x06appendK\x01s\x86b"),
        pickled(b"ccopy_reg\n_reconstructor\n", b"(cnumpy\nndarray\nc__builtin__\nobject\nNtR"),
        pickled(b"cnumpy\ndtype\n", b"(U\x02O4K\x00K\x01tR"),
        pickled(b"c_codecs\nencode\n", b"(X\x01\x00\x00\x00aX\x05\x00\x00\x00rot13tR"),
        pickled(b"Nr\xff\xff\xff\x7f"),  # a memo of two thousand million entries
        pickle.dumps(np.array(["a", "b"]), 2),
        pickle.dumps(np.array([object], dtype=object), 2),
    ],
)
def test_broken_pickles_are_one_sentence(content: bytes, tmp_path: Path) -> None:
    write_planetoid(tmp_path / "cora" / "raw", "cora", planetoid_objects() | {"allx": content})
    assert "ind.cora.allx" in refusal(lambda: load("cora", tmp_path))


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
        (lambda o: {"allx": o["ally"]}, "there is a ndarray, expected a csr_matrix"),
        (lambda o: {"allx": o["allx"] * np.float32("nan")}, "x has values that are NaN or infinite"),
        (lambda o: {"ally": o["allx"]}, "there is no table of numbers"),
        (lambda o: {"graph": {0: [532]}}, "node 532 has an edge, expected nodes 0 to 531"),
        (lambda o: {"graph": {-1: [0]}}, "node -1 has an edge"),
        (lambda o: {"graph": {0: [1.5]}}, "node 1.5 has an edge"),
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
    assert sentence in refusal(lambda: load("cora", tmp_path))


# ---- WikiCS ---------------------------------------------------------------------------------------------------------


def wikics_content(nodes: int = 15) -> dict[str, Any]:
    random, part = np.random.default_rng(3), np.arange(nodes) % 4
    return {
        "features": random.normal(size=(nodes, 4)).round(4).tolist(),
        "labels": (np.arange(nodes) % 3).tolist(),
        "links": [random.integers(nodes, size=random.integers(4)).tolist() for _ in range(nodes)],
        **{name: [(part == i).tolist()] * 20 for i, name in enumerate(("train_masks", "val_masks", "stopping_masks"))},
        "test_mask": (part == 3).tolist(),
    }


def write_wikics(folder: Path, content: Any) -> Path:
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    (folder / "raw" / "data.json").write_text(json.dumps(content))
    return folder / "raw" / "data.json"


def test_wikics_is_what_pyg_makes_of_it(tmp_path: Path) -> None:
    from torch_geometric.datasets import WikiCS
    from torch_geometric.utils import remove_self_loops

    content = wikics_content()
    write_wikics(tmp_path / "WikiCS", content)
    graph, data = load("wikics", tmp_path), WikiCS(str(tmp_path / "WikiCS"), is_undirected=True)[0]
    assert torch.equal(dense(graph.x), data.x)
    assert torch.equal(graph.y, data.y)
    assert pairs(graph) == set(zip(*remove_self_loops(data.edge_index)[0].tolist(), strict=True))
    assert graph.given_edges == sum(map(len, content["links"]))
    assert len(graph.splits["official"]) == 20
    data.test_mask = data.test_mask.unsqueeze(1).expand(-1, 20)
    assert equal_splits(replace(graph, splits={"public": graph.splits["official"]}), from_pyg(data))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"labels": None}, "labels"),
        ({"features": [[1.0, 2.0], [3.0]]}, "cannot be read ("),
        ({"features": [1.0] * 15}, "features have shape (15,), expected (nodes, features)"),
        ({"features": [[float("nan")] * 4] * 15}, "x has values that are NaN or infinite"),
        ({"links": [[1]]}, "links are not lists for 15 nodes"),
        ({"links": [[15]] + [[]] * 14}, "edges hold node 15, expected ids from 0 to 14"),
        ({"links": [[0.5]] + [[]] * 14}, "links is float64"),
        ({"train_masks": [[True] * 15] * 20}, "nodes are in more than one part of a split"),
        ({"train_masks": [[2] * 15] * 20}, "train_masks holds other things than true and false"),
        ({"test_mask": [True] * 3}, "a mask of the splits is bool of shape (3,)"),
    ],
)
def test_bad_wikics_is_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = write_wikics(tmp_path / "wikics", wikics_content() | change)
    said = refusal(lambda: load("wikics", tmp_path))
    assert sentence in said
    assert str(path.parent.parent) in said


@pytest.mark.parametrize("content", ["", "[]", "{", '{"features": ' + "[" * 100_000])
def test_wikics_that_is_not_its_json_is_refused(content: str, tmp_path: Path) -> None:
    path = write_wikics(tmp_path / "wikics", {})
    path.write_text(content)
    assert str(path) in refusal(lambda: load("wikics", tmp_path))


# ---- arxiv ----------------------------------------------------------------------------------------------------------


def arxiv_tables(nodes: int = 20) -> dict[str, Any]:
    random, year = np.random.default_rng(4), 2015 + np.arange(nodes) % 5
    return {
        "raw/edge.csv.gz": random.integers(nodes, size=(40, 2)),
        "raw/node-feat.csv.gz": random.normal(size=(nodes, 3)).round(3),
        "raw/node-label.csv.gz": np.arange(nodes) % 7,
        "raw/node_year.csv.gz": year,
        "split/time/train.csv.gz": (year <= 2017).nonzero()[0],
        "split/time/valid.csv.gz": (year == 2018).nonzero()[0],
        "split/time/test.csv.gz": (year >= 2019).nonzero()[0],
    }


def write_arxiv(folder: Path, tables: dict[str, Any]) -> None:
    for name, table in tables.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(",".join(map(str, np.atleast_1d(row))) + "\n" for row in table)
        path.write_bytes(gzip.compress(lines.encode()))


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


# ---- Friendster -----------------------------------------------------------------------------------------------------


def friendster_objects(nodes: int = 16) -> dict[str, Any]:
    random = np.random.default_rng(5)
    lists: list[list[int]] = [[] for _ in range(nodes)]
    for first, second in {tuple(sorted(pair)) for pair in random.integers(nodes, size=(30, 2)).tolist()}:
        if first != second:
            lists[first].append(second)
            lists[second].append(first)
    return {
        "features": random.integers(3, size=(nodes, 6)).astype(np.float64),
        "target": np.where(np.arange(nodes) < 13, np.arange(nodes) % 4, 4),
        "adjacency": lists,
        "split": [np.arange(0, 6), np.arange(6, 9), np.arange(9, 13)],
    }


def write_friendster(folder: Path, objects: dict[str, Any]) -> None:
    h5py = pytest.importorskip("h5py")
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / "raw" / "friendster_25K.h5", "w") as file:
        for name in ("features", "target"):
            file[name] = objects[name]
        stored = file.create_dataset("adjacency", (len(objects["adjacency"]),), dtype=h5py.vlen_dtype(np.int64))
        for node, ends in enumerate(objects["adjacency"]):
            stored[node] = ends
    parts = np.empty(len(objects["split"]), dtype=object)
    for i, part in enumerate(objects["split"]):
        parts[i] = part
    np.savez(folder / "raw" / "friendster_25K.split.npz", parts)


def test_friendster_is_read_from_its_published_form(tmp_path: Path) -> None:
    objects = friendster_objects()
    write_friendster(tmp_path / "Friendster-25K", objects)
    graph = load("friendster", tmp_path)
    torch.testing.assert_close(dense(graph.x), torch.from_numpy(objects["features"]).float())
    assert graph.y.tolist() == [*(np.arange(13) % 4).tolist(), -1, -1, -1]
    assert pairs(graph) == {(node, end) for node, ends in enumerate(objects["adjacency"]) for end in ends}
    assert graph.given_edges == graph.num_edges
    assert [getattr(graph.splits["fixed"][0], part).tolist() for part in PARTS] == [
        part.tolist() for part in objects["split"]
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"features": np.ones(16)}, "features have shape (16,), expected numbers"),
        ({"features": np.full((16, 2), np.inf)}, "x has values that are NaN or infinite"),
        ({"target": np.zeros(15, int)}, "target is int64 of shape (15,)"),
        ({"adjacency": [[1]] * 4}, "adjacency has shape (4,), expected 16 lists of node numbers"),
        ({"adjacency": [[16]] * 16}, "edges hold node 16, expected ids from 0 to 15"),
        ({"split": [np.arange(3)]}, "arr_0 has 1 parts, expected 3"),
        ({"split": [np.arange(3), np.arange(3), np.arange(3)]}, "3 nodes are in more than one part"),
        ({"split": [np.arange(3), np.arange(2, 4), np.arange(5, 7)]}, "1 nodes are in more than one part"),
        ({"split": [np.arange(3), np.arange(4, 6), np.arange(7, 15)]}, "a node of the split fixed has no label"),
        ({"split": [Harmful(os.system, "true"), 0, 0]}, "which no published graph needs: nothing was run"),
    ],
)
def test_bad_friendster_is_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    write_friendster(tmp_path / "friendster", friendster_objects() | change)
    assert sentence in refusal(lambda: load("friendster", tmp_path))


def test_friendster_reads_nothing_outside_its_file(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    write_friendster(tmp_path / "friendster", friendster_objects())
    path = tmp_path / "friendster" / "raw" / "friendster_25K.h5"
    path.rename(tmp_path / "elsewhere.h5")
    with h5py.File(path, "w") as file:
        for name in ("features", "target", "adjacency"):
            file[name] = h5py.ExternalLink(str(tmp_path / "elsewhere.h5"), name)
    assert f"{path}: there is no features in it" in refusal(lambda: load("friendster", tmp_path))
    path.write_bytes(path.read_bytes()[:100])
    assert refusal(lambda: load("friendster", tmp_path)).startswith(f"{path} cannot be read")


# ---- PyG's Data -----------------------------------------------------------------------------------------------------


def test_data_of_pyg_becomes_a_graph() -> None:
    from torch_geometric.data import Data

    masks = torch.tensor([0, 0, 1, 2])
    data = Data(
        x=torch.eye(4, dtype=torch.float64),
        edge_index=torch.tensor([[0, 1, 2], [1, 0, 3]]),
        y=torch.tensor([[0], [1], [1], [2]]),
        train_mask=masks == 0,
        val_mask=masks == 1,
        test_mask=masks == 2,
    )
    graph = from_pyg(data, name="mine")
    assert pairs(graph) == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert (graph.name, graph.y.tolist(), graph.num_classes) == ("mine", [0, 1, 1, 2], 3)
    assert graph.splits["public"][0].train.tolist() == [0, 1]
    assert pairs(from_pyg(data, directed=True)) == {(1, 0), (0, 1), (3, 2)}
    assert "y is torch.float32" in refusal(
        lambda: from_pyg(Data(x=data.x, edge_index=data.edge_index, y=torch.ones(4)))
    )
    assert "data lacks x, edge_index or y" in refusal(lambda: from_pyg(SimpleNamespace()))


# ---- where graphs are looked for ------------------------------------------------------------------------------------


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


# ---- downloads ------------------------------------------------------------------------------------------------------


class Server:
    """Answers as the network would, and counts."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.asked = files, list[str]()

    def __call__(self, url: str) -> Any:
        self.asked.append(url)
        if url not in self.files:
            raise urllib.error.URLError("no such host")
        response = io.BytesIO(self.files[url])
        response.headers = {"Content-Length": str(len(self.files[url]))}  # type: ignore[attr-defined]
        return response


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def wikics_server(monkeypatch: pytest.MonkeyPatch) -> Server:
    content = json.dumps(wikics_content()).encode()
    server = Server({"https://here/data.json": content})
    known = replace(GRAPHS["wikics"], downloads=(Download("https://here/data.json", "raw/data.json", digest(content)),))
    monkeypatch.setitem(GRAPHS, "wikics", known)
    monkeypatch.setattr(download, "_response", server)
    return server


def test_nothing_is_fetched_unless_asked(wikics_server: Server, tmp_path: Path) -> None:
    refusal(lambda: load("wikics", tmp_path))
    assert wikics_server.asked == []
    told: list[tuple[str, int, int | None]] = []
    graph = load("wikics", tmp_path, download=True, tell=lambda *what: told.append(what))
    assert graph.num_nodes == 15
    length = len(wikics_server.files["https://here/data.json"])
    assert told == [("data.json", length, length)]
    assert sorted(p.name for p in (tmp_path / "wikics").iterdir()) == ["SHA256SUMS", "raw"]
    load("wikics", tmp_path, download=True)
    assert len(wikics_server.asked) == 1


def test_fetched_files_are_compared_before_and_after(wikics_server: Server, tmp_path: Path) -> None:
    good = wikics_server.files["https://here/data.json"]
    wikics_server.files["https://here/data.json"] = good.replace(b"true", b"tRue", 1)
    assert f"expected {digest(good)}: nothing was kept" in refusal(lambda: load("wikics", tmp_path, download=True))
    assert list((tmp_path / "wikics").iterdir()) == []
    wikics_server.files["https://here/data.json"] = good
    load("wikics", tmp_path, download=True)
    path = tmp_path / "wikics" / "raw" / "data.json"
    path.write_bytes(good + b" ")
    assert f"{path} has changed since it was downloaded" in refusal(lambda: load("wikics", tmp_path))
    (tmp_path / "wikics" / "SHA256SUMS").write_text("nonsense\n")
    assert "SHA256SUMS cannot be read" in refusal(lambda: load("wikics", tmp_path))


def test_a_download_that_fails_is_one_sentence(
    wikics_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wikics_server.files.clear()
    assert "https://here/data.json cannot be fetched (" in refusal(lambda: load("wikics", tmp_path, download=True))
    wikics_server.files["https://here/data.json"] = b"much too long"
    monkeypatch.setattr(download, "LARGEST", 4)
    assert "has more than 4 bytes" in refusal(lambda: load("wikics", tmp_path, download=True))
    assert list((tmp_path / "wikics").iterdir()) == []


def test_an_archive_is_compared_and_only_its_tables_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_arxiv(tmp_path / "source", arxiv_tables())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../outside", "harm")
        for name in arxiv_tables():
            archive.write(tmp_path / "source" / name, f"arxiv/{name}")
    server = Server({"https://here/arxiv.zip": packed.getvalue()})
    monkeypatch.setattr(download, "_response", server)
    known = GRAPHS["arxiv"]
    there = replace(known.downloads[0], url="https://here/arxiv.zip", sha256=digest(packed.getvalue()))
    monkeypatch.setitem(GRAPHS, "arxiv", replace(known, downloads=(there,)))
    (tmp_path / "data").mkdir()
    assert load("arxiv", tmp_path / "data", download=True).num_nodes == 20
    assert sorted(p.name for p in (tmp_path / "data" / "arxiv").iterdir()) == ["SHA256SUMS", "raw", "split"]
    assert not (tmp_path / "data" / "outside").exists()
    assert not (tmp_path / "outside").exists()


def test_files_without_a_checksum_are_compared_by_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_friendster(tmp_path / "source" / "friendster", friendster_objects())
    known = GRAPHS["friendster"]
    parts = known.read(tmp_path / "source" / "friendster")
    files = {d.url: (tmp_path / "source" / "friendster" / d.path).read_bytes() for d in known.downloads}
    monkeypatch.setattr(download, "_response", Server(files))
    said = refusal(lambda: load("friendster", tmp_path, download=True))
    assert "what was fetched is not friendster: its fingerprint is" in said
    assert list((tmp_path / "friendster").iterdir()) == []
    monkeypatch.setitem(GRAPHS, "friendster", replace(known, prints=fingerprint(parts, "fixed")))
    assert load("friendster", tmp_path, download=True).num_nodes == 16


def test_a_fingerprint_is_of_the_graph_and_not_of_the_file() -> None:
    first = Parts(torch.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.tensor([[0, 1, 1], [1, 0, 1]]), torch.tensor([0, 1]))
    same = Parts(
        from_entries(np.array([1, 0]), np.array([0, 1]), np.array([1.0, 2.0]), 2, 2),
        torch.tensor([[1], [0]], dtype=torch.int32),
        torch.tensor([0, 1]),
    )
    assert fingerprint(first, "public") == fingerprint(same, "public")
    assert fingerprint(first, "public") != fingerprint(replace(first, y=torch.tensor([1, 1])), "public")


def test_only_verified_connections_are_made() -> None:
    handlers = {type(handler).__name__: handler for handler in download.opener().handlers}
    context: ssl.SSLContext = handlers["HTTPSHandler"]._context
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert "is not https" in refusal(lambda: download._response("http://here/data.json"))
    request = urllib.request.Request("https://here/data.json")
    moved = handlers["_StaysSecure"].redirect_request
    assert moved(request, io.BytesIO(), 302, "", {}, "https://there/").full_url == "https://there/"
    assert "is not https" in refusal(lambda: moved(request, io.BytesIO(), 302, "", {}, "http://there/"))
    for known in GRAPHS.values():
        assert all(one.url.startswith("https://") for one in known.downloads)
        assert {path for one in known.downloads for path in one.paths} == set(known.files)
        assert known.prints or all(len(one.sha256 or "") == 64 for one in known.downloads)


# ---- folders --------------------------------------------------------------------------------------------------------


def small_graph(sparse: bool = True, directed: bool = False) -> Graph:
    random = np.random.default_rng(6)
    table = np.where(random.random((40, 8)) < 0.3, random.normal(size=(40, 8)), 0).astype(np.float32)
    rows, columns = table.nonzero()
    x: torch.Tensor | Csr = torch.from_numpy(table)
    if sparse:
        x = from_entries(rows, columns, table[rows, columns], 40, 8)
    y = torch.arange(40) % 3
    y[39] = -1
    splits = {
        "public": [random_split(torch.arange(30), 0)],
        "more": [random_split(torch.arange(39), s) for s in (1, 2)],
    }
    edges = torch.from_numpy(random.integers(38, size=(2, 90)))
    return Graph.make(x, edges, y, directed=directed, name="small", splits=splits, balanced=True)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_a_folder_gives_the_graph_back_without_reading_it(sparse: bool, directed: bool, tmp_path: Path) -> None:
    graph = small_graph(sparse, directed)
    save_folder(graph, tmp_path / "graph")
    again = open_folder(tmp_path / "graph")
    assert torch.equal(dense(again.x), dense(graph.x))
    assert torch.equal(again.y, graph.y)
    assert pairs(again) == pairs(graph)
    assert equal_splits(again, graph)
    for field in ("num_classes", "name", "given_edges", "balanced"):
        assert getattr(again, field) == getattr(graph, field)
    mapped = [again.neighbours.index, again.y, again.x if isinstance(again.x, torch.Tensor) else again.x.weight]
    for tensor in mapped:
        assert tensor is not None
        assert any(str(tmp_path / "graph") in line and _covers(line, tensor) for line in _maps())
    values = torch.randn(40, 5, dtype=torch.float64, requires_grad=True)
    gradients = [torch.autograd.grad(g.neighbours.sum(values).square().sum(), values)[0] for g in (graph, again)]
    torch.testing.assert_close(*gradients)


def _maps() -> list[str]:
    if not Path("/proc/self/maps").is_file():
        pytest.skip("only Linux tells which files are mapped")
    return Path("/proc/self/maps").read_text().splitlines()


def _covers(line: str, tensor: torch.Tensor) -> bool:
    start, end = (int(address, 16) for address in line.split()[0].split("-"))
    return start <= tensor.data_ptr() < end


def test_changing_a_mapped_graph_leaves_the_file_alone(tmp_path: Path) -> None:
    save_folder(small_graph(sparse=False), tmp_path / "graph")
    x = open_folder(tmp_path / "graph").x
    assert isinstance(x, torch.Tensor)
    before = x.clone()
    x.zero_()
    assert torch.equal(dense(open_folder(tmp_path / "graph").x), before)


def test_folders_are_not_overwritten_by_accident(tmp_path: Path) -> None:
    save_folder(small_graph(), tmp_path / "graph")
    assert "exists already" in refusal(lambda: save_folder(small_graph(), tmp_path / "graph"))
    save_folder(small_graph(sparse=False), tmp_path / "graph", force=True)
    assert isinstance(open_folder(tmp_path / "graph").x, torch.Tensor)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("precious")
    assert "has no graph.json" in refusal(lambda: save_folder(small_graph(), tmp_path / "letters", force=True))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def tampered(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    np.save(folder / f"{name}.npy", change(np.load(folder / f"{name}.npy")))


def with_entry(place: int, value: Any) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array.reshape(-1)[place] = value
        return array

    return change


@pytest.mark.parametrize("at_once", [3, 2**20])
@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("neighbours_index", with_entry(5, 40), "neighbours_index.npy holds 40, expected numbers from 0 to 39"),
        ("neighbours_index", with_entry(-1, -1), "neighbours_index.npy holds -1"),
        ("neighbours_index", lambda a: a[:-1], "neighbours_t_index.npy is int32 of shape (164,), expected int32"),
        ("neighbours_index", lambda a: a.astype(np.float32), "neighbours_index.npy is float32"),
        ("neighbours_index", lambda a: a.astype(">i4"), "neighbours_index.npy is >i4"),
        ("neighbours_ptr", with_entry(7, 10**6), "neighbours_ptr.npy does not rise from 0"),
        ("neighbours_ptr", with_entry(0, 1), "neighbours_ptr.npy does not rise from 0"),
        ("neighbours_ptr", lambda a: a[:-1], "neighbours_ptr.npy is int32 of shape (40,), expected"),
        ("neighbours_t_ptr", with_entry(3, -5), "neighbours_t_ptr.npy does not rise"),
        ("neighbours_t_order", with_entry(2, 10**9), "neighbours_t_order.npy holds 1000000000"),
        ("neighbours_t_order", with_entry(2, 0), "neighbours_t_index.npy is not the transpose"),
        ("neighbours_t_index", with_entry(4, 39), "neighbours_t_index.npy is not the transpose"),
        ("x_index", with_entry(0, 8), "x_index.npy holds 8, expected numbers from 0 to 7"),
        ("x_weight", with_entry(1, np.nan), "x_weight.npy has values that are NaN or infinite"),
        ("x_weight", lambda a: a[:-1], "x_weight.npy is float32"),
        ("y", with_entry(0, 3), "y.npy holds 3, expected numbers from -1 to 2"),
        ("y", lambda a: a.astype(object), "cannot be read (Array can't be memory-mapped"),
        ("split_0_index", with_entry(0, 40), "split_0_index.npy holds 40"),
        ("split_0_index", with_entry(0, 39), "split_0_index.npy has a node whose label is unknown"),
        ("split_1_index", lambda a: with_entry(-1, a[0])(a), "split_1_index.npy has a node in two parts"),
        ("split_1_ptr", with_entry(-1, 5), "split_1_ptr.npy does not rise"),
    ],
)
def test_tampered_folders_are_refused(
    name: str, change: Any, sentence: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_format, "AT_ONCE", at_once)
    save_folder(small_graph(), tmp_path / "graph")
    open_folder(tmp_path / "graph")
    tampered(tmp_path / "graph", name, change)
    said = refusal(lambda: open_folder(tmp_path / "graph"))
    assert sentence in said
    assert str(tmp_path / "graph") in said


def test_a_dense_folder_with_nan_is_refused_unless_unchecked(tmp_path: Path) -> None:
    save_folder(small_graph(sparse=False), tmp_path / "graph")
    tampered(tmp_path / "graph", "x", with_entry(9, np.inf))
    assert "x.npy has values that are NaN or infinite" in refusal(lambda: open_folder(tmp_path / "graph"))
    assert not bool(dense(open_folder(tmp_path / "graph", check=False).x).isfinite().all())


@pytest.mark.parametrize(
    "about",
    [
        "",
        "[]",
        "{}",
        '{"format": 2}',
        {"nodes": 0},
        {"nodes": -40},
        {"nodes": 10**30},
        {"nodes": True},
        {"features": 9},
        {"classes": 2},
        {"classes": "3"},
        {"given_edges": None},
        {"sparse": 1},
        {"sparse": False},
        {"balanced": None},
        {"name": 5},
        {"splits": {}},
        {"splits": [{"name": "public"}]},
        {"splits": [{"name": "public", "count": 2}]},
        {"splits": [{"name": "public", "count": 10**18}]},
        {"splits": [{"name": ["public"], "count": 1}]},
    ],
)
def test_folders_with_another_description_are_refused(about: Any, tmp_path: Path) -> None:
    save_folder(small_graph(), tmp_path / "graph")
    path = tmp_path / "graph" / "graph.json"
    path.write_text(about if isinstance(about, str) else json.dumps(json.loads(path.read_text()) | about))
    assert str(tmp_path / "graph") in refusal(lambda: open_folder(tmp_path / "graph"))


def test_truncated_and_incomplete_folders_are_refused(tmp_path: Path) -> None:
    save_folder(small_graph(), tmp_path / "graph")
    for path in sorted((tmp_path / "graph").iterdir()):
        content = path.read_bytes()
        for kept in (0, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:kept])
            if path.name == "graph.json" and kept == len(content) - 1:
                continue  # it loses its last newline only
            assert str(tmp_path / "graph") in refusal(lambda: open_folder(tmp_path / "graph"))
        path.unlink()
        if path.name != "x_weight.npy":  # without weights every entry is a 1
            assert str(tmp_path / "graph") in refusal(lambda: open_folder(tmp_path / "graph"))
        path.write_bytes(content)
    assert open_folder(tmp_path / "graph").num_nodes == 40
    assert "graph.json is missing" in refusal(lambda: open_folder(tmp_path / "nowhere"))


# ---- the command ----------------------------------------------------------------------------------------------------


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
    assert "wikics: not there: put wikics/wikics.npz or wikics/raw/data.json there" in out
    assert "1,166,243" in out


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


def test_the_command_exits_with_2_on_a_broken_graph(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_npz(tmp_path, "cora", few_arrays())
    path.write_bytes(b"PK")
    code, out, err = run(capsys, monkeypatch, "--data-dir", str(tmp_path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"settwister: {path} cannot be read")


def test_the_command_has_an_example(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run(capsys, monkeypatch, "--help")
    assert code == 0
    assert "Example: settwister datasets" in out


# ---- the real ones --------------------------------------------------------------------------------------------------

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


# ---- graphs made at random ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("density", [1.0, 0.05])
def test_stand_ins_have_the_sizes_asked_for(density: float) -> None:
    graph = stand_in(500, 2_000, 40, 5, density)
    assert (graph.num_nodes, graph.num_features, graph.num_classes, graph.given_edges) == (500, 40, 5, 2_000)
    assert isinstance(graph.x, Csr) == (density < 0.5)
    assert int(graph.degrees.max()) > 4 * float(graph.degrees.float().mean())  # a few hubs, as in real graphs
    again = stand_in(500, 2_000, 40, 5, density)
    assert torch.equal(again.neighbours.index, graph.neighbours.index)


def test_pairwise_labels_are_about_pairs() -> None:
    """Half the nodes have each label, and the spread of what is shown tells them apart where its mean does not."""
    graph = pairwise_graph(600, 60, noise=0.0)
    assert isinstance(graph.x, torch.Tensor)
    assert abs(float(graph.y.float().mean()) - 0.5) < 0.01
    members = [
        graph.x[graph.neighbours.index[a:b].long()] for a, b in itertools.pairwise(graph.neighbours.ptr.tolist())
    ]
    spread = torch.stack([m.var(0).sum() for m in members])
    centre = torch.stack([m.mean(0).norm() for m in members])
    for feature, least, most in ((spread, 0.65, 1.0), (centre, 0.3, 0.6)):
        above = (feature > feature.median()).long()
        assert least <= float((above == graph.y).double().mean()) <= most
    assert torch.equal(pairwise_graph(600, 60, noise=0.0).x, graph.x)
    assert not torch.equal(pairwise_graph(600, 60, seed=1, noise=0.0).x, graph.x)
