"""Zip files, whose members are looked at before they are unpacked: a few bytes can claim, or unpack to, any size."""

import zipfile
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.graphs.limits import LARGEST_FILE, check_count, check_file, check_shape
from settwister.graphs.reading import parsed

_STRANGE = 0b110_0001  # flags: encrypted, a patch of another file, encrypted with more than a password


def open_archive(path: Path) -> zipfile.ZipFile:
    check_file(path)
    return parsed(lambda: zipfile.ZipFile(path))


def member(archive: zipfile.ZipFile, name: str, most: int = LARGEST_FILE) -> zipfile.ZipInfo:
    """A member that is there and has at most so many bytes; never are more unpacked than it claims to have.

    Stored and deflated members are unpacked a piece at a time. By other methods a single piece can be any size.
    """
    if name not in archive.namelist():
        raise InputError(f"there is no {name} in it, expected it among the members of the archive")
    info = archive.getinfo(name)
    if info.file_size > most:
        raise InputError(f"{name} unpacks to {info.file_size} bytes, expected at most {most}")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & _STRANGE:
        raise InputError(f"{name} is encrypted or packed in an uncommon way, expected it stored or deflated")
    return info


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Those of the arrays that an ``.npz`` file has."""
    with open_archive(path) as archive:
        there = set(archive.namelist())
        found = {name: member(archive, f"{name}.npy") for name in names if f"{name}.npy" in there}
        check_count("bytes in it", sum(info.file_size for info in found.values()), LARGEST_FILE)
        return {name: _array(archive, name, info) for name, info in found.items()}


def read_header(handle: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and the type that the header of an ``.npy`` file claims; the handle is left behind it."""
    version = parsed(lambda: npy.read_magic(handle))
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = parsed(lambda: header(handle))
    return shape, dtype


def _array(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> NDArray[Any]:
    """An array, once what its header claims has been compared with what the member holds."""
    with archive.open(info) as handle:
        shape, dtype = read_header(handle)
    check_shape(name, shape)
    if not dtype.hasobject and prod(shape) * dtype.itemsize > info.file_size:
        raise InputError(f"{name} has {info.file_size} bytes, expected enough for {dtype} of shape {shape}")
    with archive.open(info) as handle:
        array: NDArray[Any] = npy.read_array(handle, allow_pickle=False)
    return array
