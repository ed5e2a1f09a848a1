"""Pages: whole, self-contained, and with charts that show what they were given."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from settwister.experiments.page import table_page
from settwister.report import html_table, line_chart, page
from settwister.report.charts import nice_ticks
from test_experiments import some_rows

VOID = {"meta", "line", "br"}


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


def rows_with_curves() -> list[object]:
    found = some_rows()
    for row in found:
        for run in row.runs:
            run["curves"] = {"validation_score": [9.0, 3.0, run["test"]]}
    return found


def test_the_page_of_a_table() -> None:
    text = table_page(rows_with_curves())
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


def test_ticks_are_round_and_span() -> None:
    for low, high in [(0, 1), (0.13, 0.97), (-5, 7), (1, 60), (1e-6, 3e-6), (5, 5)]:
        ticks = nice_ticks(low, high)
        assert ticks[0] <= low + 1e-12
        assert ticks[-1] >= high - 1e-12
        assert 2 <= len(ticks) <= 8


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
    done = reproduce(*arguments, "--html", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    check((tmp_path / "page.html").read_text())
