"""Tables as experiments: cells, plans, run files, statistics, rendering, and the command that ties them together."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from settwister import InputError, paper
from settwister.cli.reproduce import _seeds
from settwister.experiments import BUDGETS, TABLES, Cell, Row, RunStore, cells, plan, rows, run_missing
from settwister.experiments.cells import PLUS, TableCell, plus
from settwister.experiments.nodes import NodeCell
from settwister.experiments.render import LATEX_BOLD, MARKDOWN_BOLD, by_model, latex, lines, markdown
from settwister.experiments.statistics import best, mean_std


def test_every_published_cell_is_there_with_ours_beside_it() -> None:
    assert set(TABLES) == {
        "images", "integers", "maxmin_length", "images_linear_rho", "integers_linear_rho", "maxmin_fixed_width",
        "images_relu", "integers_relu", "maxmin_relu",
    }  # fmt: skip
    for table in TABLES:
        found = cells(table)
        published = paper.table(table)["rows"]
        tasks = paper.tasks_of(table)
        assert len(found) == (len(published) + 1) * len(tasks)
        for cell in found:
            assert (cell.published() is None) == (cell.model == PLUS)


def test_a_cell_knows_its_task() -> None:
    cell = Cell("maxmin_length", "deepsets", "n20")
    assert (cell.target, cell.length, cell.metric) == ("maxmin", 20, "acc")
    assert cell.published() == {"mean": 0.538, "std": 0.012}
    assert cell.data().length == 20
    assert Cell("integers", "janossy_2ary", "range").data().width == 50
    assert Cell("images", "deepsets", "variance").data(pool=10).length == 5


@pytest.mark.parametrize("table", TABLES)
def test_our_row_has_deepsets_parameters_within_2_percent(table: str) -> None:
    for task in paper.tasks_of(table):
        ours, theirs = plus(table, task).num_parameters(), paper.model(table, "deepsets", task).num_parameters()
        assert abs(ours - theirs) / theirs < 0.02


def test_the_papers_budget_is_the_papers() -> None:
    images = plan(Cell("images", "deepsets", "range"), "paper").recipe
    assert (images.epochs, images.learning_rate, images.optimiser, images.schedule) == (2000, 1e-4, "adam", "constant")
    assert not images.standardise
    assert images.clip == 0
    assert plan(Cell("images", "set_transformer", "range"), "paper").recipe.learning_rate == 5e-4
    maxmin = plan(Cell("maxmin_length", "set_twister_m2_k2", "n10"), "paper")
    assert (maxmin.recipe.epochs, maxmin.recipe.optimiser, maxmin.recipe.schedule) == (40_000, "sgd", "plateau")
    assert (maxmin.recipe.patience, maxmin.recipe.factor, maxmin.seeds) == (500, 0.9, 5)
    assert plan(Cell("maxmin_length", "janossy_full_gru", "n10"), "paper").recipe.optimiser == "adam"
    assert plan(Cell("integers_linear_rho", "deepsets", "variance"), "paper").recipe.epochs == 1000
    with pytest.raises(InputError, match="budget is 'large', expected one of 'smoke', 'quick', 'paper'"):
        plan(Cell("integers", "deepsets", "range"), "large")


def test_every_cell_has_a_plan_under_every_budget() -> None:
    for table in TABLES:
        for cell in cells(table):
            for budget in BUDGETS:
                assert plan(cell, budget, epochs=7).recipe.epochs == 7


CELL = Cell("integers", "deepsets", "variance")
RUN = {"seed": 0, "test": 0.5, "seconds_per_epoch": 0.1, "parameters": 9481, "recipe": {"epochs": 3}}
HUGE = 10**400


def changed(cell: TableCell = CELL, **facts: Any) -> str:
    """A run file of a cell with some facts that are others."""
    said = {"format": 1, "table": cell.table, "model": cell.model, "task": cell.task}
    return json.dumps(said | RUN | facts)


def test_run_files_come_back_and_broken_ones_are_set_aside(tmp_path: Path) -> None:
    store = RunStore(tmp_path, "quick")
    assert store.read(CELL, 0) is None
    store.write(CELL, 0, RUN)
    content = store.read(CELL, 0)
    assert content is not None
    assert content["test"] == 0.5
    assert {"settwister", "torch", "python", "peak_memory_mb"} <= set(content["machine"])
    path = store.path(CELL, 0)
    short = ('{"format": 1, "test": 1.0}', changed(recipe=None), changed(parameters="many"))
    reader = RunStore(tmp_path, "quick", only_read=True)
    for broken in (path.read_text()[:40], "[]", "{}", '{"format": 0, "test": 1.0}', *short):
        path.write_text(broken)
        assert reader.read(CELL, 0) is None
        assert path.read_text() == broken, "who only reads moves nothing"
        assert store.read(CELL, 0) is None
        assert not path.exists()
        assert path.with_suffix(".broken").read_text() == broken
    assert (store.broken, reader.broken) == ({path.with_suffix(".broken"): "not whole"}, {path: "not whole"})
    path.write_text('{"format": 99, "test": 1.0}')
    with pytest.raises(InputError, match="a newer settwister wrote it"):
        store.read(CELL, 0)
    assert path.is_file()


NODE = NodeCell("gcn", "cora")
METRICS = {"accuracy": 80.0, "balanced_accuracy": 80, "macro_f1": 79.5}


@pytest.mark.parametrize(
    ("cell", "content"),
    [
        *((CELL, changed(test=test)) for test in (math.nan, math.inf, HUGE, True, None, "0.5")),
        (CELL, changed().replace("0.5", "1e400")),
        (CELL, '{"format": 1, "test": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        (CELL, changed(seconds_per_epoch=math.nan)),
        (CELL, changed(seconds_per_epoch=-1)),
        (CELL, changed(parameters=HUGE)),
        (CELL, changed(epochs=2.5)),
        (CELL, changed(seed=False)),
        *((CELL, changed(curves=curves)) for curves in ([1.0], {"a": 1.0}, {"a": ["1.0"]}, {"a": [HUGE]}, None)),
        *((NODE, changed(NODE, test=test)) for test in (5000, -1, 100.1, True)),
        *((NODE, changed(NODE, trials=trials)) for trials in ("3", 3.0, -1, None, True)),
        *((NODE, changed(NODE, test_metrics=given)) for given in (None, [80.0], {}, METRICS | {"macro_f1": "79"})),
        *((NODE, changed(NODE, settings=given)) for given in (None, [1], {"rate": [1]})),
    ],
)
def test_a_damaged_run_is_no_run(cell: TableCell, content: str, tmp_path: Path) -> None:
    store = RunStore(tmp_path, "quick", only_read=True)
    path = store.path(cell, 0)
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert store.read(cell, 0) is None
    assert store.broken == {path: "not whole"}


@pytest.mark.parametrize(
    ("cell", "facts"),
    [
        (CELL, dict(test=-3, curves={"validation_score": [math.nan, 1, 0.5]})),
        (NODE, dict(test=100, trials=0, test_metrics=METRICS, settings={"norm": None, "rate": 0.1}, curves={})),
    ],
)
def test_a_whole_run_is_read(cell: TableCell, facts: dict[str, Any], tmp_path: Path) -> None:
    store = RunStore(tmp_path, "quick")
    store.write(cell, 0, RUN | facts)
    assert store.read(cell, 0) is not None


@pytest.mark.parametrize(
    "said", [dict(table="images"), dict(model="janossy_2ary"), dict(task="range"), dict(seed=7), dict(task=["range"])]
)
def test_a_run_of_another_place_is_no_run(said: dict[str, Any], tmp_path: Path) -> None:
    store = RunStore(tmp_path, "quick")
    path = store.path(CELL, 0)
    path.parent.mkdir(parents=True)
    path.write_text(changed(**said))
    assert store.read(CELL, 0) is None
    assert list(store.broken) == [path.with_suffix(".broken")]


def test_what_stands_where_a_run_belongs_is_named_before_training(tmp_path: Path) -> None:
    store, reader = RunStore(tmp_path, "quick"), RunStore(tmp_path, "quick", only_read=True)
    for path, what in ((store.path(CELL, 3), "a folder"), (store.path(CELL, 3).parent, "a file")):
        if what == "a folder":
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True)
            path.write_text("precious")
        with pytest.raises(InputError, match=f"{path.name} is {what}, so no run can be written there: move it away"):
            run_missing([CELL], store, "smoke", seeds=[0, 3])
        assert not store.path(CELL, 0).exists()
        assert reader.read(CELL, 3) is None
        assert reader.broken.pop(path) == what
        shutil.rmtree(tmp_path / "quick")


def test_the_same_problem_under_two_names_is_one_file(tmp_path: Path) -> None:
    store = RunStore(tmp_path, "quick")
    one, other = Cell("integers", "deepsets", "maxmin"), Cell("maxmin_length", "deepsets", "n10")
    assert store.path(one, 1) == store.path(other, 1)
    store.write(one, 1, RUN | {"seed": 1})
    assert store.read(other, 1) == store.read(one, 1) is not None
    assert RunStore(tmp_path, "quick", "holdout").path(CELL, 0) != store.path(CELL, 0)


def test_cells_that_share_runs_ask_for_the_same_training() -> None:
    """The same model, data and recipe under every budget: else one table would show another's numbers."""
    sharing = [cell for table in TABLES for cell in cells(table) if cell.home != (cell.table, cell.task)]
    assert len(sharing) > 10
    for cell in sharing:
        home = Cell(cell.home[0], cell.model, cell.home[1])
        assert home.home == cell.home
        assert cell.build().config == home.build().config
        assert vars(cell.data()) == vars(home.data())
        assert all(plan(cell, budget) == plan(home, budget) for budget in BUDGETS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="choose another"):
        RunStore(tmp_path, "quick").check_writable()


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match=r"cannot be written, .*file takes no new files .*: choose another place"):
        RunStore(tmp_path / "file", "quick").check_writable()


def test_statistics() -> None:
    assert mean_std([2.0]) == (2.0, pytest.approx(math.nan, nan_ok=True))
    assert best({"a": [1.0], "b": [2.0]}, higher_is_better=True) == {"b"}
    assert best({"a": [1.0, 1.1, 0.9], "b": [1.05, 0.95, 1.02], "c": [9, 9.1, 9.2]}, higher_is_better=False) == {
        "a",
        "b",
    }
    assert best({"a": [1.0, 1.0], "b": [1.0, 1.0]}, higher_is_better=True) == {"a", "b"}
    assert best({"one": [1.1], "five": [1.0, 1.2, 0.9, 1.1, 0.8]}, higher_is_better=True) == {"one", "five"}
    assert best({"one": [9.0], "five": [1.0, 1.2, 0.9, 1.1, 0.8]}, higher_is_better=True) == {"one"}
    assert best({"one": [1.0], "two": [2.0, 2.0]}, higher_is_better=True) == {"two"}
    assert best({}, higher_is_better=True) == set()


def some_rows() -> list[Row]:
    good = [RUN | {"seed": seed, "test": 0.2 + 0.01 * seed} for seed in range(3)]
    bad = [RUN | {"seed": seed, "test": 5.0 + 0.01 * seed} for seed in range(3)]
    return [Row(CELL, good), Row(Cell("integers", "janossy_2ary", "variance"), bad)]


def test_tables_in_every_form() -> None:
    as_markdown = markdown(*by_model(some_rows(), MARKDOWN_BOLD))
    assert as_markdown.splitlines()[2] == "| DeepSets | **0.210(0.010)** | 0.417(0.015) | 3 | 0.10 |"
    as_latex = latex(*by_model(some_rows(), LATEX_BOLD))
    assert r"\textbf{0.210(0.010)}" in as_latex
    assert as_latex.count(r"\\") == 3
    assert r"MLP + C\&S & -- \\" in latex(["method", "cora"], [["MLP + C&S", "–"]])
    header, body = lines(some_rows(), "<{}>")
    assert header[0] == "task"
    assert body[0] == ["variance MAE", "DeepSets", "<0.210(0.010)>", "0.417(0.015)", "3", "0.10"]
    assert body[1][2] == "5.010(0.010)"


def test_json_rows_have_the_promised_form() -> None:
    row = some_rows()[0].as_row()
    assert list(row) == [
        "model", "task", "metric", "mean", "std", "seeds", "epochs", "parameters", "seconds_per_epoch", "paper_mean",
        "paper_std",
    ]  # fmt: skip
    assert row["paper_mean"] == 0.417
    assert row["seeds"] == [0, 1, 2]


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    store = RunStore(tmp_path, "smoke")
    chosen = cells("integers", ["deepsets"], ["variance", "range"])
    told: list[tuple[str, int]] = []

    def note(cell: Cell, done: int, total: int, text: str) -> None:
        told.append((cell.task, done))

    run_missing(chosen, store, "smoke", tell=note)
    assert told == [("variance", 0), ("variance", 1), ("range", 0), ("range", 1)]
    before = [store.path(cell, 0).read_bytes() for cell in chosen]
    store.path(chosen[1], 0).write_text("{")
    told.clear()
    run_missing(chosen, store, "smoke", tell=note)
    assert told == [("range", 0), ("range", 1)]
    assert [row.cell for row in rows(chosen, store, "smoke")] == chosen
    again = json.loads(store.path(chosen[1], 0).read_text())
    assert again["test"] == json.loads(before[1])["test"]
    run_missing(chosen, store, "smoke", seeds=[3])
    assert store.path(chosen[0], 3).exists()
    assert not list(tmp_path.rglob("unfinished"))


# ---- the command ----------------------------------------------------------------------------------------------------


def reproduce(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "settwister", "reproduce", *arguments],
        capture_output=True, text=True, check=False, timeout=300, env=os.environ | {"COLUMNS": "120"},
    )  # fmt: skip


def test_reproduce_trains_every_model_of_a_table(tmp_path: Path) -> None:
    done = reproduce("integers", "--budget", "smoke", "--runs", str(tmp_path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["rows"]
    assert len(found) == 18
    assert {row["model"] for row in found} == {*paper.models_of("integers"), PLUS}
    started = time.time()
    people = reproduce("integers", "--budget", "smoke", "--runs", str(tmp_path), "--tasks", "range")
    assert "Set Twister, our defaults" in people.stdout
    assert "0.999(0.001)" in people.stdout
    newest = max(path.stat().st_mtime for path in tmp_path.rglob("seed-*.json"))
    assert newest < started, "nothing is run twice"
    stored = reproduce("integers", "--budget", "smoke", "--runs", str(tmp_path), "--stored", "--json")
    assert (stored.stdout, stored.stderr) == (done.stdout, "")
    text = reproduce("integers", "--budget", "smoke", "--runs", str(tmp_path), "--tasks", "range", "--markdown")
    assert "\n\n| model | range acc. | paper | epochs | s/epoch |\n" in text.stdout


@pytest.mark.parametrize("holdout", [True, False])
def test_reproduce_on_images_without_mnist(tmp_path: Path, holdout: bool) -> None:
    done = reproduce(
        "images", "--budget", "smoke", "--runs", str(tmp_path), "--models", "deepsets,set_twister_plus", "--tasks",
        "variance", "--data-dir", str(tmp_path), *["--holdout-digits"] * holdout, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 2
    run = json.loads(next(tmp_path.rglob("seed-0.json")).read_text())
    assert "scikit-learn's 8×8 digits, enlarged" in run["data"]["images"]
    assert run["data"]["holdout"] is holdout
    assert str(tmp_path) not in json.dumps(run), "a run file names no place on disk"
    assert "no MNIST was found" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("floats",), "unknown table 'floats', expected one of parameters, figure1_cost, images, integers"),
        (("integers", "--models", "gcn"), "table 'integers' has no model 'gcn', expected one of set_twister_m2_k2"),
        (("integers", "--tasks", "n20"), "table 'integers' has no task 'n20', expected one of variance, range, maxmin"),
        (("integers", "--budget", "vast"), "budget is 'vast', expected one of 'smoke', 'quick', 'paper'"),
        (("integers", "--seeds", "few"), "seeds are 'few', expected numbers such as 0-4 or 0,2"),
        (("images", "--data-dir", "/no/such"), "the data directory /no/such is not there, expected a folder"),
    ],
)
def test_bad_requests_are_one_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    done = reproduce(*arguments, "--runs", str(tmp_path / "runs"))
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.json"))


def test_seeds_by_range() -> None:
    assert _seeds("0-2,7") == [0, 1, 2, 7]
    assert _seeds(None) is None
    with pytest.raises(InputError, match="expected a range that rises"):
        _seeds("4-2")


def test_a_killed_command_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    """kill -9 in the middle of a table; the same command then runs only the rest, and the numbers are the same."""
    chosen = ["--tasks", "variance,range", "--models", "deepsets,set_twister_m2_k2"]
    arguments = ["integers", "--budget", "smoke", "--epochs", "12", *chosen]
    undisturbed = reproduce(*arguments, "--runs", str(tmp_path / "a"), "--json")
    command = [sys.executable, "-m", "settwister", "reproduce", *arguments, "--runs", str(tmp_path / "b")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not list((tmp_path / "b").rglob("seed-0.json")):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    finished = {path: path.read_bytes() for path in (tmp_path / "b").rglob("seed-0.json")}
    resumed = reproduce(*arguments, "--runs", str(tmp_path / "b"), "--json")
    assert {path: path.read_bytes() for path in finished} == finished
    for ours, other in zip(*(json.loads(r.stdout)["rows"] for r in (resumed, undisturbed)), strict=True):
        assert {k: v for k, v in ours.items() if k != "seconds_per_epoch"} == {
            k: v for k, v in other.items() if k != "seconds_per_epoch"
        }
