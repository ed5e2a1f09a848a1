"""The folder of a :class:`~settwister.SetClassifier` or of a :class:`~settwister.SetRegressor`.

    estimator.json          curves; a classifier's classes; the shape of a regressor's answers
    network/                a model of sets, of double precision in a regressor
    scaling.safetensors     mean and deviation of the elements' columns; of the targets too in a regressor

What the folders of all estimators share is in ``folder``.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import save_file

from settwister.errors import InputError
from settwister.estimator import folder as parts
from settwister.estimator import folder_weights as weights
from settwister.estimator import settings
from settwister.nn import DeepSets, SetModel, SetTransformer, SetTwister

KEPT = ("n_features_in_", "curves_", "n_iter_", "best_epoch_")
CURVES = ("train_loss", "validation_loss")
ELEMENTS = ("mean", "scale")
TARGETS = ("target_mean", "target_scale")
NETWORKS: dict[str, type[SetModel]] = {
    "set_twister": SetTwister,
    "deepsets": DeepSets,
    "set_transformer": SetTransformer,
}

# ---- writing --------------------------------------------------------------------------------------------------------


def write(estimator: Any, staging: Path) -> None:
    """Write a fitted estimator into an empty folder."""
    content = parts.described(estimator) | {"fitted": {name: getattr(estimator, name) for name in KEPT}}
    arrays = list(ELEMENTS)
    if hasattr(estimator, "classes_"):
        content["classes"] = parts.classes_to_json(estimator.classes_)
    else:
        content["target_shape"] = list(estimator.target_shape_)
        arrays += TARGETS
    estimator.network_.save_pretrained(staging / "network")
    save_file({name: getattr(estimator, f"{name}_").numpy() for name in arrays}, staging / "scaling.safetensors")
    parts.write_json(staging, content)


# ---- reading --------------------------------------------------------------------------------------------------------


def read_classifier(estimator_type: type[Any], folder: Path) -> Any:
    """The classifier in a folder."""
    found, content, path = _read(estimator_type, folder)
    found.classes_ = parts.read_classes(content.get("classes"), path)
    _set_scaling(found, folder, {})
    found.network_ = _network(found, folder, len(found.classes_), torch.float32)
    return found


def read_regressor(estimator_type: type[Any], folder: Path) -> Any:
    """The regressor in a folder."""
    found, content, path = _read(estimator_type, folder)
    shape = content.get("target_shape")
    if not isinstance(shape, list) or len(shape) > 1 or not all(type(n) is int and n > 0 for n in shape):
        raise InputError(f"{path} has target_shape={parts.shown(shape)}, expected [], or [outputs]")
    outputs = shape[0] if shape else 1
    found.target_shape_ = tuple(shape)
    _set_scaling(found, folder, dict.fromkeys(TARGETS, outputs))
    found.network_ = _network(found, folder, outputs, torch.float64)
    return found


def _read(estimator_type: type[Any], folder: Path) -> tuple[Any, dict[str, Any], Path]:
    """What both have: settings, curves, names of columns."""
    content, path = parts.read_described(estimator_type, folder)
    given = parts.read_parameters(content.get("parameters"), estimator_type, path)
    try:
        settings.of_sets(given)
    except InputError as error:
        raise InputError(f"{path} has a parameter that cannot be: {error}") from None
    found = estimator_type(**given)
    fields = parts.Fields(content.get("fitted"), KEPT, path)
    fields.check_whole("n_features_in_")
    for name, value in (fields.given | {"curves_": fields.check_epochs(CURVES)}).items():
        setattr(found, name, value)
    parts.set_feature_names(found, content.get("feature_names"), path)
    return found, content, path


def _set_scaling(found: Any, folder: Path, targets: dict[str, int]) -> None:
    """Means and deviations, as tensors; a target that never changes has deviation 0, a column has 1."""
    path, width = folder / "scaling.safetensors", found.n_features_in_
    arrays = weights.read_arrays(path)
    right = weights.are_finite(arrays, dict.fromkeys(ELEMENTS, width) | targets)
    if not right or not bool((arrays["scale"] > 0).all()):
        raise InputError(f"{path} does not hold {width} means and positive deviations, expected what save wrote")
    if targets and not bool((arrays["target_scale"] >= 0).all()):
        raise InputError(f"{path} holds a negative deviation of the targets, expected what save wrote")
    for name, values in arrays.items():
        setattr(found, f"{name}_", torch.from_numpy(values))


def _network(found: Any, folder: Path, out_dim: int, dtype: torch.dtype) -> SetModel:
    return weights.read_network(folder / "network", (NETWORKS[found.model],), found.n_features_in_, out_dim, dtype)
