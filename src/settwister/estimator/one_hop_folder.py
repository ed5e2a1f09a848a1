"""The folder of a :class:`~settwister.OneHopClassifier`.

    estimator.json          classes, temperature, scores, curves
    network/                a model of nodes
    scaling.safetensors     mean and deviation of the columns, or their thresholds, where features are scaled

What the folders of all estimators share is in ``folder``.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file

from settwister.errors import InputError
from settwister.estimator import folder as parts
from settwister.estimator import folder_weights as weights
from settwister.estimator import settings
from settwister.estimator.scaling import Binned, Scaling, Standardised, Unscaled
from settwister.nn import nodes

#: what is kept of a fitted classifier beside its network and scaling
KEPT = (
    "n_features_in_",
    "saw_edges_",
    "temperature_",
    "validation_score_",
    "calibration_error_",
    "curves_",
    "n_iter_",
    "best_epoch_",
)
SCALING = "scaling.safetensors"
CURVES = ("train_loss", "validation_loss", "validation_score")
NETWORKS: dict[str, type[nodes.NodeModel]] = {
    "set_twister": nodes.OneHopSetTwister,
    "deepsets": nodes.OneHopDeepSets,
    "mlp": nodes.NodeMLP,
}

# ---- writing --------------------------------------------------------------------------------------------------------


def write(estimator: Any, staging: Path, more: dict[str, Any] | None = None) -> None:
    """Write a fitted classifier into a folder, where other files that belong to it may be already.

    Args:
        more: further entries of estimator.json, for whoever reads them.
    """
    content = parts.described(estimator)
    weight = content["parameters"]["class_weight"]
    if isinstance(weight, dict):
        listed = [float(weight.get(name, 1.0)) for name in estimator.classes_.tolist()]
        content["parameters"]["class_weight"] = listed
    content |= {
        "classes": parts.classes_to_json(estimator.classes_),
        "scaled": bool(estimator.scaling_.arrays()),
        "fitted": {name: getattr(estimator, name) for name in KEPT},
    }
    estimator.network_.save_pretrained(staging / "network")
    if arrays := estimator.scaling_.arrays():
        save_file(arrays, staging / SCALING)
    parts.write_json(staging, content | (more or {}))


# ---- reading --------------------------------------------------------------------------------------------------------


def read(estimator_type: type[Any], folder: Path) -> tuple[Any, dict[str, Any]]:
    """The classifier in a folder, and all that its JSON says."""
    content, path = parts.read_described(estimator_type, folder)
    classes = parts.read_classes(content.get("classes"), path)
    found = estimator_type(**_parameters(content.get("parameters"), estimator_type, classes, path))
    found.classes_ = classes
    for name, value in _fitted(content.get("fitted"), path).items():
        setattr(found, name, value)
    parts.set_feature_names(found, content.get("feature_names"), path)
    if not isinstance(content.get("scaled"), bool):
        raise InputError(f"{path} has scaled={parts.shown(content.get('scaled'))}, expected true or false")
    found.scaling_ = _read_scaling(folder / SCALING, found.n_features_in_) if content["scaled"] else Unscaled()
    width = found.scaling_.width(found.n_features_in_)
    found.network_ = weights.read_network(
        folder / "network", (NETWORKS[found.model], nodes.Averaged), width, len(classes)
    )
    if isinstance(found.network_, nodes.Averaged) and found.network_.config["of"] != NETWORKS[found.model].__name__:
        raise InputError(f"{folder / 'network'} averages other networks than the {found.model} of {path}")
    return found, content


def _parameters(given: Any, estimator_type: type[Any], classes: NDArray[Any], path: Path) -> dict[str, Any]:
    # Folders from before these were parameters have one network, with as many layers behind the sum as before it.
    before = {"head_layers": given.get("layers"), "members": 1} if isinstance(given, dict) else {}
    found = parts.read_parameters(given, estimator_type, path, before)
    weight = found["class_weight"]
    if isinstance(weight, dict) or (isinstance(weight, list) and len(weight) != len(classes)):
        raise InputError(f"{path} has class_weight={parts.shown(weight)}, expected a list of {len(classes)} numbers")
    if isinstance(weight, list):
        found["class_weight"] = dict(zip(classes.tolist(), weight, strict=True))
    try:
        settings.of_nodes(found, features=1, labelled=1)
    except InputError as error:
        raise InputError(f"{path} has a parameter that cannot be: {error}") from None
    return found


def _fitted(given: Any, path: Path) -> dict[str, Any]:
    fields = parts.Fields(given, KEPT, path)
    fields.check_whole("n_features_in_")
    fields.check("saw_edges_", type(given["saw_edges_"]) is bool, "true or false")
    warm = parts.finite(given["temperature_"]) and given["temperature_"] > 0
    fields.check("temperature_", warm, "a positive number")
    score, errors = given["validation_score_"], given["calibration_error_"]
    fields.check("validation_score_", score is None or (parts.finite(score) and 0 <= score <= 1), "a share or null")
    right = isinstance(errors, dict) and sorted(errors) in ([], ["after", "before"])
    right = right and all(map(parts.finite, errors.values()))
    fields.check("calibration_error_", right, "two numbers, before and after, or none")
    curves = fields.check_epochs(CURVES)
    return fields.given | {"validation_score_": math.nan if score is None else score, "curves_": curves}


def _read_scaling(path: Path, width: int) -> Scaling:
    """The scaling whose arrays are in a file."""
    found = weights.read_arrays(path)
    if sorted(found) == ["thresholds"]:
        return Binned(torch.from_numpy(_thresholds(found["thresholds"], width, path)))
    if not weights.are_finite(found, {"mean": width, "scale": width}) or not bool((found["scale"] > 0).all()):
        raise InputError(f"{path} does not hold {width} means and positive deviations, expected what save wrote")
    return Standardised(found["mean"], found["scale"])


def _thresholds(given: NDArray[Any], width: int, path: Path) -> NDArray[np.float64]:
    """Rising ones of every column; infinite where there is no question."""
    right = given.ndim == 2 and given.shape[1] == width and given.dtype == np.float64
    right = right and not bool((np.isnan(given) | (given == -np.inf)).any())
    asked = np.where(np.isfinite(given), given, -np.inf) if right else given
    if not right or bool((np.maximum.accumulate(asked, axis=0) > given).any()):
        raise InputError(f"{path} does not hold rising thresholds of {width} columns, expected what save wrote")
    return given
