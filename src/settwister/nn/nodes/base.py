"""What every node model shares: what it is called on, and how it is trained."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.nn.features import Centred, Features, shape, take_rows
from settwister.nn.saved import Saved

MAKERS = "neighbour_sets(edges, num_nodes) makes neighbours of edges, from_pyg a graph of PyG's Data"
EXPECTED = f"expected NodeBatch(x, neighbours): {MAKERS}"


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

    def __post_init__(self) -> None:
        check_graph(self.x, self.neighbours)
        if self.own is None and self.neighbours.num_sets != self.neighbours.num_elements:
            raise InputError(
                f"neighbours are {self.neighbours}, expected as many sets as elements where own does not say which of "
                "them the nodes are"
            )

    @classmethod
    def of(cls, x: Features, neighbours: Csr, nodes: Tensor, hops: int | None = 1) -> Self:
        """One hop around the given nodes: a slice of the neighbour sets, and each node that occurs once.

        Nodes of the batch come first, so that reading them back is a slice, whose gradient is one too. Nothing here is
        of the graph's size.

        Args:
            nodes: numbers, perhaps some of them twice, or a mask of all nodes.
            hops: those of the model it is for; with 0 every set of neighbours is empty.
        """
        check_graph(x, neighbours)
        nodes = node_numbers(nodes, neighbours.num_sets)
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


def check_graph(x: Any, neighbours: Any) -> None:
    """Refuse what are no features and no neighbours, or not of the same nodes."""
    if not isinstance(neighbours, Csr):
        raise InputError(f"neighbours are {_described(neighbours)}, expected a Csr: {MAKERS}")
    if not (isinstance(x, Csr | Centred) or (isinstance(x, Tensor) and x.dim() == 2 and x.layout == torch.strided)):
        raise InputError(
            f"x is {_described(x)}, expected a dense tensor of shape (nodes, features), or a Csr where most are 0"
        )
    if shape(x)[0] != neighbours.num_elements:
        raise InputError(
            f"x has {shape(x)[0]} rows, expected {neighbours.num_elements}, the nodes that neighbours are of"
        )


def node_numbers(nodes: Tensor, num_nodes: int) -> Tensor:
    """(B,) which nodes are meant, by their numbers or by a mask of all.

    >>> node_numbers(torch.tensor([False, True, True]), 3)
    tensor([1, 2])
    """
    if isinstance(nodes, Tensor) and nodes.dtype == torch.bool and nodes.shape == (num_nodes,):
        return nodes.nonzero().squeeze(-1)
    if not isinstance(nodes, Tensor) or nodes.dim() != 1 or nodes.dtype not in (torch.int64, torch.int32):
        raise InputError(
            f"nodes are {_described(nodes)}, expected whole numbers of shape (nodes,) or a mask of {num_nodes} booleans"
        )
    if len(nodes) and (int(nodes.min()) < 0 or int(nodes.max()) >= num_nodes):
        bad = nodes[(nodes < 0) | (nodes >= num_nodes)][0]
        raise InputError(f"nodes hold {int(bad)}, expected numbers from 0 to {num_nodes - 1}")
    return nodes.long()


def _described(given: Any) -> str:
    if not isinstance(given, Tensor):
        return f"a {type(given).__name__}"
    layout = "" if given.layout == torch.strided else "torch-sparse "
    return f"{layout}{str(given.dtype).removeprefix('torch.')} of shape {tuple(given.shape)}"


class NodeModel(Saved):
    """A classifier of nodes: ``model(batch)`` is (B, out_dim), logits.

    A subclass implements ``_forward``, and ``_prepare`` where something about the graph can be computed once.
    """

    hops: int | None = None
    """How far a node sees, 0 or 1; None where a batch must be the whole graph."""

    def forward(self, batch: NodeBatch, *others: Any) -> Tensor:
        if others:
            raise InputError(f"{type(self).__name__} was called on {1 + len(others)} things, {EXPECTED}")
        prepared = self.prepare(batch)
        self.check_width(batch.x, batch.extra)
        return self._forward(prepared)

    def prepare(self, batch: NodeBatch) -> Any:
        """What does not change while the model trains: computed once, then given to every step."""
        name = type(self).__name__
        if not isinstance(batch, NodeBatch):
            raise InputError(f"{name} was called on {_described(batch)}, {EXPECTED}")
        if self.hops is None and batch.own is not None:
            raise InputError(f"{name} was given some nodes, expected the whole graph: it looks further than one hop")
        like = self._like()
        held = batch.x.row if isinstance(batch.x, Centred) else batch.x
        if (
            isinstance(held, Tensor)
            and held.dtype != like.dtype
            and not (held.is_floating_point() and torch.is_autocast_enabled(like.device.type))
        ):
            raise InputError(
                f"x is {held.dtype}, expected {like.dtype} as the model's parameters: use x.to({like.dtype})"
            )
        return self._prepare(batch)

    def check_width(self, x: Features, extra: Tensor | None = None) -> None:
        """Refuse features that are more or fewer than the model reads."""
        width = shape(x)[1] + (0 if extra is None else extra.shape[1])
        if width != self.in_dim:
            raise InputError(f"x has {width} columns, expected in_dim={self.in_dim}")

    def _prepare(self, batch: NodeBatch) -> Any:
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
