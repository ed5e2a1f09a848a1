"""The protocols of the node table: searched, resumable, one row from one search."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from example_cora import proposed
from settwister.errors import InputError, UnfinishedError
from settwister.experiments import RunStore
from settwister.experiments.nodes import METHODS, NodeCell, node_cells, node_rows, run_missing_nodes
from settwister.experiments.nodes import judging as judging_module
from settwister.experiments.nodes import methods as methods_module
from settwister.experiments.nodes import protocol as protocol_module
from settwister.experiments.nodes.fit import Fitted, fit
from settwister.experiments.nodes.methods import Method
from settwister.experiments.nodes.protocol import recipe_of, split_of
from settwister.graphs import Graph, load


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


def test_a_method_of_which_no_settings_train_is_named_and_the_others_are_made(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        methods_module.METHODS, "gcn", replace(METHODS["gcn"], grid=dict(layers=(2,), width=(8,), rate=(1e30,)))
    )
    store, cells = RunStore(tmp_path / "runs", "paper"), node_cells(["gcn", "label_propagation"], ["cora"])
    with pytest.raises(
        UnfinishedError, match="1 that came to nothing, gcn on cora: none of 2 settings could be trained"
    ):
        run_missing_nodes(cells, store, "paper", data_dir=data, seeds=[0], epochs=3)
    assert [row.cell.model for row in node_rows(cells, store)] == ["label_propagation"]


def test_the_space_of_a_run_is_that_of_its_search(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the grid has grown, and what was found by it stays the best."""
    grid = dict(layers=(2,), width=(8,), rate=(1e-2,))
    monkeypatch.setitem(methods_module.METHODS, "mlp", replace(METHODS["mlp"], grid=grid))
    store, cell = RunStore(tmp_path / "runs", "paper"), NodeCell("mlp", "cora")
    run_missing_nodes([cell], store, "paper", data_dir=data, seeds=[0], epochs=1)
    before = store.read(cell, 0)
    assert before is not None
    assert before["space"] == {"layers": [2], "width": [8], "rate": [1e-2]}
    store.write(cell, 0, before | {"space": {}})
    run_missing_nodes([cell], store, "paper", data_dir=data, seeds=[0, 1], epochs=1)
    assert store.read(cell, 0) == before


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


@pytest.mark.parametrize(
    "settings", [dict(scaling="magic"), dict(rate="fast"), dict(width=-5), dict(dropout=7.0), dict(average=False)]
)
def test_settings_that_no_search_proposes_are_not_run(settings: dict[str, Any], data: Path, tmp_path: Path) -> None:
    """A file with as many trials as are asked for is the search, so what is in it is looked at."""
    store, cell = RunStore(tmp_path / "runs", "tuned"), NodeCell("mlp", "cora")
    path = store.search_file(cell)
    path.parent.mkdir(parents=True)
    first = METHODS["mlp"].starts("cora")[0]
    path.write_text(json.dumps([{"settings": first | settings, "validation": 0.9}]))
    with pytest.raises(InputError, match=r"search\.json holds trials of something else: remove it"):
        run_missing_nodes([cell], store, "tuned", data_dir=data, seeds=[0], epochs=1, trials=1)
    path.write_text(json.dumps([{"settings": first, "validation": 0.9}]))
    run_missing_nodes([cell], store, "tuned", data_dir=data, seeds=[0], epochs=1, trials=1)


def test_the_folder_of_a_base_is_looked_at_before_training(data: Path, tmp_path: Path) -> None:
    store, cell = RunStore(tmp_path / "runs", "tuned"), NodeCell("mlp_cs", "cora")
    below = store.search_file(NodeCell("mlp", "cora")).parent
    below.parent.mkdir(parents=True)
    below.write_text("precious")
    with pytest.raises(InputError, match=f"{below} is a file, so no run can be written there"):
        run_missing_nodes([cell], store, "tuned", data_dir=data, seeds=[0], epochs=1, trials=1)
    below.unlink()
    store.search_file(NodeCell("mlp", "cora")).mkdir(parents=True)
    with pytest.raises(InputError, match=r"search\.json is not a list of trials .*Is a directory"):
        run_missing_nodes([cell], store, "tuned", data_dir=data, seeds=[0], epochs=1, trials=1)


def test_a_seed_beyond_the_splits_that_were_asked_for_is_refused(data: Path) -> None:
    """Those that are prescribed may come again, from another initialisation."""
    graph = load("cora", data)
    ten = [split_of(graph, seed) for seed in range(10)]
    several = replace(graph, splits={"geom": ten, "official": ten})
    assert split_of(several, 9, "geom") is ten[9]
    with pytest.raises(InputError, match="seed 10 is beyond the 10 geom splits of cora, expected 0 to 9"):
        split_of(several, 10, "geom")
    assert split_of(several, 13) is ten[3]


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
