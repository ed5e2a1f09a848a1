"""Seconds and memory of reading a table of ten million edges, from Parquet, CSV and packed CSV.

    python benchmarks/edge_tables.py [edges]

The tables are made at random, edges between a tenth as many nodes, in a temporary folder. Every file is read in a
process of its own, so that its peak memory is its own; what the process needs before it reads (torch, polars, the
nodes' ids) is in a column beside it. What stays afterwards is two numbers of eight bytes per edge. A few minutes on two
cores.
"""

import gzip
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl

from settwister.tables import read_edges

EDGES = 10_000_000
NODES_PER_EDGE = 0.1
FORMS = ("parquet", "csv", "csv.gz")
IDS: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda values: values,
    "text": lambda values: pl.Series(values).cast(pl.String).str.zfill(9),
}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write(folder: Path, edges: int) -> None:
    made, nodes = np.random.default_rng(0), int(edges * NODES_PER_EDGE)
    ends = made.integers(nodes, size=(2, edges))
    for kind, named in IDS.items():
        pl.DataFrame({"id": named(np.arange(nodes))}).write_parquet(folder / f"{kind}-nodes.parquet")
        table = pl.DataFrame({"source": named(ends[0]), "target": named(ends[1])})
        table.write_parquet(folder / f"{kind}.parquet")
        table.write_csv(folder / f"{kind}.csv")
        with gzip.open(folder / f"{kind}.csv.gz", "wb", compresslevel=1) as file:
            table.write_csv(cast(IO[bytes], file))


def measure(path: Path) -> dict[str, float]:
    ids = pl.read_parquet(path.with_name(f"{path.name.split('.')[0]}-nodes.parquet"))["id"]
    before, began = peak_mb(), time.perf_counter()
    found = read_edges(path, ids)
    return dict(seconds=time.perf_counter() - began, peak=peak_mb(), before=before, edges=found.pairs.shape[1])


def asked(*arguments: Any) -> str:
    """What this script prints in a process of its own. Memory that its parent had counts as its own, so write there."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(edges: int) -> None:
    columns = ["ids", "file", "its size, MB", "s", "peak memory, MB", "of it before reading, MB"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    with tempfile.TemporaryDirectory() as folder:
        asked("--write", folder, edges)
        for ids, form in itertools.product(IDS, FORMS):
            path = Path(folder) / f"{ids}.{form}"
            found = json.loads(asked("--read", path))
            assert found["edges"] == edges
            size = f"{path.stat().st_size / 1e6:,.0f}"
            numbers = f"{found['seconds']:.1f} | {found['peak']:,.0f} | {found['before']:,.0f}"
            print(f"| {ids} | {form} | {size} | {numbers} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--read"]:
        print(json.dumps(measure(Path(sys.argv[2]))))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else EDGES)
