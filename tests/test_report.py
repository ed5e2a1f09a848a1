"""Pages: whole, self-contained, and with charts that show what they were given."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from settwister.errors import InputError
from settwister.evaluation import degree_histogram, evaluate, wilson_interval
from settwister.experiments.page import table_page
from settwister.experiments.terms import Terms
from settwister.files import check_page
from settwister.report import (
    ClassifierReport,
    DataSummary,
    LeaderboardRow,
    bar_chart,
    classifier_page,
    heat_map,
    html_table,
    line_chart,
    page,
    rank_bars,
    reliability_diagram,
)
from settwister.report.axes import nice_ticks
from settwister.report.findings import calibration, caveats, headline
from settwister.report.style import COLOURS
from test_experiments import some_rows

VOID = {"meta", "line", "br"}
SUBJECTS = [
    "Case based",
    "Genetic algorithms",
    "Neural networks",
    "Probabilistic methods",
    "Reinforcement learning",
    "Rule learning",
    "Theory",
]


class Balanced(HTMLParser):
    """Fails on a tag that is not closed, or closed in the wrong order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(text: str) -> None:
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert not re.search(r"https?://|<script|<link|@import|url\(", text), "a page needs no network and runs no code"


def made_up(names: list[str] = SUBJECTS, test: int = 1000, sure: float = 3.0) -> ClassifierReport:
    """A report with sizes and scores like a real one's: 2,700 nodes, uneven classes, more neighbours, more right."""
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(len(names), 6.0))
    degrees = np.minimum(random.zipf(1.8, size=2700), 168) * (random.random(2700) < 0.94)
    labels = random.choice(len(names), size=test, p=shares)
    of_test = degrees[:test]
    logits = random.normal(size=(test, len(names)))
    logits[np.arange(test), labels] += 1.7 + 0.35 * np.log2(1 + of_test)
    powers = np.exp(sure * logits)
    found = evaluate(powers / powers.sum(1, keepdims=True), labels, names, of_test)
    epochs = np.arange(1, 121)
    noise = random.normal(scale=0.012, size=(3, 120))
    return ClassifierReport(
        title="Papers by subject: a node classifier",
        data=DataSummary(
            nodes=2700,
            labelled=2410,
            edges=5278,
            isolated=int((degrees == 0).sum()),
            columns=12,
            features=1433,
            classes={name: int(2410 * share) for name, share in zip(names, shares, strict=True)},
            split={"training": 1100, "validation": 310, "test": test},
            degrees=degree_histogram(degrees),
        ),
        evaluation=found,
        curves={
            "training loss": (0.25 + 1.7 * np.exp(-epochs / 14) + noise[0]).tolist(),
            "validation loss": (0.55 + 1.4 * np.exp(-epochs / 12) + 0.0012 * epochs + noise[1]).tolist(),
            "validation accuracy": (0.85 - 0.6 * np.exp(-epochs / 9) + 0.5 * noise[2]).tolist(),
        },
        best_epoch=57,
        leaderboard=[
            LeaderboardRow("Set Twister (M=5, k=2)", 0.874, 0.861, 0.858, 41.2, chosen=True),
            LeaderboardRow("DeepSets", 0.861, 0.842, 0.839, 22.5),
            LeaderboardRow("GCN", 0.858, 0.846, 0.841, 9.8),
            LeaderboardRow("MLP, neighbours left out", 0.742, 0.702, 0.698, 4.1),
            LeaderboardRow("Logistic regression on a node's own features", 0.731, 0.69, 0.684, 1.3),
        ],
        usage={
            "On the command line": "settwister nodes predict model/ --nodes new_papers.csv --edges citations.csv "
            "--output subjects.csv --probabilities",
            "In Python": 'model = OneHopClassifier.load("model")\nsubjects = model.predict(papers, citations)',
        },
        configuration={"model": {"M": 5, "k": 2, "widths": [64, 64]}, "learning_rate": 0.01, "seed": 0, "device": None},
        versions={"python": "3.11.2", "settwister": "0.5.0", "torch": "2.13.0"},
    )


def rows_with_curves() -> list[object]:
    found = some_rows()
    for row in found:
        for run in row.runs:
            run["curves"] = {"validation_score": [9.0, 3.0, run["test"]]}
    return found


def test_the_page_of_a_table() -> None:
    text = table_page(rows_with_curves(), Terms("quick"))
    check(text)
    assert "<strong>0.210(0.010)</strong>" in text
    assert text.count("<polyline") == 2
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_names_are_escaped() -> None:
    text = page("a <b> & c", html_table(["<x>"], [["1"]]) + line_chart({"<s>": [1, 2]}, "e&p", "<y>"))
    check(text)
    assert "<b>" not in text
    assert "&lt;s&gt;" in text


def test_charts_place_points_where_the_axis_says() -> None:
    chart = line_chart({"a": [0.0, 0.5, 1.0]}, "x", "y")
    points = [tuple(map(float, p.split(","))) for p in re.search(r'points="([^"]+)"', chart)[1].split()]
    assert points[1][1] == pytest.approx((points[0][1] + points[2][1]) / 2)
    log = line_chart({"a": [0.01, 0.1, 1.0]}, "x", "y", log_y=True)
    points = [tuple(map(float, p.split(","))) for p in re.search(r'points="([^"]+)"', log)[1].split()]
    assert points[1][1] == pytest.approx((points[0][1] + points[2][1]) / 2, abs=0.1)


def test_charts_of_nothing_of_constants_and_of_nan() -> None:
    assert line_chart({}, "x", "y") == "<p>Nothing to draw.</p>"
    check(line_chart({"a": [3.0, 3.0]}, "x", "y"))
    check(line_chart({"a": [float("nan"), 1.0, 2.0]}, "x", "y"))
    check(line_chart({"a": [0.0, 1.0]}, "x", "y", log_y=True))


def test_values_that_are_not_numbers_do_not_move_the_others() -> None:
    whole = line_chart({"a": [1.0, 1.5, 2.0]}, "x", "y")
    holed = line_chart({"a": [1.0, float("nan"), 2.0]}, "x", "y")
    ends = [re.search(r'points="([^"]+)"', chart)[1].split() for chart in (whole, holed)]
    assert [ends[0][0], ends[0][-1]] == ends[1]


def test_the_best_epoch_is_marked_within_the_chart_only() -> None:
    curve = {"a": [0.0, 0.5, 1.0]}
    assert "kept" in line_chart(curve, "x", "y", mark=(2, "kept"))
    assert "kept" not in line_chart(curve, "x", "y", mark=(9, "kept"))


def attributes(chart: str, kind: str, name: str) -> list[float]:
    return [float(re.search(rf' {name}="([^"]+)"', tag)[1]) for tag in re.findall(rf'<\w+ class="{kind}"[^>]*>', chart)]


def test_bars_are_as_high_as_their_values() -> None:
    chart = bar_chart({"0": 100, "1": 50, "2-3": 0}, "degree", "nodes")
    check(chart)
    heights = attributes(chart, "bar", "height")
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert heights[2] == 0
    assert 'aria-label="nodes against degree. 0: 100; 1: 50; 2-3: 0"' in chart
    assert bar_chart({}, "x", "y") == "<p>Nothing to draw.</p>"
    check(bar_chart({"0": 0}, "x", "y"))


def test_what_cannot_be_drawn_is_said_in_a_sentence() -> None:
    with pytest.raises(InputError, match="'a' is -1"):
        bar_chart({"a": -1}, "x", "y")
    with pytest.raises(InputError, match="'a' is nan"):
        rank_bars({"a": float("nan")})
    with pytest.raises(InputError, match="2 names"):
        heat_map([[1, 2]], ["a", "b"])


def test_large_degrees_have_short_names() -> None:
    data = replace(made_up().data, degrees=degree_histogram([3, 5000, 1_000_000]))
    names = re.findall(r">([^<>]+)</text>", classifier_page(replace(made_up(), data=data)))
    assert {"2-3", "4096-8191", "8192-16k", "524k-1.05M"} <= set(names)


def test_bars_with_counts_intervals_and_a_line_to_compare_with() -> None:
    ends = [wilson_interval(3, 4), wilson_interval(50, 100)]
    chart = bar_chart(
        {"0": 0.75, "1": 0.5}, "degree", "accuracy", percent=True, counts=[4, 12345], intervals=ends, line=0.5
    )
    check(chart)
    longer, shorter = (
        low - high
        for low, high in zip(attributes(chart, "whisker", "y1"), attributes(chart, "whisker", "y2"), strict=True)
    )
    assert longer > shorter > 0
    assert attributes(chart, "guide", "y1")[0] == pytest.approx(attributes(chart, "bar", "y")[1], abs=0.1)
    assert "12k" in chart
    assert "1: 50% of 12,345" in chart


def test_lying_bars_share_a_zero() -> None:
    ranked = rank_bars({"up": 3.0, "<down>": -1.0})
    check(ranked)
    assert "margin-left:25.00%;width:75.00%" in ranked
    assert "margin-left:0.00%;width:25.00%" in ranked
    assert "&lt;down&gt;" in ranked
    assert "width:50.00%" in rank_bars({"half": 0.5}, percent=True)
    assert rank_bars({"a": 1.0, "b": 2.0}, chosen="b").count('class="chosen"') == 1
    assert rank_bars({}) == "<p>Nothing to draw.</p>"
    check(rank_bars({"nothing": 0.0}))


def test_a_heat_map_shows_counts_of_few_classes_and_tells_those_of_many() -> None:
    few = heat_map([[3, 1], [0, 0]], ["a<b", "c"])
    check(few)
    assert re.findall(r'class="on"[^>]*>([^<]*)<', few) == ["3", "1", "0", "0"]
    assert "<title>a&lt;b, answered c: 1 of 4 nodes</title>" in few
    assert attributes(few, "heat", "fill-opacity") == pytest.approx([0.75**0.5, 0.25**0.5], abs=0.01)
    many = heat_map(np.eye(13, dtype=int).tolist(), [f"class {i}" for i in range(13)])
    check(many)
    assert 'class="on"' not in many
    assert many.count("<title>") == 169
    assert heat_map([], []) == "<p>Nothing to draw.</p>"
    assert "too many" in heat_map([[0] * 61] * 61, ["x"] * 61)


def test_dots_of_a_reliability_diagram_stand_on_the_diagonal_where_honest() -> None:
    diagram = reliability_diagram([(0.25, 0.25, 100), (0.75, 0.75, 25), (0.9, 0.5, 1)])
    check(diagram)
    (x1,), (x2,) = attributes(diagram, "guide", "x1"), attributes(diagram, "guide", "x2")
    (y1,), (y2,) = attributes(diagram, "guide", "y1"), attributes(diagram, "guide", "y2")
    across, down = attributes(diagram, "dot", "cx"), attributes(diagram, "dot", "cy")
    for i in range(2):
        assert (across[i] - x1) / (x2 - x1) == pytest.approx((down[i] - y1) / (y2 - y1), abs=0.002)
    large, small, _ = attributes(diagram, "dot", "r")
    assert large == pytest.approx(2 * small, abs=0.1), "areas are as the counts"
    assert reliability_diagram([]) == "<p>Nothing to draw.</p>"


ORDER = ["What was found", "The data", "Learning curves", "Confusion matrix", "Class by class"]
ORDER += ["Can its probabilities be trusted?", "Accuracy by number of neighbours", "Models compared"]
ORDER += ["How to use the model", "Configuration"]


def test_the_page_of_a_classifier() -> None:
    about = made_up()
    text = classifier_page(about)
    check(text)
    assert re.findall(r"<h2>([^<]*)</h2>", text) == ORDER
    assert text.count("<svg") == text.count('role="img" aria-label="') == 6
    found = about.evaluation
    for said in (f"{found.accuracy:.1%}", f"{found.majority:.1%}", "2,700", "5,278", "1,433", "kept: epoch 57"):
        assert said in text
    assert "settwister nodes predict model/ --nodes new_papers.csv" in text
    assert "model.widths" in text
    assert "<strong>Set Twister (M=5, k=2)</strong> (this model)" in text


def test_parts_with_nothing_to_show_are_left_out() -> None:
    found = evaluate(np.eye(2)[[0, 1]], [0, 1], ["a", "b"])
    data = DataSummary(2, 2, 0, 2, 1, 1, {"a": 1, "b": 1}, {"test": 2})
    text = classifier_page(ClassifierReport("least", data, found))
    check(text)
    assert re.findall(r"<h2>([^<]*)</h2>", text) == [*ORDER[:2], *ORDER[3:6]]


def test_what_a_report_is_given_is_escaped() -> None:
    evil = "<script>&"
    found = evaluate(np.eye(2)[[0, 1, 1]], [0, 1, 0], [evil, "b"], [0, 1, 2])
    about = ClassifierReport(
        evil,
        DataSummary(3, 3, 0, 2, 1, 1, {evil: 1, "b": 1}, {evil: 2}, [{"degrees": evil, "nodes": 3}]),
        found,
        curves={f"{evil} {evil}": [1.0, 2.0]},
        best_epoch=1,
        leaderboard=[LeaderboardRow(evil, 1, 1, 1, 1)],
        usage={evil: evil},
        configuration={evil: {evil: evil}},
        versions={evil: evil},
        notes=[evil],
    )
    check(classifier_page(about))


def test_a_report_of_many_classes_lists_mistakes() -> None:
    text = classifier_page(made_up([f"class {i}" for i in range(70)]))
    check(text)
    assert "Commonest mistakes" in text
    assert "70 classes are too many to draw." in text
    assert "And 40 rarer ones." in text


def test_the_page_says_what_columns_were_read_as() -> None:
    about = made_up()
    assert "How columns were read" not in classifier_page(about), "nothing is known of a classifier of arrays"
    few = [{"column": "<age>", "read_as": "number", "gaps": 1234}, {"column": "city", "read_as": "category", "gaps": 0}]
    text = classifier_page(replace(about, data=replace(about.data, readings=few)))
    check(text)
    assert '<td class="words">&lt;age&gt;</td><td class="words">number</td><td>1,234</td>' in text
    assert "gaps in 2,700 rows" in text
    assert "<details>" not in text
    many = [{"column": f"x{i}", "read_as": "date" if i % 3 else "number", "gaps": i} for i in range(300)]
    text = classifier_page(replace(about, data=replace(about.data, readings=many)))
    check(text)
    assert "<details><summary>300 columns (date: 200; number: 100)</summary>" in text
    assert ">x299</td>" in text
    text = classifier_page(replace(about, data=replace(about.data, readings=many * 4)))
    assert "And 200 more." in text


def test_the_page_says_whose_curves_it_shows() -> None:
    about = made_up()
    assert "Of the first of" not in classifier_page(about)
    assert "Of the first of 3 networks." in classifier_page(replace(about, networks=3))


def test_reports_that_contradict_themselves_are_refused() -> None:
    about = made_up()
    with pytest.raises(InputError, match="labelled"):
        replace(about.data, labelled=2701)
    with pytest.raises(InputError, match="best_epoch"):
        replace(about, best_epoch=0)
    with pytest.raises(InputError, match="networks"):
        replace(about, networks=0)
    with pytest.raises(InputError, match="DeepSets"):
        replace(about, leaderboard=[*about.leaderboard, LeaderboardRow("DeepSets", 0, 0, 0, 0)])


def judged(right: int, wrong: int, sure: float = 0.9, others: int = 0) -> Any:
    """Nodes of class a, right or wrong, and others of class b, never found."""
    rows = [[sure, 1 - sure]] * right + [[1 - sure, sure]] * wrong + [[sure, 1 - sure]] * others
    return evaluate(rows, [0] * (right + wrong) + [1] * others, ["a", "b"])


def test_the_headline_has_the_baseline_beside_it() -> None:
    said = headline(judged(90, 0, others=10))
    assert "90 of 100 test nodes, 90.0%" in said
    assert "always answering “a” would be right for 90.0%" in said


def test_caveats_come_where_they_are_due() -> None:
    def said(found: Any) -> str:
        return " ".join(caveats(found))

    assert "only roughly" in said(judged(18, 2))
    assert "only roughly" not in said(judged(9000, 1000))
    assert "worse than always" in said(judged(10, 90))
    assert "not clearly better" in said(judged(9000, 0, others=1000))
    assert "Rare classes" in said(judged(9000, 0, others=1000))
    assert "Without a test node" in said(judged(10, 0))
    assert "With fewer than 10" in said(judged(5, 0, others=20))
    good = np.eye(2)[[0, 1] * 2000]
    assert caveats(evaluate(good, [0, 1] * 2000, ["a", "b"])) == []


def test_who_asked_for_balance_is_told_of_it_first() -> None:
    found = judged(60, 30, others=10)
    said = headline(found, balanced=True)
    assert said.startswith(
        "With every class counted alike, the model is right 33.3% of the time; guessing would be right"
    )
    assert said.index("50.0%") < said.index("always answering “a” would be right for 90.0%")
    assert headline(found) in said
    warned = caveats(found, balanced=True)
    assert "With every class counted alike, this is no better than guessing." in warned
    assert not any("commonest class" in one for one in warned)
    fair = evaluate([[0.9, 0.1]] * 60 + [[0.1, 0.9]] * 40, [0] * 60 + [0] * 30 + [1] * 10, ["a", "b"])
    assert fair.accuracy < fair.majority
    assert not any("guessing" in one or "commonest" in one for one in caveats(fair, balanced=True))
    plain, balanced = (classifier_page(replace(made_up(), balanced=asked)) for asked in (False, True))
    for text, first in ((plain, ["accuracy", "commonest class"]), (balanced, ["balanced accuracy", "accuracy"])):
        check(text)
        assert re.findall(r"<dt>([^<]*)</dt>", text)[:2] == first
    assert "Balanced accuracy on test nodes; the first is" in balanced
    assert f"by guessing: {1 / len(SUBJECTS):.1%}" in balanced


def test_calibration_in_words() -> None:
    assert "at their word" in calibration(judged(900, 100, sure=0.9))
    assert "surer than it should be" in calibration(judged(600, 400, sure=0.9))
    assert "less sure than it should be" in calibration(judged(1000, 0, sure=0.6))
    assert "chance" in calibration(judged(10, 0))
    mixed = evaluate([[0.9, 0.1]] * 1000 + [[0.6, 0.4]] * 1000, [0] * 600 + [1] * 400 + [0] * 900 + [1] * 100, "ab")
    assert "too high for some" in calibration(mixed)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_words_and_lines_stand_out_from_what_is_behind_them(scheme: int) -> None:
    colour = dict(re.findall(r"--(\w+): (#\w{6});", re.split("@media", COLOURS)[scheme]))

    def contrast(front: str, back: str) -> float:
        bright, dim = sorted((luminance(colour[front]), luminance(colour[back])), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    # The levels of WCAG 2: 4.5 for words, 3 for lines and bars.
    for back in ("page", "shade", "heat"):
        assert contrast("text", back) >= 4.5
    for back in ("page", "shade"):
        assert contrast("soft", back) >= 4.5
    for i in range(8):
        assert contrast(f"c{i}", "page") >= 3


def test_ticks_are_round_and_span() -> None:
    for low, high in [(0, 1), (0.13, 0.97), (-5, 7), (1, 60), (1e-6, 3e-6), (5, 5)]:
        ticks = nice_ticks(low, high)
        assert ticks[0] <= low + 1e-12
        assert ticks[-1] >= high - 1e-12
        assert 2 <= len(ticks) <= 8


def test_lines_beyond_the_colours_are_dashed() -> None:
    chart = line_chart({f"m{i}": [0.0, float(i)] for i in range(9)}, "x", "y", colours={"m1": 8})
    assert '<polyline class="series-0" ' in chart
    assert '<polyline class="series-0 dashed" ' in chart
    assert chart.count("dashed") == 2 * 2, "of m1 and m8, each a line and a key"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("notes.html", "notes.html exists and is not a page of settwister's: choose another name"),
        ("notes.txt", "notes.txt ends in '.txt', expected the name of a page, such as page.html"),
        ("folder.html", "folder.html is a folder, expected the name of a page"),
    ],
)
def test_pages_take_the_place_of_pages_of_ours_alone(name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    for notes in ("notes.html", "notes.txt"):
        (tmp_path / notes).write_text("precious")
    with pytest.raises(InputError) as caught:
        check_page(tmp_path / name)
    assert sentence in str(caught.value)
    check_page(tmp_path / "new.html")


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    from test_experiments import reproduce

    arguments = [
        "integers_relu",
        "--budget",
        "smoke",
        "--models",
        "deepsets",
        "--tasks",
        "range",
        "--runs",
        str(tmp_path),
    ]
    page = tmp_path / "page.html"
    for _ in range(2):  # a page of ours may be written again
        done = reproduce(*arguments, "--html", str(page))
        assert done.returncode == 0, done.stderr
        check(page.read_text())
