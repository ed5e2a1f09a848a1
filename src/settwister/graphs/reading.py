"""One sentence for whatever can go wrong with a file that somebody else wrote."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from settwister.errors import InputError


@contextmanager
def reading(path: Path, expected: str) -> Iterator[None]:
    """Turn whatever reading ``path`` raises into one :class:`InputError` that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except Exception as error:  # numpy, gzip, zipfile, json and h5py have no common error, and a few bytes bring any up
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path} cannot be read ({reason}), expected {expected}: fetch it again") from error
