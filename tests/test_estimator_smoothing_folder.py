"""Folders of correct and smooth: the labels that are spread are part of them, and no folder does harm."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from sklearn.exceptions import NotFittedError

from example_folder import DAMAGE, Where, changed, content_of, copied, damaged, fields_looked_at, put, unsealed
from example_graph import Example, example, named, refusal, tiny
from settwister.errors import InputError
from settwister.estimator import CorrectAndSmooth, OneHopClassifier
from settwister.training.correct_and_smooth import Step, Steps

FILES = ("estimator.json", "known.safetensors", "classifier/estimator.json", "classifier/scaling.safetensors")


@pytest.fixture(scope="module")
def graph() -> Example:
    """Neighbours tell more than a node's own features."""
    return example(noise=2.0)


@pytest.fixture(scope="module")
def fitted(graph: Example) -> CorrectAndSmooth:
    """Do not change it."""
    X = pd.DataFrame(graph.X, columns=["a", "b", "c"])
    model = CorrectAndSmooth(tiny(random_state=None), random_state=0).fit(X, named(graph.some, None), graph.edges)
    assert model.steps_.correct is not None or model.steps_.smooth is not None
    return model


@pytest.fixture(scope="module")
def saved(fitted: CorrectAndSmooth, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Do not change it, take a copy."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    fitted.save(folder)
    return unsealed(folder)


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return copied(saved, tmp_path / "model")


def test_what_was_saved_predicts_the_same_bits(graph: Example, fitted: CorrectAndSmooth, folder: Path) -> None:
    X = pd.DataFrame(graph.X, columns=["a", "b", "c"])
    found = CorrectAndSmooth.load(folder)
    expected = fitted.predict_proba(X, graph.edges)
    np.testing.assert_array_equal(found.predict_proba(X, graph.edges), expected)
    assert not np.array_equal(fitted.estimator_.predict_proba(X, graph.edges), expected)
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    for name in ("steps_", "validation_score_", "num_nodes_", "n_features_in_"):
        assert getattr(found, name) == getattr(fitted, name)
    assert "expected the 60 nodes it was fitted on" in refusal(lambda: found.predict(X[:-1], graph.edges))
    again = found.fit(X, named(graph.some, None), graph.edges)
    np.testing.assert_array_equal(again.predict_proba(X, graph.edges), expected)


def test_the_classifier_inside_opens_alone(graph: Example, fitted: CorrectAndSmooth, folder: Path) -> None:
    X = pd.DataFrame(graph.X, columns=["a", "b", "c"])
    inside = OneHopClassifier.load(folder / "classifier")
    np.testing.assert_array_equal(inside.predict_proba(X, graph.edges), fitted.estimator_.predict_proba(X, graph.edges))


def test_no_steps_are_steps_too(graph: Example, tmp_path: Path) -> None:
    model = CorrectAndSmooth(tiny(max_epochs=2), random_state=0).fit(graph.X, graph.some)
    model.save(tmp_path / "model")
    found = CorrectAndSmooth.load(tmp_path / "model")
    assert (found.steps_.correct, found.steps_.smooth) == (None, None)
    np.testing.assert_array_equal(found.predict_proba(graph.X), model.predict_proba(graph.X))


class Other(OneHopClassifier):
    """Somebody's own, of which we have no folder."""


def test_only_a_fitted_one_around_our_classifier_is_saved_and_only_to_a_new_folder(
    graph: Example, fitted: CorrectAndSmooth, tmp_path: Path
) -> None:
    with pytest.raises(NotFittedError):
        CorrectAndSmooth().save(tmp_path / "model")
    model = CorrectAndSmooth(Other(width=8, max_epochs=2), random_state=0).fit(graph.X, graph.some, graph.edges)
    message = refusal(lambda: model.save(tmp_path / "model"))
    assert message.startswith("the classifier inside is a Other, expected a OneHopClassifier: ")
    assert not list(tmp_path.iterdir())
    fitted.save(tmp_path / "model")
    assert "exists already, expected a new folder: force=True" in refusal(lambda: fitted.save(tmp_path / "model"))
    fitted.save(tmp_path / "model", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_every_field_of_the_json_is_looked_at(saved: Path, folder: Path) -> None:
    assert fields_looked_at(CorrectAndSmooth.load, saved, folder) > 40


STEP = {"adjacency": "DA", "alpha": 0.5}


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("estimator",), "OneHopClassifier", "holds a 'OneHopClassifier', expected a CorrectAndSmooth"),
        (("parameters", "validation_fraction"), 1, "validation_fraction is 1, expected a number from 0 up to"),
        (("parameters", "estimator"), None, "has other parameters than CorrectAndSmooth ('estimator')"),
        (("steps", "smooth"), STEP | {"alpha": 1.5}, "expected an adjacency of DAD, DA, AD and an alpha from 0 to 1"),
        (("steps", "smooth"), STEP | {"adjacency": "AAA"}, "has the step {'adjacency': 'AAA', 'alpha': 0.5}"),
        (("steps", "smooth"), STEP | {"adjacency": []}, "has the step"),
        (("steps", "smooth"), STEP | {"more": 1}, "has the step"),
        (("steps",), {"smooth": None}, "expected correct and smooth, each of them or null"),
        (("order",), "abc", "has order='abc', expected a checksum of the nodes' names"),
        (("order",), 3, "has order=3, expected a checksum"),
        (("fitted", "num_nodes_"), 0, "has num_nodes_=0, expected a whole number above 0"),
        (("fitted", "num_nodes_"), 2, "known.safetensors does not hold nodes below 2 and labels below 3"),
        (("fitted", "validation_score_"), 2.0, "has validation_score_=2.0, expected a share"),
    ],
)
def test_a_json_that_cannot_be_is_refused(folder: Path, where: Where, value: Any, message: str) -> None:
    put(folder, where, lambda inside, key: inside.__setitem__(key, value))
    found = refusal(lambda: CorrectAndSmooth.load(folder))
    assert message in found
    assert str(folder) in found


def test_a_folder_refuses_nodes_in_another_order(graph: Example, tmp_path: Path) -> None:
    """It has no names to bring them back into order by; rows without names are taken as they come."""
    X = pd.DataFrame(graph.X, index=[f"n{i}" for i in range(len(graph.X))])
    edges = pd.DataFrame(np.char.add("n", graph.edges.T.astype(str)))
    model = CorrectAndSmooth(tiny(), random_state=0).fit(X, graph.some, edges)
    model.steps_ = Steps(None, Step("DAD", 0.9))
    model.save(tmp_path / "model")
    opened = CorrectAndSmooth.load(tmp_path / "model")
    expected = model.predict_proba(X, edges)
    np.testing.assert_array_equal(opened.predict_proba(X, edges), expected)
    np.testing.assert_allclose(opened.predict_proba(graph.X, graph.edges), expected, rtol=1e-5)
    assert "or in another order" in refusal(lambda: opened.predict(X.iloc[::-1], edges))
    opened.save(tmp_path / "again")
    again = CorrectAndSmooth.load(tmp_path / "again")
    assert "or in another order" in refusal(lambda: again.predict(X.iloc[::-1], edges))


def test_a_number_of_nodes_that_is_too_large_costs_nothing(graph: Example, folder: Path) -> None:
    put(folder, ("fitted", "num_nodes_"), lambda inside, key: inside.__setitem__(key, 10**15))
    X = pd.DataFrame(graph.X, columns=["a", "b", "c"])
    message = refusal(lambda: CorrectAndSmooth.load(folder).predict(X, graph.edges))
    assert "expected the 1000000000000000 nodes it was fitted on" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": np.array([0, 1])}, "does not hold nodes below 60 and labels below 3, one for each"),
        ({"nodes": np.array([], dtype=np.int64), "labels": np.array([], dtype=np.int64)}, "does not hold nodes"),
        ({"nodes": np.array([60]), "labels": np.array([0])}, "does not hold nodes below 60"),
        ({"nodes": np.array([-1]), "labels": np.array([0])}, "does not hold nodes below 60"),
        ({"nodes": np.array([1]), "labels": np.array([3])}, "labels below 3"),
        ({"nodes": np.array([1.0]), "labels": np.array([0.0])}, "does not hold nodes below 60"),
        ({"nodes": np.array([[1]]), "labels": np.array([[0]])}, "does not hold nodes below 60"),
        ({"nodes": np.array([1, 1]), "labels": np.array([0, 1])}, "holds a node twice"),
        ({"more": np.array([1])}, "does not hold nodes below 60"),
    ],
)
def test_other_labels_than_could_be_known_are_refused(
    folder: Path, change: dict[str, NDArray[Any]], message: str
) -> None:
    path = folder / "known.safetensors"
    save_file(load_file(path) | change, path)
    found = refusal(lambda: CorrectAndSmooth.load(folder))
    assert found.startswith(str(path))
    assert message in found


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert refusal(lambda: CorrectAndSmooth.load(folder)).startswith(f"{folder / name} is missing")


def opens_or_refuses(graph: Example, folder: Path) -> None:
    try:
        model = CorrectAndSmooth.load(folder)
    except InputError as error:
        message = str(error)
    else:
        with contextlib.suppress(InputError):  # another number of nodes
            assert np.isfinite(model.predict_proba(graph.X, graph.edges)).all()
        return
    assert str(folder) in message


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=some.data())
def test_any_change_of_the_json_is_refused_or_harmless(
    graph: Example, saved: Path, folder: Path, data: some.DataObject
) -> None:
    copied(saved, folder)
    (folder / "estimator.json").write_text(json.dumps(changed(data, content_of(saved))))
    opens_or_refuses(graph, folder)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(name=some.sampled_from(FILES), damage=DAMAGE)
def test_cut_or_flipped_bytes_are_refused_or_harmless(
    graph: Example, saved: Path, folder: Path, name: str, damage: Any
) -> None:
    copied(saved, folder)
    (folder / name).write_bytes(damaged((saved / name).read_bytes(), damage))
    opens_or_refuses(graph, folder)
    if isinstance(damage, float):
        assert name in refusal(lambda: CorrectAndSmooth.load(folder))


OLD = Path(__file__).parent / "data" / "smoothing-v1"


def test_a_folder_of_the_first_format_opens_for_ever() -> None:
    """It was written by the version that its JSON names; beside it lies what that version predicted."""
    recorded = json.loads(OLD.with_suffix(".json").read_text())
    found = CorrectAndSmooth.load(OLD).predict_proba(np.array(recorded["X"]), recorded["edges"])
    np.testing.assert_allclose(found, recorded["probabilities"], rtol=1e-5, atol=1e-6)
