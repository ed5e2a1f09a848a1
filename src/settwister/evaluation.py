"""How good predicted probabilities are: accuracy beside its baseline, per class, by confidence and by degree."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from settwister._checks import whole_number
from settwister.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BINS = 15
HOTTEST = 100.0  # temperatures are looked for from 1 / HOTTEST to HOTTEST
ROUNDING = 1e-3  # how far a row of probabilities may be from a sum of 1: half precision is within 5e-4


@dataclass(frozen=True)
class Evaluation:
    """What a model's answers on some labelled nodes are worth; made by :func:`evaluate`, plain numbers throughout.

    A class that no node has, or that is never answered, has a recall or a precision of 0.

    Args:
        nodes: how many nodes were looked at.
        accuracy: the share of nodes whose likeliest class is their label.
        majority: the accuracy of always answering the commonest class of these labels.
        balanced_accuracy: the mean recall of the classes that occur among the labels.
        macro_f1: the mean F1 of the classes that occur among labels or answers.
        log_loss: the mean negative logarithm of the probability given to the label.
        calibration_error: see :func:`expected_calibration_error`.
        per_class: name, precision, recall, f1 and support (labels of that class), in the order of the classes.
        confusion: row: label, column: answer, value: nodes.
        reliability: see :func:`reliability`.
        by_degree: degrees ("0", "1", "2-3", "4-7", …), nodes and accuracy, where there are nodes.
    """

    nodes: int
    accuracy: float
    majority: float
    balanced_accuracy: float
    macro_f1: float
    log_loss: float
    calibration_error: float
    per_class: list[dict[str, Any]]
    confusion: list[list[int]]
    reliability: list[tuple[float, float, int]]
    by_degree: list[dict[str, Any]]

    @property
    def right(self) -> int:
        """How many nodes were answered rightly."""
        return sum(row[i] for i, row in enumerate(self.confusion))

    @property
    def chance(self) -> float:
        """The balanced accuracy of guessing, or of always giving one answer: one over the number of classes there."""
        return 1 / len([row for row in self.per_class if row["support"] > 0])

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% Wilson interval of the accuracy."""
        return wilson_interval(self.right, self.nodes)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"reliability": [list(bin_) for bin_ in self.reliability]}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Self:
        try:
            return cls(**given | {"reliability": [(sure, right, count) for sure, right, count in given["reliability"]]})
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is not the JSON of an evaluation ({error}): give what to_json returned") from None


def evaluate(
    probabilities: ArrayLike, labels: ArrayLike, classes: Sequence[str], degrees: ArrayLike | None = None
) -> Evaluation:
    """Judge probabilities by labels.

    >>> found = evaluate([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1], ["cat", "dog"])
    >>> round(found.accuracy, 3), round(found.majority, 3), found.confusion
    (0.667, 0.667, [[1, 0], [1, 1]])

    Args:
        probabilities: (N, C), rows that sum to 1.
        labels: (N,) whole numbers from 0 to C - 1.
        classes: the C names.
        degrees: (N,) how many neighbours each node has; left out, nothing is said by degree.
    """
    given, truth = _judged(probabilities, labels)
    names = [str(name) for name in classes]
    if len(names) != given.shape[1]:
        raise InputError(f"classes has {len(names)} names, expected {given.shape[1]}, one per column of probabilities")
    answers = given.argmax(1)
    confusion = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(confusion, (truth, answers), 1)
    hits, support, answered = confusion.diagonal(), confusion.sum(1), confusion.sum(0)
    precision, recall = _ratio(hits, answered), _ratio(hits, support)
    f1 = _ratio(2 * hits, support + answered)
    likelihood = np.maximum(given[np.arange(len(truth)), truth], np.finfo(np.float64).eps)
    return Evaluation(
        nodes=len(truth),
        accuracy=float(hits.sum() / len(truth)),
        majority=float(support.max() / len(truth)),
        balanced_accuracy=float(recall[support > 0].mean()),
        macro_f1=float(f1[support + answered > 0].mean()),
        log_loss=float(-np.log(likelihood).mean()) + 0.0,  # no "-0.0" where all is perfect
        calibration_error=expected_calibration_error(given, truth),
        per_class=[
            {"name": n, "precision": float(p), "recall": float(r), "f1": float(f), "support": int(s)}
            for n, p, r, f, s in zip(names, precision, recall, f1, support, strict=True)
        ],
        confusion=confusion.tolist(),
        reliability=reliability(given, truth),
        by_degree=[] if degrees is None else _by_degree(answers == truth, degrees),
    )


def temperature(logits: ArrayLike, labels: ArrayLike, spread: float = math.inf) -> float:
    """The T > 0 that makes softmax(logits / T) likeliest to have given the labels, or 1 where none is better than that.

    T = argmin of the mean of -log softmax(logits / T)[label], for T from 0.01 to 100.

    Args:
        logits: (N, C), best of nodes that the model was not trained on.
        labels: (N,) whole numbers from 0 to C - 1.
        spread: how far log T is expected to be from 0 beforehand, as the deviation of a normal distribution. With a
            finite one T is drawn towards 1 where nodes are few: if all of them are right, nothing else keeps it from
            0.01, and the first error afterwards is one that was certain.
    """
    values, truth = _paired("logits", logits, labels)
    if values.size == 0:
        return 1.0
    # Softmax knows differences only. Taken from the largest, no power of e is above 1.
    below = values - values.max(1, keepdims=True)
    of_label = below[np.arange(len(truth)), truth]

    def loss(log_t: float) -> float:
        scale = math.exp(-log_t)
        drawn = (log_t / spread) ** 2 / 2 / len(truth)
        return float(np.log(np.exp(below * scale).sum(1)).mean() - scale * of_label.mean()) + drawn

    # Without a spread the loss is convex in 1 / T, so it falls and then rises in log T too, and there is one minimum to
    # find. With one, whatever is found is likelier than T = 1, which costs nothing.
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(loss, bounds=(-math.log(HOTTEST), math.log(HOTTEST)), method="bounded")
    return math.exp(found.x) if found.fun < loss(0.0) else 1.0


def expected_calibration_error(probabilities: ArrayLike, labels: ArrayLike, bins: int = BINS) -> float:
    """How far confidence is from accuracy: the mean of |accuracy - confidence| over bins, weighted by their nodes."""
    found = reliability(probabilities, labels, bins)
    return sum(count * abs(right - confidence) for confidence, right, count in found) / sum(n for _, _, n in found)


def reliability(probabilities: ArrayLike, labels: ArrayLike, bins: int = BINS) -> list[tuple[float, float, int]]:
    """Mean confidence, accuracy and number of nodes of each bin of confidence that has nodes.

    A node's confidence is its largest probability; bin i of b holds those from i / b up to, not including, (i + 1) / b,
    and the last one holds 1 too.

    >>> reliability([[0.75, 0.25], [0.75, 0.25]], [0, 1], bins=2)
    [(0.75, 0.5, 2)]
    """
    whole_number("bins", bins)
    given, truth = _judged(probabilities, labels)
    confidence, right = given.max(1), given.argmax(1) == truth
    which = np.searchsorted(np.arange(1, bins) / bins, confidence, side="right")
    count = np.bincount(which, minlength=bins)
    sure, hits = (np.bincount(which, weights=w, minlength=bins) for w in (confidence, right))
    return [(float(sure[i] / count[i]), float(hits[i] / count[i]), int(count[i])) for i in np.flatnonzero(count)]


def wilson_interval(right: int, nodes: int) -> tuple[float, float]:
    """Between which shares the truth lies, at 95%, where ``right`` of ``nodes`` were right (Wilson's interval).

    >>> [round(end, 3) for end in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    whole_number("nodes", nodes)
    whole_number("right", right, least=0, most=nodes)
    from scipy.stats import binomtest

    found = binomtest(right, nodes).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def degree_histogram(degrees: ArrayLike) -> list[dict[str, Any]]:
    """How many nodes have 0, 1, 2-3, 4-7, … neighbours, up to the largest degree.

    >>> degree_histogram([0, 5, 5, 1])[2:]
    [{'degrees': '2-3', 'nodes': 0}, {'degrees': '4-7', 'nodes': 2}]
    """
    counts = np.bincount(_power_of_two(degrees))
    return [{"degrees": _degrees(i), "nodes": int(count)} for i, count in enumerate(counts)]


def _by_degree(right: NDArray[np.bool_], degrees: ArrayLike) -> list[dict[str, Any]]:
    which = _power_of_two(degrees)
    if which.shape != right.shape:
        raise InputError(f"degrees has shape {which.shape}, expected {right.shape}, one number per node")
    return [
        {"degrees": _degrees(i), "nodes": int((which == i).sum()), "accuracy": float(right[which == i].mean())}
        for i in np.unique(which).tolist()
    ]


def _power_of_two(degrees: ArrayLike) -> Integers:
    """Which of 0, 1, 2-3, 4-7, … each degree is in."""
    found = _whole("degrees", degrees)
    if (found < 0).any():
        raise InputError(f"degrees holds {found.min()}, expected numbers of at least 0")
    return np.frexp(found.astype(np.float64))[1].astype(np.int64)


def _degrees(power: int) -> str:
    return str(power) if power < 2 else f"{2 ** (power - 1)}-{2**power - 1}"


def _ratio(part: Integers, whole: Integers) -> Floats:
    return part / np.maximum(whole, 1)


def _judged(probabilities: ArrayLike, labels: ArrayLike) -> tuple[Floats, Integers]:
    """Probabilities of at least one node, and labels."""
    given, truth = _paired("probabilities", probabilities, labels)
    if given.size == 0:
        raise InputError("there are no nodes to evaluate, expected at least one row of probabilities and its label")
    off = np.abs(given.sum(1) - 1).max()
    if given.min() < 0 or off > ROUNDING:
        raise InputError(f"probabilities are negative or up to {off:.3g} off a sum of 1: give softmax(logits)")
    return given, truth


def _paired(name: str, values: ArrayLike, labels: ArrayLike) -> tuple[Floats, Integers]:
    """A finite (N, C) matrix and N labels below C; both may be empty."""
    matrix, truth = _array(name, values, np.float64), _whole("labels", labels)
    if matrix.size == truth.size == 0:
        return matrix.reshape(0, 0), truth
    if matrix.ndim != 2 or truth.shape != (len(matrix),):
        raise InputError(
            f"{name} has shape {matrix.shape} and labels {truth.shape}, expected (nodes, classes) and (nodes,)"
        )
    if not np.isfinite(matrix).all():
        raise InputError(f"{name} has values that are NaN or infinite, expected finite numbers")
    outside = truth[(truth < 0) | (truth >= matrix.shape[1])]
    if outside.size:
        raise InputError(f"labels holds {outside[0]}, expected whole numbers from 0 to {matrix.shape[1] - 1}")
    return matrix, truth


def _whole(name: str, values: ArrayLike) -> Integers:
    found = _array(name, values)
    if found.size and not np.issubdtype(found.dtype, np.integer):
        raise InputError(f"{name} has type {found.dtype}, expected whole numbers")
    return found.astype(np.int64)


def _array(name: str, values: ArrayLike, dtype: Any = None) -> NDArray[Any]:
    try:
        return np.asarray(values, dtype=dtype)
    except (ValueError, TypeError, RuntimeError) as error:  # ragged lists, words, tensors that keep gradients
        raise InputError(f"{name} cannot be read as an array of numbers: {error}") from None
