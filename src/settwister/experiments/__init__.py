"""The paper's tables as experiments: cells, budgets, run files, statistics, rendering."""

from settwister.experiments.cells import TABLES, Cell, cells
from settwister.experiments.recipes import BUDGETS, plan
from settwister.experiments.runner import Row, rows, run_missing
from settwister.experiments.store import RunStore

__all__ = ["BUDGETS", "TABLES", "Cell", "Row", "RunStore", "cells", "plan", "rows", "run_missing"]
