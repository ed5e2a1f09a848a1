"""HDF5 from a stranger: nothing outside the file is read, and no room is made for what it only claims to hold."""

import struct
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graph_files import dense, friendster_objects, little_memory, pairs, refusal, write_friendster
from settwister import InputError
from settwister.graphs import friendster as friendster_format
from settwister.graphs import load
from settwister.graphs.hdf5_lists import read_lists

h5py = pytest.importorskip("h5py")

NODES, FEATURES = 16, 6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The HDF5 file of a small Friendster."""
    write_friendster(tmp_path / "friendster", friendster_objects(NODES))
    return tmp_path / "friendster" / "raw" / "friendster_25K.h5"


def refused(path: Path) -> str:
    """The sentence, which names the file; little room was made before it."""
    with little_memory():
        said = refusal(lambda: load("friendster", path.parents[2]))
    assert said.startswith(str(path))
    return said


def put(path: Path, name: str, make: Callable[[Any], Any]) -> None:
    """Another thing under a name."""
    with h5py.File(path, "r+") as file:
        del file[name]
        make(file)


# ---- what is somewhere else -----------------------------------------------------------------------------------------


def soft_link(file: Any) -> None:
    file["away"] = np.ones((NODES, FEATURES))
    file["features"] = h5py.SoftLink("/away")


def virtual(file: Any) -> None:
    layout = h5py.VirtualLayout((NODES, FEATURES), "f8")
    layout[:] = h5py.VirtualSource("elsewhere.h5", "features", (NODES, FEATURES))
    file.create_virtual_dataset("features", layout)


ELSEWHERE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nothing": (lambda file: None, "there is no features in it, expected it among the datasets"),
    "soft link": (soft_link, "features is a link (SoftLink), expected a dataset of this file's own"),
    "dangling link": (lambda f: f.update(features=h5py.SoftLink("/nowhere")), "features is a link (SoftLink)"),
    "external link": (
        lambda file: file.update(features=h5py.ExternalLink("elsewhere.h5", "features")),
        "features is a link (ExternalLink)",
    ),
    "external storage": (
        lambda file: file.create_dataset("features", (NODES, FEATURES), "f8", external=[("/etc/hostname", 0, 768)]),
        "features is stored in another file, expected numbers in this one",
    ),
    "virtual": (virtual, "features is put together from other datasets"),
    "group": (lambda file: file.create_group("features"), "features is a group, expected a dataset"),
    "type": (lambda file: file.update(features=np.dtype("f8")), "features is a datatype, expected a dataset"),
    "empty": (lambda file: file.update(features=h5py.Empty("f8")), "features has shape None and nothing in it"),
}


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_what_is_not_in_the_file_is_refused(kind: str, path: Path) -> None:
    make, sentence = ELSEWHERE[kind]
    with h5py.File(path.parent / "elsewhere.h5", "w") as other:
        other["features"] = np.ones((NODES, FEATURES))
    put(path, "features", make)
    assert sentence in refused(path)


# ---- what is too large ----------------------------------------------------------------------------------------------


def lists(count: int) -> Callable[[Any], Any]:
    return lambda file: file.create_dataset("adjacency", (count,), dtype=h5py.vlen_dtype(np.int64), chunks=(1024,))


def stored(name: str, shape: tuple[int, ...], dtype: Any = "f8", **more: Any) -> Callable[[Any], Any]:
    return lambda file: file.create_dataset(name, shape, dtype=dtype, **more)


LARGE: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "rows": ("features", stored("features", (10**15, 6), chunks=(64, 6)), "features has shape (1000000000000000, 6)"),
    "packed rows": (
        "features",
        stored("features", (2**40, 644), "u1", chunks=(64, 644), compression="gzip"),
        "features has shape (1099511627776, 644), expected at most 67108864 numbers",
    ),
    "no rows of many": (
        "features",
        stored("features", (0, 2**40), maxshape=(None, 2**40)),
        "features has shape (0, 1099511627776)",
    ),
    "nodes": ("features", stored("features", (2**21 + 1, 1)), "there are 2097153 nodes, expected at most 2097152"),
    "columns": ("features", stored("features", (2, 2**17 + 1)), "there are 131073 features, expected at most 131072"),
    "labels": ("target", stored("target", (10**15,), "i8", chunks=(64,)), "target has shape (1000000000000000,)"),
    "lists": ("adjacency", lists(10**15), "adjacency has shape (1000000000000000,)"),
    "a chunk": (
        "features",
        stored("features", (NODES, 64), chunks=(2**20, 64), maxshape=(None, 64)),
        "features has 1 chunks of 536870912 bytes, expected at most 131072 of 268435456",
    ),
    "chunks": (
        "features",
        stored("features", (2**18, 1), chunks=(1, 1)),
        "features has 262144 chunks of 8 bytes, expected at most 131072",
    ),
    "an uncommon filter": (
        "target",
        stored("target", (NODES,), "i8", chunks=(NODES,), scaleoffset=0),
        "target is packed by the filters [6], expected gzip or lzf, once",
    ),
}


@pytest.mark.parametrize("kind", LARGE)
def test_claims_of_any_size_are_refused(kind: str, path: Path) -> None:
    name, make, sentence = LARGE[kind]
    put(path, name, make)
    assert path.stat().st_size < 2**26
    assert sentence in refused(path)


@pytest.mark.parametrize("packed", [True, False])
def test_a_chunk_that_unpacks_to_more_than_its_size_is_refused(packed: bool, path: Path) -> None:
    """80 million bytes instead of 768: HDF5 would make room for all of them."""

    def make(file: Any) -> None:
        made = file.create_dataset("features", (NODES, FEATURES), "f8", chunks=(NODES, FEATURES), compression="gzip")
        if packed:
            made.id.write_direct_chunk((0, 0), zlib.compress(bytes(80_000_000)))
        else:
            made.id.write_direct_chunk((0, 0), bytes(10_000), filter_mask=1)

    put(path, "features", make)
    assert f"features has a chunk of {77_767 if packed else 10_000} bytes or more, expected 768" in refused(path)


def entries(path: Path) -> tuple[int, bytearray]:
    """Where the file has the length, the heap and the number of each of its 16 lists, and the bytes of the file."""
    with h5py.File(path, "r") as file:
        return file["adjacency"].id.get_offset(), bytearray(path.read_bytes())


def test_one_list_for_every_node_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stored once, and would be read as often as it is named."""
    put(path, "adjacency", lambda file: None)
    with h5py.File(path, "r+") as file:
        file.create_dataset("adjacency", (NODES,), dtype=h5py.vlen_dtype(np.int64))[0] = np.zeros(10_000, dtype=int)
    place, content = entries(path)
    content[place : place + 16 * NODES] = content[place : place + 16] * NODES
    path.write_bytes(content)
    monkeypatch.setattr(friendster_format, "MOST_EDGES", 50_000)
    assert "there are 160000 entries in the lists, expected at most 50000" in refused(path)


@pytest.mark.parametrize("length", [2**32 - 1, 1000, 1])
def test_a_list_of_another_length_than_is_stored_is_refused(length: int, path: Path) -> None:
    place, content = entries(path)
    content[place : place + 4] = struct.pack("<I", length)
    path.write_bytes(content)
    said = refused(path)
    if length == 2**32 - 1:
        assert "entries in the lists, expected at most 16777216" in said
    else:
        assert f"a list of {length} entries is stored in 40 bytes: save the file again" in said


@pytest.mark.parametrize("heap", [0, 8, 10**6, 2**64 - 1])
def test_a_list_in_no_heap_is_refused(heap: int, path: Path) -> None:
    place, content = entries(path)
    content[place + 4 : place + 12] = struct.pack("<Q", heap)
    path.write_bytes(content)
    assert f"there is no heap of lists at byte {heap}, expected one for every list" in refused(path)


def test_damaged_heaps_are_a_graph_or_one_sentence(path: Path) -> None:
    """HDF5 itself never returns from some of these."""
    place, content = entries(path)
    (heap,) = struct.unpack("<Q", content[place + 4 : place + 12])
    for byte in range(heap, heap + 120):
        for value in (0, 1, 255):
            path.write_bytes(content[:byte] + bytes([value]) + content[byte + 1 :])
            with suppress(InputError):
                assert load("friendster", path.parents[2]).num_nodes == NODES


@pytest.mark.parametrize("packing", [dict(), dict(compression="gzip"), dict(compression="gzip", shuffle=True)])
def test_lengths_are_read_from_chunks_too(packing: dict[str, Any], path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load("friendster", path.parents[2])
    found = friendster_objects(NODES)["adjacency"]

    def make(file: Any) -> None:
        kind = h5py.vlen_dtype(np.int64)
        made = file.create_dataset("adjacency", (NODES,), kind, chunks=(5,), **packing)
        for node, ends in enumerate(found):
            made[node] = ends

    put(path, "adjacency", make)
    assert pairs(load("friendster", path.parents[2])) == pairs(plain)
    total = sum(map(len, found))
    monkeypatch.setattr(friendster_format, "MOST_EDGES", total - 1)
    assert f"there are {total} entries in the lists, expected at most {total - 1}" in refused(path)


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<i4", "u2", "i1"])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_lists_are_what_was_written(dtype: str, libver: str, tmp_path: Path) -> None:
    """Empty, short, longer than a heap is at first, and written again in other lengths."""
    random = np.random.default_rng(0)
    written = {i: np.empty(0) for i in range(300)}
    with h5py.File(tmp_path / "lists.h5", "w", libver=libver) as file:
        made = file.create_dataset("lists", (300,), h5py.vlen_dtype(np.dtype(dtype)))
        for i in [*range(290), *random.integers(290, size=100).tolist()]:
            length = random.choice([0, 1, 3, 40, 5000], p=[0.2, 0.3, 0.3, 0.18, 0.02])
            made[i] = written[i] = random.integers(100, size=length)
    with h5py.File(tmp_path / "lists.h5") as file:
        found = read_lists(file["lists"], 10**6)
    assert len(found) == 300
    for i, ours in enumerate(found):
        np.testing.assert_array_equal(ours, written[i])


@pytest.mark.parametrize("packing", [dict(), dict(chunks=(5,))])
def test_lists_that_were_never_written_are_empty(packing: dict[str, Any], path: Path) -> None:
    put(path, "adjacency", stored("adjacency", (NODES,), h5py.vlen_dtype(np.int64), **packing))
    assert load("friendster", path.parents[2]).num_edges == 0


def test_lists_that_cannot_be_looked_at_are_refused(path: Path) -> None:
    put(path, "adjacency", lambda file: None)
    with h5py.File(path, "r+") as file:
        made = file.create_dataset("adjacency", (NODES,), h5py.vlen_dtype(np.int64), compression="lzf")
        made[:] = np.array([np.arange(node % 3 + 1) for node in range(NODES)], dtype=object)
    assert "the lists are packed by filter 32000, expected gzip or nothing" in refused(path)


# ---- what is of another kind ----------------------------------------------------------------------------------------

KINDS: dict[str, tuple[str, Any, str]] = {
    "text": ("features", h5py.string_dtype(), "features are object of shape (16, 6), expected numbers"),
    "short text": ("features", "S4", "features are |S4 of shape (16, 6)"),
    "lists": ("features", h5py.vlen_dtype(np.float64), "features are object of shape (16, 6)"),
    "references": ("features", h5py.ref_dtype, "features are object of shape (16, 6)"),
    "records": ("features", [("a", "f8")], "of shape (16, 6), expected numbers"),
    "arrays": ("features", (np.float64, (1000,)), "of shape (16, 6), expected numbers"),
    "complex numbers": ("features", "c16", "features are complex128 of shape (16, 6), expected numbers"),
    "labels that are fractions": ("target", "f8", "target is float64 of shape (16,), expected 16 whole numbers"),
    "labels that are lists": ("target", h5py.vlen_dtype(np.int64), "target is object of shape (16,)"),
    "numbers for lists": ("adjacency", "i8", "adjacency is int64 of shape (16,), expected 16 lists of node numbers"),
    "fractions in lists": ("adjacency", h5py.vlen_dtype(np.float64), "adjacency is lists of float64 of shape (16,)"),
    "text for lists": ("adjacency", h5py.string_dtype(), "expected 16 lists of node numbers"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_types_are_refused(kind: str, path: Path) -> None:
    name, dtype, sentence = KINDS[kind]
    put(path, name, stored(name, (NODES, FEATURES) if name == "features" else (NODES,), dtype))
    assert sentence in refused(path)


def test_a_type_that_numpy_lacks_is_refused(path: Path) -> None:
    def make(file: Any) -> None:
        kind = h5py.h5t.py_create(np.dtype("u4")).copy()
        kind.set_size(3)
        kind.set_precision(24)
        h5py.h5d.create(file.id, b"target", kind, h5py.h5s.create_simple((NODES,)))

    put(path, "target", make)
    assert "target is" in refused(path) or "cannot be read" in refused(path)


# ---- what is read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "packing",
    [
        dict(chunks=(5, 4)),
        dict(compression="gzip", chunks=(5, 4)),
        dict(compression="gzip", shuffle=True, fletcher32=True),
        dict(compression="lzf"),
        dict(compression="gzip", chunks=(64, 64), maxshape=(None, None)),
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "u1", ">i4"])
def test_honest_files_are_read_however_they_are_packed(packing: dict[str, Any], dtype: str, path: Path) -> None:
    plain = load("friendster", path.parents[2])
    x = friendster_objects(NODES)["features"]
    put(path, "features", lambda file: file.create_dataset("features", data=x.astype(dtype), **packing))
    again = load("friendster", path.parents[2])
    assert torch.equal(dense(again.x), dense(plain.x))
    assert pairs(again) == pairs(plain)


def test_noise_that_grows_when_packed_is_read(path: Path) -> None:
    x = np.random.default_rng(0).integers(256, size=(NODES, 4000), dtype=np.uint8)
    put(path, "features", lambda file: file.create_dataset("features", data=x, chunks=x.shape, compression="gzip"))
    assert np.array_equal(dense(load("friendster", path.parents[2]).x).numpy(), x)


def test_features_are_read_in_blocks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load("friendster", path.parents[2])
    monkeypatch.setattr(friendster_format, "NUMBERS_AT_ONCE", 13)
    assert torch.equal(dense(load("friendster", path.parents[2]).x), dense(plain.x))


def test_without_h5py_the_sentence_says_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert "HDF5 needs h5py, which is not installed: pip install 'settwister[graphs]'" in refused(path)
