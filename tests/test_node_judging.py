"""How a search judges settings of a node classifier: on validation nodes, and no longer than it takes to see."""

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import pytest
import torch

from settwister.errors import DivergedError
from settwister.experiments.nodes import METHODS
from settwister.experiments.nodes import judging as judging_module
from settwister.experiments.nodes.fit import Fitted
from settwister.experiments.nodes.judging import judged, raced, resplits
from settwister.graphs import Split, random_split
from settwister.training.node_recipe import NodeRecipe
from settwister.training.search import Log, Trial, best_of, best_of_finalists, grid_search, read_trials, sampled_search

SMALL = random_split(torch.arange(300), seed=0)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Split]:
    """The splits that were trained on, by trainings that follow the curve in their settings."""
    splits: list[Split] = []

    def fit(
        method: Any, graph: Any, split: Split, settings: Any, recipe: Any, seed: int, stop: Any = None
    ) -> Fitted:  # fmt: skip
        splits.append(split)
        best = 0.0
        for epoch in range(1, settings["epochs"] + 1):
            best = max(best, settings["curve"](epoch) if callable(settings["curve"]) else settings["curve"])
            if stop is not None and stop(epoch, best):
                break
        return Fitted(torch.zeros(0), best, epochs=epoch)

    monkeypatch.setattr(judging_module, "fit", fit)
    return splits


def judge_of(split: Split = SMALL) -> Any:
    return raced(METHODS["mlp"], None, split, NodeRecipe(), 0)  # type: ignore[arg-type]


def earlier(*scores: float) -> list[Trial]:
    return [Trial({}, score, {"reached": dict.fromkeys(("50", "100", "200", "400", "end"), score)}) for score in scores]


def test_small_validation_parts_are_drawn_again_without_the_test_nodes() -> None:
    found = resplits(SMALL, seed=0)
    assert len(found) == 3
    known = torch.cat([SMALL.train, SMALL.validation]).sort().values
    for one in found:
        assert torch.equal(one.test, SMALL.test)
        assert torch.equal(torch.cat([one.train, one.validation]).sort().values, known)
        assert len(one.train) == len(SMALL.train)
    assert all(not torch.equal(a.validation, b.validation) for a, b in combinations(found, 2))
    assert [len(resplits(random_split(torch.arange(n), 0), 0)) for n in (5000, 8000)] == [2, 1]
    assert len(resplits(random_split(torch.arange(8000), 0), 0, telling=200)) == 3, "a class of a few decides"


def test_a_good_trial_is_judged_on_every_split(trained: list[Split]) -> None:
    score, facts = judge_of()({"epochs": 120, "curve": 0.8}, earlier(0.5, 0.6, 0.7, 0.9))
    assert score == pytest.approx(0.8)
    assert len(trained) == 3
    assert facts["epochs"] == [120, 120, 120]
    assert facts["reached"] == dict.fromkeys(("50", "100", "200", "400", "end"), 0.8)


@pytest.mark.parametrize(
    ("curve", "epochs"),
    [
        (0.6, 50),
        (lambda epoch: 0.8 if epoch < 60 else 0.0, 300),
        (lambda epoch: min(0.7, epoch / 50), 300),  # as good as the median, and not under it
    ],
    ids=["behind at once", "ahead early on", "level"],
)
def test_what_is_under_the_median_of_earlier_trials_is_given_up(
    curve: float | Callable[[int], float], epochs: int, trained: list[Split]
) -> None:
    score, facts = judge_of()({"epochs": 300, "curve": curve}, earlier(0.6, 0.7, 0.7, 0.9))
    assert facts["epochs"][0] == epochs
    if epochs == 50:
        assert score is None
        assert len(trained) == 1
        assert facts["reached"] == {"50": 0.6}, "stages that it did not come to say nothing of it"
    else:
        assert score is not None


def test_one_that_is_behind_in_the_end_is_not_judged_on_more_splits(trained: list[Split]) -> None:
    score, facts = judge_of()({"epochs": 40, "curve": 0.6}, earlier(0.6, 0.7, 0.8, 0.9))
    assert score is None
    assert len(trained) == 1
    assert facts["reached"]["end"] == 0.6


def test_the_first_trials_are_not_given_up(trained: list[Split]) -> None:
    assert judge_of()({"epochs": 60, "curve": 0.1}, earlier(0.9, 0.9, 0.9))[0] == pytest.approx(0.1)


def test_the_papers_grid_is_judged_whole(trained: list[Split]) -> None:
    judge = judged(METHODS["mlp"], None, SMALL, NodeRecipe(), 0)  # type: ignore[arg-type]
    assert judge({"epochs": 70, "curve": 0.1}, earlier(*[0.9] * 9)) == (0.1, {"epochs": 70})
    assert trained == [SMALL]


def test_trials_that_were_given_up_are_kept_but_never_chosen(tmp_path: Any) -> None:
    """A search that goes on from its file proposes what one without a break does."""

    def judge(settings: Any, trials: Any) -> tuple[float | None, dict[str, Any]]:
        ran.append(settings)
        return (settings["a"] / 10 if settings["a"] < 5 else None), {}

    space, path = {"a": tuple(range(10))}, tmp_path / "search.json"
    ran: list[Any] = []
    first = [{"a": 1}, {"a": 9}]
    best, trials = best_of(sampled_search(space, first, 12), judge, path)
    assert [trial.settings for trial in trials[:2]] == first
    assert trials[1].score is None
    assert best["a"] == max(trial.settings["a"] for trial in trials if trial.score is not None) < 5
    known = len(ran)
    again, repeated = best_of(sampled_search(space, first, 12), judge, path)
    assert (again, [trial.settings for trial in repeated]) == (best, [trial.settings for trial in trials])
    assert len(ran) == known


def test_two_searches_of_one_file_keep_each_other_s_trials(tmp_path: Any) -> None:
    """As of a network and of what comes on top of it, under way at once."""
    path = tmp_path / "search.json"
    grids = [[{"a": 1}, {"a": 2}], [{"a": 3}]]

    def disturbed(settings: dict[str, Any], earlier: Sequence[Trial]) -> tuple[float, dict[str, Any]]:
        if settings["a"] == 1:
            best_of(grid_search(grids[1]), lambda other, before: (0.7, {}), path)
        return settings["a"] / 10, {}

    assert best_of(grid_search(grids[0]), disturbed, path)[0] == {"a": 2}
    assert [trial.settings["a"] for trial in read_trials(path)] == [1, 2, 3]


def test_further_scores_of_another_process_stay(tmp_path: Any) -> None:
    """A search that began before another one had judged its finalists, and writes after it."""
    path = tmp_path / "search.json"
    score = lambda settings, earlier: (settings["a"] / 10, {})  # noqa: E731
    grid = [{"a": 1}, {"a": 2}]
    _, trials = best_of(grid_search(grid), score, path)

    def disturbed(settings: dict[str, Any], earlier: Sequence[Trial]) -> tuple[float, dict[str, Any]]:
        best_of_finalists(trials, 2, [score] * 3, path)
        return 0.3, {}

    best_of(grid_search([*grid, {"a": 3}]), disturbed, path)
    assert [len(trial.facts.get("further", [])) for trial in read_trials(path)] == [3, 3, 0]


def test_a_search_in_which_nothing_trains(tmp_path: Any) -> None:
    with pytest.raises(DivergedError, match="none of 2 settings could be trained to the end"):
        best_of(grid_search([{"a": 1}, {"a": 2}]), lambda settings, earlier: (None, {}), tmp_path / "search.json")


def test_a_finished_search_is_read_from_its_file(tmp_path: Any) -> None:
    """Whatever a sampler would propose now; of more trials than are asked for, the first ones count."""
    path = tmp_path / "search.json"
    space = {"a": Log(1.0, 100.0)}
    _, trials = best_of(sampled_search(space, [], 6), lambda settings, earlier: (settings["a"] / 100, {}), path)

    def never_asked(settings: Any, earlier: Any) -> tuple[float, dict[str, Any]]:
        raise AssertionError

    for count in (3, 6):
        other_sampler = sampled_search(space, [], count, seed=1)
        best, found = best_of(other_sampler, never_asked, path, enough=count)
        assert found == trials[:count]
        assert best["a"] == max(trial.settings["a"] for trial in trials[:count])
    with pytest.raises(AssertionError):
        best_of(sampled_search(space, [], 7, seed=1), never_asked, path, enough=7)


def test_what_another_sampler_proposed_stands_behind_what_this_one_did(tmp_path: Any) -> None:
    """Else the first trials of the file, which are read as the search the next time, would not be those it chose by."""
    path, space = tmp_path / "search.json", {"a": Log(1.0, 100.0)}
    judge = lambda settings, earlier: (settings["a"], {})  # noqa: E731
    best_of(sampled_search(space, [], 4, seed=1), judge, path, enough=4)
    best, trials = best_of(sampled_search(space, [], 6, seed=2), judge, path, enough=6)
    assert len(json.loads(path.read_text())) == 10
    again, read = best_of(sampled_search(space, [], 6, seed=3), judge, path, enough=6)
    assert (again, read) == (best, trials)


def test_a_lucky_score_does_not_win_among_finalists(tmp_path: Any) -> None:
    """The best mean of the best two wins; killed in the middle, they go on where they were."""
    path = tmp_path / "search.json"
    first = {"lucky": 0.9, "steady": 0.8, "late": 0.7}
    _, trials = best_of(grid_search([{"a": name} for name in first]), lambda given, _: (first[given["a"]], {}), path)
    asked: list[tuple[str, int]] = []

    def judge_of(seed: int) -> Any:
        def judge(settings: Any, earlier: Any) -> tuple[float | None, dict[str, Any]]:
            asked.append((settings["a"], seed))
            if len(asked) == 2:
                raise KeyboardInterrupt
            return {"lucky": None, "steady": 0.75, "late": 1.0}[settings["a"]], {}

        return judge

    further = [judge_of(seed) for seed in (1, 2)]
    with pytest.raises(KeyboardInterrupt):
        best_of_finalists(trials, 2, further, path)
    told: list[str] = []
    assert best_of_finalists(trials, 2, further, path, told.append) == {"a": "steady"}
    assert asked == [("lucky", 1), ("lucky", 2), ("lucky", 2), ("steady", 1), ("steady", 2)]
    assert told[-1] == "finalist 2 of 2, mean 76.7"
    kept = [(trial["settings"]["a"], trial.get("further")) for trial in json.loads(path.read_text())]
    assert kept == [("lucky", [0.0, 0.0]), ("steady", [0.75, 0.75]), ("late", None)]
    _, read = best_of(grid_search([{"a": name} for name in first]), judge_of(0), path)
    assert best_of_finalists(read, 3, further, path) == {"a": "late"}
    assert asked[5:] == [("late", 1), ("late", 2)]


def test_settings_that_diverge_have_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*given: Any, **options: Any) -> Any:
        raise DivergedError("the loss was nan in epoch 3")

    monkeypatch.setattr(judging_module, "fit", diverge)
    for judge in (judged, raced):
        found = judge(METHODS["mlp"], None, SMALL, NodeRecipe(), 0)({}, [])  # type: ignore[arg-type]
        assert found == (None, {"diverged": "the loss was nan in epoch 3"})
