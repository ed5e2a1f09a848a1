"""Benchmarks: every speed is a ratio of two things measured side by side in one run."""

from collections.abc import Callable

from settwister.bench import twist
from settwister.bench.timing import Row

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {"twist": twist.rows}

__all__ = ["BENCHMARKS", "Row"]
