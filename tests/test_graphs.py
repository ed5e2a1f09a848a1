"""The graph: whose neighbour is whose, what is refused, and how one is made of PyG's."""

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as some

from graph_files import dense, pairs, refusal
from settwister.estimator.edges import neighbourhoods
from settwister.functional import Csr
from settwister.graphs import Graph, from_pyg, neighbour_sets


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


def test_weights_are_finite_and_one_per_edge() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    assert "weight has shape (3,), expected (2,), one per edge" in refusal(
        lambda: neighbour_sets(edges, 3, weight=torch.ones(3))
    )
    for wrong, said in ((float("nan"), "negative or NaN"), (-1.0, "negative or NaN"), (1e300, "infinite, or add up")):
        for loop in (False, True):  # which is left out, and no better for that
            ends = torch.tensor([[0, 1], [1, 1]]) if loop and wrong != 1e300 else edges
            assert f"weight has values that are {said}" in refusal(
                lambda wrong=wrong, ends=ends: neighbour_sets(ends, 3, weight=[1.0, wrong])
            )
            assert f"weight has values that are {said}" in refusal(
                lambda wrong=wrong, ends=ends: Graph.make(torch.ones(3, 1), ends, [0, 1, 0], weight=[1.0, wrong])
            )
    assert "weight has values that are infinite" in refusal(lambda: neighbour_sets(edges, 3, weight=[1.0, np.inf]))
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
        ((torch.ones(2), [[0], [1]], [0, 1]), "x is float32 of shape (2,), expected real numbers of shape (nodes, fea"),
        ((torch.ones(2, 1).to_sparse(), [[0], [1]], [0, 1]), "or a Csr where most are 0"),
        ((torch.ones(2, 1) * 1j, [[0], [1]], [0, 1]), "x is complex64 of shape (2, 1), expected real numbers"),
        (
            (scipy.sparse.csr_array([[1j]]), [[0], [0]], [0]),
            "x is sparse complex128 of shape (1, 1), expected real num",
        ),
        (
            ([["a"]], [[0], [0]], [0]),
            "x is a list that torch makes no tensor of (too many dimensions 'str'), expected n",
        ),
        ((torch.ones(2, 1), [["a"], ["b"]], [0, 1]), "edges is a list that torch makes no tensor of"),
        ((torch.ones(2, 1), [[0], [1]], np.array(["a", "b"])), "y is a ndarray that torch makes no tensor of"),
    ],
)
def test_bad_graphs_are_refused(arguments: tuple[Any, ...], sentence: str) -> None:
    assert sentence in refusal(lambda: Graph.make(*arguments))


@pytest.mark.parametrize("kind", [np.float64, np.int64, np.uint8, np.bool_])
def test_features_of_any_type_become_what_models_read(kind: Any) -> None:
    x = np.eye(3).astype(kind)
    stored = Csr.from_pairs(torch.arange(3), torch.arange(3), 3, 3, torch.ones(3, dtype=torch.float64))
    twice = scipy.sparse.coo_array((np.repeat(x.diagonal(), 2) / 2, ([0, 0, 1, 1, 2, 2],) * 2), (3, 3))
    matrices = [scipy.sparse.csr_matrix(x), scipy.sparse.csc_array(x), twice]
    for features in (x, torch.from_numpy(x), stored, *matrices):
        graph = Graph.make(features, [[0, 1], [1, 2]], [0, 1, 0])
        assert dense(graph.x).dtype == torch.float32
        assert torch.equal(dense(graph.x), torch.eye(3))


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


def test_weights_of_pygs_data_are_those_that_the_estimator_reads() -> None:
    """An undirected edge has its weight in each direction; where they differ the larger counts, and 0 is no edge."""
    from torch_geometric.data import Data

    edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
    weight = torch.tensor([0.5, 0.5, 2.0, 3.0, 0.0, 0.0, 1.0, 1.0])
    data = Data(x=torch.eye(4), edge_index=edges, edge_weight=weight, y=torch.tensor([0, 1, 1, 0]))
    for directed in (False, True):
        graph, expected = from_pyg(data, directed=directed), neighbourhoods(data, 4, directed=directed)
        assert torch.equal(dense(graph.neighbours), dense(expected))
        assert len(graph.neighbours.index) == len(expected.index)
        assert graph.given_edges == 8
    data.edge_weight = torch.ones(8, 1)
    assert from_pyg(data).neighbours.weight is None
    data.edge_weight = torch.tensor([1.0] * 7 + [-1.0])
    assert "weight has values that are negative" in refusal(lambda: from_pyg(data))
    data.edge_weight = torch.ones(3)
    assert "weight has shape (3,), expected (8,)" in refusal(lambda: from_pyg(data))
