"""Whether a run file has what the tables read of it: it may have been cut short, or changed by hand."""

from typing import Any

#: tables of estimators: their runs do not say how they were trained
UNTOLD = ("estimator",)
#: tables whose scores are in percent
IN_PERCENT = ("nodes",)
#: what runs are scored by beside the headline number, where they are
METRICS = {"accuracy", "balanced_accuracy", "macro_f1"}
#: nothing that is measured is beyond it, and sums of such numbers are finite
LARGEST = 1e100


def is_whole(content: dict[str, Any], table: str) -> bool:
    """Whether what a table reads of a run is what it should be.

    Raises:
        KeyError, TypeError: where something is not there.
    """
    found = [
        _is_number(content["test"], *((0, 100) if table in IN_PERCENT else (-LARGEST, LARGEST))),
        _is_count(content["seed"]),
        _is_count(content.get("trials", 0)),
        _are_settings(content.get("settings", {})),
        "test_metrics" not in content or _are_metrics(content["test_metrics"]),
        _are_curves(content.get("curves", {})),
    ]
    if table not in UNTOLD:
        epochs = content.get("epochs", content["recipe"]["epochs"])
        found += [_is_count(epochs), _is_count(content["parameters"]), _is_number(content["seconds_per_epoch"], 0)]
    return all(found)


def _is_number(value: Any, least: float = -LARGEST, most: float = LARGEST) -> bool:
    return type(value) in (int, float) and least <= value <= most


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _are_settings(given: Any) -> bool:
    return isinstance(given, dict) and all(isinstance(value, str | int | float | None) for value in given.values())


def _are_metrics(given: Any) -> bool:
    return (
        isinstance(given, dict) and given.keys() == METRICS and all(_is_number(one, 0, 100) for one in given.values())
    )


def _are_curves(given: Any) -> bool:
    """Values by epoch; those that are not finite are not drawn."""
    return isinstance(given, dict) and all(
        isinstance(values, list) and all(type(value) is float or _is_number(value) for value in values)
        for values in given.values()
    )
