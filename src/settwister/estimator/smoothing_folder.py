"""The folder of a :class:`~settwister.CorrectAndSmooth` around a :class:`~settwister.OneHopClassifier`.

    estimator.json          the steps, how many nodes there are, the score, a checksum of the nodes' names in order
    classifier/             the classifier inside, in a folder as it saves itself
    known.safetensors       the nodes whose labels are spread, and their labels' numbers

What the folders of all estimators share is in ``folder``.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file
from sklearn.base import clone

from settwister._checks import probability
from settwister.errors import InputError
from settwister.estimator import folder as parts
from settwister.estimator import folder_weights as weights
from settwister.estimator import one_hop_folder
from settwister.estimator.inputs import order_of
from settwister.estimator.one_hop import OneHopClassifier
from settwister.functional.propagation import NORMALISATIONS
from settwister.training.correct_and_smooth import Step, Steps
from settwister.training.node_trainer import Labelled

KEPT = ("num_nodes_", "validation_score_")


def check(model: Any) -> None:
    """Refuse a model whose classifier has no folder."""
    if type(model.estimator_) is not OneHopClassifier:
        raise InputError(
            f"the classifier inside is a {type(model.estimator_).__name__}, expected a OneHopClassifier: only "
            "that one has a folder, so wrap it, or keep what fit was given and fit again"
        )


def write(model: Any, staging: Path) -> None:
    """Write a fitted model into an empty folder."""
    content = parts.described(model) | {
        "steps": model.steps_.to_json(),
        "fitted": {name: getattr(model, name) for name in KEPT},
    }
    if order := model._order if model._names is None else order_of(model._names):
        content["order"] = order
    del content["feature_names"]  # the classifier inside has them
    (staging / "classifier").mkdir()
    one_hop_folder.write(model.estimator_, staging / "classifier")
    known = {"nodes": model.known_.nodes.numpy(), "labels": model.known_.labels.numpy()}
    save_file(known, staging / "known.safetensors")
    parts.write_json(staging, content)


def read(model_type: type[Any], folder: Path) -> Any:
    """The model in a folder; its parameter ``estimator`` is the classifier inside, not yet fitted."""
    content, path = parts.read_described(model_type, folder)
    given = parts.read_parameters(content.get("parameters"), model_type, path)
    try:
        probability("validation_fraction", given["validation_fraction"])
    except InputError as error:
        raise InputError(f"{path} has a parameter that cannot be: {error}") from None
    fields = parts.Fields(content.get("fitted"), KEPT, path)
    fields.check_whole("num_nodes_")
    score = fields.given["validation_score_"]
    fields.check("validation_score_", parts.finite(score) and 0 <= score <= 1, "a share")
    classifier, _ = one_hop_folder.read(OneHopClassifier, folder / "classifier")
    found = model_type(clone(classifier), **given)
    found.estimator_, found.steps_ = classifier, _steps(content.get("steps"), path)
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if hasattr(classifier, name):
            setattr(found, name, getattr(classifier, name))
    found.num_nodes_, found.validation_score_ = fields.given["num_nodes_"], score
    found.known_ = _known(folder / "known.safetensors", found.num_nodes_, len(found.classes_))
    found._names, found._order = None, _order(content["order"], path) if "order" in content else None
    return found


def _order(given: Any, path: Path) -> str:
    """The checksum of the nodes' names; older folders have none."""
    if not isinstance(given, str) or not re.fullmatch("[0-9a-f]{64}", given):
        raise InputError(f"{path} has order={parts.shown(given)}, expected a checksum of the nodes' names")
    return given


def _steps(given: Any, path: Path) -> Steps:
    if not isinstance(given, dict) or sorted(given) != ["correct", "smooth"]:
        raise InputError(f"{path} has steps={parts.shown(given)}, expected correct and smooth, each of them or null")
    return Steps(**{name: None if one is None else _step(one, path) for name, one in given.items()})


def _step(given: Any, path: Path) -> Step:
    right = isinstance(given, dict) and sorted(given) == ["adjacency", "alpha"]
    right = right and isinstance(given["adjacency"], str) and given["adjacency"] in NORMALISATIONS
    if not right or not parts.finite(given["alpha"]) or not 0 <= given["alpha"] <= 1:
        raise InputError(
            f"{path} has the step {parts.shown(given)}, expected an adjacency of {', '.join(NORMALISATIONS)} and an "
            "alpha from 0 to 1"
        )
    return Step(**given)


def _known(path: Path, nodes: int, classes: int) -> Labelled:
    found = weights.read_arrays(path)
    right = sorted(found) == ["labels", "nodes"] and all(
        one.dtype == np.int64 and one.ndim == 1 and 0 < len(one) == len(found["nodes"]) for one in found.values()
    )
    if not right or not _inside(found["nodes"], nodes) or not _inside(found["labels"], classes):
        raise InputError(f"{path} does not hold nodes below {nodes} and labels below {classes}, one for each")
    if len(np.unique(found["nodes"])) < len(found["nodes"]):
        raise InputError(f"{path} holds a node twice, expected every node once, as save wrote them")
    return Labelled(torch.from_numpy(found["nodes"]), torch.from_numpy(found["labels"]))


def _inside(numbers: Any, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
