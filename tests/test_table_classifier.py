"""Tables in, a judged classifier out: from Python."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from sklearn.exceptions import NotFittedError

from example_people import PEOPLE, SMALL, Tables, replaced, without
from settwister import InputError
from settwister.demo.social import social_tables
from settwister.estimator import OneHopClassifier, TableClassifier
from settwister.estimator.comparison import CONTENDERS, compare
from settwister.evaluation import Evaluation


@pytest.fixture(scope="module")
def fitted(tables: Tables) -> TableClassifier:
    return TableClassifier("person", "kind", classifier=SMALL).fit(*tables)


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
    assert '<td class="words">joined</td><td class="words">date</td>' in page
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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda people: people.rename({"age": "Age"}),
            "has no column 'age', which the model was trained on, expected it beside 'person', .*: "
            "add it, or call 'Age' so if that is meant",
        ),
        (without("about"), "has no column 'about', which the model was trained on, expected it beside .*: add it$"),
        (without("person"), "has no column 'person', which the model was trained on"),
        (without("kind"), "has no column 'kind', which the model was trained on"),
    ],
)
def test_a_column_that_is_not_there_is_the_models_not_the_persons(
    fitted: TableClassifier, tables: Tables, change: Callable[[pl.DataFrame], pl.DataFrame], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        fitted.evaluate(change(tables[0]), tables[1])


def test_classes_that_were_not_trained_on(fitted: TableClassifier, tables: Tables) -> None:
    nodes = tables[0].with_columns(kind=pl.lit("martian"))
    with pytest.raises(InputError, match="holds martian, expected classes that were trained on: local, mixed, worldly"):
        fitted.evaluate(nodes, tables[1])


def test_torch_is_left_as_it_was(tables: Tables) -> None:
    before = torch.random.get_rng_state()
    TableClassifier("person", "kind", classifier=SMALL).fit(*tables)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_class_weights_are_of_the_classes_that_the_table_names(tables: Tables, tmp_path: Path) -> None:
    heavy = OneHopClassifier(width=8, max_epochs=15, class_weight={"worldly": 50.0})
    model = TableClassifier("person", "kind", classifier=heavy).fit(*tables)
    assert model.class_weight == {2: 50.0}
    assert model.predict(*tables)["prediction"].value_counts(sort=True)["prediction"][0] == "worldly"
    model.save(tmp_path / "model")
    again = TableClassifier.load(tmp_path / "model")
    assert again.class_weight == {0: 1.0, 1: 1.0, 2: 50.0}
    again.fit(*tables)
    odd = OneHopClassifier(class_weight={"nobody": 2.0})
    with pytest.raises(InputError, match="class_weight names 'nobody', expected classes of 'kind': local, mixed"):
        TableClassifier("person", "kind", classifier=odd).fit(*tables)


def test_a_comparison_gives_every_rival_the_same_epochs_and_weights(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    from settwister.estimator import comparison

    given = {}

    def noted(method: Any, graph: Any, split: Any, settings: Any, recipe: Any, seed: int) -> Any:
        given["recipe"], given["graph"] = recipe, graph
        return fit(method, graph, split, settings, recipe, seed)

    fit = comparison.fit
    monkeypatch.setattr(comparison, "fit", noted)
    small = OneHopClassifier(width=8, max_epochs=3, patience=2, directed=True, class_weight={"local": 2.0})
    model = TableClassifier("person", "kind", classifier=small)
    compare(model, *model.read(*tables), ["gcn", "gradient_boosting"])
    recipe = given["recipe"]
    assert (recipe.epochs, recipe.patience, recipe.class_weight) == (3, 2, (2.0, 1.0, 1.0))
    sets = given["graph"].neighbours
    pairs = set(zip(sets.rows.tolist(), sets.index.tolist(), strict=True))
    assert pairs == {(b, a) for a, b in pairs}, "GCN's normalisation is of symmetric matrices"


def test_edges_are_counted_once_each(tables: Tables) -> None:
    people, friends = tables
    others, loops = friends.select(source="target", target="source"), friends[:3].with_columns(target="source")
    model = TableClassifier("person", "kind", classifier=SMALL).fit(people, pl.concat([friends, others, loops]))
    assert model.data_.edges == len({frozenset(pair) for pair in friends.iter_rows() if pair[0] != pair[1]})


def test_dates_can_be_classes(tables: Tables) -> None:
    people, friends = tables
    days = {"local": datetime(2020, 1, 1, 10), "mixed": datetime(2021, 1, 1), "worldly": datetime(2022, 1, 1)}
    people = people.with_columns(kind=pl.Series([days.get(kind) for kind in people["kind"].to_list()]))
    model = TableClassifier("person", "kind", classifier=SMALL).fit(people, friends)
    assert model.evaluate(people, friends).nodes == len(people["kind"].drop_nulls())


@pytest.mark.parametrize("name", ["prediction", "probability_local"])
def test_an_id_that_predictions_would_hide_is_refused(tables: Tables, name: str) -> None:
    people, friends = tables
    with pytest.raises(InputError, match=f"the id column is '{name}', as a column of predictions is called"):
        TableClassifier(name, "kind").fit(people.rename({"person": name}), friends)


def test_one_that_was_not_fitted_says_so(tables: Tables, tmp_path: Path) -> None:
    model = TableClassifier("person", "kind")
    for call in (model.predict, model.evaluate):
        with pytest.raises(NotFittedError, match="fit it first"):
            call(*tables)
    with pytest.raises(NotFittedError, match="fit it first"):
        model.save(tmp_path / "model")


def test_the_random_state_is_kept(tables: Tables, tmp_path: Path) -> None:
    TableClassifier("person", "kind", classifier=SMALL, random_state=7).fit(*tables).save(tmp_path / "model")
    assert TableClassifier.load(tmp_path / "model").random_state == 7


def test_tuning_tries_one_network_at_a_time_and_goes_on(tables: Tables, tmp_path: Path) -> None:
    small = OneHopClassifier(width=8, max_epochs=3, members=3)
    model = TableClassifier("person", "kind", classifier=small)
    graph, split = model.read(*tables)
    sizes = []
    trained = model.trained
    model.trained = lambda *given, **more: sizes.append(more["members"]) or trained(*given, **more)  # type: ignore
    for trials, members in ((1, [1]), (2, [1, 1])):
        model.classifier = small
        model.tune(graph, split, trials=trials, storage=tmp_path / "trials.json")
        assert sizes == members, "the first trial is in the file"
    assert model.classifier.members == 3


def test_an_edge_of_weight_zero_is_none(tables: Tables) -> None:
    people, friends = tables
    none = friends.with_columns(much=pl.lit(0.0))
    model = TableClassifier("person", "kind", weight="much", classifier=SMALL).fit(people, none)
    assert model.data_.edges == 0
    assert model.data_.isolated == PEOPLE


@pytest.mark.parametrize(
    ("more", "message"), [(dict(id=None), "id and target are None"), (dict(random_state=-1), "-1")]
)
def test_settings_that_cannot_be_are_refused(tables: Tables, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TableClassifier(**dict(id="person", target="kind") | more).fit(*tables)
