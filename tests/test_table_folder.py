"""Folders of classifiers of tables: damaged, changed or old."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_folder import unsealed
from example_people import SMALL, Tables
from settwister import InputError
from settwister.estimator import TableClassifier


@pytest.fixture(scope="module")
def fitted(tables: Tables) -> TableClassifier:
    return TableClassifier("person", "kind", classifier=SMALL).fit(*tables)


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


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        (("random_state",), -1),
        (("data", "classes"), 7),
        (("data", "degrees"), [{"nodes": 1}]),
        (("data", "readings"), 7),
        (("data", "readings"), [{"column": "a", "read_as": 7, "gaps": 0}]),
        (("data", "readings"), [{"column": "a", "read_as": "number", "gaps": "few"}]),
        (("evaluation", "per_class"), [{}]),
        (("evaluation", "confusion"), [[1]]),
    ],
)
def test_what_a_page_could_not_show_is_refused(
    fitted: TableClassifier, tmp_path: Path, where: tuple[str, ...], wrong: Any
) -> None:
    fitted.save(tmp_path / "model")
    path = unsealed(tmp_path / "model") / "estimator.json"
    content = json.loads(path.read_text())
    inside = content["table"]
    for key in where[:-1]:
        inside = inside[key]
    inside[where[-1]] = wrong
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"estimator\.json"):
        TableClassifier.load(tmp_path / "model")


def test_an_encoder_that_is_too_large_is_not_read(
    fitted: TableClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted.save(tmp_path / "model")
    monkeypatch.setattr("settwister.estimator.table_folder.LARGEST", 10)
    with pytest.raises(InputError, match=r"encoder\.skops has \d+ bytes, expected at most 10"):
        TableClassifier.load(tmp_path / "model")


def test_a_folder_of_the_first_format_opens_for_ever() -> None:
    """Written once and never again: if this fails, people's models no longer open."""
    data = Path(__file__).parent / "data"
    model = TableClassifier.load(data / "table-v1")
    found = model.predict(data / "table-v1-people.csv", data / "table-v1-friends.csv")
    wanted = pl.read_csv(data / "table-v1-predictions.csv")
    assert found["prediction"].to_list() == wanted["prediction"].to_list()
    for name in wanted.columns[2:]:
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-4)
