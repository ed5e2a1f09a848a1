"""Models of nodes: every one against its definition, and against what all must satisfy."""

import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import settwister as st
from example_nodes import CLASSES, FEATURES, MODELS, NODES, ONE_HOP, adjacency, example, sparse, whole
from graph_files import refusal
from settwister.errors import InputError
from settwister.functional import Csr
from settwister.functional.dropout import keep
from settwister.graphs import Graph, neighbour_sets, standardised
from settwister.nn.features import Centred, row_normalised
from settwister.nn.nodes import (
    GAT,
    GCN,
    Averaged,
    Grand,
    NodeBatch,
    NodeMLP,
    NodeModel,
    OneHopDeepSets,
    OneHopSetTwister,
    Snowball,
    TruncatedKrylov,
)
from settwister.nn.nodes import grand as grand_module
from settwister.nn.nodes import krylov as krylov_module

NEAR = dict(atol=0.05, rtol=0.05)


@pytest.fixture
def graph() -> Graph:
    return example()


@pytest.mark.parametrize("name", MODELS)
def test_sparse_and_dense_features_give_one_answer(graph: Graph, name: str) -> None:
    model = MODELS[name]().eval()
    assert isinstance(graph.x, Tensor)
    out = model(whole(graph))
    assert out.shape == (NODES, CLASSES)
    assert bool(out.isfinite().all())
    torch.testing.assert_close(model(NodeBatch(sparse(graph.x), graph.neighbours)), out, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_centred_features_need_not_be_written_out(graph: Graph, name: str, training: bool) -> None:
    """Sparse features less their means are what dense ones less theirs are: the same loss, draws and gradients."""
    model = MODELS[name]().train(training)
    assert isinstance(graph.x, Tensor)
    wanted, found = standardised(graph.x), standardised(sparse(graph.x))
    assert isinstance(found, Centred)
    results = []
    for x in (wanted, found):
        torch.manual_seed(0)
        model.zero_grad()
        loss = model.loss(model.prepare(NodeBatch(x, graph.neighbours)), None, graph.y, None)
        loss.backward()
        results.append([loss.detach(), *[weight.grad for weight in model.parameters()]])
    torch.testing.assert_close(results[1], results[0], atol=1e-5, rtol=1e-4)
    if name in ONE_HOP:
        part = torch.tensor([5, 0, 39, 5])
        batches = [NodeBatch.of(x, graph.neighbours, part) for x in (wanted, found)]
        assert isinstance(batches[1].x, Centred)
        model.eval()
        torch.testing.assert_close(model(batches[1]), model(batches[0]), atol=1e-5, rtol=1e-4)


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


@pytest.mark.parametrize("name", ONE_HOP)
def test_a_batch_is_a_slice_of_the_whole(graph: Graph, name: str) -> None:
    model = MODELS[name]().eval()
    nodes = torch.tensor([7, 3, 39, 7, 0])
    assert isinstance(graph.x, Tensor)
    for x in (graph.x, sparse(graph.x)):
        part = NodeBatch.of(x, graph.neighbours, nodes, model.hops)
        torch.testing.assert_close(model(part), model(whole(graph))[nodes], atol=1e-5, rtol=1e-4)
    assert part.own is not None
    seen = {*nodes.tolist(), *(graph.neighbours.take(nodes).index.tolist() if model.hops else [])}
    assert part.neighbours.num_elements == len(seen)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ONE_HOP])
def test_further_models_refuse_a_part(graph: Graph, name: str) -> None:
    with pytest.raises(InputError, match="expected the whole graph"):
        MODELS[name]()(NodeBatch.of(graph.x, graph.neighbours, torch.tensor([0, 1])))


@pytest.mark.parametrize("name", ONE_HOP)
def test_a_mask_says_which_nodes_as_well(graph: Graph, name: str) -> None:
    model = MODELS[name]().eval()
    mask = graph.y == 2
    part = NodeBatch.of(graph.x, graph.neighbours, mask, model.hops)
    torch.testing.assert_close(model(part), model(whole(graph))[mask], atol=1e-5, rtol=1e-4)
    few = NodeBatch.of(graph.x, graph.neighbours, torch.tensor([3, 0], dtype=torch.int32), model.hops)
    torch.testing.assert_close(model(few), model(whole(graph))[[3, 0]], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("hops", [0, 1])
@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        (torch.tensor([0, -1]), f"nodes hold -1, expected numbers from 0 to {NODES - 1}"),
        (torch.tensor([NODES]), f"nodes hold {NODES}, expected numbers from 0 to {NODES - 1}"),
        (torch.tensor([True, False]), "nodes are bool of shape (2,), expected whole numbers of shape (nodes,) or a "),
        (torch.tensor([0.5]), "nodes are float32 of shape (1,), expected whole numbers"),
        (torch.tensor([[0, 1]]), "nodes are int64 of shape (1, 2), expected whole numbers of shape (nodes,)"),
        ([0, 1], "nodes are a list, expected whole numbers"),
    ],
)
def test_nodes_that_are_not_there_are_refused(graph: Graph, nodes: Any, sentence: str, hops: int) -> None:
    assert sentence in refusal(lambda: NodeBatch.of(graph.x, graph.neighbours, nodes, hops))


def batches(graph: Graph) -> dict[str, tuple[Any, str]]:
    """What cannot be made, and what is said of it."""
    x, neighbours, edges = graph.x, graph.neighbours, torch.zeros(2, 5, dtype=torch.long)
    assert isinstance(x, Tensor)
    return {
        "edges": ((x, edges), "neighbours are int64 of shape (2, 5), expected a Csr: neighbour_sets(edges, num_nodes)"),
        "torch-sparse x": (
            (x.to_sparse(), neighbours),
            "x is torch-sparse float32 of shape (40, 12), expected a dense",
        ),
        "a table": ((x.numpy(), neighbours), "x is a ndarray, expected a dense tensor of shape (nodes, features)"),
        "a vector": ((x[:, 0], neighbours), "x is float32 of shape (40,), expected a dense tensor"),
        "too few rows": ((x[1:], neighbours), "x has 39 rows, expected 40, the nodes that neighbours are of"),
        "too many rows": ((sparse(torch.cat([x, x])), neighbours), "x has 80 rows, expected 40"),
        "some sets": ((x, neighbours.take(torch.tensor([1]))), "neighbours are Csr(1 sets of 40 elements, "),
    }


@pytest.mark.parametrize("name", batches(example()))
def test_batches_that_make_no_sense_are_refused(graph: Graph, name: str) -> None:
    given, sentence = batches(graph)[name]
    assert sentence in refusal(lambda: NodeBatch(*given))
    if name != "some sets":
        assert sentence in refusal(lambda: NodeBatch.of(*given, torch.tensor([0])))


@pytest.mark.parametrize("name", MODELS)
def test_models_say_what_they_are_called_on(graph: Graph, name: str) -> None:
    """Both before anything is computed and, for what does not change, before anything is prepared."""
    from torch_geometric.data import Data

    model, x = MODELS[name](), graph.x
    kind = type(model).__name__
    assert isinstance(x, Tensor)
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((Data(x=x),), f"{kind} was called on a Data, expected NodeBatch(x, neighbours): neighbour_sets(edges"),
        ((x, torch.zeros(2, 1)), f"{kind} was called on 2 things, expected NodeBatch(x, neighbours)"),
        ((x,), f"{kind} was called on float32 of shape (40, 12), expected NodeBatch"),
        (
            (NodeBatch(x.long(), graph.neighbours),),
            "x is torch.int64, expected torch.float32 as the model's",
        ),
        ((NodeBatch(x > 0, graph.neighbours),), "x is torch.bool, expected torch.float32"),
        ((NodeBatch(x.double(), graph.neighbours),), "x is torch.float64, expected torch.float32"),
        ((NodeBatch(x[:, 1:], graph.neighbours),), f"x has {FEATURES - 1} columns, expected in_dim={FEATURES}"),
        ((NodeBatch(sparse(x[:, 1:]), graph.neighbours),), f"x has {FEATURES - 1} columns, expected in_dim={FEATURES}"),
    ]
    for given, sentence in wrong:
        assert sentence in refusal(lambda given=given: model(*given))
        if len(given) == 1 and "columns" not in sentence:
            assert sentence in refusal(lambda given=given: model.prepare(*given))


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
    rows, columns = graph.x.nonzero(as_tuple=True)
    sparse = Csr.from_pairs(rows, columns, NODES, FEATURES, graph.x[rows, columns]).with_transpose()
    torch.testing.assert_close(model(NodeBatch(sparse, graph.neighbours)), model(whole(graph)))


@pytest.mark.parametrize("kind", [TruncatedKrylov, Snowball])
def test_krylov_networks_start_as_their_authors_have_it(kind: Any) -> None:
    """Every parameter fills ±1/√(its layer's width); the other start has narrower weights here, and no biases."""
    theirs, ours = (kind(2_000, 4, 100, start=start) for start in ("fan_out", "xavier"))
    for name, parameter in theirs.named_parameters():
        bound = 1 / math.sqrt(4 if name.startswith("last") else 100)
        assert parameter.abs().max() <= bound
        assert parameter.dim() == 1 or parameter.abs().max() > 0.99 * bound
        other = ours.get_parameter(name)
        assert other.abs().max() < (0.9 * bound if other.dim() > 1 else 1e-9)
    with pytest.raises(InputError, match="start is 'zero'"):
        kind(5, 2, start="zero")


@pytest.mark.parametrize("kind", [TruncatedKrylov, Snowball])
def test_krylov_networks_divide_rows_if_asked(graph: Graph, kind: Any) -> None:
    assert isinstance(graph.x, Tensor)
    model = kind(FEATURES, CLASSES, 8).eval()
    divided = model(whole(graph))
    torch.testing.assert_close(model(NodeBatch(3 * graph.x, graph.neighbours)), divided)
    model.normalise_rows = False
    torch.testing.assert_close(model(NodeBatch(row_normalised(graph.x), graph.neighbours)), divided)
    assert not torch.allclose(model(whole(graph)), divided)


@pytest.mark.parametrize("normalise_rows", [True, False])
@pytest.mark.parametrize("swapped", [True, False])
def test_grand_is_its_definition(graph: Graph, swapped: bool, normalise_rows: bool) -> None:
    """In evaluation the mean of the powers; in training the loss of its formula, with the same random nodes dropped.

    Both with the first layer before the propagation and after it.
    """
    nothing = dict(input_dropout=0.0, dropout=0.0)
    model = Grand(
        FEATURES, CLASSES, 8, steps=2, samples=2, consistency=0.7, normalise_rows=normalise_rows, **nothing
    ).eval()
    assert model.swapped
    model.swapped = swapped

    def layers(x: Tensor) -> Tensor:
        found: Tensor = model.after(model.first(x) + model.bias)
        return found

    assert isinstance(graph.x, Tensor)
    a = adjacency(graph) + torch.eye(NODES)
    a = a / a.sum(1).sqrt().unsqueeze(1) / a.sum(1).sqrt()
    x = graph.x / graph.x.sum(1, keepdim=True).clamp(min=1e-12) if normalise_rows else graph.x
    mean = sum(torch.linalg.matrix_power(a, i) for i in range(3)) / 3
    torch.testing.assert_close(model(whole(graph)), layers(mean @ x * 0.5), atol=1e-5, rtol=1e-4)
    model.train()
    rows, labels = torch.arange(5), graph.y[:5]
    torch.manual_seed(0)
    loss = model.loss(model.prepare(whole(graph)), rows, labels, None)
    torch.manual_seed(0)
    each = [layers(mean @ (x * (keep(NODES, 0.5) > 0).unsqueeze(1))).softmax(-1) for _ in range(2)]
    sharp = ((each[0] + each[1]) / 2) ** 2
    sharp = (sharp / sharp.sum(1, keepdim=True)).detach()
    wanted = sum(-p[rows, labels].log().mean() for p in each) / 2
    wanted = wanted + 0.7 * sum((p - sharp).square().sum(1).mean() for p in each) / 2
    torch.testing.assert_close(loss, wanted, atol=1e-5, rtol=1e-4)


def test_grand_reads_features_before_it_spreads_them_in_any_precision(graph: Graph) -> None:
    assert isinstance(graph.x, Tensor)
    model = Grand(FEATURES, CLASSES, 8, input_dropout=0.0).eval()
    assert model.swapped
    expected = model(whole(graph))
    for dtype in (torch.float64, torch.bfloat16):
        other = deepcopy(model).to(dtype)
        for training in (False, True):
            prepared = other.train(training).prepare(NodeBatch(sparse(graph.x), graph.neighbours))
            other.loss(prepared, None, graph.y, None).backward()
        torch.testing.assert_close(other.eval()(NodeBatch(sparse(graph.x), graph.neighbours)).float(), expected, **NEAR)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", MODELS)
def test_models_of_any_precision(graph: Graph, name: str, dtype: torch.dtype, training: bool) -> None:
    model = MODELS[name]().eval()
    other = deepcopy(model).to(dtype).train(training)
    assert isinstance(graph.x, Tensor)
    for x in (graph.x.to(dtype), sparse(graph.x)):
        batch = NodeBatch(x, graph.neighbours)
        other.loss(other.prepare(batch), None, graph.y, None).backward()
        if not training:
            assert other(batch).dtype == dtype
            torch.testing.assert_close(other(batch).float(), model(whole(graph)), **NEAR)


@pytest.mark.parametrize("name", MODELS)
def test_neighbours_are_never_summed_in_half_precision(
    graph: Graph, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor weighed: under autocast what is summed is in single precision, and attention is too."""
    model, summed = MODELS[name]().eval(), []
    expected = model(whole(graph))
    real = Csr.sum

    def watched(csr: Csr, values: Tensor) -> Tensor:
        found = real(csr, values)
        summed.append(found.dtype)
        return found

    monkeypatch.setattr(Csr, "sum", watched)
    for conv in model.layers if isinstance(model, GAT) else ():
        conv.register_forward_hook(lambda module, given, out: summed.extend((given[0].dtype, out.dtype)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert isinstance(graph.x, Tensor)
        for x in (graph.x, sparse(graph.x), standardised(sparse(graph.x))):
            out = model(NodeBatch(x, graph.neighbours))
            if isinstance(x, Tensor):
                torch.testing.assert_close(out.float(), expected, **NEAR)
    assert set(summed) == {torch.float32}


@pytest.mark.parametrize("name", MODELS)
def test_further_columns_are_features(graph: Graph, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that change during training stand behind those of x, and rows are divided by their sums without them."""
    for module in (krylov_module, grand_module):
        monkeypatch.setattr(module, "row_normalised", lambda x: x)
    model = MODELS[name]().eval()
    assert isinstance(graph.x, Tensor)
    first, extra = torch.cat([graph.x[:, :-CLASSES], torch.zeros(NODES, 1)], dim=1), torch.randn(NODES, CLASSES - 1)
    first[3] = 0
    given = model.with_extra(model.prepare(NodeBatch(first, graph.neighbours)), extra)
    together = model.prepare(NodeBatch(torch.cat([first, extra], dim=1), graph.neighbours))
    torch.testing.assert_close(model._forward(given), model._forward(together), atol=1e-5, rtol=1e-4)


# ---- averages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [NodeMLP, OneHopDeepSets, OneHopSetTwister])
def test_an_average_says_the_mean_of_what_its_members_say(graph: Graph, kind: type[NodeModel], tmp_path: Path) -> None:
    state = torch.get_rng_state()
    networks = [kind(FEATURES, CLASSES).eval() for _ in range(3)]
    after = torch.get_rng_state()
    model = Averaged.over(networks)
    assert torch.equal(torch.get_rng_state(), after), "nothing was drawn"
    assert not torch.equal(state, after)
    some = NodeBatch.of(graph.x, graph.neighbours, torch.tensor([3, 0, 3]))
    for batch in (whole(graph), some):
        mean = torch.stack([network(batch).softmax(-1) for network in networks]).mean(0)
        torch.testing.assert_close(model(batch).softmax(-1), mean)
        torch.testing.assert_close(model(batch).exp(), mean)
    assert model.num_parameters() == 3 * networks[0].num_parameters()
    model.save_pretrained(tmp_path / "model")
    torch.testing.assert_close(NodeModel.from_pretrained(tmp_path / "model")(some), model(some))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"of": "GCN"}, "of is 'GCN', expected one of"),
        ({"of": "Averaged"}, "of is 'Averaged', expected one of"),
        ({"members": 0}, "members is 0, expected a whole number of at least 1"),
        ({"members": 10**6}, "members is 1000000, expected at most 64"),
    ],
)
def test_averages_that_cannot_be_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Averaged(**{"of": "NodeMLP", "members": 2, "in_dim": 3, "out_dim": 2} | changed)
    assert str(caught.value).startswith(message)
