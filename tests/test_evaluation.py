"""Judging probabilities: compared with loops over nodes, with scikit-learn, and at the edges."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import metrics

from settwister.errors import InputError
from settwister.evaluation import (
    Evaluation,
    degree_histogram,
    evaluate,
    expected_calibration_error,
    reliability,
    temperature,
    wilson_interval,
)


def some(nodes: int = 400, classes: int = 5, seed: int = 0, sharpness: float = 2.0) -> tuple[Any, Any]:
    """Logits and labels drawn from the softmax of them: T = 1 is right by construction."""
    random = np.random.default_rng(seed)
    logits = sharpness * random.normal(size=(nodes, classes))
    labels = (logits + random.gumbel(size=logits.shape)).argmax(1)
    return logits, labels


def softmax(logits: Any) -> Any:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def slow_reliability(probabilities: Any, labels: Any, bins: int) -> list[tuple[float, float, int]]:
    found = []
    for i in range(bins):
        confidences, right = [], []
        for row, label in zip(probabilities.tolist(), labels.tolist(), strict=True):
            confidence = max(row)
            if i / bins <= confidence and (confidence < (i + 1) / bins or i == bins - 1):
                confidences.append(confidence)
                right.append(row.index(confidence) == label)
        if confidences:
            found.append((sum(confidences) / len(confidences), sum(right) / len(right), len(right)))
    return found


@pytest.mark.parametrize("bins", [1, 2, 10, 15])
@pytest.mark.parametrize("seed", [0, 1])
def test_reliability_is_the_loop_over_bins_and_nodes(bins: int, seed: int) -> None:
    logits, labels = some(seed=seed)
    probabilities = softmax(logits)
    slow = slow_reliability(probabilities, labels, bins)
    fast = reliability(probabilities, labels, bins)
    assert [count for _, _, count in fast] == [count for _, _, count in slow]
    np.testing.assert_allclose(fast, slow)
    error = sum(n / len(labels) * abs(right - sure) for sure, right, n in slow)
    assert expected_calibration_error(probabilities, labels, bins) == pytest.approx(error)


def test_chance_is_one_over_the_classes_that_occur() -> None:
    always = [[1, 0, 0]] * 5
    for labels in ([0, 0, 1, 1, 1], [0, 1, 2, 1, 1]):
        found = evaluate(always, labels, ["a", "b", "c"])
        assert found.chance == found.balanced_accuracy == 1 / len(set(labels))


def test_confidences_on_the_edge_of_a_bin() -> None:
    edges = np.arange(6, 11) / 10
    probabilities = np.stack([edges, 1 - edges], 1)
    labels = np.zeros(5, dtype=int)
    assert reliability(probabilities, labels, 10) == slow_reliability(probabilities, labels, 10)
    assert len(reliability(probabilities, labels, 10)) == 4, "0.9 and 1 share the last bin"


def test_calibration_of_the_sure_and_of_the_honest() -> None:
    sure = np.tile([1.0, 0.0], (10, 1))
    assert expected_calibration_error(sure, [0] * 10) == 0
    assert expected_calibration_error(sure, [1] * 10) == 1
    assert expected_calibration_error(np.full((10, 2), 0.5), [0, 1] * 5) == 0


@pytest.mark.parametrize("factor", [0.3, 1.0, 4.0])
def test_temperature_is_the_best_of_a_grid(factor: float) -> None:
    logits, labels = some(nodes=2000)

    def loss(t: float) -> float:
        return float(metrics.log_loss(labels, softmax(factor * logits / t), labels=range(5)))

    found = temperature(factor * logits, labels)
    assert found == pytest.approx(factor, rel=0.1), "the labels were drawn at T = 1, before the factor"
    assert loss(found) <= min(loss(found * math.exp(step)) for step in np.linspace(-1, 1, 41)) + 1e-9


def test_temperature_where_there_is_nothing_to_fit() -> None:
    assert temperature([], []) == 1.0
    assert temperature(np.zeros((0, 3)), np.zeros(0, dtype=int)) == 1.0
    assert temperature(np.zeros((4, 3)), [0, 1, 2, 0]) == 1.0
    assert temperature([[3.0], [5.0]], [0, 0]) == 1.0


def test_temperature_of_extreme_logits_stays_within_bounds() -> None:
    assert 0.01 <= temperature([[9.0, 0.0], [0.0, 9.0]], [0, 1]) <= 1.0, "all right: the surer the better"
    assert 1.0 < temperature([[9.0, 0.0], [0.0, 9.0]], [1, 0]) <= 100.0, "all wrong: the vaguer the better"
    assert 1.0 < temperature([[1e6, 0.0], [1e6, 0.0]], [0, 1]) <= 100.0


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_scikit_learn(seed: int) -> None:
    logits, labels = some(nodes=200, seed=seed)
    probabilities = softmax(logits)
    answers = probabilities.argmax(1)
    found = evaluate(probabilities, labels, list("abcde"))
    assert found.nodes == 200
    assert found.accuracy == pytest.approx(metrics.accuracy_score(labels, answers))
    assert found.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(labels, answers))
    assert found.macro_f1 == pytest.approx(metrics.f1_score(labels, answers, average="macro"))
    assert found.log_loss == pytest.approx(metrics.log_loss(labels, probabilities))
    assert found.confusion == metrics.confusion_matrix(labels, answers).tolist()
    assert found.majority == np.bincount(labels).max() / 200
    assert found.right == metrics.accuracy_score(labels, answers, normalize=False)
    expected = np.transpose(metrics.precision_recall_fscore_support(labels, answers))
    np.testing.assert_allclose(
        [[row[key] for key in ("precision", "recall", "f1", "support")] for row in found.per_class], expected
    )


def test_classes_that_no_node_has_or_that_are_never_answered() -> None:
    probabilities = np.eye(4)[[0, 0, 1, 1, 1]]  # class 2 is a label and never an answer, class 3 is neither
    labels = [0, 0, 1, 2, 2]
    found = evaluate(probabilities, labels, list("abcd"))
    absent = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert found.per_class[2] == {"name": "c", **absent, "support": 2}
    assert found.per_class[3] == {"name": "d", **absent, "support": 0}
    assert found.balanced_accuracy == pytest.approx((1 + 1 + 0) / 3)
    answers = probabilities.argmax(1)
    assert found.macro_f1 == pytest.approx(metrics.f1_score(labels, answers, average="macro", zero_division=0))
    assert math.isfinite(found.log_loss), "a probability of 0 is not the end"


def test_accuracy_by_degree_is_the_loop_over_nodes() -> None:
    logits, labels = some()
    probabilities = softmax(logits)
    degrees = np.random.default_rng(0).integers(0, 40, size=len(labels))
    degrees[degrees == 1] = 2  # no bin for what does not occur
    bins = {"0": (0, 0), "2-3": (2, 3), "4-7": (4, 7), "8-15": (8, 15), "16-31": (16, 31), "32-63": (32, 63)}
    found = evaluate(probabilities, labels, list("abcde"), degrees).by_degree
    assert [row["degrees"] for row in found] == list(bins)
    for row, (low, high) in zip(found, bins.values(), strict=True):
        right = [
            int(p.argmax()) == label
            for p, label, d in zip(probabilities, labels, degrees, strict=True)
            if low <= d <= high
        ]
        assert row["nodes"] == len(right)
        assert row["accuracy"] == pytest.approx(sum(right) / len(right))
    assert sum(row["nodes"] for row in degree_histogram(degrees)) == len(degrees)
    assert degree_histogram(degrees)[1] == {"degrees": "1", "nodes": 0}


def test_degrees_of_any_size_fall_into_the_right_power_of_two() -> None:
    for power in (5, 20, 40):
        assert degree_histogram([2**power])[-1]["degrees"].startswith(f"{2**power}-")
        assert degree_histogram([2**power - 1])[-1]["degrees"].endswith(f"-{2**power - 1}")


def test_an_evaluation_goes_through_json_unchanged() -> None:
    logits, labels = some()
    found = evaluate(softmax(logits), labels, list("abcde"), np.arange(len(labels)))
    text = json.dumps(found.to_json(), allow_nan=False)
    assert json.loads(text) == found.to_json()
    assert Evaluation.from_json(json.loads(text)) == found
    with pytest.raises(InputError, match="to_json"):
        Evaluation.from_json({"accuracy": 1.0})


def test_tensors_and_single_precision_are_taken() -> None:
    logits, labels = some()
    probabilities = torch.from_numpy(logits).float().softmax(1)
    found = evaluate(probabilities, torch.from_numpy(labels), list("abcde"))
    assert found.accuracy == evaluate(softmax(logits), labels, list("abcde")).accuracy
    assert evaluate(probabilities.half(), labels, list("abcde")).nodes == len(labels)


def test_wilson_intervals() -> None:
    for right, nodes in [(1, 3), (15, 20), (400, 1000)]:
        for end in wilson_interval(right, nodes):
            # Its definition: the shares from which the one seen is 1.96 standard deviations away.
            assert abs(right / nodes - end) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / nodes))
    assert wilson_interval(0, 5)[0] == 0
    assert wilson_interval(5, 5)[1] == 1
    low, high = wilson_interval(81_500, 100_000)
    assert high - low < 0.005
    found = evaluate(np.eye(2)[[0, 0, 1]], [0, 1, 1], ["a", "b"])
    assert found.interval == wilson_interval(2, 3)


@pytest.mark.parametrize(
    ("probabilities", "labels", "classes", "degrees", "message"),
    [
        ([], [], [], None, "no nodes"),
        (np.zeros((0, 2)), [], ["a", "b"], None, "no nodes"),
        ([[0.5, 0.5]], [2], ["a", "b"], None, "labels holds 2"),
        ([[0.5, 0.5]], [-1], ["a", "b"], None, "labels holds -1"),
        ([[0.5, 0.5]], [0.0], ["a", "b"], None, "whole numbers"),
        ([[0.5, 0.5]], [0, 1], ["a", "b"], None, "shape"),
        ([0.5, 0.5], [0, 1], ["a", "b"], None, "shape"),
        ([[0.5, 0.5], [1.0]], [0, 1], ["a", "b"], None, "array of numbers"),
        ([[0.5, 0.5]], [0], ["a"], None, "classes has 1 names"),
        ([[math.nan, 0.5]], [0], ["a", "b"], None, "NaN"),
        ([[3.0, -2.0]], [0], ["a", "b"], None, "softmax"),
        ([[3.0, 2.0]], [0], ["a", "b"], None, "softmax"),
        ([[0.5, 0.5]], [0], ["a", "b"], [1, 2], "degrees has shape"),
        ([[0.5, 0.5]], [0], ["a", "b"], [-1], "degrees holds -1"),
        ([[0.5, 0.5]], [0], ["a", "b"], [0.5], "whole numbers"),
    ],
)
def test_what_cannot_be_judged_is_said_in_a_sentence(
    probabilities: Any, labels: Any, classes: Any, degrees: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(probabilities, labels, classes, degrees)


def test_arguments_of_the_parts_are_checked() -> None:
    with pytest.raises(InputError, match="bins"):
        reliability([[1.0]], [0], bins=0)
    with pytest.raises(InputError, match="right"):
        wilson_interval(3, 2)
    with pytest.raises(InputError, match="logits"):
        temperature([[math.inf, 0.0]], [0])
