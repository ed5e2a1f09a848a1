"""A graph as a folder of plain arrays, which the system maps into memory instead of reading.

A folder may come from anybody. So there is no pickle in it, every array is compared with what the others say, and all
numbers are looked at, a few at a time, before any is used as an address.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from settwister._version import __version__
from settwister.errors import InputError
from settwister.files import new_folder, writable
from settwister.functional.neighbour_sum import Csr, Transpose
from settwister.graphs.graph import Graph
from settwister.graphs.reading import parsed, reading
from settwister.graphs.splits import Split

FORMAT = 1
DESCRIPTION = "graph.json"
OURS = (DESCRIPTION, "x.npy", "x_*.npy", "y.npy", "neighbours_*.npy", "split_*.npy")
LARGEST_DESCRIPTION = 2**20  # bytes
AT_ONCE = 2**20  # numbers
PARTS = ("train", "validation", "test")
WHOLE, REAL = (np.int32, np.int64), (np.float32,)


def save_folder(graph: Graph, path: str | Path, *, force: bool = False) -> None:
    """Write the graph as ``.npy`` files and a small JSON, wholly or not at all."""
    target = writable(path, ours=OURS, force=force)
    arrays = _csr_arrays("neighbours", graph.neighbours) | {"y": graph.y}
    arrays |= {"x": graph.x} if isinstance(graph.x, Tensor) else _csr_arrays("x", graph.x)
    for i, splits in enumerate(graph.splits.values()):
        parts = [getattr(split, part) for split in splits for part in PARTS]
        arrays[f"split_{i}_ptr"] = torch.tensor([0, *(len(part) for part in parts)]).cumsum(0)
        arrays[f"split_{i}_index"] = torch.cat([torch.empty(0, dtype=torch.int64), *parts])
    description = {
        "format": FORMAT,
        "settwister": __version__,
        "name": graph.name,
        "nodes": graph.num_nodes,
        "features": graph.num_features,
        "sparse": not isinstance(graph.x, Tensor),
        "classes": graph.num_classes,
        "given_edges": graph.given_edges,
        "balanced": graph.balanced,
        "splits": [{"name": name, "count": len(splits)} for name, splits in graph.splits.items()],
    }
    with new_folder(target) as staging:
        for name, tensor in arrays.items():
            np.save(staging / f"{name}.npy", tensor.detach().cpu().contiguous().numpy(), allow_pickle=False)
        (staging / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def open_folder(path: str | Path, *, check: bool = True) -> Graph:
    """The graph in a folder that :func:`save_folder` wrote, its arrays mapped into memory and read when they are used.

    Changing a tensor changes the memory of this process only, never the file.

    Args:
        check: look at every number first, which reads the whole folder once, in bounded memory. Without it only types
            and lengths are compared: for folders that this machine wrote.
    """
    folder = Path(path)
    with reading(folder, "a folder that save_folder wrote"):
        about = _description(folder / DESCRIPTION)
        nodes, features = about["nodes"], about["features"]
        neighbours = _csr(folder, "neighbours", nodes, nodes, check)
        if about["sparse"]:
            x: Tensor | Csr = _csr(folder, "x", nodes, features, check)
        else:
            x = _tensor(folder, "x", REAL, (nodes, features))
            if check:
                _finite("x", x)
        y = _tensor(folder, "y", (np.int64,), (nodes,))
        if check:
            _within("y", y, -1, about["classes"])
        splits = {}
        for i, family in enumerate(about["splits"]):
            splits[family["name"]] = _splits(folder, i, family["count"], y if check else None)
        return Graph(x, neighbours, y, about["classes"], about["name"], about["given_edges"], splits, about["balanced"])


def _csr_arrays(name: str, csr: Csr) -> dict[str, Tensor]:
    """The parts of a sparse matrix, with the transpose in one block, so that opening needs no sort."""
    if csr.transpose is None or csr.transpose.blocks > 1:
        csr = csr.with_transpose(blocks=1)
    assert csr.transpose is not None
    arrays = {"ptr": csr.ptr, "index": csr.index} | ({} if csr.weight is None else {"weight": csr.weight})
    arrays |= {f"t_{part}": getattr(csr.transpose, part) for part in ("ptr", "index", "order")}
    return {f"{name}_{part}": array for part, array in arrays.items()}


def _description(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > LARGEST_DESCRIPTION:
        raise InputError(f"{path.name} is missing or too large, expected a folder that save_folder wrote")
    about = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{path.name} has no format {FORMAT}: this is settwister {__version__}, save the graph again")
    numbers = {"nodes": 1, "features": 1, "classes": 0, "given_edges": 0}
    for key, least in numbers.items():
        if type(about.get(key)) is not int or not least <= about[key] < 2**62:
            raise InputError(f"{path.name} has {key} {about.get(key)!r}, expected a whole number from {least}")
    families = about.get("splits")
    plain = isinstance(families, list) and all(
        isinstance(one, dict) and type(one.get("name")) is str and type(one.get("count")) is int and one["count"] >= 0
        for one in families
    )
    if not plain or not all(type(about.get(key)) is bool for key in ("sparse", "balanced")):
        raise InputError(f"{path.name} does not say sparse, balanced and splits as save_folder does")
    if type(about.get("name")) is not str:
        raise InputError(f"{path.name} has the name {about.get('name')!r}, expected text")
    return about


def _tensor(folder: Path, name: str, dtypes: tuple[type[Any], ...], shape: tuple[int | None, ...]) -> Tensor:
    """An array mapped copy-on-write; None in the shape stands for any length."""
    array: NDArray[Any] = parsed(lambda: npy.open_memmap(folder / f"{name}.npy", mode="c"))
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    if array.dtype not in [np.dtype(dtype) for dtype in dtypes] or not fits or not array.flags.c_contiguous:
        wanted = " or ".join(np.dtype(dtype).name for dtype in dtypes)
        lengths = tuple("any" if n is None else n for n in shape)
        raise InputError(f"{name}.npy is {array.dtype} of shape {array.shape}, expected {wanted} of shape {lengths}")
    return torch.from_numpy(array)


def _csr(folder: Path, name: str, rows: int, columns: int, check: bool) -> Csr:
    ptr = _tensor(folder, f"{name}_ptr", WHOLE, (rows + 1,))
    whole = (ptr.numpy().dtype.type,)
    index = _tensor(folder, f"{name}_index", whole, (None,))
    entries = len(index)
    weighted = (folder / f"{name}_weight.npy").is_file()
    weight = _tensor(folder, f"{name}_weight", REAL, (entries,)) if weighted else None
    transpose = Transpose(
        _tensor(folder, f"{name}_t_ptr", whole, (columns + 1,)),
        _tensor(folder, f"{name}_t_index", whole, (entries,)),
        _tensor(folder, f"{name}_t_order", (np.int64,), (entries,)),
    )
    csr = Csr(ptr, index, columns, weight, transpose)
    if check:
        _rising(f"{name}_ptr", ptr, entries)
        _within(f"{name}_index", index, 0, columns)
        if weight is not None:
            _finite(f"{name}_weight", weight)
        _rising(f"{name}_t_ptr", transpose.ptr, entries)
        _within(f"{name}_t_order", transpose.order, 0, entries)
        _same_matrix(name, csr, transpose)
    return csr


def _same_matrix(name: str, csr: Csr, transpose: Transpose) -> None:
    """The transpose must be that of the rows, or gradients would be those of another graph."""
    last_order, last_column = -1, -1
    for start, order in _blocks(transpose.order):
        places = torch.arange(start, start + len(order), dtype=transpose.ptr.dtype)
        column = torch.searchsorted(transpose.ptr, places, right=True) - 1
        row = torch.searchsorted(csr.ptr, order.to(csr.ptr.dtype), right=True) - 1
        same = (csr.index[order] == column) & (transpose.index[start : start + len(order)] == row)
        # Rising within a column: so no entry is there twice, and none is left out.
        before = torch.cat([torch.tensor([last_order]), order[:-1]])
        column_before = torch.cat([torch.tensor([last_column]), column[:-1]])
        if not bool((same & ((column != column_before) | (order > before))).all()):
            raise InputError(f"{name}_t_index.npy is not the transpose of {name}_index.npy: save the graph again")
        last_order, last_column = int(order[-1]), int(column[-1])


def _splits(folder: Path, number: int, count: int, y: Tensor | None) -> list[Split]:
    """The splits of a family; with labels, after a look at their nodes."""
    name = f"split_{number}"
    ptr = _tensor(folder, f"{name}_ptr", (np.int64,), (count * len(PARTS) + 1,))
    index = _tensor(folder, f"{name}_index", (np.int64,), (None,))
    _rising(f"{name}_ptr", ptr, len(index))
    if y is not None:
        _within(f"{name}_index", index, 0, len(y))
    bounds = ptr.tolist()
    parts = [index[start:end] for start, end in pairwise(bounds)]
    splits = [Split(*parts[i : i + len(PARTS)]) for i in range(0, len(parts), len(PARTS))]
    for split in splits if y is not None else []:
        seen = torch.zeros(0 if y is None else len(y), dtype=torch.bool)
        for part in PARTS:
            nodes: Tensor = getattr(split, part)
            if bool(seen[nodes].any()):
                raise InputError(f"{name}_index.npy has a node in two parts of a split, expected disjoint parts")
            if y is not None and bool((y[nodes] < 0).any()):
                raise InputError(f"{name}_index.npy has a node whose label is unknown, expected labelled nodes")
            seen[nodes] = True
    return splits


def _blocks(tensor: Tensor) -> Iterator[tuple[int, Tensor]]:
    flat = tensor.reshape(-1)
    for start in range(0, len(flat), AT_ONCE):
        yield start, flat[start : start + AT_ONCE]


def _within(name: str, tensor: Tensor, least: int, end: int) -> None:
    for _, block in _blocks(tensor):
        low, high = block.aminmax()
        if int(low) < least or int(high) >= end:
            wrong = int(low) if int(low) < least else int(high)
            raise InputError(f"{name}.npy holds {wrong}, expected numbers from {least} to {end - 1}")


def _rising(name: str, ptr: Tensor, end: int) -> None:
    rising = all(bool((ptr[s + 1 : s + 1 + len(b)] >= b[: len(ptr) - s - 1]).all()) for s, b in _blocks(ptr))
    if int(ptr[0]) != 0 or int(ptr[-1]) != end or not rising:
        raise InputError(f"{name}.npy does not rise from 0 to {end}, as offsets into {end} entries must")


def _finite(name: str, tensor: Tensor) -> None:
    if not all(bool(block.isfinite().all()) for _, block in _blocks(tensor)):
        raise InputError(f"{name}.npy has values that are NaN or infinite, expected finite numbers")
