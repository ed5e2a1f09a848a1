"""Small graphs in every format that one is read from, and what the tests of graphs share."""

import gzip
import hashlib
import io
import json
import pickle
import tracemalloc
import urllib.error
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch

from settwister import InputError
from settwister.functional import Csr
from settwister.graphs import GRAPHS, Graph, download
from settwister.graphs.download import Download

PARTS = ("train", "validation", "test")


def dense(x: torch.Tensor | Csr) -> torch.Tensor:
    """The slow and obvious way: one entry at a time."""
    if isinstance(x, torch.Tensor):
        return x
    out = torch.zeros(x.num_sets, x.num_elements)
    for row in range(x.num_sets):
        for place in range(int(x.ptr[row]), int(x.ptr[row + 1])):
            out[row, int(x.index[place])] += 1.0 if x.weight is None else float(x.weight[place])
    return out


def pairs(graph: Graph) -> set[tuple[int, int]]:
    """(node, neighbour), all of them."""
    return set(zip(graph.neighbours.rows.tolist(), graph.neighbours.index.tolist(), strict=True))


def equal_splits(first: Graph, second: Graph) -> bool:
    assert {name: len(splits) for name, splits in first.splits.items()} == {
        name: len(splits) for name, splits in second.splits.items()
    }
    return all(
        torch.equal(getattr(a, part), getattr(b, part))
        for name in first.splits
        for a, b in zip(first.splits[name], second.splits[name], strict=True)
        for part in PARTS
    )


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@contextmanager
def little_memory(megabytes: int = 64) -> Iterator[None]:
    """What runs here makes no more room than that at any moment, as far as Python and numpy know of it."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 2**20
    finally:
        tracemalloc.stop()


def few_arrays(nodes: int = 12, features: int = 5) -> dict[str, Any]:
    x = scipy.sparse.random(nodes, features, 0.5, "csr", np.float32, np.random.default_rng(1))
    masks = np.arange(nodes) % 3
    geom = np.stack([(masks + shift) % 3 for shift in range(2)])
    return {
        "x_indptr": x.indptr,
        "x_indices": x.indices.astype(np.int16),
        "x_shape": np.array([nodes, features]),
        "x_data": x.data,
        "edge_index": np.stack([np.arange(nodes - 1), np.arange(1, nodes)]).astype(np.int32),
        "y": (np.arange(nodes) % 4).astype(np.int16),
        **{f"{name}_mask": masks == i for i, name in enumerate(("train", "val", "test"))},
        **{f"geom_{name}_mask": geom == i for i, name in enumerate(("train", "val", "test"))},
    }


def write_npz(folder: Path, name: str, arrays: dict[str, Any]) -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / name / f"{name}.npz", **arrays)
    return folder / name / f"{name}.npz"


def planetoid_objects(gaps: tuple[int, ...] = (), binary: bool = True) -> dict[str, Any]:
    """The eight objects of a small graph, with repeated edges, a loop and shuffled test nodes."""
    random, train, rest, test, features, classes = np.random.default_rng(2), 9, 520, 12, 17, 3
    x = scipy.sparse.random(rest + test, features, 0.2, "csr", np.float32, random)
    if binary:
        x.data[:] = 1
    y = np.eye(classes, dtype=np.int32)[random.integers(classes, size=rest + test)]
    index = random.permutation([node for node in range(rest, rest + test + len(gaps)) if node not in gaps])
    graph: defaultdict[int, list[int]] = defaultdict(list)
    for first, second in [*random.integers(rest, size=(900, 2)).tolist(), [1, 1], [2, 3], [2, 3]]:
        graph[first].append(second)
        graph[second].append(first)
    for node in index.tolist():
        graph[node].append(5)
        graph[5].append(node)
    return {
        **{"x": x[:train], "tx": x[rest:], "allx": x[:rest]},
        **{"y": y[:train], "ty": y[rest:], "ally": y[:rest]},
        **{"graph": graph, "test.index": index},
    }


def write_planetoid(folder: Path, name: str, objects: dict[str, Any], protocol: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for ending, value in objects.items():
        path = folder / f"ind.{name}.{ending}"
        if ending == "test.index":
            path.write_text("".join(f"{node}\n" for node in value))
        else:
            path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol))


class Harmful:
    """What a pickle can do to whoever trusts it."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> Any:
        return self.call, self.arguments


def wikics_content(nodes: int = 15) -> dict[str, Any]:
    random, part = np.random.default_rng(3), np.arange(nodes) % 4
    return {
        "features": random.normal(size=(nodes, 4)).round(4).tolist(),
        "labels": (np.arange(nodes) % 3).tolist(),
        "links": [random.integers(nodes, size=random.integers(4)).tolist() for _ in range(nodes)],
        **{name: [(part == i).tolist()] * 20 for i, name in enumerate(("train_masks", "val_masks", "stopping_masks"))},
        "test_mask": (part == 3).tolist(),
    }


def write_wikics(folder: Path, content: Any) -> Path:
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    (folder / "raw" / "data.json").write_text(json.dumps(content))
    return folder / "raw" / "data.json"


def arxiv_tables(nodes: int = 20) -> dict[str, Any]:
    random, year = np.random.default_rng(4), 2015 + np.arange(nodes) % 5
    return {
        "raw/edge.csv.gz": random.integers(nodes, size=(40, 2)),
        "raw/node-feat.csv.gz": random.normal(size=(nodes, 3)).round(3),
        "raw/node-label.csv.gz": np.arange(nodes) % 7,
        "raw/node_year.csv.gz": year,
        "split/time/train.csv.gz": (year <= 2017).nonzero()[0],
        "split/time/valid.csv.gz": (year == 2018).nonzero()[0],
        "split/time/test.csv.gz": (year >= 2019).nonzero()[0],
    }


def write_arxiv(folder: Path, tables: dict[str, Any]) -> None:
    for name, table in tables.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(",".join(map(str, np.atleast_1d(row))) + "\n" for row in table)
        path.write_bytes(gzip.compress(lines.encode()))


def friendster_objects(nodes: int = 16) -> dict[str, Any]:
    random = np.random.default_rng(5)
    lists: list[list[int]] = [[] for _ in range(nodes)]
    for first, second in {tuple(sorted(pair)) for pair in random.integers(nodes, size=(30, 2)).tolist()}:
        if first != second:
            lists[first].append(second)
            lists[second].append(first)
    return {
        "features": random.integers(3, size=(nodes, 6)).astype(np.float64),
        "target": np.where(np.arange(nodes) < 13, np.arange(nodes) % 4, 4),
        "adjacency": lists,
        "split": [np.arange(0, 6), np.arange(6, 9), np.arange(9, 13)],
    }


def write_friendster(folder: Path, objects: dict[str, Any]) -> None:
    h5py = pytest.importorskip("h5py")
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / "raw" / "friendster_25K.h5", "w") as file:
        for name in ("features", "target"):
            file[name] = objects[name]
        stored = file.create_dataset("adjacency", (len(objects["adjacency"]),), dtype=h5py.vlen_dtype(np.int64))
        for node, ends in enumerate(objects["adjacency"]):
            stored[node] = ends
    parts = np.empty(len(objects["split"]), dtype=object)
    for i, part in enumerate(objects["split"]):
        parts[i] = part
    np.savez(folder / "raw" / "friendster_25K.split.npz", parts)


class Server:
    """Answers as the network would, and counts."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.asked = files, list[str]()

    def __call__(self, url: str) -> Any:
        self.asked.append(url)
        if url not in self.files:
            raise urllib.error.URLError("no such host")
        response = io.BytesIO(self.files[url])
        response.headers = {"Content-Length": str(len(self.files[url]))}  # type: ignore[attr-defined]
        return response


def serve_wikics(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A small WikiCS where the published one would be fetched from."""
    content = json.dumps(wikics_content()).encode()
    server = Server({"https://here/data.json": content})
    known = replace(GRAPHS["wikics"], downloads=(Download("https://here/data.json", "raw/data.json", digest(content)),))
    monkeypatch.setitem(GRAPHS, "wikics", known)
    monkeypatch.setattr(download, "_response", server)
    return server


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
