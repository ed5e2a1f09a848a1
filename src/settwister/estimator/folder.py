"""The classifier folder: a network's folder, what surrounds it as JSON, and no code.

    estimator.json          format, parameters, classes, temperature, scores, curves
    network/                config.json and model.safetensors, as every model is saved
    scaling.safetensors     mean and deviation of the columns, where they are standardised

A folder may come from anybody: what is read is checked, and nothing in it is run.
"""

import json
import math
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from settwister._version import __version__
from settwister.errors import InputError
from settwister.estimator import settings
from settwister.nn import nodes
from settwister.nn import storage as networks

FORMAT = 1
LARGEST_JSON = 2**26  # bytes; the curves of a million epochs are smaller
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
CURVES = ("train_loss", "validation_loss", "validation_score")
CLASS_TYPES = {"i": int, "u": int, "f": float, "b": bool, "U": str}
#: parameters that came later, with what a folder written before them means
ADDED: dict[str, Any] = {}
NETWORKS: dict[str, type[nodes.NodeModel]] = {
    "set_twister": nodes.OneHopSetTwister,
    "deepsets": nodes.OneHopDeepSets,
    "mlp": nodes.NodeMLP,
}

# ---- writing --------------------------------------------------------------------------------------------------------


def write(estimator: Any, staging: Path, more: dict[str, Any] | None = None) -> None:
    """Write a fitted classifier into an empty folder.

    Args:
        more: further entries of estimator.json, for whoever reads them.
    """
    parameters = {name: settings.plain(value) for name, value in estimator.get_params(deep=False).items()}
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator's state is no setting
    if isinstance(parameters["class_weight"], dict):
        weight = parameters["class_weight"]
        parameters["class_weight"] = [float(weight.get(name, 1.0)) for name in estimator.classes_.tolist()]
    content = {
        "format": FORMAT,
        "settwister": __version__,
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "classes": classes_to_json(estimator.classes_),
        "feature_names": getattr(estimator, "feature_names_in_", np.array([])).tolist(),
        "scaled": estimator.mean_ is not None,
        "fitted": {name: getattr(estimator, name) for name in KEPT},
    }
    text = json.dumps(_without_nan(content | (more or {})), indent=1, allow_nan=False)
    (staging / "estimator.json").write_text(text + "\n", encoding="utf-8")
    estimator.network_.save_pretrained(staging / "network")
    if estimator.mean_ is not None:
        save_file({"mean": estimator.mean_, "scale": estimator.scale_}, staging / "scaling.safetensors")


def _without_nan(value: Any) -> Any:
    """JSON has no NaN: a score that does not exist is null."""
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def classes_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    kind = classes.dtype.kind
    if kind not in CLASS_TYPES:
        raise InputError(
            f"classes are {classes.dtype}, expected numbers, strings or booleans: name them by one of these"
        )
    return {"type": CLASS_TYPES[kind].__name__, "values": classes.tolist()}


# ---- reading --------------------------------------------------------------------------------------------------------


def read(estimator_type: type[Any], folder: Path) -> tuple[Any, dict[str, Any]]:
    """The classifier in a folder, and all that its JSON says."""
    path = folder / "estimator.json"
    content = read_json(path)
    if type(content.get("format")) is not int or content["format"] != FORMAT:
        raise InputError(
            f"{path} has format {_shown(content.get('format'))}, expected {FORMAT}: this is settwister {__version__}, "
            f"the folder was written by {_shown(content.get('settwister'))}"
        )
    if content.get("estimator") != estimator_type.__name__:
        raise InputError(f"{path} holds a {_shown(content.get('estimator'))}, expected a {estimator_type.__name__}")
    classes = classes_from_json(content.get("classes"), path)
    if not np.array_equal(classes, np.unique(classes)):
        raise InputError(f"{path} lists classes out of order, expected them sorted, as save wrote them")
    found = estimator_type(**_parameters(content.get("parameters"), estimator_type, classes, path))
    found.classes_ = classes
    for name, value in _fitted(content.get("fitted"), path).items():
        setattr(found, name, value)
    names = content.get("feature_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path} has feature_names={_shown(names)}, expected a list of strings")
    if names:
        if len(set(names)) != found.n_features_in_ or len(names) != found.n_features_in_:
            raise InputError(f"{path} has {len(names)} feature names, expected {found.n_features_in_}, all different")
        found.feature_names_in_ = np.array(names, dtype=object)
    if not isinstance(content.get("scaled"), bool):
        raise InputError(f"{path} has scaled={_shown(content.get('scaled'))}, expected true or false")
    found.mean_, found.scale_ = None, None
    if content["scaled"]:
        found.mean_, found.scale_ = _read_scaling(folder / "scaling.safetensors", found.n_features_in_)
    found.network_ = _read_network(folder / "network", found)
    return found, content


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object, of bounded size and without NaN."""
    if not path.is_file():
        raise InputError(f"{path} is missing, expected a folder that save wrote")
    if path.stat().st_size > LARGEST_JSON:
        raise InputError(f"{path} has {path.stat().st_size} bytes, expected at most {LARGEST_JSON}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{path} is not valid JSON ({error}): save the classifier again") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}, expected an object")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no number")


def classes_from_json(given: Any, path: Path) -> NDArray[Any]:
    kinds = {kind.__name__: kind for kind in CLASS_TYPES.values()}
    if not isinstance(given, dict) or sorted(given) != ["type", "values"]:
        raise InputError(f"{path} does not list its classes, expected what save wrote")
    values, kind = given["values"], kinds.get(given["type"]) if isinstance(given["type"], str) else None
    if kind is None or not isinstance(values, list):
        raise InputError(f"{path} lists classes of type {_shown(given['type'])}, expected one of {', '.join(kinds)}")
    if len(values) < 2 or not all(type(value) is kind for value in values):
        raise InputError(f"{path} lists classes that are not two or more of type {kind.__name__}")
    found = np.array(values)
    # Whole numbers that do not fit are given another type.
    if CLASS_TYPES.get(found.dtype.kind) is not kind or len(np.unique(found)) < len(found):
        raise InputError(f"{path} lists classes that are out of range or listed twice, expected what save wrote")
    return found


def _parameters(given: Any, estimator_type: type[Any], classes: NDArray[Any], path: Path) -> dict[str, Any]:
    known = estimator_type._get_param_names()
    given = ADDED | given if isinstance(given, dict) else given
    if not isinstance(given, dict) or sorted(given) != sorted(known):
        odd = sorted(set(given) ^ set(known)) if isinstance(given, dict) else ["none at all"]
        raise InputError(f"{path} has other parameters than {estimator_type.__name__} ({_shown(', '.join(odd))})")
    found, weight = dict(given), given["class_weight"]
    if isinstance(weight, dict) or (isinstance(weight, list) and len(weight) != len(classes)):
        raise InputError(f"{path} has class_weight={_shown(weight)}, expected a list of {len(classes)} numbers")
    if isinstance(weight, list):
        found["class_weight"] = dict(zip(classes.tolist(), weight, strict=True))
    state = found["random_state"]
    if state is not None and (type(state) is not int or not 0 <= state < 2**32):
        raise InputError(f"{path} has random_state={_shown(state)}, expected a whole number or null")
    try:
        settings.of_nodes(found, features=1)
    except InputError as error:
        raise InputError(f"{path} has a parameter that cannot be: {error}") from None
    return found


def _fitted(given: Any, path: Path) -> dict[str, Any]:
    if not isinstance(given, dict) or sorted(given) != sorted(KEPT):
        raise InputError(f"{path} does not say what was found in training, expected {', '.join(KEPT)}")

    def check(name: str, right: bool, expected: str) -> None:
        if not right:
            raise InputError(f"{path} has {name}={_shown(given[name])}, expected {expected}")

    for name in ("n_features_in_", "n_iter_", "best_epoch_"):
        check(name, type(given[name]) is int and given[name] > 0, "a whole number above 0")
    check("saw_edges_", type(given["saw_edges_"]) is bool, "true or false")
    check("temperature_", _finite(given["temperature_"]) and given["temperature_"] > 0, "a positive number")
    score, errors, curves = given["validation_score_"], given["calibration_error_"], given["curves_"]
    check("validation_score_", score is None or (_finite(score) and 0 <= score <= 1), "a share or null")
    right = isinstance(errors, dict) and sorted(errors) in ([], ["after", "before"])
    check("calibration_error_", right and all(map(_finite, errors.values())), "two numbers, before and after, or none")
    right = isinstance(curves, dict) and sorted(curves) == sorted(CURVES)
    right = right and all(
        isinstance(one, list) and all(v is None or _finite(v) for v in one) for one in curves.values()
    )
    check("curves_", right, f"lists of numbers: {', '.join(CURVES)}")
    check("n_iter_", given["n_iter_"] == len(curves["train_loss"]), f"{len(curves['train_loss'])}, as there are losses")
    lengths = [len(curves[name]) for name in CURVES[1:]]
    check("curves_", lengths in ([0, 0], [given["n_iter_"]] * 2), "a value per epoch, or none")
    check("best_epoch_", given["best_epoch_"] <= given["n_iter_"], f"at most {given['n_iter_']}")
    with_nan = {name: [math.nan if value is None else value for value in one] for name, one in curves.items()}
    return given | {"validation_score_": math.nan if score is None else score, "curves_": with_nan}


def _finite(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _read_network(folder: Path, classifier: Any) -> nodes.NodeModel:
    expected = NETWORKS[classifier.model]
    network = networks.load({expected.__name__: expected}, folder)
    assert isinstance(network, nodes.NodeModel)
    if (network.in_dim, network.out_dim) != (classifier.n_features_in_, len(classifier.classes_)):
        raise InputError(
            f"{folder} is from {network.in_dim} features to {network.out_dim} classes, expected "
            f"{classifier.n_features_in_} and {len(classifier.classes_)} by estimator.json"
        )
    weights = network.state_dict().values()
    if not all(value.dtype == torch.float32 and bool(value.isfinite().all()) for value in weights):
        raise InputError(f"{folder / 'model.safetensors'} holds other weights than finite ones of single precision")
    return network


def _read_scaling(path: Path, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not path.is_file():
        raise InputError(f"{path} is missing, expected it beside estimator.json")
    try:
        found = load_file(path)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a readable safetensors file ({error}): save or copy it again") from error
    right = sorted(found) == ["mean", "scale"] and all(
        array.shape == (width,) and array.dtype == np.float64 and bool(np.isfinite(array).all())
        for array in found.values()
    )
    if not right or not bool((found["scale"] > 0).all()):
        raise InputError(f"{path} does not hold {width} means and positive deviations, expected what save wrote")
    return found["mean"], found["scale"]


def _shown(value: Any) -> str:
    return reprlib.repr(value)
