"""Graphs made at random."""

import pytest
import torch

from settwister.errors import InputError
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
    graph = pairwise_graph(3_000, 60, noise=0.0)
    assert isinstance(graph.x, torch.Tensor)
    assert abs(float(graph.y.float().mean()) - 0.5) < 0.01
    members = graph.x[graph.neighbours.index.long().reshape(3_000, 60)]
    spread, centre = members.var(1).sum(1), members.mean(1).norm(dim=1)
    for feature, least, most in ((spread, 0.65, 1.0), (centre, 0.3, 0.6)):
        above = (feature > feature.median()).long()
        assert least <= float((above == graph.y).double().mean()) <= most
    assert torch.equal(pairwise_graph(3_000, 60, noise=0.0).x, graph.x)
    assert not torch.equal(pairwise_graph(3_000, 60, seed=1, noise=0.0).x, graph.x)


@pytest.mark.parametrize("degree", [1, 7, 49])
def test_how_many_neighbours_there_are_says_nothing_of_a_pairwise_label(degree: int) -> None:
    graph = pairwise_graph(50, degree)
    assert graph.degrees.tolist() == [degree] * 50
    rows = graph.neighbours.index.long().reshape(50, degree)
    assert all(node not in row and len(set(row)) == degree for node, row in enumerate(rows.tolist()))


def test_a_pairwise_graph_needs_enough_nodes() -> None:
    with pytest.raises(InputError, match="fewer than the 50 nodes"):
        pairwise_graph(50, 50)
