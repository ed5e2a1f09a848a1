"""torch.compile: one graph, no break, on every layout, forward and backward."""

import pytest
import torch

import settwister as st
from example_nodes import FEATURES, example, sparse
from example_nodes import MODELS as NODE_MODELS
from settwister.graphs import Graph
from settwister.nn import SetModel
from settwister.nn.nodes import NodeBatch
from test_models import layouts, ragged, vocabulary

BATCH = [[0, 1, 2], [3], [], [4, 5, 6, 7, 0]]
LAYOUTS = list(layouts(BATCH, vocabulary()))

COMPILED = {
    "deepsets": lambda: st.DeepSets(3, 2),
    "deepsets_mean": lambda: st.DeepSets(3, 2, pool="mean"),
    "set_twister": lambda: st.SetTwister(3, 2),
    "set_twister_multiset": lambda: st.SetTwister(3, 2, M=3, k=3, form="multiset", lower_orders="sum"),
    "set_twister_factored": lambda: st.SetTwister(3, 2, k=4, form="factored", pool="sqrt", norm="layer"),
    "set_twister_distinct": lambda: st.SetTwister(3, 2, k=3, form="ordered", distinct=True),
}


def outputs_and_gradients(model: torch.nn.Module, sets: st.Sets) -> list[torch.Tensor]:
    model.zero_grad()
    out = model(sets)
    out.square().sum().backward()
    return [out.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


def compare(model: SetModel, sets: st.Sets, backend: str) -> None:
    torch.compiler.reset()
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    for ours, eager in zip(outputs_and_gradients(compiled, sets), outputs_and_gradients(model, sets), strict=True):
        torch.testing.assert_close(ours, eager, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", COMPILED)
def test_one_graph_on_every_layout(name: str, layout: str) -> None:
    """fullgraph=True raises on any break; ahead-of-time autograd traces the backward pass too."""
    compare(COMPILED[name](), layouts(BATCH, vocabulary())[layout], "aot_eager")


@pytest.mark.parametrize("name", ["deepsets", "set_twister"])
@pytest.mark.parametrize("layout", ["dense", "neighbours"])
def test_generated_code_agrees(name: str, layout: str) -> None:
    compare(COMPILED[name](), layouts(BATCH, vocabulary())[layout], "inductor")


@pytest.mark.parametrize("name", ["deepsets", "set_twister"])
def test_no_graph_breaks_are_counted(name: str) -> None:
    for sets in layouts(BATCH, vocabulary()).values():
        torch.compiler.reset()
        assert torch._dynamo.explain(COMPILED[name]())(sets).graph_break_count == 0


def test_sets_can_be_built_inside_a_compiled_function() -> None:
    model = st.SetTwister(3, 2)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def run(x: torch.Tensor, ptr: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = model(st.Sets.ragged(x, ptr))
        return out

    x, ptr = torch.randn(6, 3), torch.tensor([0, 2, 2, 6])
    torch.testing.assert_close(run(x, ptr), model(st.Sets.ragged(x, ptr)))


def test_another_batch_size_does_not_break_either() -> None:
    torch.compiler.reset()
    model = st.SetTwister(3, 2)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    for batch in ([[0, 1], [2]], [[3, 4, 5], [], [6, 7]], BATCH):
        sets = ragged(batch, vocabulary())
        torch.testing.assert_close(compiled(sets), model(sets), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", NODE_MODELS)
def test_node_models_are_one_graph_too(name: str, training: bool) -> None:
    """On dense and sparse features, and on another graph of another size; loops that are there already count once."""
    torch.compiler.reset()
    model = NODE_MODELS[name]().train(training)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    edges = torch.randint(57, (2, 140))
    for graph in (example(), Graph.make(torch.rand(57, FEATURES), edges, torch.arange(57) % 3, loops=True)):
        assert isinstance(graph.x, torch.Tensor)
        for x in (graph.x, sparse(graph.x)):
            batch = NodeBatch(x, graph.neighbours)
            out = compiled(batch)
            out.sum().backward()
            if not training:
                torch.testing.assert_close(out, model(batch), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("dynamic", [None, True])
def test_an_aggregation_takes_graphs_of_any_size(dynamic: bool | None) -> None:
    from torch_geometric.nn import SAGEConv

    from settwister.pyg import TwisterAggregation

    torch.compiler.reset()
    layer = SAGEConv(4, 5, aggr=TwisterAggregation(4))
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for nodes, edges in ((6, 20), (9, 31), (30, 77)):
        x, ends = torch.randn(nodes, 4), torch.randint(nodes, (2, edges))
        out = compiled(x, ends)
        out.sum().backward()
        torch.testing.assert_close(out, layer(x, ends), atol=1e-5, rtol=1e-4)
