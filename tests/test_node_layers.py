"""What node models are made of: sparse features, dropout, normalised adjacencies, and what spreads along them."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from example_nodes import CLASSES, FEATURES, NODES, adjacency, example, sparse
from settwister.functional import Csr
from settwister.functional.dropout import dropout, keep, relu_dropout
from settwister.functional.propagation import NORMALISATIONS, correct, label_propagation, normalised, smooth
from settwister.graphs import Graph, neighbour_sets
from settwister.nn.features import FeatureLinear, dense
from settwister.nn.nodes import Grand, NodeBatch, NodeMLP, OneHopDeepSets


@pytest.fixture
def graph() -> Graph:
    return example()


def test_feature_linear_reads_sparse_as_dense(graph: Graph) -> None:
    layer = FeatureLinear(FEATURES, 5)
    nn.init.normal_(layer.bias)
    assert isinstance(graph.x, Tensor)
    torch.testing.assert_close(layer(sparse(graph.x)), graph.x @ layer.weight + layer.bias)
    layer.train()
    layer.dropout = 0.5
    runs = torch.stack([layer(sparse(graph.x)) for _ in range(4000)])
    torch.testing.assert_close(runs.mean(0), graph.x @ layer.weight + layer.bias, atol=0.1, rtol=0.1)


@pytest.mark.parametrize("p", [0.5, 0.2, 0.9])
def test_dropout_drops_that_share_and_keeps_the_mean(p: float) -> None:
    torch.manual_seed(0)
    kept = keep(1_000_003, p)
    assert kept.shape == (1_000_003,)
    assert set(kept.unique().tolist()) <= {0.0, torch.tensor(1 / (1 - p)).item()}
    assert abs(float((kept == 0).float().mean()) - p) < 0.003
    neighbours = (kept[:-1] == 0) & (kept[1:] == 0)
    assert abs(float(neighbours.float().mean()) - p * p) < 0.003  # one element says nothing of the next
    x = torch.randn(10, 7, requires_grad=True)
    assert dropout(x, p, training=False) is x
    out = dropout(x, p)
    out.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(out, x * x.grad)
    torch.manual_seed(1)
    first = dropout(x, p)
    torch.manual_seed(1)
    torch.testing.assert_close(dropout(x, p), first)
    assert bool((dropout(x, 1.0) == 0).all())


@pytest.mark.parametrize("p", [0.0, 0.5, 0.3, 1.0])
@pytest.mark.parametrize("training", [False, True])
def test_relu_and_dropout_in_one(p: float, training: bool) -> None:
    found = []
    for function in (relu_dropout, lambda x, p, training: dropout(x.relu(), p, training)):
        x = torch.randn(50, 7, generator=torch.Generator().manual_seed(3)).requires_grad_()
        torch.manual_seed(0)
        out = function(x, p, training)
        (out * torch.arange(7)).sum().backward()
        found.append((out.detach(), x.grad))
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("kind", NORMALISATIONS)
def test_normalised_adjacency(graph: Graph, kind: str, loops: bool) -> None:
    a = adjacency(graph) + torch.eye(NODES) * loops
    inverse = 1 / a.sum(1).clamp(min=1)
    left, right = {"DAD": (inverse.sqrt(), inverse.sqrt()), "DA": (inverse, None), "AD": (None, inverse)}[kind]
    wanted = a if left is None else left.unsqueeze(1) * a
    wanted = wanted if right is None else wanted * right
    torch.testing.assert_close(dense(normalised(graph.neighbours, kind, loops=loops)), wanted)


def test_rows_of_sparse_features_are_ready_for_a_backward_pass(graph: Graph) -> None:
    """Without the transpose their gradient is scattered, which is slow."""
    assert isinstance(graph.x, Tensor)
    rows, columns = graph.x.nonzero(as_tuple=True)
    sparse = Csr.from_pairs(rows, columns, NODES, FEATURES)
    for model in (NodeMLP(FEATURES, CLASSES, (4,)), OneHopDeepSets(FEATURES, CLASSES, (4,), (4,))):
        prepared = model.prepare(NodeBatch.of(sparse, graph.neighbours, torch.arange(5)))
        assert prepared.x.transpose is not None


@pytest.mark.parametrize("kind", ["DAD", "DA", "AD"])
@pytest.mark.parametrize("loops", [False, True])
def test_weights_are_normalised_with_their_sums(kind: Any, loops: bool) -> None:
    edges, weight = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 3]]), torch.tensor([2.0, 0.5, 3.0, 4.0])
    found = normalised(neighbour_sets(edges, 5, weight=weight, loops=True), kind, loops=loops)
    a = torch.zeros(5, 5)
    for (source, target), one in zip(edges.t().tolist(), weight.tolist(), strict=True):
        a[source, target] = a[target, source] = one
    if loops:
        a = a - torch.diag(a.diagonal()) + torch.eye(5)
    degree = a.sum(1)
    degree[degree == 0] = 1
    left, right = {"DAD": (-0.5, -0.5), "DA": (-1.0, 0.0), "AD": (0.0, -1.0)}[kind]
    wanted = degree.pow(left).unsqueeze(1) * a * degree.pow(right)
    torch.testing.assert_close(found.sum(torch.eye(5)), wanted)


def test_weights_in_double_precision_stay_so(graph: Graph) -> None:
    weight = torch.ones(len(graph.neighbours.index), dtype=torch.float64)
    for loops in (False, True):
        found = normalised(replace(graph.neighbours, weight=weight), loops=loops)
        assert found.weight is not None
        assert found.weight.dtype == torch.float64
        torch.testing.assert_close(found.weight.float(), normalised(graph.neighbours, loops=loops).weight)


def test_correct_and_smooth_are_pygs(graph: Graph) -> None:
    """Where PyG's has no NaN, ours is PyG's."""
    from torch_geometric.nn import CorrectAndSmooth

    z = torch.randn(NODES, CLASSES, generator=torch.Generator().manual_seed(2)).softmax(-1)
    train = torch.arange(0, NODES - 1, 2)
    edges = torch.stack([graph.neighbours.index.long(), graph.neighbours.rows])
    a = normalised(graph.neighbours, "DAD")
    weight = a.weight
    assert weight is not None
    theirs = CorrectAndSmooth(50, 0.8, 50, 0.6, autoscale=True)
    mask = torch.zeros(NODES, dtype=torch.bool)
    mask[train] = True
    corrected = theirs.correct(z, graph.y[mask], mask, edges, edge_weight=weight)
    reached = corrected.isfinite().all(1) & (graph.degrees > 0)
    ours = correct(z, train, graph.y[train], a, 0.8)
    torch.testing.assert_close(ours[reached], corrected[reached], atol=1e-5, rtol=1e-4)
    smoothed = theirs.smooth(ours, graph.y[mask], mask, edges, edge_weight=weight)
    torch.testing.assert_close(smooth(ours, train, graph.y[train], a, 0.6), smoothed, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("yes_or_no", [False, True])
def test_grand_spreads_sparse_features_by_the_powers_computed_once(
    graph: Graph, yes_or_no: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same loss as by repeated products, from the same dropped nodes; with further columns too.

    Features whose values are all 1, and are left as they are, have none stored.
    """
    assert isinstance(graph.x, Tensor)
    rows, columns = graph.x.nonzero(as_tuple=True)
    values = None if yes_or_no else graph.x[rows, columns]
    sparse = Csr.from_pairs(rows, columns, NODES, FEATURES, values).with_transpose()
    made = partial(Grand, out_dim=CLASSES, hidden=8, steps=3, samples=2, normalise_rows=not yes_or_no)
    model = made(FEATURES + 2, input_dropout=0.3, dropout=0.0)
    labels, extra = graph.y[:5], torch.rand(NODES, 2)
    for more in (False, True):
        found = []
        for largest in (NODES**2, 0):
            monkeypatch.setattr("settwister.nn.nodes.grand.LARGEST", largest)
            one = model if more else made(FEATURES, input_dropout=0.0, batch_norm=True)
            torch.manual_seed(0)
            one.load_state_dict({name: torch.rand(value.shape) for name, value in one.state_dict().items()})
            prepared = one.prepare(NodeBatch(sparse, graph.neighbours))
            assert (prepared.powers is None) == (largest == 0)
            given = one.with_extra(prepared, extra) if more else prepared
            torch.manual_seed(1)
            found.append(one.loss(given, torch.arange(5), labels, None))
        torch.testing.assert_close(*found, atol=1e-5, rtol=1e-4)


def test_correcting_a_perfect_fit_changes_nothing(graph: Graph) -> None:
    """PyG's autoscale divides 0 by 0 here and returns NaN for every node."""
    z = nn.functional.one_hot(graph.y, CLASSES).float()
    train = torch.arange(20)
    torch.testing.assert_close(correct(z, train, graph.y[train], normalised(graph.neighbours), 0.8), z)


def test_labels_spread_along_edges() -> None:
    chain = normalised(neighbour_sets(torch.tensor([[0, 1, 3], [1, 2, 4]]), 6), "DA")
    found = label_propagation(torch.tensor([0, 3]), torch.tensor([0, 1]), 2, chain, 0.9, 50)
    assert found.argmax(1)[:5].tolist() == [0, 0, 0, 1, 1]
    assert found[5].tolist() == [0.0, 0.0]
