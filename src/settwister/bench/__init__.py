"""Benchmarks: every speed is a ratio of two things measured side by side in one run."""

from collections.abc import Callable

from settwister.bench import nodes, sets, twist
from settwister.bench.timing import Row

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {"twist": twist.rows, "sets": sets.rows, "nodes": nodes.rows}

__all__ = ["BENCHMARKS", "Row"]
