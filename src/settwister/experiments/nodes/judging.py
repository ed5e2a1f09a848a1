"""How a search judges settings: by validation nodes alone.

``judged`` trains on one split. ``raced`` trains on several where one has few validation nodes, and gives up what falls
behind earlier trials.
"""

from collections.abc import Sequence
from statistics import median
from typing import Any

import torch
from torch import Tensor

from settwister.errors import DivergedError
from settwister.experiments.nodes.fit import fit
from settwister.experiments.nodes.methods import Method
from settwister.graphs import Graph, Split
from settwister.tasks.streams import permutation
from settwister.training.node_recipe import NodeRecipe
from settwister.training.search import Judge, Settings, Trial

#: epochs after which a training is compared with those before it
STAGES = (50, 100, 200, 400)
#: trials before the first that may be given up
UNHURRIED = 4
#: splits that a trial is judged on, until so many validation nodes were seen; at most so many
ENOUGH_NODES, MOST_SPLITS = 1_500, 3


def judged(method: Method, graph: Graph, split: Split, recipe: NodeRecipe, seed: int) -> Judge:
    """The validation score of one training; None where it diverged."""

    def judge(settings: Settings, earlier: Sequence[Trial]) -> tuple[float | None, dict[str, Any]]:
        found = fit(method, graph, split, settings, recipe, seed)
        return found.validation, {"epochs": found.epochs}

    return _none_where_diverged(judge)


def _none_where_diverged(judge: Judge) -> Judge:
    def judge_or_none(settings: Settings, earlier: Sequence[Trial]) -> tuple[float | None, dict[str, Any]]:
        try:
            return judge(settings, earlier)
        except DivergedError as error:
            return None, {"diverged": str(error)}

    return judge_or_none


def raced(method: Method, graph: Graph, split: Split, recipe: NodeRecipe, seed: int) -> Judge:
    """The mean validation score over splits; None for settings that the first of them shows to be poor.

    They are given up where their best score of the first 50, 100, 200 or 400 epochs, or in the end, is under the
    median of what earlier trials had reached by then.
    """
    splits = resplits(split, seed, telling_nodes(graph.y[split.validation]) if recipe.balanced else None)

    def judge(settings: Settings, earlier: Sequence[Trial]) -> tuple[float | None, dict[str, Any]]:
        reached: dict[str, float] = {}
        behind = False

        def stop(epoch: int, best: float) -> bool:
            nonlocal behind
            if epoch in STAGES:
                reached[str(epoch)] = best
                behind = behind or _is_behind(str(epoch), best, earlier)
            return behind

        first = fit(method, graph, splits[0], settings, recipe, seed, stop=stop)
        facts: dict[str, Any] = {"epochs": [first.epochs], "reached": reached}
        if behind:
            return None, facts
        for stage in (*map(str, STAGES), "end"):  # one that ended before a stage had reached its best by then
            reached.setdefault(stage, first.validation)
        if _is_behind("end", first.validation, earlier):
            return None, facts
        scores = [first.validation]
        for number, other in enumerate(splits[1:], 1):
            found = fit(method, graph, other, settings, recipe, seed + number)
            scores.append(found.validation)
            facts["epochs"].append(found.epochs)
        return sum(scores) / len(scores), facts | {"scores": scores}

    return _none_where_diverged(judge)


def _is_behind(stage: str, best: float, earlier: Sequence[Trial]) -> bool:
    known = [trial.facts["reached"][stage] for trial in earlier if stage in trial.facts.get("reached", {})]
    return len(known) >= UNHURRIED and best < median(known)


def telling_nodes(labels: Tensor) -> int:
    """How many nodes a mean of recalls rests on: as if all classes were of the smallest one's size.

    >>> telling_nodes(torch.tensor([0, 0, 0, 0, 0, 1]))
    2
    """
    sizes = labels.unique(return_counts=True)[1]
    return len(sizes) * int(sizes.min())


def resplits(split: Split, seed: int, telling: int | None = None) -> list[Split]:
    """The split, and others of its training and validation nodes in the same shares; test nodes stay what they are.

    Args:
        telling: how many of the validation nodes a score rests on; all where left out.
    """
    both = torch.cat([split.train, split.validation])
    count = min(MOST_SPLITS, -(-ENOUGH_NODES // (telling or len(split.validation))))
    found = [split]
    for number in range(1, count):
        shuffled = both[permutation(len(both), seed, "resplit", number)]
        train, validation = shuffled[: len(split.train)], shuffled[len(split.train) :]
        found.append(Split(train.sort().values, validation.sort().values, split.test))
    return found
