"""What commands put in the place of what, and what they leave behind when they are stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from commands import settwister
from example_people import fit_arguments
from settwister.estimator import TableClassifier


def test_a_folder_that_exists_is_replaced_only_with_force(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister(*fit_arguments(files)) == 0
    before = (files / "model" / "estimator.json").read_bytes()
    assert settwister(*fit_arguments(files, "--seed", 1)) == 2
    assert "exists already" in capsys.readouterr().err
    assert (files / "model" / "estimator.json").read_bytes() == before
    assert settwister(*fit_arguments(files, "--seed", 1, "--force")) == 0
    assert (files / "model" / "estimator.json").read_bytes() != before


def test_a_kill_leaves_the_old_folder_or_the_new(files: Path) -> None:
    """Killed at several moments of a fit that replaces a folder; what is there opens every time."""
    assert settwister(*fit_arguments(files)) == 0
    command = [sys.executable, "-m", "settwister", *map(str, fit_arguments(files, "--seed", 1, "--force"))]
    for patience in (3.0, 6.0, 9.0):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        began = time.monotonic()
        while process.poll() is None and time.monotonic() - began < patience:
            time.sleep(0.05)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        TableClassifier.load(files / "model")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no folder here that nobody may write to")
@pytest.mark.parametrize("command", ["fit", "predict", "reproduce"])
def test_a_place_that_cannot_be_written_is_named_before_any_work(
    command: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    asked = {
        "fit": ["fit", *tables, "--id", "person", "--target", "kind", "--out", "/proc/none/model"],
        "predict": ["predict", "--model", files / "model", *tables, "--out", "/proc/none/kinds.csv"],
        "reproduce": ["reproduce", "maxmin_length", "--html", "/proc/none/page.html"],
    }
    assert settwister(*asked[command]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "cannot be written, /proc takes no new files" in said.err
    assert said.err.count("\n") == 1


def test_the_demonstration_replaces_nothing_unless_told_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.parquet").write_text("precious")
    assert settwister("demo", "--out", tmp_path, "--people", 200) == 2
    assert "people.parquet exists already" in capsys.readouterr().err
    assert (tmp_path / "people.parquet").read_text() == "precious"


@pytest.mark.parametrize("which", ["people", "friends"])
def test_predictions_do_not_take_the_place_of_what_they_are_made_from(
    which: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert settwister(*fit_arguments(files)) == 0
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    before = (files / f"{which}.parquet").read_bytes()
    out = files / "elsewhere" / ".." / f"{which}.parquet"
    (files / "elsewhere").mkdir()
    assert settwister("predict", "--model", files / "model", *tables, "--out", out, "--force") == 2
    assert "is one of the tables to read" in capsys.readouterr().err
    assert (files / f"{which}.parquet").read_bytes() == before


def test_a_model_folder_with_something_else_in_it_is_not_replaced(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert settwister(*fit_arguments(files)) == 0
    (files / "model" / "notes.txt").write_text("precious")
    assert settwister(*fit_arguments(files, "--force")) == 2
    assert "holds notes.txt, which is not ours to remove" in capsys.readouterr().err
    (files / "model" / "notes.txt").unlink()
    (files / "model" / "network" / "plots").mkdir()
    assert settwister(*fit_arguments(files, "--force")) == 2
    assert "holds network/plots, which is not ours to remove" in capsys.readouterr().err
    (files / "model" / "network" / "plots").rmdir()
    assert settwister(*fit_arguments(files, "--force")) == 0


def test_a_full_disk_is_one_sentence(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settwister(*fit_arguments(files)) == 0
    asked = ["--model", files / "model", "--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]

    def full(frame: pl.DataFrame, path: Path) -> None:
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    capsys.readouterr()
    assert settwister("predict", *asked, "--out", files / "kinds.parquet") == 2
    assert capsys.readouterr().err == (
        "settwister: kinds.parquet was not written: No space left on device (os error 28)\n"
    )
    assert not (files / "kinds.parquet").exists()


def test_a_link_to_a_model_stays_one(files: Path) -> None:
    assert settwister(*fit_arguments(files)) == 0
    (files / "model").rename(files / "first")
    (files / "model").symlink_to(files / "first")
    assert settwister(*fit_arguments(files, "--force", "--seed", 5)) == 0
    assert (files / "model").is_symlink()
    assert json.loads((files / "first" / "estimator.json").read_text())["table"]["random_state"] == 5
    assert {path.name for path in files.iterdir()} == {"people.parquet", "friends.parquet", "model", "first"}


def test_a_terminated_command_leaves_nothing_behind(files: Path) -> None:
    """Stopped while it writes: the old folder stays, and what was begun beside it goes."""
    assert settwister(*fit_arguments(files)) == 0
    code = """
import sys, time
from settwister.estimator import table_folder
write = table_folder.write
def slowly(*given):
    write(*given)
    print("writing", flush=True)
    time.sleep(60)
table_folder.write = slowly
from settwister.cli import main
main()
"""
    asked = [sys.executable, "-c", code, *map(str, fit_arguments(files, "--force"))]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.terminate()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert {path.name for path in files.iterdir()} == {"people.parquet", "friends.parquet", "model"}
    assert TableClassifier.load(files / "model").classes_.tolist() == ["local", "mixed", "worldly"]
