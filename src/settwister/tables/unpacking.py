"""How much a packed table may become: a file of a few kilobytes can hold a terabyte.

gzip makes a thousand bytes of one, and in Parquet one long text can stand for a million rows. So what comes out is
counted, and the file refused before it fills the memory.
"""

from pathlib import Path

from settwister.errors import InputError

MOST_TIMES = 32  # its own size, which is what a large file may become: few honest ones are packed more than tenfold


class Allowance:
    """The bytes that a file may still become.

    Args:
        path: the file.
        always: bytes that any file may become, however small it is.
        advice: what to do with one that becomes more and can be trusted.
    """

    def __init__(self, path: Path, always: int, advice: str) -> None:
        self._path = path
        self._advice = advice
        self._left = self._all = max(always, MOST_TIMES * path.stat().st_size)

    def take(self, size: int) -> None:
        """Count bytes that were unpacked, or are about to be; refuse the file if they are too many."""
        self._left -= size
        if self._left < 0:
            raise InputError(
                f"{self._path} has {self._path.stat().st_size} bytes and unpacks to {self._all - self._left} or more, "
                f"expected at most {self._all} of a file of that size: if you trust it, {self._advice}"
            )
