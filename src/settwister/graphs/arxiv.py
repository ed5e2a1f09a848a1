"""ogbn-arxiv in the raw form of the Open Graph Benchmark: gzipped tables of numbers without headers."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.graphs.limits import LARGEST_FILE, MOST_NUMBERS, check_count, check_file
from settwister.graphs.parts import Parts, split_of_ids, whole_numbers
from settwister.graphs.reading import reading

TABLES = ("raw/edge.csv.gz", "raw/node-feat.csv.gz", "raw/node-label.csv.gz", "raw/node_year.csv.gz")
SPLIT = tuple(f"split/time/{part}.csv.gz" for part in ("train", "valid", "test"))
FILES = (*TABLES, *SPLIT)
ROWS_AT_ONCE = 8192
CHARACTERS_AT_ONCE = 2**24
LONGEST_LINE = 2**16  # characters; 128 features are about 1,300


def read(folder: Path) -> Parts:
    """Papers, citations, and the split by year: train on the oldest papers, test on the newest."""
    edges, x, y, year = (
        table(folder / file, kind, columns)
        for file, kind, columns in zip(TABLES, (np.int64, np.float32, np.int64, np.int64), (2, None, 1, 1), strict=True)
    )
    nodes, parts = len(x), [table(folder / file, np.int64, 1)[:, 0] for file in SPLIT]
    with reading(folder, "the tables of ogbn-arxiv"):
        labels = whole_numbers("node-label", y[:, 0], (nodes,))
        years = whole_numbers("node_year", year[:, 0], (nodes,))
        split = split_of_ids(nodes, *parts)
        for earlier, later in ((split.train, split.validation), (split.validation, split.test)):
            if len(earlier) and len(later) and int(years[earlier].max()) >= int(years[later].min()):
                raise InputError(
                    f"a part of the split has papers of {int(years[earlier].max())}, and the next, of "
                    f"{int(years[later].min())}, expected parts that follow each other in time"
                )
        return Parts(torch.from_numpy(x), torch.from_numpy(edges.T.copy()), labels, {"year": [split]})


def table(path: Path, dtype: type[Any], columns: int | None) -> NDArray[Any]:
    """A table of numbers, parsed a few thousand rows at a time: its text is never in memory as a whole."""
    with reading(path, "a gzipped table of numbers"):
        check_file(path)
        blocks, numbers = [], 0
        with gzip.open(path, "rt", encoding="ascii") as handle:
            for lines in _blocks(handle):
                blocks.append(np.loadtxt(lines, dtype=dtype, delimiter=",", ndmin=2, comments=None))
                numbers += blocks[-1].size
                check_count("numbers or more", numbers, MOST_NUMBERS)
        width = blocks[0].shape[1] if blocks else 0
        if not blocks or any(block.shape[1] != (columns or width) for block in blocks):
            raise InputError(f"there are {width} columns, expected {columns or 'rows of one length'}")
        return np.concatenate(blocks)


def _blocks(handle: TextIO) -> Iterator[list[str]]:
    """The lines that say something, some at a time, in bounded memory whatever the text: gzip packs 1,000 to 1."""
    lines: list[str] = []
    total = waiting = 0
    while line := handle.readline(LONGEST_LINE + 1):
        total += len(line)
        check_count("characters or more in a line", len(line), LONGEST_LINE)
        check_count("characters or more", total, LARGEST_FILE)
        if not line.isspace():
            lines.append(line)
            waiting += len(line)
        if len(lines) == ROWS_AT_ONCE or waiting >= CHARACTERS_AT_ONCE:
            yield lines
            lines, waiting = [], 0
    if lines:
        yield lines
