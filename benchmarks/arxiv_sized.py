"""Time and memory of an epoch of every method on a graph of ogbn-arxiv's size, made at random.

    python benchmarks/arxiv_sized.py [method ...]

Every method runs in a process of its own, so that its peak memory is its own; what the process needs before it trains
(torch, the graph) is in the second column of memory. A few minutes on two cores.
"""

import json
import resource
import subprocess
import sys
import time

from settwister.experiments.nodes import METHODS
from settwister.graphs import random_split
from settwister.graphs.synthetic import stand_in
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, NodeRun

SIZE = dict(nodes=169_343, edges=1_166_243, features=128, classes=40)
BATCH = 8_192
EPOCHS = 3


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, batch: int | None) -> dict[str, float | int]:
    """Best time of an epoch in seconds, and peak memory before and during it."""
    graph = stand_in(**SIZE)
    method = METHODS[name]
    assert method.build is not None
    settings = {key: value for key, value in (method.defaults | method.fixed("")).items() if key != "rate"}
    train = random_split(graph.labelled, seed=0).train
    before = peak_mb()
    model = method.build(graph.num_features, graph.num_classes, settings)
    labelled = Labelled(train, graph.y[train])
    run = NodeRun(
        model, graph.x, graph.neighbours, labelled, None, NodeRecipe(batch=batch), 0, lambda epoch, note: None
    )
    seconds = []
    for number in range(EPOCHS):
        began = time.perf_counter()
        run.epoch(number)
        seconds.append(time.perf_counter() - began)
    return dict(seconds=min(seconds), peak=peak_mb(), before=before, parameters=model.num_parameters())


def main(names: list[str]) -> None:
    columns = ["method", "parameters", "batch", "s per epoch", "peak memory, MB", "of it before training, MB"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name in names:
        for batch in (None, BATCH) if "set" in name or name == "mlp" else (None,):
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
        main(sys.argv[1:] or [name for name, method in METHODS.items() if method.build and not method.base])
