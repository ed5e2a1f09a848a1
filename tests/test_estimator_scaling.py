"""What becomes of features before a network reads them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from example_graph import NODES, Example, example, refusal, tiny
from settwister.estimator import OneHopClassifier
from settwister.estimator.inputs import standard
from settwister.estimator.scaling import Binned, Standardised, Unscaled
from settwister.nn.features import dense


@pytest.fixture(scope="module")
def graph() -> Example:
    return example()


@pytest.fixture(scope="module")
def counts() -> Any:
    """(NODES, 5) mostly zeros, the others from 1 to 9."""
    made = np.random.default_rng(0)
    return made.integers(1, 10, size=(NODES, 5)) * (made.random((NODES, 5)) < 0.15)


def test_columns_are_scaled_by_training_nodes_whatever_their_units(graph: Example) -> None:
    """Micrometres, or seconds since 1970 that differ by a few: in single precision these would all be one number."""
    expected = tiny().fit(graph.X, graph.some, graph.edges).predict_proba(graph.X, graph.edges)
    for offset, unit in ((0.0, 1e-12), (0.0, 1e-100), (0.0, 1e30), (1.7e9, 1.0)):
        X = offset + unit * graph.X
        found = tiny().fit(X, graph.some, graph.edges).predict_proba(X, graph.edges)
        np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)
    held = np.flatnonzero(graph.some >= 0)[:6]
    far = graph.X.copy()
    far[graph.some < 0] += 1e3
    far[held] -= 1e3
    one, other = (tiny(max_epochs=1).fit(X, graph.some, graph.edges, validation=held) for X in (graph.X, far))
    for name, array in one.scaling_.arrays().items():
        np.testing.assert_array_equal(array, other.scaling_.arrays()[name])


def test_a_column_that_is_constant_but_for_rounding_is_not_blown_up() -> None:
    values = np.array([[0.3, 1.0], [0.1 + 0.2, 2.0]] * 5)
    assert values[0, 0] != values[1, 0]
    mean, deviation = standard(values)
    np.testing.assert_allclose(mean, [0.3, 1.5])
    np.testing.assert_allclose(deviation, [1.0, 0.5])
    mean, deviation = standard(values, np.arange(10) % 2.0)
    np.testing.assert_allclose(mean, [0.3, 2.0])
    np.testing.assert_allclose(deviation, [1.0, 1.0])


FORMS: dict[str, Callable[[Any], Any]] = {"dense": np.asarray, "sparse": scipy.sparse.csr_matrix}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_mostly_zeros_becomes_questions_of_training_nodes(graph: Example, counts: Any, form: str) -> None:
    """What is asked, by hand: is a number there, and above the last of each quarter of those in training."""
    held = np.flatnonzero(graph.some >= 0)[:6]
    X = FORMS[form](counts.astype(float))
    found = tiny(max_epochs=1).fit(X, graph.some, graph.edges, validation=held)
    train = np.setdiff1d(np.flatnonzero(graph.some >= 0), held)
    asked = [(column, 0.0) for column in range(5)]
    for part in (1, 2, 3):
        for column in range(5):
            there = np.sort(counts[train, column][counts[train, column] > 0])
            below = [there[len(there) * p // 4 - 1] for p in range(1, part + 1) if len(there) * p // 4]
            if len(there) * part // 4 and below[-1] < there[-1] and below[-1] not in below[:-1]:
                asked.append((column, float(below[-1])))
    assert len(asked) > 5
    expected = np.stack([counts[:, column] > limit for column, limit in asked], axis=1)
    np.testing.assert_array_equal(dense(found.scaling_(X)).numpy(), expected)
    assert found.n_features_in_ == 5
    assert found.network_.in_dim == len(asked)


def test_what_automatic_scaling_is(graph: Example, counts: Any) -> None:
    def scaling(X: Any, y: Any = graph.some, **settings: Any) -> type[Any]:
        return type(tiny(max_epochs=1, **settings).fit(X, y).scaling_)

    known = np.flatnonzero(graph.some >= 0)
    few = np.full(NODES, -1)
    few[known[:9]] = graph.some[known[:9]]
    assert scaling(graph.X) is Standardised
    assert scaling(counts) is Binned
    assert scaling(counts > 0) is Unscaled
    assert scaling(counts, few) is Unscaled, "fewer than two labels for every feature"
    assert scaling(graph.X, scale=False) is Unscaled
    assert scaling(counts, scale=False) is Unscaled
    assert scaling(counts, scale=True) is Standardised
    assert scaling(graph.X, scale="binned") is Binned
    assert "centring makes it dense" in refusal(lambda: scaling(scipy.sparse.csr_matrix(counts), scale=True))


def test_numbers_that_training_never_had_are_answered(graph: Example, counts: Any) -> None:
    model = tiny(max_epochs=2).fit(counts, graph.some, graph.edges)
    for strange in (np.zeros((2, 5)), np.full((2, 5), 1e30), np.full((2, 5), -1e30)):
        assert np.isfinite(model.predict_proba(strange, [(0, 1)])).all()


def test_questions_are_saved_and_opened(graph: Example, counts: Any, tmp_path: Path) -> None:
    before = tiny(max_epochs=3).fit(counts, graph.some, graph.edges)
    before.save(tmp_path / "model")
    after = OneHopClassifier.load(tmp_path / "model")
    assert isinstance(after.scaling_, Binned)
    assert torch.equal(after.scaling_.thresholds, before.scaling_.thresholds)
    np.testing.assert_array_equal(after.predict_proba(counts, graph.edges), before.predict_proba(counts, graph.edges))
