"""One sentence for what can go wrong with a file that somebody else wrote."""

import pickle
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from settwister.errors import InputError, reason

T = TypeVar("T")

# What files raise: missing, cut off, not what they say, or made to exhaust a parser. TypeError, AttributeError and the
# like are not among them: those are mistakes of ours, which must not be reported as a bad file.
BAD_FILE = (
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    RecursionError,
    zipfile.BadZipFile,
    zlib.error,
    pickle.UnpicklingError,
)


@contextmanager
def reading(path: Path, expected: str) -> Iterator[None]:
    """Turn what a bad file raises into one :class:`InputError` that names it; a mistake of ours goes through."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except BAD_FILE as error:
        raise InputError(f"{path} cannot be read ({reason(error)}), expected {expected}: fetch it again") from error


def parsed(parse: Callable[[], T]) -> T:
    """What another library's parser makes of a stranger's bytes.

    Such parsers raise anything, KeyError and TypeError too. Around a call of theirs and nothing else, whatever comes up
    is about the bytes.
    """
    try:
        return parse()
    except Exception as error:
        raise ValueError(str(error) or type(error).__name__) from error
