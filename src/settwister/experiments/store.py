"""The run store: one JSON file per (table, model, task, seed), written whole or not at all."""

import json
import os
import platform
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from settwister._version import __version__
from settwister.errors import InputError
from settwister.experiments.cells import TableCell
from settwister.files import new_file

FORMAT = 1


class RunStore:
    """A folder of run files: ``budget/table/model/task/seed-N.json``.

    Args:
        folder: made when the first run is written.
        budget: runs of different budgets never mix.
        variant: of the data, such as ``"holdout"``; part of the path where given.
    """

    def __init__(self, folder: str | Path, budget: str, variant: str = "") -> None:
        self.folder = Path(folder) / (f"{budget}-{variant}" if variant else budget)
        self.set_aside: list[Path] = []

    def path(self, cell: TableCell, seed: int) -> Path:
        table, task = cell.home
        return self.folder / table / cell.model / task / f"seed-{seed}.json"

    def read(self, cell: TableCell, seed: int) -> dict[str, Any] | None:
        """A finished run, or None; a file that is not a whole run is set aside under another name."""
        path = self.path(cell, seed)
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or not isinstance(content["test"], float):
                raise ValueError(f"format {content['format']!r}")
        except (ValueError, KeyError, TypeError, OSError):
            aside = path.with_suffix(".broken")
            path.replace(aside)
            self.set_aside.append(aside)
            return None
        return dict(content)

    def write(self, cell: TableCell, seed: int, content: dict[str, Any]) -> None:
        path = self.path(cell, seed)
        whole = {"format": FORMAT, "table": cell.table, "model": cell.model, "task": cell.task} | content
        try:
            with new_file(path) as staging:
                staging.write_text(json.dumps(whole | {"machine": machine()}) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{path} cannot be written ({error.strerror}): choose another folder with --runs"
            ) from error

    def check_writable(self) -> None:
        """Fail before hours of training rather than after."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be made ({error.strerror}): choose another with --runs") from error
        if not os.access(self.folder, os.W_OK):
            raise InputError(f"{self.folder} cannot be written to: choose another folder with --runs")

    def search_file(self, cell: TableCell) -> Path:
        """Where a search for settings keeps its trials."""
        return self.path(cell, 0).parent / "search.json"

    def checkpoints(self, cell: TableCell) -> Path:
        """Where an unfinished run of this cell keeps its state."""
        return self.path(cell, 0).parent / "unfinished"


def machine() -> dict[str, Any]:
    """What a run was made with."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "settwister": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "peak_memory_mb": round(peak / (1024 if sys.platform == "linux" else 1024**2)),
    }
