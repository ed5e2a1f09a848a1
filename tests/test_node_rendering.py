"""The node table in the paper's shape."""

from typing import Any

from settwister.experiments.nodes import NodeCell
from settwister.experiments.nodes.rendering import by_labels_used, node_table, settings_tried
from settwister.experiments.runner import Row
from settwister.experiments.terms import Terms


def row(model: str, graph: str, *scores: float, **facts: Any) -> Row:
    return Row(NodeCell(model, graph), [{"seed": seed, "test": score} | facts for seed, score in enumerate(scores)])


ROWS = [
    row("gcn_x5", "cora", 60.0, 61.0, trials=8),
    row("set_twister_m2_k2", "friendster", 37.0, 38.0, trials=30),
    row("set_twister_m2_k2", "cora", 87.0, 88.0, trials=54),
    row("gcn", "cora", 70.0, trials=8),
    row("mlp", "friendster", 20.0, 20.5),
]


def test_a_line_per_method_and_a_column_per_graph_as_the_paper_has_them() -> None:
    header, body = node_table(ROWS, "<{}>", published=" [{}]", wanted=2)
    assert header == ["method", "friendster", "cora"]
    assert body == [
        ["GCN", "–", "70.00 [88.39], 1 of 2 runs"],
        ["MLP", "20.25(0.35)", "–"],
        ["Set Twister (M=2, k=2)", "<37.50(0.71)> [37.34]", "<87.50(0.71)> [82.74]"],
        ["gcn_x5", "–", "60.50(0.71)"],  # what the table does not show comes last
    ]


def test_effort_stands_beside_the_table() -> None:
    assert settings_tried(ROWS, "paper") == (
        "Settings tried per method, on split 0 (of random splits: most nodes that the others test are among those "
        "known there): friendster: 30 of 54 for Set Twister (M=2, k=2). "
        "cora: 8 of 21 for GCN, gcn_x5; 54 of 54 for Set Twister (M=2, k=2)."
    )
    assert "cora: 8 for GCN, gcn_x5; 54 for" in settings_tried(ROWS, "tuned")
    assert settings_tried(ROWS[-1:], "quick") == ""


def test_who_learns_from_validation_labels_stands_apart() -> None:
    crossed = row("gcn_crossed", "cora", 89.0, 90.0)
    terms = Terms("tuned", splits="geom", epochs=7)
    (first, plain), (second, apart) = by_labels_used([*ROWS, crossed], terms)
    assert "; protocol tuned, geom splits, at most 7 epochs; in parentheses" in first
    assert plain == ROWS
    assert apart == [crossed]
    assert second == f"{first}: methods that learn from validation labels, too"
    assert [rows for _, rows in by_labels_used([crossed], terms)] == [[crossed]]


def test_a_cell_says_how_many_of_its_runs_are_there() -> None:
    """WikiCS has twenty splits of its own, the others five runs."""
    header, (line,) = node_table([row("gcn", "wikics", *[80.0] * 5), row("gcn", "cora", *[80.0] * 5)], "{}")
    said = dict(zip(header, line, strict=True))
    assert said["wikics"].endswith(", 5 of 20 runs")
    assert "runs" not in said["cora"]
    assert len(NodeCell("gcn", "wikics").seeds) == 20
