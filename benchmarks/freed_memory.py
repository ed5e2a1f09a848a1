"""What it gives that commands which train keep freed memory, and what it costs: time of an epoch and peak memory.

    python benchmarks/freed_memory.py

Graphs of the sizes of PubMed and Friendster, made at random; width 256, or 8 heads of 32. Each in processes of its own,
with and without in turn, the best of three. A few minutes on two cores.
"""

import json
import resource
import subprocess
import sys
import time

from settwister.bench.nodes import SIZES
from settwister.cli.memory import keep_freed_memory
from settwister.experiments.nodes import METHODS
from settwister.graphs import random_split
from settwister.graphs.synthetic import stand_in
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, NodeRun

GRAPHS = ("pubmed", "friendster")
SETTINGS = {
    "set_twister_plus": dict(layers=1, width=256),
    "gcn": dict(layers=2, width=256),
    "gat": dict(layers=2, width=32),
}
EPOCHS, TURNS = 6, 3


def measure(name: str, graph_name: str, keep: bool) -> tuple[float, float]:
    """The best time of an epoch in seconds, and the peak memory of this process in MB."""
    if keep:
        keep_freed_memory()
    nodes, edges, features, classes, density = SIZES[graph_name]
    graph = stand_in(nodes, edges, features, classes, density)
    build = METHODS[name].build
    assert build is not None
    model = build(features, classes, SETTINGS[name])
    train = random_split(graph.labelled, seed=0).train
    labelled = Labelled(train, graph.y[train])
    run = NodeRun(model, graph.x, graph.neighbours, labelled, None, NodeRecipe(), 0, lambda epoch, note: None)
    seconds = []
    for _ in range(EPOCHS):
        began = time.perf_counter()
        run.epoch()
        seconds.append(time.perf_counter() - began)
    return min(seconds), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    print("| method | graph | times faster | s, kept | s, handed back | peak MB, kept | peak MB, handed back |")
    print("|---" * 7 + "|")
    for graph in GRAPHS:
        for name in SETTINGS:
            found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
            for _ in range(TURNS):
                for keep, runs in found.items():
                    asked = [sys.executable, __file__, name, graph, str(int(keep))]
                    runs.append(json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout))
            (ours, peak), (other, other_peak) = (min(found[keep]) for keep in (True, False))
            print(
                f"| {name} | {graph}-sized | {other / ours:.2f} | {ours:.3f} | {other:.3f} | {peak:,.0f} | "
                f"{other_peak:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1], sys.argv[2], keep=sys.argv[3] == "1")))
    else:
        main()
