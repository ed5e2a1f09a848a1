"""Time and memory of an epoch of every method on a graph of ogbn-arxiv's size, made at random.

    python benchmarks/arxiv_sized.py [method ...]

Every method runs in a process of its own, so that its peak memory is its own; what the process needs before it trains
(torch, the graph) is in the second column of memory. Of methods that learn nothing by themselves the time is that of
all they do, once: label propagation, and both steps of correct and smooth. A few minutes on two cores.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import torch

from settwister.experiments.nodes import METHODS
from settwister.experiments.nodes.methods import Method
from settwister.functional.propagation import label_propagation, normalised
from settwister.graphs import Graph, random_split
from settwister.graphs.synthetic import stand_in
from settwister.training.collective import CollectiveRound
from settwister.training.correct_and_smooth import CorrectAndSmooth, Step
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, NodeRun

SIZE = dict(nodes=169_343, edges=1_166_243, features=128, classes=40)
BATCH = 8_192
EPOCHS = 3
ALPHA, STEPS = 0.8, 50
ON_TOP = ["tk_gcn_cl", "correct_and_smooth"]
MINIBATCHED = ("mlp", "deepsets", "set_twister_m2_k2", "set_twister_plus")


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, batch: int | None) -> dict[str, float | int]:
    """Best time of an epoch in seconds, and peak memory before and during it."""
    graph = stand_in(**SIZE)
    train = random_split(graph.labelled, seed=0).train
    labelled = Labelled(train, graph.y[train])
    before = peak_mb()
    step, parameters = prepared(METHODS[name], graph, labelled, batch)
    seconds = []
    for number in range(EPOCHS):
        began = time.perf_counter()
        step(number)
        seconds.append(time.perf_counter() - began)
    return dict(seconds=min(seconds), peak=peak_mb(), before=before, parameters=parameters)


def prepared(
    method: Method, graph: Graph, labelled: Labelled, batch: int | None
) -> tuple[Callable[[int], object], int]:
    """What is to be timed, and how many parameters it learns."""
    if method.build is None:
        along = normalised(graph.neighbours)
        given = labelled.nodes, labelled.labels, graph.num_classes, along, ALPHA, STEPS
        return lambda number: label_propagation(*given), 0
    if method.smoothed:
        base = torch.rand(SIZE["nodes"], graph.num_classes).softmax(-1)
        both = CorrectAndSmooth(Step("DAD", ALPHA), Step("DAD", ALPHA))
        return lambda number: both(base, labelled, graph.neighbours), 0
    settings = {key: value for key, value in (method.defaults | method.fixed("")).items() if key != "rate"}
    extra = graph.num_classes if method.collective else 0
    model = method.build(graph.num_features + extra, graph.num_classes, settings)
    kind = CollectiveRound if method.collective else NodeRun
    recipe = NodeRecipe(batch=batch)
    run = kind(model, graph.x, graph.neighbours, labelled, None, recipe, 0, lambda epoch, note: None)
    return run.epoch, model.num_parameters()


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
