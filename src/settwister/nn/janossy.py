"""k-ary Janossy pooling (Murphy et al. 2019): a network on tuples of elements, summed over the tuples."""

import math

import torch
from torch import Tensor, nn

from settwister._checks import choice, probability, whole_number, widths
from settwister.errors import InputError
from settwister.nn.mlp import ACTIVATIONS, linear, mlp
from settwister.nn.set_model import SetModel
from settwister.sets import Bucket, Sets

CHUNK = 2**18  # tuples that pass through phi at once


class JanossyPooling(SetModel):
    r"""A network on every k-tuple of the ordered set, summed.

    .. math:: \text{JP}(h) = \rho\Big(\sum_{i_1 < \dots < i_k} \phi(h_{i_1}, \dots, h_{i_k})\Big)

    The number of tuples is C(n, k). phi's first layer is split by place in the tuple and runs once per distinct
    element, so a tuple costs additions there. Sets with fewer than k elements have no tuples: their sum is 0.

    Args:
        in_dim, out_dim: features of an element, numbers per set.
        phi: widths of the network on the concatenation of k elements, activated after every layer.
        rho: hidden widths of the network on the sum; ``()`` makes it linear.
        k: elements per tuple.
        order: ``"sorted"`` sorts each set by its features, lexicographically, which makes the model
            permutation-invariant; ``"given"`` keeps the order in the batch (in bags: the vocabulary's), for sequences
            that are sorted already.
        activation: ``"gelu"``, ``"tanh"`` or ``"relu"``.
        dropout: after every activation, in training.
        max_tuples: a set with more tuples than this is refused, rather than run for hours.

    Example:
        >>> model = JanossyPooling(3, 1)
        >>> tuple(model(Sets.dense(torch.randn(4, 5, 3))).shape)
        (4, 1)
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        phi: tuple[int, ...] = (60, 60),
        rho: tuple[int, ...] = (50, 50),
        k: int = 2,
        order: str = "sorted",
        activation: str = "gelu",
        dropout: float = 0.0,
        max_tuples: int = 2**24,
    ) -> None:
        config = dict(in_dim=in_dim, out_dim=out_dim, phi=widths("phi", phi), rho=widths("rho", rho), k=k, order=order)
        config |= dict(activation=activation, dropout=probability("dropout", dropout), max_tuples=max_tuples)
        super().__init__(config)
        if not phi:
            raise InputError("phi is empty, expected at least one layer width")
        self.width = phi[-1]
        self.k = whole_number("k", k)
        self.order = choice("order", order, ("sorted", "given"))
        self.max_tuples = whole_number("max_tuples", max_tuples)
        self.first = linear(k * in_dim, phi[0])
        self.rest = nn.Sequential(ACTIVATIONS[activation](), *([nn.Dropout(dropout)] if dropout else []))
        self.rest.extend(mlp(phi[0], tuple(phi[1:]), activation, dropout=dropout))
        self.rho = self._rho(phi[-1], tuple(rho), activation, dropout=dropout)

    def _forward(self, sets: Sets) -> Tensor:
        per_place = torch.stack(
            [nn.functional.linear(sets.elements, weight) for weight in self.first.weight.split(self.in_dim, dim=1)]
        )  # (k, U, phi[0])
        rank = torch.unique(sets.elements.detach(), dim=0, return_inverse=True)[1] if self.order == "sorted" else None

        def summed(bucket: Bucket) -> Tensor:
            index = bucket.index if rank is None else bucket.sorted_by(rank[bucket.index])
            return self._sum_over_tuples(per_place, index, bucket.mask)

        out: Tensor = self.rho(sets.map(summed, empty=self._like().new_zeros(self.width)))
        return out

    def _sum_over_tuples(self, per_place: Tensor, index: Tensor, mask: Tensor | None) -> Tensor:
        """(b, phi[-1]), a chunk of tuples at a time."""
        sets, n = index.shape
        if math.comb(n, self.k) > self.max_tuples:
            raise InputError(
                f"a set of {n} elements has {math.comb(n, self.k)} tuples of {self.k}, expected at most "
                f"max_tuples={self.max_tuples}: use SetTwister, whose cost is linear, or raise max_tuples"
            )
        tuples = torch.combinations(torch.arange(n, device=index.device), self.k)  # last place largest
        total = per_place.new_zeros(sets, self.width, dtype=self._like().dtype)
        for chunk in tuples.split(max(1, CHUNK // sets)):
            mixed = sum((per_place[j][index[:, chunk[:, j]]] for j in range(self.k)), self.first.bias)
            found = self.rest(mixed)
            if mask is not None:
                found = torch.where(mask[:, chunk[:, -1]].unsqueeze(-1), found, 0)
            total += found.sum(1).to(total.dtype)
        return total
