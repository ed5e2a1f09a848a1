"""What a file of any format holds, before it is a graph."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.splits import Split


@dataclass(frozen=True, eq=False)
class Parts:
    """What every reader returns.

    Args:
        x: features, dense or sparse.
        edges: (2, E) as the file lists them.
        y: (N,) labels as the file writes them.
        splits: families of splits by name.
        given_edges: the number of edges by the file's own count, where that is not E.
    """

    x: Tensor | Csr
    edges: Tensor
    y: Tensor
    splits: dict[str, list[Split]] = field(default_factory=dict)
    given_edges: int | None = None


def splits_of_masks(nodes: int, train: NDArray[Any], validation: NDArray[Any], test: NDArray[Any]) -> list[Split]:
    """Splits from masks of (N,), one, or of (splits, N), several; a single mask serves every split."""
    several = max([1, *(len(mask) for mask in (train, validation, test) if mask.ndim == 2)])
    for mask in (train, validation, test):
        if mask.dtype != np.bool_ or mask.shape not in {(nodes,), (several, nodes)}:
            raise InputError(
                f"a mask of the splits is {mask.dtype} of shape {mask.shape}, expected booleans of shape ({nodes},) or "
                f"({several}, {nodes})"
            )
    rows = (np.broadcast_to(mask, (several, nodes)) for mask in (train, validation, test))
    return [Split.from_masks(*(torch.from_numpy(mask.copy()) for mask in one)) for one in zip(*rows, strict=True)]


def split_of_ids(nodes: int, train: NDArray[Any], validation: NDArray[Any], test: NDArray[Any]) -> Split:
    """A split from lists of node numbers."""
    masks = []
    for ids in (train, validation, test):
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise InputError(
                f"a part of the split is {ids.dtype} of shape {ids.shape}, expected a list of node numbers"
            )
        if ids.size and (ids.min() < 0 or ids.max() >= nodes):
            outside = ids.min() if ids.min() < 0 else ids.max()
            raise InputError(f"a part of the split names node {outside}, expected 0 to {nodes - 1}")
        masks.append(torch.zeros(nodes, dtype=torch.bool))
        masks[-1][torch.from_numpy(ids.astype(np.int64))] = True
    return Split.from_masks(*masks)


def whole_numbers(what: str, array: NDArray[Any], shape: tuple[int, ...]) -> Tensor:
    """``array`` as int64, which must hold whole numbers in ``shape``; -1 stands for any length."""
    fits = array.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype.kind not in "iu" or not fits:
        wanted = str(shape).replace("-1", "any")
        raise InputError(f"{what} is {array.dtype} of shape {array.shape}, expected whole numbers of shape {wanted}")
    return torch.from_numpy(array.astype(np.int64))


def fingerprint(parts: Parts, family: str) -> str:
    """A SHA-256 of what the parts say, whatever file they came from and in whatever order it was written.

    Over the features that are not 0, the edges between different nodes, each once, the labels and the splits of one
    family.
    """
    digest = hashlib.sha256()
    for name, array in _canonical(parts, family):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _canonical(parts: Parts, family: str) -> Iterable[tuple[str, NDArray[Any]]]:
    if isinstance(parts.x, Tensor):
        rows, columns = (part.numpy() for part in parts.x.nonzero(as_tuple=True))
        values, shape = parts.x.numpy()[rows, columns], tuple(parts.x.shape)
    else:
        rows, columns = parts.x.rows.numpy(), parts.x.index.numpy()
        values = np.ones(len(rows)) if parts.x.weight is None else parts.x.weight.numpy()
        shape = parts.x.num_sets, parts.x.num_elements
    order = np.lexsort((columns, rows))
    yield "shape", np.asarray(shape, dtype="<i8")
    yield "rows", rows[order].astype("<i8")
    yield "columns", columns[order].astype("<i8")
    yield "values", values[order].astype("<f4")
    low, high = np.sort(parts.edges.numpy().astype("<i8"), axis=0)
    yield "edges", np.unique(np.stack([low, high])[:, low != high], axis=1)
    yield "labels", parts.y.numpy().astype("<i8")
    for split in parts.splits.get(family, []):
        for name in ("train", "validation", "test"):
            yield name, np.sort(getattr(split, name).numpy()).astype("<i8")
