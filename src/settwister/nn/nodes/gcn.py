"""GCN (Kipf and Welling 2017) and, through PyG's layer, GAT (Veličković et al. 2018)."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from settwister._checks import probability, whole_number
from settwister.extras import needs
from settwister.functional.autocast import at_least_single, full_precision
from settwister.functional.propagation import normalised
from settwister.nn.features import FeatureLinear
from settwister.nn.nodes.base import NodeBatch, NodeModel, arguments


class GCN(NodeModel):
    r"""Graph convolutions.

    .. math:: H_{l+1} = \text{relu}(\hat A H_l W_l + b_l), \qquad \hat A = D^{-1/2} (A + I) D^{-1/2}

    The same function as PyG's GCNConv layers; on sparse features and the two-way neighbour sum it is several times
    faster.

    Args:
        in_dim, out_dim: features of a node, classes.
        hidden: width; layers: how many, the last one included.
        dropout: before every layer.
    """

    def __init__(self, in_dim: int, out_dim: int, hidden: int = 256, layers: int = 2, dropout: float = 0.5) -> None:
        super().__init__(arguments(locals()))
        probability("dropout", dropout)
        widths = (in_dim, *[whole_number("hidden", hidden)] * (whole_number("layers", layers) - 1), out_dim)
        self.layers = nn.ModuleList(FeatureLinear(a, b, bias=False, dropout=dropout) for a, b in pairwise(widths))
        self.biases = nn.ParameterList(torch.zeros(width) for width in widths[1:])

    def _prepare(self, batch: NodeBatch) -> NodeBatch:
        return replace(batch, neighbours=normalised(batch.neighbours, "DAD", loops=True))

    def _forward(self, prepared: NodeBatch) -> Tensor:
        h: Any = prepared.x
        for i, (layer, bias) in enumerate(zip(self.layers, self.biases, strict=True)):
            summed = prepared.neighbours.sum(layer(h, prepared.extra if i == 0 else None))
            h = (summed + bias).to(bias.dtype)
            if i < len(self.layers) - 1:
                h = h.relu()
        out: Tensor = h
        return out


class GAT(NodeModel):
    """Graph attention: every layer but the last concatenates its heads, the last averages one head.

    PyG's GATConv, whose own projection is left to ours, which reads sparse features. Weights of edges are not read: an
    edge is there or is not.

    Args:
        in_dim, out_dim: features of a node, classes.
        hidden: width per head; heads: of every layer but the last.
        layers: how many, the last one included.
        dropout: before every layer, and of the attention.
    """

    def __init__(
        self, in_dim: int, out_dim: int, hidden: int = 16, heads: int = 8, layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__(arguments(locals()))
        needs("GAT", "pyg", "torch_geometric")
        from torch_geometric.nn import GATConv

        wide = whole_number("hidden", hidden) * whole_number("heads", heads)
        widths = (in_dim, *[wide] * (whole_number("layers", layers) - 1), out_dim)
        probability("dropout", dropout)
        self.projections = nn.ModuleList(FeatureLinear(a, b, bias=False, dropout=dropout) for a, b in pairwise(widths))
        convs = [GATConv(wide, hidden, heads=heads, dropout=dropout) for _ in range(layers - 1)]
        self.layers = nn.ModuleList([*convs, GATConv(out_dim, out_dim, heads=1, concat=False, dropout=dropout)])
        for conv in self.layers:
            conv.lin = nn.Identity()

    def _prepare(self, batch: NodeBatch) -> tuple[NodeBatch, Tensor]:
        return batch, torch.stack([batch.neighbours.index.long(), batch.neighbours.rows])

    def with_extra(self, prepared: tuple[NodeBatch, Tensor], extra: Tensor) -> tuple[NodeBatch, Tensor]:
        return replace(prepared[0], extra=extra), prepared[1]

    def _forward(self, prepared: tuple[NodeBatch, Tensor]) -> Tensor:
        batch, edges = prepared
        h: Any = batch.x
        for i, (project, conv) in enumerate(zip(self.projections, self.layers, strict=True)):
            projected = project(h, batch.extra if i == 0 else None)
            with full_precision(projected.device.type):
                h = conv(at_least_single(projected), edges).to(project.weight.dtype)
            if i < len(self.layers) - 1:
                h = nn.functional.elu(h)
        out: Tensor = h
        return out
