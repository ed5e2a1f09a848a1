"""The run store: one JSON file per (table, model, task, seed), written whole or not at all."""

import json
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
from settwister.files import check_writable, new_file

FORMAT = 1
#: tables of estimators: their runs do not say how they were trained
UNTOLD = ("estimator",)


class RunStore:
    """A folder of run files: ``budget/table/model/task/seed-N.json``.

    Args:
        folder: made when the first run is written.
        budget: runs of different budgets never mix.
        variants: what else sets these runs apart, such as ``"holdout"`` or another number of epochs; part of the path.
        only_read: leave files that are not whole where they are.
    """

    def __init__(self, folder: str | Path, budget: str, *variants: str, only_read: bool = False) -> None:
        self.folder = Path(folder) / "-".join([budget, *variants])
        self.only_read = only_read
        #: run files that were not whole, by the names that they have now
        self.broken: list[Path] = []

    def path(self, cell: TableCell, seed: int) -> Path:
        table, task = cell.home
        return self.folder / table / cell.model / task / f"seed-{seed}.json"

    def read(self, cell: TableCell, seed: int) -> dict[str, Any] | None:
        """A finished run, or None; a file that is not a whole run is noted, and set aside under another name."""
        path = self.path(cell, seed)
        if not path.is_file():
            return None
        try:
            text = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}): check it, or choose another --runs") from error
        try:
            content = json.loads(text)
            newer = content["format"] > FORMAT
            whole = content["format"] == FORMAT and _is_whole(content, cell, seed)
        except (ValueError, KeyError, TypeError):
            newer = whole = False
        if newer:
            raise InputError(
                f"{path} has format {content['format']}, expected {FORMAT}: a newer settwister wrote it, use that one "
                "or choose another folder with --runs"
            )
        if not whole:
            if not self.only_read:
                path = path.replace(path.with_suffix(".broken"))
            if path not in self.broken:
                self.broken.append(path)
            return None
        return dict(content)

    def write(self, cell: TableCell, seed: int, content: dict[str, Any]) -> None:
        """Keep a run; one that was read keeps what it says of the machine that it was made on."""
        path = self.path(cell, seed)
        whole = {"format": FORMAT, "table": cell.table, "model": cell.model, "task": cell.task} | content
        try:
            with new_file(path) as staging:
                staging.write_text(json.dumps({"machine": machine()} | whole) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{path} cannot be written ({error.strerror}): choose another folder with --runs"
            ) from error

    def check_writable(self) -> None:
        """Fail before hours of training rather than after."""
        check_writable(self.folder / "table")

    def search_file(self, cell: TableCell) -> Path:
        """Where a search for settings keeps its trials."""
        return self.path(cell, 0).parent / "search.json"

    def checkpoints(self, cell: TableCell) -> Path:
        """Where an unfinished run of this cell keeps its state."""
        return self.path(cell, 0).parent / "unfinished"


def _is_whole(content: dict[str, Any], cell: TableCell, seed: int) -> bool:
    """Whether a run has what every table reads of it."""
    numbers = [content["test"]]
    if cell.table not in UNTOLD:
        epochs = content.get("epochs", content["recipe"]["epochs"])
        numbers += [epochs, content["parameters"], content["seconds_per_epoch"]]
    return content["seed"] == seed and all(type(number) in (int, float) for number in numbers)


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
