"""GRAND: random propagation and consistency (Feng et al. 2020)."""

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from settwister._checks import probability, whole_number
from settwister.functional.dropout import keep
from settwister.functional.neighbour_sum import Csr
from settwister.functional.propagation import normalised
from settwister.nn.dropout import Dropout
from settwister.nn.features import FeatureLinear, dense, row_normalised
from settwister.nn.mlp import linear
from settwister.nn.nodes.base import NodeBatch, NodeModel, arguments


@dataclass(frozen=True, eq=False)
class _Spread:
    """Features and adjacency; ``whole`` is the features spread with nothing dropped, None where they are read first."""

    x: Tensor | Csr
    adjacency: Csr
    whole: Tensor | None
    extra: Tensor | None = None


class Grand(NodeModel):
    r"""A two-layer network on features that are spread after whole nodes were dropped at random.

    .. math:: \bar X = \frac{1}{K+1} \sum_{i=0}^{K} \hat A^i (m \odot X)

    S such augmentations go through one network; beside the labels' loss, their predictions on all nodes are drawn to
    the sharpened mean of them. Without dropping, the propagation is computed once.

    With neither dropout nor a norm between the propagation and the first layer, the two are linear and change places:
    what is spread is then as wide as the hidden layer, and sparse features stay sparse.

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

        self.before = nn.Sequential(*norm(in_dim), Dropout(input_dropout))
        self.first = FeatureLinear(in_dim, hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.after = nn.Sequential(nn.ReLU(), *norm(hidden), Dropout(dropout), linear(hidden, out_dim))
        self.swapped = not batch_norm and input_dropout == 0

    def prepare(self, batch: NodeBatch) -> "_Spread":
        super().prepare(batch)
        x, adjacency = row_normalised(batch.x), normalised(batch.neighbours, "DAD", loops=True)
        if self.swapped:
            return _Spread(x, adjacency, None)
        return _Spread(dense(x), adjacency, self._spread(dense(x), adjacency))

    def with_extra(self, prepared: "_Spread", extra: Tensor) -> "_Spread":
        if prepared.whole is None:
            return replace(prepared, extra=extra)
        assert isinstance(prepared.x, Tensor)
        whole = torch.cat([prepared.whole, self._spread(extra, prepared.adjacency)], dim=1)
        return _Spread(torch.cat([prepared.x, extra], dim=1), prepared.adjacency, whole)

    def _spread(self, x: Tensor, adjacency: Csr) -> Tensor:
        total = x.clone()
        for _ in range(self.steps):
            x = adjacency.sum(x)
            total += x
        return total.div_(self.steps + 1)

    def _dropped(self, x: Tensor) -> Tensor:
        """Whole rows dropped in training; kept ones are scaled up, so that on average they are as they were."""
        return x * keep(len(x), self.drop_node).unsqueeze(-1) if self.training else x

    def _samples(self, prepared: "_Spread", samples: int) -> list[Tensor]:
        """The logits of so many augmentations."""
        x, adjacency = prepared.x, prepared.adjacency
        if prepared.whole is None:
            read = self.first(x, prepared.extra)
            return [self.after(self._spread(self._dropped(read), adjacency) + self.bias) for _ in range(samples)]
        if not self.training:
            return [self.after(self.first(self.before(prepared.whole)) + self.bias)] * samples
        assert isinstance(x, Tensor)
        with torch.no_grad():
            augmented = [self._spread(self._dropped(x), adjacency) for _ in range(samples)]
        return [self.after(self.first(self.before(one)) + self.bias) for one in augmented]

    def _forward(self, prepared: "_Spread") -> Tensor:
        return self._samples(prepared, 1)[0]

    def loss(self, prepared: Any, rows: Tensor | None, labels: Tensor, class_weight: Tensor | None) -> Tensor:
        found = [logits.log_softmax(-1) for logits in self._samples(prepared, self.samples)]
        supervised = sum(F.nll_loss(f if rows is None else f[rows], labels, class_weight) for f in found)
        probabilities = torch.stack(found).exp()
        with torch.no_grad():
            sharp = probabilities.mean(0) ** (1 / self.temperature)
            sharp = sharp / sharp.sum(1, keepdim=True)
        apart = (probabilities - sharp).square().sum(-1).mean()
        return supervised / self.samples + self.consistency * apart
