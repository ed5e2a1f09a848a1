"""Graphs: features, neighbour sets, labels, splits, and where they come from."""

from settwister.graphs.features import SCALINGS, binned, scaled, standardised, tf_idf
from settwister.graphs.folder import open_folder, save_folder
from settwister.graphs.graph import Graph, neighbour_sets
from settwister.graphs.pyg import from_pyg
from settwister.graphs.registry import GRAPHS, available, load
from settwister.graphs.splits import Split, random_split

__all__ = [
    "GRAPHS",
    "SCALINGS",
    "Graph",
    "Split",
    "available",
    "binned",
    "from_pyg",
    "load",
    "neighbour_sets",
    "open_folder",
    "random_split",
    "save_folder",
    "scaled",
    "standardised",
    "tf_idf",
]
