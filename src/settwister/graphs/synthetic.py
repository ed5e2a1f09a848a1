"""Graphs made at random: stand-ins of a published graph's size, and one whose labels are about pairs of neighbours."""

import numpy as np
import torch
from scipy.spatial import cKDTree

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
        # one in each of as many ranges of columns, so that none is drawn twice
        ends_of_ranges = np.linspace(0, features, stored + 1).astype(np.int64)
        low, width = ends_of_ranges[:-1], np.diff(ends_of_ranges)
        columns = low + (made.random((nodes, stored)) * width).astype(np.int64)
        x = from_rows(np.arange(nodes + 1) * stored, columns.reshape(-1), None, (nodes, features))
    else:
        x = torch.from_numpy(made.standard_normal((nodes, features), dtype=np.float32))
    labels = made.integers(classes, size=nodes)
    return Graph.make(x, torch.from_numpy(ends), labels, num_classes=classes, name=name)


def pairwise_graph(nodes: int, degree: int, seed: int = 0, noise: float = 0.1, attributes: int = 3) -> Graph:
    """A graph whose label says whether a node's neighbours differ much: a function of pairs of them, nothing else.

    Every node has hidden attributes z. A node v looks at ``degree`` others, whose z scatter around a centre of v's own
    with a spread of v's own; its label is whether the *variance* of z among them is above the median over all nodes.
    z enters the features through a random rotation among as many meaningless numbers, with noise. So single neighbours
    say nothing, nor does their mean; their squares say little, because centres vary more than spreads.
    """
    made = stream(seed, "pairwise")
    z = made.uniform(-2, 2, (nodes, attributes))
    centre, spread = made.uniform(-1.5, 1.5, (nodes, 1, attributes)), made.uniform(0.1, 0.6, (nodes, 1, 1))
    wanted = centre + spread * made.standard_normal((nodes, degree, attributes))
    _, looked_at = cKDTree(z).query(wanted.reshape(-1, attributes))
    variance = z[looked_at].reshape(wanted.shape).var(axis=1).sum(axis=1)
    rotation, _ = np.linalg.qr(made.standard_normal((2 * attributes, 2 * attributes)))
    shown = z + noise * made.standard_normal(z.shape)
    x = np.concatenate([shown, made.standard_normal(z.shape)], axis=1) @ rotation
    edges = np.stack([looked_at, np.repeat(np.arange(nodes), degree)])
    label = (variance > np.median(variance)).astype(np.int64)
    name = f"pairwise, degree {degree}"
    return Graph.make(torch.from_numpy(x.astype(np.float32)), edges, label, directed=True, loops=True, name=name)
