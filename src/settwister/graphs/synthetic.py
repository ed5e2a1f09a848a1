"""Graphs made at random: stand-ins of a published graph's size, and one whose labels are about pairs of neighbours."""

import numpy as np
import torch
from scipy.spatial.distance import cdist

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.features import from_rows
from settwister.graphs.graph import Graph
from settwister.tasks.streams import stream

#: how many pairs of nodes a pairwise graph weighs at a time, 32 MB of numbers
_PAIRS_AT_ONCE = 1 << 22


def power_law_edges(made: np.random.Generator, nodes: int, edges: int) -> np.ndarray:
    """(2, edges) ends of edges. Nodes differ in how many they have by a power law, as those of real graphs do."""
    popular = (made.pareto(1.5, nodes) + 1).cumsum()
    ends: np.ndarray = np.searchsorted(popular, made.random((2, edges)) * popular[-1])
    return ends.clip(0, nodes - 1)


def stand_in(
    nodes: int, edges: int, features: int, classes: int, density: float = 1.0, seed: int = 0, name: str = "stand-in"
) -> Graph:
    """Random edges, features and labels, in the sizes of a real graph: for speed and memory, not for accuracy.

    Args:
        density: the share of features that are not 0; below ½ they are sparse.
    """
    made = stream(seed, "stand-in")
    ends = power_law_edges(made, nodes, edges)
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

    Every node has hidden attributes z. A node v looks at ``degree`` others, each at most once: the more likely the
    closer their z are to a centre of v's own, measured in a spread of v's own. Its label is whether the *variance* of z
    among them is above the median over all nodes. z enters the features through a random rotation among as many
    meaningless numbers, with noise. So single neighbours say nothing, nor does their number, nor their mean; their
    squares say little, because centres vary more than spreads.
    """
    if not 0 < degree < nodes:
        raise InputError(f"degree is {degree}, expected at least 1 and fewer than the {nodes} nodes")
    made = stream(seed, "pairwise")
    z = made.uniform(-2, 2, (nodes, attributes))
    centre, spread = made.uniform(-1.5, 1.5, (nodes, attributes)), made.uniform(0.1, 0.6, nodes)
    looked_at = np.empty((nodes, degree), np.int64)
    for part in np.array_split(np.arange(nodes), -(-nodes * nodes // _PAIRS_AT_ONCE)):
        # the largest sums of a log weight and a Gumbel number are a draw by weight, without putting back
        drawn = made.gumbel(size=(len(part), nodes)) - (cdist(centre[part], z) / spread[part, None]) ** 2 / 2
        drawn[np.arange(len(part)), part] = -np.inf
        looked_at[part] = np.argpartition(-drawn, degree - 1, axis=1)[:, :degree]
    variance = z[looked_at].var(axis=1).sum(axis=1)
    rotation, _ = np.linalg.qr(made.standard_normal((2 * attributes, 2 * attributes)))
    shown = z + noise * made.standard_normal(z.shape)
    x = np.concatenate([shown, made.standard_normal(z.shape)], axis=1) @ rotation
    edges = np.stack([looked_at.reshape(-1), np.repeat(np.arange(nodes), degree)])
    label = (variance > np.median(variance)).astype(np.int64)
    name = f"pairwise, degree {degree}"
    return Graph.make(torch.from_numpy(x.astype(np.float32)), edges, label, directed=True, name=name)
