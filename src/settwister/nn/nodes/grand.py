"""GRAND: random propagation and consistency (Feng et al. 2020)."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from settwister._checks import probability, whole_number
from settwister.functional.dropout import keep
from settwister.functional.neighbour_sum import Csr
from settwister.functional.propagation import normalised
from settwister.nn.dropout import Dropout
from settwister.nn.features import dense, row_normalised
from settwister.nn.mlp import linear
from settwister.nn.nodes.base import NodeBatch, NodeModel, arguments


class Grand(NodeModel):
    r"""A two-layer network on features that are spread after whole nodes were dropped at random.

    .. math:: \bar X = \frac{1}{K+1} \sum_{i=0}^{K} \hat A^i (m \odot X)

    S such augmentations go through one network; beside the labels' loss, their predictions on all nodes are drawn to
    the sharpened mean of them. No gradient flows through the propagation, and without dropping it is computed once.

    Args:
        in_dim, out_dim: features of a node, classes.
        hidden: width.
        steps: K; samples: S.
        drop_node: the probability that a node's features are dropped.
        input_dropout, dropout: of the propagated features, of the hidden layer.
        consistency: the weight lambda; temperature: T of the sharpening.
        batch_norm: normalise the input and the hidden layer, as published for PubMed.
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        hidden: int = 32,
        steps: int = 8,
        samples: int = 4,
        drop_node: float = 0.5,
        input_dropout: float = 0.5,
        dropout: float = 0.5,
        consistency: float = 1.0,
        temperature: float = 0.5,
        batch_norm: bool = False,
    ) -> None:
        super().__init__(arguments(locals()))
        self.steps, self.samples = whole_number("steps", steps, least=0), whole_number("samples", samples)
        self.drop_node = probability("drop_node", drop_node)
        self.consistency, self.temperature = consistency, temperature
        whole_number("hidden", hidden)

        def norm(width: int) -> list[nn.Module]:
            return [nn.BatchNorm1d(width)] if batch_norm else []

        self.layers = nn.Sequential(
            *norm(in_dim), Dropout(input_dropout), linear(in_dim, hidden), nn.ReLU(),
            *norm(hidden), Dropout(dropout), linear(hidden, out_dim),
        )  # fmt: skip

    def prepare(self, batch: NodeBatch) -> tuple[Tensor, Csr, Tensor]:
        super().prepare(batch)
        x, adjacency = dense(row_normalised(batch.x)), normalised(batch.neighbours, "DAD", loops=True)
        return x, adjacency, self._spread(x, adjacency)

    def with_extra(self, prepared: tuple[Tensor, Csr, Tensor], extra: Tensor) -> tuple[Tensor, Csr, Tensor]:
        x, adjacency, whole = prepared
        spread = self._spread(extra, adjacency)
        return torch.cat([x, extra], dim=1), adjacency, torch.cat([whole, spread], dim=1)

    def _spread(self, x: Tensor, adjacency: Csr) -> Tensor:
        with torch.no_grad():
            total = x
            for _ in range(self.steps):
                x = adjacency.sum(x)
                total = total + x
            return total / (self.steps + 1)

    def _forward(self, prepared: tuple[Tensor, Csr, Tensor]) -> Tensor:
        x, adjacency, whole = prepared
        if self.training:
            # Kept rows are scaled up, so that the undropped features are what is seen on average.
            whole = self._spread(x * keep(len(x), self.drop_node).unsqueeze(-1), adjacency)
        out: Tensor = self.layers(whole)
        return out

    def loss(self, prepared: Any, rows: Tensor | None, labels: Tensor, class_weight: Tensor | None) -> Tensor:
        found = [self._forward(prepared).log_softmax(-1) for _ in range(self.samples)]
        supervised = sum(F.nll_loss(f if rows is None else f[rows], labels, class_weight) for f in found)
        probabilities = torch.stack(found).exp()
        with torch.no_grad():
            sharp = probabilities.mean(0) ** (1 / self.temperature)
            sharp = sharp / sharp.sum(1, keepdim=True)
        apart = (probabilities - sharp).square().sum(-1).mean()
        return supervised / self.samples + self.consistency * apart
