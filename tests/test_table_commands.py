"""Tables in, a judged and saved classifier out: from the command line."""

import html
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from commands import settwister
from example_people import PEOPLE, Tables, fit_arguments, replaced, without, written
from settwister.estimator import OneHopClassifier, TableClassifier
from settwister.estimator.comparison import CONTENDERS


def test_two_commands_from_tables_to_predictions(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister(*fit_arguments(files)) == 0
    said = capsys.readouterr().out
    assert "test nodes are right" in said
    assert "always answering the commonest class" in " ".join(said.split())
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    assert settwister("predict", "--model", files / "model", *tables, "--out", files / "kinds.parquet") == 0
    assert pl.read_parquet(files / "kinds.parquet").height == PEOPLE
    assert settwister("predict", "--model", files / "model", *tables, "--out", files / "kinds.csv") == 0
    assert pl.read_csv(files / "kinds.csv")["prediction"].to_list() == (
        pl.read_parquet(files / "kinds.parquet")["prediction"].to_list()
    )
    assert settwister("evaluate", "--model", files / "model", *tables) == 0
    assert settwister("explain", "--model", files / "model", *tables, "--node", "p0001") == 0
    assert "p0001 is predicted" in capsys.readouterr().out


def test_who_asks_for_balance_is_told_of_it_first(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister(*fit_arguments(files, "--balanced")) == 0
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    said = [capsys.readouterr().out]
    assert settwister("evaluate", "--model", files / "model", *tables) == 0
    said += [capsys.readouterr().out]
    for words in said:
        first, second = " ".join(words.split()).split(". ")[:2]
        assert first.endswith("% is the balanced accuracy, every class counted alike; guessing would be 33.3%")
        assert "nodes are right" in second
    assert "<p>With every class counted alike, the model is right" in (files / "model" / "report.html").read_text()


def test_networks_that_answer_as_one_are_counted_in_what_is_said(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert settwister(*fit_arguments(files, "--members", 1)) == 0
    assert "The network was trained in" in capsys.readouterr().out
    assert settwister(*fit_arguments(files, "--members", 2, "--force")) == 0
    assert "2 networks, answering as one, were trained in" in capsys.readouterr().out
    assert "Of the first of 2 networks." in (files / "model" / "report.html").read_text()
    assert settwister(*fit_arguments(files, "--members", 0, "--force")) == 2


def test_json_is_one_object_and_nothing_else(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    asked = {
        "fit": fit_arguments(files),
        "predict": ["predict", "--model", files / "model", *tables, "--out", files / "kinds.parquet"],
        "evaluate": ["evaluate", "--model", files / "model", *tables],
        "explain": ["explain", "--model", files / "model", *tables, "--node", "p0001"],
        "compare": ["compare", *tables, "--id", "person", "--target", "kind", "--epochs", 3, "--models", "mlp,gcn"],
    }
    found = {}
    for name, arguments in asked.items():
        assert settwister(*arguments, "--json") == 0, name
        found[name] = json.loads(capsys.readouterr().out)
    assert found["fit"]["test"]["nodes"] > 0
    assert found["predict"]["nodes"] == PEOPLE
    assert found["evaluate"]["accuracy"] >= 0
    assert found["explain"]["node"] == "p0001"
    assert {row["name"] for row in found["compare"]["rows"]} == {"mlp", "gcn"}


def test_compare_saves_the_best_that_can_be(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    asked = ["compare", *tables, "--id", "person", "--target", "kind", "--epochs", 3]
    assert settwister(*asked, "--models", "mlp,label_propagation", "--out", files / "best") == 0
    assert "Saved mlp in" in capsys.readouterr().out
    page = (files / "best" / "report.html").read_text()
    assert "<strong>MLP, own features only</strong> (this model)" in page, "whichever is ahead, the page is about mlp"
    assert page.count("(this model)") == 1
    assert "label propagation, no features" in page
    assert settwister(*asked, "--models", "gcn", "--out", files / "none") == 2
    assert "none of gcn can be saved" in capsys.readouterr().err
    assert not (files / "none").exists()


BAD_NODES: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "no id": (without("person"), "person"),
    "no target": (without("kind"), "kind"),
    "ids twice": (replaced("person", lambda ids: ["p0001"] * len(ids)), "p0001"),
    "one class": (replaced("kind", lambda kinds: ["local"] * len(kinds)), "one class"),
    "a class of one": (replaced("kind", lambda kinds: ["odd", *kinds.to_list()[1:]]), "odd"),
    "no labels": (
        replaced("kind", lambda kinds: pl.Series([None] * len(kinds), dtype=pl.String)),
        "missing in every row",
    ),
    "infinite": (replaced("age", lambda ages: [float("inf")] * len(ages)), "age"),
    "not a number": (replaced("age", lambda ages: [float("nan")] * len(ages)), "age"),
    "lists": (replaced("age", lambda ages: [[1, 2]] * len(ages)), "age"),
    "measurements": (replaced("kind", lambda kinds: np.linspace(0, 1, len(kinds))), "kind"),
    "no rows": (lambda table: table.head(0), "no rows"),
}


@pytest.mark.parametrize("case", BAD_NODES)
def test_bad_nodes_are_one_sentence_and_nothing_is_written(
    files: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, named = BAD_NODES[case]
    change(pl.read_parquet(files / "people.parquet")).write_parquet(files / "people.parquet")
    check_refused(files, named, capsys)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda edges: edges.with_columns(target=pl.lit("nobody")), "nobody"),
        (lambda edges: edges.with_columns(target=pl.lit(None, dtype=pl.String)), "target"),
        (lambda edges: edges.select("source"), "column"),
    ],
)
def test_bad_edges_are_one_sentence_and_nothing_is_written(
    files: Path, change: Callable[[pl.DataFrame], pl.DataFrame], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(pl.read_parquet(files / "friends.parquet")).write_parquet(files / "friends.parquet")
    check_refused(files, named, capsys)


def check_refused(files: Path, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path.name for path in files.iterdir())
    assert settwister(*fit_arguments(files)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("settwister: ")
    assert said.err.count("\n") == 1
    assert named in said.err
    assert sorted(path.name for path in files.iterdir()) == before


def test_edges_to_unknown_nodes_can_be_dropped(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = pl.read_parquet(files / "friends.parquet")
    strange = pl.DataFrame({"source": ["x1", "x2", "x3", "x4"], "target": ["p0001"] * 4})
    pl.concat([edges, strange]).write_parquet(files / "friends.parquet")
    assert settwister(*fit_arguments(files)) == 2
    said = capsys.readouterr().err
    assert all(part in said for part in ("4", "x1", "x2", "x3", "--drop-unknown"))
    assert "x4" not in said
    assert settwister(*fit_arguments(files, "--drop-unknown")) == 0
    assert "4 edges to nodes that are not in the table were left out" in (files / "model" / "report.html").read_text()


def test_ends_among_other_columns_are_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a model that was fitted without names can be used with edges that need them."""
    assert settwister(*fit_arguments(files)) == 0
    asked = ["--model", files / "model", "--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    assert settwister("predict", *asked, "--out", files / "before.csv") == 0
    edges = pl.read_parquet(files / "friends.parquet").rename({"source": "from", "target": "to"})
    edges.with_row_index("row").write_parquet(files / "friends.parquet")
    commands = {
        "predict": [*asked, "--out", files / "after.csv"],
        "evaluate": asked,
        "explain": [*asked, "--node", "p0001"],
    }
    for name, arguments in commands.items():
        assert settwister(name, *arguments) == 2
        assert "has the columns 'row', 'from', 'to' for source and target" in capsys.readouterr().err
        assert settwister(name, *arguments, "--source-column", "from", "--target-column", "to") == 0
    assert (files / "after.csv").read_bytes() == (files / "before.csv").read_bytes()


def test_every_command_says_how_many_edges_were_left_out(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people on standard error, and only if there are any; for programs always."""
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    asked = {
        "fit": fit_arguments(files, "--force"),
        "predict": ["predict", "--model", files / "model", *tables, "--out", files / "kinds.csv", "--force"],
        "evaluate": ["evaluate", "--model", files / "model", *tables],
        "explain": ["explain", "--model", files / "model", *tables, "--node", "p0001"],
        "compare": ["compare", *tables, "--id", "person", "--target", "kind", "--epochs", 3, "--models", "mlp"],
    }
    edges = pl.read_parquet(files / "friends.parquet")
    strange = pl.DataFrame({"source": ["x1", "x2"], "target": ["p0001"] * 2})
    for lost, sentence in (
        (0, ""),
        (1, "1 edge to nodes that are not in the table was left out.\n"),
        (2, "2 edges to nodes that are not in the table were left out.\n"),
    ):
        pl.concat([edges, strange.head(lost)]).write_parquet(files / "friends.parquet")
        for name, arguments in asked.items():
            assert settwister(*arguments, "--drop-unknown") == 0, name
            said = capsys.readouterr()
            assert said.err == sentence, name
            assert "left out" not in said.out
            assert settwister(*arguments, "--drop-unknown", "--json") == 0, name
            said = capsys.readouterr()
            assert json.loads(said.out)["dropped_edges"] == lost, name
            assert said.err == ""


def test_tuning_tries_settings_and_keeps_the_best(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister(*fit_arguments(files, "--tune", 0.5)) == 0
    assert "test nodes are right" in capsys.readouterr().out
    settings = json.loads((files / "model" / "estimator.json").read_text())["parameters"]
    assert settings["width"] != "auto", "what was tried is written out"
    assert not (files / "model.trials.json").exists(), "and is not needed any more"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with every classifier that is trained."""
    trained: list[int] = []
    original = TableClassifier.trained

    def counting(self: TableClassifier, *given: Any, **more: Any) -> OneHopClassifier:
        trained.append(len(trained))
        return original(self, *given, **more)

    monkeypatch.setattr(TableClassifier, "trained", counting)
    return trained


def interrupted_after(monkeypatch: pytest.MonkeyPatch, trials: int) -> pytest.MonkeyPatch:
    """Ctrl-C while the trial after so many is running."""
    original, done = OneHopClassifier.fit, []

    def fit(self: OneHopClassifier, *given: Any, **more: Any) -> OneHopClassifier:
        done.append(0)
        if len(done) > trials:
            raise KeyboardInterrupt
        return original(self, *given, **more)

    monkeypatch.setattr(OneHopClassifier, "fit", fit)
    return monkeypatch


def test_tuning_goes_on_where_it_was_stopped(
    files: Path, counted: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    kept = files / "model.trials.json"
    with pytest.MonkeyPatch.context() as patch:
        interrupted_after(patch, trials=3)
        assert settwister(*fit_arguments(files, "--tune", 1000)) == 130
    assert capsys.readouterr().err == "settwister: interrupted; what was finished is kept\n"
    assert len(counted) == 4
    before = json.loads(kept.read_text())
    assert len(before) == 3
    assert not (files / "model").exists()
    best = max(before, key=lambda trial: trial["validation"])
    counted.clear()
    assert settwister(*fit_arguments(files, "--tune", 1e-6)) == 0, "time for no further trial"
    assert len(counted) == 1, "the model itself"
    assert not kept.exists()
    settings = json.loads((files / "model" / "estimator.json").read_text())["parameters"]
    assert best["settings"].items() <= settings.items()
    assert sorted(path.name for path in files.iterdir()) == ["friends.parquet", "model", "people.parquet"]


def test_trials_of_other_tables_or_options_are_not_taken_for_these(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = files / "model.trials.json"
    with pytest.MonkeyPatch.context() as patch:
        interrupted_after(patch, trials=1)
        assert settwister(*fit_arguments(files, "--tune", 1000)) == 130
    capsys.readouterr()
    for other in (["--seed", 1], ["--epochs", 4], ["--model", "mlp"], ["--features", "age,city"], ["--balanced"]):
        assert settwister(*fit_arguments(files, "--tune", 1e-6, *other)) == 2, other
        said = capsys.readouterr().err
        assert said.startswith(f"settwister: {kept} holds trials of other nodes, edges, labels or settings")
        assert "remove it" in said
    assert not (files / "model").exists()
    assert settwister(*fit_arguments(files, "--tune", 1e-6)) == 0


def test_missing_and_truncated_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (files / "people.parquet").read_bytes()
    (files / "people.parquet").write_bytes(whole[: len(whole) // 2])
    check_refused(files, "people.parquet", capsys)
    (files / "people.parquet").unlink()
    check_refused(files, "people.parquet", capsys)


def test_the_demonstration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister("demo", "--people", 200, "--out", tmp_path, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert Path(said["page"]).is_file()
    assert [set(step) >= {"step"} for step in said["steps"]] == [True] * 3
    assert {row["name"] for row in said["steps"][0]["rows"]} == set(CONTENDERS)


def test_names_that_look_like_markup_are_printed_as_they_are(
    tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people, friends = tables
    names = {"local": "[/a]", "mixed": "[red] apples", "worldly": "[bold]"}
    written((people.with_columns(pl.col("kind").replace(names)), friends), tmp_path)
    assert settwister(*fit_arguments(tmp_path)) == 0
    asked = ["--model", tmp_path / "model", "--nodes", tmp_path / "people.parquet"]
    asked += ["--edges", tmp_path / "friends.parquet"]
    capsys.readouterr()
    assert settwister("evaluate", *asked) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in names.values())
    assert settwister("explain", *asked, "--node", "p0001") == 0
    said = capsys.readouterr().out
    assert any(f"is predicted {name} with" in said for name in names.values())


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize("option", ["--directed", "--weight=often", "--drop-unknown"])
def test_options_of_edges_need_edges(
    command: str, option: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--nodes", files / "people.parquet", "--id", "person", "--target", "kind", "--out", files / "model"]
    assert settwister(command, *asked, option) == 2
    said = f"{option.split('=')[0]} is given without --edges, expected a table of edges, too"
    assert said in capsys.readouterr().err


def test_columns_of_text_stay_text_however_the_cells_of_new_rows_look(files: Path, tables: Tables) -> None:
    people, friends = tables
    codes = pl.Series("code", ["12", "true", "2020-01-01", "A1"] * (PEOPLE // 4))
    people.with_columns(codes).write_csv(files / "people.csv")
    friends.write_csv(files / "friends.csv")
    given = ["--nodes", files / "people.csv", "--edges", files / "friends.csv", "--id", "person", "--target", "kind"]
    assert settwister("fit", *given, "--out", files / "m", "--epochs", 2, "--members", 1) == 0
    for cell in ("12", "true", "2020-01-01"):
        people[:1].with_columns(code=pl.lit(cell)).write_csv(files / "one.csv")
        assert (
            settwister(
                "predict", "--model", files / "m", "--nodes", files / "one.csv", "--out", files / "p.csv", "--force"
            )
            == 0
        )


def test_classes_of_a_csv_file_keep_their_zeros(files: Path, tables: Tables) -> None:
    people, friends = tables
    names = {"local": "007", "mixed": "008", "worldly": "010"}
    people.with_columns(pl.col("kind").replace(names)).write_csv(files / "people.csv")
    model = TableClassifier("person", "kind", classifier=OneHopClassifier(width=8, max_epochs=2))
    assert model.fit(files / "people.csv", friends).classes_.tolist() == ["007", "008", "010"]
    assert model.evaluate(files / "people.csv", friends).nodes > 0


def test_predicting_without_the_edges_of_training_is_mentioned(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister(*fit_arguments(files)) == 0
    asked = ["--model", files / "model", "--nodes", files / "people.parquet"]
    assert settwister("predict", *asked, "--out", files / "alone.csv") == 0
    assert "every node is taken as isolated" in capsys.readouterr().err


def test_commands_for_later_are_quoted(tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my tables"
    folder.mkdir()
    assert settwister(*fit_arguments(written(tables, folder))) == 0
    assert f"--model '{folder / 'model'}'" in capsys.readouterr().out


def test_commands_for_later_run_as_they_are_printed(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    people, friends = tables
    files = written((people, pl.concat([friends, pl.DataFrame({"source": ["x1"], "target": ["p0001"]})])), tmp_path)
    monkeypatch.chdir(tmp_path)
    asked = fit_arguments(files, "--drop-unknown", "--force")
    for arguments in (asked, ["compare", *asked[1:], "--models", "mlp"]):
        assert settwister(*arguments) == 0
        capsys.readouterr()
        page = html.unescape((files / "model" / "report.html").read_text())
        for command in ("predict", "explain"):
            line = re.search(f"<code>settwister ({command} .*?)</code>", page)
            assert line is not None
            assert settwister(*shlex.split(line[1].replace("--node ID", "--node p0001"))) == 0
        (tmp_path / "predictions.parquet").unlink()
    assert settwister(*asked) == 0
    said = capsys.readouterr().out
    assert all(f"{name}: settwister {name.lower()} --model" in said for name in ("Predict", "Explain"))
    assert said.count("--drop-unknown") == 2
