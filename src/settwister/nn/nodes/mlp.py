"""A node's own features and nothing else."""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from settwister._checks import choice, probability, widths
from settwister.nn.features import FeatureLinear, take_rows
from settwister.nn.mlp import ACTIVATIONS, mlp
from settwister.nn.nodes.base import NodeBatch, NodeModel, arguments


class NodeMLP(NodeModel):
    """A feed-forward network on the node's own features.

    Args:
        in_dim, out_dim: features of a node, classes.
        hidden: widths.
        activation, dropout, input_dropout: as for :class:`~settwister.nn.nodes.OneHopDeepSets`.
    """

    hops = 0

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        hidden: tuple[int, ...] = (256,),
        activation: str = "relu",
        dropout: float = 0.5,
        input_dropout: float = 0.5,
    ) -> None:
        hidden = widths("hidden", hidden)
        super().__init__(arguments(locals()))
        choice("activation", activation, ACTIVATIONS)
        for name in ("dropout", "input_dropout"):
            probability(name, self.config[name])
        first = partial(FeatureLinear, dropout=input_dropout)
        self.layers = mlp(in_dim, (*hidden, out_dim), activation, activate_last=False, dropout=dropout, first=first)

    def _prepare(self, batch: NodeBatch) -> NodeBatch:
        """Only the nodes themselves."""
        if batch.own is None:
            return batch
        own = torch.arange(batch.neighbours.num_elements)[batch.own]
        none = replace(batch.neighbours.emptied(len(own)), num_elements=len(own))
        return NodeBatch(take_rows(batch.x, own), none)

    def _forward(self, prepared: NodeBatch) -> Tensor:
        first, *rest = self.layers
        out: Tensor = first(prepared.x, prepared.extra)
        for layer in rest:
            out = layer(out)
        return out
