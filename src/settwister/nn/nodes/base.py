"""What every node model shares: what it is called on, and how it is trained."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.nn.features import Features, take_rows
from settwister.nn.saved import Saved


@dataclass(eq=False)
class NodeBatch:
    """Some nodes, each with the set of its neighbours, over U distinct nodes.

    Args:
        x: (U, d) features of the distinct nodes, dense or sparse.
        neighbours: B × U; row b holds the neighbours of the batch's node b.
        own: which of the U nodes the batch's nodes are: (B,) numbers, a slice, or None where they are all, in order.
        extra: (U, e) further columns of x that change while a model trains, such as guessed labels.
    """

    x: Features
    neighbours: Csr
    own: Tensor | slice | None = None
    extra: Tensor | None = None

    @classmethod
    def of(cls, x: Features, neighbours: Csr, nodes: Tensor, hops: int | None = 1) -> Self:
        """One hop around the given nodes: a slice of the neighbour sets, and each node that occurs once.

        Nodes of the batch come first, so that reading them back is a slice, whose gradient is one too. Nothing here is
        of the graph's size.

        Args:
            hops: those of the model it is for; with 0 every set of neighbours is empty.
        """
        held = neighbours.emptied(len(nodes)) if hops == 0 else neighbours.take(nodes)
        found, number = torch.cat([nodes, held.index.long()]).unique(return_inverse=True)
        first = number[: len(nodes)].unique() if len(nodes.unique()) < len(nodes) else number[: len(nodes)]
        place = torch.full((len(found),), -1)
        place[first] = torch.arange(len(first))
        others = place < 0
        place[others] = torch.arange(len(first), len(found))
        distinct = torch.empty_like(found).scatter(0, place, found)
        own: Tensor | slice = slice(0, len(nodes)) if len(first) == len(nodes) else place[number[: len(nodes)]]
        index = place[number[len(nodes) :]].to(held.index.dtype)
        return cls(take_rows(x, distinct), Csr(held.ptr, index, len(distinct), held.weight).with_transpose(), own)


class NodeModel(Saved):
    """A classifier of nodes: ``model(batch)`` is (B, out_dim), logits.

    A subclass implements ``_forward``, and ``prepare`` where something about the graph can be computed once.
    """

    hops: int | None = None
    """How far a node sees, 0 or 1; None where a batch must be the whole graph."""

    def forward(self, batch: NodeBatch) -> Tensor:
        return self._forward(self.prepare(batch))

    def prepare(self, batch: NodeBatch) -> Any:
        """What does not change while the model trains: computed once, then given to every step."""
        if self.hops is None and batch.own is not None:
            raise InputError(
                f"{type(self).__name__} was given some nodes, expected the whole graph: it looks further than one hop"
            )
        return batch

    def with_extra(self, prepared: Any, extra: Tensor) -> Any:
        """What was prepared, with further columns of features (N, e); ``in_dim`` counts them."""
        return replace(prepared, extra=extra)

    def _forward(self, prepared: Any) -> Tensor:
        raise NotImplementedError

    def loss(self, prepared: Any, rows: Tensor | None, labels: Tensor, class_weight: Tensor | None) -> Tensor:
        """What a step minimises.

        Args:
            rows: the nodes of the batch whose labels are given; None for all.
            class_weight: (C,) with a mean of 1 over all training labels, or None where every node counts alike.
        """
        logits = self._forward(prepared)
        return weighted_nll((logits if rows is None else logits[rows]).log_softmax(-1), labels, class_weight)

    def probabilities(self, prepared: Any) -> Tensor:
        """(B, out_dim)."""
        return self._forward(prepared).softmax(-1)


def weighted_nll(log_shares: Tensor, labels: Tensor, class_weight: Tensor | None) -> Tensor:
    """The mean over nodes of the weighted loss.

    Not divided by the weights of these very nodes, as torch's own is: then a batch's gradient would not be that of all
    nodes on average.
    """
    if class_weight is None:
        return F.nll_loss(log_shares, labels)
    return F.nll_loss(log_shares, labels, class_weight, reduction="sum") / len(labels)


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """A constructor's ``locals()`` as a configuration: its arguments, and nothing else."""
    return {name: value for name, value in given.items() if name not in ("self", "__class__")}
