"""The examples run, and do what they say."""

import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "examples"


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / f"{name}.py"))


def test_every_example_is_run_here() -> None:
    named = {"node_classifier", "own_tables", "paper_table", "pyg_model", "set_regression"}
    assert {path.stem for path in FOLDER.glob("*.py")} == named


def test_own_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example("own_tables")["main"](tmp_path)
    assert "test people are right" in capsys.readouterr().out
    assert (tmp_path / "model" / "report.html").is_file()


def test_set_regression_learns() -> None:
    assert example("set_regression")["main"](clouds=600) > 0.8


def test_a_pyg_model_learns() -> None:
    assert example("pyg_model")["main"](epochs=40) > 0.7


def test_a_node_classifier_learns() -> None:
    assert example("node_classifier")["main"]() > 0.75


def test_a_cell_of_the_papers_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert example("paper_table")["main"](epochs=1, sequences=2_000) < 300
    assert "the paper's 0.333 took 2,000" in capsys.readouterr().out
