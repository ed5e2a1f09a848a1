"""A small graph that is easy to classify, a classifier that is quick to train, and what their tests share."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.estimator import OneHopClassifier

NODES, CLASSES = 60, 3


def tiny(**settings: Any) -> OneHopClassifier:
    given: dict[str, Any] = dict(width=8, members=1, max_epochs=20, input_dropout=0.0, random_state=0)
    return OneHopClassifier(**given | settings)


class Example(SimpleNamespace):
    """X, edges of row numbers (2, E), y, and y with some labels replaced by -1."""

    X: NDArray[np.float64]
    edges: NDArray[np.int64]
    y: NDArray[np.int64]
    some: NDArray[np.int64]


def example(nodes: int = NODES, seed: int = 0, noise: float = 0.3, labelled: float = 0.6) -> Example:
    """Classes that a node's own features tell well, and neighbours of the same class mostly; one node has none."""
    made = np.random.default_rng(seed)
    y = np.arange(nodes) % CLASSES
    X = np.eye(CLASSES)[y] + made.normal(scale=noise, size=(nodes, CLASSES))
    edges = made.integers(nodes - 1, size=(2, 6 * nodes))
    edges = edges[:, ((y[edges[0]] == y[edges[1]]) | (made.random(6 * nodes) < 0.1)) & (edges[0] < edges[1])]
    known = made.random(nodes) < labelled
    known[:6] = True
    return Example(X=X, edges=np.unique(edges, axis=1), y=y, some=np.where(known, y, -1))


def refusal(call: Callable[[], Any]) -> str:
    """The one sentence that a mistake is answered with."""
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


def both_ways(edges: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([edges, edges[::-1]], axis=1)


def named(y: NDArray[np.int64], unknown: Any) -> list[Any]:
    return [unknown if label < 0 else "abc"[label] for label in y]
