"""Several classifiers on the same tables, nodes and split: a leaderboard."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from settwister._checks import choice
from settwister.estimator import settings
from settwister.estimator.inputs import features
from settwister.estimator.one_hop import OneHopClassifier
from settwister.estimator.table import TableClassifier, TableGraph
from settwister.evaluation import Evaluation, evaluate
from settwister.experiments.nodes.fit import fit
from settwister.experiments.nodes.methods import METHODS
from settwister.graphs import Graph, Split
from settwister.graphs.graph import neighbour_sets
from settwister.report import LeaderboardRow
from settwister.training.node_recipe import AVERAGE, NodeRecipe
from settwister.training.node_trainer import score

#: by name: what people call it
CONTENDERS = {
    "set_twister": "Set Twister",
    "deepsets": "DeepSets",
    "mlp": "MLP, own features only",
    "gradient_boosting": "gradient boosting, own features only",
    "gcn": "GCN",
    "correct_and_smooth": "MLP, corrected and smoothed along edges",
    "label_propagation": "label propagation, no features",
}

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Contender:
    """One of the classifiers, judged twice: by validation nodes, to choose, and by test nodes, to report."""

    name: str
    validation: float
    evaluation: Evaluation
    seconds: float
    classifier: OneHopClassifier | None = None

    def row(self, chosen: bool) -> LeaderboardRow:
        found = self.evaluation
        return LeaderboardRow(
            CONTENDERS[self.name], found.accuracy, found.balanced_accuracy, found.macro_f1, self.seconds, chosen
        )


def compare(
    model: TableClassifier,
    graph: TableGraph,
    split: Split,
    names: Sequence[str] = tuple(CONTENDERS),
    tell: Tell = lambda name, done, total: None,
) -> list[Contender]:
    """Train each classifier with its defaults; the best on validation nodes comes first.

    Args:
        model: says how a classifier is set, and what the classes are called.
        graph, split: what :meth:`TableClassifier.read` gave.
        tell: called before every training with its name, the number done, and how many there are.
    """
    found = []
    _import_all()
    for done, name in enumerate(names):
        tell(choice("model", name, CONTENDERS), done, len(names))
        began = time.perf_counter()
        shares, fitted = _PREDICTED[name](name, model, graph, split)
        seconds = time.perf_counter() - began
        held, test = split.validation.numpy(), split.test.numpy()
        balanced = model.class_weight == "balanced"
        reached = score(
            torch.from_numpy(shares[held].argmax(1)), torch.from_numpy(graph.codes[held]), balanced=balanced
        )
        judged = evaluate(shares[test], graph.codes[test], model.names, graph.degrees[test])
        found.append(Contender(name, reached, judged, seconds, fitted))
    return sorted(found, key=lambda one: -one.validation)


def _import_all() -> None:
    """Have torch import what the first step of an optimiser imports: seconds that no contender should be charged."""
    torch.optim.Adam([torch.zeros(1, requires_grad=True)]).step()


_Predicted = tuple[NDArray[Any], OneHopClassifier | None]


def _one_hop(name: str, model: TableClassifier, graph: TableGraph, split: Split) -> _Predicted:
    fitted = model.trained(graph, split, model=name)
    return fitted.predict_proba(graph.x, graph.sets), fitted


def _method(name: str, model: TableClassifier, graph: TableGraph, split: Split) -> _Predicted:
    """A method of the node table, with as many networks and epochs as ours; edges count both ways, as it needs them."""
    labelled = len(split.train) + len(split.validation)
    given = settings.of_nodes((model.classifier or OneHopClassifier()).get_params(), graph.x.shape[1], labelled)
    balanced = model.class_weight == "balanced"
    sets = graph.sets
    if given["directed"]:
        pairs = torch.stack([sets.index.long(), sets.rows])
        sets = neighbour_sets(pairs, sets.num_sets, weight=sets.weight, loops=given["loops"])
    whole = Graph(features(graph.x), sets, torch.from_numpy(graph.codes), len(model.classes_), balanced=balanced)
    method = replace(METHODS[name], members=given["members"])
    recipe = NodeRecipe(
        balanced=balanced,
        class_weight=_by_class(model),
        epochs=given["max_epochs"],
        patience=given["patience"],
        average=AVERAGE,
    )
    scores = fit(method, whole, split, method.untuned(""), recipe, model.random_state).scores
    # A node that no label reaches has nothing but zeros, which says that all classes are alike.
    scores = torch.where(scores.sum(1, keepdim=True) > 0, scores, 1.0).double()
    return (scores / scores.sum(1, keepdim=True)).numpy(), None


def _by_class(model: TableClassifier) -> tuple[float, ...] | None:
    """The weight of every class, where some were given by name; the others weigh 1."""
    given = model.class_weight
    return tuple(given.get(code, 1.0) for code in range(len(model.classes_))) if isinstance(given, dict) else None


def _boosted(name: str, model: TableClassifier, graph: TableGraph, split: Split) -> _Predicted:
    train = split.train.numpy()
    trees = HistGradientBoostingClassifier(random_state=model.random_state, class_weight=model.class_weight)
    trees.fit(graph.x[train], graph.codes[train])
    shares = np.zeros((len(graph.codes), len(model.classes_)))
    shares[:, trees.classes_] = trees.predict_proba(graph.x)
    return shares, None


_PREDICTED: dict[str, Callable[[str, TableClassifier, TableGraph, Split], _Predicted]] = {
    "set_twister": _one_hop,
    "deepsets": _one_hop,
    "mlp": _one_hop,
    "gradient_boosting": _boosted,
    "gcn": _method,
    "correct_and_smooth": _method,
    "label_propagation": _method,
}
