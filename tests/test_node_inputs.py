"""Degenerate graphs, for every method of the node table: what it says of them is finite, and defined."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import Tensor

from settwister.experiments.nodes import METHODS
from settwister.experiments.nodes import fit as fit_module
from settwister.experiments.nodes.fit import fit, metrics
from settwister.functional import Csr
from settwister.graphs import Graph, Split, from_pyg, load
from settwister.training import correct_and_smooth
from settwister.training.collective import train_collective
from settwister.training.node_recipe import NodeRecipe

NODES, FEATURES, CLASSES = 24, 6, 3
SPLIT = Split(torch.arange(0, 12), torch.arange(12, 18), torch.arange(18, 24))
FEW = 2  # epochs: enough for a NaN to spread


@pytest.fixture(autouse=True, scope="module")
def _few_options() -> Any:
    """Correct and smooth and label propagation try two strengths instead of five, collective learning two rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "train_collective", partial(train_collective, rounds=2))
        for module in (correct_and_smooth, fit_module):
            patch.setattr(module, "ALPHAS", (0.2, 0.9))
        yield


def features() -> Tensor:
    return (torch.rand(NODES, FEATURES, generator=torch.Generator().manual_seed(1)) < 0.5).float()


def edges(nodes: int = NODES, count: int = 50) -> Tensor:
    """Different edges between different nodes, each once and from the smaller number to the larger."""
    drawn = torch.randint(nodes, (2, count), generator=torch.Generator().manual_seed(2))
    low, high = drawn.min(0).values, drawn.max(0).values
    return torch.stack([low, high])[:, low < high].unique(dim=1)


def labels() -> Tensor:
    return torch.arange(NODES) % CLASSES


def plain() -> Graph:
    return Graph.make(features(), edges(), labels())


def said(name: str, graph: Graph, split: Split = SPLIT, **recipe: Any) -> Tensor:
    """What a method says of every node after a few epochs, once that is known to make sense.

    (N, C) probabilities; after propagation they are scores, which need not add up to 1.
    """
    method = METHODS[name]
    narrow = dict(method.defaults) | ({"width": 8} if "width" in method.defaults else {})
    found = fit(method, graph, split, narrow, NodeRecipe(epochs=FEW, **recipe), seed=0)
    scores = found.scores
    assert scores.shape == (graph.num_nodes, graph.num_classes)
    assert bool(scores.isfinite().all())
    assert np.isfinite([found.validation, *found.curves.get("train_loss", [])]).all()
    if method.build is not None and not method.smoothed:
        assert bool((scores >= 0).all())
        torch.testing.assert_close(scores.sum(1), torch.ones(graph.num_nodes))
    assert all(np.isfinite(value) for value in metrics(scores, graph.y, split.test).values())
    return scores


@pytest.fixture(scope="module", params=METHODS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# ---- nodes without neighbours ---------------------------------------------------------------------------------------


def test_isolated_nodes_are_judged_by_themselves(name: str) -> None:
    """In every part of the split there are some; two that are alike and unlabelled get the same answer."""
    x = features()
    x[23] = x[22]
    connected = edges(nodes=22)
    connected = connected[:, ((connected != 0) & (connected != 12)).all(0)]
    graph = Graph.make(x, connected, labels())
    assert (graph.degrees[[0, 12, 22, 23]] == 0).all()
    scores = said(name, graph)
    if not METHODS[name].collective:  # which draws a guess for each node
        torch.testing.assert_close(scores[22], scores[23])
    if name == "label_propagation":
        assert scores[22].tolist() == [0.0] * CLASSES, "no label reaches it"


def test_a_graph_without_edges_is_a_table(name: str) -> None:
    graph = Graph.make(features(), torch.empty(2, 0, dtype=torch.long), labels())
    scores = said(name, graph)
    if name == "label_propagation":
        assert bool((scores[12:] == 0).all()), "labels stay where they are"


# ---- edges that are given in other ways -----------------------------------------------------------------------------


def messy() -> Tensor:
    """The plain graph's edges in any order, some twice, some in the other direction or in both, and loops."""
    clean = edges()
    parts = [clean[:, ::3], clean[:, 1::3].flip(0), clean[:, 2::3], clean[:, 2::3].flip(0)]
    found = torch.cat([*parts, clean[:, :7], torch.arange(NODES).expand(2, -1)], dim=1)
    return found[:, torch.randperm(found.shape[1], generator=torch.Generator().manual_seed(3))]


def from_file(given: Tensor, folder: Path) -> Graph:
    (folder / "cora").mkdir()
    np.savez(folder / "cora" / "cora.npz", x=features().numpy(), edge_index=given.numpy(), y=labels().numpy())
    return load("cora", folder)


WAYS: dict[str, Callable[[Tensor, Path], Graph]] = {
    "made": lambda given, folder: Graph.make(features(), given, labels()),
    "PyG": lambda given, folder: from_pyg(SimpleNamespace(x=features(), edge_index=given, y=labels())),
    "a file": from_file,
}


@pytest.mark.parametrize("way", WAYS)
def test_duplicates_directions_and_loops_are_seen_to(way: str, tmp_path: Path) -> None:
    """However the edges were given, the neighbourhoods are the same to the bit."""
    found, wanted = WAYS[way](messy(), tmp_path), plain()
    assert found.given_edges == messy().shape[1]
    for part in ("ptr", "index"):
        assert torch.equal(getattr(found.neighbours, part), getattr(wanted.neighbours, part))
    assert found.neighbours.weight is None


def test_predictions_do_not_depend_on_how_edges_were_given(name: str) -> None:
    assert torch.equal(said(name, Graph.make(features(), messy(), labels())), said(name, plain()))


def test_loops_and_directions_that_are_kept(name: str) -> None:
    """Methods that give every node a loop of its own count one that is there once."""
    looped = said(name, Graph.make(features(), messy(), labels(), loops=True))
    spreads_labels = METHODS[name].smoothed or METHODS[name].pooled  # along edges as they are, loops and all
    if name.startswith(("gcn", "gat", "tk_gcn", "snowball", "grand")) and not spreads_labels:
        torch.testing.assert_close(looped, said(name, plain()))
    said(name, Graph.make(features(), edges(), labels(), directed=True))


# ---- classes that are not there -------------------------------------------------------------------------------------


@pytest.mark.parametrize("balanced", [False, True])
def test_a_class_absent_from_train(name: str, balanced: bool) -> None:
    """Class 2 is among the nodes to validate and to test only, and class 3 nowhere at all."""
    y = labels()
    y[:12] %= 2
    graph = replace(Graph.make(features(), edges(), y, num_classes=4), balanced=balanced)
    scores = said(name, graph, balanced=balanced)
    if name == "label_propagation":
        assert bool((scores[:, 2:] == 0).all()), "a label that nobody has is not spread"


def test_one_class_in_train(name: str) -> None:
    y = labels()
    y[:12] = 1
    said(name, Graph.make(features(), edges(), y))


# ---- features that say nothing --------------------------------------------------------------------------------------


def sparse(x: Tensor) -> Csr:
    rows, columns = x.nonzero(as_tuple=True)
    return Csr.from_pairs(rows, columns, *x.shape).with_transpose()


@pytest.mark.parametrize("stored", [False, True])
def test_features_that_are_all_zero(name: str, stored: bool) -> None:
    """Only edges and labels are left; who reads neither says the same of every node."""
    zeros = torch.zeros(NODES, FEATURES)
    scores = said(name, Graph.make(sparse(zeros) if stored else zeros, edges(), labels()))
    if name == "mlp":
        torch.testing.assert_close(scores, scores[:1].expand_as(scores))


def test_nodes_without_features(name: str) -> None:
    x = features()
    x[::4] = 0
    x[:, 2] = 0
    dense, stored = (said(name, Graph.make(one, edges(), labels())) for one in (x, sparse(x)))
    if METHODS[name].build is None:  # of all others, dropout draws for stored and for all values are not the same
        torch.testing.assert_close(dense, stored)


# ---- all of it at once ----------------------------------------------------------------------------------------------

numbers = some.integers(0, 7)


@settings(max_examples=40)
@given(
    name=some.sampled_from(sorted(METHODS)),
    pairs=some.lists(some.tuples(numbers, numbers, some.sampled_from([0.0, 0.5, 3.0])), max_size=20),
    y=some.lists(some.integers(0, 2), min_size=8, max_size=8),
    words=some.lists(some.lists(some.booleans(), min_size=2, max_size=2), min_size=8, max_size=8),
    kept=some.fixed_dictionaries({"directed": some.booleans(), "loops": some.booleans()}),
    weighted=some.booleans(),
    stored=some.booleans(),
    balanced=some.booleans(),
)
def test_any_small_graph(
    name: str,
    pairs: list[tuple[int, int, float]],
    y: list[int],
    words: list[list[bool]],
    kept: dict[str, bool],
    weighted: bool,
    stored: bool,
    balanced: bool,
) -> None:
    x = torch.tensor(words).float()
    ends = torch.tensor([pair[:2] for pair in pairs], dtype=torch.long).reshape(-1, 2).t()
    weight = torch.tensor([pair[2] for pair in pairs]) if weighted else None
    graph = Graph.make(sparse(x) if stored else x, ends, y, num_classes=3, weight=weight, **kept)
    split = Split(torch.arange(4), torch.arange(4, 6), torch.arange(6, 8))
    said(name, replace(graph, balanced=balanced), split, balanced=balanced)
