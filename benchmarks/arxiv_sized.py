"""Time and memory of an epoch of every method on a graph of ogbn-arxiv's size, made at random.

    python benchmarks/arxiv_sized.py [method ...]

A method is trained for three epochs as it always is: an epoch ends with the score of the validation nodes, and the
training with a prediction for every node. Every method runs in a process of its own, so that its peak memory is its
own; what the process needs before it trains (torch, the graph) is in the second column of memory. Of methods that learn
nothing by themselves the time is that of all they do, once: label propagation, and both steps of correct and smooth.
Some minutes on two cores.
"""

import json
import resource
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from settwister.experiments.nodes import METHODS
from settwister.experiments.nodes.methods import Method
from settwister.functional.propagation import label_propagation, normalised
from settwister.graphs import Graph, random_split
from settwister.graphs.synthetic import stand_in
from settwister.nn.nodes import NodeModel
from settwister.training.collective import CollectiveRound
from settwister.training.correct_and_smooth import Step, Steps
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, NodeRun

SIZE: dict[str, Any] = dict(nodes=169_343, edges=1_166_243, features=128, classes=40)
BATCH = 8_192
EPOCHS = 3
ALPHA, STEPS = 0.8, 50
ON_TOP = ["tk_gcn_cl", "correct_and_smooth"]
MINIBATCHED = ("mlp", "deepsets", "set_twister_m2_k2", "set_twister_plus")


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, batch: int | None) -> dict[str, float | int]:
    """Best time of an epoch in seconds, and peak memory before training and of all of it."""
    graph = stand_in(**SIZE)
    split = random_split(graph.labelled, seed=0)
    train, validation = (Labelled(nodes, graph.y[nodes]) for nodes in (split.train, split.validation))
    before, method, parameters = peak_mb(), METHODS[name], 0
    if method.build is None:
        along = normalised(graph.neighbours)
        given = train.nodes, train.labels, graph.num_classes, along, ALPHA, STEPS
        seconds = timed(lambda: label_propagation(*given))
    elif method.smoothed:
        base = torch.rand(SIZE["nodes"], graph.num_classes).softmax(-1)
        both = Steps(Step("DAD", ALPHA), Step("DAD", ALPHA))
        seconds = timed(lambda: both(base, train, graph.neighbours))
    else:
        model = built(method, graph)
        parameters = model.num_parameters()
        kind = CollectiveRound if method.collective else NodeRun
        moments = [time.perf_counter()]
        recipe = NodeRecipe(epochs=EPOCHS, batch=batch)
        kind(
            *(model, graph.x, graph.neighbours, train, validation, recipe, 0),
            tell=lambda epoch, note: moments.append(time.perf_counter()),
        ).run()
        seconds = min(after - earlier for earlier, after in pairwise(moments))
    return dict(seconds=seconds, peak=peak_mb(), before=before, parameters=parameters)


def built(method: Method, graph: Graph) -> NodeModel:
    """The network of a method with the library's defaults."""
    assert method.build is not None
    settings = {key: value for key, value in method.untuned("").items() if key != "rate"}
    shown = graph.num_classes if method.collective else 0
    return method.build(graph.num_features + shown, graph.num_classes, settings)


def timed(step: Callable[[], object]) -> float:
    """The best time of three, in seconds."""
    return min(timeit.repeat(step, number=1, repeat=EPOCHS))


def main(names: list[str]) -> None:
    columns = ["method", "parameters", "batch", "s per epoch", "peak memory, MB", "of it before training, MB"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name in names:
        for batch in (None, BATCH) if name in MINIBATCHED else (None,):
            asked = [sys.executable, __file__, "--one", name, str(batch or 0)]
            found = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
            size = "all" if batch is None else f"{batch:,}"
            print(
                f"| {name} | {found['parameters']:,} | {size} | {found['seconds']:.2f} | {found['peak']:,.0f} | "
                f"{found['before']:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]) or None)))
    else:
        main(
            sys.argv[1:] or [name for name, method in METHODS.items() if not method.base and not method.pooled] + ON_TOP
        )
