"""A graph from PyTorch Geometric's ``Data``, without importing it."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_array, triu
from torch import Tensor

from settwister.errors import InputError
from settwister.graphs.graph import Graph, checked_edges
from settwister.graphs.parts import splits_of_masks


def from_pyg(data: Any, *, name: str = "graph", **more: Any) -> Graph:
    """A graph from an object with ``x``, ``edge_index`` and ``y``, as PyTorch Geometric's ``Data`` is.

    Args:
        data: masks ``train_mask``, ``val_mask`` and ``test_mask`` of (N,) or (N, splits) become the splits "public". An
            ``edge_weight`` of (E,) weighs the edges; one of weight 0 is none. As an undirected edge stands there twice,
            once in each direction, the larger of the two weights counts, unless ``directed``.
        more: further arguments of :meth:`Graph.make`, such as ``directed=True``.

    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0, 1, 1]))
    >>> graph = from_pyg(data)
    >>> graph.num_edges, graph.degrees.tolist()
    (1, [1, 1, 0])
    """
    x, edges, y = (getattr(data, key, None) for key in ("x", "edge_index", "y"))
    if not (isinstance(x, Tensor) and isinstance(edges, Tensor) and isinstance(y, Tensor)):
        raise InputError("data lacks x, edge_index or y, expected tensors of features, edges and labels")
    if x.dim() != 2 or x.layout != torch.strided:
        raise InputError(f"x has shape {tuple(x.shape)} and layout {x.layout}, expected dense (nodes, features)")
    if y.dim() == 2 and y.shape[1] == 1:  # OGB keeps a column
        y = y.squeeze(1)
    if y.is_floating_point():
        raise InputError(f"y is {y.dtype}, expected whole numbers, one class per node")
    masks = [getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")]
    splits = {}
    if all(isinstance(mask, Tensor) for mask in masks):
        splits["public"] = splits_of_masks(len(x), *(mask.t().cpu().numpy() for mask in masks if mask is not None))
    given, weight = edges, getattr(data, "edge_weight", None)
    if weight is not None and "weight" not in more:
        edges, more["weight"] = _weighed(edges, weight, len(x), directed=more.get("directed", False))
    graph = Graph.make(x, edges, y, name=name, splits=splits, **more)
    return replace(graph, given_edges=given.shape[1])


def _weighed(edges: Tensor, weight: Any, num_nodes: int, *, directed: bool) -> tuple[Tensor, Tensor | None]:
    """Every edge once, and its weight; no weights where all are 1."""
    edges, weight = checked_edges(edges, num_nodes, torch.as_tensor(weight).detach().flatten())
    sums = coo_array((weight.double().numpy(), tuple(edges.numpy())), (num_nodes, num_nodes)).tocsr()
    found = (sums if directed else triu(sums.maximum(sums.T))).tocoo()
    kept = found.data > 0
    edges = torch.from_numpy(np.stack([found.row, found.col])[:, kept].astype(np.int64))
    weight = torch.from_numpy(found.data[kept])
    return edges, None if bool((weight == 1).all()) else weight
