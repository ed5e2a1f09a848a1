"""What the folders of all estimators share, and no code among it.

    estimator.json      format, the estimator's name and parameters, what was found in training, checksums of all files
    network/            config.json and model.safetensors, as every model is saved
    *.safetensors       arrays, such as means and deviations of columns

A folder may come from anybody: what is read is checked, and nothing in it is run. Here is the JSON; arrays and networks
are in ``folder_weights``, checksums in ``folder_seal``; which of all this an estimator has is in ``one_hop_folder``,
``sets_folder``, ``smoothing_folder`` and ``table_folder``.
"""

import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from settwister._version import __version__
from settwister.errors import InputError
from settwister.estimator import folder_seal
from settwister.estimator.settings import plain

FORMAT = 1
MARKER = "estimator.json"
_NETWORK = ("network/config.json", "network/model.safetensors")
_FILES = (MARKER, *_NETWORK, "scaling.safetensors", "known.safetensors", "encoder.skops", "report.html")
#: what the folders of all estimators hold, or some of it
OURS = (*_FILES, *(f"classifier/{file}" for file in _FILES))
LARGEST_JSON = 2**26  # bytes; the curves of a million epochs are smaller
CLASS_TYPES = {"i": int, "u": int, "f": float, "b": bool, "U": str}

# ---- writing --------------------------------------------------------------------------------------------------------


def described(estimator: Any) -> dict[str, Any]:
    """The entries of estimator.json that every estimator has."""
    names = _plain_parameters(type(estimator))
    parameters = {name: plain(getattr(estimator, name)) for name in names}
    if type(parameters["random_state"]) is not int:
        parameters["random_state"] = None  # a generator's state is no setting
    return {
        "format": FORMAT,
        "settwister": __version__,
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "feature_names": getattr(estimator, "feature_names_in_", np.array([])).tolist(),
    }


def _plain_parameters(estimator_type: type[Any]) -> list[str]:
    """All but the estimator inside, which has a folder of its own."""
    return [name for name in estimator_type._get_param_names() if name != "estimator"]


def write_json(folder: Path, content: Mapping[str, Any]) -> None:
    """Write estimator.json, with checksums of the files that are there: so after them."""
    plainly = json.loads(json.dumps(_without_nan(content), allow_nan=False))
    text = json.dumps(folder_seal.sealed(folder, MARKER, plainly), indent=1)
    (folder / MARKER).write_text(text + "\n", encoding="utf-8")


def _without_nan(value: Any) -> Any:
    """JSON has no NaN: a score that does not exist is null."""
    if isinstance(value, Mapping):
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


def read_described(estimator_type: type[Any], folder: Path) -> tuple[dict[str, Any], Path]:
    """What estimator.json says of an estimator of this type and format, and the file's path for messages."""
    path = folder / MARKER
    content = read_json(path)
    if type(content.get("format")) is not int or content["format"] != FORMAT:
        raise InputError(
            f"{path} has format {shown(content.get('format'))}, expected {FORMAT}: this is settwister {__version__}, "
            f"the folder was written by {shown(content.get('settwister'))}"
        )
    if content.get("estimator") != estimator_type.__name__:
        raise InputError(f"{path} holds a {shown(content.get('estimator'))}, expected a {estimator_type.__name__}")
    folder_seal.check(folder, MARKER, content)
    return content, path


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object, of bounded size and without NaN."""
    if not path.is_file():
        raise InputError(f"{path} is missing, expected a folder that save wrote")
    if path.stat().st_size > LARGEST_JSON:
        raise InputError(f"{path} has {path.stat().st_size} bytes, expected at most {LARGEST_JSON}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{path} is not valid JSON ({error}): save the estimator again") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}, expected an object")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no number")


def read_parameters(
    given: Any, estimator_type: type[Any], path: Path, added: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """An estimator's parameters by name; of their values random_state alone is checked, the others are settings.

    Args:
        added: parameters that came later, with what a folder written before them means.
    """
    known = _plain_parameters(estimator_type)
    given = {**(added or {}), **given} if isinstance(given, dict) else given
    if not isinstance(given, dict) or sorted(given) != known:
        odd = sorted(set(given) ^ set(known)) if isinstance(given, dict) else ["none at all"]
        raise InputError(f"{path} has other parameters than {estimator_type.__name__} ({shown(', '.join(odd))})")
    state = given["random_state"]
    if state is not None and (type(state) is not int or not 0 <= state < 2**32):
        raise InputError(f"{path} has random_state={shown(state)}, expected a whole number or null")
    return dict(given)


def read_classes(given: Any, path: Path) -> NDArray[Any]:
    """Classes of one type, sorted, as :func:`classes_to_json` wrote them."""
    classes = classes_from_json(given, path)
    if not np.array_equal(classes, np.unique(classes)):
        raise InputError(f"{path} lists classes out of order, expected them sorted, as save wrote them")
    return classes


def classes_from_json(given: Any, path: Path) -> NDArray[Any]:
    kinds = {kind.__name__: kind for kind in CLASS_TYPES.values()}
    if not isinstance(given, dict) or sorted(given) != ["type", "values"]:
        raise InputError(f"{path} does not list its classes, expected what save wrote")
    values, kind = given["values"], kinds.get(given["type"]) if isinstance(given["type"], str) else None
    if kind is None or not isinstance(values, list):
        raise InputError(f"{path} lists classes of type {shown(given['type'])}, expected one of {', '.join(kinds)}")
    if len(values) < 2 or not all(type(value) is kind for value in values):
        raise InputError(f"{path} lists classes that are not two or more of type {kind.__name__}")
    found = np.array(values)
    # Whole numbers that do not fit are given another type.
    if CLASS_TYPES.get(found.dtype.kind) is not kind or len(np.unique(found)) < len(found):
        raise InputError(f"{path} lists classes that are out of range or listed twice, expected what save wrote")
    return found


def set_feature_names(estimator: Any, names: Any, path: Path) -> None:
    """Name the columns of an estimator whose ``n_features_in_`` is set, if the folder names any."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path} has feature_names={shown(names)}, expected a list of strings")
    if not names:
        return
    wanted = estimator.n_features_in_
    if len(set(names)) != wanted or len(names) != wanted:
        raise InputError(f"{path} has {len(names)} feature names, expected {wanted}, all different")
    estimator.feature_names_in_ = np.array(names, dtype=object)


class Fields:
    """The fields of one object in estimator.json, each looked at by name.

    Args:
        given: what stands there; names: what has to; path: of the file, for messages.
    """

    def __init__(self, given: Any, names: Sequence[str], path: Path) -> None:
        if not isinstance(given, dict) or sorted(given) != sorted(names):
            raise InputError(f"{path} does not say what was found in training, expected {', '.join(names)}")
        self.given: dict[str, Any] = given
        self.path = path

    def check(self, name: str, right: bool, expected: str) -> None:
        if not right:
            raise InputError(f"{self.path} has {name}={shown(self.given[name])}, expected {expected}")

    def check_whole(self, *names: str) -> None:
        for name in names:
            self.check(name, type(self.given[name]) is int and self.given[name] > 0, "a whole number above 0")

    def check_epochs(self, losses: Sequence[str]) -> dict[str, list[float]]:
        """The curves of so many epochs, NaN where they are null; all but the first may be empty."""
        self.check_whole("n_iter_", "best_epoch_")
        curves, epochs = self.given["curves_"], self.given["n_iter_"]
        right = isinstance(curves, dict) and sorted(curves) == sorted(losses)
        right = right and all(
            isinstance(one, list) and all(value is None or finite(value) for value in one) for one in curves.values()
        )
        self.check("curves_", right, f"lists of numbers: {', '.join(losses)}")
        first, *others = (len(curves[name]) for name in losses)
        self.check("n_iter_", epochs == first, f"{first}, as there are losses")
        self.check("curves_", others in ([0] * len(others), [epochs] * len(others)), "a value per epoch, or none")
        self.check("best_epoch_", self.given["best_epoch_"] <= epochs, f"at most {epochs}")
        return {name: [math.nan if value is None else value for value in one] for name, one in curves.items()}


def finite(value: Any) -> bool:
    """Whether a value of a JSON file is a number of Python's floats, and no infinite one."""
    return type(value) is float and math.isfinite(value)


def shown(value: Any) -> str:
    """A value of a JSON file, cut to what fits a sentence."""
    return reprlib.repr(value)
