"""Correct and smooth around a classifier of nodes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from example_graph import CLASSES, NODES, Example, example, named, refusal, tiny
from settwister import InputError
from settwister.estimator import CorrectAndSmooth, OneHopClassifier
from settwister.training.correct_and_smooth import Steps


@pytest.fixture(scope="module")
def graph() -> Example:
    return example()


@pytest.fixture(scope="module")
def homophilous() -> Example:
    """Neighbours are of one class nearly always, and features tell little."""
    return example(300, seed=1, noise=2.0, labelled=0.4)


TRANSDUCTIVE = {
    "check_methods_subset_invariance": "known labels are part of the prediction: it takes the nodes it was fitted on",
    "check_fit_idempotent": "it predicts for other nodes than it was fitted on",
}


@pytest.mark.filterwarnings("ignore:y holds just -1 and 1", "ignore:A column-vector y was passed")
@parametrize_with_checks(
    [CorrectAndSmooth(OneHopClassifier(max_epochs=40))], expected_failed_checks=lambda _: TRANSDUCTIVE
)
def test_correct_and_smooth_passes_all_checks_but_those_of_other_nodes(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)


def test_correct_and_smooth_helps_where_neighbours_are_alike(homophilous: Example) -> None:
    g = homophilous
    model = CorrectAndSmooth(tiny(model="mlp", max_epochs=40), random_state=0).fit(g.X, g.some, g.edges)
    unseen = g.some < 0
    plain = np.mean(model.estimator_.predict(g.X, g.edges)[unseen] == g.y[unseen])
    both = np.mean(model.predict(g.X, g.edges)[unseen] == g.y[unseen])
    assert both > plain + 0.15
    shares = model.predict_proba(g.X, g.edges)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)
    assert (shares >= 0).all()
    assert model.score(g.X, np.where(unseen, g.y, -1), g.edges) == pytest.approx(both)


def test_correct_and_smooth_does_nothing_where_nothing_helps(graph: Example) -> None:
    """Without edges, or with some that join validation nodes to nothing: ties go to fewer steps."""
    held = np.flatnonzero(graph.some >= 0)[:9]
    apart = graph.edges[:, ~np.isin(graph.edges, held).any(0)]
    for edges in (None, apart):
        model = CorrectAndSmooth(tiny(), random_state=0).fit(graph.X, graph.some, edges, validation=held)
        assert model.steps_ == Steps(None, None)
        np.testing.assert_array_equal(
            model.predict_proba(graph.X, edges), model.estimator_.predict_proba(graph.X, edges)
        )
        assert model.validation_score_ == model.estimator_.validation_score_


def test_correct_and_smooth_spreads_no_label_of_validation_nodes(homophilous: Example) -> None:
    g = homophilous
    model = CorrectAndSmooth(tiny(), random_state=0).fit(g.X, g.some, g.edges)
    held = np.setdiff1d(np.flatnonzero(g.some >= 0), model.known_.nodes.numpy())
    assert 0.15 < len(held) / (g.some >= 0).sum() < 0.25
    assert model.validation_score_ == pytest.approx(np.mean(model.predict(g.X, g.edges)[held] == g.y[held]))


def test_correct_and_smooth_is_for_the_nodes_it_was_fitted_on(graph: Example) -> None:
    model = CorrectAndSmooth(tiny(), random_state=0).fit(graph.X, graph.some, graph.edges)
    message = "expected the 60 nodes it was fitted on: their labels are part of the prediction"
    assert message in refusal(lambda: model.predict(graph.X[:9], graph.edges))
    assert message in refusal(lambda: model.predict(graph.X[:9].tolist(), []))
    assert "9 labels" in refusal(lambda: model.score(graph.X, graph.y[:9], graph.edges))
    assert model.estimator_.predict(graph.X[:9], []).shape == (9,)


def test_correct_and_smooth_reads_names_strings_and_weights(homophilous: Example) -> None:
    g = homophilous
    names = [f"n{i}" for i in range(300)]
    frame = pd.DataFrame(g.X, index=names, columns=["a", "b", "c"])
    edges = pd.DataFrame({"s": [names[i] for i in g.edges[0]], "t": [names[i] for i in g.edges[1]], "w": 2.0})
    found = CorrectAndSmooth(tiny(), random_state=0).fit(frame, named(g.some, None), edges)
    expected = CorrectAndSmooth(tiny(), random_state=0).fit(g.X, g.some, g.edges)
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(found.predict(frame, edges) == "b", expected.predict(g.X, g.edges) == 1)


def test_correct_and_smooth_finds_named_nodes_in_any_order(homophilous: Example) -> None:
    """Names by a frame's index, or by the numbers of its rows."""
    g = homophilous
    for names in ([f"n{i}" for i in range(300)], list(range(300))):
        frame = pd.DataFrame(g.X, index=names) if isinstance(names[0], str) else pd.DataFrame(g.X)
        edges = pd.DataFrame({"s": [names[i] for i in g.edges[0]], "t": [names[i] for i in g.edges[1]]})
        model = CorrectAndSmooth(tiny(), random_state=0).fit(frame, g.some, edges)
        assert model.steps_ != Steps(None, None)
        expected, order = model.predict_proba(frame, edges), np.random.default_rng(0).permutation(300)
        np.testing.assert_allclose(model.predict_proba(frame.iloc[order], edges), expected[order], atol=1e-5)
        with pytest.raises(InputError, match="names other nodes than those of fit"):
            model.predict(frame.rename(index={names[0]: "x"}), [])


def test_correct_and_smooth_is_the_same_for_the_same_random_state(graph: Example) -> None:
    g = graph

    def run(state: Any, **more: Any) -> NDArray[np.float32]:
        model = CorrectAndSmooth(tiny(random_state=None, max_epochs=5), random_state=state, **more)
        return model.fit(g.X, g.some, g.edges).predict_proba(g.X, g.edges)

    np.testing.assert_array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))
    assert not np.array_equal(run(1), run(1, validation_fraction=0.3))


def test_correct_and_smooth_takes_only_what_it_can(graph: Example) -> None:
    assert "validation_fraction is 1, expected a number from 0 up to" in refusal(
        lambda: CorrectAndSmooth(tiny(), validation_fraction=1).fit(graph.X, graph.some)
    )
    one_each = np.where(np.arange(NODES) < CLASSES, graph.y, -1)
    assert "no labelled node could be held back" in refusal(lambda: CorrectAndSmooth(tiny()).fit(graph.X, one_each))
    message = refusal(lambda: CorrectAndSmooth(LogisticRegression()).fit(graph.X, graph.some, graph.edges))
    assert message.startswith("estimator is a LogisticRegression, expected a OneHopClassifier")


def test_one_that_is_not_fitted_says_so(graph: Example) -> None:
    g, model = graph, CorrectAndSmooth(tiny())
    with pytest.raises(NotFittedError):
        model.score(g.X, g.y, g.edges)
    model.fit(g.X, g.some, g.edges)
    with pytest.raises(InputError):
        model.fit(g.X, g.some[:-1], g.edges)
    with pytest.raises(NotFittedError):
        model.predict(g.X, g.edges)


@pytest.mark.parametrize("kind", [CorrectAndSmooth, OneHopClassifier])
def test_scores_can_be_weighted(graph: Example, kind: type[Any]) -> None:
    g = graph
    model = (CorrectAndSmooth(tiny()) if kind is CorrectAndSmooth else tiny()).fit(g.X, g.some, g.edges)
    met = model.predict(g.X, g.edges) == g.y
    weight = np.arange(NODES)
    assert model.score(g.X, g.y, g.edges, sample_weight=weight) == pytest.approx(weight[met].sum() / weight.sum())
    with pytest.raises(InputError, match=r"sample_weight has shape \(2,\), expected"):
        model.score(g.X, g.y, g.edges, sample_weight=[1, 2])
