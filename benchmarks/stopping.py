"""Which epoch to keep where a rare class has few validation nodes: that of the best score, or of the lowest loss.

    SETTWISTER_DATA=... python benchmarks/stopping.py [first part] [parts]

Friendster's training and validation nodes alone, dealt anew into those to learn from, to choose by and to judge by, as
often as asked (four parts, from 0): the graph's test nodes take no part. Set Twister with the library's defaults on
binned features, 160 epochs. Three minutes a part on one core.
"""

import sys
from dataclasses import replace
from statistics import mean
from typing import Any

import torch

from settwister.experiments.nodes.fit import fit, metrics
from settwister.experiments.nodes.methods import METHODS
from settwister.experiments.nodes.protocol import recipe_of, split_of
from settwister.graphs import Split, load
from settwister.tasks.streams import permutation
from settwister.training.node_recipe import AVERAGE, CHOSEN_BY

DEFAULTS: dict[str, Any] = METHODS["set_twister_plus"].defaults | dict(scaling="binned", average=AVERAGE)
DECAYS = (5e-4, 5e-3)
JUDGED = 4_000  # nodes to judge by

if __name__ == "__main__":
    graph = load("friendster")
    split = split_of(graph, 0)
    known = torch.cat([split.train, split.validation])
    first, count = (int(given) for given in (sys.argv[1:] + ["0", "4"][len(sys.argv) - 1 :]))
    print("| weight decay | chosen by | " + " | ".join(f"part {p}" for p in range(first, first + count)) + " | mean |")
    print("|---" * (count + 3) + "|")
    for decay in DECAYS:
        for chosen_by in CHOSEN_BY:
            scores = []
            for part in range(first, first + count):
                order = known[permutation(len(known), part, "stopping")]
                held = len(split.validation) + JUDGED
                dealt = Split(order[held:], order[JUDGED:held], order[:JUDGED])
                recipe = replace(recipe_of(graph), chosen_by=chosen_by, epochs=160)
                found = fit(
                    METHODS["set_twister_plus"], graph, dealt, DEFAULTS | dict(weight_decay=decay), recipe, part
                )
                scores.append(metrics(found.scores, graph.y, dealt.test)["balanced_accuracy"])
            shown = " | ".join(f"{score:.1f}" for score in (*scores, mean(scores)))
            print(f"| {decay:g} | {chosen_by} | {shown} |", flush=True)
