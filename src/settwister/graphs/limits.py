"""How large a graph from a file may be, and its files.

A small file can claim any size, and a packed one can unpack to it. So every reader compares before it makes room. The
limits are several times what the paper's graphs have.
"""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from settwister.errors import InputError

LARGEST_FILE = 2**29  # bytes, packed or unpacked; ogbn-arxiv is 83 MB packed, and its features about 200 MB of text
MOST_NUMBERS = 2**26  # in one array; Friendster's features are 28 million
MOST_NODES = 2**21  # ogbn-arxiv has 169,343
MOST_EDGES = 2**24  # as they are listed, which may be twice; ogbn-arxiv has 1,166,243
MOST_FEATURES = 2**17  # Citeseer has 3,703
MOST_CLASSES = 2**12  # ogbn-arxiv has 40
MOST_SPLITS = 2**7  # of one family; WikiCS has 20


def check_count(what: str, found: int, most: int) -> None:
    """
    >>> check_count("edges", 10**15, MOST_EDGES)
    Traceback (most recent call last):
    settwister.errors.InputError: there are 1000000000000000 edges, expected at most 16777216 in a graph of the paper
    """
    if found > most:
        raise InputError(f"there are {found} {what}, expected at most {most} in a graph of the paper")


def check_file(path: Path, most: int = LARGEST_FILE) -> None:
    """Before a file is read as a whole; one with holes can be larger than the disk that it is on."""
    check_count("bytes", path.stat().st_size, most)


def check_shape(name: str, shape: Sequence[int]) -> None:
    """Before room is made for an array."""
    if prod(shape) > MOST_NUMBERS:
        raise InputError(f"{name} has shape {tuple(shape)}, expected at most {MOST_NUMBERS} numbers")


def check_masks(*masks: NDArray[Any]) -> None:
    """Before masks become splits: thousands of masks of no node take no room in a file."""
    for mask in masks:
        check_count("splits", len(mask) if mask.ndim == 2 else 1, MOST_SPLITS)
