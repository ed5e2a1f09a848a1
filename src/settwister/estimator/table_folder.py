"""The folder of a :class:`~settwister.TableClassifier`: a classifier's, and how to read tables for it.

    estimator.json, network/    as ``one_hop_folder`` has them, with the columns' names and what was found in training
    encoder.skops               how columns become numbers
    report.html                 the page, for people; nothing reads it

What the folders of all estimators share is in ``folder``.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from settwister._checks import whole_number
from settwister.errors import InputError
from settwister.estimator import folder as parts
from settwister.estimator import one_hop_folder
from settwister.estimator.one_hop import OneHopClassifier
from settwister.evaluation import Evaluation
from settwister.report import DataSummary, classifier_page
from settwister.tables import TableEncoder
from settwister.tables.saved import LARGEST

WROTE = "expected what `settwister fit` wrote"


def write(table: Any, staging: Path, page: str) -> None:
    """Write a fitted classifier of tables, and the page about it, into an empty folder."""
    about = {
        "id": table.id,
        "target": table.target,
        "columns": table.columns_,
        "source": table.source,
        "end": table.end,
        "weight": table.weight,
        "random_state": table.random_state,
        "seconds": table.seconds_,
        "baseline": table.baseline_.tolist(),
        "data": asdict(table.data_),
        "evaluation": table.evaluation_.to_json(),
    }
    classes = parts.classes_to_json(table.classes_)
    (staging / "encoder.skops").write_bytes(table.encoder_.to_bytes())
    one_hop_folder.write(table.classifier_, staging, {"table": about, "table_classes": classes})
    (staging / "report.html").write_text(page, encoding="utf-8")


def read(table_type: type[Any], folder: Path) -> Any:
    """The classifier of tables in a folder."""
    classifier, content = one_hop_folder.read(OneHopClassifier, folder)
    path, about = folder / parts.MARKER, content.get("table")
    if not isinstance(about, dict):
        raise InputError(f"{path} says nothing of tables, expected a folder that `settwister fit` wrote")
    found = table_type(**_columns(about, path), classifier=classifier, random_state=_seed(about, path))
    found.classifier_, found.columns_ = classifier, _features(about.get("columns"), path)
    found.classes_ = parts.classes_from_json(content.get("table_classes"), path)
    found.encoder_ = _encoder(folder / "encoder.skops", classifier.n_features_in_)
    if len(found.classes_) != len(classifier.classes_):
        raise InputError(
            f"{path} lists {len(found.classes_)} classes of tables, expected {len(classifier.classes_)}, as the "
            "classifier has"
        )
    if isinstance(classifier.class_weight, dict):  # by the numbers that the network was trained on
        by_class = dict(zip(found.classes_.tolist(), classifier.class_weight.values(), strict=True))
        found.classifier = clone(classifier).set_params(class_weight=by_class)
    try:
        found.seconds_ = float(about["seconds"])
        found.data_, found.evaluation_ = DataSummary(**about["data"]), Evaluation.from_json(about["evaluation"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path} lacks what was found in training ({error}), {WROTE}") from None
    found.baseline_ = _baseline(about.get("baseline"), classifier.n_features_in_, path)
    try:
        classifier_page(found.report())
    except Exception as error:  # all that was found in training is shown there, and what does not fit can fail anyhow
        raise InputError(f"{path} says what cannot be of its training ({error!r}), {WROTE}") from error
    return found


def _columns(about: dict[str, Any], path: Path) -> dict[str, Any]:
    """The columns of both tables that are no features, by the argument that names them."""
    found = {name: about.get(name) for name in ("id", "target", "source", "end", "weight")}
    right = all(isinstance(found[name], str) for name in ("id", "target"))
    if not right or not all(isinstance(name, str | None) for name in found.values()):
        raise InputError(f"{path} does not name its columns, {WROTE}")
    return found


def _seed(about: dict[str, Any], path: Path) -> int:
    """The random state that the split was drawn with."""
    try:
        return whole_number("random_state", about.get("random_state"), least=0, most=2**63)
    except InputError as error:
        raise InputError(f"{path} is not whole ({error}), {WROTE}") from None


def _features(columns: Any, path: Path) -> list[str]:
    if not isinstance(columns, list) or not columns or not all(isinstance(name, str) for name in columns):
        raise InputError(f"{path} does not list the columns of features, {WROTE}")
    return columns


def _encoder(path: Path, width: int) -> TableEncoder:
    if not path.is_file():
        raise InputError(f"{path} is missing, expected it beside {parts.MARKER}")
    if path.stat().st_size > LARGEST + 2**10:  # a line and a checksum come before the encoder
        raise InputError(f"{path} has {path.stat().st_size} bytes, expected at most {LARGEST}: copy it again")
    found = TableEncoder.from_bytes(path.read_bytes())
    if len(found.names) != width:
        raise InputError(f"{path} gives {len(found.names)} columns, expected {width}")
    return found


def _baseline(given: Any, width: int, path: Path) -> NDArray[np.float32]:
    """What explanations put in the place of a column: its average over the training nodes."""
    try:
        found = np.array(given, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path} has a baseline that is not numbers ({error}), {WROTE}") from None
    if found.shape != (width,) or not bool(np.isfinite(found).all()):
        raise InputError(f"{path} has a baseline of shape {found.shape}, expected ({width},) finite numbers")
    return found
