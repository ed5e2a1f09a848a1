"""The data directory's own format: ``NAME/NAME.npz``, plain arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.archives import read_arrays
from settwister.graphs.features import from_rows, single
from settwister.graphs.limits import MOST_FEATURES, check_count, check_masks
from settwister.graphs.parts import Parts, splits_of_masks, whole_numbers
from settwister.graphs.reading import reading

NEEDED = ("edge_index", "y")
KNOWN = (
    *NEEDED,
    "x",
    *("x_indptr", "x_indices", "x_shape", "x_data"),
    *(f"{prefix}{part}_mask" for prefix in ("", "geom_") for part in ("train", "val", "test")),
)


def read(path: Path, family: str = "public") -> Parts:
    """The arrays of one graph.

    Features are ``x``, or compressed rows in ``x_indptr``, ``x_indices``, ``x_shape`` and ``x_data``, which is absent
    where every stored value is 1. ``train_mask``, ``val_mask`` and ``test_mask`` are the splits called ``family``, and
    the same names after ``geom_`` those called "geom".
    """
    with reading(path, f"arrays {', '.join(NEEDED)} and features"):
        arrays = read_arrays(path, KNOWN)
        missing = [name for name in NEEDED if name not in arrays]
        if missing:
            raise InputError(f"there is no array {missing[0]}, expected {', '.join(NEEDED)} and features")
        x = _features(arrays)
        nodes = len(x) if isinstance(x, Tensor) else x.num_sets
        splits = {}
        for name, prefix in ((family, ""), ("geom", "geom_")):
            wanted = [f"{prefix}{part}_mask" for part in ("train", "val", "test")]
            masks = [arrays[mask] for mask in wanted if mask in arrays]
            check_masks(*masks)
            if len(masks) == len(wanted):
                splits[name] = splits_of_masks(nodes, *masks)
            elif masks:
                raise InputError(f"one of the masks {', '.join(wanted)} is missing")
        edges = whole_numbers("edge_index", arrays["edge_index"], (2, -1))
        return Parts(x, edges, whole_numbers("y", arrays["y"], (nodes,)), splits)


def _features(arrays: Mapping[str, NDArray[Any]]) -> Tensor | Csr:
    if "x" in arrays:
        x = arrays["x"]
        if x.ndim != 2 or x.dtype.kind not in "fiub":
            raise InputError(f"x is {x.dtype} of shape {x.shape}, expected numbers of shape (nodes, features)")
        return torch.from_numpy(single(x))
    if not {"x_indptr", "x_indices", "x_shape"} <= set(arrays):
        raise InputError("there are no features, expected x, or x_indptr, x_indices and x_shape")
    rows, columns = whole_numbers("x_shape", arrays["x_shape"], (2,)).tolist()
    if not 0 < rows < arrays["x_indptr"].size or columns < 1:
        raise InputError(
            f"x_shape is ({rows}, {columns}), expected {arrays['x_indptr'].size - 1} rows and some columns"
        )
    check_count("features", columns, MOST_FEATURES)
    return from_rows(arrays["x_indptr"], arrays["x_indices"], arrays.get("x_data"), (rows, columns))
