"""The node table: every method behind one protocol, resumable, and blind to test labels."""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from settwister.cli import main
from settwister.errors import InputError
from settwister.experiments import RunStore
from settwister.experiments.nodes import METHODS, NodeCell, node_cells, node_rows, run_missing_nodes
from settwister.experiments.nodes import judging as judging_module
from settwister.experiments.nodes import methods as methods_module
from settwister.experiments.nodes import protocol as protocol_module
from settwister.experiments.nodes.fit import Fitted, crossed, fit, metrics
from settwister.experiments.nodes.methods import Method, method
from settwister.experiments.nodes.protocol import recipe_of, split_of
from settwister.experiments.render import name_of
from settwister.experiments.runner import Row
from settwister.graphs import SCALINGS, Graph, load
from settwister.nn.features import Centred
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled

NODES = 300


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with a small Cora of three classes, neighbours mostly of one class."""
    made = np.random.default_rng(0)
    y = made.integers(3, size=NODES)
    y[:3] = 0, 1, 2
    x = (made.random((NODES, 8)) < 0.1).astype(np.float32)
    x[np.arange(NODES), y] = 1
    pairs = made.integers(NODES, size=(2, 1500))
    kept = (y[pairs[0]] == y[pairs[1]]) | (made.random(1500) < 0.2)
    folder = tmp_path / "data"
    (folder / "cora").mkdir(parents=True)
    np.savez(folder / "cora" / "cora.npz", x=x, edge_index=pairs[:, kept], y=y)
    return folder


#: methods that the table does not show: any network, with anything on top
UNSHOWN = ["gat_cs", "set_twister_m3_k3_cl", "deepsets_cl_cs", "grand_x5", "snowball_crossed_pooled", "mlp_pooled_cs"]


def small(name: str) -> dict[str, Any]:
    """A method's defaults, with narrow layers."""
    defaults = dict(method(name).defaults)
    return defaults | ({"width": 16} if "width" in defaults else {})


@pytest.fixture
def settwister(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command, and its exit code."""

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["settwister", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return call


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


def proposed(
    name: str, graph: str, judge: Callable[[dict[str, Any]], float | None] = lambda settings: 0.0
) -> list[Any]:
    """What the paper's protocol tries, where settings have these scores."""
    search = method(name).paper_search(graph)
    found = [next(search)]
    with suppress(StopIteration):
        while True:
            found.append(search.send(judge(found[-1])))
    return found


def test_the_papers_grid() -> None:
    """Layers, widths, rates; for sets the two poolings: every combination, the smallest networks first.

    Friendster's features are standardised, and so scaled in no other way.
    """
    assert [one["width"] for one in proposed("tk_gcn", "cora")] == [*[128] * 3, *[256] * 3, *[512] * 3] * 2
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


def test_a_search_keeps_its_trials_and_the_best_is_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the middle, it goes on where it was; settings come from validation; five seeds follow."""
    calls: list[dict[str, Any]] = []
    real = fit

    def counted(
        method: Method, graph: Graph, split: Any, settings: Any, recipe: Any, seed: int, tell: Any = None
    ) -> Fitted:
        calls.append(settings)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(method, graph, split, settings, replace(recipe, epochs=3), seed)

    for module in (protocol_module, judging_module):
        monkeypatch.setattr(module, "fit", counted)
    grid = dict(layers=(2,), width=(4, 8), rate=(1e-3, 1e-1), pool=("mean",))
    monkeypatch.setitem(methods_module.METHODS, "deepsets", replace(METHODS["deepsets"], grid=grid, left_open={}))
    store, cell = RunStore(tmp_path / "runs", "paper"), NodeCell("deepsets", "cora")
    with pytest.raises(KeyboardInterrupt):
        run_missing_nodes([cell], store, "paper", data_dir=data)
    told: list[tuple[int, int]] = []
    tell = lambda cell, done, total, note: told.append((done, total))  # noqa: E731
    run_missing_nodes([cell], store, "paper", data_dir=data, tell=tell)
    assert len(calls) == 3 + 2 + 5  # two finished trials were not repeated
    assert told[-1] == (9, 9)
    trials = json.loads(store.search_file(cell).read_text())
    best = max(trials, key=lambda trial: trial["validation"])
    (row,) = node_rows([cell], store)
    assert [run["seed"] for run in row.runs] == [0, 1, 2, 3, 4]
    assert all(run["settings"] == best["settings"] for run in row.runs)
    assert row.as_row()["paper_mean"] == 87.06
    run_missing_nodes([cell], store, "paper", data_dir=data)
    assert len(calls) == 10  # nothing was missing
    store.path(cell, 3).unlink()
    store.search_file(cell).write_text("[{}]")
    with pytest.raises(InputError, match="is not a list of trials"):
        run_missing_nodes([cell], store, "paper", data_dir=data)


def test_a_part_of_the_grid_is_tried_and_goes_on(data: Path, tmp_path: Path) -> None:
    """Fewer trials are the first of more; the run says how many there were; tuned ones can be limited as well."""
    store, cell = RunStore(tmp_path / "runs", "paper"), NodeCell("mlp", "cora")
    options: dict[str, Any] = dict(data_dir=data, seeds=[0], epochs=1)
    tried = []
    for trials in (2, 3):
        run_missing_nodes([cell], store, "paper", trials=trials, **options)
        run = store.read(cell, 0)
        assert run is not None
        assert run["trials"] == trials
        tried.append([trial["settings"] for trial in json.loads(store.search_file(cell).read_text())])
    assert tried[0] == tried[1][:2]
    assert len(tried[1]) == 3
    assert tried[1] == proposed("mlp", "cora")[:3]
    tuned = RunStore(tmp_path / "runs", "tuned")
    run_missing_nodes([cell], tuned, "tuned", trials=2, **options)
    assert len(json.loads(tuned.search_file(cell).read_text())) == 2


def test_more_trials_run_again_what_they_change_and_nothing_else(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second setting is the best of three, the fourth of four."""
    validation = {8: 0.1, 4: 0.3, 6: 0.2, 5: 0.4}
    trained: list[int] = []

    def scripted(*given: Any, **options: Any) -> Fitted:
        settings = given[3]
        trained.append(settings["width"])
        return replace(fit(*given, **options), validation=validation[settings["width"]])

    for module in (protocol_module, judging_module):
        monkeypatch.setattr(module, "fit", scripted)
    grid = dict(layers=(2,), width=tuple(validation), rate=(1e-2,))
    monkeypatch.setitem(methods_module.METHODS, "mlp", replace(METHODS["mlp"], grid=grid))
    store, cell = RunStore(tmp_path / "runs", "paper"), NodeCell("mlp", "cora")
    found: list[tuple[int, int]] = []
    for trials, expected in ((2, [8, 4, 4]), (3, [6]), (2, []), (4, [5, 5]), (None, [])):
        run_missing_nodes([cell], store, "paper", data_dir=data, seeds=[0], epochs=1, trials=trials)
        assert trained == expected
        trained.clear()
        run = store.read(cell, 0)
        assert run is not None
        found.append((run["settings"]["width"], run["trials"]))
    assert found == [(4, 2), (4, 3), (4, 3), (5, 4), (5, 4)]
    assert run["recipe"]["rate"] == 1e-2
    assert run["space"] == {"layers": [2], "width": list(validation), "rate": [1e-2]}
    store.write(cell, 1, run | {"seed": 1, "trials": 3, "settings": run["settings"] | {"width": 4}})
    (row,) = node_rows([cell], store)
    assert [one["seed"] for one in row.runs] == [0]  # what fewer trials had found is not averaged with what more did
    for trials, expected in ((2, [5]), (None, [5])):  # a search does not go back, and one call makes the row whole
        run_missing_nodes([cell], store, "paper", data_dir=data, seeds=[0, 1], epochs=1, trials=trials)
        assert trained == expected
        trained.clear()
        (row,) = node_rows([cell], store)
        assert [(one["seed"], one["trials"], one["settings"]["width"]) for one in row.runs] == [(0, 4, 5), (1, 4, 5)]
        store.path(cell, 1).unlink()
    validation[6] = 0.9
    store.search_file(cell).unlink()
    run_missing_nodes([cell], store, "paper", data_dir=data, seeds=[0, 1], epochs=1)
    assert trained == [8, 4, 6, 5, 6, 6], "what the search has left behind is run again in the same call"
    (row,) = node_rows([cell], store)
    assert [one["settings"]["width"] for one in row.runs] == [6, 6]
    store.search_file(cell).write_text('[{"settings": {"a": 1}, "validation": 0.95}]')
    with pytest.raises(InputError, match="holds trials of something else"):
        run_missing_nodes([cell], store, "tuned", data_dir=data, seeds=[7], epochs=1, trials=1)


def test_a_run_that_diverges_is_named_and_the_others_are_made(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(methods_module.METHODS, "gcn", replace(METHODS["gcn"], defaults=dict(width=8, rate=1e30)))
    store, cells = RunStore(tmp_path / "runs", "quick"), node_cells(["gcn", "mlp"], ["cora"])
    named = r"all was run but for 2 that came to nothing, gcn on cora, seed 0: the loss was .*; gcn on cora, seed 1: "
    with pytest.raises(InputError, match=named):
        run_missing_nodes(cells, store, "quick", data_dir=data, seeds=[0, 1], epochs=3)
    assert [row.cell.model for row in node_rows(cells, store)] == ["mlp"]


def test_what_was_pooled_and_then_smoothed_says_both(data: Path) -> None:
    graph = load("cora", data)
    found = fit(method("mlp_pooled_cs"), graph, split_of(graph, 0), small("mlp"), NodeRecipe(epochs=3), seed=0)
    assert set(found.chosen) == {"pool", "base_validation", "correct_and_smooth"}


def test_the_best_sixth_of_a_grid_is_judged_from_every_initialisation(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Width 2 is the best from the first initialisation, width 3 on average; all on the split of the search."""
    trained: list[tuple[int, int]] = []

    def scripted(*given: Any, **options: Any) -> Fitted:
        split, settings, seed = given[2], given[3], given[5]
        trained.append((settings["width"], seed))
        assert len(trained) > 12 + 8 or split.validation.equal(split_of(given[1], 0).validation)
        score = {2: 0.9 if seed == 0 else 0.1, 3: 0.8}.get(settings["width"], 0.2)
        return replace(fit(*given, **options), validation=score)

    for module in (protocol_module, judging_module):
        monkeypatch.setattr(module, "fit", scripted)
    grid = dict(layers=(2,), width=tuple(range(1, 13)), rate=(1e-2,))
    monkeypatch.setitem(methods_module.METHODS, "mlp", replace(METHODS["mlp"], grid=grid))
    store, cell = RunStore(tmp_path / "runs", "paper"), NodeCell("mlp", "cora")
    run_missing_nodes([cell], store, "paper", data_dir=data, seeds=[0, 1], epochs=1)
    assert trained[:12] == [(width, 0) for width in range(1, 13)]
    assert trained[12:20] == [(width, seed) for width in (2, 3) for seed in (1, 2, 3, 4)]
    assert trained[20:] == [(3, 0), (3, 1)]


def test_a_tuned_search_resumes_to_the_same_settings(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted after every trial, it proposes what the uninterrupted one did; the first is the defaults."""
    real = fit
    monkeypatch.setattr(protocol_module, "TRIALS", 5)
    monkeypatch.setattr(judging_module, "MOST_SPLITS", 1)
    cell = NodeCell("deepsets", "cora")
    found = {}
    for name, patience in (("whole", 99), ("broken", 1)):
        tried: list[dict[str, Any]] = []
        left = [patience]

        def counted(
            method: Method, graph: Graph, split: Any, settings: Any, recipe: Any, seed: int, *_: Any, **stop: Any
        ) -> Fitted:
            if left[0] == 0:  # noqa: B023
                raise KeyboardInterrupt
            left[0] -= 1  # noqa: B023
            tried.append(settings)  # noqa: B023
            return real(method, graph, split, settings | {"width": 8}, replace(recipe, epochs=2), seed)

        for module in (protocol_module, judging_module):
            monkeypatch.setattr(module, "fit", counted)
        store = RunStore(tmp_path / name, "tuned")
        for _ in range(7):
            left[0] = patience
            with suppress(KeyboardInterrupt):
                run_missing_nodes([cell], store, "tuned", data_dir=data, seeds=[0, 1])
        found[name] = tried
    assert found["whole"] == found["broken"]
    assert len(found["whole"]) == 5 + 2
    assert found["whole"][0].items() >= METHODS["deepsets"].defaults.items()
    assert found["whole"][5] in found["whole"][:5]
    assert all(0.001 <= settings["rate"] <= 0.03 for settings in found["whole"])


def test_splits_belong_to_runs(data: Path) -> None:
    graph = load("cora", data)
    assert not torch.equal(split_of(graph, 0).test, split_of(graph, 1).test)
    assert torch.equal(split_of(graph, 1).test, split_of(graph, 1).test)
    fixed = replace(graph, splits={"fixed": [split_of(graph, 7)]})
    assert split_of(fixed, 3) is fixed.splits["fixed"][0]


def test_a_tuned_score_of_few_nodes_does_not_choose_the_epoch(data: Path) -> None:
    """Where classes are uneven; the paper's protocol is the paper's."""
    even = load("cora", data)
    uneven = replace(even, balanced=True)
    assert recipe_of(uneven).balanced
    chosen_by = {
        (graph.balanced, protocol): recipe_of(graph, 7, protocol).chosen_by
        for graph in (even, uneven)
        for protocol in ("quick", "paper", "tuned")
    }
    assert {case for case, by in chosen_by.items() if by == "loss"} == {(True, "tuned")}
    assert recipe_of(uneven, 7, "tuned").epochs == 7


def test_splits_that_came_with_a_graph(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], settwister: Callable[..., int]
) -> None:
    """Their runs have a folder of their own; a graph that lacks them is named."""
    asked = ["reproduce", "nodes", "--models", "mlp", "--tasks", "cora", "--seeds", "0-1", "--epochs", "2"]
    places = ["--data-dir", str(data), "--runs", str(tmp_path / "runs"), "--splits"]
    assert settwister(*asked, *places, "geom") == 2
    assert "splits are 'geom', which cora lacks (it has none of its own)" in capsys.readouterr().err
    assert settwister(*asked, *places, "../elsewhere") == 2
    assert "splits is '../elsewhere', expected one of 'geom', 'public'" in capsys.readouterr().err
    path = data / "cora" / "cora.npz"
    parts = np.arange(NODES) % 3 == np.arange(3)[:, None]
    masks = {f"geom_{name}_mask": part for name, part in zip(("train", "val", "test"), parts, strict=True)}
    with np.load(path) as content:
        np.savez(path, **dict(content), **masks)
    graph = load("cora", data)
    assert split_of(graph, 5, "geom") is graph.splits["geom"][0]
    assert len(split_of(graph, 5).test) == NODES // 5
    assert settwister(*asked, *places, "geom") == 0
    assert settwister("reproduce", "integers", "--splits", "geom") == 2
    assert "--splits is geom for integers, expected none: it is for nodes alone" in capsys.readouterr().err
    run = json.loads((tmp_path / "runs/quick-geom-splits-2-epochs/nodes/mlp/cora/seed-1.json").read_text())
    assert run["split"] == {"train": NODES // 3, "validation": NODES // 3, "test": NODES // 3}


def test_reproduce_nodes(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], settwister: Callable[..., int]
) -> None:
    asked = ["reproduce", "nodes", "--budget", "smoke", "--models", "gcn,set_twister_plus,label_propagation"]
    places = ["--data-dir", str(data), "--runs", str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")]
    assert settwister(*asked, *places, "--json") == 0
    out = capsys.readouterr()
    rows = json.loads(out.out)["rows"]
    assert [(row["model"], row["task"]) for row in rows] == [
        ("gcn", "cora"), ("label_propagation", "cora"), ("set_twister_plus", "cora"),
    ]  # fmt: skip
    assert rows[0]["paper_mean"] == 88.39
    assert rows[0]["metric"] == "acc"
    assert rows[0]["test_metrics"]["accuracy"] == rows[0]["mean"]
    assert set(rows[0]["test_metrics"]) == {"accuracy", "balanced_accuracy", "macro_f1"}
    assert "friendster, pubmed, citeseer, arxiv, wikics not in the data directory" in out.err
    assert "GCN" in (tmp_path / "page.html").read_text()
    assert settwister(*asked, *places) == 0
    printed = capsys.readouterr().out
    assert "(88.39)" in printed
    assert "of 1 runs" not in printed, "a smoke run is one run"
    assert settwister(*asked, *places, "--seeds", "0-1", "--stored", "--markdown") == 0
    assert "(88.39), 1 of 2 runs |" in capsys.readouterr().out


def test_what_is_stored_is_shown_without_data_or_training(
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    settwister: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And where there is nothing, or nothing of what is asked for, it says so."""
    asked = ["reproduce", "nodes", "--budget", "smoke", "--models", "gcn", "--runs", str(tmp_path / "runs")]
    assert settwister(*asked, "--stored") == 2
    assert "runs holds no such run of nodes: leave --stored out" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
    assert settwister(*asked, "--data-dir", str(data), "--json") == 0
    trained = capsys.readouterr().out
    monkeypatch.setattr(protocol_module, "fit", None)
    monkeypatch.delenv("SETTWISTER_DATA", raising=False)
    assert settwister(*asked, "--stored", "--json") == 0
    out = capsys.readouterr()
    assert (out.out, out.err) == (trained, "")
    assert settwister(*asked, "--stored", "--seeds", "7") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "pubmed"], "pubmed"),
        (["--tasks", "karate"], "table 'nodes' has no task 'karate', expected one of friendster"),
        (["--models", "magic"], "unknown method 'magic', expected label_propagation, "),
        (["--models", "labels_pooled_cs"], "unknown method 'labels_pooled_cs', expected label_propagation, "),
        (["--models", "gcn_cs_cs"], "method 'gcn_cs_cs' has something on top twice"),
        (["--models", "gcn_cs_pooled"], "method 'gcn_cs_pooled' has something on top twice or out of order"),
        (["--models", "gcn_x5_crossed"], "only one of _x5 and _crossed"),
        (["--models", ","], "',' names nothing, expected names separated by commas"),
        (["--trials", "3"], "--trials is 3 under protocol quick, expected none"),
        (["--seeds", "1-"], "seeds are '1-', expected numbers such as 0-4 or 0,2"),
        (["--seeds", "4-0"], "seeds are '4-0', expected a range that rises"),
        (["--seeds", "0-99999999"], "holds at most 1,000"),
        (["--models", "set_twister_m0_k2"], "unknown method 'set_twister_m0_k2'"),
        (["--protocol", "luck"], "protocol is 'luck', expected one of 'quick', 'paper', 'tuned'"),
    ],
)
def test_bad_requests_are_named(
    arguments: list[str],
    message: str,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    settwister: Callable[..., int],
) -> None:
    assert settwister("reproduce", "nodes", *arguments, "--data-dir", str(data), "--runs", str(tmp_path / "runs")) == 2
    out = capsys.readouterr()
    assert message in out.err
    assert not (tmp_path / "runs").exists()
