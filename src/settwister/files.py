"""Where data is looked for, and writes that happen wholly or not at all."""

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from settwister.errors import InputError

#: what every page of ours begins with, among other things
PAGE_OF_OURS = b'<meta name="generator" content="settwister">'
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def data_folder(given: str | Path | None = None) -> Path | None:
    """The data directory: as given, else ``SETTWISTER_DATA``, else the user's cache folder if it is there."""
    if given is not None:
        folder = Path(given).expanduser()
        if not folder.is_dir():
            raise InputError(f"the data directory {folder} is not there, expected a folder: check --data-dir")
        return folder
    if named := os.environ.get("SETTWISTER_DATA"):
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise InputError(f"SETTWISTER_DATA is {named}, expected a folder that exists: correct or unset it")
        return folder
    return cache_folder() if cache_folder().is_dir() else None


def cache_folder() -> Path:
    """The user's own cache folder, whether or not it is there."""
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "settwister"


def writable(folder: str | Path, *, ours: Sequence[str], force: bool) -> Path:
    """A folder that may be written: one that is not there or, with ``force``, one of ours.

    Args:
        ours: files, or patterns of them, that a folder of ours may hold, those of its folders with a / between; the
            first of them, each does. Anything else in it is somebody's, and stays.
    """
    target = Path(os.path.realpath(Path(folder).expanduser()))  # behind a link, and of "." its name
    marker = ours[0]
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file, expected a folder or nothing")
    if target.exists() and not force:
        raise InputError(f"{target} exists already, expected a new folder: force=True (--force) replaces it")
    if target.exists() and any(target.iterdir()) and not (target / marker).is_file():
        raise InputError(f"{target} exists and has no {marker}: it is not ours to replace, choose another folder")
    there = sorted(target.rglob("*")) if target.exists() else []
    if others := [path for path in there if not _is_of(ours, path.relative_to(target).parts, path.is_dir())]:
        found = others[0].relative_to(target)
        raise InputError(f"{target} holds {found}, which is not ours to remove: move it away, or choose another folder")
    check_writable(target)
    return target


def _is_of(ours: Sequence[str], parts: tuple[str, ...], is_folder: bool) -> bool:
    """Whether a path is one of those files or, a folder, holds one."""
    for pattern in (one.split("/") for one in ours):
        if (len(parts) < len(pattern) if is_folder else len(parts) == len(pattern)) and all(
            map(fnmatchcase, parts, pattern)
        ):
            return True
    return False


def check_page(target: Path) -> None:
    """Fail before any work where a page of ours cannot be written, or would take the place of something else."""
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{target} ends in {target.suffix!r}, expected the name of a page, such as page.html")
    if target.is_dir():
        raise InputError(f"{target} is a folder, expected the name of a page, such as page.html")
    if target.exists() and PAGE_OF_OURS not in target.read_bytes()[:1000]:
        raise InputError(f"{target} exists and is not a page of settwister's: choose another name")
    check_writable(target)


def check_file(target: Path) -> None:
    """Fail before any work where a file cannot be written, or is a folder."""
    if target.is_dir():
        raise InputError(f"{target} is a folder, expected the name of a file")
    check_writable(target)


def check_writable(target: Path) -> None:
    """Fail before hours of work rather than after: the nearest folder above that exists must take new entries."""
    above = next(folder for folder in target.absolute().parents if os.path.lexists(folder))
    try:
        tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=above).cleanup()
    except OSError as error:
        raise InputError(
            f"{target} cannot be written, {above} takes no new files ({error.strerror}): choose another place"
        ) from error


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
        mask = _umask()
        for path in (staging, *staging.rglob("*")):  # some writers leave files that only their owner may read
            path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)
        for path in staging.rglob("*"):
            _flush(path)
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
