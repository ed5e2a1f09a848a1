"""Single-hop classification against PyG: an epoch, a neighbour sum, and what a prediction costs as the graph grows."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from settwister.bench.timing import Part, Row, best_times, compare
from settwister.extras import needs
from settwister.functional.neighbour_sum import neighbour_sum
from settwister.graphs import Graph, available, load, random_split
from settwister.graphs.synthetic import power_law_edges, stand_in
from settwister.nn.features import dense
from settwister.nn.nodes import GCN, NodeBatch, NodeModel, OneHopSetTwister
from settwister.tasks.streams import stream
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, NodeRun, predict_nodes

WIDTH = 256
HEADS = 8
#: nodes, edges, features, classes, density: of the graphs that are timed, where the data directory lacks them
SIZES = {
    "cora": (2_708, 5_278, 1_433, 7, 0.0127),
    "pubmed": (19_717, 44_324, 500, 3, 0.1),
    "friendster": (43_880, 145_407, 644, 4, 0.0153),
}
GROWTH = (10_000, 100_000, 1_000_000, 10_000_000)
ASKED = 1_000  # nodes that are predicted
DEGREE, FEATURES = 10, 16
GCN_LARGEST = 1_000_000  # a full-graph pass over more nodes than this takes minutes


def parts(rounds: int = 20) -> list[Part]:
    """Epochs and neighbour sums against PyG's, then inference as the graph grows."""
    needs("bench nodes", "pyg", "torch_geometric")
    graphs = [partial(_against_pyg, name, rounds) for name in SIZES]
    return [*graphs, *(partial(_inference, nodes, max(2, rounds // 4)) for nodes in GROWTH)]


def _against_pyg(name: str, rounds: int) -> list[Row]:
    graph = _graph(name)
    return [*_epochs(graph, rounds), _sums(graph, rounds)]


def _graph(name: str) -> Graph:
    if available(None)[name] is not None:
        return load(name)
    nodes, edges, features, classes, density = SIZES[name]
    return stand_in(nodes, edges, features, classes, density, name=f"{name}-sized")


class _PygGCN(nn.Module):
    """Two of PyG's layers, as its examples write them."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        from torch_geometric.nn import GCNConv

        self.first, self.second = GCNConv(features, WIDTH, cached=True), GCNConv(WIDTH, classes, cached=True)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.first(F.dropout(x, 0.5, self.training), edges).relu()
        out: Tensor = self.second(F.dropout(h, 0.5, self.training), edges)
        return out


class _PygGAT(nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        from torch_geometric.nn import GATConv

        self.first = GATConv(features, WIDTH // HEADS, heads=HEADS, dropout=0.5)
        self.second = GATConv(WIDTH, classes, heads=1, concat=False, dropout=0.5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = F.elu(self.first(F.dropout(x, 0.5, self.training), edges))
        out: Tensor = self.second(F.dropout(h, 0.5, self.training), edges)
        return out


def _epochs(graph: Graph, rounds: int) -> list[Row]:
    """A training epoch: forward, backward and Adam's step on the nodes of a 60/20/20 split."""
    train = random_split(graph.labelled, seed=0).train
    edges = torch.stack([graph.neighbours.index.long(), graph.neighbours.rows])
    ours = OneHopSetTwister(graph.num_features, graph.num_classes, (WIDTH,), (WIDTH,), norm=None, lower_orders=None)
    ours_name, gcn, gat = (f"{model}, {graph.name}" for model in ("Set Twister's epoch", "PyG's GCN", "PyG's GAT"))
    runs = {ours_name: _our_epoch(ours, graph, train)}
    x = dense(graph.x)
    for name, model in ((gcn, _PygGCN), (gat, _PygGAT)):
        runs[name] = _pyg_epoch(model(graph.num_features, graph.num_classes), x, edges, graph.y, train)
    times = best_times(runs, rounds)
    return [compare(times, ours_name, gcn), compare(times, ours_name, gat)]


def _our_epoch(model: NodeModel, graph: Graph, train: Tensor) -> Callable[[], object]:
    labelled = Labelled(train, graph.y[train])
    return NodeRun(model, graph.x, graph.neighbours, labelled, None, NodeRecipe(), 0, lambda epoch, note: None).epoch


def _pyg_epoch(model: nn.Module, x: Tensor, edges: Tensor, y: Tensor, train: Tensor) -> Callable[[], object]:
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4, fused=True)  # as ours

    def epoch() -> None:
        optimiser.zero_grad()
        F.cross_entropy(model(x, edges)[train], y[train]).backward()
        optimiser.step()

    return epoch


def _sums(graph: Graph, rounds: int) -> Row:
    from torch_geometric.utils import scatter

    values = torch.randn(graph.num_nodes, WIDTH, requires_grad=True)
    source, target = graph.neighbours.index.long(), graph.neighbours.rows
    times = best_times(
        {
            f"neighbour sum, {graph.name}": lambda: neighbour_sum(values, graph.neighbours).sum().backward(),
            "PyG's scatter": lambda: scatter(values[source], target, 0, graph.num_nodes, "sum").sum().backward(),
        },
        rounds,
    )
    return compare(times, *times)


def grown(nodes: int) -> tuple[Graph, Tensor]:
    """A graph of so many nodes, and 1,000 of them that have the same features and the same neighbours in each.

    They and 9,000 others, among which their neighbours are, lie scattered among the nodes of the graph.
    """
    kept, added, few = stream(0, "kept"), stream(0, "added"), GROWTH[0]
    places = added.permutation(nodes)
    edges = places[:few][power_law_edges(kept, few, few * DEGREE // 2)]
    x = added.standard_normal((nodes, FEATURES), dtype=np.float32)
    x[places[:few]] = kept.standard_normal((few, FEATURES), dtype=np.float32)
    if nodes > few:
        more = power_law_edges(added, nodes - few, (nodes - few) * DEGREE // 2)
        edges = np.concatenate([edges, places[few:][more]], axis=1)
    graph = Graph.make(torch.from_numpy(x), edges, np.zeros(nodes, np.int64), num_classes=2)
    return graph, torch.from_numpy(places[:ASKED])


def _inference(nodes: int, rounds: int) -> list[Row]:
    """Predicting 1,000 nodes: one hop reads their neighbourhoods, a GCN of two layers passes over the graph."""
    graph, asked = grown(nodes)
    ours = OneHopSetTwister(FEATURES, 2, (64,), (64,))
    runs = {"ours": partial(predict_nodes, ours, graph.x, graph.neighbours, asked)}
    if nodes <= GCN_LARGEST:
        gcn = GCN(FEATURES, 2, 64)
        prepared = gcn.prepare(NodeBatch(graph.x, graph.neighbours))
        gcn.eval()
        runs["gcn"] = partial(gcn.probabilities, prepared)
    with torch.no_grad():
        times = best_times(runs, rounds, warm_up=1)
    name, one, other = f"1,000 nodes of {nodes:,}", times["ours"], times.get("gcn")
    ratio, shown = (None, None) if other is None else (other / one, other * 1e3)
    return [Row(name, ratio, one * 1e3, shown, "ms", "GCN")]
