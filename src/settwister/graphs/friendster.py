"""Friendster as Teixeira et al. (2019) published it: an HDF5 file and a split.

The layout is the one that the README and the loader of github.com/PurdueMINDS/GNNsMiscalibrated describe: datasets
``features`` (N, 644), ``target`` (N,) and ``adjacency`` (N,), in which entry u is the array of u's neighbours; and an
``.npz`` whose ``arr_0`` is an array of three arrays: the nodes to train on, to validate on and to test on.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.archives import member, open_archive, read_arrays, read_header
from settwister.graphs.features import from_entries, single
from settwister.graphs.hdf5 import open_dataset, open_file, read_rows
from settwister.graphs.hdf5_lists import read_lists, type_of_lists
from settwister.graphs.limits import MOST_EDGES, MOST_FEATURES, MOST_NODES, check_count
from settwister.graphs.parts import Parts, split_of_ids, whole_numbers
from settwister.graphs.pickles import LARGEST_PICKLE, load_pickle
from settwister.graphs.reading import reading

FILES = ("raw/friendster_25K.h5", "raw/friendster_25K.split.npz")
NUMBERS_AT_ONCE = 2**22


def read(folder: Path) -> Parts:
    """Users, friendships, the relationship status, and the one split. Label 4 means that the status is unknown.

    Every friendship is in the lists of both, so the edges are half the entries.
    """
    path = folder / FILES[0]
    with reading(path, "HDF5 with features, target and adjacency"), open_file(path) as file:
        x, edges, labels = _users(*(open_dataset(file, name) for name in ("features", "target", "adjacency")))
    path = folder / FILES[1]
    with reading(path, "arr_0 with three lists of node numbers"):
        split = split_of_ids(len(labels), *_three_lists(path))
    return Parts(x, torch.from_numpy(edges), labels, {"fixed": [split]}, given_edges=(edges.shape[1] + 1) // 2)


def _users(features: Any, target: Any, adjacency: Any) -> tuple[Csr, NDArray[np.int64], Tensor]:
    """What the datasets hold, read when all of them have the shapes and types that they should."""
    if features.ndim != 2 or features.dtype.kind not in "fiub":
        raise InputError(
            f"features are {features.dtype} of shape {features.shape}, expected numbers of shape (nodes, features)"
        )
    nodes, columns = features.shape
    check_count("nodes", nodes, MOST_NODES)
    check_count("features", columns, MOST_FEATURES)
    if target.shape != (nodes,) or target.dtype.kind not in "iu":
        raise InputError(f"target is {target.dtype} of shape {target.shape}, expected {nodes} whole numbers")
    entry = type_of_lists(adjacency)
    if adjacency.shape != (nodes,) or entry is None or entry.kind not in "iu":
        raise InputError(
            f"adjacency is {adjacency.dtype if entry is None else f'lists of {entry}'} of shape {adjacency.shape}, "
            f"expected {nodes} lists of node numbers"
        )
    labels = whole_numbers("target", read_rows(target, 0, nodes), (nodes,))
    return _features(features), _edges(adjacency), labels


def _features(stored: Any) -> Csr:
    nodes, width = stored.shape
    at_once = max(1, NUMBERS_AT_ONCE // width)
    rows, columns, values = [], [], []
    for start in range(0, nodes, at_once):
        block = single(read_rows(stored, start, start + at_once))
        row, column = block.nonzero()
        rows.append(row + start)
        columns.append(column)
        values.append(block[row, column])
    return from_entries(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), nodes, width)


def _edges(stored: Any) -> NDArray[np.int64]:
    lists = read_lists(stored, MOST_EDGES)
    lengths = [len(ends) for ends in lists]
    return np.stack([np.repeat(np.arange(len(lists)), lengths), np.concatenate(lists).astype(np.int64)])


def _three_lists(path: Path) -> list[NDArray[Any]]:
    """``arr_0``: an array of arrays of different lengths, which numpy can only write as a pickle."""
    with open_archive(path) as archive:
        content = io.BytesIO(archive.read(member(archive, "arr_0.npy", LARGEST_PICKLE)))
    _, dtype = read_header(content)
    found = load_pickle(content) if dtype.hasobject else read_arrays(path, ["arr_0"])["arr_0"]
    if not isinstance(found, np.ndarray) or found.ndim == 0 or len(found) != 3:
        count = len(found) if isinstance(found, np.ndarray) and found.ndim else "no"
        raise InputError(f"arr_0 has {count} parts, expected 3: train, validation and test")
    if not all(isinstance(part, np.ndarray) for part in found):
        raise InputError("arr_0 has a part that is not an array, expected three arrays of node numbers")
    return list(found)
