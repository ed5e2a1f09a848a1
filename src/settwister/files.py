"""Writes that happen wholly or not at all."""

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside ``target`` that takes its place when the block ends without an error.

    A kill at any moment leaves the old folder or the new one. Where the system cannot swap two folders in one step,
    there is an instant with neither under that name; both are then still on disk beside it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield staging
        staging.chmod(0o777 & ~_umask())
        for file in staging.iterdir():
            _flush(file)
        if target.exists():
            _swap(staging, target)
        else:
            staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """A temporary name beside ``target`` that takes its place when the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        staging = Path(folder) / target.name
        yield staging
        _flush(staging)
        staging.replace(target)


def _swap(first: Path, second: Path) -> None:
    """Exchange two folders, in one step where the system can."""
    if sys.platform == "linux":
        renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        if renameat2 is not None:
            done = renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
            if done == 0:
                return
    aside = Path(tempfile.mkdtemp(prefix=f"{first.name}.", dir=first.parent))
    second.rename(aside)
    first.rename(second)
    aside.rename(first)


def _flush(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
