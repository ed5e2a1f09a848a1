"""The methods of the node table: blind to test labels, made of what their names say, with settings of their own."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from example_cora import NODES, proposed
from settwister.errors import InputError
from settwister.experiments import RunStore
from settwister.experiments.nodes import METHODS, NodeCell, node_cells, run_missing_nodes
from settwister.experiments.nodes import methods as methods_module
from settwister.experiments.nodes.fit import crossed, fit, metrics
from settwister.experiments.nodes.judging import judged, raced
from settwister.experiments.nodes.methods import method
from settwister.experiments.nodes.protocol import split_of
from settwister.experiments.render import name_of
from settwister.experiments.runner import Row
from settwister.graphs import SCALINGS, load
from settwister.nn.features import Centred
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled

#: methods that the table does not show: any network, with anything on top
UNSHOWN = ["gat_cs", "set_twister_m3_k3_cl", "deepsets_cl_cs", "grand_x5", "snowball_crossed_pooled", "mlp_pooled_cs"]


def small(name: str) -> dict[str, Any]:
    """A method's defaults, with narrow layers."""
    defaults = dict(method(name).defaults)
    return defaults | ({"width": 16} if "width" in defaults else {})


@pytest.mark.parametrize("name", [*METHODS, *UNSHOWN])
def test_no_method_sees_test_labels(data: Path, name: str) -> None:
    """The second time with garbage for the labels of test nodes: what it says of every node is the same to the bit."""
    way = method(name)
    graph = load("cora", data)
    split = split_of(graph, 0)
    garbage = graph.y.clone()
    garbage[split.test] = (garbage[split.test] + 1) % 3
    recipe = NodeRecipe(epochs=3)
    honest, blind = (fit(way, one, split, small(name), recipe, seed=1) for one in (graph, replace(graph, y=garbage)))
    assert torch.equal(honest.scores, blind.scores)
    assert honest.validation == blind.validation
    assert honest.scores.shape == (NODES, 3)
    again = fit(way, graph, split, small(name), recipe, seed=1)
    assert torch.equal(again.scores, honest.scores)
    other = fit(way, graph, split, small(name), recipe, seed=2)
    assert way.build is None or not torch.equal(other.scores, honest.scores)


@pytest.mark.parametrize("judge", [judged, raced])
def test_no_search_sees_test_labels(data: Path, judge: Any) -> None:
    graph = load("cora", data)
    split = split_of(graph, 0)
    garbage = graph.y.clone()
    garbage[split.test] = (garbage[split.test] + 1) % 3
    recipe = NodeRecipe(epochs=3, balanced=True)
    honest, blind = (
        judge(METHODS["mlp"], one, split, recipe, 1)(small("mlp"), []) for one in (graph, replace(graph, y=garbage))
    )
    assert honest == blind


def test_every_method_learns_what_is_easy(data: Path) -> None:
    """Neighbours and features both give the class away; whoever cannot read that is broken."""
    graph = load("cora", data)
    split = split_of(graph, 0)
    for name in [*METHODS, *UNSHOWN]:
        eager = {"rate": 0.1, "steps": 2, "input_dropout": 0.0} if "grand" in name else {"rate": 0.02}  # a slow starter
        found = fit(method(name), graph, split, small(name) | eager, NodeRecipe(epochs=80), seed=0)
        reached = metrics(found.scores, graph.y, split.test)
        assert reached["accuracy"] > 75, name
        assert set(reached) == {"accuracy", "balanced_accuracy", "macro_f1"}


def test_the_papers_grid() -> None:
    """Layers, widths, rates; for sets the two poolings: every combination, the smallest networks first.

    Friendster's features are standardised, and so scaled in no other way.
    """
    assert [one["width"] for one in proposed("mlp", "cora")] == [*[128] * 3, *[256] * 3, *[512] * 3] * 2
    for name, graph, paper, smallest, choices in (
        *(("gcn", "cora", 18, 3, 2), ("gcn", "friendster", 18, 3, 1), ("gat", "cora", 12, 3, 2)),
        *(("grand", "pubmed", 9, 3, 2), ("set_twister_m2_k2", "cora", 36, 6, 4), ("mlp", "cora", 18, 3, 1)),
    ):
        tried = proposed(name, graph)
        assert len(tried) == method(name).paper_effort(graph) == paper + (choices - 1) * smallest
        own = {tuple(one[key] for key in method(name).grid) for one in tried}
        assert len(own) == paper  # nothing of the grid is left out
        assert len({(one.get("layers"), one["width"]) for one in tried[: smallest * choices]}) == 1
    assert {settings["scaling"] for settings in proposed("gat", "friendster")} == {"standard"}
    with pytest.raises(InputError, match="unknown method 'magic', expected label_propagation, "):
        method("magic")


def test_the_smallest_networks_decide_what_the_paper_leaves_open() -> None:
    """The choice of the best of them is taken for all others; the others diverge here, which is worth nothing."""
    best = {"activation": "relu", "input_dropout": 0.0}
    tried = proposed(
        "deepsets", "cora", lambda one: -1.0 if one["rate"] == 5e-3 and one.items() >= best.items() else None
    )
    small, large = tried[:24], tried[24:]
    assert len({tuple(sorted(one.items())) for one in small}) == 24
    assert {(one["activation"], one["input_dropout"]) for one in small} == {
        (activation, share) for activation in ("tanh", "relu") for share in (0.5, 0.0)
    }
    assert all(one.items() >= best.items() for one in large)


def test_grand_has_the_settings_of_its_authors() -> None:
    """For every graph of theirs, under each protocol that does not search for them."""
    for graph, steps, temperature in (("cora", 8, 0.5), ("citeseer", 2, 0.3), ("pubmed", 5, 0.2), ("wikics", 2, 0.3)):
        for settings in proposed("grand", graph):
            assert (settings["steps"], settings["temperature"]) == (steps, temperature)
    assert method("gcn").fixed("cora") == {}


def test_where_nothing_is_searched_grand_has_the_rate_and_width_of_its_authors() -> None:
    grand = method("grand")
    assert grand.untuned("pubmed").items() >= dict(width=32, rate=0.2, batch_norm=True).items()
    assert grand.untuned("cora").items() >= dict(width=32, rate=1e-2, steps=8).items()
    assert all(start["width"] == 32 and start["rate"] == 0.2 for start in grand.starts("pubmed"))
    assert {settings["width"] for settings in proposed("grand", "pubmed")} == {128, 256, 512}


def test_rows_of_words_are_divided_and_of_other_features_only_if_that_is_better() -> None:
    for name in ("tk_gcn", "snowball"):
        for graph, wanted in (("cora", {True}), ("friendster", {True, False})):
            assert {settings["normalise_rows"] for settings in proposed(name, graph)} == wanted
        assert method(name).paper_effort("cora") == 18 + 3
        assert method(name).paper_effort("friendster") == 18 + 9


def test_what_comes_on_top_takes_the_settings_of_what_is_below(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One search for both, in the base's folder, by the base's own score."""
    grid = dict(layers=(2,), width=(4,), rate=(1e-3, 1e-1))
    for name in ("mlp", "correct_and_smooth"):
        monkeypatch.setitem(methods_module.METHODS, name, replace(METHODS[name], grid=grid))
    store = RunStore(tmp_path / "runs", "paper")
    on_top, below = NodeCell("correct_and_smooth", "cora"), NodeCell("mlp", "cora")
    run_missing_nodes([on_top], store, "paper", data_dir=data, seeds=[0], epochs=3)
    trials = json.loads(store.search_file(below).read_text())
    assert not store.search_file(on_top).exists()
    best = max(trials, key=lambda trial: trial["validation"])["settings"]
    run = store.read(on_top, 0)
    assert run is not None
    assert run["settings"] == best
    for name in METHODS:
        base = METHODS[name].base
        assert base is None or all(
            getattr(METHODS[base], part) == getattr(METHODS[name], part) for part in ("grid", "left_open", "space")
        )


def test_several_networks_are_averaged(data: Path) -> None:
    """The first of them is the network that stands alone; the validation score is that of the mean."""
    graph, recipe = load("cora", data), NodeRecipe(epochs=3)
    split = split_of(graph, 0)
    alone = METHODS["gcn"]
    one, three = (fit(replace(alone, members=count), graph, split, small("gcn"), recipe, seed=4) for count in (1, 3))
    assert three.parameters == 3 * one.parameters
    assert three.curves == one.curves
    others = (3 * three.scores - one.scores) / 2  # the mean of the second and the third
    torch.testing.assert_close(others.sum(1), torch.ones(NODES))
    assert not torch.allclose(others, one.scores)
    reached = metrics(three.scores, graph.y, split.validation)["accuracy"]
    assert 100 * three.validation == pytest.approx(reached)


def test_crossed_networks_together_learn_from_every_known_label(data: Path) -> None:
    """Each known node validates one network and teaches the others; test nodes are in none of it."""
    graph = load("cora", data)
    split = split_of(graph, 0)
    known = torch.cat([split.train, split.validation]).sort().values
    train, validation = (Labelled(nodes, graph.y[nodes]) for nodes in (split.train, split.validation))
    parts = crossed(train, validation, 5, seed=1)
    held = torch.cat([part[1].nodes for part in parts])
    assert torch.equal(held.sort().values, known)
    for one, other in parts:
        assert torch.equal(torch.cat([one.nodes, other.nodes]).sort().values, known)
        for part in (one, other):
            assert torch.equal(part.labels, graph.y[part.nodes])
    garbage = graph.y.clone()
    garbage[split.validation] = (garbage[split.validation] + 1) % 3
    way, recipe = METHODS["gcn_crossed"], NodeRecipe(epochs=3)
    found, misled = (fit(way, one, split, small("gcn"), recipe, seed=1) for one in (graph, replace(graph, y=garbage)))
    assert not torch.equal(found.scores, misled.scores)


@pytest.mark.parametrize("scaling", ["deviation", "standard", "rows", "tf_idf"])
def test_features_are_scaled_where_the_settings_say_so(data: Path, scaling: str) -> None:
    graph = load("cora", data)
    split, recipe = split_of(graph, 0), NodeRecipe(epochs=2)
    plain, changed = (
        fit(METHODS["mlp"], graph, split, small("mlp") | {"scaling": kind}, recipe, seed=0)
        for kind in ("none", scaling)
    )
    x = SCALINGS[scaling](graph.x)
    x = x.full if isinstance(x, Centred) else x
    by_hand = fit(METHODS["mlp"], replace(graph, x=x), split, small("mlp"), recipe, seed=0)
    torch.testing.assert_close(changed.scores, by_hand.scores)
    assert not torch.equal(changed.scores, plain.scores)


def test_searched_settings_are_nobodys_defaults() -> None:
    for trials, names in (
        (0, ["Set Twister, our defaults", "Set Twister, our defaults, + C&S"]),
        (20, ["Set Twister", "Set Twister + C&S"]),
    ):
        rows = [
            Row(NodeCell(model, "cora"), [{"trials": trials}]) for model in ("set_twister_plus", "set_twister_plus_cs")
        ]
        assert [name_of(row) for row in rows] == names


def test_published_numbers_stand_beside_ours() -> None:
    assert NodeCell("set_twister_m2_k2", "pubmed").published() == {"mean": 90.15, "std": 0.29}
    smoothed = NodeCell("correct_and_smooth", "cora").published()
    assert smoothed is not None
    assert smoothed["mean"] == 89.05
    assert np.isnan(smoothed["std"])
    assert NodeCell("set_twister_plus", "cora").published() is None
    assert NodeCell("gcn", "friendster").metric == "balanced_acc"
    assert len(node_cells()) == 6 * len(METHODS)
    assert [cell.model for cell in node_cells(["gat_cs", "mlp", "gcn"], ["cora"])] == ["gcn", "mlp", "gat_cs"]


def test_what_was_pooled_and_then_smoothed_says_both(data: Path) -> None:
    graph = load("cora", data)
    found = fit(method("mlp_pooled_cs"), graph, split_of(graph, 0), small("mlp"), NodeRecipe(epochs=3), seed=0)
    assert set(found.chosen) == {"pool", "base_validation", "correct_and_smooth"}
