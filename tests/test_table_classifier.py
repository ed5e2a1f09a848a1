"""Tables in, a judged and saved classifier out: from Python and from the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_folder import unsealed
from settwister import InputError
from settwister.cli import main
from settwister.demo.social import social_tables
from settwister.estimator import OneHopClassifier, TableClassifier
from settwister.estimator.comparison import CONTENDERS, compare
from settwister.evaluation import Evaluation

PEOPLE = 300
SMALL = OneHopClassifier(width=8, max_epochs=15)
Tables = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def tables() -> Tables:
    return social_tables(PEOPLE)


@pytest.fixture(scope="module")
def fitted(tables: Tables) -> TableClassifier:
    return TableClassifier("person", "kind", classifier=SMALL).fit(*tables)


@pytest.fixture
def files(tables: Tables, tmp_path: Path) -> Path:
    for name, table in zip(("people", "friends"), tables, strict=True):
        table.write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def settwister(*arguments: Any) -> int:
    """The exit code of a command, in this process."""
    before, sys.argv = sys.argv, ["settwister", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


def fit_arguments(files: Path, *more: Any) -> list[Any]:
    tables = ["--nodes", files / "people.parquet", "--edges", files / "friends.parquet"]
    return ["fit", *tables, "--id", "person", "--target", "kind", "--out", files / "model", "--epochs", 3, *more]


# ---- from Python ----------------------------------------------------------------------------------------------------


def test_every_node_gets_a_class_and_probabilities(fitted: TableClassifier, tables: Tables) -> None:
    found = fitted.predict(*tables)
    assert found.columns == ["person", "prediction", *(f"probability_{name}" for name in ("local", "mixed", "worldly"))]
    assert found["person"].to_list() == tables[0]["person"].to_list()
    shares = found.select(pl.col("^probability_.*$")).to_numpy()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)
    assert found["prediction"].to_list() == [("local", "mixed", "worldly")[i] for i in shares.argmax(1)]


def test_the_three_parts_are_disjoint_and_hold_every_class(tables: Tables) -> None:
    graph, split = TableClassifier("person", "kind").read(*tables)
    parts = [set(part.tolist()) for part in (split.train, split.validation, split.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == int((graph.codes >= 0).sum())
    for part in parts:
        assert set(graph.codes[list(part)]) == {0, 1, 2}
    assert [round(len(part) / sum(map(len, parts)), 1) for part in parts] == [0.6, 0.2, 0.2]


def test_labels_of_test_nodes_are_used_for_nothing_but_the_score(tables: Tables) -> None:
    """Trained twice, the second time with garbage in their place."""
    model = TableClassifier("person", "kind", classifier=SMALL)
    graph, split = model.read(*tables)
    garbage = graph.codes.copy()
    garbage[split.test] = (garbage[split.test] + 1) % 3
    first = model.trained(graph, split).predict_proba(graph.x, graph.sets)
    second = model.trained(replace(graph, codes=garbage), split).predict_proba(graph.x, graph.sets)
    assert np.array_equal(first, second)


def test_columns_are_encoded_by_training_rows_only(tables: Tables) -> None:
    nodes, edges = tables
    model = TableClassifier("person", "kind")
    _, split = model.read(nodes, edges)
    odd = nodes["city"].to_list()
    odd[int(split.test[0])] = "Atlantis"
    changed = nodes.with_columns(pl.Series("city", odd))
    model.read(changed, edges)
    assert not any("Atlantis" in name for name in model.encoder_.names)
    assert any("Berlin" in name for name in model.encoder_.names)


def test_what_is_saved_is_what_was_judged(fitted: TableClassifier, tables: Tables, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    opened = TableClassifier.load(tmp_path / "model")
    assert opened.predict(*tables).equals(fitted.predict(*tables))
    assert opened.evaluation_ == fitted.evaluation_
    assert opened.data_ == fitted.data_
    assert opened.explain("p0003", *tables) == fitted.explain("p0003", *tables)
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "encoder.skops", "estimator.json", "network", "report.html"
    ]  # fmt: skip
    page = (tmp_path / "model" / "report.html").read_text()
    assert f"{fitted.evaluation_.accuracy:.1%}" in page
    with pytest.raises(InputError, match="exists already"):
        fitted.save(tmp_path / "model")


def test_the_same_seed_gives_the_same_outcome(fitted: TableClassifier, tables: Tables) -> None:
    again = TableClassifier("person", "kind", classifier=SMALL).fit(*tables)
    assert again.evaluation_ == fitted.evaluation_
    other = TableClassifier("person", "kind", classifier=SMALL, random_state=1).fit(*tables)
    assert other.evaluation_ != fitted.evaluation_


def test_other_people_can_be_predicted(fitted: TableClassifier) -> None:
    """Another network with the same columns; the kind need not be there."""
    nodes, edges = social_tables(220, seed=5)
    found = fitted.predict(nodes.drop("kind"), edges)
    assert found.height == 220
    judged = fitted.evaluate(nodes, edges)
    assert judged.nodes == nodes["kind"].drop_nulls().len()
    assert isinstance(judged, Evaluation)


def test_tables_may_be_files_or_frames_of_pandas(fitted: TableClassifier, tables: Tables, files: Path) -> None:
    wanted = fitted.predict(*tables)
    assert fitted.predict(files / "people.parquet", files / "friends.parquet").equals(wanted)
    pandas = [table.to_pandas() for table in tables]
    assert fitted.predict(*pandas)["prediction"].to_list() == wanted["prediction"].to_list()
    tables[0].write_csv(files / "people.csv")
    tables[1].write_csv(files / "friends.csv")
    again = fitted.predict(files / "people.csv", files / "friends.csv")
    assert again["prediction"].to_list() == wanted["prediction"].to_list()


def test_a_weight_matters_and_a_missing_edge_table_is_no_edges(tables: Tables) -> None:
    nodes, edges = tables
    weighted = edges.with_columns(weight=pl.Series(np.linspace(0.1, 3, edges.height)))
    plain, heavy, alone = (
        TableClassifier("person", "kind", classifier=SMALL, weight=weight).read(nodes, given)[0]
        for weight, given in ((None, edges), ("weight", weighted), (None, None))
    )
    assert plain.sets.weight is None
    assert heavy.sets.weight is not None
    assert alone.degrees.sum() == 0
    assert TableClassifier("person", "kind", classifier=SMALL).fit(nodes).evaluation_.nodes > 0


def test_an_explanation_is_what_leaving_out_an_edge_changes(fitted: TableClassifier, tables: Tables) -> None:
    nodes, edges = tables
    found = fitted.explain("p0007", nodes, edges)
    row = nodes["person"].to_list().index("p0007")
    before = fitted.predict(nodes, edges)
    assert before["prediction"][row] == found.prediction
    column = f"probability_{found.prediction}"
    assert found.probability == pytest.approx(before[column][row], abs=1e-5)
    for neighbour in found.neighbours[:3]:
        ends = {"p0007", neighbour["node"]}
        kept = edges.filter(~(pl.col("source").is_in(ends) & pl.col("target").is_in(ends)))
        after = fitted.predict(nodes, kept)[column][row]
        assert neighbour["change"] == pytest.approx(before[column][row] - after, abs=1e-5)
    changes = [abs(one["change"]) for one in found.neighbours]
    assert changes == sorted(changes, reverse=True)
    assert {one["column"] for one in found.columns} == {"age", "city", "joined", "premium", "about"}


def test_the_explanation_of_a_node_without_neighbours(fitted: TableClassifier, tables: Tables) -> None:
    found = fitted.explain("p0007", tables[0], tables[1].head(0))
    assert found.neighbours == []
    assert all(one["neighbours"] == 0 for one in found.columns)
    with pytest.raises(InputError, match="there is no node 'p9999' in the column 'person'"):
        fitted.explain("p9999", *tables)


def test_contenders_are_judged_alike(tables: Tables) -> None:
    """On the same nodes; the best on validation nodes first; probabilities add up."""
    model = TableClassifier("person", "kind", classifier=SMALL)
    graph, split = model.read(*tables)
    told: list[str] = []
    found = compare(model, graph, split, tell=lambda name, done, total: told.append(name))
    assert set(told) == {one.name for one in found} == set(CONTENDERS)
    assert all(one.evaluation.nodes == len(split.test) for one in found)
    scores = [one.validation for one in found]
    assert scores == sorted(scores, reverse=True)
    garbage = graph.codes.copy()
    garbage[split.test] = (garbage[split.test] + 1) % 3
    again = compare(model, replace(graph, codes=garbage), split)
    assert {one.name: one.validation for one in again} == {one.name: one.validation for one in found}


# ---- from the command line ------------------------------------------------------------------------------------------


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
    assert "label propagation" in (files / "best" / "report.html").read_text()
    assert settwister(*asked, "--models", "gcn", "--out", files / "none") == 2
    assert "none of gcn can be saved" in capsys.readouterr().err
    assert not (files / "none").exists()


def without(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.drop(column)


def replaced(column: str, values: Callable[[pl.Series], Any]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(pl.Series(column, values(table[column])))


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


def test_a_folder_that_exists_is_replaced_only_with_force(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister(*fit_arguments(files)) == 0
    before = (files / "model" / "estimator.json").read_bytes()
    assert settwister(*fit_arguments(files, "--seed", 1)) == 2
    assert "exists already" in capsys.readouterr().err
    assert (files / "model" / "estimator.json").read_bytes() == before
    assert settwister(*fit_arguments(files, "--seed", 1, "--force")) == 0
    assert (files / "model" / "estimator.json").read_bytes() != before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (without("age"), "age"),
        (replaced("age", lambda ages: ["old"] * len(ages)), "age"),
    ],
)
def test_columns_that_differ_from_training(
    fitted: TableClassifier, tables: Tables, change: Callable[[pl.DataFrame], pl.DataFrame], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        fitted.predict(change(tables[0]), tables[1])


def test_classes_that_were_not_trained_on(fitted: TableClassifier, tables: Tables) -> None:
    nodes = tables[0].with_columns(kind=pl.lit("martian"))
    with pytest.raises(InputError, match="holds martian, expected classes that were trained on: local, mixed, worldly"):
        fitted.evaluate(nodes, tables[1])


@pytest.mark.parametrize(
    "name", ["encoder.skops", "estimator.json", "network/model.safetensors", "network/config.json"]
)
def test_a_tampered_folder_is_refused(fitted: TableClassifier, tmp_path: Path, name: str) -> None:
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / name
    whole = path.read_bytes()
    for broken in (b"", whole[: len(whole) // 2], b"\x80\x04" + whole, whole.replace(b'"', b"'", 40)):
        if broken != whole:
            path.write_bytes(broken)
            with pytest.raises(InputError):
                TableClassifier.load(tmp_path / "model")
    path.unlink()
    with pytest.raises(InputError, match=path.name):
        TableClassifier.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["encoder.skops", "estimator.json", "network/config.json"])
@given(places=st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_folder_with_other_bytes_opens_or_is_refused(
    fitted: TableClassifier, tables: Tables, tmp_path: Path, name: str, places: list[tuple[int, int]]
) -> None:
    """Never anything but an InputError; and what opens predicts."""
    fitted.save(tmp_path / "model", force=True)
    path = unsealed(tmp_path / "model") / name
    changed = bytearray(path.read_bytes())
    for place, value in places:
        changed[place % len(changed)] = value
    path.write_bytes(changed)
    with suppress(InputError):
        TableClassifier.load(tmp_path / "model").predict(*tables)


TABLE_FIELDS = ("id", "target", "columns", "source", "end", "weight", "seconds", "baseline", "data", "evaluation")


@pytest.mark.parametrize("field", TABLE_FIELDS)
def test_a_folder_whose_description_was_changed_is_refused(fitted: TableClassifier, tmp_path: Path, field: str) -> None:
    fitted.save(tmp_path / "model")
    path = unsealed(tmp_path / "model") / "estimator.json"
    content = json.loads(path.read_text())
    for wrong in ([1], [10**400], {"a": 1}, 7 if field != "seconds" else "soon", 10**400):
        path.write_text(json.dumps(content | {"table": content["table"] | {field: wrong}}))
        with pytest.raises(InputError):
            TableClassifier.load(tmp_path / "model")
    path.write_text(json.dumps({key: value for key, value in content.items() if key != "table"}))
    with pytest.raises(InputError, match="says nothing of tables"):
        TableClassifier.load(tmp_path / "model")


def test_an_encoder_that_is_too_large_is_not_read(
    fitted: TableClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted.save(tmp_path / "model")
    monkeypatch.setattr("settwister.estimator.table_folder.LARGEST", 10)
    with pytest.raises(InputError, match=r"encoder\.skops has \d+ bytes, expected at most 10"):
        TableClassifier.load(tmp_path / "model")


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


def test_the_demonstration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settwister("demo", "--people", 200, "--out", tmp_path, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert Path(said["page"]).is_file()
    assert [set(step) >= {"step"} for step in said["steps"]] == [True] * 3
    assert {row["name"] for row in said["steps"][0]["rows"]} == set(CONTENDERS)


def test_torch_is_left_as_it_was(tables: Tables) -> None:
    before = torch.random.get_rng_state()
    TableClassifier("person", "kind", classifier=SMALL).fit(*tables)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_folder_of_the_first_format_opens_for_ever() -> None:
    """Written once and never again: if this fails, people's models no longer open."""
    data = Path(__file__).parent / "data"
    model = TableClassifier.load(data / "table-v1")
    found = model.predict(data / "table-v1-people.csv", data / "table-v1-friends.csv")
    wanted = pl.read_csv(data / "table-v1-predictions.csv")
    assert found["prediction"].to_list() == wanted["prediction"].to_list()
    for name in wanted.columns[2:]:
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-4)
