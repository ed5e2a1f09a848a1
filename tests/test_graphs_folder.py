"""Graphs as folders of mapped arrays: given back as they were, and every tampering refused."""

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.lib import format as npy

from graph_files import dense, equal_splits, little_memory, pairs, refusal
from settwister.functional import Csr
from settwister.graphs import Graph, open_folder, random_split, save_folder
from settwister.graphs import folder as folder_format
from settwister.graphs.features import from_entries


def small_graph(sparse: bool = True, directed: bool = False) -> Graph:
    random = np.random.default_rng(6)
    table = np.where(random.random((40, 8)) < 0.3, random.normal(size=(40, 8)), 0).astype(np.float32)
    rows, columns = table.nonzero()
    x: torch.Tensor | Csr = torch.from_numpy(table)
    if sparse:
        x = from_entries(rows, columns, table[rows, columns], 40, 8)
    y = torch.arange(40) % 3
    y[39] = -1
    splits = {
        "public": [random_split(torch.arange(30), 0)],
        "more": [random_split(torch.arange(39), s) for s in (1, 2)],
    }
    edges = torch.from_numpy(random.integers(38, size=(2, 90)))
    return Graph.make(x, edges, y, directed=directed, name="small", splits=splits, balanced=True)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_a_folder_gives_the_graph_back_without_reading_it(sparse: bool, directed: bool, tmp_path: Path) -> None:
    graph = small_graph(sparse, directed)
    save_folder(graph, tmp_path / "graph")
    again = open_folder(tmp_path / "graph")
    assert torch.equal(dense(again.x), dense(graph.x))
    assert torch.equal(again.y, graph.y)
    assert pairs(again) == pairs(graph)
    assert equal_splits(again, graph)
    for field in ("num_classes", "name", "given_edges", "balanced"):
        assert getattr(again, field) == getattr(graph, field)
    mapped = [again.neighbours.index, again.y, again.x if isinstance(again.x, torch.Tensor) else again.x.weight]
    for tensor in mapped:
        assert tensor is not None
        assert any(str(tmp_path / "graph") in line and _covers(line, tensor) for line in _maps())
    values = torch.randn(40, 5, dtype=torch.float64, requires_grad=True)
    gradients = [torch.autograd.grad(g.neighbours.sum(values).square().sum(), values)[0] for g in (graph, again)]
    torch.testing.assert_close(*gradients)


def _maps() -> list[str]:
    if not Path("/proc/self/maps").is_file():
        pytest.skip("only Linux tells which files are mapped")
    return Path("/proc/self/maps").read_text().splitlines()


def _covers(line: str, tensor: torch.Tensor) -> bool:
    start, end = (int(address, 16) for address in line.split()[0].split("-"))
    return start <= tensor.data_ptr() < end


def test_changing_a_mapped_graph_leaves_the_file_alone(tmp_path: Path) -> None:
    save_folder(small_graph(sparse=False), tmp_path / "graph")
    x = open_folder(tmp_path / "graph").x
    assert isinstance(x, torch.Tensor)
    before = x.clone()
    x.zero_()
    assert torch.equal(dense(open_folder(tmp_path / "graph").x), before)


def test_folders_are_not_overwritten_by_accident(tmp_path: Path) -> None:
    save_folder(small_graph(), tmp_path / "graph")
    assert "exists already" in refusal(lambda: save_folder(small_graph(), tmp_path / "graph"))
    save_folder(small_graph(sparse=False), tmp_path / "graph", force=True)
    assert isinstance(open_folder(tmp_path / "graph").x, torch.Tensor)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("precious")
    assert "has no graph.json" in refusal(lambda: save_folder(small_graph(), tmp_path / "letters", force=True))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def tampered(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    np.save(folder / f"{name}.npy", change(np.load(folder / f"{name}.npy")))


def with_entry(place: int, value: Any) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array.reshape(-1)[place] = value
        return array

    return change


@pytest.mark.parametrize("at_once", [3, 2**20])
@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("neighbours_index", with_entry(5, 40), "neighbours_index.npy holds 40, expected numbers from 0 to 39"),
        ("neighbours_index", with_entry(-1, -1), "neighbours_index.npy holds -1"),
        ("neighbours_index", lambda a: a[:-1], "neighbours_t_index.npy is int32 of shape (164,), expected int32"),
        ("neighbours_index", lambda a: a.astype(np.float32), "neighbours_index.npy is float32"),
        ("neighbours_index", lambda a: a.astype(">i4"), "neighbours_index.npy is >i4"),
        ("neighbours_ptr", with_entry(7, 10**6), "neighbours_ptr.npy does not rise from 0"),
        ("neighbours_ptr", with_entry(0, 1), "neighbours_ptr.npy does not rise from 0"),
        ("neighbours_ptr", lambda a: a[:-1], "neighbours_ptr.npy is int32 of shape (40,), expected"),
        ("neighbours_t_ptr", with_entry(3, -5), "neighbours_t_ptr.npy does not rise"),
        ("neighbours_t_order", with_entry(2, 10**9), "neighbours_t_order.npy holds 1000000000"),
        ("neighbours_t_order", with_entry(2, 0), "neighbours_t_index.npy is not the transpose"),
        ("neighbours_t_index", with_entry(4, 39), "neighbours_t_index.npy is not the transpose"),
        ("x_index", with_entry(0, 8), "x_index.npy holds 8, expected numbers from 0 to 7"),
        ("x_weight", with_entry(1, np.nan), "x_weight.npy has values that are NaN or infinite"),
        ("x_weight", lambda a: a[:-1], "x_weight.npy is float32"),
        ("y", with_entry(0, 3), "y.npy holds 3, expected numbers from -1 to 2"),
        ("y", lambda a: a.astype(object), "cannot be read (Array can't be memory-mapped"),
        ("split_0_index", with_entry(0, 40), "split_0_index.npy holds 40"),
        ("split_0_index", with_entry(0, 39), "split_0_index.npy has a node whose label is unknown"),
        ("split_1_index", lambda a: with_entry(-1, a[0])(a), "split_1_index.npy has a node in two parts"),
        ("split_1_ptr", with_entry(-1, 5), "split_1_ptr.npy does not rise"),
    ],
)
def test_tampered_folders_are_refused(
    name: str, change: Any, sentence: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_format, "AT_ONCE", at_once)
    save_folder(small_graph(), tmp_path / "graph")
    open_folder(tmp_path / "graph")
    tampered(tmp_path / "graph", name, change)
    said = refusal(lambda: open_folder(tmp_path / "graph"))
    assert sentence in said
    assert str(tmp_path / "graph") in said


def test_a_dense_folder_with_nan_is_refused_unless_unchecked(tmp_path: Path) -> None:
    save_folder(small_graph(sparse=False), tmp_path / "graph")
    tampered(tmp_path / "graph", "x", with_entry(9, np.inf))
    assert "x.npy has values that are NaN or infinite" in refusal(lambda: open_folder(tmp_path / "graph"))
    assert not bool(dense(open_folder(tmp_path / "graph", check=False).x).isfinite().all())


@pytest.mark.parametrize(
    "about",
    [
        "",
        "[]",
        "{}",
        '{"format": 2}',
        {"nodes": 0},
        {"nodes": -40},
        {"nodes": 10**30},
        {"nodes": True},
        {"features": 9},
        {"classes": 2},
        {"classes": "3"},
        {"given_edges": None},
        {"sparse": 1},
        {"sparse": False},
        {"balanced": None},
        {"name": 5},
        {"splits": {}},
        {"splits": [{"name": "public"}]},
        {"splits": [{"name": "public", "count": 2}]},
        {"splits": [{"name": "public", "count": 10**18}]},
        {"splits": [{"name": ["public"], "count": 1}]},
    ],
)
def test_folders_with_another_description_are_refused(about: Any, tmp_path: Path) -> None:
    save_folder(small_graph(), tmp_path / "graph")
    path = tmp_path / "graph" / "graph.json"
    path.write_text(about if isinstance(about, str) else json.dumps(json.loads(path.read_text()) | about))
    assert str(tmp_path / "graph") in refusal(lambda: open_folder(tmp_path / "graph"))


def test_truncated_and_incomplete_folders_are_refused(tmp_path: Path) -> None:
    save_folder(small_graph(), tmp_path / "graph")
    for path in sorted((tmp_path / "graph").iterdir()):
        content = path.read_bytes()
        for kept in (0, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:kept])
            if path.name == "graph.json" and kept == len(content) - 1:
                continue  # it loses its last newline only
            assert str(tmp_path / "graph") in refusal(lambda: open_folder(tmp_path / "graph"))
        path.unlink()
        if path.name != "x_weight.npy":  # without weights every entry is a 1
            assert str(tmp_path / "graph") in refusal(lambda: open_folder(tmp_path / "graph"))
        path.write_bytes(content)
    assert open_folder(tmp_path / "graph").num_nodes == 40
    assert "graph.json is missing" in refusal(lambda: open_folder(tmp_path / "nowhere"))


def test_an_array_that_is_something_else_is_refused(tmp_path: Path) -> None:
    """numpy would open an archive or a pickle under the name of an array, too."""
    save_folder(small_graph(), tmp_path / "graph")
    path = tmp_path / "graph" / "y.npy"
    for content in (zipped(np.arange(40)), pickle.dumps(np.arange(40)), b"", b"\x93NUMPY\x01\x00\xff\xff{"):
        path.write_bytes(content)
        assert refusal(lambda: open_folder(tmp_path / "graph")).startswith(f"{tmp_path / 'graph'} cannot be read (")


def zipped(array: Any) -> bytes:
    handle = io.BytesIO()
    np.savez(handle, array)
    return handle.getvalue()


def test_an_array_that_claims_any_size_is_refused(tmp_path: Path) -> None:
    save_folder(small_graph(), tmp_path / "graph")
    with (tmp_path / "graph" / "neighbours_index.npy").open("wb") as handle:
        npy.write_array_header_1_0(handle, {"descr": "<i4", "fortran_order": False, "shape": (10**15,)})
    with little_memory():
        assert "cannot be read (" in refusal(lambda: open_folder(tmp_path / "graph"))
