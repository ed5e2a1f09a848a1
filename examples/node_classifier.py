"""A single-hop node classifier in PyTorch, on a graph that PyTorch Geometric holds, trained on slices of the graph.

    python examples/node_classifier.py

Needs ``pip install 'settwister[pyg]'``.
"""

import torch
from torch_geometric.data import Data

from settwister.graphs import from_pyg, random_split
from settwister.graphs.synthetic import pairwise_graph
from settwister.nn.nodes import OneHopSetTwister
from settwister.training import Labelled, NodeRecipe, predict_nodes, train_nodes


def some_data(nodes: int) -> Data:
    """Any Data with x, edge_index and y will do; here a node's label is how much its neighbours differ."""
    made = pairwise_graph(nodes, degree=20)
    edges = torch.stack([made.neighbours.index.long(), made.neighbours.rows])
    return Data(x=made.x, edge_index=edges, y=made.y)


def main(nodes: int = 2000, epochs: int = 40) -> float:
    graph = from_pyg(some_data(nodes), directed=True, loops=True)  # by default, edges go both ways
    split = random_split(graph.labelled, seed=0)
    train, validation = (Labelled(part, graph.y[part]) for part in (split.train, split.validation))
    torch.manual_seed(0)
    model = OneHopSetTwister(
        graph.num_features, graph.num_classes, (32, 32), (32,), activation="gelu", dropout=0.0, input_dropout=0.0
    )
    # 64 nodes and their neighbours at a time, never the whole graph.
    recipe = NodeRecipe(rate=5e-3, weight_decay=0.0, epochs=epochs, batch=64)
    found = train_nodes(model, graph.x, graph.neighbours, train, validation, recipe)
    right = predict_nodes(found.model, graph.x, graph.neighbours, split.test).argmax(1) == graph.y[split.test]
    accuracy = float(right.float().mean())
    print(f"{accuracy:.1%} of the test nodes, after {found.best_epoch} epochs, where validation nodes were best")
    return accuracy


if __name__ == "__main__":
    main()
