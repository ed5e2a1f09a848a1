"""Lists of an HDF5 file from a stranger.

For each list there is a reference: its length, the address of a heap, and its number in there. A list can be named by
many references and stored once; and HDF5 makes room for whatever length a reference claims, and never returns from some
damaged heaps. So references and heaps are read here, from the bytes. Both are simple, and are described under "Global
Heap" in the HDF5 File Format Specification.
"""

import mmap
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.graphs.hdf5 import GZIP, SHUFFLE, filters_of
from settwister.graphs.limits import check_count
from settwister.graphs.reading import parsed

REFERENCE = np.dtype([("length", "<u4"), ("heap", "<u8"), ("number", "<u4")])
_HEAP = struct.Struct("<4sB3xQ")  # signature, version, bytes in all
_OBJECT = struct.Struct("<HH4xQ")  # number, how often it is named, bytes
_MULTIPLE = 8  # objects take up a multiple of so many bytes


def type_of_lists(dataset: Any) -> np.dtype[Any] | None:
    """The type of the entries where a dataset holds lists; None where it does not."""
    import h5py

    found = h5py.check_vlen_dtype(dataset.dtype)
    return None if found is None else np.dtype(found)


def read_lists(dataset: Any, most: int) -> list[NDArray[Any]]:
    """All lists of a dataset of one dimension that :func:`open_dataset` has looked at.

    Args:
        most: as many entries may they have together.
    """
    dtype = type_of_lists(dataset)
    assert dtype is not None
    references = _references(dataset)
    check_count("entries in the lists", int(references["length"].sum(dtype=np.int64)), most)
    path = Path(parsed(lambda: dataset.file.filename))
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
        heaps = _heaps(content, np.unique(references["heap"][references["length"] > 0]).tolist())
        lists = []
        for length, heap, number in references.tolist():
            start, size = heaps[heap].get(number, (0, 0)) if length else (0, 0)
            if size != length * dtype.itemsize:
                raise InputError(f"a list of {length} entries is stored in {size} bytes: save the file again")
            lists.append(np.frombuffer(content[start : start + size], dtype=dtype))
    return lists


def _references(dataset: Any) -> NDArray[Any]:
    if dataset.chunks is None:
        content = _whole(dataset)
    else:
        content = b"".join(_chunk(dataset, place[0].start) for place in dataset.iter_chunks())
    return np.frombuffer(content, dtype=REFERENCE)[: len(dataset)]


def _whole(dataset: Any) -> bytes:
    """The bytes of a dataset that is stored in one piece, or nowhere yet."""
    size, start = parsed(dataset.id.get_storage_size), parsed(dataset.id.get_offset)
    wanted = REFERENCE.itemsize * len(dataset)
    if size == 0:
        return bytes(wanted)
    if start is None or size != wanted:
        raise InputError(f"the references to lists have {size} bytes, expected {wanted} in one piece: save them again")
    with Path(parsed(lambda: dataset.file.filename)).open("rb") as handle:
        handle.seek(start)
        content = handle.read(size)
    if len(content) != size:
        raise EOFError(f"the file ends within the references to lists, {size} bytes from {start} on")
    return content


def _chunk(dataset: Any, start: int) -> bytes:
    """The bytes of a chunk, which is known to unpack to little more than its size."""
    wanted = REFERENCE.itemsize * dataset.chunks[0]
    if parsed(lambda: dataset.id.get_chunk_info_by_coord((start,))).byte_offset is None:  # never written
        return bytes(wanted)
    skipped, content = parsed(lambda: dataset.id.read_direct_chunk((start,)))
    for i, one in reversed(list(enumerate(parsed(lambda: filters_of(dataset))))):
        if skipped >> i & 1:
            continue
        if one == GZIP:
            content = zlib.decompress(content)
        elif one == SHUFFLE:  # the first bytes of all references, then all second ones, and so on
            content = np.frombuffer(content, dtype=np.uint8).reshape(REFERENCE.itemsize, -1).T.tobytes()
        else:
            raise InputError(f"the lists are packed by filter {one}, expected gzip or nothing")
    if len(content) != wanted:
        raise InputError(f"a chunk of references to lists has {len(content)} bytes, expected {wanted}")
    return bytes(content)


def _heaps(content: mmap.mmap, addresses: list[int]) -> dict[int, dict[int, tuple[int, int]]]:
    """Where the objects of each heap start and how many bytes they have, by their numbers."""
    heaps: dict[int, dict[int, tuple[int, int]]] = {}
    end = 0
    for address in addresses:  # they rise, and heaps that overlapped could be as many as the file has bytes
        if address < end or address + _HEAP.size > len(content):
            raise InputError(f"there is no heap of lists at byte {address}, expected one for every list")
        signature, version, size = _HEAP.unpack_from(content, address)
        end = address + size
        if signature != b"GCOL" or version != 1 or end > len(content):
            raise InputError(f"there is no heap of lists at byte {address}, expected one for every list")
        heaps[address] = _objects(content, address + _HEAP.size, end)
    return heaps


def _objects(content: mmap.mmap, place: int, end: int) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    while place + _OBJECT.size <= end:
        number, _, size = _OBJECT.unpack_from(content, place)
        place += _OBJECT.size
        if number == 0:  # the rest is free
            break
        if place + size > end:
            raise InputError(f"a list ends at byte {place + size}, expected it before its heap ends at {end}")
        found[number] = place, size
        place += size + -size % _MULTIPLE
    return found
