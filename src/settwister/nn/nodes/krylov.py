"""Truncated Krylov GCN and Snowball (Luan et al. 2019)."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from settwister._checks import choice, flag, probability, whole_number
from settwister.functional.dropout import dropout as drop
from settwister.functional.propagation import normalised
from settwister.nn.features import FeatureLinear, product, row_normalised
from settwister.nn.mlp import linear
from settwister.nn.nodes.base import NodeBatch, NodeModel, arguments

#: how weights begin: as in the code of these networks' authors, or as in our other models
STARTS = ("fan_out", "xavier")


class TruncatedKrylov(NodeModel):
    r"""TK-GCN.

    .. math:: H_{l+1} = \text{dropout}(\tanh([H_l, L H_l, \dots, L^{m-1} H_l] W_l + b_l)), \qquad L = D^{-1} (A + I)

    logits are a dense layer of the last H, without propagation. The product with W is taken block by block
    before propagating, Σ L^i (H W_i) by Horner's rule: m - 1 sparse products of the hidden width, and nothing wider.
    The blocks of X themselves, even computed once, would be m times as wide as X and no longer sparse.

    Args:
        in_dim, out_dim: features of a node, classes.
        hidden: width; layers: how many before the logits.
        blocks: m, published as 30, 19, 7 for Cora, Citeseer, PubMed.
        dropout: after every layer.
        normalise_rows: divide every node's features by their sum, as its authors do.
        start: ``"fan_out"``, its authors': weights and biases uniform within one over the root of a layer's width.
            Or ``"xavier"``, which counts what a layer reads as well, and biases of zero.
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        hidden: int = 128,
        layers: int = 2,
        blocks: int = 10,
        dropout: float = 0.5,
        normalise_rows: bool = True,
        start: str = "fan_out",
    ) -> None:
        super().__init__(arguments(locals()))
        self.blocks, self.dropout = whole_number("blocks", blocks), probability("dropout", dropout)
        self.normalise_rows = flag("normalise_rows", normalise_rows)
        widths = (in_dim, *[whole_number("hidden", hidden)] * whole_number("layers", layers))
        made = [FeatureLinear(a, blocks * b, bias=False) for a, b in pairwise(widths)]
        for width, layer in zip(widths[:-1], made, strict=True):  # start as one matrix of (m · in) × out would
            bound = math.sqrt(6 / (blocks * width + hidden))
            nn.init.uniform_(layer.weight, -bound, bound)
        self.layers = nn.ModuleList(made)
        self.biases = nn.ParameterList(torch.zeros(width) for width in widths[1:])
        self.last = linear(hidden, out_dim)
        if choice("start", start, STARTS) == "fan_out":
            for layer, bias in zip(made, self.biases, strict=True):
                _by_width(hidden, layer.weight, bias)
            _by_width(out_dim, self.last.weight, self.last.bias)

    def _prepare(self, batch: NodeBatch) -> NodeBatch:
        return _prepared(batch, self.normalise_rows)

    def _forward(self, prepared: NodeBatch) -> Tensor:
        h: Any = prepared.x
        for i, (layer, bias) in enumerate(zip(self.layers, self.biases, strict=True)):
            assert isinstance(layer, FeatureLinear)
            extra = prepared.extra if i == 0 else None
            *lower, highest = (weight.contiguous() for weight in layer.weight.chunk(self.blocks, dim=1))
            found = product(h, highest, extra)
            for weight in reversed(lower):
                found = product(h, weight, extra) + prepared.neighbours.sum(found)
            h = drop((found + bias).tanh().to(bias.dtype), self.dropout, self.training)
        out: Tensor = self.last(h)
        return out


class Snowball(NodeModel):
    r"""Densely connected convolutions.

    .. math:: H_{l+1} = \tanh(L [H_0, \dots, H_l] W_l), \qquad \text{logits} = L [H_0, \dots, H_n] W

    What the authors of collective learning really run under the name TK-GCN. Args as for :class:`TruncatedKrylov`.
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        hidden: int = 128,
        layers: int = 2,
        dropout: float = 0.5,
        normalise_rows: bool = True,
        start: str = "fan_out",
    ) -> None:
        super().__init__(arguments(locals()))
        self.dropout = probability("dropout", dropout)
        self.normalise_rows = flag("normalise_rows", normalise_rows)
        whole_number("hidden", hidden)
        before = [in_dim + i * hidden for i in range(whole_number("layers", layers) + 1)]
        self.layers = nn.ModuleList(FeatureLinear(width, hidden) for width in before[:-1])
        self.last = FeatureLinear(before[-1], out_dim)
        if choice("start", start, STARTS) == "fan_out":
            for layer in (*self.layers, self.last):
                _by_width(layer.weight.shape[1], layer.weight, layer.bias)

    def _prepare(self, batch: NodeBatch) -> NodeBatch:
        return _prepared(batch, self.normalise_rows)

    def _forward(self, prepared: NodeBatch) -> Tensor:
        behind = prepared.extra  # what stands behind the features, which stay sparse if they are
        dtype = self.last.weight.dtype
        for layer in self.layers:
            new = drop(prepared.neighbours.sum(layer(prepared.x, behind)).to(dtype).tanh(), self.dropout, self.training)
            behind = new if behind is None else torch.cat([behind, new], dim=1)
        return prepared.neighbours.sum(self.last(prepared.x, behind)).to(dtype)


def _by_width(width: int, *parameters: Tensor) -> None:
    for one in parameters:
        nn.init.uniform_(one, -1 / math.sqrt(width), 1 / math.sqrt(width))


def _prepared(batch: NodeBatch, normalise_rows: bool) -> NodeBatch:
    adjacency = normalised(batch.neighbours, "DA", loops=True)
    return replace(batch, x=row_normalised(batch.x) if normalise_rows else batch.x, neighbours=adjacency)
