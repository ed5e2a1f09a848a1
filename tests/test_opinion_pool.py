"""Pooling what networks say with what known labels say."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from torch import Tensor

from example_nodes import CLASSES, NODES, adjacency, example, parts, sparse
from settwister.functional.propagation import label_propagation, normalised
from settwister.graphs import Graph, tf_idf
from settwister.training.node_trainer import Labelled, joined
from settwister.training.opinion_pool import (
    ALIKE,
    ALPHA,
    NETWORKS,
    RIDGE,
    SMOOTHING,
    STEPS,
    label_opinions,
    pool,
    pool_weights,
)


@pytest.fixture
def graph() -> Graph:
    return example()


def said(seed: int = 0) -> Tensor:
    """What some network says of every node."""
    return torch.randn(NODES, CLASSES, generator=torch.Generator().manual_seed(seed)).softmax(-1)


def slow_votes(features: Tensor, known: Labelled, node: int) -> Tensor:
    """The most alike known nodes one by one, each counted by its cosine."""
    cosines = []
    for other in known.nodes.tolist():
        lengths = float(features[node].norm() * features[other].norm())
        cosines.append(float(features[node] @ features[other]) / lengths if lengths else 0.0)
    votes = torch.zeros(CLASSES, dtype=torch.float64)
    for place in np.argsort(cosines)[::-1][:ALIKE]:
        votes[known.labels[int(place)]] += max(cosines[place], 0.0)
    return votes


@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_opinions_are_what_they_are_said_to_be(graph: Graph, stored: str) -> None:
    known, asked = parts(graph)[0], parts(graph)[1].nodes
    assert isinstance(graph.x, Tensor)
    opinions = label_opinions(graph.x if stored == "dense" else sparse(graph.x), graph.neighbours, CLASSES)
    own = tf_idf(graph.x)
    assert isinstance(own, Tensor)
    own, links = own.double(), adjacency(graph).double()
    around = own + links @ own / links.sum(1, keepdim=True).clamp(min=1)
    for name, features in (("alike", own), ("alike_around", around)):
        expected = torch.stack([slow_votes(features, known, int(node)) for node in asked])
        torch.testing.assert_close(opinions[name](known, asked).double(), expected, atol=1e-6, rtol=1e-5)
    along = normalised(graph.neighbours, "DAD")
    spread = label_propagation(known.nodes, known.labels, CLASSES, along, ALPHA, STEPS)
    assert torch.equal(opinions["linked"](known, asked), spread[asked])


def test_naive_bayes_counts_features_by_class(graph: Graph) -> None:
    """By hand, from smoothed counts; with negative features, which are no counts, there is no such opinion."""
    known, asked = parts(graph)[0], parts(graph)[1].nodes
    assert isinstance(graph.x, Tensor)
    logs = torch.full((len(asked), CLASSES), -torch.inf, dtype=torch.float64)  # an absent class has no share
    for label in known.labels.unique().tolist():
        of_class = graph.x[known.nodes[known.labels == label]].double()
        rates = of_class.sum(0) + SMOOTHING
        logs[:, label] = graph.x[asked].double() @ (rates / rates.sum()).log() + np.log(len(of_class) / len(known))
    found = label_opinions(graph.x, graph.neighbours, CLASSES)["counted"](known, asked)
    torch.testing.assert_close(found.double(), logs.softmax(-1), atol=1e-6, rtol=1e-5)
    assert set(label_opinions(graph.x - 1, graph.neighbours, CLASSES)) == {"linked", "alike", "alike_around"}


def test_few_known_nodes_and_nobody_to_ask_about(graph: Graph) -> None:
    few = Labelled(torch.tensor([4, 9]), torch.tensor([0, 1]))
    for opinion in label_opinions(graph.x, graph.neighbours, CLASSES).values():
        assert opinion(few, torch.tensor([], dtype=torch.int64)).shape == (0, CLASSES)
        assert opinion(few, torch.arange(10, 15)).isfinite().all()


def test_weights_make_labels_most_likely() -> None:
    made = torch.Generator().manual_seed(1)
    logs = torch.randn(200, 4, CLASSES, generator=made, dtype=torch.float64).log_softmax(-1)
    labels = logs[:, 0].exp().multinomial(1, generator=made).squeeze(-1)
    class_weight = torch.tensor([1.0, 2.0, 0.5])

    def loss(weights: np.ndarray) -> float:
        pooled = (torch.from_numpy(weights)[:, None] * logs).sum(1)
        return float(F.cross_entropy(pooled, labels, class_weight.double())) + RIDGE * float((weights**2).sum())

    expected = minimize(loss, np.zeros(4), method="Nelder-Mead", options=dict(xatol=1e-7, fatol=1e-12, maxiter=5000))
    found = pool_weights(logs, labels, class_weight)
    np.testing.assert_allclose(found.numpy(), expected.x, atol=1e-4)
    assert abs(found[0] - 1) < 0.3  # the labels were drawn from the first opinion; the others know nothing
    assert found[1:].abs().max() < 0.3


def test_labels_speak_only_of_nodes_that_they_are_not_of(graph: Graph) -> None:
    """Without crossing: validation nodes are asked about by training labels, which keep what the network says."""
    train, validation = parts(graph)
    asked: list[tuple[set[int], set[int]]] = []

    def watched(known: Labelled, nodes: Tensor) -> Tensor:
        asked.append((set(known.nodes.tolist()), set(nodes.tolist())))
        return torch.zeros(len(nodes), CLASSES)

    found = pool(said(), {"watched": watched}, [(train, validation)], train)
    assert [known & nodes for known, nodes in asked] == [set(), set()]
    assert asked[0] == (set(train.nodes.tolist()), set(validation.nodes.tolist()))
    assert asked[0][0] | asked[0][1] | asked[1][1] == set(range(NODES))
    assert torch.equal(found.scores[train.nodes], said()[train.nodes])
    assert found.weights["watched"] == pytest.approx(0, abs=1e-6)  # equal shares say nothing
    sharpened = said() ** found.weights[NETWORKS]
    torch.testing.assert_close(found.scores[validation.nodes], F.normalize(sharpened, p=1)[validation.nodes])


def test_crossed_labels_speak_of_held_out_nodes_and_then_of_all_others(graph: Graph) -> None:
    train, validation = parts(graph)
    known = joined([train, validation])
    both = [(train, validation), (validation, train)]
    opinions = label_opinions(graph.x, graph.neighbours, CLASSES)
    found = pool(said(), opinions, both, known)
    assert set(found.weights) == {NETWORKS, *opinions}
    torch.testing.assert_close(found.scores.sum(1), torch.ones(NODES))
    # weights of 1 for the networks and 0 for all else are among those that were compared
    before, after = (F.nll_loss(scores[known.nodes].log(), known.labels) for scores in (said(), found.scores))
    ridge = RIDGE * (1 - sum(weight**2 for weight in found.weights.values()))
    assert after <= before + ridge + 1e-6


def test_what_is_certain_and_wrong_is_no_infinity(graph: Graph) -> None:
    train, validation = parts(graph)
    certain = F.one_hot((graph.y + 1) % CLASSES, CLASSES).float()
    found = pool(certain, label_opinions(graph.x, graph.neighbours, CLASSES), [(train, validation)], train)
    assert found.scores.isfinite().all()
    assert all(np.isfinite(weight) for weight in found.weights.values())
