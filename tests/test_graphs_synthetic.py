"""Graphs made at random."""

import itertools

import pytest
import torch

from settwister.functional import Csr
from settwister.graphs.synthetic import pairwise_graph, stand_in


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
