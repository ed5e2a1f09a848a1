"""A small Cora in a data directory, and what the paper's protocol proposes for it."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from settwister.experiments.nodes.methods import method

NODES = 300


def written_cora(folder: Path) -> Path:
    """Three classes, neighbours mostly of one; the folder."""
    made = np.random.default_rng(0)
    y = made.integers(3, size=NODES)
    y[:3] = 0, 1, 2
    x = (made.random((NODES, 8)) < 0.1).astype(np.float32)
    x[np.arange(NODES), y] = 1
    pairs = made.integers(NODES, size=(2, 1500))
    kept = (y[pairs[0]] == y[pairs[1]]) | (made.random(1500) < 0.2)
    (folder / "cora").mkdir(parents=True)
    np.savez(folder / "cora" / "cora.npz", x=x, edge_index=pairs[:, kept], y=y)
    return folder


def proposed(
    name: str, graph: str, judge: Callable[[dict[str, Any]], float | None] = lambda settings: 0.0
) -> list[Any]:
    """What the paper's protocol tries, where settings have these scores."""
    search = method(name).paper_search(graph)
    found = [next(search)]
    with suppress(StopIteration):
        while True:
            found.append(search.send(judge(found[-1])))
    return found
