"""Graphs made at random: stand-ins of a published graph's size."""

import numpy as np
import torch

from settwister.functional.neighbour_sum import Csr
from settwister.graphs.features import from_rows
from settwister.graphs.graph import Graph
from settwister.tasks.streams import stream


def stand_in(
    nodes: int, edges: int, features: int, classes: int, density: float = 1.0, seed: int = 0, name: str = "stand-in"
) -> Graph:
    """Random edges, features and labels, in the sizes of a real graph: for speed and memory, not for accuracy.

    Ends of edges follow a power law, as those of real graphs do.

    Args:
        density: the share of features that are not 0; below ½ they are sparse.
    """
    made = stream(seed, "stand-in")
    popular = (made.pareto(1.5, nodes) + 1).cumsum()
    ends = np.searchsorted(popular, made.random((2, edges)) * popular[-1]).clip(0, nodes - 1)
    x: torch.Tensor | Csr
    if density < 0.5:
        stored = max(1, round(density * features))
        columns = np.sort(made.integers(features, size=(nodes, stored)), axis=1)
        x = from_rows(np.arange(nodes + 1) * stored, columns.reshape(-1), None, (nodes, features))
    else:
        x = torch.from_numpy(made.standard_normal((nodes, features), dtype=np.float32))
    labels = made.integers(classes, size=nodes)
    return Graph.make(x, torch.from_numpy(ends), labels, num_classes=classes, name=name)
