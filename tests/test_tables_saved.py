"""The encoder as bytes: the same comes back, and no bytes run anything or raise anything but InputError."""

import datetime as dt
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as some
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from example_tables import QUICK, attempt, damage, people, refusal
from settwister.tables import TableEncoder, saved


@pytest.fixture(scope="module")
def encoder() -> TableEncoder:
    return TableEncoder().fit(people(), np.arange(80))


@pytest.fixture(scope="module")
def blob(encoder: TableEncoder) -> bytes:
    return encoder.to_bytes()


def test_bytes_bring_the_same_encoder_back(encoder: TableEncoder, blob: bytes) -> None:
    again = TableEncoder.from_bytes(blob)
    later = people(seed=3)
    assert np.array_equal(again.transform(later), encoder.transform(later))
    assert (again.names, again.origin) == (encoder.names, encoder.origin)
    assert len(blob) < 700_000
    assert "is String, expected a number column" in refusal(
        lambda: again.transform(later.with_columns(height=pl.lit("x")))
    )
    assert np.array_equal(TableEncoder.from_bytes(again.to_bytes()).transform(later), encoder.transform(later))


@pytest.mark.parametrize(
    "column", [[1, 1, 1, 1, 2], ["a", "b", "a"], [True, False], [dt.datetime(2024, 1, 1)], ["1", "2"]]
)
def test_bytes_of_single_columns(column: Any) -> None:
    frame = pl.DataFrame({"a": column})
    encoder = TableEncoder().fit(frame)
    assert np.array_equal(TableEncoder.from_bytes(encoder.to_bytes()).transform(frame), encoder.transform(frame))


def signed(packed: bytes) -> bytes:
    """Bytes that pass every check of form: what somebody who means harm would send."""
    return saved.MAGIC + hashlib.sha256(packed).digest() + packed


def parts(blob: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(blob[len(saved.MAGIC) + 32 :])) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return sink.getvalue()


TOUCHED: list[str] = []


class Trap:
    """Leaves a trace when it is made or filled."""

    def __setstate__(self, state: Any) -> None:
        TOUCHED.append("filled")


@pytest.mark.parametrize(
    ("planted", "named"),
    [
        (Trap(), "test_tables_saved.Trap"),
        (FunctionTransformer(np.exp), "FunctionTransformer"),
        (StandardScaler(), "StandardScaler"),  # skops trusts it, we do not
        (np.random.RandomState(0), "RandomState"),
        (np.exp, "exp"),
        (print, "builtins.print"),
        ({1: "x"}, "builtins.int"),
        (people, "people"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_types_that_we_do_not_write_are_refused_and_nothing_runs(planted: Any, named: str) -> None:
    assert any(named in name for name in list_types(skops.io.dumps({"imputer": planted})))
    harmful = signed(skops.io.dumps({"about": "{}", "steps": {"a": [SimpleImputer(), planted]}}))
    message = refusal(lambda: TableEncoder.from_bytes(harmful))
    assert "the table encoder holds " in message
    assert named in message
    assert not TOUCHED


def list_types(packed: bytes) -> list[str]:
    schema = json.loads(zipfile.ZipFile(io.BytesIO(packed)).read("schema.json"))
    return [f"{node['__module__']}.{node['__class__']}" for node in saved._nodes(schema)]


def test_an_allowed_type_by_another_builder_is_refused(blob: bytes) -> None:
    members = parts(blob)
    schema = members["schema.json"].replace(b'"ObjectNode"', b'"ConstructorFromReduceNode"')
    assert schema != members["schema.json"]
    harmful = signed(zipped({**members, "schema.json": schema}))
    assert "the table encoder holds " in refusal(lambda: TableEncoder.from_bytes(harmful))


@pytest.mark.parametrize(
    "state",
    [
        ["a list"],
        {},
        {"about": "no JSON", "steps": {}, "texts": {}, "scaler": None, "imputer": None},
        {"about": "[]", "steps": {}, "texts": {}, "scaler": None, "imputer": None},
        {
            "about": json.dumps(
                dict(names=["a"], origin=["a"], kinds={"a": "number"}, numbers=["a"], measured={}, gaps=[])
            ),
            "steps": {},
            "texts": {},
            "scaler": None,
            "imputer": SimpleImputer(),
        },
    ],
)
def test_parts_that_are_no_encoder(state: Any) -> None:
    message = refusal(lambda: TableEncoder.from_bytes(signed(skops.io.dumps(state))))
    assert message.startswith("the table encoder")


def test_an_encoder_that_would_give_nan_is_refused(blob: bytes) -> None:
    members = parts(blob)
    for name, content in members.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(content))
            if array.dtype.kind == "f":
                sink = io.BytesIO()
                np.save(sink, np.full_like(array, np.nan))
                members[name] = sink.getvalue()
    assert refusal(lambda: TableEncoder.from_bytes(signed(zipped(members)))).startswith("the table encoder")


def test_sizes_are_looked_at_before_anything_is_unpacked(blob: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = signed(zipped({**parts(blob), "x.npy": bytes(2**20)}))
    assert len(bomb) < len(blob) + 2**16
    monkeypatch.setattr(saved, "LARGEST", 2**20)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("unpacked"))
    assert "unpacks to" in refusal(lambda: TableEncoder.from_bytes(bomb))
    monkeypatch.setattr(saved, "LARGEST_SCHEMA", 1000)
    assert "schema has" in refusal(lambda: TableEncoder.from_bytes(signed(zipped({"schema.json": bytes(1001)}))))
    monkeypatch.setattr(saved, "MOST_MEMBERS", 2)
    assert "in 3 parts" in refusal(lambda: TableEncoder.from_bytes(signed(zipped(dict.fromkeys("abc", b"")))))
    monkeypatch.setattr(saved, "LARGEST", 1000)
    assert "expected at most 1000" in refusal(lambda: TableEncoder.from_bytes(blob))


def test_a_schema_of_endless_depth_is_refused(blob: bytes) -> None:
    deep = b"[" * 200_000 + b"]" * 200_000
    harmful = signed(zipped({**parts(blob), "schema.json": deep}))
    assert "cannot be read" in refusal(lambda: TableEncoder.from_bytes(harmful))


@QUICK
@given(damage=damage())
def test_damaged_encoders_are_refused(blob: bytes, damage: Callable[[bytes], bytes]) -> None:
    damaged = damage(blob)
    if damaged != blob:
        message = refusal(lambda: TableEncoder.from_bytes(damaged))
        assert "are damaged" in message or "are not a table encoder" in message


@QUICK
@given(damage=damage(), which=some.floats(0, 1, exclude_max=True))
def test_damaged_parts_of_an_encoder_are_refused_or_harmless(
    blob: bytes, damage: Callable[[bytes], bytes], which: float
) -> None:
    """With the checksums of zip and ours made right again, as somebody who means harm would."""
    members = parts(blob)
    name = sorted(members, key=lambda name: name != "schema.json")[int(which * len(members))]
    members[name] = damage(members[name])
    encoder = attempt(lambda: TableEncoder.from_bytes(signed(zipped(members))))
    if encoder is not None:
        assert len(encoder.names) == len(encoder.origin)


def test_the_encoder_that_is_damaged_is_whole_to_begin_with(blob: bytes) -> None:
    assert TableEncoder.from_bytes(signed(zipped(parts(blob)))).names
