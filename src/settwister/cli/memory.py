"""Memory that a training step frees is kept for the next step."""

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of glibc's malloc.h
_NEVER = 2**31 - 1


def keep_freed_memory() -> None:
    """Have malloc keep what is freed instead of handing it back to the system.

    By default glibc maps every large block anew, and the system fills it with zeros page by page, which can be half of
    a training step of a GCN or GAT (``benchmarks/freed_memory.py``); the price is more memory at the peak, up to a
    third. Elsewhere than under glibc nothing is done. A program may decide this and a library may not, so only commands
    call it.
    """
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, _NEVER)
