"""Benchmarks: every speed is a ratio of two things measured side by side in one run."""

from collections.abc import Callable

from settwister.bench import nodes, sets, twist
from settwister.bench.timing import Part, Row

#: each in parts, so that a person can be told how far it is
BENCHMARKS: dict[str, Callable[[], list[Part]]] = {"twist": twist.parts, "sets": sets.parts, "nodes": nodes.parts}

__all__ = ["BENCHMARKS", "Part", "Row"]
