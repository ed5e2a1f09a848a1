"""Friendster's HDF5 and its split."""

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.lib import format as npy

from graph_files import PARTS, Harmful, dense, friendster_objects, little_memory, pairs, refusal, write_friendster
from settwister.graphs import load


def test_friendster_is_read_from_its_published_form(tmp_path: Path) -> None:
    objects = friendster_objects()
    write_friendster(tmp_path / "Friendster-25K", objects)
    graph = load("friendster", tmp_path)
    torch.testing.assert_close(dense(graph.x), torch.from_numpy(objects["features"]).float())
    assert graph.y.tolist() == [*(np.arange(13) % 4).tolist(), -1, -1, -1]
    assert pairs(graph) == {(node, end) for node, ends in enumerate(objects["adjacency"]) for end in ends}
    assert graph.given_edges == graph.num_edges
    assert [getattr(graph.splits["fixed"][0], part).tolist() for part in PARTS] == [
        part.tolist() for part in objects["split"]
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"features": np.ones(16)}, "features are float64 of shape (16,), expected numbers"),
        ({"features": np.full((16, 2), np.inf)}, "x has values that are NaN or infinite"),
        ({"target": np.zeros(15, int)}, "target is int64 of shape (15,)"),
        ({"adjacency": [[1]] * 4}, "adjacency is lists of int64 of shape (4,), expected 16 lists of node numbers"),
        ({"adjacency": [[16]] * 16}, "edges hold node 16, expected ids from 0 to 15"),
        ({"split": [np.arange(3)]}, "arr_0 has 1 parts, expected 3"),
        ({"split": [np.arange(3), np.arange(3), np.arange(3)]}, "3 nodes are in more than one part"),
        ({"split": [np.arange(3), np.arange(2, 4), np.arange(5, 7)]}, "1 nodes are in more than one part"),
        ({"split": [np.arange(3), np.arange(4, 6), np.arange(7, 15)]}, "a node of the split fixed has no label"),
        ({"split": [[0, 1], [[2] * 9] * 9, 3]}, "arr_0 has a part that is not an array, expected three arrays"),
        ({"split": [np.arange(3)] * 9}, "an array of objects does not list them, or more than 8"),
        ({"split": [np.arange(3.0), np.arange(4, 6), np.arange(7, 9)]}, "a part of the split is float64"),
        ({"split": [np.arange(3), np.arange(4, 6), np.array([99])]}, "names node 99, expected 0 to 15"),
        ({"split": [np.arange(3), np.arange(4, 6), np.array([7, -2])]}, "names node -2, expected 0 to 15"),
        ({"split": [Harmful(os.system, "true"), 0, 0]}, "which no published graph needs: nothing was run"),
    ],
)
def test_bad_friendster_is_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    write_friendster(tmp_path / "friendster", friendster_objects() | change)
    assert sentence in refusal(lambda: load("friendster", tmp_path))


def test_friendster_reads_nothing_outside_its_file(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    write_friendster(tmp_path / "friendster", friendster_objects())
    path = tmp_path / "friendster" / "raw" / "friendster_25K.h5"
    path.rename(tmp_path / "elsewhere.h5")
    with h5py.File(path, "w") as file:
        for name in ("features", "target", "adjacency"):
            file[name] = h5py.ExternalLink(str(tmp_path / "elsewhere.h5"), name)
    assert f"{path}: features is a link (ExternalLink)" in refusal(lambda: load("friendster", tmp_path))
    path.write_bytes(path.read_bytes()[:100])
    assert refusal(lambda: load("friendster", tmp_path)).startswith(f"{path} cannot be read")


def test_a_split_of_equal_parts_is_an_array_of_numbers(tmp_path: Path) -> None:
    """Which numpy writes without a pickle; its header may claim any size."""
    write_friendster(tmp_path / "friendster", friendster_objects())
    path = tmp_path / "friendster" / "raw" / "friendster_25K.split.npz"
    np.savez(path, np.arange(12).reshape(3, 4))
    assert load("friendster", tmp_path).splits["fixed"][0].validation.tolist() == [4, 5, 6, 7]
    for shape, sentence in (((4, 3), "arr_0 has 4 parts"), ((12,), "arr_0 has 12 parts"), ((), "arr_0 has no parts")):
        np.savez(path, np.zeros(shape, dtype=int))
        assert sentence in refusal(lambda: load("friendster", tmp_path))
    with zipfile.ZipFile(path, "w") as archive, archive.open("arr_0.npy", "w") as handle:
        npy.write_array_header_1_0(handle, {"descr": "<i8", "fortran_order": False, "shape": (3, 10**12)})
    with little_memory():
        assert "arr_0 has shape (3, 1000000000000)" in refusal(lambda: load("friendster", tmp_path))
    np.savez(path, other=np.arange(3))
    assert f"{path}: there is no arr_0.npy in it" in refusal(lambda: load("friendster", tmp_path))
