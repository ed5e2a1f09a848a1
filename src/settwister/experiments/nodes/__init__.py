"""The node table: methods, protocols, and what one run is."""

from settwister.experiments.nodes.cells import NodeCell, node_cells
from settwister.experiments.nodes.methods import METHODS, ON_TOP
from settwister.experiments.nodes.protocol import PROTOCOLS, SPLITS, absent, node_rows, run_missing_nodes

__all__ = [
    "METHODS",
    "ON_TOP",
    "PROTOCOLS",
    "SPLITS",
    "NodeCell",
    "absent",
    "node_cells",
    "node_rows",
    "run_missing_nodes",
]
