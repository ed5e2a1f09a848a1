"""Folders of classifiers: what is saved comes back, and no folder, however bad, does more than raise one sentence."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
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
from example_graph import Example, example, named, refusal, tiny
from settwister.errors import InputError
from settwister.estimator import OneHopClassifier


@pytest.fixture(scope="module")
def graph() -> Example:
    return example()


@pytest.fixture(scope="module")
def fitted(graph: Example) -> OneHopClassifier:
    """Do not change it."""
    return tiny().fit(graph.X, graph.some, graph.edges)


@pytest.fixture(scope="module")
def saved(graph: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that uses every field; do not change it, take a copy."""
    X = pd.DataFrame(graph.X, columns=["a", "b", "c"])
    model = tiny(class_weight={"a": 2.0}, width=4).fit(X, named(graph.some, None), graph.edges)
    folder = tmp_path_factory.mktemp("saved") / "model"
    model.save(folder)
    return unsealed(folder)


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return copied(saved, tmp_path / "model")


LABELLINGS: dict[str, Callable[[NDArray[np.int64]], Any]] = {
    "int": lambda y: 10 * y,
    "uint8": lambda y: (y + 250).astype(np.uint8),
    "float": lambda y: y - 7.0,
    "bool": lambda y: y == 1,
    "str": lambda y: np.array(["", "é\n\u2028", "c" * 100])[y],
}


@pytest.mark.parametrize("classes", LABELLINGS)
@pytest.mark.parametrize("model", ["set_twister", "deepsets", "mlp"])
def test_what_was_saved_predicts_the_same_bits(graph: Example, tmp_path: Path, classes: str, model: str) -> None:
    y = LABELLINGS[classes](graph.y)
    weight = {y[0].item(): np.float32(3.0)}
    scale = model != "deepsets"
    before = tiny(model=model, max_epochs=3, scale=scale, class_weight=weight, layers=np.int64(2))
    before.fit(graph.X, y, graph.edges).save(tmp_path / "model")
    after = OneHopClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(after.predict_proba(graph.X, graph.edges), before.predict_proba(graph.X, graph.edges))
    np.testing.assert_array_equal(after.predict(graph.X, graph.edges), before.predict(graph.X, graph.edges))
    assert after.classes_.dtype.kind in (before.classes_.dtype.kind, "i")
    for name in ("validation_score_", "calibration_error_", "curves_", "n_iter_", "best_epoch_", "temperature_"):
        assert getattr(after, name) == getattr(before, name)
    after.fit(graph.X, y, graph.edges)
    np.testing.assert_array_equal(after.predict_proba(graph.X, graph.edges), before.predict_proba(graph.X, graph.edges))


def test_a_saved_classifier_knows_its_columns_and_its_edges(graph: Example, folder: Path) -> None:
    model = OneHopClassifier.load(folder)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.class_weight == {"a": 2.0, "b": 1.0, "c": 1.0}
    assert sorted(path.name for path in folder.iterdir()) == ["estimator.json", "network", "scaling.safetensors"]
    with pytest.warns(UserWarning, match="no edges were given"):
        model.predict(pd.DataFrame(graph.X, columns=["a", "b", "c"]))
    message = refusal(lambda: model.predict(pd.DataFrame(graph.X, columns=["a", "b", "x"]), []))
    assert "The feature names should match those that were passed during fit" in message
    generator = tiny(max_epochs=1, random_state=np.random.RandomState(0)).fit(graph.X, graph.some)
    generator.save(folder, force=True)
    assert OneHopClassifier.load(folder).random_state is None


def test_whoever_may_read_new_files_may_read_a_new_folder(fitted: OneHopClassifier, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    fitted.save(tmp_path / "model")
    for path in (tmp_path / "model", *(tmp_path / "model").rglob("*")):
        like = tmp_path / ("folder" if path.is_dir() else "file")
        assert path.stat().st_mode == like.stat().st_mode, path


def test_nothing_is_saved_before_it_is_fitted(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        tiny().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_replaced_only_when_told_and_only_if_it_is_ours(
    graph: Example, fitted: OneHopClassifier, folder: Path, tmp_path: Path
) -> None:
    before = (folder / "estimator.json").read_bytes()
    assert "exists already, expected a new folder: force=True" in refusal(lambda: fitted.save(folder))
    assert (folder / "estimator.json").read_bytes() == before
    fitted.save(folder, force=True)
    assert OneHopClassifier.load(folder).classes_.tolist() == [0, 1, 2]
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("precious")
    for force in (False, True):
        assert refusal(lambda force=force: fitted.save(tmp_path / "letters", force=force))
        assert refusal(lambda force=force: fitted.save(tmp_path / "letters" / "one.txt", force=force))
    assert (tmp_path / "letters" / "one.txt").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letters", "model"], "nothing temporary stays behind"


def test_a_kill_while_saving_leaves_a_whole_classifier(saved: Path, tmp_path: Path) -> None:
    """A process that saves one and another in turn is killed at a random moment; what is there opens."""
    code = (
        "import sys\n"
        "from settwister.estimator.one_hop import OneHopClassifier\n"
        "one, other = (OneHopClassifier.load(sys.argv[1]) for _ in range(2))\n"
        "other.temperature_ = 7.0\n"
        "one.save(sys.argv[2]); print('saved', flush=True)\n"
        "while True: other.save(sys.argv[2], force=True); one.save(sys.argv[2], force=True)\n"
    )
    target = tmp_path / "model"
    with subprocess.Popen([sys.executable, "-c", code, str(saved), str(target)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(30):
            OneHopClassifier.load(target) if sys.platform == "linux" else None
        process.send_signal(signal.SIGKILL)
    assert OneHopClassifier.load(target).temperature_ in (7.0, OneHopClassifier.load(saved).temperature_)


def test_every_field_of_the_json_is_looked_at(saved: Path, folder: Path) -> None:
    """Of another type, missing, or NaN: the file is named, whichever field it is."""
    assert fields_looked_at(OneHopClassifier.load, saved, folder) > 150


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("format",), 2, "has format 2, expected 1: this is settwister"),
        (("format",), True, "has format True, expected 1"),
        (("estimator",), "SetClassifier", "holds a 'SetClassifier', expected a OneHopClassifier"),
        (("parameters", "colour"), "red", "has other parameters than OneHopClassifier ('colour')"),
        (("parameters", "directed"), "no", "directed is 'no', expected one of True, False"),
        (("parameters", "width"), 10**30, "width is 1000000000000000000000000000000, expected at most 2147483647"),
        (
            ("parameters", "model"),
            "mlp",
            "config.json names the model 'OneHopSetTwister', expected one of Averaged, NodeMLP",
        ),
        (("parameters", "class_weight"), [1.0], "has class_weight=[1.0], expected a list of 3 numbers"),
        (("parameters", "class_weight"), [1.0, -1.0, 1.0], "class_weight['b'] is -1.0"),
        (("parameters", "class_weight"), {"a": 2.0}, "expected a list of 3 numbers"),
        (("parameters", "random_state"), -1, "has random_state=-1"),
        (("classes", "values"), ["a", "b"], "has class_weight=[2.0, 1.0, 1.0], expected a list of 2 numbers"),
        (("classes", "values"), ["a", "c", "b"], "lists classes out of order"),
        (("classes", "values"), ["a", "a", "b"], "lists classes that are out of range or listed twice"),
        (("classes",), {"type": "int", "values": [0, 1, 10**30]}, "out of range"),
        (("classes",), {"type": "int", "values": [-1, 0, 2**63]}, "out of range"),
        (("classes",), {"type": "int", "values": [0, True, 2]}, "not two or more of type int"),
        (("classes",), {"type": "object", "values": [0, 1, 2]}, "lists classes of type 'object', expected one of int"),
        (("classes", "type"), ["str"], "lists classes of type ['str']"),
        (("feature_names",), ["a", "b"], "has 2 feature names, expected 3, all different"),
        (("feature_names",), ["a", "b", "b"], "has 3 feature names, expected 3, all different"),
        (("scaled",), 1, "has scaled=1, expected true or false"),
        (("fitted", "temperature_"), 0.0, "has temperature_=0.0, expected a positive number"),
        (("fitted", "temperature_"), -1.0, "has temperature_=-1.0"),
        (("fitted", "temperature_"), 1, "has temperature_=1, expected a positive number"),
        (("fitted", "temperature_"), 10**400, "has temperature_=1000"),
        (("fitted", "n_features_in_"), 4, "has 3 feature names, expected 4"),
        (("fitted", "n_features_in_"), 0, "has n_features_in_=0, expected a whole number above 0"),
        (("fitted", "n_iter_"), 19, "has n_iter_=19, expected 20"),
        (("fitted", "best_epoch_"), 21, "has best_epoch_=21, expected at most 20"),
        (("fitted", "validation_score_"), 1.5, "has validation_score_=1.5, expected a share or null"),
        (("fitted", "calibration_error_"), {"before": 0.1}, "expected two numbers, before and after, or none"),
        (("fitted", "curves_"), {}, "has curves_={}, expected lists of numbers"),
        (("fitted", "mean_"), 1, "does not say what was found in training"),
    ],
)
def test_a_json_that_cannot_be_is_refused(folder: Path, where: Where, value: Any, message: str) -> None:
    put(folder, where, lambda inside, key: inside.__setitem__(key, value))
    found = refusal(lambda: OneHopClassifier.load(folder))
    assert message in found
    assert str(folder) in found


def test_further_entries_beside_a_classifiers_are_left_to_whoever_wrote_them(folder: Path) -> None:
    before = OneHopClassifier.load(folder)
    put(folder, ("table",), lambda inside, key: inside.__setitem__(key, {"id": "name"}))
    after = OneHopClassifier.load(folder)
    assert after.get_params() == before.get_params()
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(5, before.n_features_in_)), columns=before.feature_names_in_)
    np.testing.assert_array_equal(after.predict_proba(X, []), before.predict_proba(X, []))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not valid JSON"),
        (b"\xff\xfe", "is not valid JSON"),
        (b"[" * 10**5, "is not valid JSON"),
        (b'{"format": NaN}', "it holds NaN, which is no number"),
        (b"9" * 10**4, "is not valid JSON"),
        (b"[]", "holds a list, expected an object"),
        (b"{}", "has format None, expected 1"),
        (b" " * (2**26 + 1), "expected at most 67108864"),
    ],
)
def test_a_broken_json_is_refused(folder: Path, content: bytes, message: str) -> None:
    (folder / "estimator.json").write_bytes(content)
    found = refusal(lambda: OneHopClassifier.load(folder))
    assert message in found
    assert "estimator.json" in found


FILES = ("estimator.json", "scaling.safetensors", "network/config.json", "network/model.safetensors")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_or_a_folder_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert refusal(lambda: OneHopClassifier.load(folder)).startswith(f"{folder / name} is missing")
    (folder / name).mkdir()
    assert refusal(lambda: OneHopClassifier.load(folder)).startswith(f"{folder / name} is missing")
    assert "is missing, expected a folder that save wrote" in refusal(lambda: OneHopClassifier.load(folder / "nowhere"))


def test_another_network_is_refused(graph: Example, folder: Path, tmp_path: Path) -> None:
    """With other classes, other features, or of a kind that looks further than one hop."""
    for X, y in ((graph.X, graph.some % 2), (graph.X[:, :2], graph.some)):
        tiny(max_epochs=1, width=4).fit(X, y).save(tmp_path / "other", force=True)
        for name in FILES[2:]:
            (folder / name).write_bytes((tmp_path / "other" / name).read_bytes())
        message = refusal(lambda: OneHopClassifier.load(folder))
        assert f"{folder / 'network'} is from" in message
        assert "expected 3 and 3 by estimator.json" in message
    content = json.loads((folder / "network" / "config.json").read_text())
    (folder / "network" / "config.json").write_text(json.dumps(content | {"model": "GAT", "config": {}}))
    message = refusal(lambda: OneHopClassifier.load(folder))
    assert "names the model 'GAT', expected one of Averaged, OneHopSetTwister" in message


def test_an_average_of_other_networks_is_refused(graph: Example, tmp_path: Path) -> None:
    tiny(members=2, max_epochs=1).fit(graph.X, graph.some).save(tmp_path / "ours")
    tiny(members=2, max_epochs=1, model="deepsets").fit(graph.X, graph.some).save(tmp_path / "other")
    folder = unsealed(tmp_path / "ours")
    copied(tmp_path / "other" / "network", folder / "network")
    assert "averages other networks than the set_twister of" in refusal(lambda: OneHopClassifier.load(folder))


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {"mean": np.zeros(3)},
        {"mean": np.zeros(3), "scale": np.ones(3), "more": np.ones(3)},
        {"mean": np.zeros(3), "scale": np.zeros(3)},
        {"mean": np.zeros(3), "scale": np.ones(4)},
        {"mean": np.full(3, np.nan), "scale": np.ones(3)},
        {"mean": np.zeros(3, dtype=np.float32), "scale": np.ones(3, dtype=np.float32)},
    ],
)
def test_another_scaling_is_refused(folder: Path, tensors: dict[str, NDArray[Any]]) -> None:
    save_file(tensors, folder / "scaling.safetensors")
    message = refusal(lambda: OneHopClassifier.load(folder))
    assert "scaling.safetensors does not hold 3 means and positive deviations" in message


@pytest.mark.parametrize(
    "thresholds",
    [
        np.zeros(3),
        np.zeros((3, 4)),
        np.zeros((3, 3), dtype=np.float32),
        np.array([[np.nan, 0.0, 0.0]]),
        np.array([[-np.inf, 0.0, 0.0]]),
        np.array([[1.0, 0.0, 0.0], [np.inf, np.inf, np.inf], [0.5, 1.0, 1.0]]),
    ],
)
def test_other_thresholds_are_refused(folder: Path, thresholds: NDArray[Any]) -> None:
    save_file({"thresholds": thresholds}, folder / "scaling.safetensors")
    message = refusal(lambda: OneHopClassifier.load(folder))
    assert "scaling.safetensors does not hold rising thresholds of 3 columns" in message


def test_thresholds_without_a_network_for_them_are_refused(folder: Path) -> None:
    save_file({"thresholds": np.array([[1.0, np.inf, 2.0]])}, folder / "scaling.safetensors")
    assert "expected 5 and 3 by estimator.json" in refusal(lambda: OneHopClassifier.load(folder))


def test_weights_that_are_not_finite_are_refused(folder: Path) -> None:
    path = folder / "network" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + np.float32(np.nan).tobytes())
    assert "model.safetensors holds other weights than finite ones of single precision" in refusal(
        lambda: OneHopClassifier.load(folder)
    )


@pytest.mark.parametrize("name", ["scaling.safetensors", "network/model.safetensors"])
@pytest.mark.parametrize("kind", ["I", "U"])
def test_whole_numbers_in_the_place_of_others_are_refused(folder: Path, name: str, kind: str) -> None:
    """As many bytes, which a file says are of another type."""
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(
        whole.replace(b'"F32"', f'"{kind}32"'.encode()).replace(b'"F64"', f'"{kind}64"'.encode())
    )
    assert (folder / name).read_bytes() != whole
    assert name in refusal(lambda: OneHopClassifier.load(folder))


def test_weights_of_another_precision_are_refused(folder: Path) -> None:
    path = folder / "network" / "model.safetensors"
    save_file({key: value.astype(np.float64) for key, value in load_file(path).items()}, path)
    assert "model.safetensors" in refusal(lambda: OneHopClassifier.load(folder))


def opens_or_refuses(folder: Path) -> None:
    """Whatever the folder holds: a classifier that answers, or one sentence that names what is wrong with it."""
    X = np.random.default_rng(0).normal(size=(5, 3))
    try:
        model = OneHopClassifier.load(folder)
    except InputError as error:
        message = str(error)
    else:
        with contextlib.suppress(InputError):  # of weights so large that no answer is finite
            assert np.isfinite(model.predict_proba(X, [(0, 1)])).all()
        return
    assert str(folder) in message


@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:no edges were given")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=some.data())
def test_any_change_of_the_json_is_refused_or_harmless(saved: Path, folder: Path, data: some.DataObject) -> None:
    name = data.draw(some.sampled_from(["estimator.json", "network/config.json"]))
    content = changed(data, json.loads((saved / name).read_text()))
    copied(saved, folder)
    (folder / name).write_text(json.dumps(content))
    opens_or_refuses(folder)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(name=some.sampled_from(FILES), damage=DAMAGE)
def test_cut_or_flipped_bytes_are_refused_or_harmless(saved: Path, folder: Path, name: str, damage: Any) -> None:
    copied(saved, folder)
    (folder / name).write_bytes(damaged((saved / name).read_bytes(), damage))
    opens_or_refuses(folder)
    if isinstance(damage, float):
        assert name in refusal(lambda: OneHopClassifier.load(folder))


OLD = Path(__file__).parent / "data" / "classifier-v1"


@pytest.mark.parametrize("name", ["classifier-v1", "classifier-v1-sealed"], ids=["first", "with checksums"])
def test_a_folder_of_an_old_format_opens_for_ever(name: str) -> None:
    """It was written by the version that its JSON names; beside it lies what that version predicted."""
    recorded = json.loads(OLD.with_suffix(".json").read_text())
    model = OneHopClassifier.load(OLD.parent / name)
    X = pd.DataFrame(recorded["X"], columns=["age", "posts", "friends"])
    found = model.predict_proba(X, recorded["edges"])
    np.testing.assert_allclose(found, recorded["probabilities"], rtol=1e-5, atol=1e-6)
    assert model.predict(X, recorded["edges"]).tolist() == recorded["predictions"]
    assert model.classes_.tolist() == ["cat", "dog", "owl"]
    assert model.head_layers == model.layers, "from before the network behind the sum had its own depth"


def test_a_folder_of_binned_features_opens_for_ever() -> None:
    folder = OLD.with_name("classifier-v1-binned")
    recorded = json.loads(folder.with_suffix(".json").read_text())
    model = OneHopClassifier.load(folder)
    found = model.predict_proba(recorded["X"], recorded["edges"])
    np.testing.assert_allclose(found, recorded["probabilities"], rtol=1e-5, atol=1e-6)
    assert model.predict(recorded["X"], recorded["edges"]).tolist() == recorded["predictions"]
