"""Classifiers of nodes in scikit-learn's manner: what they learn from, what they answer, and what they refuse."""

import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from example_graph import CLASSES, NODES, Example, both_ways, example, refusal, tiny
from settwister.errors import InputError
from settwister.estimator import CorrectAndSmooth, OneHopClassifier
from settwister.nn import nodes


@pytest.fixture(scope="module")
def graph() -> Example:
    return example()


@pytest.fixture(scope="module")
def fitted(graph: Example) -> OneHopClassifier:
    """Do not change it."""
    return tiny().fit(graph.X, graph.some, graph.edges)


# ---- scikit-learn's own checks ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:y holds just -1 and 1", "ignore:A column-vector y was passed")
@parametrize_with_checks([OneHopClassifier()])
def test_a_classifier_without_edges_passes_scikit_learns_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_scikit_learn_is_imported_when_an_estimator_is_asked_for() -> None:
    """It takes as long as all else together; whoever wants the models only need not wait for it."""
    code = (
        "import sys, settwister as st\n"
        "assert 'sklearn' not in sys.modules\n"
        "for name in ('CorrectAndSmooth', 'OneHopClassifier', 'SetClassifier', 'SetRegressor'):\n"
        "    assert name in st.__all__ and name in dir(st) and getattr(st, name).__name__ == name\n"
        "assert not hasattr(st, 'Oracle')\n"
        "from settwister import *\n"
        "assert SetRegressor is st.SetRegressor\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- what is learned from --------------------------------------------------------------------------------------------


def test_an_unlabelled_nodes_features_matter_to_its_neighbours_only(graph: Example, fitted: OneHopClassifier) -> None:
    node = int(np.flatnonzero(graph.some < 0)[0])
    around = {int(end) for pair in graph.edges.T if node in pair for end in pair}
    assert len(around) > 1
    other = graph.X.copy()
    other[node] += 3
    changed = np.flatnonzero(
        (fitted.predict_proba(other, graph.edges) != fitted.predict_proba(graph.X, graph.edges)).any(1)
    )
    assert set(changed.tolist()) == around | {node}
    again = tiny().fit(other, graph.some, graph.edges)
    assert not np.array_equal(again.predict_proba(graph.X, graph.edges), fitted.predict_proba(graph.X, graph.edges))


def test_labels_of_validation_nodes_decide_when_to_stop_and_nothing_else(graph: Example) -> None:
    """With one epoch and no calibration there is nothing to decide, and other labels there change no bit."""
    held = np.flatnonzero(graph.some >= 0)[:9]
    other = graph.some.copy()
    other[held] = (other[held] + 1) % CLASSES
    model = tiny(max_epochs=1, calibrate=False)
    found = [
        model.fit(graph.X, y, graph.edges, validation=held).predict_proba(graph.X, graph.edges)
        for y in (graph.some, other)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert model.fit(graph.X, graph.some, graph.edges, validation=held).validation_score_ != (
        model.fit(graph.X, other, graph.edges, validation=held).validation_score_
    )


def test_validation_nodes_may_be_given_as_numbers_or_as_booleans(graph: Example) -> None:
    held = np.flatnonzero(graph.some >= 0)[::4]
    mask = np.isin(np.arange(NODES), held)
    expected = tiny().fit(graph.X, graph.some, graph.edges, validation=held)
    for form in (held.tolist(), mask, torch.from_numpy(held), held[::-1]):
        found = tiny().fit(graph.X, graph.some, graph.edges, validation=form)
        np.testing.assert_array_equal(
            found.predict_proba(graph.X, graph.edges), expected.predict_proba(graph.X, graph.edges)
        )
    reached = np.mean(expected.predict(graph.X, graph.edges)[held] == graph.y[held])
    assert expected.validation_score_ == pytest.approx(reached)
    assert expected.validation_score_ == max(expected.curves_["validation_score"])
    assert expected.n_iter_ == len(expected.curves_["train_loss"]) == len(expected.curves_["validation_loss"])


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (lambda y: np.flatnonzero(y < 0)[:1], "validation names rows without a label"),
        (lambda y: np.flatnonzero(y >= 0), "validation names rows without a label, or all that have one"),
        (lambda y: [99], "validation names rows without a label"),
        (lambda y: [0.5], "validation is float64 of shape (1,), expected row numbers or a boolean for each of the 60"),
        (lambda y: [True, False], "validation is bool of shape (2,)"),
        (lambda y: ["a"], "validation is <U1 of shape (1,)"),
    ],
)
def test_validation_nodes_that_cannot_be_held_back_are_refused(
    graph: Example, validation: Callable[[Any], Any], message: str
) -> None:
    assert message in refusal(lambda: tiny().fit(graph.X, graph.some, graph.edges, validation=validation(graph.some)))


def test_every_epoch_is_told_and_printed_when_asked(graph: Example, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[int, int]] = []
    tiny(max_epochs=3).fit(graph.X, graph.some, graph.edges, tell=lambda done, most, note: told.append((done, most)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert capsys.readouterr().out == ""
    tiny(max_epochs=4, verbose=2).fit(graph.X, graph.some, graph.edges)
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["epoch 2", "epoch 4"]


# ---- randomness ------------------------------------------------------------------------------------------------------


def test_the_same_random_state_gives_the_same_bits_and_another_does_not(graph: Example) -> None:
    def run(state: Any) -> NDArray[np.float32]:
        model = tiny(max_epochs=5, random_state=state).fit(graph.X, graph.some, graph.edges)
        return model.predict_proba(graph.X, graph.edges)

    np.testing.assert_array_equal(run(3), run(3))
    np.testing.assert_array_equal(run(3), run(np.int64(3)))
    np.testing.assert_array_equal(run(np.random.RandomState(3)), run(np.random.RandomState(3)))
    assert not np.array_equal(run(3), run(4))
    assert not np.array_equal(run(None), run(None))
    assert "random_state is 'x', expected None, a whole number" in refusal(lambda: run("x"))


@pytest.mark.parametrize("state", [0, None])
@pytest.mark.parametrize("wrapped", [False, True])
def test_global_generators_are_left_as_they_were(graph: Example, state: int | None, wrapped: bool) -> None:
    model: Any = tiny(max_epochs=2, random_state=state, dropout=0.5)
    model = CorrectAndSmooth(model, random_state=state) if wrapped else model
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), np.random.get_state()[2]
    model.fit(graph.X, graph.some, graph.edges).predict(graph.X, graph.edges)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()
    assert np.random.get_state()[2] == before[2]


# ---- scikit-learn's tools --------------------------------------------------------------------------------------------


def test_pickles_and_clones(graph: Example, fitted: OneHopClassifier) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(graph.X, graph.edges), fitted.predict_proba(graph.X, graph.edges))
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(graph.X, graph.edges)
    assert copy.set_params(width=16, k=3).width == 16


def test_in_a_pipeline_edges_go_to_the_last_step(graph: Example) -> None:
    model = make_pipeline(StandardScaler(), tiny(scale=False, max_epochs=60))
    model.fit(graph.X, graph.some, onehopclassifier__edges=graph.edges)
    assert np.mean(model.predict(graph.X, edges=graph.edges) == graph.y) > 0.9


def test_settings_may_be_searched_where_there_are_no_edges(graph: Example) -> None:
    """Values from an array are numbers of NumPy, which count as numbers."""
    model = GridSearchCV(tiny(), {"width": np.array([4, 8]), "dropout": np.linspace(0, 0.5, 2)}, cv=2)
    model.fit(graph.X, graph.y)
    assert model.best_params_["width"] in (4, 8)
    assert cross_val_score(tiny(), graph.X, graph.y, cv=3).mean() > 0.8


def test_a_failed_fit_leaves_it_unfitted(graph: Example) -> None:
    model = tiny(max_epochs=1).fit(graph.X, graph.some)
    with pytest.raises(InputError):
        model.fit(graph.X[:, :2], np.zeros(NODES))
    with pytest.raises(NotFittedError):
        model.predict(graph.X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(model="gcn"), "model is 'gcn', expected one of 'set_twister', 'deepsets', 'mlp'"),
        (dict(width=0), "width is 0, expected a whole number of at least 1"),
        (dict(width="wide"), "width is 'wide', expected a whole number"),
        (dict(width=9, M=2), "width is 9, expected a multiple of M=2"),
        (dict(layers=1.0), "layers is 1.0, expected a whole number"),
        (dict(head_layers=-1), "head_layers is -1, expected a whole number of at least 0"),
        (dict(k=100), "k is 100, expected at most 64"),
        (dict(pool="max"), "pool is 'max', expected one of 'sum', 'mean', 'sqrt'"),
        (dict(dropout=1.0), "dropout is 1.0, expected a number from 0 up to"),
        (dict(input_dropout=-0.1), "input_dropout is -0.1"),
        (dict(layer_norm=1), "layer_norm is 1, expected one of True, False"),
        (dict(learning_rate=0), "learning_rate is 0, expected a number above 0"),
        (dict(learning_rate="fast"), "learning_rate is 'fast'"),
        (dict(weight_decay=math.nan), "weight_decay is nan, expected a number of at least 0"),
        (dict(max_epochs=0), "max_epochs is 0"),
        (dict(patience=None), "patience is None"),
        (dict(batch_size=0), "batch_size is 0"),
        (dict(validation_fraction=1.0), "validation_fraction is 1.0"),
        (dict(class_weight="heavy"), "class_weight is 'heavy', expected one of None, 'balanced'"),
        (dict(class_weight={7: 2.0}), "class_weight names 7, expected classes: 0, 1, 2"),
        (dict(class_weight={0: 0.0}), "class_weight[0] is 0.0, expected a number above 0"),
        (dict(class_weight={0: "x"}), "class_weight[0] is 'x'"),
        (dict(class_weight={0: 10**400}), "class_weight[0] is 1000"),
        (dict(scale="yes"), "scale is 'yes', expected one of 'auto', 'binned', True, False"),
        (dict(directed="no"), "directed is 'no', expected one of True, False"),
        (dict(verbose=-1), "verbose is -1"),
        (dict(learning_rate=1e30), "training ended in NaN"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(graph: Example, settings: dict[str, Any], message: str) -> None:
    assert message in refusal(lambda: tiny(**settings).fit(graph.X, graph.some, graph.edges))


@pytest.mark.parametrize("model", ["set_twister", "deepsets", "mlp"])
def test_every_model_learns_the_easy_graph(graph: Example, model: str) -> None:
    found = tiny(model=model, max_epochs=60).fit(graph.X, graph.some, graph.edges)
    unseen = graph.some < 0
    assert np.mean(found.predict(graph.X, graph.edges)[unseen] == graph.y[unseen]) > 0.8
    shares = found.predict_proba(graph.X, graph.edges)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(found.decision_function(graph.X, graph.edges).argmax(1), shares.argmax(1))


def test_neighbours_are_looked_at_where_a_model_can() -> None:
    """The class is whether the two neighbours' features have one sign, which no sum over them tells."""
    made = np.random.default_rng(0)
    own, signs = np.zeros((150, 2)), made.choice([-1.0, 1.0], size=(300, 1))
    X = np.concatenate([own, np.concatenate([signs, np.ones((300, 1))], axis=1)])
    edges = np.stack([150 + np.arange(300), np.repeat(np.arange(150), 2)])
    y = np.concatenate([(signs[0::2] * signs[1::2] > 0).ravel().astype(int), np.full(300, -1)])
    settings: dict[str, Any] = dict(width=16, max_epochs=150, dropout=0.0, directed=True)
    reached = {
        model: tiny(model=model, **settings).fit(X, y, edges).score(X, y, edges) for model in ("set_twister", "mlp")
    }
    assert reached["set_twister"] > 0.95
    assert reached["mlp"] < 0.7


# ---- other graphs ----------------------------------------------------------------------------------------------------


def test_a_node_is_predicted_alike_in_any_graph_where_its_neighbourhood_is_the_same(
    graph: Example, fitted: OneHopClassifier
) -> None:
    node = int(graph.edges[0, 0])
    touching = graph.edges[:, (graph.edges == node).any(0)]
    kept, small = np.unique(touching, return_inverse=True)
    found = fitted.predict_proba(graph.X[kept], small.reshape(touching.shape))[kept == node]
    expected = fitted.predict_proba(graph.X, graph.edges)
    np.testing.assert_allclose(found[0], expected[node], rtol=1e-4, atol=1e-6)
    twice = fitted.predict_proba(np.tile(graph.X, (2, 1)), np.concatenate([graph.edges, graph.edges + NODES], axis=1))
    np.testing.assert_allclose(twice, np.tile(expected, (2, 1)), rtol=1e-4, atol=1e-6)
    isolated = NODES - 1
    np.testing.assert_allclose(
        fitted.predict_proba(graph.X[[isolated]], [])[0], expected[isolated], rtol=1e-4, atol=1e-6
    )


def test_forgetting_the_edges_is_warned_of(graph: Example, fitted: OneHopClassifier) -> None:
    with pytest.warns(UserWarning, match="no edges were given to a classifier that was fitted with some"):
        found = fitted.predict_proba(graph.X)
    np.testing.assert_array_equal(found, fitted.predict_proba(graph.X, []))
    for none in (None, []):  # no warning, which would be an error here
        tiny(max_epochs=1).fit(graph.X, graph.some, none).predict(graph.X)


# ---- weights of classes, calibration ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uneven() -> Example:
    """Two classes that overlap, the second with a tenth of the nodes."""
    made = np.random.default_rng(0)
    y = (np.arange(300) % 10 == 0).astype(int)
    X = made.normal(size=(300, 2)) + 1.2 * y[:, None]
    return Example(X=X, y=y)


def test_classes_that_weigh_more_are_found_more_often(uneven: Example) -> None:
    def found(weight: Any) -> NDArray[np.int64]:
        answer: NDArray[np.int64] = tiny(class_weight=weight).fit(uneven.X, uneven.y).predict(uneven.X)
        return answer

    plain, balanced = found(None), found("balanced")
    heavy, light = found({1: 9.0}), found({1: 0.1})
    assert balanced.sum() > 2 * plain.sum()
    assert heavy.sum() > 2 * plain.sum()
    assert light.sum() <= plain.sum()
    recall = [np.mean(answer[uneven.y == 1]) for answer in (plain, balanced)]
    assert recall[1] > recall[0] + 0.2
    np.testing.assert_array_equal(found({0: 1, 1: np.float64(9)}), heavy)


def test_the_validation_score_is_balanced_or_weighted_as_the_loss_is(uneven: Example) -> None:
    held = np.arange(0, 300, 3)
    for weight in ("balanced", {1: 9.0}):
        model = tiny(class_weight=weight).fit(uneven.X, uneven.y, validation=held)
        right = model.predict(uneven.X)[held] == uneven.y[held]
        rare = uneven.y[held] == 1
        shares = right[rare].mean(), right[~rare].mean()
        expected = np.mean(shares) if weight == "balanced" else np.average(right, weights=np.where(rare, 9.0, 1.0))
        assert model.validation_score_ == pytest.approx(expected)


def likelihood(model: OneHopClassifier, X: Any, y: Any, rows: Any) -> float:
    return -float(np.log(model.predict_proba(X)[rows, y[rows]].astype(float)).mean())


@pytest.mark.parametrize("seed", range(4))
def test_calibration_never_makes_validation_labels_less_likely(uneven: Example, seed: int) -> None:
    held = np.random.default_rng(seed).permutation(300)[:100]
    model = tiny(random_state=seed, class_weight={1: 9.0}).fit(uneven.X, uneven.y, validation=held)
    after = likelihood(model, uneven.X, uneven.y, held)
    assert sorted(model.calibration_error_) == ["after", "before"]
    sure, temperature = model.decision_function(uneven.X), model.temperature_
    assert temperature != 1.0
    model.temperature_ = 1.0
    np.testing.assert_allclose(model.decision_function(uneven.X), temperature * sure, rtol=1e-4, atol=1e-6)
    assert after < likelihood(model, uneven.X, uneven.y, held)
    plain = tiny(random_state=seed, class_weight={1: 9.0}, calibrate=False).fit(uneven.X, uneven.y, validation=held)
    assert plain.temperature_ == 1.0
    assert plain.calibration_error_["before"] == plain.calibration_error_["after"]
    assert plain.calibration_error_["before"] == pytest.approx(model.calibration_error_["before"])


def test_a_few_right_answers_do_not_make_for_certainty(graph: Example) -> None:
    """Any temperature is likelier, the lower it is, if all validation nodes are right: that alone must not decide."""
    whole = example(200, noise=0.3)
    model = tiny(max_epochs=100).fit(whole.X, whole.some, whole.edges, validation=np.flatnonzero(whole.some >= 0)[:5])
    assert model.validation_score_ == 1
    assert 0.1 < model.temperature_ < 1


# ---- odd graphs ------------------------------------------------------------------------------------------------------


def test_repeated_edges_count_once_and_directions_only_when_told(graph: Example, fitted: OneHopClassifier) -> None:
    X, y, edges = graph.X, graph.some, graph.edges
    expected = fitted.predict_proba(X, edges)
    for same in (np.tile(edges, 3), edges[::-1], both_ways(edges)):
        np.testing.assert_array_equal(tiny().fit(X, y, same).predict_proba(X, same), expected)
    forward = tiny(directed=True).fit(X, y, edges)
    assert not np.allclose(forward.predict_proba(X, edges), forward.predict_proba(X, edges[::-1]))
    both = tiny(directed=True).fit(X, y, both_ways(edges))
    np.testing.assert_array_equal(both.predict_proba(X, both_ways(edges)), expected)
    target = int(edges[1, 0])
    rest = edges[:, edges[1] != target]
    alone = forward.predict_proba(X[[target]], [])[0]
    np.testing.assert_allclose(forward.predict_proba(X, rest)[target], alone, rtol=1e-4, atol=1e-6)


def test_a_loop_counts_only_when_told(graph: Example, fitted: OneHopClassifier) -> None:
    X, y, edges = graph.X, graph.some, graph.edges
    with_loops = np.concatenate([edges, np.tile(np.arange(NODES), (2, 1))], axis=1)
    np.testing.assert_array_equal(fitted.predict_proba(X, with_loops), fitted.predict_proba(X, edges))
    model = tiny(loops=True).fit(X, y, with_loops)
    assert not np.allclose(model.predict_proba(X, with_loops), model.predict_proba(X, edges))
    np.testing.assert_array_equal(
        tiny(loops=True).fit(X, y, edges).predict_proba(X, edges), fitted.predict_proba(X, edges)
    )


ODD: dict[str, Callable[[Example], tuple[Any, Any, Any]]] = {
    "no edge at all": lambda g: (g.X, g.some, []),
    "nothing but loops": lambda g: (g.X, g.some, [(i, i) for i in range(NODES)]),
    "features that are all zero": lambda g: (np.zeros((NODES, 4)), g.some, g.edges),
    "columns that never change": lambda g: (np.c_[g.X, np.full(NODES, 0.1), np.full(NODES, 1e30)], g.some, g.edges),
    "one column": lambda g: (g.X[:, :1], g.some, g.edges),
    "one label of each class": lambda g: (g.X, np.where(np.arange(NODES) < CLASSES, g.y, -1), g.edges),
    "one class of a single label": lambda g: (g.X, np.where((g.y == 2) & (np.arange(NODES) > 2), -1, g.y), g.edges),
    "two labels": lambda g: (g.X, np.array([0, 1, *[-1] * (NODES - 2)]), g.edges),
    "a node joined to all others": lambda g: (g.X, g.some, [(0, i) for i in range(1, NODES)]),
    "all weights 0": lambda g: (g.X, g.some, pd.DataFrame(dict(a=g.edges[0], b=g.edges[1], w=0.0))),
    "tiny weights": lambda g: (g.X, g.some, pd.DataFrame(dict(a=g.edges[0], b=g.edges[1], w=1e-30))),
}


@pytest.mark.parametrize("pool", ["mean", "sum", "sqrt"])
@pytest.mark.parametrize("case", ODD)
def test_odd_graphs_have_finite_predictions(graph: Example, case: str, pool: str) -> None:
    X, y, edges = ODD[case](graph)
    model = tiny(pool=pool, loops=True, layer_norm=pool == "sum").fit(X, y, edges)
    shares = model.predict_proba(X, edges)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)


def test_without_enough_labels_to_hold_back_all_epochs_are_run(graph: Example, tmp_path: Path) -> None:
    y = np.where(np.arange(NODES) < CLASSES, graph.y, -1)
    for model in (tiny().fit(graph.X, y, graph.edges), tiny(validation_fraction=0).fit(graph.X, graph.some)):
        assert math.isnan(model.validation_score_)
        assert (model.n_iter_, model.best_epoch_, model.temperature_, model.calibration_error_) == (20, 20, 1.0, {})
        model.save(tmp_path / "model", force=True)
        again = OneHopClassifier.load(tmp_path / "model")
        assert math.isnan(again.validation_score_)
        assert again.curves_ == model.curves_


def test_a_class_that_is_not_held_back_is_still_predicted(graph: Example) -> None:
    held = np.flatnonzero((graph.some >= 0) & (graph.some < 2))[::3]
    model = tiny(max_epochs=60).fit(graph.X, graph.some, graph.edges, validation=held)
    assert (model.predict(graph.X, graph.edges) == 2).any()
    assert np.isfinite(model.predict_proba(graph.X, graph.edges)).all()
    balanced = tiny(class_weight="balanced").fit(graph.X, graph.some, graph.edges, validation=held)
    assert np.isfinite(balanced.validation_score_)


def test_parts_of_the_nodes_at_a_time_learn_as_much(graph: Example) -> None:
    unseen = graph.some < 0
    model = tiny(batch_size=8, max_epochs=40).fit(graph.X, graph.some, graph.edges)
    assert np.mean(model.predict(graph.X, graph.edges)[unseen] == graph.y[unseen]) > 0.8
    whole = tiny(max_epochs=40).fit(graph.X, graph.some, graph.edges)
    assert not np.array_equal(model.predict_proba(graph.X, graph.edges), whole.predict_proba(graph.X, graph.edges))


def test_auto_settings_fit_the_number_of_features_and_of_branches(graph: Example) -> None:
    few = OneHopClassifier(max_epochs=1, M=3).fit(graph.X, graph.some).network_
    many = OneHopClassifier(max_epochs=1).fit(np.tile(graph.X, (1, 100)), graph.some).network_
    assert few.config["phi"][0] < many.config["phi"][0]
    assert few.config["phi"][0] % 3 == 0
    assert few.config["input_dropout"] < many.config["input_dropout"]
    assert len(few.config["rho"]) == 1
    assert many.config["rho"] == (), "300 features have not two known labels each: linear behind the sum"


@pytest.mark.parametrize("model", ["set_twister", "deepsets"])
def test_the_network_behind_the_sum_has_its_own_depth(graph: Example, model: str) -> None:
    for layers, head, expected in ((1, 0, 0), (2, 1, 1), (1, 2, 2), (2, "auto", 2)):
        found = tiny(model=model, layers=layers, head_layers=head, max_epochs=1).fit(graph.X, graph.some, graph.edges)
        assert (len(found.network_.config["phi"]), len(found.network_.config["rho"])) == (layers, expected)


def test_progress_of_members_goes_on_from_one_to_the_next(graph: Example) -> None:
    """One that stops early leaves fewer epochs, for all of them together."""
    told: list[tuple[int, int]] = []
    model = tiny(members=3, max_epochs=400, patience=2, learning_rate=0.1)
    model.fit(graph.X, graph.some, graph.edges, tell=lambda done, most, note: told.append((done, most)))
    done, most = zip(*told, strict=True)
    assert done == tuple(range(1, len(told) + 1))
    assert most[0] == 1200
    assert model.n_iter_ < 400, "the first is to stop early, or this shows nothing"
    assert most[model.n_iter_] == model.n_iter_ + 800
    assert done[-1] <= most[-1] < 1200


def test_members_are_averaged(graph: Example, tmp_path: Path) -> None:
    """Their probabilities, before the temperature; the first of them is the one that would stand alone."""
    alone = tiny(calibrate=False).fit(graph.X, graph.some, graph.edges)
    notes: list[str] = []
    model = tiny(members=3, calibrate=False)
    model.fit(graph.X, graph.some, graph.edges, tell=lambda done, most, note: notes.append(note))
    first, *others = model.network_.members
    for name, value in alone.network_.state_dict().items():
        assert torch.equal(first.state_dict()[name], value)
        assert not torch.equal(others[0].state_dict()[name], others[1].state_dict()[name]) or not value.any()
    assert model.curves_ == alone.curves_
    assert notes[0].startswith("network 1 of 3, loss")
    assert notes[-1].startswith("network 3 of 3, loss")
    single = []
    for member in (first, *others):
        alone.network_ = member
        single.append(alone.predict_proba(graph.X, graph.edges))
    found = model.predict_proba(graph.X, graph.edges)
    np.testing.assert_allclose(found, np.mean(single, axis=0), rtol=1e-4, atol=1e-6)
    rows = np.flatnonzero(graph.some >= 0)[:9]
    model.fit(graph.X, graph.some, graph.edges, validation=rows)
    right = model.predict(graph.X, graph.edges)[rows] == graph.some[rows]
    assert model.validation_score_ == pytest.approx(right.mean())
    found = model.predict_proba(graph.X, graph.edges)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(OneHopClassifier.load(tmp_path / "model").predict_proba(graph.X, graph.edges), found)


def test_how_many_members_there_are_by_themselves(graph: Example) -> None:
    """Three where labels are many for each feature."""
    assert isinstance(OneHopClassifier(max_epochs=1).fit(graph.X, graph.some).network_, nodes.Averaged)
    wide = np.concatenate([graph.X] * 20, axis=1)
    assert isinstance(OneHopClassifier(max_epochs=1).fit(wide, graph.some).network_, nodes.OneHopSetTwister)
