"""Pickles of published datasets, read without running anything that they name.

A pickle is a program, and an allow-list alone would still hand its bytes to numpy's and scipy's own loaders, which
trust them. So the few names that these files hold stand for small classes of ours: a pickled array is a shape, a type
and bytes, a pickled matrix is three arrays, and each is checked before numpy sees it.

A pickle can also name one thing a million times. So nothing is copied while it runs: arrays are made of their bytes
afterwards, and only those that are asked for.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from settwister.graphs.limits import check_file
from settwister.graphs.reading import reading

NUMBERS = {f"{kind}{size}" for kind in "iuf" for size in (1, 2, 4, 8)} - {"f1"} | {"b1"}
OBJECTS = "O8"
MOST_OBJECTS = 8  # in an array of objects; the three parts of a split are the only ones
LARGEST_PICKLE = 2**25  # bytes, which take up to 100 times as much when read; PubMed's features are 11 MB


def read_pickle(path: Path) -> Any:
    """What the file holds: an array, a :class:`Matrix`, or dictionaries, lists and numbers.

    Raises:
        InputError: where it is not whole, or names anything but numpy's arrays, scipy's csr_matrix and containers.
    """
    with reading(path, "a pickle of arrays"):
        check_file(path, LARGEST_PICKLE)
        with path.open("rb") as handle:
            return load_pickle(handle)


def load_pickle(handle: IO[bytes]) -> Any:
    """What the pickle at the handle holds; :class:`pickle.UnpicklingError` where it is refused."""
    try:
        found = _Unpickler(handle, encoding="latin1").load()
        return found.made() if isinstance(found, _Array | _Matrix) else found
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # a pickle made to do harm can make the machine that reads it raise anything
        raise pickle.UnpicklingError(f"not a whole pickle: {str(error) or type(error).__name__}") from error


@dataclass(frozen=True)
class Matrix:
    """The parts of a pickled ``csr_matrix``, as they are: nothing is known yet to fit together."""

    shape: tuple[int, int]
    ptr: NDArray[Any]
    columns: NDArray[Any]
    values: NDArray[Any]


class _Matrix:
    """Stands for scipy.sparse.csr_matrix."""

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def made(self) -> Matrix:
        shape = self.state["_shape"]
        if not (isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(n, int) and n >= 0 for n in shape)):
            raise pickle.UnpicklingError(f"a matrix has the shape {short(shape)}")
        parts = [self.state[name] for name in ("indptr", "indices", "data")]
        if not all(isinstance(part, _Array) for part in parts):
            raise pickle.UnpicklingError("a matrix has a part that is not an array")
        return Matrix(shape, *(part.made() for part in parts))


class _Array:
    """Stands for numpy.ndarray."""

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def made(self) -> NDArray[Any]:
        _, shape, dtype, fortran, content = self.state
        if not isinstance(dtype, _Dtype):
            raise pickle.UnpicklingError("an array has no type")
        if dtype.code == OBJECTS:
            return _objects(content).reshape(shape)
        return np.frombuffer(_bytes(content), dtype=dtype.numpy).reshape(shape, order="F" if fortran else "C")


class _Dtype:
    """Stands for numpy.dtype: numbers of a known size, or objects."""

    def __init__(self, code: Any, *_: Any) -> None:
        if code not in NUMBERS and code != OBJECTS:
            raise pickle.UnpicklingError(f"an array has the type {short(code)}")
        self.code: str = code
        self.order = "="

    def __setstate__(self, state: Any) -> None:
        if state[1] not in ("<", ">", "=", "|"):
            raise pickle.UnpicklingError(f"an array has the byte order {short(state[1])}")
        self.order = state[1]

    @property
    def numpy(self) -> np.dtype[Any]:
        if self.code == OBJECTS:
            raise pickle.UnpicklingError("a number has the type of an object")
        return np.dtype(self.order + self.code)


class _Object:
    """Stands for ``object``, which old pickles name as a base and never make."""

    def __setstate__(self, state: Any) -> NoReturn:
        raise pickle.UnpicklingError("it gives a state to object")


class _Call:
    """A function that a pickle may call and may not touch: BUILD would otherwise set attributes on it."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __setstate__(self, state: Any) -> NoReturn:
        raise pickle.UnpicklingError("it gives a state to a function")


def _objects(content: Any) -> NDArray[Any]:
    """Numbers and arrays of numbers, as an array of objects."""
    if not isinstance(content, list) or len(content) > MOST_OBJECTS:
        raise pickle.UnpicklingError(f"an array of objects does not list them, or more than {MOST_OBJECTS}")
    found = np.empty(len(content), dtype=object)
    for i, item in enumerate(content):
        if isinstance(item, _Array) and item.state[2].code == OBJECTS:
            raise pickle.UnpicklingError("an array of objects holds another")
        found[i] = item.made() if isinstance(item, _Array) else item
    return found


def _bytes(content: Any) -> bytes:
    if isinstance(content, str):
        return content.encode("latin1")
    if not isinstance(content, bytes):
        raise pickle.UnpicklingError("an array has no bytes")
    return content


def _empty_array(kind: Any, *_: Any) -> _Array:
    if kind is not _Array:
        raise pickle.UnpicklingError("it makes an array of another class")
    return _Array()


def _rebuilt(kind: Any, base: Any, state: Any) -> _Matrix:
    if kind is not _Matrix or base is not _Object or state is not None:
        raise pickle.UnpicklingError("it makes an object of another class")
    return _Matrix()


def _scalar(dtype: Any, content: Any) -> Any:
    if not isinstance(content, str | bytes) or len(content) != dtype.numpy.itemsize:
        raise pickle.UnpicklingError("a number has more or fewer bytes than its type")
    return np.frombuffer(_bytes(content), dtype=dtype.numpy)[0].item()


def _encoded(text: Any, encoding: Any) -> str:
    """The text as it is, which stands for its bytes: to encode it here would be a copy for every call."""
    if encoding != "latin1" or not isinstance(text, str):
        raise pickle.UnpicklingError(f"it encodes as {short(encoding)}")
    return text


def _dictionary(*_: Any) -> dict[Any, Any]:
    return {}


def _default(*_: Any) -> NoReturn:
    raise pickle.UnpicklingError("it calls what a dictionary has for keys that are not there")


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Call(_empty_array) for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _Call(_scalar) for core in ("core", "_core")},
    **{(f"scipy.sparse{module}", "csr_matrix"): _Matrix for module in ("", ".csr", "._csr")},
    **{(module, "_reconstructor"): _Call(_rebuilt) for module in ("copy_reg", "copyreg")},
    **{(module, "object"): _Object for module in ("__builtin__", "builtins")},
    ("collections", "defaultdict"): _Call(_dictionary),
    **{(module, kind): _Call(_default) for module in ("__builtin__", "builtins") for kind in ("list", "int")},
    ("_codecs", "encode"): _Call(_encoded),  # how Python 3 writes bytes for Python 2
}
# No published graph has these. A set takes 200 times the one byte that makes it, and the bytes of a bytearray are made
# before they are read.
_REFUSED = {code[0] for code in (pickle.EMPTY_SET, pickle.FROZENSET, pickle.BYTEARRAY8)}


class _Unpickler(pickle._Unpickler):
    """Python's own slower unpickler: the fast one reserves whatever memory a file's memo numbers ask for."""

    dispatch = {code: load for code, load in pickle._Unpickler.dispatch.items() if code not in _REFUSED}  # noqa: RUF012

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"it names {module[:50]}.{name[:50]}, which no published graph needs: nothing was run"
            )
        return _ALLOWED[module, name]
