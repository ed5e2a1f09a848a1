"""A PyTorch Geometric layer that pools with Set Twister: ``aggr=TwisterAggregation(...)``.

    python examples/pyg_model.py

Needs ``pip install 'settwister[pyg]'``.
"""

import torch
from torch_geometric.nn import SAGEConv

from settwister.graphs.synthetic import pairwise_graph
from settwister.pyg import TwisterAggregation


def main(epochs: int = 60) -> float:
    graph = pairwise_graph(nodes=1000, degree=20)  # the label is how much a node's neighbours differ
    assert isinstance(graph.x, torch.Tensor)
    edges = torch.stack([graph.neighbours.index.long(), graph.neighbours.rows])
    train = torch.rand(graph.num_nodes, generator=torch.Generator().manual_seed(0)) < 0.6
    torch.manual_seed(0)
    width = graph.num_features
    layer = SAGEConv(width, 2, aggr=TwisterAggregation(width, width, phi=(32, 32), rho=(32,)))
    optimiser = torch.optim.Adam(layer.parameters(), lr=1e-2)
    for _ in range(epochs):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(layer(graph.x, edges)[train], graph.y[train]).backward()
        optimiser.step()
    with torch.no_grad():
        right = layer(graph.x, edges)[~train].argmax(1) == graph.y[~train]
    accuracy = float(right.float().mean())
    print(f"{accuracy:.1%} of the nodes that were not trained on")
    return accuracy


if __name__ == "__main__":
    main()
