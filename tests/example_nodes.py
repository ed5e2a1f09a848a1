"""A small graph with the corners that graphs have, and one small model of each kind."""

from collections.abc import Callable

import torch
from torch import Tensor

from settwister.functional import Csr
from settwister.graphs import Graph, random_split
from settwister.nn.features import dense
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
from settwister.training.node_trainer import Labelled

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


def example() -> Graph:
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


def whole(graph: Graph) -> NodeBatch:
    return NodeBatch(graph.x, graph.neighbours)


def parts(graph: Graph, y: Tensor | None = None) -> tuple[Labelled, Labelled]:
    split = random_split(graph.labelled, seed=0)
    y = graph.y if y is None else y
    return Labelled(split.train, y[split.train]), Labelled(split.validation, y[split.validation])


ONE_HOP = [name for name in MODELS if MODELS[name]().hops is not None]
