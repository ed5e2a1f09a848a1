"""What an estimator's settings may be, looked at once, when it is fitted or opened."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from settwister._checks import choice, flag, probability, whole_number
from settwister.errors import InputError
from settwister.nn.nodes.averaged import MOST
from settwister.nn.set_model import POOLS

NODE_MODELS = ("set_twister", "deepsets", "mlp")
SET_MODELS = ("set_twister", "deepsets", "set_transformer")
LOSSES = ("squared", "absolute")
HEADS = 4  # of a set transformer's attention
#: what "auto" stands for: of many features, as in bags of words, most can be spared; of few, each tells more
MANY_FEATURES = 256
MANY: dict[str, Any] = dict(width=256, dropout=0.5)
FEW: dict[str, Any] = dict(width=64, dropout=0.3)
LABELS_PER_FEATURE = 2
MANY_LABELS = 50_000
LARGEST = sys.float_info.max


def of_nodes(given: Mapping[str, Any], features: int, labelled: int) -> dict[str, Any]:
    """A :class:`~settwister.OneHopClassifier`'s settings for so many features and known labels, as plain Python."""
    many, few = features >= MANY_FEATURES, few_labels(features, labelled)
    auto, M = MANY if many else FEW, plain(given["M"])
    auto = auto | {
        "input_dropout": 0.5 if many and few else 0.2,
        "head_layers": 0 if few else plain(given["layers"]),
        "members": 1 if few or labelled > MANY_LABELS else 3,
    }
    if isinstance(M, int) and M > 0:  # the branches share the width
        auto = auto | {"width": max(M, auto["width"] // M * M)}
    found = _common(
        {name: auto.get(name, value) if _is_auto(value) else value for name, value in given.items()}, NODE_MODELS
    )
    whole_number("layers", found["layers"])
    whole_number("head_layers", found["head_layers"], least=0)
    whole_number("members", found["members"], most=MOST)
    if found["batch_size"] is not None:
        whole_number("batch_size", found["batch_size"])
    probability("input_dropout", found["input_dropout"])
    for name in ("layer_norm", "residual", "directed", "loops", "calibrate"):
        flag(name, found[name])
    choice("scale", found["scale"], ("auto", "binned", True, False))
    _class_weight(found["class_weight"])
    return found


def few_labels(features: int, labelled: int) -> bool:
    """Whether there are so few known labels for each feature that "auto" makes no more of it than it has to."""
    return labelled < LABELS_PER_FEATURE * features


def of_sets(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a :class:`~settwister.SetClassifier` or :class:`~settwister.SetRegressor`, as plain Python."""
    found = _common(given, SET_MODELS)
    whole_number("batch_size", found["batch_size"])
    if found["model"] == "set_transformer" and found["width"] % HEADS:
        raise InputError(
            f"width is {found['width']}, expected a multiple of {HEADS}: a set transformer's heads share it"
        )
    if "loss" in found:
        choice("loss", found["loss"], LOSSES)
    return found


def plain(value: Any) -> Any:
    """A number of NumPy, as searches over settings give them, as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _common(given: Mapping[str, Any], models: tuple[str, ...]) -> dict[str, Any]:
    found = {name: plain(value) for name, value in given.items()}
    choice("model", found["model"], models)
    choice("pool", found["pool"], POOLS)
    for name in ("width", "M", "k", "max_epochs", "patience"):
        whole_number(name, found[name])
    if found["model"] == "set_twister" and found["width"] % found["M"]:
        raise InputError(f"width is {found['width']}, expected a multiple of M={found['M']}")
    for name in ("dropout", "validation_fraction"):
        probability(name, found[name])
    _number("learning_rate", found["learning_rate"], positive=True)
    _number("weight_decay", found["weight_decay"])
    whole_number("verbose", int(found["verbose"]) if isinstance(found["verbose"], bool) else found["verbose"], least=0)
    return found


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _number(name: str, value: Any, *, positive: bool = False) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= LARGEST or (positive and value == 0):
        raise InputError(f"{name} is {value!r}, expected a number {'above 0' if positive else 'of at least 0'}")


def _class_weight(given: Any) -> None:
    if not isinstance(given, dict):
        choice("class_weight", given, (None, "balanced"))
        return
    for name, weight in given.items():
        _number(f"class_weight[{name!r}]", plain(weight), positive=True)
