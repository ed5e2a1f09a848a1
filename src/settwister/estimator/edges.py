"""Edges in any of their common forms, as every node's set of neighbours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from settwister.errors import InputError
from settwister.estimator.inputs import from_torch
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.graph import neighbour_sets

Pairs = tuple[Tensor, Tensor | None]  # (2, E) row numbers, and (E,) weights where there are any


def neighbourhoods(edges: Any, num_nodes: int, ids: Any = None, *, directed: bool = False, loops: bool = False) -> Csr:
    """Every node's neighbours.

    Args:
        edges: one of

            - None, or an empty list: no edges;
            - a (2, E) array or tensor of row numbers, sources above targets;
            - pairs (source, target) as a list or another collection, or as an (E, 2) array; but a (2, 2) array is the
              former, so that just two pairs have to be a list;
            - a data frame whose first two columns are source and target, and whose third, if there is one, is a weight;
            - a sparse adjacency of scipy or torch, entry (i, j) being the weight of the edge from i to j;
            - a networkx graph, whose edges may have a ``weight``;
            - PyTorch Geometric's ``Data``, or anything with an ``edge_index`` and perhaps an ``edge_weight``;
            - neighbourhoods made before, a :class:`~settwister.functional.Csr`, which are taken as they are.

            Weights are finite and at least 0, and an edge of weight 0 is none. Where an edge is given several times it
            is one edge, with the sum of its weights. An adjacency and ``Data`` hold an undirected edge twice, once in
            each direction: there the larger of the two weights counts.
        ids: (N,) names of the nodes, by which pairs, data frames and networkx graphs refer to them; row numbers where
            there are none.
        directed: only sources are neighbours. Otherwise an edge counts both ways.
        loops: keep edges from a node to itself.
    """
    if isinstance(edges, Csr):
        if (edges.num_sets, edges.num_elements) != (num_nodes, num_nodes):
            raise InputError(f"edges are {edges}, expected {num_nodes} sets of {num_nodes} elements, one per node")
        return edges
    pairs, weight = _pairs(edges, num_nodes, ids, directed)
    if weight is not None:
        weight = _checked(weight)
        pairs, weight = pairs[:, weight > 0], weight[weight > 0]
    found = neighbour_sets(pairs, num_nodes, weight=weight, directed=directed, loops=loops)
    if found.weight is not None and bool((found.weight == 1).all()):
        return Csr(found.ptr, found.index, found.num_elements, None, found.transpose)
    return found


def _pairs(edges: Any, num_nodes: int, ids: Any, directed: bool) -> Pairs:
    if edges is None:
        return torch.empty(2, 0, dtype=torch.long), None
    if hasattr(edges, "columns") and hasattr(edges, "to_numpy"):  # first, since its columns may be named like the below
        return _from_frame(edges, num_nodes, ids)
    if hasattr(edges, "edge_index"):
        return _from_pyg(edges, num_nodes, directed)
    if isinstance(edges, Tensor) and edges.layout != torch.strided:
        edges = from_torch(edges)
    if scipy.sparse.issparse(edges):
        return _from_matrix(edges, num_nodes, directed)
    if hasattr(edges, "nodes") and hasattr(edges, "is_directed"):
        return _from_networkx(edges, num_nodes, ids, directed)
    if _is_collection(edges):
        edges = list(edges)
        if all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in edges):
            return _numbered([pair[0] for pair in edges], [pair[1] for pair in edges], num_nodes, ids), None
    return _from_array(edges, num_nodes, ids), None


def _is_collection(edges: Any) -> bool:
    """Whether it holds things that can be read again and again, as an iterator's cannot."""
    if isinstance(edges, str | bytes | dict) or hasattr(edges, "__array__"):
        return False
    return hasattr(edges, "__iter__") and not hasattr(edges, "__next__")


def _from_array(edges: Any, num_nodes: int, ids: Any) -> Tensor:
    try:
        array = edges.detach().cpu().numpy() if isinstance(edges, Tensor) else np.asarray(edges)
    except ValueError as error:
        raise InputError(f"edges are a list that is no list of pairs ({error}), expected (source, target)") from None
    if array.ndim == 2 and array.shape[0] == 2:
        if array.dtype.kind not in "iu" and array.size:
            raise InputError(f"edges are {array.dtype} of shape {array.shape}, expected whole numbers: row numbers")
        return _numbered(array[0], array[1], num_nodes, None)
    if array.ndim == 2 and array.shape[1] == 2:
        return _numbered(array[:, 0], array[:, 1], num_nodes, ids)
    raise InputError(
        f"edges are a {type(edges).__name__} of shape {array.shape}, expected (2, edges) row numbers, a list of pairs, "
        "a sparse matrix, a data frame, a networkx graph or PyTorch Geometric's Data"
    )


def _from_frame(frame: Any, num_nodes: int, ids: Any) -> Pairs:
    names = [str(name) for name in frame.columns]
    if len(names) not in (2, 3):
        raise InputError(
            f"the data frame of edges has {len(names)} columns, expected source, target and perhaps a weight"
        )
    by_place = frame.iloc.__getitem__ if hasattr(frame, "iloc") else frame.__getitem__  # names may occur twice
    source, target, *rest = (np.asarray(by_place((slice(None), place))) for place in range(len(names)))
    if rest and rest[0].dtype.kind not in "iufb":
        raise InputError(f"the weights in column {names[2]!r} are {rest[0].dtype}, expected numbers and none missing")
    weight = torch.from_numpy(rest[0].astype(np.float64)) if rest else None
    return _numbered(source, target, num_nodes, ids), weight


def _from_pyg(data: Any, num_nodes: int, directed: bool) -> Pairs:
    if data.edge_index is None:
        raise InputError("edges have no edge_index, expected one of shape (2, edges): give Data with edges, or None")
    pairs, weight = _from_array(data.edge_index, num_nodes, None), getattr(data, "edge_weight", None)
    if weight is None:
        return pairs, None
    weight = torch.as_tensor(weight).detach().cpu().double().flatten()
    if len(weight) != pairs.shape[1]:
        raise InputError(f"edge_weight has {len(weight)} entries, expected {pairs.shape[1]}, one per edge")
    entries = weight.numpy(), (pairs[0].numpy(), pairs[1].numpy())
    return _from_matrix(scipy.sparse.coo_matrix(entries, (num_nodes, num_nodes)), num_nodes, directed)


def _from_matrix(adjacency: Any, num_nodes: int, directed: bool) -> Pairs:
    if adjacency.shape != (num_nodes, num_nodes):
        raise InputError(
            f"the adjacency has shape {adjacency.shape}, expected ({num_nodes}, {num_nodes}), one row per node"
        )
    if adjacency.dtype.kind not in "iufb":
        raise InputError(f"the adjacency holds {adjacency.dtype}, expected numbers")
    matrix = adjacency.astype(np.float64).tocsr()
    _checked(torch.from_numpy(matrix.data))  # before the larger of two hides the smaller
    if not directed:
        matrix = scipy.sparse.triu(matrix.maximum(matrix.T))
    entries = matrix.tocoo()
    pairs = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
    return pairs, torch.from_numpy(entries.data)


def _from_networkx(graph: Any, num_nodes: int, ids: Any, directed: bool) -> Pairs:
    rows = list(graph.edges(data="weight"))
    pairs, weight = _numbered([row[0] for row in rows], [row[1] for row in rows], num_nodes, ids), None
    if any(row[2] is not None for row in rows):
        try:
            weight = torch.tensor([1.0 if row[2] is None else float(row[2]) for row in rows], dtype=torch.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"an edge's weight is not a number ({error}), expected finite numbers") from None
    if directed and not graph.is_directed():
        other = pairs[0] != pairs[1]
        pairs = torch.cat([pairs, pairs.flip(0)[:, other]], dim=1)
        weight = None if weight is None else torch.cat([weight, weight[other]])
    return pairs, weight


def _checked(weight: Tensor) -> Tensor:
    if not bool((weight.float().isfinite() & (weight >= 0)).all()):
        raise InputError("an edge's weight is negative, NaN or infinite, expected finite numbers of at least 0")
    return weight


def _numbered(
    source: Sequence[Any] | NDArray[Any], target: Sequence[Any] | NDArray[Any], num_nodes: int, ids: Any
) -> Tensor:
    """(2, E) row numbers from the names of both ends."""
    if len(source) == 0:
        return torch.empty(2, 0, dtype=torch.long)
    if ids is None and (known := _row_numbers(source, target)) is not None:
        outside = known[(known < 0) | (known >= num_nodes)]
        if outside.size:
            raise _unknown(outside.tolist(), num_nodes, "row numbers")
        return torch.from_numpy(known.astype(np.int64))
    place = {name: number for number, name in enumerate(range(num_nodes) if ids is None else ids)}
    if len(place) < num_nodes:
        raise InputError(f"{num_nodes - len(place)} nodes share their id with another, expected every id once")
    ends = [side.tolist() if isinstance(side, np.ndarray) else list(side) for side in (source, target)]
    try:
        return torch.tensor([[place[name] for name in side] for side in ends])
    except (KeyError, TypeError):
        both = [name for pair in zip(*ends, strict=True) for name in pair]
        unknown = [name for name in both if not _hashable(name) or name not in place]
        raise _unknown(unknown, num_nodes, "row numbers" if ids is None else "ids") from None


def _row_numbers(source: Sequence[Any] | NDArray[Any], target: Sequence[Any] | NDArray[Any]) -> NDArray[Any] | None:
    """(2, E), if all are whole numbers."""
    try:
        found = np.stack([np.asarray(source), np.asarray(target)])
    except ValueError:  # names that are tuples of different lengths
        return None
    return found if found.ndim == 2 and found.dtype.kind in "iu" else None


def _unknown(names: list[Any], num_nodes: int, expected: str) -> InputError:
    return InputError(
        f"{len(names)} ends of edges are not nodes, such as {', '.join(map(repr, names[:3]))}, expected {expected} of "
        f"the {num_nodes} nodes: drop these edges or add the nodes"
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
