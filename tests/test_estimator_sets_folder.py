"""Folders of set estimators: what is saved comes back to the bit, and no folder does more than raise one sentence."""

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

from example_folder import DAMAGE, Where, changed, copied, damaged, fields_looked_at, put, unsealed
from example_graph import refusal
from settwister.errors import InputError
from settwister.estimator import OneHopClassifier, SetClassifier, SetRegressor

Estimator = SetClassifier | SetRegressor
SMALL: dict[str, Any] = dict(width=4, max_epochs=3, random_state=0)
FILES = ("estimator.json", "scaling.safetensors", "network/config.json", "network/model.safetensors")


def some_sets(count: int = 40, seed: int = 0) -> list[NDArray[np.float64]]:
    made = np.random.default_rng(seed)
    return [made.normal(3.0, 2.0, size=(place % 5, 2)) for place in range(count)]


def numbers(sets: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.array([7.0 + one.sum() for one in sets])


TARGETS: dict[str, Any] = {
    "number": numbers,
    "one column": lambda sets: numbers(sets)[:, None],
    "two": lambda sets: np.stack([numbers(sets), np.full(len(sets), 3.25)], axis=1),
}
CLASSES: dict[str, Any] = {
    "int": lambda sets: [len(one) % 3 - 1 for one in sets],
    "bool": lambda sets: [len(one) > 1 for one in sets],
    "str": lambda sets: [["", "é\n\u2028", "c" * 100][len(one) % 3] for one in sets],
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[type[Any], Path]:
    """A folder of either that uses every field; do not change them, take copies."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    folder = tmp_path_factory.mktemp("saved")
    SetClassifier(**SMALL).fit(X, np.arange(30) % 3).save(folder / "classifier")
    SetRegressor(**SMALL).fit(X, X[["a", "b"]].to_numpy()).save(folder / "regressor")
    unsealed(folder)
    return {SetClassifier: folder / "classifier", SetRegressor: folder / "regressor"}


@pytest.fixture(params=[SetClassifier, SetRegressor])
def kind(request: pytest.FixtureRequest) -> type[Any]:
    found: type[Any] = request.param
    return found


@pytest.fixture
def folder(saved: dict[type[Any], Path], kind: type[Any], tmp_path: Path) -> Path:
    return copied(saved[kind], tmp_path / "model")


def same_after_saving(before: Any, y: Any, folder: Path) -> None:
    sets = some_sets()
    before.fit(sets, y).save(folder)
    after = type(before).load(folder)
    new = some_sets(seed=1)
    np.testing.assert_array_equal(after.predict(new), before.predict(new))
    assert after.predict(new).dtype.kind == before.predict(new).dtype.kind
    for name in ("curves_", "n_iter_", "best_epoch_", "n_features_in_"):
        assert getattr(after, name) == getattr(before, name)
    assert after.get_params() == before.get_params()
    after.fit(sets, y)
    np.testing.assert_array_equal(after.predict(new), before.predict(new))


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("model", ["set_twister", "deepsets", "set_transformer"])
def test_a_saved_regressor_predicts_the_same_bits(tmp_path: Path, targets: str, model: str) -> None:
    before = SetRegressor(model, loss="absolute", **SMALL)
    same_after_saving(before, TARGETS[targets](some_sets()), tmp_path / "model")
    if targets == "two":
        assert (SetRegressor.load(tmp_path / "model").predict(some_sets(seed=1))[:, 1] == 3.25).all()


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("model", ["set_twister", "deepsets", "set_transformer"])
def test_a_saved_classifier_predicts_the_same_bits(tmp_path: Path, classes: str, model: str) -> None:
    before = SetClassifier(model, **SMALL | {"width": np.int64(8)})
    same_after_saving(before, CLASSES[classes](some_sets()), tmp_path / "model")
    after, new = SetClassifier.load(tmp_path / "model"), some_sets(seed=1)
    np.testing.assert_array_equal(after.predict_proba(new), before.predict_proba(new))
    assert after.classes_.tolist() == before.classes_.tolist()


def test_a_saved_estimator_knows_its_columns(kind: type[Any], folder: Path) -> None:
    model = kind.load(folder)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert sorted(path.name for path in folder.iterdir()) == ["estimator.json", "network", "scaling.safetensors"]
    message = refusal(lambda: model.predict(pd.DataFrame(np.zeros((1, 3)), columns=["a", "b", "x"])))
    assert "The feature names should match those that were passed during fit" in message


def test_without_held_back_sets_there_is_no_validation_loss_to_keep(tmp_path: Path) -> None:
    model = SetRegressor(**SMALL, validation_fraction=0.0).fit(some_sets(), numbers(some_sets()))
    model.save(tmp_path / "model")
    assert SetRegressor.load(tmp_path / "model").curves_ == model.curves_
    assert model.curves_["validation_loss"] == []
    generator = SetRegressor(**SMALL | {"random_state": np.random.RandomState(0)})
    generator.fit(some_sets(), numbers(some_sets())).save(tmp_path / "model", force=True)
    assert SetRegressor.load(tmp_path / "model").random_state is None


def test_a_folder_is_new_ours_and_of_something_fitted(kind: type[Any], folder: Path, tmp_path: Path) -> None:
    model = kind.load(folder)
    with pytest.raises(NotFittedError):
        kind().save(tmp_path / "other")
    assert "exists already, expected a new folder: force=True" in refusal(lambda: model.save(folder))
    model.save(folder, force=True)
    kind.load(folder)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("precious")
    assert "it is not ours to replace" in refusal(lambda: model.save(tmp_path / "letters", force=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letters", "model"], "nothing temporary stays behind"


def test_a_failure_while_saving_leaves_the_old_folder(
    kind: type[Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: (folder / name).read_bytes() for name in FILES}
    model = kind.load(folder)
    monkeypatch.setattr("settwister.estimator.sets_folder.save_file", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.save(folder, force=True)
    assert {name: (folder / name).read_bytes() for name in FILES} == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_one_estimators_folder_is_not_anothers(saved: dict[type[Any], Path]) -> None:
    for kind, wrong in ((SetClassifier, SetRegressor), (SetRegressor, SetClassifier), (OneHopClassifier, SetRegressor)):
        message = refusal(lambda kind=kind, wrong=wrong: kind.load(saved[wrong]))  # type: ignore[misc]
        assert f"holds a '{wrong.__name__}', expected a {kind.__name__}" in message


def test_every_field_of_the_json_is_looked_at(saved: dict[type[Any], Path], kind: type[Any], folder: Path) -> None:
    assert fields_looked_at(kind.load, saved[kind], folder) > 120


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("format",), 2, "has format 2, expected 1: this is settwister"),
        (("parameters", "colour"), "red", "has other parameters than SetRegressor ('colour')"),
        (("parameters", "loss"), "cubed", "loss is 'cubed', expected one of 'squared', 'absolute'"),
        (("parameters", "width"), 10**30, "width is 1000000000000000000000000000000, expected at most 2147483647"),
        (("parameters", "model"), "deepsets", "config.json names the model 'SetTwister', expected one of DeepSets"),
        (("parameters", "random_state"), -1, "has random_state=-1"),
        (("feature_names",), ["a", "b", "b"], "has 3 feature names, expected 3, all different"),
        (("fitted", "n_features_in_"), 10**15, "has 3 feature names, expected 1000000000000000"),
        (("fitted", "n_iter_"), 2, "has n_iter_=2, expected 3, as there are losses"),
        (("fitted", "best_epoch_"), 4, "has best_epoch_=4, expected at most 3"),
        (("fitted", "curves_"), {"train_loss": [0.5] * 3, "validation_loss": [0.5]}, "expected a value per epoch, or"),
        (("fitted", "mean_"), 1, "does not say what was found in training"),
        (("target_shape",), [10**15], "does not hold 3 means and positive deviations"),
        (("target_shape",), [], "does not hold 3 means"),
        (("target_shape",), [2, 1], "has target_shape=[2, 1], expected [], or [outputs]"),
        (("target_shape",), [True], "has target_shape=[True]"),
    ],
)
def test_a_json_that_cannot_be_is_refused(
    saved: dict[type[Any], Path], tmp_path: Path, where: Where, value: Any, message: str
) -> None:
    folder = copied(saved[SetRegressor], tmp_path / "model")
    put(folder, where, lambda inside, key: inside.__setitem__(key, value))
    found = refusal(lambda: SetRegressor.load(folder))
    assert message in found
    assert str(folder) in found


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_is_named(kind: type[Any], folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert refusal(lambda: kind.load(folder)).startswith(f"{folder / name} is missing")


@pytest.mark.parametrize(
    "change",
    [
        {"mean": np.zeros(4)},
        {"scale": np.zeros(3)},
        {"scale": np.full(3, np.nan)},
        {"mean": np.zeros(3, dtype=np.float32)},
        {"more": np.zeros(3)},
        {"target_mean": np.zeros(3)},
        {"target_scale": np.full(2, -1.0)},
    ],
)
def test_another_scaling_is_refused(kind: type[Any], folder: Path, change: dict[str, NDArray[Any]]) -> None:
    path = folder / "scaling.safetensors"
    save_file(load_file(path) | change, path)
    assert str(path) in refusal(lambda: kind.load(folder))


def test_weights_of_another_precision_or_not_finite_are_refused(kind: type[Any], folder: Path) -> None:
    path = folder / "network" / "model.safetensors"
    weights = load_file(path)
    other, word = (np.float64, "single") if kind is SetClassifier else (np.float32, "double")
    for wrong in (
        {name: value.astype(other) for name, value in weights.items()},
        {name: np.full_like(value, np.nan) for name, value in weights.items()},
    ):
        save_file(wrong, path)
        assert f"holds other weights than finite ones of {word} precision" in refusal(lambda: kind.load(folder))


def test_a_network_of_other_sizes_is_refused(folder: Path, kind: type[Any], tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20.0) % 4
    kind(**SMALL).fit(X, y).save(tmp_path / "other")
    for name in FILES[2:]:
        (folder / name).write_bytes((tmp_path / "other" / name).read_bytes())
    outputs = {SetClassifier: (4, 3), SetRegressor: (1, 2)}[kind]
    assert f"is from 4 features to {outputs[0]} outputs, expected 3 and {outputs[1]} by" in refusal(
        lambda: kind.load(folder)
    )


@pytest.mark.parametrize(
    "change",
    [dict(M=2, k=24), dict(M=2, k=24, lower_orders="sum"), dict(M=5000, k=2), dict(M=3000, k=2, form="multiset")],
)
def test_a_network_of_more_products_than_bytes_is_not_laid_out(
    kind: type[Any], folder: Path, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads((folder / "network" / "config.json").read_text())
    content["config"] |= change
    (folder / "network" / "config.json").write_text(json.dumps(content))
    monkeypatch.setattr("settwister.nn.twist.Twist._make_tables", lambda *_: pytest.fail("laid out"))
    message = refusal(lambda: kind.load(folder))
    assert f"config.json has M={change['M']} and k={change['k']}, so " in message
    assert "network/model.safetensors: save or copy it again" in message


def opens_or_refuses(kind: type[Any], folder: Path) -> None:
    """Whatever the folder holds: an estimator that answers, or one sentence that names what is wrong with it."""
    sets = [np.zeros((2, 3)), np.ones((0, 3)), np.random.default_rng(0).normal(size=(3, 3))]
    try:
        model = kind.load(folder)
    except InputError as error:
        message = str(error)
    else:
        with contextlib.suppress(InputError):  # of weights so large that no answer is finite
            assert len(model.predict(sets)) == 3
        return
    assert str(folder) in message


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=some.data())
def test_any_change_of_the_json_is_refused_or_harmless(
    saved: dict[type[Any], Path], kind: type[Any], folder: Path, data: some.DataObject
) -> None:
    name = data.draw(some.sampled_from(["estimator.json", "network/config.json"]))
    copied(saved[kind], folder)
    (folder / name).write_text(json.dumps(changed(data, json.loads((saved[kind] / name).read_text()))))
    opens_or_refuses(kind, folder)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(name=some.sampled_from(FILES), damage=DAMAGE)
def test_cut_or_flipped_bytes_are_refused_or_harmless(
    saved: dict[type[Any], Path], kind: type[Any], folder: Path, name: str, damage: Any
) -> None:
    copied(saved[kind], folder)
    (folder / name).write_bytes(damaged((saved[kind] / name).read_bytes(), damage))
    opens_or_refuses(kind, folder)
    if isinstance(damage, float):
        assert name in refusal(lambda: kind.load(folder))


DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize(("kind", "name"), [(SetClassifier, "set-classifier-v1"), (SetRegressor, "set-regressor-v1")])
def test_a_folder_of_the_first_format_opens_for_ever(kind: type[Any], name: str) -> None:
    """It was written by the version that its JSON names; beside it lies what that version predicted."""
    recorded = json.loads((DATA / f"{name}.json").read_text())
    model = kind.load(DATA / name)
    sets = [np.array(one).reshape(-1, 2) for one in recorded["sets"]]
    if kind is SetClassifier:
        np.testing.assert_allclose(model.predict_proba(sets), recorded["probabilities"], rtol=1e-5, atol=1e-6)
        assert model.predict(sets).tolist() == recorded["predictions"]
        assert model.classes_.tolist() == ["large", "small"]
    else:
        np.testing.assert_allclose(model.predict(sets), recorded["predictions"], rtol=1e-9)
        assert model.n_features_in_ == 2
