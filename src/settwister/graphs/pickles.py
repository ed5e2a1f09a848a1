"""Pickles of published datasets, read without running anything that they name.

A pickle is a program, and an allow-list alone would still hand its bytes to numpy's and scipy's own loaders, which
trust them. So the few names that these files hold stand for small classes of ours: a pickled array is a shape, a type
and bytes, a pickled matrix is three arrays, and each is checked before numpy sees it.
"""

import pickle
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from settwister.graphs.reading import reading

NUMBERS = {f"{kind}{size}" for kind in "iuf" for size in (1, 2, 4, 8)} - {"f1"} | {"b1"}
OBJECTS = "O8"


def read_pickle(path: Path) -> Any:
    """What the file holds: an array, a :class:`Matrix`, or dictionaries, lists and numbers.

    Raises:
        InputError: where it is not whole, or names anything but numpy's arrays, scipy's csr_matrix and containers.
    """
    with reading(path, "a pickle of arrays"), path.open("rb") as handle:
        return load_pickle(handle)


def load_pickle(handle: IO[bytes]) -> Any:
    """What the pickle at the handle holds; :class:`pickle.UnpicklingError` where it is refused."""
    try:
        found = _Unpickler(handle, encoding="latin1").load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # a pickle made to do harm can make the machine that reads it raise anything
        raise pickle.UnpicklingError(f"not a whole pickle: {str(error) or type(error).__name__}") from error
    return found.value if isinstance(found, _Array) else found


class Matrix:
    """The parts of a pickled ``csr_matrix``, as they are: nothing is known yet to fit together."""

    shape: tuple[int, int]
    ptr: NDArray[Any]
    columns: NDArray[Any]
    values: NDArray[Any]

    def __setstate__(self, state: Any) -> None:
        shape = state["_shape"]
        if not (isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(n, int) and n >= 0 for n in shape)):
            raise pickle.UnpicklingError(f"a matrix has the shape {shape!r}")
        self.shape = shape
        self.ptr, self.columns, self.values = (_array(state[name]) for name in ("indptr", "indices", "data"))


class _Array:
    """Stands for numpy.ndarray."""

    value: NDArray[Any]

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, content = state
        if not isinstance(dtype, _Dtype):
            raise pickle.UnpicklingError("an array has no type")
        if dtype.code == OBJECTS:
            self.value = np.empty(len(content), dtype=object)
            for i, item in enumerate(content):
                self.value[i] = item.value if isinstance(item, _Array) else item
            self.value = self.value.reshape(shape)
        else:
            numbers = np.frombuffer(_bytes(content), dtype=dtype.numpy)
            self.value = numbers.reshape(shape, order="F" if fortran else "C")


class _Dtype:
    """Stands for numpy.dtype: numbers of a known size, or objects."""

    def __init__(self, code: Any, *_: Any) -> None:
        if code not in NUMBERS and code != OBJECTS:
            raise pickle.UnpicklingError(f"an array has the type {code!r}")
        self.code: str = code
        self.order = "="

    def __setstate__(self, state: Any) -> None:
        if state[1] not in ("<", ">", "=", "|"):
            raise pickle.UnpicklingError(f"an array has the byte order {state[1]!r}")
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


def _array(value: Any) -> NDArray[Any]:
    if not isinstance(value, _Array):
        raise pickle.UnpicklingError("a matrix has a part that is not an array")
    return value.value


def _bytes(content: Any) -> bytes:
    return content.encode("latin1") if isinstance(content, str) else bytes(memoryview(content))


def _empty_array(kind: Any, *_: Any) -> _Array:
    if kind is not _Array:
        raise pickle.UnpicklingError("it makes an array of another class")
    return _Array()


def _rebuilt(kind: Any, base: Any, state: Any) -> Matrix:
    if kind is not Matrix or base is not _Object or state is not None:
        raise pickle.UnpicklingError("it makes an object of another class")
    return Matrix()


def _scalar(dtype: Any, content: Any) -> Any:
    return np.frombuffer(_bytes(content), dtype=dtype.numpy, count=1)[0].item()


def _encoded(text: Any, encoding: Any) -> bytes:
    if encoding != "latin1" or not isinstance(text, str):
        raise pickle.UnpicklingError(f"it encodes as {encoding!r}")
    return text.encode("latin1")


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Call(_empty_array) for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _Call(_scalar) for core in ("core", "_core")},
    **{(f"scipy.sparse{module}", "csr_matrix"): Matrix for module in ("", ".csr", "._csr")},
    **{(module, "_reconstructor"): _Call(_rebuilt) for module in ("copy_reg", "copyreg")},
    **{(module, "object"): _Object for module in ("__builtin__", "builtins")},
    **{(module, "list"): list for module in ("__builtin__", "builtins")},
    **{(module, "int"): int for module in ("__builtin__", "builtins")},
    ("collections", "defaultdict"): defaultdict,
    ("_codecs", "encode"): _Call(_encoded),  # how Python 3 writes bytes for Python 2
}


class _Unpickler(pickle._Unpickler):
    """Python's own slower unpickler: the fast one reserves whatever memory a file's memo numbers ask for."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no published graph needs: nothing was run")
        return _ALLOWED[module, name]
