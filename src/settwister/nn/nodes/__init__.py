"""Models of nodes: single-hop ones, and the rivals that look further."""

from settwister.nn.nodes.averaged import Averaged
from settwister.nn.nodes.base import NodeBatch, NodeModel
from settwister.nn.nodes.gcn import GAT, GCN
from settwister.nn.nodes.grand import Grand
from settwister.nn.nodes.krylov import Snowball, TruncatedKrylov
from settwister.nn.nodes.mlp import NodeMLP
from settwister.nn.nodes.one_hop import OneHopDeepSets, OneHopSetTwister

__all__ = [
    "GAT",
    "GCN",
    "Averaged",
    "Grand",
    "NodeBatch",
    "NodeMLP",
    "NodeModel",
    "OneHopDeepSets",
    "OneHopSetTwister",
    "Snowball",
    "TruncatedKrylov",
]
