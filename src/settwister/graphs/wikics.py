"""WikiCS as Mernyei and Cangea (2020) published it: ``data.json``."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.graphs.limits import check_file, check_masks
from settwister.graphs.parts import Parts, splits_of_masks, whole_numbers
from settwister.graphs.reading import reading

FILES = ("raw/data.json",)
KEYS = ("features", "labels", "links", "train_masks", "val_masks", "stopping_masks", "test_mask")
LARGEST_JSON = 2**27  # bytes, up to 25 times that when parsed; it was published where files are below 100 MB


def read(folder: Path) -> Parts:
    """Articles, hyperlinks between them, and 20 splits that share their test nodes.

    The file has a second validation mask per split, for early stopping alone. It is left out: its nodes are in no part.
    """
    path = folder / FILES[0]
    with reading(path, f"one JSON object with {', '.join(KEYS)}"):
        check_file(path, LARGEST_JSON)
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict) or not set(KEYS) <= set(content):
            raise InputError(f"something is missing, expected {', '.join(KEYS)}")
        with np.errstate(over="ignore"):  # what is too large for single precision is infinite, and refused as such
            x = np.array(_numbers(content, "features"), dtype=np.float32)
        if x.ndim != 2:
            raise InputError(f"features have shape {x.shape}, expected (nodes, features)")
        links = _numbers(content, "links")
        if len(links) != len(x) or not all(isinstance(ends, list) for ends in links):
            raise InputError(f"links are not lists for {len(x)} nodes, expected one list of neighbours for each")
        ends = np.array([end for ends in links for end in ends] or np.empty(0, dtype=np.int64))
        starts = np.repeat(np.arange(len(x)), [len(ends) for ends in links])
        masks = [_mask(content, name) for name in ("train_masks", "val_masks", "test_mask")]
        check_masks(*masks)
        return Parts(
            torch.from_numpy(x),
            torch.stack([torch.from_numpy(starts), whole_numbers("links", ends, (-1,))]),
            whole_numbers("labels", np.array(_numbers(content, "labels")), (len(x),)),
            {"official": splits_of_masks(len(x), *masks)},
        )


def _numbers(content: dict[str, Any], name: str) -> list[Any]:
    """A list of numbers or of lists of numbers; numpy would make room for a text among them at every place."""
    found = content[name]
    if not isinstance(found, list):
        raise InputError(f"{name} is {type(found).__name__}, expected a list of numbers")
    entries = chain.from_iterable(row if isinstance(row, list) else (row,) for row in found)
    if not set(map(type, entries)) <= {int, float, bool}:
        raise InputError(f"{name} holds other things than numbers, expected a list of them or a list of lists")
    return found


def _mask(content: dict[str, Any], name: str) -> NDArray[np.bool_]:
    mask = np.array(_numbers(content, name))
    if mask.dtype.kind not in "iub" or not bool(np.isin(mask, (0, 1)).all()):
        raise InputError(f"{name} holds other things than true and false")
    return mask.astype(np.bool_)
