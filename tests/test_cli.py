"""The command line as a user meets it: what it prints, where, and how it exits."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import settwister
from settwister.cli import reproduce
from settwister.paper.cost import Count


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "settwister", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | environment,
    )


@pytest.mark.parametrize(("table", "cells"), [("parameters", 22), ("figure1_cost", 8)])
def test_reproduce_counts(table: str, cells: int) -> None:
    done = run("reproduce", table, "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == cells
    assert all(set(row) == {"model", "column", "ours", "paper"} for row in rows)
    assert all(row["ours"] == row["paper"] for row in rows)
    people = run("reproduce", table)
    assert people.returncode == 0
    assert people.stdout.count("yes") == cells


def test_counts_are_printed_in_any_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister("reproduce", "figure1_cost", "--markdown") == 0
    assert "| model | column | ours | paper | equal |" in capsys.readouterr().out
    assert settwister("reproduce", "figure1_cost", "--latex") == 0
    assert r"\begin{tabular}" in capsys.readouterr().out


def test_what_a_terminal_cannot_show_is_escaped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert settwister("datasets", "--data-dir", str(tmp_path)) == 0
    sys.stdout.flush()
    assert b"\\u2013" in written.getvalue(), "a dash where a number would be"


def test_reproduce_exits_with_1_when_a_number_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    monkeypatch.setitem(reproduce.COUNTED, "parameters", lambda: [Count("deepsets", "images", 1, 2)])
    with pytest.raises(typer.Exit) as caught:
        reproduce.reproduce("parameters", as_json=True)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("reproduce", "nonsense"),
            "settwister: unknown table 'nonsense', expected one of parameters, figure1_cost, images, integers, "
            "maxmin_length, images_linear_rho, integers_linear_rho, maxmin_fixed_width, images_relu, integers_relu, "
            "maxmin_relu, nodes, all",
        ),
        (
            ("reproduce", "parameters", "--models", "deepsets"),
            "settwister: --models is deepsets for parameters, expected none: nothing is trained there",
        ),
        (
            ("reproduce", "nodes", "--markdown", "--latex"),
            "settwister: more than one of --markdown, --latex and --json was given, expected one form to print",
        ),
        (("bench", "nonsense"), "settwister: benchmark is 'nonsense', expected one of 'twist', 'sets', 'nodes'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(arguments: tuple[str, ...], sentence: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == sentence


@pytest.mark.parametrize("arguments", [("reproduce",), ("demo", "--seconds", "never"), ("--nonsense",), ("walk",)])
def test_bad_usage_is_exit_2_without_a_traceback(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr


COMMANDS = ["demo", "fit", "predict", "evaluate", "compare", "explain", "reproduce", "bench", "datasets"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert f"Example: settwister {command}" in done.stdout


def test_the_command_line_starts_without_what_takes_long_to_import() -> None:
    heavy = "{'sklearn', 'scipy.stats', 'pandas', 'polars', 'skrub', 'matplotlib', 'optuna', 'torch_geometric'}"
    code = f"import sys, settwister.cli as _; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_whoever_interrupts_is_told_what_became_of_it(
    which: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(reproduce, "load_digits", lambda folder: signal.raise_signal(which))
    try:
        assert settwister("reproduce", "images") == 128 + which
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err.strip().endswith("settwister: interrupted; what was finished is kept")


def test_version() -> None:
    assert run("--version").stdout.startswith("settwister 0.")


def test_demo_compares_every_model() -> None:
    done = run("demo", "--sets", "--seconds", "0.3", "--json")
    assert done.returncode == 0
    assert done.stderr == "", "progress is for terminals only"
    rows = json.loads(done.stdout)["rows"]
    assert [row["model"] for row in rows] == [
        "Set Twister",
        "DeepSets",
        "Set Twister, linear rho",
        "DeepSets, linear rho",
        "Janossy 2-ary",
        "Janossy GRU",
        "Set Transformer",
    ]
    assert all(row["mae"] > 0 and row["sets_seen"] > 0 for row in rows)


def test_demo_shows_progress_on_a_terminal() -> None:
    done = run("demo", "--sets", "--seconds", "0.3", FORCE_COLOR="1")  # rich's way to be told that this is a terminal
    assert done.returncode == 0
    assert "Set Twister" in done.stderr
    assert "MAE" in done.stderr
    assert "always answering the median would give" in done.stdout


def test_bench_shows_progress_on_a_terminal_and_keeps_it_out_of_the_json() -> None:
    done = run("bench", "twist", "--json", FORCE_COLOR="1")
    assert done.returncode == 0
    assert "━" in done.stderr
    assert [row["name"] for row in json.loads(done.stdout)["rows"]][:2] == ["multiset", "factored, rank 16"]


class Malloc:
    """Stands in for the C library, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def mallopt(self, option: int, value: int) -> int:
        self.asked.append((option, value))
        return 1


@pytest.mark.parametrize(("arguments", "asked"), [(["reproduce", "parameters"], 2), (["datasets"], 0)])
def test_commands_that_train_keep_freed_memory(
    arguments: list[str], asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from settwister.cli import app, memory

    library = Malloc()
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: library)
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert len(library.asked) == asked


def test_a_system_without_mallopt_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from settwister.cli import memory

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    memory.keep_freed_memory()


def test_runs_of_another_length_are_other_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["reproduce", "integers", "--tasks", "range", "--models", "deepsets", "--budget", "smoke", "--json"]
    for more, epochs in ((["--epochs", 2], 2), ([], 1), (["--epochs", 2], 2)):
        assert settwister(*asked, "--runs", tmp_path, *more) == 0
        assert json.loads(capsys.readouterr().out)["rows"][0]["epochs"] == epochs


def test_an_unknown_budget_is_refused_even_where_nothing_is_trained(capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister("reproduce", "parameters", "--budget", "nonsense") == 2
    assert "budget is 'nonsense', expected one of 'smoke', 'quick', 'paper'" in capsys.readouterr().err
