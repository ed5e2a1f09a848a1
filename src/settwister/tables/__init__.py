"""A person's own tables: nodes, edges, columns of any kind as numbers. Needs ``pip install 'settwister[tables]'``."""

from settwister.tables.edges import EdgeTable, read_edges
from settwister.tables.encoder import TableEncoder
from settwister.tables.nodes import NodeTable, labels, read_nodes
from settwister.tables.reading import read_table

__all__ = ["EdgeTable", "NodeTable", "TableEncoder", "labels", "read_edges", "read_nodes", "read_table"]
