"""Where Set Twister should win: labels that are a function of pairs of neighbours. Runs what is missing, then draws.

    python docs/pairwise.py

Run files are in results/quick/pairwise; the picture is docs/img/pairwise.svg. A few minutes on one core.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch

from settwister.experiments import RunStore
from settwister.experiments.nodes import NodeCell
from settwister.graphs import random_split
from settwister.graphs.synthetic import pairwise_graph
from settwister.nn.nodes import GCN, NodeModel, OneHopDeepSets, OneHopSetTwister
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, score, train_nodes

mpl.use("Agg")
mpl.rcParams |= {"svg.hashsalt": "settwister", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
import matplotlib.pyplot as plt  # noqa: E402 (the backend is chosen first)

ROOT = Path(__file__).parent.parent
NODES = 5_000
DEGREES = (5, 10, 20, 50, 100, 200)
SEEDS = range(5)
RECIPE = NodeRecipe(rate=5e-3, weight_decay=0.0, epochs=40, batch=256)
WHOLE = NodeRecipe(rate=5e-3, weight_decay=0.0, epochs=40 * 12)  # as many steps, for a model that needs the graph
OPTIONS: dict[str, Any] = dict(activation="gelu", dropout=0.0, input_dropout=0.0)
# Widths at which all three have as many parameters, within 2%.
MODELS: dict[str, tuple[str, Callable[[int], NodeModel]]] = {
    "set_twister_plus": ("Set Twister", lambda features: OneHopSetTwister(features, 2, (32, 32), (32,), **OPTIONS)),
    "deepsets": ("DeepSets", lambda features: OneHopDeepSets(features, 2, (33, 33), (34,), **OPTIONS)),
    "gcn": ("GCN, 3 layers", lambda features: GCN(features, 2, 56, layers=3, dropout=0.0)),
}


def run(store: RunStore, model: str, degree: int, seed: int) -> None:
    graph = pairwise_graph(NODES, degree, seed)
    split = random_split(graph.labelled, seed)
    torch.manual_seed(seed)
    built = MODELS[model][1](graph.num_features)
    train, validation = (Labelled(nodes, graph.y[nodes]) for nodes in (split.train, split.validation))
    recipe = RECIPE if built.hops == 1 else WHOLE
    found = train_nodes(built, graph.x, graph.neighbours, train, validation, recipe, seed)
    test = 100 * score(found.probabilities[split.test].argmax(1), graph.y[split.test], balanced=False)
    content = {"seed": seed, "test": test, "validation": 100 * found.validation, "recipe": recipe.to_json()}
    content |= {"parameters": built.num_parameters(), "seconds_per_epoch": found.seconds_per_epoch}
    store.write(NodeCell(model, f"degree-{degree}", table="pairwise"), seed, content)


def draw(store: RunStore, path: Path) -> None:
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for model, (label, _) in MODELS.items():
        cells = [NodeCell(model, f"degree-{degree}", table="pairwise") for degree in DEGREES]
        runs = [[run for seed in SEEDS if (run := store.read(cell, seed)) is not None] for cell in cells]
        tests = np.array([[one["test"] for one in of_cell] for of_cell in runs])
        label = f"{label} ({runs[0][0]['parameters']:,} parameters)"
        axes.errorbar(DEGREES, tests.mean(1), tests.std(1, ddof=1), fmt="o-", markersize=4, capsize=3, label=label)
    axes.set_xscale("log")
    axes.set_xticks(DEGREES, labels=[str(degree) for degree in DEGREES])
    axes.minorticks_off()
    axes.axhline(50, color="grey", linewidth=0.8, linestyle="--")
    axes.annotate("guessing", (DEGREES[0], 50), textcoords="offset points", xytext=(0, -15), color="grey")
    axes.set_ylim(bottom=45)
    axes.set(xlabel="neighbours per node", ylabel="test accuracy, %")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.4))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    runs = RunStore(ROOT / "results", "quick")
    for degree in DEGREES:
        for model in MODELS:
            for seed in SEEDS:
                if runs.read(NodeCell(model, f"degree-{degree}", table="pairwise"), seed) is None:
                    run(runs, model, degree, seed)
    draw(runs, ROOT / "docs" / "img" / "pairwise.svg")
