"""Friendster as Teixeira et al. (2019) published it: an HDF5 file and a split.

The layout is the one that the README and the loader of github.com/PurdueMINDS/GNNsMiscalibrated describe: datasets
``features`` (N, 644), ``target`` (N,) and ``adjacency`` (N,), in which entry u is the array of u's neighbours; and an
``.npz`` whose ``arr_0`` is an array of three arrays: the nodes to train on, to validate on and to test on.
"""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.features import from_entries
from settwister.graphs.parts import Parts, split_of_ids, whole_numbers
from settwister.graphs.pickles import load_pickle
from settwister.graphs.reading import reading

FILES = ("raw/friendster_25K.h5", "raw/friendster_25K.split.npz")
ROWS_AT_ONCE = 4096


def read(folder: Path) -> Parts:
    """Users, friendships, the relationship status, and the one split. Label 4 means that the status is unknown.

    Every friendship is in the lists of both, so the edges are half the entries.
    """
    try:
        import h5py
    except ImportError as error:
        raise InputError(f"{folder / FILES[0]} is HDF5, which needs h5py: pip install 'settwister[graphs]'") from error
    path = folder / FILES[0]
    with reading(path, "HDF5 with features, target and adjacency"), h5py.File(path, "r") as file:
        features, target, adjacency = (_dataset(file, name) for name in ("features", "target", "adjacency"))
        if features.ndim != 2 or features.dtype.kind not in "fiub":
            raise InputError(f"features have shape {features.shape}, expected numbers of shape (nodes, features)")
        nodes = features.shape[0]
        member = h5py.check_vlen_dtype(adjacency.dtype)
        if adjacency.shape != (nodes,) or member is None or np.dtype(member).kind not in "iu":
            raise InputError(f"adjacency has shape {adjacency.shape}, expected {nodes} lists of node numbers")
        labels = whole_numbers("target", np.asarray(target[()]), (nodes,))
        x, edges = _features(features), _edges(adjacency)
    path = folder / FILES[1]
    with reading(path, "arr_0 with three lists of node numbers"):
        split = split_of_ids(nodes, *_three_lists(path))
    return Parts(x, torch.from_numpy(edges), labels, {"fixed": [split]}, given_edges=(edges.shape[1] + 1) // 2)


def _dataset(file: Any, name: str) -> Any:
    """A dataset that is in this very file: HDF5 can also point at others."""
    import h5py

    found = file.get(name) if isinstance(file.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(found, h5py.Dataset) or found.external or found.is_virtual:
        raise InputError(f"there is no {name} in it, expected features, target and adjacency")
    return found


def _features(stored: Any) -> Csr:
    rows, columns, values = [], [], []
    for start in range(0, stored.shape[0], ROWS_AT_ONCE):
        block = np.asarray(stored[start : start + ROWS_AT_ONCE], dtype=np.float32)
        row, column = block.nonzero()
        rows.append(row + start)
        columns.append(column)
        values.append(block[row, column])
    return from_entries(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), *stored.shape)


def _edges(stored: Any) -> NDArray[np.int64]:
    lists = stored[()]
    starts = np.repeat(np.arange(len(lists)), [len(ends) for ends in lists])
    return np.stack([starts, np.concatenate([np.empty(0, dtype=np.int64), *lists]).astype(np.int64)])


def _three_lists(path: Path) -> list[NDArray[Any]]:
    """``arr_0``: an array of arrays of different lengths, which numpy can only write as a pickle."""
    with zipfile.ZipFile(path) as archive:
        content = io.BytesIO(archive.read("arr_0.npy"))
    version = npy.read_magic(content)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    _, _, dtype = header(content)
    if dtype != np.dtype(object):
        content.seek(0)
        found = np.load(content, allow_pickle=False)
    else:
        found = load_pickle(content)
    parts = [np.asarray(part) for part in found]
    if len(parts) != 3:
        raise InputError(f"arr_0 has {len(parts)} parts, expected 3: train, validation and test")
    return parts
