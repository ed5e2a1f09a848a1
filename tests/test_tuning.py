"""Searching for a classifier's settings: what is tried, what is kept, and where it ends."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from example_graph import Example, example, refusal, tiny
from settwister.estimator import OneHopClassifier


@pytest.fixture(scope="module")
def graph() -> Example:
    return example()


class Counted(OneHopClassifier):
    """Counts how often any copy was fitted; the one with this number is interrupted."""

    fits: ClassVar[int] = 0
    interrupted: ClassVar[int] = 0

    def fit(self, *args: Any, **more: Any) -> Any:
        Counted.fits += 1
        if Counted.fits == Counted.interrupted:
            raise KeyboardInterrupt
        return super().fit(*args, **more)


@pytest.fixture
def counted() -> Callable[..., Counted]:
    Counted.fits = Counted.interrupted = 0

    def make(**settings: Any) -> Counted:
        return Counted(**dict(width=8, max_epochs=2, random_state=0) | settings)

    return make


def test_a_search_goes_on_where_it_was_stopped_and_ends_where_it_would_have(
    graph: Example, counted: Callable[..., Counted], tmp_path: Path
) -> None:
    given, more = (graph.X, graph.some, graph.edges), dict(trials=3)
    whole = counted().tune(*given, **more)
    assert Counted.fits == 4, "three trials, and the best again"
    Counted.fits, Counted.interrupted = 0, 2
    with pytest.raises(KeyboardInterrupt):
        counted().tune(*given, **more, storage=tmp_path / "trials.json")
    Counted.fits, Counted.interrupted = 0, 0
    resumed = counted().tune(*given, **more, storage=tmp_path / "trials.json")
    assert Counted.fits == 3, "the first trial was kept"
    assert resumed.trials_ == whole.trials_
    assert resumed.get_params() == whole.get_params()
    Counted.fits = 0
    longer = counted().tune(*given, trials=4, storage=tmp_path / "trials.json")
    assert Counted.fits == 2, "one more trial, and the best again"
    assert longer.trials_[:3] == whole.trials_


def test_what_was_best_is_what_is_fitted(graph: Example, counted: Callable[..., Counted]) -> None:
    """The settings that it had are tried first, though no search would propose a width of 8."""
    model = counted(weight_decay=0.0).tune(graph.X, graph.some, graph.edges, trials=3)
    first, best = model.trials_[0], max(model.trials_, key=lambda trial: trial.score)
    assert (first.settings["width"], first.settings["weight_decay"]) == (8, 0.0)
    assert model.validation_score_ == best.score
    assert best.settings.items() <= model.get_params().items()
    assert len({trial.settings["learning_rate"] for trial in model.trials_}) == 3


def test_auto_settings_are_tried_first_as_what_they_stand_for(graph: Example, counted: Callable[..., Counted]) -> None:
    model = counted(width="auto").tune(graph.X, graph.some, graph.edges, trials=1)
    assert model.trials_[0].settings["width"] == model.width == model.network_.config["phi"][0]
    plain = counted(width="auto").fit(graph.X, graph.some, graph.edges)
    assert model.validation_score_ == plain.validation_score_


@pytest.mark.parametrize(("model", "unread"), [("deepsets", {"M", "k"}), ("mlp", {"M", "k", "pool", "residual"})])
def test_settings_that_a_model_does_not_read_are_not_searched(
    graph: Example, counted: Callable[..., Counted], model: str, unread: set[str]
) -> None:
    found = counted(model=model).tune(graph.X, graph.some, graph.edges, trials=2)
    assert not unread & found.trials_[1].settings.keys()


def test_time_ends_a_search_after_the_trial_that_is_running(graph: Example, counted: Callable[..., Counted]) -> None:
    model = counted().tune(graph.X, graph.some, graph.edges, time_limit=1e-9)
    assert len(model.trials_) == 1
    assert Counted.fits == 2
    assert len(counted().tune(graph.X, graph.some, graph.edges, time_limit=1e9, trials=2).trials_) == 2


def test_a_search_is_told_of_when_asked(
    graph: Example, counted: Callable[..., Counted], capsys: pytest.CaptureFixture[str]
) -> None:
    counted(verbose=100).tune(graph.X, graph.some, graph.edges, trials=2)
    assert [line[:9] for line in capsys.readouterr().out.splitlines()] == ["trial 1: ", "trial 2: "]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (dict(), "neither time_limit nor trials was given, expected one of them"),
        (dict(time_limit=0), "time_limit is 0, expected a number of seconds above 0"),
        (dict(time_limit=math.nan), "time_limit is nan"),
        (dict(time_limit="1 h"), "time_limit is '1 h'"),
        (dict(trials=0), "trials is 0, expected a whole number of at least 1"),
    ],
)
def test_a_search_without_an_end_is_refused(graph: Example, limits: dict[str, Any], message: str) -> None:
    assert message in refusal(lambda: tiny().tune(graph.X, graph.some, graph.edges, **limits))


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "{}", "[1]", '[{"settings": {}}]', '[{"settings": [], "validation": 1.0}]'),
        *(f'[{{"settings": {{}}, "validation": {score}}}]' for score in ("NaN", "Infinity", "1e400", "true", '"0.5"')),
        *(f'[{{"settings": {{}}, "validation": 0.5, "reached": {given}}}]' for given in ("5", "[0.5]", '{"50": NaN}')),
        *(f'[{{"settings": {{}}, "validation": 0.5, "further": {given}}}]' for given in ("5", '["0.5"]', "[NaN]")),
        "[" * 100_000 + "]" * 100_000,
    ],
)
def test_a_broken_file_of_trials_is_refused(graph: Example, tmp_path: Path, content: str) -> None:
    path = tmp_path / "trials.json"
    path.write_text(content)
    message = refusal(lambda: tiny().tune(graph.X, graph.some, graph.edges, trials=1, storage=path))
    assert "trials.json is not a list of trials" in message
    assert path.read_text() == content


def test_trials_of_other_data_or_settings_are_not_taken_for_these(
    graph: Example, counted: Callable[..., Counted], tmp_path: Path
) -> None:
    X, y, edges, path = graph.X, graph.some, graph.edges, tmp_path / "trials.json"
    counted().tune(X, y, edges, trials=1, storage=path)
    counted(verbose=9).tune(pd.DataFrame(X), y.tolist(), edges.T, trials=1, storage=path)  # the same, in other forms
    held = np.flatnonzero(y >= 0)[:5]
    for call in (
        lambda: counted().tune(X + 1e-9, y, edges, trials=1, storage=path),
        lambda: counted().tune(X, graph.y, edges, trials=1, storage=path),
        lambda: counted().tune(X, y, edges[:, 1:], trials=1, storage=path),
        lambda: counted().tune(X, y, edges, trials=1, storage=path, validation=held),
        lambda: counted(max_epochs=3).tune(X, y, edges, trials=1, storage=path),
        lambda: counted(random_state=1).tune(X, y, edges, trials=1, storage=path),
        lambda: counted(directed=True).tune(X, y, edges, trials=1, storage=path),
    ):
        assert "holds trials of other nodes, edges, labels or settings" in refusal(call)


def test_without_held_back_nodes_there_is_nothing_to_judge_settings_by(graph: Example) -> None:
    assert "no labelled node is held back" in refusal(
        lambda: tiny(validation_fraction=0).tune(graph.X, graph.some, graph.edges, trials=1)
    )


def test_a_place_that_cannot_hold_trials_is_named_before_any_work(tmp_path: Path) -> None:
    X, y = np.zeros((10, 1)), [0, 1] * 5
    (tmp_path / "file").touch()
    for place, part in ((tmp_path, "is a folder, expected the name of a file"), (tmp_path / "file" / "x", "takes no")):
        assert part in refusal(lambda place=place: tiny().tune(X, y, trials=1, storage=place))  # type: ignore[misc]
