"""scikit-learn's pictures of digits as a graph: each is joined to those that look most alike."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import kneighbors_graph

from settwister.estimator import CorrectAndSmooth, OneHopClassifier
from settwister.graphs.splits import stratified_parts

NEIGHBOURS = 8
LABELLED = 0.1


def digits_scores(seed: int = 0, tell: Callable[[str], None] = lambda note: None) -> list[dict[str, Any]]:
    """Test accuracy of three classifiers that are shown a tenth of the labels; edges come from the pictures alone."""
    pictures, digits = load_digits(return_X_y=True)
    edges = kneighbors_graph(pictures, NEIGHBOURS)
    shown = stratified_parts(digits, (LABELLED, 1 - LABELLED), seed) == 0
    known = np.where(shown, digits, -1)
    rows = []
    for name, answers in (
        ("gradient boosting, no edges", lambda: _boosted(pictures, digits, shown, seed)),
        (
            "Set Twister",
            lambda: OneHopClassifier(random_state=seed).fit(pictures, known, edges).predict(pictures, edges),
        ),
        (
            "Set Twister, corrected and smoothed",
            lambda: CorrectAndSmooth(random_state=seed).fit(pictures, known, edges).predict(pictures, edges),
        ),
    ):
        tell(name)
        began = time.perf_counter()
        right = answers()[~shown] == digits[~shown]
        rows.append({"model": name, "accuracy": float(right.mean()), "seconds": time.perf_counter() - began})
    return rows


def _boosted(pictures: Any, digits: Any, shown: Any, seed: int) -> Any:
    return HistGradientBoostingClassifier(random_state=seed).fit(pictures[shown], digits[shown]).predict(pictures)
