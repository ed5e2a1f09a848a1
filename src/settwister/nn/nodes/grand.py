"""GRAND: random propagation and consistency (Feng et al. 2020)."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from settwister._checks import flag, probability, whole_number
from settwister.errors import InputError
from settwister.functional.autocast import at_least_single
from settwister.functional.dropout import keep
from settwister.functional.neighbour_sum import Csr
from settwister.functional.propagation import normalised
from settwister.nn.dropout import Dropout
from settwister.nn.features import FeatureLinear, Features, dense, row_normalised
from settwister.nn.mlp import linear
from settwister.nn.nodes.base import NodeBatch, NodeModel, arguments, weighted_nll

LARGEST = 2**26  # entries of an adjacency's dense powers


@dataclass(frozen=True, eq=False)
class _Spread:
    """Features and adjacency, and what of them can be computed once.

    Args:
        whole: the features spread with nothing dropped; None where the first layer reads them before they are spread.
        powers: the transposed mean of the adjacency's powers, of small graphs with sparse features.
    """

    x: Features
    adjacency: Csr
    whole: Tensor | None
    extra: Tensor | None = None
    powers: Tensor | None = None


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
        normalise_rows: divide every node's features by their sum, as its authors do. What is left of them is small, and
            with many labels weight decay then keeps the network from fitting.
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
        normalise_rows: bool = True,
    ) -> None:
        super().__init__(arguments(locals()))
        self.steps, self.samples = whole_number("steps", steps, least=0), whole_number("samples", samples)
        self.drop_node = probability("drop_node", drop_node)
        for name in ("input_dropout", "dropout"):
            probability(name, self.config[name])
        self.normalise_rows = flag("normalise_rows", normalise_rows)
        self.consistency, self.temperature = consistency, temperature
        numbers = all(isinstance(value, int | float) for value in (consistency, temperature))
        if not (numbers and consistency >= 0 and math.isfinite(consistency) and 0 < temperature < math.inf):
            raise InputError(
                f"consistency is {consistency!r} and temperature {temperature!r}, expected 0 or more and more than 0"
            )
        whole_number("hidden", hidden)

        def norm(width: int) -> list[nn.Module]:
            return [nn.BatchNorm1d(width)] if batch_norm else []

        self.before = nn.Sequential(*norm(in_dim), Dropout(input_dropout))
        self.first = FeatureLinear(in_dim, hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.after = nn.Sequential(nn.ReLU(), *norm(hidden), Dropout(dropout), linear(hidden, out_dim))
        self.swapped = not batch_norm and input_dropout == 0

    def _prepare(self, batch: NodeBatch) -> "_Spread":
        x = row_normalised(batch.x) if self.normalise_rows else batch.x
        adjacency = normalised(batch.neighbours, "DAD", loops=True)
        if self.swapped:
            return _Spread(x, adjacency, None)
        full = dense(x).to(at_least_single(self.bias).dtype)
        whole = self._spread(full * (1 - self.drop_node), adjacency)
        if not isinstance(x, Csr) or x.num_sets**2 > LARGEST:
            return _Spread(full, adjacency, whole)
        powers = self._spread(torch.eye(x.num_sets, dtype=full.dtype), adjacency).t().contiguous()
        by_feature = Csr.from_pairs(x.index.long(), x.rows, x.num_elements, x.num_sets, x.weight)
        return _Spread(by_feature, adjacency, whole, powers=powers)

    def with_extra(self, prepared: "_Spread", extra: Tensor) -> "_Spread":
        if prepared.whole is None:
            return replace(prepared, extra=extra)
        x = prepared.x if isinstance(prepared.x, Tensor) else dense(prepared.x).t()
        further = self._spread(extra * (1 - self.drop_node), prepared.adjacency)
        whole = torch.cat([prepared.whole, further], dim=1)
        return _Spread(torch.cat([x, extra], dim=1), prepared.adjacency, whole)

    def _spread(self, x: Tensor, adjacency: Csr) -> Tensor:
        x = at_least_single(x)
        total = x.clone()
        for _ in range(self.steps):
            x = adjacency.sum(x)
            total += x
        return total.div_(self.steps + 1)

    def _kept(self, count: int) -> Tensor:
        """0 for nodes that are dropped and 1 for the others; where none is, what this is on average."""
        average = 1 - self.drop_node
        return keep(count, self.drop_node) * average if self.training else torch.full((count,), average)

    @torch.no_grad()
    def _augmented(self, prepared: "_Spread") -> Tensor:
        """The features, spread after some nodes were dropped."""
        x, kept = prepared.x, self._kept(prepared.adjacency.num_sets)
        if isinstance(x, Tensor):
            return self._spread(x * kept.unsqueeze(-1), prepared.adjacency)
        assert isinstance(x, Csr)
        assert prepared.powers is not None
        weight = kept[x.index.long()] if x.weight is None else x.weight * kept[x.index.long()]
        return replace(x, weight=weight).sum(prepared.powers).t().contiguous()

    def _samples(self, prepared: "_Spread", samples: int) -> list[Tensor]:
        """The logits of so many augmentations."""
        x, adjacency = prepared.x, prepared.adjacency
        if prepared.whole is None:
            read = self.first(x, prepared.extra)
            dropped = [read * self._kept(len(read)).unsqueeze(-1) for _ in range(samples)]
            return [self._behind(self._spread(one, adjacency)) for one in dropped]
        if not self.training:
            return [self._read(prepared.whole)] * samples
        augmented = [self._augmented(prepared) for _ in range(samples)]
        return [self._read(one) for one in augmented]

    def _read(self, augmented: Tensor) -> Tensor:
        return self._behind(self.first(self.before(augmented.to(self.bias.dtype))))

    def _behind(self, hidden: Tensor) -> Tensor:
        out: Tensor = self.after((hidden + self.bias).to(self.bias.dtype))
        return out

    def _forward(self, prepared: "_Spread") -> Tensor:
        return self._samples(prepared, 1)[0]

    def loss(self, prepared: Any, rows: Tensor | None, labels: Tensor, class_weight: Tensor | None) -> Tensor:
        found = [logits.log_softmax(-1) for logits in self._samples(prepared, self.samples)]
        supervised = sum(weighted_nll(f if rows is None else f[rows], labels, class_weight) for f in found)
        probabilities = torch.stack(found).exp()
        with torch.no_grad():
            sharp = probabilities.mean(0) ** (1 / self.temperature)
            sharp = sharp / sharp.sum(1, keepdim=True)
        apart = (probabilities - sharp).square().sum(-1).mean()
        return supervised / self.samples + self.consistency * apart
