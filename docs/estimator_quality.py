"""How good is OneHopClassifier with nothing set? On the paper's citation graphs, beside gradient boosting that reads a
node's own features only. Runs what is missing; docs/nodes_page.py puts it on the page.

    SETTWISTER_DATA=... python docs/estimator_quality.py [cora] [citeseer] [pubmed]

Run files are in results/quick/estimator. A few minutes; gradient boosting takes most of them.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from settwister import OneHopClassifier
from settwister.errors import InputError
from settwister.experiments import RunStore
from settwister.experiments.nodes import NodeCell
from settwister.graphs import Graph, Split, load, random_split
from settwister.nn.features import dense

ROOT = Path(__file__).parent.parent
GRAPHS = ("pubmed", "cora", "citeseer")
SEEDS = range(5)


def one_hop(graph: Graph, split: Split, seed: int) -> Any:
    """The classes of all nodes, by the estimator as it is."""
    x, y = dense(graph.x).numpy(), known_labels(graph, split)
    edges = torch.stack([graph.neighbours.index.long(), graph.neighbours.rows])
    fitted = OneHopClassifier(random_state=seed).fit(x, y, edges, validation=split.validation.numpy())
    return fitted.predict(x, edges)


def boosted(graph: Graph, split: Split, seed: int) -> Any:
    """The same from a node's own features, stopped early by the same nodes."""
    x, y = dense(graph.x).numpy(), known_labels(graph, split)
    train, held = split.train.numpy(), split.validation.numpy()
    boosting = HistGradientBoostingClassifier(early_stopping=True, random_state=seed)
    return boosting.fit(x[train], y[train], X_val=x[held], y_val=y[held]).predict(x)


def known_labels(graph: Graph, split: Split) -> NDArray[np.int64]:
    """-1 for test nodes."""
    known = torch.cat([split.train, split.validation])
    y = torch.full_like(graph.y, -1)
    y[known] = graph.y[known]
    return y.numpy()


MODELS: dict[str, Callable[[Graph, Split, int], Any]] = {"OneHopClassifier": one_hop, "gradient_boosting": boosted}

if __name__ == "__main__":
    store = RunStore(ROOT / "results", "quick")
    for name in sys.argv[1:] or GRAPHS:
        try:
            graph = load(name)
        except InputError as error:
            print(f"{name} is left out: {error}")
            continue
        for model, predict in MODELS.items():
            for seed in SEEDS:
                cell = NodeCell(model, name, table="estimator")
                if store.read(cell, seed) is not None:
                    continue
                split, began = random_split(graph.labelled, seed), time.perf_counter()
                right = predict(graph, split, seed)[split.test.numpy()] == graph.y[split.test].numpy()
                content = {"seed": seed, "test": 100 * float(right.mean()), "seconds": time.perf_counter() - began}
                store.write(cell, seed, content)
                print(f"{name}, {model}, seed {seed}: {content['test']:.2f}, {content['seconds']:.0f} s", flush=True)
