"""Bad files are one sentence, whatever is wrong with them; mistakes of ours are not called bad files."""

import gzip
import io
import pickle
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from graph_files import (
    arxiv_tables,
    few_arrays,
    friendster_objects,
    planetoid_objects,
    refusal,
    wikics_content,
    write_arxiv,
    write_friendster,
    write_npz,
    write_planetoid,
    write_wikics,
)
from settwister import InputError
from settwister.graphs import Graph, load, npz, open_folder, save_folder, wikics
from settwister.graphs.reading import parsed, reading

PATH = Path("some/file")


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file"),
        EOFError(),
        ValueError("two\nlines"),
        ValueError("\x1b[2J wipes a terminal"),
        UnicodeDecodeError("ascii", b"\xff", 0, 1, "ordinal not in range"),
        OverflowError("too large"),
        RecursionError("too deep"),
        zipfile.BadZipFile("no zip file"),
        zlib.error("bad data"),
        pickle.UnpicklingError("not whole"),
    ],
)
def test_what_files_raise_is_one_sentence(error: Exception) -> None:
    def read() -> None:
        with reading(PATH, "a table"):
            raise error

    said = refusal(read)
    assert said.startswith("some/file cannot be read (")
    assert said.isprintable()
    assert said.endswith("), expected a table: fetch it again")


MISTAKES = [TypeError, AttributeError, NameError, KeyError, IndexError, AssertionError, ZeroDivisionError, RuntimeError]


@pytest.mark.parametrize("mistake", [*MISTAKES, MemoryError, KeyboardInterrupt])
def test_a_mistake_of_ours_goes_through(mistake: type[BaseException]) -> None:
    with pytest.raises(mistake, match="ours") as caught, reading(PATH, "a table"):
        raise mistake("ours")
    assert not isinstance(caught.value, InputError)


@pytest.mark.parametrize("mistake", [TypeError, KeyError, RuntimeError])
def test_a_mistake_in_a_reader_is_not_a_bad_file(
    mistake: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise mistake("ours")

    write_npz(tmp_path, "cora", few_arrays())
    write_wikics(tmp_path / "wikics", wikics_content())
    for module, name in ((npz, "cora"), (wikics, "wikics")):
        monkeypatch.setattr(module, "whole_numbers", broken)
        with pytest.raises(mistake, match="ours"):
            load(name, tmp_path)


def test_whatever_a_foreign_parser_raises_is_about_the_bytes() -> None:
    def theirs() -> None:
        raise KeyError("b'\\x00'")

    with pytest.raises(ValueError, match="x00"):
        parsed(theirs)
    assert parsed(lambda: 3) == 3


# ---- damaged files --------------------------------------------------------------------------------------------------

WRITERS: dict[str, Callable[[Path], Any]] = {
    "cora": lambda folder: write_npz(folder, "cora", few_arrays()),
    "citeseer": lambda folder: write_planetoid(folder / "citeseer" / "raw", "citeseer", planetoid_objects()),
    "wikics": lambda folder: write_wikics(folder / "wikics", wikics_content()),
    "arxiv": lambda folder: write_arxiv(folder / "arxiv", arxiv_tables()),
    "friendster": lambda folder: write_friendster(folder / "friendster", friendster_objects()),
}


@pytest.fixture(scope="module", params=WRITERS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A graph's name, and a data directory that has it."""
    folder = tmp_path_factory.mktemp("whole")
    WRITERS[request.param](folder)
    return request.param, folder


def damaged(content: bytes, draw: some.DataObject) -> bytes:
    """A few bytes changed, left out, put in or doubled, or the end cut off."""
    found = bytearray(content)
    for _ in range(draw.draw(some.integers(1, 4))):
        place = draw.draw(some.integers(0, len(found)))
        length = draw.draw(some.sampled_from([0, 1, 2, 8, 100, len(found)]))
        new = draw.draw(some.binary(max_size=8) | some.just(bytes(found[place : place + 50])))
        found[place : place + length] = new
    return bytes(found)


def damaged_inside(path: Path, draw: some.DataObject) -> bytes:
    """What is packed is damaged, and packed again as it should be: so the damage gets past the checksums."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.compress(damaged(gzip.decompress(content), draw))
    if path.suffix != ".npz":
        return damaged(content, draw)
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w") as new:
        chosen = draw.draw(some.sampled_from(old.namelist()))
        for name in old.namelist():
            new.writestr(name, damaged(old.read(name), draw) if name == chosen else old.read(name))
    return packed.getvalue()


@pytest.mark.parametrize("inside", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=some.data())
def test_damaged_files_are_a_graph_or_one_sentence(
    whole: tuple[str, Path], inside: bool, tmp_path: Path, draw: some.DataObject
) -> None:
    """HDF5 is left out: its library is not made for damaged files, and may end the process."""
    name, folder = whole
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".h5")
    path = draw.draw(some.sampled_from(files))
    path.write_bytes(damaged_inside(path, draw) if inside else damaged(path.read_bytes(), draw))
    a_graph_or_one_sentence(lambda: load(name, tmp_path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=some.data())
def test_damaged_folders_are_a_graph_or_one_sentence(tmp_path: Path, draw: some.DataObject) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    if not source.exists():
        write_npz(tmp_path, "cora", few_arrays())
        save_folder(load("cora", tmp_path), source)
    shutil.copytree(source, target, dirs_exist_ok=True)
    path = draw.draw(some.sampled_from(sorted(target.iterdir())))
    path.write_bytes(damaged(path.read_bytes(), draw))
    a_graph_or_one_sentence(lambda: open_folder(target))


def a_graph_or_one_sentence(read: Callable[[], Graph]) -> None:
    said = ""
    try:
        assert read().num_nodes > 0
    except InputError as error:
        said = str(error)
    assert "\n" not in said
