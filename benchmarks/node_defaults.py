"""Why OneHopClassifier's defaults are what they are: one choice changed at a time, on the paper's citation graphs.

    SETTWISTER_DATA=... python benchmarks/node_defaults.py [cora] [citeseer] [pubmed]

Splits from 20 on, which no table uses. Validation scores are what choices are made by; test scores stand beside them. A
minute a line for Cora and Citeseer on one core, some minutes a line and network for PubMed.
"""

import sys
from dataclasses import replace
from statistics import mean, stdev
from typing import Any

from settwister.experiments.nodes.fit import fit, metrics
from settwister.experiments.nodes.methods import METHODS
from settwister.experiments.nodes.protocol import recipe_of
from settwister.graphs import load, random_split
from settwister.training.node_recipe import AVERAGE

SEEDS = {"cora": range(20, 24), "citeseer": range(20, 24), "pubmed": range(20, 22)}
#: what the estimator does where labels are few for each feature, and where they are many
WORDS: dict[str, Any] = dict(average=AVERAGE, rho_layers=0, scaling="none", input_dropout=0.5, members=1)
NUMBERS: dict[str, Any] = dict(average=AVERAGE, rho_layers=1, scaling="binned", input_dropout=0.2, members=3)
WORD_CHOICES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "weights not averaged": {"average": 0.0},
    "a hidden layer behind the sum": {"rho_layers": 1},
    "features by tf-idf": {"scaling": "tf_idf"},
    "three networks": {"members": 3},
}
CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "cora": WORD_CHOICES,
    "citeseer": WORD_CHOICES,
    "pubmed": {
        "defaults": {},
        "one network": {"members": 1},
        "one network, half of the features dropped": {"members": 1, "input_dropout": 0.5},
        "one network, features as they are": {"members": 1, "scaling": "none"},
        "one network, features by their deviation": {"members": 1, "scaling": "deviation"},
    },
}
METHOD = METHODS["set_twister_plus"]


def spread(scores: list[float]) -> str:
    return f"{mean(scores):.2f}({stdev(scores):.2f})"


if __name__ == "__main__":
    print("| graph | changed | validation | test |\n|---|---|---|---|")
    for name in sys.argv[1:] or CHOICES:
        graph = load(name)
        for title, changed in CHOICES[name].items():
            settings = METHOD.defaults | (NUMBERS if name == "pubmed" else WORDS) | changed
            method = replace(METHOD, members=settings.pop("members"))
            validation, test = [], []
            for seed in SEEDS[name]:
                split = random_split(graph.labelled, seed)
                found = fit(method, graph, split, settings, replace(recipe_of(graph), patience=100), seed)
                validation.append(100 * found.validation)
                test.append(metrics(found.scores, graph.y, split.test)["accuracy"])
            print(f"| {name} | {title} | {spread(validation)} | {spread(test)} |", flush=True)
