"""The run store: one JSON file per (table, model, task, seed), written whole or not at all."""

import json
import os
import platform
import resource
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from settwister._version import __version__
from settwister.errors import InputError
from settwister.experiments.cells import TableCell, home
from settwister.experiments.whole import is_whole
from settwister.files import check_writable, new_file

FORMAT = 1


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
        #: files that are no runs of their places, by the names that they have now, and why not
        self.broken: dict[Path, str] = {}

    def path(self, cell: TableCell, seed: int) -> Path:
        table, task = cell.home
        return self.folder / table / cell.model / task / f"seed-{seed}.json"

    def read(self, cell: TableCell, seed: int) -> dict[str, Any] | None:
        """A finished run, or None; a file that is not a whole run of its place is noted, and set aside under another
        name.
        """
        path = self.path(cell, seed)
        if not path.is_file():
            if self.only_read and (obstacle := self._obstacle(path)) is not None:
                self.broken.setdefault(*obstacle)
            return None
        try:
            text = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}): check it, or choose another --runs") from error
        try:
            content = json.loads(text)
            newer = content["format"] > FORMAT
            whole = content["format"] == FORMAT and is_whole(content, cell.table)
            of_place = whole and _is_of(content, cell, seed)
        except (ValueError, KeyError, TypeError, RecursionError):
            newer = whole = of_place = False
        if newer:
            raise InputError(
                f"{path} has format {content['format']}, expected {FORMAT}: a newer settwister wrote it, use that one "
                "or choose another folder with --runs"
            )
        if not of_place:
            if not self.only_read:
                path = path.replace(path.with_suffix(".broken"))
            self.broken.setdefault(path, "of another method, graph, table or seed" if whole else "not whole")
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

    def check_writable(self, runs: Iterable[tuple[TableCell, int]] = ()) -> None:
        """Fail before hours of training rather than after: what is to be written are these cells' seeds."""
        check_writable(self.folder / "table")
        for cell, seed in runs:
            if (obstacle := self._obstacle(self.path(cell, seed))) is not None:
                path, is_what = obstacle
                raise InputError(
                    f"{path} is {is_what}, so no run can be written there: move it away, or choose another folder with "
                    "--runs"
                )

    def _obstacle(self, path: Path) -> tuple[Path, str] | None:
        """What stands where a run, or a folder above it, belongs, and what it is."""
        if path.is_dir():
            return path, "a folder"
        above = [folder for folder in path.parents if folder.is_relative_to(self.folder)]
        found = next((folder for folder in above if os.path.lexists(folder) and not folder.is_dir()), None)
        return None if found is None else (found, "a file")

    def search_file(self, cell: TableCell) -> Path:
        """Where a search for settings keeps its trials."""
        return self.path(cell, 0).parent / "search.json"

    def checkpoints(self, cell: TableCell) -> Path:
        """Where an unfinished run of this cell keeps its state."""
        return self.path(cell, 0).parent / "unfinished"


def _is_of(content: dict[str, Any], cell: TableCell, seed: int) -> bool:
    """Whether a run is of its place; another table that asks for the same training may have written it."""
    of_home = home(content["table"], content["model"], content["task"]) == cell.home
    return of_home and content["model"] == cell.model and content["seed"] == seed


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
