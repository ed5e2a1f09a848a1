"""A graph for single-hop classification: features, labels, and who is whose neighbour."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from scipy.sparse import issparse
from torch import Tensor

from settwister._checks import tensor
from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.features import from_entries
from settwister.graphs.splits import Split
from settwister.nn.features import Features, shape

UNKNOWN = -1


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Nodes with features and labels, each with the set of its neighbours.

    Build one with :meth:`make`, which checks what it is given.

    Args:
        x: features, (N, d) dense, or sparse as a :class:`~settwister.functional.Csr` of N rows and d columns.
        neighbours: N × N; row v holds v's neighbours.
        y: (N,) labels from 0, -1 where unknown.
        num_classes: how many there are, whether or not each occurs.
        name: for people.
        given_edges: how many edges there were before directions, duplicates and loops were seen to.
        splits: named families of splits that came with the data.
        balanced: whether the headline score is the mean of the classes' recalls, because the classes are uneven.
    """

    x: Tensor | Csr
    neighbours: Csr
    y: Tensor
    num_classes: int
    name: str = "graph"
    given_edges: int = 0
    splits: dict[str, list[Split]] = field(default_factory=dict)
    balanced: bool = False

    @classmethod
    def make(
        cls,
        x: Any,
        edges: Any,
        y: Any,
        *,
        num_classes: int | None = None,
        directed: bool = False,
        loops: bool = False,
        weight: Any = None,
        **more: Any,
    ) -> Self:
        """A graph from features, edges and labels.

        Args:
            x: (N, F) features, dense, a scipy sparse matrix or a :class:`~settwister.functional.Csr`; any numbers,
                which become 32-bit ones.
            edges: (2, E) pairs source, target, each undirected edge once or twice.
            y: (N,) labels from 0; negative where unknown.
            num_classes: one more than the largest label where left out.
            directed: keep directions: only sources are neighbours. Otherwise an edge counts both ways.
            loops: keep edges from a node to itself. Duplicates are always one edge.
            weight: (E,) of the edges, see :func:`neighbour_sets`.
        """
        x = _features(x)
        nodes, width = num_rows(x), num_columns(x)
        if nodes == 0 or width == 0:
            raise InputError(f"x has {nodes} rows and {width} columns, expected at least one node and one feature")
        values = x if isinstance(x, Tensor) else x.weight
        if values is not None and not bool(values.isfinite().all()):
            raise InputError("x has values that are NaN or infinite, expected finite numbers: drop or fill them first")
        edges, y = tensor("edges", edges), tensor("y", y)
        if y.is_floating_point() or y.is_complex():
            raise InputError(f"y has type {str(y.dtype).removeprefix('torch.')}, expected whole numbers, one per class")
        y = y.long()
        if y.shape != (nodes,):
            raise InputError(f"y has shape {tuple(y.shape)}, expected ({nodes},), one label per row of x")
        y = torch.where(y < 0, UNKNOWN, y)
        found = int(y.max()) + 1
        if num_classes is not None and found > num_classes:
            raise InputError(f"y holds {found - 1}, expected labels below num_classes={num_classes}")
        neighbours = neighbour_sets(edges, nodes, weight=weight, directed=directed, loops=loops)
        classes = found if num_classes is None else num_classes
        return cls(x, neighbours, y, classes, given_edges=edges.shape[1], **more)

    def __repr__(self) -> str:
        """
        >>> Graph.make(torch.ones(3, 2), [[0, 1], [1, 2]], [0, 1, -1], name="path")
        Graph('path': 3 nodes, 2 edges, 2 features, 2 classes, 2 labelled)
        """
        return (
            f"Graph({self.name!r}: {self.num_nodes:,} nodes, {self.num_edges:,} edges, {self.num_features:,} features, "
            f"{self.num_classes} classes, {len(self.labelled):,} labelled)"
        )

    @property
    def num_nodes(self) -> int:
        return self.neighbours.num_sets

    @property
    def num_features(self) -> int:
        return num_columns(self.x)

    @property
    def num_edges(self) -> int:
        """Unique edges, both directions counted once and loops not at all."""
        return joined_pairs(self.neighbours)

    @property
    def degrees(self) -> Tensor:
        """(N,) the sizes of the neighbourhoods."""
        return self.neighbours.lengths

    @property
    def labelled(self) -> Tensor:
        """The nodes whose label is known."""
        return (self.y >= 0).nonzero().squeeze(-1)


def _features(x: Any) -> Tensor | Csr:
    """As numbers of the one type that models read."""
    if isinstance(x, Csr):
        return x if x.weight is None else replace(x, weight=x.weight.float())
    if issparse(x):
        if x.ndim != 2 or x.dtype.kind not in "fiub":
            raise InputError(f"x is sparse {x.dtype} of shape {x.shape}, expected real numbers of (nodes, features)")
        entries = x.tocoo(copy=True)
        entries.sum_duplicates()
        return from_entries(entries.row, entries.col, entries.data, *x.shape)
    found = tensor("x", x)
    if found.dim() != 2 or found.is_complex() or found.layout != torch.strided:
        raise InputError(
            f"x is {str(found.dtype).removeprefix('torch.')} of shape {tuple(found.shape)}, expected real numbers of "
            "shape (nodes, features), or a Csr where most are 0"
        )
    return found.float()


def neighbour_sets(
    edges: Any, num_nodes: int, *, weight: Any = None, directed: bool = False, loops: bool = False
) -> Csr:
    """Every node's neighbourhood as a set: unique, and both ways and loop-free unless told otherwise.

    Args:
        weight: (E,) of the edges, at least 0; where a pair is given several times, in either direction unless directed,
            its weights add up.

    >>> neighbour_sets(torch.tensor([[0, 1, 1], [1, 0, 2]]), 3, weight=torch.tensor([1.0, 2.0, 5.0])).weight
    tensor([3., 3., 5., 5.])
    """
    edges, weight = checked_edges(edges, num_nodes, weight)
    source, target = edges
    if not loops:
        kept = target != source
        source, target, weight = source[kept], target[kept], None if weight is None else weight[kept]
    if not directed:  # a loop, which is its own other direction, is left out of the second half
        other = source != target
        source, target = torch.cat([source, target[other]]), torch.cat([target, source[other]])
        weight = None if weight is None else torch.cat([weight, weight[other]])
    pairs, place = (target * num_nodes + source).unique(return_inverse=True)
    if weight is not None:
        weight = torch.zeros(len(pairs), dtype=torch.float64).index_add_(0, place, weight.double()).float()
        if not bool(weight.isfinite().all()):
            raise InputError("weight has values that are infinite, or add up to that, expected finite numbers")
    return Csr.from_pairs(pairs // num_nodes, pairs % num_nodes, num_nodes, num_nodes, weight).with_transpose()


def checked_edges(edges: Any, num_nodes: int, weight: Any) -> tuple[Tensor, Tensor | None]:
    """(2, E) edges between these nodes, and their weights if there are any."""
    edges = tensor("edges", edges)
    if edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point() or edges.is_complex():
        raise InputError(
            f"edges are {str(edges.dtype).removeprefix('torch.')} of shape {tuple(edges.shape)}, expected whole "
            "numbers of shape (2, edges)"
        )
    edges = edges.long()
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= num_nodes):
        bad = edges[(edges < 0) | (edges >= num_nodes)][0]
        raise InputError(f"edges hold node {int(bad)}, expected ids from 0 to {num_nodes - 1}")
    if weight is not None:
        weight = tensor("weight", weight)
        if weight.shape != edges.shape[1:]:
            raise InputError(f"weight has shape {tuple(weight.shape)}, expected ({edges.shape[1]},), one per edge")
        if weight.is_complex() or bool(((weight < 0) | weight.isnan()).any()):
            raise InputError("weight has values that are negative or NaN, expected finite numbers of at least 0")
    return edges, weight


def joined_pairs(neighbours: Csr) -> int:
    """How many pairs of different nodes are neighbours, in one direction or both."""
    rows, columns = neighbours.rows, neighbours.index.long()
    pairs = torch.minimum(rows, columns) * neighbours.num_sets + torch.maximum(rows, columns)
    return int(pairs[rows != columns].unique().numel())


def num_rows(x: Tensor | Csr) -> int:
    return shape(x)[0]


def num_columns(x: Features) -> int:
    return shape(x)[1]
