"""Should dense columns become yes-or-no questions too? Small tables without edges, standardised with and without them.

    python benchmarks/dense_columns.py

Test accuracy in percent, mean of four splits, of one network; beside it gradient boosting, which asks such questions by
itself. Ten minutes on one core. The outcome is in docs/defaults.md.
"""

from collections.abc import Callable
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from settwister import OneHopClassifier

ROWS, SEEDS = 1500, range(4)
Table = tuple[NDArray[Any], NDArray[Any]]


def friedman(seed: int) -> Table:
    """A smooth function of five of ten columns, above its median or not."""
    X, y = datasets.make_friedman1(ROWS, 10, noise=1.0, random_state=seed)
    return X, y > np.median(y)


def steps(seed: int) -> Table:
    """Thresholds of skewed columns, counted: what questions are made for."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(ROWS, 8)))
    count = (X[:, 0] > 1).astype(int) + (X[:, 1] > 2) + ((X[:, 2] > 0.5) & (X[:, 2] < 1.5))
    y = count + 0.3 * rng.normal(size=ROWS)
    return X, y > np.median(y)


TABLES: dict[str, Callable[[int], Table]] = {
    "breast cancer": lambda seed: datasets.load_breast_cancer(return_X_y=True),
    "wine": lambda seed: datasets.load_wine(return_X_y=True),
    "iris": lambda seed: datasets.load_iris(return_X_y=True),
    "digits": lambda seed: datasets.load_digits(return_X_y=True),
    "smooth": friedman,
    "a sphere": lambda seed: datasets.make_hastie_10_2(ROWS, random_state=seed),
    "thresholds": steps,
    "rings": lambda seed: datasets.make_gaussian_quantiles(
        n_samples=ROWS, n_features=6, n_classes=3, random_state=seed
    ),
    "clusters": lambda seed: datasets.make_classification(ROWS, 20, n_informative=8, n_classes=3, random_state=seed),
}


def questions(X: NDArray[Any], train: NDArray[Any], parts: int) -> NDArray[Any]:
    """Is each column above each of its quantiles over training rows?"""
    limits = np.quantile(X[train], np.arange(1, parts) / parts, axis=0)
    return np.concatenate([limit < X for limit in limits], axis=1).astype(float)


def accuracies(X: NDArray[Any], y: NDArray[Any], seed: int) -> dict[str, float]:
    train, test = train_test_split(np.arange(len(y)), test_size=0.4, stratify=y, random_state=seed)
    numbers = StandardScaler().fit(X[train]).transform(X)
    found = {}
    for title, more in {"numbers": [], "and quartiles": [4], "and octiles": [8]}.items():
        read = np.hstack([numbers, *(questions(X, train, parts) for parts in more)])
        model = OneHopClassifier(width=64, scale=False, members=1, random_state=seed).fit(read[train], y[train])
        found[title] = model.score(read[test], y[test])
    trees = HistGradientBoostingClassifier(random_state=seed).fit(X[train], y[train])
    return found | {"gradient boosting": trees.score(X[test], y[test])}


if __name__ == "__main__":
    for i, (name, make) in enumerate(TABLES.items()):
        runs = [accuracies(X, np.unique(y, return_inverse=True)[1], seed) for seed in SEEDS for X, y in [make(seed)]]
        if i == 0:
            print("| table | " + " | ".join(runs[0]) + " |\n|---" + "|---" * len(runs[0]) + "|")
        print(
            f"| {name} | " + " | ".join(f"{100 * mean(run[k] for run in runs):.1f}" for k in runs[0]) + " |", flush=True
        )
