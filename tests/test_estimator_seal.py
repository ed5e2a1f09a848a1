"""A folder whose files are not as they were written is refused, though every number in it could be."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from example_graph import Example, example, tiny
from settwister import InputError, OneHopClassifier, SetRegressor
from settwister.estimator import CorrectAndSmooth

SETS = [np.random.default_rng(i).normal(size=(3, 2)) for i in range(20)]
MAKERS: dict[str, Callable[[Example], Any]] = {
    "nodes": lambda graph: tiny().fit(graph.X, graph.some, graph.edges),
    "smoothed": lambda graph: CorrectAndSmooth(tiny(), random_state=0).fit(graph.X, graph.some, graph.edges),
    "sets": lambda graph: SetRegressor(width=4, max_epochs=2, random_state=0).fit(SETS, [one.sum() for one in SETS]),
}


@pytest.fixture(scope="module")
def graph() -> Example:
    return example()


@pytest.fixture(params=MAKERS)
def saved(request: pytest.FixtureRequest, graph: Example, tmp_path: Path) -> tuple[type[Any], Path]:
    model = MAKERS[request.param](graph)
    model.save(tmp_path / "model")
    return type(model), tmp_path / "model"


def test_one_bit_of_any_file(saved: tuple[type[Any], Path]) -> None:
    """The last bit of the last weight too, which makes a network as good as any."""
    kind, folder = saved
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".json"]
    assert files
    for path in files:
        whole = path.read_bytes()
        path.write_bytes(whole[:-4] + bytes([whole[-4] ^ 1]) + whole[-3:])
        with pytest.raises(InputError, match=f"{path.name} is not as it was written: save or copy the folder again"):
            kind.load(folder)
        path.write_bytes(whole)
    kind.load(folder)


def test_what_the_json_says(saved: tuple[type[Any], Path]) -> None:
    """Another layout says the same; another number does not."""
    kind, folder = saved
    path = folder / "estimator.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(content.items()))))
    kind.load(folder)
    content["parameters"]["random_state"] = 77
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"estimator\.json is not as it was written"):
        kind.load(folder)


def test_a_file_that_is_gone(saved: tuple[type[Any], Path]) -> None:
    kind, folder = saved
    next(path for path in folder.rglob("*.safetensors")).unlink()
    with pytest.raises(InputError, match=r"safetensors is missing, expected it beside estimator\.json"):
        kind.load(folder)


@pytest.mark.parametrize("listed", [None, [], {}, {"estimator.json": 7}, {"estimator.json": "", "../secret": ""}])
def test_checksums_that_cannot_be(graph: Example, tmp_path: Path, listed: Any) -> None:
    MAKERS["nodes"](graph).save(tmp_path / "model")
    (tmp_path / "secret").write_text("not to be read")
    path = tmp_path / "model" / "estimator.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sha256": listed}))
    with pytest.raises(InputError, match=r"does not list checksums by file|is not as it was written"):
        OneHopClassifier.load(tmp_path / "model")


def test_a_folder_from_before_there_were_checksums_opens(graph: Example, tmp_path: Path) -> None:
    MAKERS["nodes"](graph).save(tmp_path / "model")
    path = tmp_path / "model" / "estimator.json"
    content = json.loads(path.read_text())
    assert len(content.pop("sha256")) == sum(one.is_file() for one in (tmp_path / "model").rglob("*"))
    path.write_text(json.dumps(content))
    assert OneHopClassifier.load(tmp_path / "model").predict(graph.X, graph.edges).shape == (len(graph.X),)
