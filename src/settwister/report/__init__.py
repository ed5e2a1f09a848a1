"""Pages for people: HTML that needs nothing but a browser."""

from settwister.report.charts import line_chart
from settwister.report.page import html_table, page

__all__ = ["html_table", "line_chart", "page"]
