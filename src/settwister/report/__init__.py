"""Pages for people: HTML that needs nothing but a browser."""

from settwister.report.bars import bar_chart, rank_bars
from settwister.report.charts import line_chart
from settwister.report.classifier import classifier_page
from settwister.report.classifier_report import ClassifierReport, DataSummary, LeaderboardRow
from settwister.report.matrix import heat_map
from settwister.report.page import html_table, page
from settwister.report.reliability import reliability_diagram

__all__ = [
    "ClassifierReport",
    "DataSummary",
    "LeaderboardRow",
    "bar_chart",
    "classifier_page",
    "heat_map",
    "html_table",
    "line_chart",
    "page",
    "rank_bars",
    "reliability_diagram",
]
