"""Models of nodes and their trainer: each against its definition, and against the leaks that would flatter it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import settwister as st
from settwister.errors import InputError
from settwister.functional import Csr
from settwister.functional.dropout import dropout, keep, relu_dropout
from settwister.functional.propagation import (
    NORMALISATIONS,
    correct,
    label_propagation,
    normalised,
    smooth,
)
from settwister.graphs import Graph, neighbour_sets, random_split
from settwister.nn.features import FeatureLinear, dense
from settwister.nn.nodes import (
    GAT,
    GCN,
    Grand,
    NodeBatch,
    NodeMLP,
    NodeModel,
    OneHopDeepSets,
    OneHopSetTwister,
    Snowball,
    TruncatedKrylov,
)
from settwister.training.collective import train_collective
from settwister.training.correct_and_smooth import ALPHAS, CorrectAndSmooth, Step, choose_correct_and_smooth
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, class_weights, predict_nodes, score, train_nodes

NODES, FEATURES, CLASSES = 40, 12, 3
MODELS: dict[str, Callable[[], NodeModel]] = {
    "deepsets": lambda: OneHopDeepSets(FEATURES, CLASSES, (8, 8), (8,)),
    "set_twister": lambda: OneHopSetTwister(FEATURES, CLASSES, (8, 8), (8,)),
    "set_twister, one layer, k=3": lambda: OneHopSetTwister(FEATURES, CLASSES, (9,), (8,), M=3, k=3, form="multiset"),
    "mlp": lambda: NodeMLP(FEATURES, CLASSES, (8,)),
    "gcn": lambda: GCN(FEATURES, CLASSES, 8, layers=3),
    "gat": lambda: GAT(FEATURES, CLASSES, 4, heads=2),
    "tk_gcn": lambda: TruncatedKrylov(FEATURES, CLASSES, 8, blocks=3),
    "snowball": lambda: Snowball(FEATURES, CLASSES, 8),
    "grand": lambda: Grand(FEATURES, CLASSES, 8, steps=2, samples=2),
}


@pytest.fixture
def graph() -> Graph:
    """Random, with an isolated node, a row without features and a class that only two nodes have."""
    made = torch.Generator().manual_seed(0)
    x = torch.rand(NODES, FEATURES, generator=made) * (torch.rand(NODES, FEATURES, generator=made) < 0.4)
    x[3] = 0
    edges = torch.randint(NODES - 1, (2, 90), generator=made)  # the last node has none
    y = torch.randint(2, (NODES,), generator=made)
    y[[0, 1]] = 2
    return Graph.make(x, edges, y)


def sparse(x: Tensor) -> Csr:
    rows, columns = x.nonzero(as_tuple=True)
    return Csr.from_pairs(rows, columns, *x.shape, x[rows, columns]).with_transpose()


def adjacency(graph: Graph) -> Tensor:
    return dense(graph.neighbours)


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


# ---- every model ----------------------------------------------------------------------------------------------------


def whole(graph: Graph) -> NodeBatch:
    return NodeBatch(graph.x, graph.neighbours)


@pytest.mark.parametrize("name", MODELS)
def test_sparse_and_dense_features_give_one_answer(graph: Graph, name: str) -> None:
    model = MODELS[name]().eval()
    assert isinstance(graph.x, Tensor)
    out = model(whole(graph))
    assert out.shape == (NODES, CLASSES)
    assert bool(out.isfinite().all())
    torch.testing.assert_close(model(NodeBatch(sparse(graph.x), graph.neighbours)), out, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_numbering_does_not_matter(graph: Graph, name: str) -> None:
    model = MODELS[name]().eval()
    assert isinstance(graph.x, Tensor)
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(1))
    place = torch.empty_like(order).scatter(0, order, torch.arange(NODES))
    edges = torch.stack([graph.neighbours.index.long(), graph.neighbours.rows])
    moved = NodeBatch(graph.x[order], neighbour_sets(place[edges], NODES))
    torch.testing.assert_close(model(moved), model(whole(graph))[order], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_saved_and_opened(graph: Graph, name: str, tmp_path: object) -> None:
    model = MODELS[name]().eval()
    model.save_pretrained(f"{tmp_path}/model")
    opened = NodeModel.from_pretrained(f"{tmp_path}/model")
    assert type(opened) is type(model)
    torch.testing.assert_close(opened(whole(graph)), model(whole(graph)))
    with pytest.raises(InputError, match="expected a SetModel"):
        st.nn.SetModel.from_pretrained(f"{tmp_path}/model")


ONE_HOP = [name for name in MODELS if MODELS[name]().hops == 1]


@pytest.mark.parametrize("name", ONE_HOP)
def test_a_batch_is_a_slice_of_the_whole(graph: Graph, name: str) -> None:
    model = MODELS[name]().eval()
    nodes = torch.tensor([7, 3, 39, 7, 0])
    assert isinstance(graph.x, Tensor)
    for x in (graph.x, sparse(graph.x)):
        part = NodeBatch.of(x, graph.neighbours, nodes)
        torch.testing.assert_close(model(part), model(whole(graph))[nodes], atol=1e-5, rtol=1e-4)
    assert part.own is not None
    seen = {*nodes.tolist(), *graph.neighbours.take(nodes).index.tolist()}
    assert part.neighbours.num_elements == len(seen)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ONE_HOP])
def test_further_models_refuse_a_part(graph: Graph, name: str) -> None:
    with pytest.raises(InputError, match="expected the whole graph"):
        MODELS[name]()(NodeBatch.of(graph.x, graph.neighbours, torch.tensor([0, 1])))


@pytest.mark.parametrize("name", ONE_HOP)
def test_one_hop_is_one_hop(graph: Graph, name: str) -> None:
    """What is two steps away does not reach a node."""
    model = MODELS[name]().eval()
    assert isinstance(graph.x, Tensor)
    chain = neighbour_sets(torch.tensor([[0, 1, 2], [1, 2, 3]]), NODES)
    x = graph.x.clone().requires_grad_()
    model(NodeBatch(x, chain))[0].sum().backward()
    assert x.grad is not None
    assert bool((x.grad[2:] == 0).all())


# ---- each against its definition ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["sum", "mean", "sqrt"])
def test_set_twister_for_nodes_is_its_equation(graph: Graph, pool: str) -> None:
    """Equation (4), node by node, with a loop over ordered pairs; the node is not among its neighbours."""
    model = OneHopSetTwister(FEATURES, CLASSES, (8, 6), (5,), norm=None, lower_orders=None, pool=pool).eval()
    nn.init.normal_(model.twist.bias["2"])
    assert isinstance(graph.x, Tensor)
    phi = model.phi(graph.x)  # (N, 2, 3)
    a, out = adjacency(graph), model(whole(graph))
    for v in range(NODES):
        members = a[v].nonzero().squeeze(-1)
        assert v not in members
        n = max(1, len(members))
        sums = phi[members].sum(0) / {"sum": 1, "mean": n, "sqrt": n**0.5}[pool]
        pairs = [(u, w) for u in range(2) for w in range(2)]
        f = sum(model.twist.alpha["2"][i] * sums[u] * sums[w] for i, (u, w) in enumerate(pairs)) + model.twist.bias["2"]
        torch.testing.assert_close(out[v], model.rho(torch.cat([phi[v].flatten(), f])), atol=1e-5, rtol=1e-4)


def test_deepsets_for_nodes_is_its_equation(graph: Graph) -> None:
    model = OneHopDeepSets(FEATURES, CLASSES, (8,), (5,), pool="sum").eval()
    assert isinstance(graph.x, Tensor)
    phi = model.phi(graph.x)
    torch.testing.assert_close(model(whole(graph)), model.rho(torch.cat([phi, adjacency(graph) @ phi], dim=1)))


def test_gcn_is_pygs(graph: Graph) -> None:
    from torch_geometric.nn import GCNConv

    model = GCN(FEATURES, CLASSES, 8).eval()
    convs = [GCNConv(FEATURES, 8), GCNConv(8, CLASSES)]
    for conv, layer, bias in zip(convs, model.layers, model.biases, strict=True):
        nn.init.normal_(bias)
        conv.lin.weight.data = layer.weight.t()
        conv.bias.data = bias.data
    edges = torch.stack([graph.neighbours.index.long(), graph.neighbours.rows])
    torch.testing.assert_close(model(whole(graph)), convs[1](convs[0](graph.x, edges).relu(), edges))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_gat_is_pygs(graph: Graph, layers: int) -> None:
    """The same layers with their own projections; dense and sparse features alike."""
    from torch_geometric.nn import GATConv

    model = GAT(FEATURES, CLASSES, 4, heads=2, layers=layers).eval()
    widths = [FEATURES, *[8] * (layers - 1)]
    convs = [GATConv(width, 4, heads=2) for width in widths[:-1]]
    convs.append(GATConv(widths[-1], CLASSES, heads=1, concat=False))
    for conv, layer, projection in zip(convs, model.layers, model.projections, strict=True):
        conv.load_state_dict(layer.state_dict() | {"lin.weight": projection.weight.t()})
    edges = torch.stack([graph.neighbours.index.long(), graph.neighbours.rows])
    h = graph.x
    for i, conv in enumerate(convs):
        h = conv(h, edges)
        h = h if i == layers - 1 else torch.nn.functional.elu(h)
    torch.testing.assert_close(model(whole(graph)), h)
    assert isinstance(graph.x, Tensor)
    rows, columns = graph.x.nonzero(as_tuple=True)
    sparse = Csr.from_pairs(rows, columns, NODES, FEATURES, graph.x[rows, columns]).with_transpose()
    torch.testing.assert_close(model(NodeBatch(sparse, graph.neighbours)), h)


def test_rows_of_sparse_features_are_ready_for_a_backward_pass(graph: Graph) -> None:
    """Without the transpose their gradient is scattered, which is slow."""
    assert isinstance(graph.x, Tensor)
    rows, columns = graph.x.nonzero(as_tuple=True)
    sparse = Csr.from_pairs(rows, columns, NODES, FEATURES)
    for model in (NodeMLP(FEATURES, CLASSES, (4,)), OneHopDeepSets(FEATURES, CLASSES, (4,), (4,))):
        prepared = model.prepare(NodeBatch.of(sparse, graph.neighbours, torch.arange(5)))
        assert prepared.x.transpose is not None


def test_truncated_krylov_is_its_definition(graph: Graph) -> None:
    model = TruncatedKrylov(FEATURES, CLASSES, 8, layers=2, blocks=3).eval()
    assert isinstance(graph.x, Tensor)
    a = adjacency(graph) + torch.eye(NODES)
    powers = [torch.linalg.matrix_power(a / a.sum(1, keepdim=True), i) for i in range(3)]
    h = graph.x / graph.x.sum(1, keepdim=True).clamp(min=1e-12)
    for layer, bias in zip(model.layers, model.biases, strict=True):
        nn.init.normal_(bias)
        weight = torch.cat(layer.weight.chunk(3, dim=1))  # (m · in, out)
        h = (torch.cat([p @ h for p in powers], dim=1) @ weight + bias).tanh()
    torch.testing.assert_close(model(whole(graph)), model.last(h), atol=1e-5, rtol=1e-4)


def test_snowball_is_its_definition(graph: Graph) -> None:
    model = Snowball(FEATURES, CLASSES, 8, layers=2).eval()
    assert isinstance(graph.x, Tensor)
    a = adjacency(graph) + torch.eye(NODES)
    a = a / a.sum(1, keepdim=True)
    h = graph.x / graph.x.sum(1, keepdim=True).clamp(min=1e-12)
    for layer in model.layers:
        h = torch.cat([h, (a @ layer(h)).tanh()], dim=1)
    torch.testing.assert_close(model(whole(graph)), a @ model.last(h), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("swapped", [True, False])
def test_grand_is_its_definition(graph: Graph, swapped: bool) -> None:
    """In evaluation the mean of the powers; in training the loss of its formula, with the same random nodes dropped.

    Both with the first layer before the propagation and after it.
    """
    model = Grand(FEATURES, CLASSES, 8, steps=2, samples=2, input_dropout=0.0, dropout=0.0, consistency=0.7).eval()
    assert model.swapped
    model.swapped = swapped

    def layers(x: Tensor) -> Tensor:
        found: Tensor = model.after(model.first(x) + model.bias)
        return found

    assert isinstance(graph.x, Tensor)
    a = adjacency(graph) + torch.eye(NODES)
    a = a / a.sum(1).sqrt().unsqueeze(1) / a.sum(1).sqrt()
    x = graph.x / graph.x.sum(1, keepdim=True).clamp(min=1e-12)
    mean = sum(torch.linalg.matrix_power(a, i) for i in range(3)) / 3
    torch.testing.assert_close(model(whole(graph)), layers(mean @ x), atol=1e-5, rtol=1e-4)
    model.train()
    rows, labels = torch.arange(5), graph.y[:5]
    torch.manual_seed(0)
    loss = model.loss(model.prepare(whole(graph)), rows, labels, None)
    torch.manual_seed(0)
    each = [layers(mean @ (x * keep(NODES, 0.5).unsqueeze(1))).softmax(-1) for _ in range(2)]
    sharp = ((each[0] + each[1]) / 2) ** 2
    sharp = (sharp / sharp.sum(1, keepdim=True)).detach()
    wanted = sum(-p[rows, labels].log().mean() for p in each) / 2
    wanted = wanted + 0.7 * sum((p - sharp).square().sum(1).mean() for p in each) / 2
    torch.testing.assert_close(loss, wanted, atol=1e-5, rtol=1e-4)


# ---- what spreads ---------------------------------------------------------------------------------------------------


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


def test_grand_spreads_sparse_features_by_the_powers_computed_once(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same loss as by repeated products, from the same dropped nodes; with further columns too."""
    assert isinstance(graph.x, Tensor)
    rows, columns = graph.x.nonzero(as_tuple=True)
    sparse = Csr.from_pairs(rows, columns, NODES, FEATURES, graph.x[rows, columns]).with_transpose()
    model = Grand(FEATURES + 2, CLASSES, 8, steps=3, samples=2, input_dropout=0.3, dropout=0.0)
    labels, extra = graph.y[:5], torch.rand(NODES, 2)
    for more in (False, True):
        found = []
        for largest in (NODES**2, 0):
            monkeypatch.setattr("settwister.nn.nodes.grand.LARGEST", largest)
            one = model if more else Grand(FEATURES, CLASSES, 8, steps=3, samples=2, input_dropout=0.0, batch_norm=True)
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


@pytest.mark.parametrize("name", MODELS)
def test_further_columns_are_features(graph: Graph, name: str) -> None:
    """Columns that change during training stand behind those of x; a model without rows to scale sees them as such."""
    model = MODELS[name]().eval()
    assert isinstance(graph.x, Tensor)
    x = graph.x / graph.x.sum(1, keepdim=True).clamp(min=1e-12)  # as the models that normalise rows make them
    first, extra = torch.cat([x[:, :-CLASSES], torch.zeros(NODES, 1)], dim=1), torch.randn(NODES, CLASSES - 1)
    first[3] = 0
    first = torch.where(first.sum(1, keepdim=True) > 0, first / first.sum(1, keepdim=True).clamp(min=1e-12), 0)
    given = model.with_extra(model.prepare(NodeBatch(first, graph.neighbours)), extra)
    together = model.prepare(NodeBatch(torch.cat([first, extra], dim=1), graph.neighbours))
    if name in ("tk_gcn", "snowball", "grand"):  # these would scale the further columns too
        scaled = model.prepare(NodeBatch(first, graph.neighbours))
        assert not torch.equal(model._forward(given), model._forward(model.with_extra(scaled, torch.zeros_like(extra))))
    else:
        torch.testing.assert_close(model._forward(given), model._forward(together), atol=1e-5, rtol=1e-4)


def test_collective_learning_never_shows_a_target(graph: Graph) -> None:
    """What is shown at a step and what the loss is over do not meet, and together they are the training nodes."""
    train, validation = parts(graph)
    seen: list[tuple[Tensor, Tensor]] = []

    class Spy(NodeMLP):
        def with_extra(self, prepared: object, extra: Tensor) -> object:
            self.shown = extra
            return super().with_extra(prepared, extra)

        def loss(self, prepared: object, rows: Tensor | None, labels: Tensor, class_weight: Tensor | None) -> Tensor:
            assert rows is not None
            assert torch.equal(labels, graph.y[rows])
            seen.append((self.shown.clone(), rows))
            return super().loss(prepared, rows, labels, class_weight)

    model = Spy(FEATURES + CLASSES, CLASSES, (4,))
    recipe = NodeRecipe(epochs=15)
    found = train_collective(model, graph.x, graph.neighbours, train, validation, recipe, rounds=2)
    torch.testing.assert_close(found.probabilities.sum(1), torch.ones(NODES))
    first = seen[:15]
    for shown, targets in first:  # the first round: no guesses yet, so whatever is shown is a label
        nodes = shown.sum(1).nonzero().squeeze(-1)
        assert torch.equal(shown[nodes].argmax(1), graph.y[nodes])
        assert torch.equal(torch.cat([nodes, targets]).sort().values, train.nodes)
    assert len({tuple(targets.tolist()) for _, targets in first}) > 10  # drawn anew at every step
    shown, targets = seen[15]
    assert torch.equal(shown.sum(1), torch.ones(NODES))  # then every node has a label or a guess


def test_correct_and_smooth_is_chosen_on_validation(graph: Graph) -> None:
    """The choice is the best of all on validation; a constant base that says nothing is not left as it is."""
    train, validation = parts(graph)
    base = torch.full((NODES, CLASSES), 1 / CLASSES)
    chosen = choose_correct_and_smooth(base, graph.neighbours, train, validation)
    assert chosen.validation == score(chosen.scores[validation.nodes].argmax(1), validation.labels, balanced=False)
    torch.testing.assert_close(chosen.steps(base, train, graph.neighbours), chosen.scores)
    for steps in (CorrectAndSmooth(None, None), CorrectAndSmooth(Step("DAD", 0.8), Step("DA", 0.8))):
        scores = steps(base, train, graph.neighbours)
        assert chosen.validation >= score(scores[validation.nodes].argmax(1), validation.labels, balanced=False)


def test_versions_are_smoothed_side_by_side(graph: Graph) -> None:
    train, _ = parts(graph)
    z, along = torch.rand(NODES, 3, CLASSES), normalised(graph.neighbours, "AD")
    together = smooth(z, train.nodes, train.labels, along, 0.7)
    for version in range(3):
        torch.testing.assert_close(together[:, version], smooth(z[:, version], train.nodes, train.labels, along, 0.7))


@pytest.mark.parametrize("largest", [1, 5 * NODES * CLASSES, 2**26])
def test_the_choice_is_that_of_trying_one_after_the_other(
    graph: Graph, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("settwister.training.correct_and_smooth.LARGEST", largest)
    train, validation = parts(graph)
    base = torch.rand(NODES, CLASSES, generator=torch.Generator().manual_seed(0)).softmax(1)
    options = [None, *(Step(kind, alpha) for alpha in ALPHAS for kind in NORMALISATIONS)]
    best: tuple[float, CorrectAndSmooth | None] = (-1.0, None)
    for steps in (CorrectAndSmooth(first, second) for first in options for second in options):
        found = steps(base, train, graph.neighbours)[validation.nodes].argmax(1)
        reached = score(found, validation.labels, balanced=True)
        best = (reached, steps) if reached > best[0] else best
    chosen = choose_correct_and_smooth(base, graph.neighbours, train, validation, balanced=True)
    assert (chosen.validation, chosen.steps) == best


# ---- the trainer ----------------------------------------------------------------------------------------------------


def parts(graph: Graph, y: Tensor | None = None) -> tuple[Labelled, Labelled]:
    split = random_split(graph.labelled, seed=0)
    y = graph.y if y is None else y
    return Labelled(split.train, y[split.train]), Labelled(split.validation, y[split.validation])


def test_validation_nodes_of_classes_that_training_lacks_have_a_loss_all_the_same(graph: Graph) -> None:
    train = Labelled(torch.arange(4), torch.tensor([0, 0, 1, 1]))
    strange, mixed = (Labelled(torch.tensor([4, 5]), torch.tensor(labels)) for labels in ([2, 2], [2, 1]))
    for validation in (strange, mixed):
        model = NodeMLP(FEATURES, 3, (4,))
        recipe = NodeRecipe(epochs=3, balanced=True)
        found = train_nodes(model, graph.x, graph.neighbours, train, validation, recipe)
        assert all(np.isfinite(found.curves["validation_loss"]))
    with pytest.raises(InputError, match="expected finite numbers above 0"):
        NodeRecipe(class_weight=(0.0, 1.0))


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_bits(graph: Graph, name: str) -> None:
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        model = MODELS[name]()
        found.append(train_nodes(model, graph.x, graph.neighbours, *parts(graph), NodeRecipe(epochs=3), seed=4))
    assert torch.equal(found[0].probabilities, found[1].probabilities)
    assert found[0].curves == found[1].curves
    torch.testing.assert_close(found[0].probabilities.sum(1), torch.ones(NODES))


@pytest.mark.parametrize("name", MODELS)
def test_test_labels_do_not_leak(graph: Graph, name: str) -> None:
    """Trained twice, the second time with garbage for the test nodes' labels; then also for the validation nodes'."""
    split = random_split(graph.labelled, seed=0)

    def trained(y: Tensor, select: bool) -> Tensor:
        torch.manual_seed(0)
        train, validation = parts(graph, y)
        recipe = NodeRecipe(epochs=4, balanced=True)
        found = train_nodes(MODELS[name](), graph.x, graph.neighbours, train, validation if select else None, recipe)
        return found.probabilities

    garbage = graph.y.clone()
    garbage[split.test] = (garbage[split.test] + 1) % CLASSES
    assert torch.equal(trained(graph.y, True), trained(garbage, True))
    garbage[split.validation] = (garbage[split.validation] + 1) % CLASSES
    assert torch.equal(trained(graph.y, False), trained(garbage, False))


def test_the_best_weights_are_kept_and_patience_ends_it(graph: Graph) -> None:
    torch.manual_seed(0)
    train, validation = parts(graph)
    recipe = NodeRecipe(rate=0.05, epochs=400, patience=20)
    found = train_nodes(MODELS["deepsets"](), graph.x, graph.neighbours, train, validation, recipe)
    scores = found.curves["validation_score"]
    assert found.validation == max(scores)
    assert scores[found.best_epoch - 1] == max(scores)
    assert len(scores) == min(400, found.best_epoch + 20)
    predicted = found.probabilities[validation.nodes].argmax(1)
    assert score(predicted, validation.labels, balanced=False) == found.validation
    some = torch.tensor([5, 2])
    torch.testing.assert_close(predict_nodes(found.model, graph.x, graph.neighbours, some), found.probabilities[some])


@pytest.mark.parametrize("name", ONE_HOP)
def test_minibatches_have_the_gradient_of_the_whole(graph: Graph, name: str) -> None:
    """Without dropout, the mean over batches of equal size is the full batch's gradient."""
    model = MODELS[name]().eval()
    train, _ = parts(graph)

    def gradient(nodes: Tensor) -> Tensor:
        model.zero_grad()
        model.loss(model.prepare(NodeBatch.of(graph.x, graph.neighbours, nodes)), None, graph.y[nodes], None).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    batches = train.nodes[torch.randperm(len(train))].split(6)
    assert {len(batch) for batch in batches} == {6}
    mean = torch.stack([gradient(batch) for batch in batches]).mean(0)
    torch.testing.assert_close(mean, gradient(train.nodes), atol=1e-6, rtol=1e-4)


def test_minibatches_train(graph: Graph) -> None:
    torch.manual_seed(0)
    recipe = NodeRecipe(rate=0.02, weight_decay=0.0, epochs=150, batch=8)
    train, _ = parts(graph)
    model = OneHopSetTwister(FEATURES, CLASSES, (32,), (16,), dropout=0.0, input_dropout=0.0)
    found = train_nodes(model, graph.x, graph.neighbours, train, None, recipe)
    assert score(found.probabilities[train.nodes].argmax(1), train.labels, balanced=True) > 0.9
    with pytest.raises(InputError, match="it needs the graph"):
        train_nodes(MODELS["gcn"](), graph.x, graph.neighbours, train, None, recipe)


def test_uneven_classes() -> None:
    labels = torch.tensor([0, 0, 0, 0, 1, 1])
    assert class_weights(labels, 3).tolist() == [1.0, 2.0, 0.0]
    assert score(torch.zeros(6, dtype=torch.long), labels, balanced=False) == pytest.approx(4 / 6)
    assert score(torch.zeros(6, dtype=torch.long), labels, balanced=True) == 0.5


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "no layers": (lambda: OneHopDeepSets(3, 2, ()), "phi is empty"),
    "indivisible": (lambda: OneHopSetTwister(3, 2, (9,)), "expected widths that M=2 divides"),
    "pool": (lambda: OneHopDeepSets(3, 2, pool="max"), "pool is 'max'"),
    "dropout": (lambda: OneHopDeepSets(3, 2, dropout=1.5), "dropout is 1.5"),
    "rate": (lambda: NodeRecipe(rate=0.0), "expected a positive learning rate"),
    "epochs": (lambda: NodeRecipe(epochs=0), "epochs is 0"),
    "no labels": (lambda: Labelled(torch.tensor([]), torch.tensor([])), "no labelled nodes"),
    "uneven": (lambda: Labelled(torch.tensor([1]), torch.tensor([0, 1])), "expected as many of each"),
    "negative": (lambda: Labelled(torch.tensor([1]), torch.tensor([-1])), "label -1 among the labelled"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name: str) -> None:
    make, message = BAD[name]
    with pytest.raises(InputError, match=message):
        make()
