"""Datasets of an HDF5 file from a stranger, looked at before any number is read.

HDF5 can point at other files of the machine, claim any size in a few bytes, and unpack a chunk to any size, whatever
the chunk's own. None of that is an error to it.
"""

import zlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.extras import needs
from settwister.graphs.limits import check_file, check_shape
from settwister.graphs.reading import parsed

GZIP, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000  # numbers of filters, in the format
LARGEST_CHUNK = 2**28  # bytes; Friendster's features are 226 MB as a whole
MOST_CHUNKS = 2**17


def open_file(path: Path) -> Any:
    needs("HDF5", "graphs", "h5py")
    import h5py

    check_file(path)
    return parsed(lambda: h5py.File(path, "r"))


def open_dataset(file: Any, name: str) -> Any:
    """A dataset whose every number is in this very file."""
    import h5py

    link = parsed(lambda: file.get(name, getlink=True))
    if link is None:
        raise InputError(f"there is no {name} in it, expected it among the datasets")
    if not isinstance(link, h5py.HardLink):
        raise InputError(f"{name} is a link ({type(link).__name__}), expected a dataset of this file's own")
    found = parsed(lambda: file[name])
    if not isinstance(found, h5py.Dataset):
        raise InputError(f"{name} is a {type(found).__name__.lower()}, expected a dataset")
    if parsed(lambda: found.is_virtual):
        raise InputError(f"{name} is put together from other datasets, expected one that holds its own numbers")
    if parsed(lambda: found.external):
        raise InputError(f"{name} is stored in another file, expected numbers in this one")
    if not parsed(lambda: found.size):
        raise InputError(f"{name} has shape {found.shape} and nothing in it, expected numbers")
    check_shape(name, found.shape)
    parsed(lambda: found.dtype)  # numpy may lack the type, which is the file's fault here and would be ours later
    if parsed(lambda: found.chunks) is not None:
        _check_chunks(name, found)
    return found


def read_rows(dataset: Any, start: int, end: int) -> NDArray[Any]:
    """Some rows of a dataset that :func:`open_dataset` has looked at."""
    return parsed(lambda: np.asarray(dataset[start:end]))


def _check_chunks(name: str, dataset: Any) -> None:
    """Chunks that are few and small enough, each of which unpacks to no more than its size."""
    filters = parsed(lambda: filters_of(dataset))
    if not set(filters) <= {GZIP, SHUFFLE, FLETCHER32, LZF} or len(set(filters)) < len(filters):
        raise InputError(f"{name} is packed by the filters {filters}, expected gzip or lzf, once")
    size = prod(dataset.chunks) * parsed(lambda: dataset.id.get_type().get_size())
    count = prod(-(-length // chunk) for length, chunk in zip(dataset.shape, dataset.chunks, strict=True))
    if size > LARGEST_CHUNK or count > MOST_CHUNKS:
        raise InputError(
            f"{name} has {count} chunks of {size} bytes, expected at most {MOST_CHUNKS} of {LARGEST_CHUNK}"
        )
    # What cannot be packed grows by a little, and a checksum has four bytes.
    most = size + size // 64 + 64
    for place in dataset.iter_chunks():
        offset = tuple(part.start for part in place)
        found = parsed(lambda offset=offset: _unpacked(dataset, offset, filters, most))  # type: ignore[misc]
        if found > most:
            raise InputError(f"{name} has a chunk of {found} bytes or more, expected {size}")


def filters_of(dataset: Any) -> list[int]:
    """The filters that chunks go through when they are written, in that order."""
    made = dataset.id.get_create_plist()
    return [made.get_filter(i)[0] for i in range(made.get_nfilters())]


def _unpacked(dataset: Any, offset: tuple[int, ...], filters: list[int], most: int) -> int:
    """How many bytes a chunk unpacks to, as far as ``most``.

    HDF5 would make room for whatever comes out of gzip, which packs 1,000 to 1. lzf packs 90 to 1 at best.
    """
    stored = dataset.id.get_chunk_info_by_coord(offset)
    if stored.byte_offset is None:  # never written
        return 0
    if stored.size > most or GZIP not in filters or stored.filter_mask >> filters.index(GZIP) & 1:
        return int(stored.size)
    _, packed = dataset.id.read_direct_chunk(offset)
    return len(zlib.decompressobj().decompress(packed, most + 1))
