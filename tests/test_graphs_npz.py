"""The data directory's own format."""

import io
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import array_shapes, scalar_dtypes, unicode_string_dtypes
from hypothesis.extra.numpy import arrays as arrays_of
from numpy.lib import format as npy

from graph_files import dense, equal_splits, few_arrays, little_memory, refusal, write_npz
from settwister import InputError
from settwister.functional import Csr
from settwister.graphs import archives, load, registry
from settwister.graphs import npz as npz_format


def test_npz_is_read_sparse_and_dense(tmp_path: Path) -> None:
    arrays = few_arrays()
    write_npz(tmp_path, "cora", arrays)
    sparse = load("cora", tmp_path)
    expected = scipy.sparse.csr_matrix((arrays["x_data"], arrays["x_indices"], arrays["x_indptr"]), arrays["x_shape"])
    assert np.array_equal(dense(sparse.x).numpy(), expected.toarray())
    assert sparse.y.tolist() == arrays["y"].tolist()
    assert (sparse.num_edges, sparse.given_edges, sparse.name, sparse.balanced) == (11, 11, "cora", False)
    assert {name: len(splits) for name, splits in sparse.splits.items()} == {"public": 1, "geom": 2}
    assert sparse.splits["geom"][1].train.tolist() == arrays["geom_train_mask"][1].nonzero()[0].tolist()
    kept = {name: array for name, array in arrays.items() if not name.startswith("x_")}
    write_npz(tmp_path, "cora", kept | {"x": expected.toarray()})
    full = load("cora", tmp_path)
    assert isinstance(full.x, torch.Tensor)
    assert full.x.dtype == torch.float32
    assert torch.equal(full.x, dense(sparse.x))
    assert equal_splits(full, sparse)


def test_npz_without_values_is_all_ones(tmp_path: Path) -> None:
    arrays = few_arrays()
    del arrays["x_data"]
    write_npz(tmp_path, "citeseer", arrays)
    graph = load("citeseer", tmp_path)
    assert isinstance(graph.x, Csr)
    assert graph.x.weight is None
    assert int(dense(graph.x).sum()) == len(arrays["x_indices"])


def test_splits_are_called_what_their_graph_calls_them(tmp_path: Path) -> None:
    arrays = {name: array for name, array in few_arrays().items() if not name.startswith("geom")}
    for name in ("arxiv", "pubmed"):
        write_npz(tmp_path, name, arrays)
    wikics = arrays | {f"{part}_mask": np.tile(arrays[f"{part}_mask"], (20, 1)) for part in ("train", "val")}
    write_npz(tmp_path, "wikics", wikics)
    found = {
        name: {f: len(s) for f, s in load(name, tmp_path).splits.items()} for name in ("arxiv", "pubmed", "wikics")
    }
    assert found == {"arxiv": {"year": 1}, "pubmed": {"public": 1}, "wikics": {"official": 20}}


def test_friendster_has_unknown_labels_and_uneven_classes(tmp_path: Path) -> None:
    arrays = {name: array for name, array in few_arrays().items() if not name.startswith("geom")}
    arrays["y"] = np.where(arrays["train_mask"] | arrays["val_mask"] | arrays["test_mask"], arrays["y"], 4)
    arrays["y"][0], arrays["train_mask"][0] = 4, False
    write_npz(tmp_path, "friendster", arrays)
    graph = load("friendster", tmp_path)
    assert (graph.num_classes, graph.balanced, list(graph.splits)) == (4, True, ["fixed"])
    assert graph.y[0] == -1
    assert 0 not in graph.labelled
    assert isinstance(graph.x, Csr)
    assert graph.x.weight is None or bool((graph.x.weight != 0).all())
    arrays["train_mask"][0] = True
    path = write_npz(tmp_path, "friendster", arrays)
    assert f"{path}: a node of the split fixed has no label" in refusal(lambda: load("friendster", tmp_path))
    arrays["y"][1] = 5
    write_npz(tmp_path, "friendster", arrays | {"train_mask": arrays["train_mask"] & (arrays["y"] < 4)})
    assert "y holds 5, expected labels below num_classes=4" in refusal(lambda: load("friendster", tmp_path))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": None}, "there is no array y, expected edge_index, y and features"),
        ({"x_shape": None}, "there are no features, expected x, or x_indptr"),
        ({"x_shape": np.array([12, 2])}, "name column 4, expected 0 to 1"),
        ({"x_shape": np.array([10**12, 5])}, "x_shape is (1000000000000, 5), expected 12 rows"),
        ({"x_indices": np.full(30, -1)}, "the sparse features name column"),
        ({"x_indptr": np.arange(13)[::-1]}, "row starts that do not rise from 0 to"),
        ({"x_data": np.ones(3)}, "have 3 values (float64), expected"),
        ({"x_data": np.full(30, np.nan, np.float32)}, "x has values that are NaN or infinite"),
        ({"x": np.ones(12)}, "x is float64 of shape (12,), expected numbers of shape (nodes, features)"),
        ({"x": np.array([["a"] * 5] * 12)}, "x is <U1 of shape (12, 5), expected numbers"),
        ({"x": np.ones((12, 5), dtype=object)}, "cannot be read (Object arrays cannot be loaded"),
        ({"y": np.zeros(11, int)}, "y is int64 of shape (11,), expected whole numbers of shape (12,)"),
        ({"y": np.zeros(12)}, "y is float64 of shape (12,), expected whole numbers"),
        ({"edge_index": np.zeros((3, 4), int)}, "edge_index is int64 of shape (3, 4)"),
        ({"edge_index": np.array([[0], [12]])}, "edges hold node 12, expected ids from 0 to 11"),
        ({"train_mask": np.ones(12, bool)}, "8 nodes are in more than one part of a split, expected disjoint masks"),
        ({"train_mask": np.ones(11, bool)}, "a mask of the splits is bool of shape (11,)"),
        ({"val_mask": np.zeros(12)}, "a mask of the splits is float64 of shape (12,), expected booleans"),
        ({"geom_test_mask": None}, "one of the masks geom_train_mask, geom_val_mask, geom_test_mask is missing"),
    ],
)
def test_bad_npz_is_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    arrays = few_arrays() | change
    path = write_npz(tmp_path, "pubmed", {name: array for name, array in arrays.items() if array is not None})
    assert len(few_arrays()["x_indices"]) == 30
    said = refusal(lambda: load("pubmed", tmp_path))
    assert sentence in said
    assert said.startswith(str(path))


@pytest.mark.parametrize("kept", [0, 10, 300, -30])
def test_truncated_npz_is_refused(kept: int, tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    path.write_bytes(path.read_bytes()[:kept])
    assert refusal(lambda: load("pubmed", tmp_path)).startswith(f"{path} cannot be read")


# ---- what is too large ----------------------------------------------------------------------------------------------


def replaced(path: Path, name: str, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> None:
    """Another array under a name, as bytes, packed in some way."""
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for one, old in members.items():
            archive.writestr(one, content if one == f"{name}.npy" else old, method)


def claiming(shape: tuple[int, ...], dtype: str = "<i8", content: bytes = b"") -> bytes:
    """An array whose header says whatever it likes."""
    handle = io.BytesIO()
    npy.write_array_header_1_0(handle, {"descr": dtype, "fortran_order": False, "shape": shape})
    return handle.getvalue() + content


def refused(path: Path) -> str:
    with little_memory():
        return refusal(lambda: load("pubmed", path.parents[1]))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("edge_index", claiming((2, 10**12)), "edge_index has shape (2, 1000000000000), expected at most 67108864"),
        ("edge_index", claiming((2, 10**7)), "bytes, expected enough for int64 of shape (2, 10000000)"),
        ("y", claiming((10**30,)), "y has shape (1000000000000000000000000000000,)"),
        ("y", claiming((12,), "<U100000000"), "bytes, expected enough for <U100000000 of shape (12,)"),
        ("y", claiming((-(10**12),)), "cannot be read ("),
        ("y", claiming((12,), "O", b"cos\nsystem\n(S'true'\ntR."), "cannot be read (Object arrays cannot be loaded"),
        ("y", b"", "cannot be read ("),
        ("y", b"not an array", "cannot be read ("),
        ("geom_val_mask", claiming((10**9, 0), "|b1"), "there are 1000000000 splits, expected at most 128"),
    ],
)
def test_claims_of_any_size_are_refused(name: str, content: bytes, sentence: str, tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    replaced(path, name, content)
    assert path.stat().st_size < 200_000
    said = refused(path)
    assert said.startswith(str(path))
    assert sentence in said


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x_shape": np.array([12, 10**12])}, "there are 1000000000000 features, expected at most 131072"),
        ({"x": np.zeros((12, 2**17 + 1), np.int8)}, "there are 131073 features"),
        ({"y": np.full(12, 10**15)}, "there are 1000000000000001 classes, expected at most 4096"),
        ({"train_mask": np.zeros((200, 12), bool)}, "there are 200 splits, expected at most 128"),
        ({"x": np.full((12, 5), 1e300)}, "x has values that are NaN or infinite"),
    ],
)
def test_numbers_that_would_make_room_later_are_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays() | change)
    assert sentence in refused(path)


@pytest.mark.parametrize(("limit", "what"), [("MOST_NODES", "12 nodes"), ("MOST_EDGES", "11 edges")])
def test_graphs_beyond_the_limits_are_refused(
    limit: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, limit, 10)
    path = write_npz(tmp_path, "pubmed", few_arrays())
    assert f"there are {what}, expected at most 10 in a graph of the paper" in refused(path)


def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    replaced(path, "x_indptr", claiming((10**8,), "|i1", bytes(10**8)))
    assert path.stat().st_size < 200_000
    assert "x_indptr has shape (100000000,), expected at most 67108864 numbers" in refused(path)


def test_a_member_that_claims_to_unpack_to_gigabytes_is_refused(tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    content = bytearray(path.read_bytes())
    place = content.rindex(b"edge_index.npy") - 46 + 24  # its size, in the table at the end
    content[place : place + 4] = (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(content)
    assert "edge_index.npy unpacks to 4294967294 bytes, expected at most 536870912" in refused(path)


def test_members_that_are_too_large_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    monkeypatch.setattr(archives, "LARGEST_FILE", 1000)
    assert "bytes in it, expected at most 1000" in refused(path)


def test_a_file_of_a_terabyte_of_nothing_is_refused(tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    with path.open("r+b") as handle:
        handle.truncate(2**40)
    assert "there are 1099511627776 bytes, expected at most 536870912" in refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_uncommon_packing_is_refused(method: int, tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    replaced(path, "y", b"", method)
    assert "is encrypted or packed in an uncommon way, expected it stored or deflated" in refused(path)


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    path = write_npz(tmp_path, "pubmed", few_arrays())
    content = bytearray(path.read_bytes())
    content[content.rindex(b"edge_index.npy") - 46 + 8] |= 1
    path.write_bytes(content)
    assert "edge_index.npy is encrypted or packed in an uncommon way" in refused(path)


any_array = arrays_of(
    scalar_dtypes() | unicode_string_dtypes(max_len=3), array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=13)
)


@given(arrays=some.dictionaries(some.sampled_from(npz_format.KNOWN), any_array, min_size=1, max_size=3))
def test_arrays_of_any_kind_are_a_graph_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    write_npz(folder, "pubmed", few_arrays() | arrays)
    with suppress(InputError):
        assert load("pubmed", folder).num_nodes > 0
