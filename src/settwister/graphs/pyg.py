"""A graph from PyTorch Geometric's ``Data``, without importing it."""

from typing import Any

import torch
from torch import Tensor

from settwister.errors import InputError
from settwister.graphs.graph import Graph
from settwister.graphs.parts import splits_of_masks


def from_pyg(data: Any, *, name: str = "graph", **more: Any) -> Graph:
    """A graph from an object with ``x``, ``edge_index`` and ``y``, as PyTorch Geometric's ``Data`` is.

    Args:
        data: masks ``train_mask``, ``val_mask`` and ``test_mask`` of (N,) or (N, splits) become the splits "public".
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
    return Graph.make(x, edges, y, name=name, splits=splits, **more)
