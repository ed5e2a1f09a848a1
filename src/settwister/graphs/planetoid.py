"""Cora, Citeseer and PubMed as Yang et al. (2016) published them: eight files ``ind.NAME.*``, seven of them pickles."""

from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.features import from_entries, from_rows
from settwister.graphs.limits import MOST_EDGES, MOST_FEATURES, check_count, check_file
from settwister.graphs.parts import Parts, split_of_ids
from settwister.graphs.pickles import Matrix, read_pickle
from settwister.graphs.reading import reading

ENDINGS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
VALIDATION = 500
LARGEST_INDEX = 2**20  # bytes; 1,000 nodes are tested


def files(name: str) -> tuple[str, ...]:
    """The files of a graph, relative to its folder."""
    return tuple(f"raw/ind.{name}.{ending}" for ending in ENDINGS)


def read(folder: Path, name: str) -> Parts:
    """The graph in the eight files, with the public split.

    ``allx`` and ``ally`` are the nodes that are not tested, those of ``y`` first; row i of ``tx`` and ``ty`` is node
    ``test.index[i]``. Nodes that the index leaves out, which Citeseer has, are rows of zeros of class 0, as in PyG.

    Edges are counted as half the entries of the adjacency lists, repeated ones and loops included: Cora's lists have
    10,858 entries, and 5,429 edges is what papers print. 5,278 of them are different.
    """
    paths = {ending: folder / file for ending, file in zip(ENDINGS, files(name), strict=True)}
    x, allx, tx = (_matrix(paths[ending]) for ending in ("x", "allx", "tx"))
    y, ally, ty = (_labels(paths[ending]) for ending in ("y", "ally", "ty"))
    for features, labels, ending in ((x, y, "x"), (allx, ally, "allx"), (tx, ty, "tx")):
        if features.num_sets != len(labels) or features.num_elements != allx.num_elements:
            raise InputError(
                f"{paths[ending]} has {features.num_sets} rows of {features.num_elements}, expected {len(labels)}, as "
                f"there are labels, of {allx.num_elements}: fetch the eight files again"
            )
    test = _index(paths["test.index"], first=len(ally), count=len(ty))
    nodes = int(test.max()) + 1
    if len(y) + VALIDATION > len(ally):
        raise InputError(
            f"{paths['allx']} has {len(ally)} rows, expected {VALIDATION} for validation after the {len(y)} of "
            f"{paths['x'].name}"
        )
    labels = np.zeros(nodes, dtype=np.int64)
    labels[: len(ally)], labels[test] = ally, ty
    edges = _edges(paths["graph"], nodes)
    split = split_of_ids(nodes, np.arange(len(y)), np.arange(len(y), len(y) + VALIDATION), test)
    return Parts(
        _joined(allx, tx, test, nodes),
        torch.from_numpy(edges),
        torch.from_numpy(labels),
        {"public": [split]},
        given_edges=(edges.shape[1] + 1) // 2,
    )


def _matrix(path: Path) -> Csr:
    found = read_pickle(path)
    with reading(path, "a pickled csr_matrix"):
        if not isinstance(found, Matrix):
            raise InputError(f"there is a {type(found).__name__}, expected a csr_matrix")
        if found.ptr.size != found.shape[0] + 1:
            raise InputError(f"there are {found.ptr.size} row starts, expected {found.shape[0] + 1}")
        check_count("features", found.shape[1], MOST_FEATURES)
        return from_rows(found.ptr, found.columns, found.values, found.shape)


def _labels(path: Path) -> NDArray[np.int64]:
    found = read_pickle(path)
    with reading(path, "a pickled array of labels"):
        if not isinstance(found, np.ndarray) or found.ndim != 2 or found.dtype.kind not in "fiub" or not found.size:
            raise InputError("there is no table of numbers, expected one row of zeros and a one for every node")
        labels: NDArray[np.int64] = np.argmax(found, axis=1).astype(np.int64)
        return labels


def _index(path: Path, first: int, count: int) -> NDArray[np.int64]:
    with reading(path, "one node number per line"):
        check_file(path, LARGEST_INDEX)
        test = np.array([int(line) for line in path.read_text(encoding="ascii").split()], dtype=np.int64)
        if len(test) != count or len(np.unique(test)) != count or not count:
            raise InputError(f"there are {len(np.unique(test))} different nodes, expected {count}, one per tested row")
        # The range may have gaps, but only a broken file has more gaps than nodes.
        if test.min() < first or test.max() >= first + 2 * count:
            raise InputError(
                f"nodes {test.min()} to {test.max()} are tested, expected about {count} from {first} on, after the rest"
            )
        return test


def _edges(path: Path, nodes: int) -> NDArray[np.int64]:
    found = read_pickle(path)
    with reading(path, "a pickled dictionary of adjacency lists"):
        if not isinstance(found, dict) or not all(isinstance(ends, list) for ends in found.values()):
            raise InputError("there are no adjacency lists, expected a dictionary from node to neighbours")
        # One list can stand for the neighbours of every node, in a file of a few bytes for each.
        check_count("edges", sum(map(len, found.values())), MOST_EDGES)
        entries: list[Any] = [*found, *(end for ends in found.values() for end in ends)]
        wrong = [node for node in entries if type(node) is not int or not 0 <= node < nodes]
        if wrong:
            raise InputError(f"node {short(wrong[0])} has an edge, expected nodes 0 to {nodes - 1}")
        starts = np.repeat(
            np.fromiter(found, dtype=np.int64, count=len(found)),
            np.fromiter((len(ends) for ends in found.values()), dtype=np.int64, count=len(found)),
        )
        return np.stack([starts, np.array(entries[len(found) :], dtype=np.int64)])


def _joined(allx: Csr, tx: Csr, test: NDArray[np.int64], nodes: int) -> Csr:
    rows = np.concatenate([allx.rows.numpy(), test[tx.rows.numpy()]])
    columns = np.concatenate([allx.index.numpy(), tx.index.numpy()])
    values = [np.ones(len(x.index)) if x.weight is None else x.weight.numpy() for x in (allx, tx)]
    return from_entries(rows, columns, np.concatenate(values), nodes, allx.num_elements)
