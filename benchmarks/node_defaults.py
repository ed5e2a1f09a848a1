"""Why OneHopClassifier's defaults are what they are: one choice changed at a time, on the paper's citation graphs.

    SETTWISTER_DATA=... python benchmarks/node_defaults.py [cora] [citeseer] [pubmed]

Splits 20 to 23, which no table uses. Validation scores are what choices are made by; test scores stand beside them. A
minute a line for Cora and Citeseer on one core, a quarter of an hour for PubMed.
"""

import sys
from statistics import mean, stdev
from typing import Any

from settwister.experiments.nodes.fit import fit, metrics
from settwister.experiments.nodes.methods import METHODS
from settwister.experiments.nodes.protocol import recipe_of
from settwister.graphs import load, random_split
from settwister.training.node_recipe import AVERAGE

SEEDS = range(20, 24)
#: what the estimator does where labels are few for each feature, and where they are many
WORDS: dict[str, Any] = dict(average=AVERAGE, rho_layers=0, scaling="none")
NUMBERS: dict[str, Any] = dict(average=AVERAGE, rho_layers=1, scaling="binned")
WORD_CHOICES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "weights not averaged": {"average": 0.0},
    "a hidden layer behind the sum": {"rho_layers": 1},
    "features by tf-idf": {"scaling": "tf_idf"},
}
CHOICES = {
    "cora": WORD_CHOICES,
    "citeseer": WORD_CHOICES,
    "pubmed": {
        "defaults": {},
        "weights not averaged": {"average": 0.0},
        "no hidden layer behind the sum": {"rho_layers": 0},
        "features as they are": {"scaling": "none"},
        "features by their deviation": {"scaling": "deviation"},
    },
}


def spread(scores: list[float]) -> str:
    return f"{mean(scores):.2f}({stdev(scores):.2f})"


if __name__ == "__main__":
    method = METHODS["set_twister_plus"]
    print("| graph | changed | validation | test |\n|---|---|---|---|")
    for name in sys.argv[1:] or CHOICES:
        graph = load(name)
        for title, changed in CHOICES[name].items():
            settings = method.defaults | (NUMBERS if name == "pubmed" else WORDS) | changed
            validation, test = [], []
            for seed in SEEDS:
                split = random_split(graph.labelled, seed)
                found = fit(method, graph, split, settings, recipe_of(graph), seed)
                validation.append(100 * found.validation)
                test.append(metrics(found.scores, graph.y, split.test)["accuracy"])
            print(f"| {name} | {title} | {spread(validation)} | {spread(test)} |", flush=True)
