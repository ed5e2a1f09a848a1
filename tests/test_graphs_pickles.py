"""Pickles from a stranger: nothing that they name is run, and nothing that they repeat is copied."""

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from graph_files import Harmful, little_memory, planetoid_objects, refusal, write_planetoid
from settwister.graphs import load
from settwister.graphs.pickles import Matrix, load_pickle


@pytest.mark.parametrize("ending", ["x", "tx", "allx", "y", "ty", "ally", "graph"])
def test_harmful_pickles_run_nothing(ending: str, tmp_path: Path) -> None:
    objects, trace = planetoid_objects(), tmp_path / "trace"
    for call, arguments in [(os.system, (f"touch {trace}",)), (eval, (f"open({str(trace)!r}, 'w')",))]:
        for protocol in (0, 2, 4):
            bomb = pickle.dumps({"inside": [Harmful(call, *arguments)]}, protocol)
            write_planetoid(tmp_path / "cora" / "raw", "cora", objects | {ending: bomb})
            said = refusal(lambda: load("cora", tmp_path))
            assert f"ind.cora.{ending} cannot be read (it names " in said
            assert "nothing was run" in said
            assert not trace.exists()


def pickled(*instructions: bytes) -> bytes:
    return b"\x80\x02" + b"".join(instructions) + b"."


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80",
        b"not a pickle",
        pickle.dumps("text", 2),
        pickle.dumps(planetoid_objects()["x"], 2)[:-40],
        pickled(b"cnumpy\nndarray\n", b"}(U\x05valueK\x01ub"),  # a state for the class itself
        pickled(b"cnumpy._core.multiarray\n_reconstruct\n", b"N}U\x0c__defaults__K\x01s\x86b"),  # and for a function
        pickled(b"c__builtin__\nlist\n", b"N}U\x06appendK\x01s\x86b"),
        pickled(b"ccopy_reg\n_reconstructor\n", b"(cnumpy\nndarray\nc__builtin__\nobject\nNtR"),
        pickled(b"cnumpy\ndtype\n", b"(U\x02O4K\x00K\x01tR"),
        pickled(b"c_codecs\nencode\n", b"(X\x01\x00\x00\x00aX\x05\x00\x00\x00rot13tR"),
        pickled(b"Nr\xff\xff\xff\x7f"),  # a memo of two thousand million entries
        pickled(b"(" * 10**5, b"t" * 10**5),
        pickle.dumps(np.array(["a", "b"]), 2),
        pickle.dumps(np.array([object], dtype=object), 2),
    ],
)
def test_broken_pickles_are_one_sentence(content: bytes, tmp_path: Path) -> None:
    write_planetoid(tmp_path / "cora" / "raw", "cora", planetoid_objects() | {"allx": content})
    assert "ind.cora.allx" in refusal(lambda: load("cora", tmp_path))


# ---- what is made often ---------------------------------------------------------------------------------------------

ENCODE, ARRAY, DTYPE = b"c_codecs\nencode\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"cnumpy\ndtype\n"
NDARRAY, LIST, DEFAULTDICT = b"cnumpy\nndarray\n", b"c__builtin__\nlist\n", b"ccollections\ndefaultdict\n"


def text(content: bytes) -> bytes:
    return b"X" + len(content).to_bytes(4, "little") + content


def memo(number: int) -> bytes:
    return b"r" + number.to_bytes(4, "little") + b"0"


def recalled(number: int) -> bytes:
    return b"j" + number.to_bytes(4, "little")


MILLION = text(bytes(10**6)) + memo(0)
TYPE = DTYPE + b"(" + text(b"u1") + b"tR" + memo(1)
EMPTY = ARRAY + b"(" + NDARRAY + b"tR"
STATE = b"(K\x01(J" + (10**6).to_bytes(4, "little") + b"t" + recalled(1) + b"\x89" + recalled(0) + b"t"
entries = b"".join(b"J" + key.to_bytes(4, "little") + b"K\x00" for key in range(20_000))
REPEATED: dict[str, tuple[bytes, bytes]] = {
    "encoded text": (MILLION, ENCODE + b"(" + recalled(0) + text(b"latin1") + b"tR"),
    "arrays of one text": (MILLION + TYPE, EMPTY + STATE + b"b"),
    "copies of a list": (b"](" + b"K\x00" * 10**5 + b"e" + memo(0), LIST + b"(" + recalled(0) + b"tR"),
    "copies of a dictionary": (b"}(" + entries + b"u" + memo(0), DEFAULTDICT + b"(" + LIST + recalled(0) + b"tR"),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_what_is_repeated_is_not_copied(kind: str) -> None:
    """2,000 times a megabyte, where copies are made; refused, or a list that no reader takes for its arrays."""
    before, repeated = REPEATED[kind]
    content = pickled(before, b"](", repeated * 2000, b"e")
    found: Any = []
    with little_memory():
        try:
            found = load_pickle(io.BytesIO(content))
        except pickle.UnpicklingError as error:
            found = str(error)
    assert isinstance(found, str) or len(found) == 2000


@pytest.mark.parametrize(
    "content",
    [
        pickled(b"\x8f"),  # a set, which takes 200 times the byte that makes it
        pickled(b"\x96" + (2**40).to_bytes(8, "little")),  # a bytearray of a terabyte
        pickled(b"B" + (2**31).to_bytes(4, "little")),
        pickled(b"\x8e" + (2**62).to_bytes(8, "little")),
        pickled(b"\x95" + (2**62).to_bytes(8, "little")),
        pickled(b"cnumpy.core.multiarray\nscalar\n(", MILLION, TYPE, recalled(1), recalled(0), b"tR"),
    ],
)
def test_claims_of_any_size_are_refused(content: bytes) -> None:
    with little_memory():
        try:
            found = load_pickle(io.BytesIO(content))
        except pickle.UnpicklingError:
            found = None
    assert found is None


def listed(*parts: Any) -> Any:
    array = np.empty(len(parts), dtype=object)
    for i, part in enumerate(parts):
        array[i] = part
    return array


def nested(depth: int) -> Any:
    """One array eight times in the next, again and again: 8 to the power of the depth, if each were made."""
    return listed(*[nested(depth - 1)] * 8) if depth else np.arange(3)


def test_arrays_of_objects_hold_a_few_arrays_of_numbers() -> None:
    found = load_pickle(io.BytesIO(pickle.dumps(listed(np.arange(3), np.arange(2), 5), 2)))
    assert [np.asarray(part).tolist() for part in found] == [[0, 1, 2], [0, 1], 5]
    for array, sentence in ((nested(20), "holds another"), (listed(*range(9)), "more than 8")):
        with pytest.raises(pickle.UnpicklingError, match=sentence), little_memory():
            load_pickle(io.BytesIO(pickle.dumps(array, 2)))


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_honest_pickles_are_read(protocol: int) -> None:
    matrix = scipy.sparse.random(5, 4, 0.5, "csr", np.float64, np.random.default_rng(0))
    found = load_pickle(io.BytesIO(pickle.dumps(matrix, protocol)))
    assert isinstance(found, Matrix)
    assert found.shape == (5, 4)
    assert np.array_equal(found.values, matrix.data)
    assert np.array_equal(found.ptr, matrix.indptr)
    for array in (
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(3, dtype=">i4"),
    ):
        found = load_pickle(io.BytesIO(pickle.dumps(array, protocol)))
        assert np.array_equal(found, array)
    assert load_pickle(io.BytesIO(pickle.dumps({0: [np.int64(3), 4]}, protocol))) == {0: [3, 4]}
