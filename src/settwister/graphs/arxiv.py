"""ogbn-arxiv in the raw form of the Open Graph Benchmark: gzipped tables of numbers without headers."""

import gzip
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.graphs.parts import Parts, split_of_ids, whole_numbers
from settwister.graphs.reading import reading

TABLES = ("raw/edge.csv.gz", "raw/node-feat.csv.gz", "raw/node-label.csv.gz", "raw/node_year.csv.gz")
SPLIT = tuple(f"split/time/{part}.csv.gz" for part in ("train", "valid", "test"))
FILES = (*TABLES, *SPLIT)
ROWS_AT_ONCE = 8192


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
        blocks = []
        with gzip.open(path, "rt", encoding="ascii") as handle:
            while lines := list(islice(handle, ROWS_AT_ONCE)):
                blocks.append(np.loadtxt(lines, dtype=dtype, delimiter=",", ndmin=2, comments=None))
        width = blocks[0].shape[1] if blocks else 0
        if not blocks or any(block.shape[1] != (columns or width) for block in blocks):
            raise InputError(f"there are {width} columns, expected {columns or 'rows of one length'}")
        return np.concatenate(blocks)
