"""Columns of any kind as numbers: what comes out, of training rows and of later ones."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from example_tables import INF, NAN, people, refusal
from settwister.tables import TableEncoder
from settwister.tables.text import TextEncoder
from settwister.tables.vectorising import _vectoriser, fit_columns


@pytest.fixture(scope="module")
def encoder() -> TableEncoder:
    return TableEncoder().fit(people(), np.arange(80))


def test_every_kind_of_column_comes_out_finite(encoder: TableEncoder) -> None:
    table = people()
    x = encoder.transform(table)
    assert x.dtype == np.float32
    assert x.shape == (120, len(encoder.names))
    assert np.isfinite(x).all()
    assert len(set(encoder.names)) == len(encoder.names) == len(encoder.origin)
    assert set(encoder.origin) == set(table.columns)
    named = dict(zip(encoder.names, encoder.origin, strict=True))
    expected = {
        "height": "height",
        "height_missing": "height",
        "member": "member",
        "member_missing": "member",
        "city_Rome": "city",
        "city_missing": "city",
        "size_M": "size",
        "title_00": "title",
        "born_year": "born",
        "born_missing": "born",
        "seen_hour": "seen",
        "written_date_month": "written_date",
        "written_number": "written_number",
        "stay": "stay",
        "alarm": "alarm",
    }
    assert expected.items() <= named.items()
    assert encoder.names.count("born_missing") == 1
    column = {name: x[:, place] for place, name in enumerate(encoder.names)}
    for name in ("city_Rome", "size_M", "height_missing", "born_missing"):
        assert set(column[name].tolist()) == {0.0, 1.0}
    assert column["city_Rome"].tolist() == (table["city"] == "Rome").fill_null(False).cast(pl.Float32).to_list()
    assert column["born_missing"].tolist() == table["born"].is_null().cast(pl.Float32).to_list()
    seen = table["member"].is_not_null()
    assert column["member"][seen.to_numpy()].tolist() == table["member"].drop_nulls().cast(pl.Float32).to_list()
    order = np.argsort(table["height"].drop_nulls().to_numpy())
    heights = column["height"][table["height"].is_not_null().to_numpy()][order]
    assert (np.diff(heights) >= 0).all()
    assert np.abs(x[:, [encoder.origin[place] != "title" for place in range(x.shape[1])]]).max() <= 3


def test_what_columns_were_read_as_and_where_they_have_gaps(encoder: TableEncoder) -> None:
    table = people()
    expected = {
        "height": "number",
        "children": "number",
        "member": "yes or no",
        "city": "category",
        "size": "category",
        "title": "text",
        "born": "date",
        "seen": "date",
        "written_date": "date",
        "written_number": "number",
        "stay": "duration",
        "alarm": "time of day",
    }
    for one in (encoder, TableEncoder.from_bytes(encoder.to_bytes())):
        found = one.readings(table)
        assert {row["column"]: row["read_as"] for row in found} == expected
        assert {row["column"]: row["gaps"] for row in found} == {name: table[name].null_count() for name in expected}


def test_a_cell_that_cannot_be_read_like_the_others_is_a_gap() -> None:
    train = pl.DataFrame(
        {"a": ["1.5", "2", "N/A"] * 9, "day": ["2024-01-31", " ", "2024-02-01"] * 9, "b": ["", "?"] * 13 + [""]}
    )
    train = train.with_columns(c=pl.Series(["x", "y", " "] * 9), d=pl.lit(None))
    later = train.with_columns(a=pl.lit("few"), day=pl.lit("soon"), c=pl.lit("new"))
    encoder = TableEncoder().fit(train)
    readings = [[(row["read_as"], row["gaps"]) for row in encoder.readings(rows)] for rows in (train, later)]
    left_out = "nothing, left out"
    assert readings[0] == [("number", 9), ("date", 9), (left_out, 14), ("category", 9), (left_out, 27)]
    assert readings[1] == [("number", 27), ("date", 27), (left_out, 14), ("category", 0), (left_out, 27)]


def test_columns_of_text_and_dates_are_what_skrub_makes_of_them() -> None:
    """The slow and obvious way: the whole TableVectorizer, of whose steps we keep only some."""
    table = people().select("city", "born", "seen", "written_date", "written_number").head(100)
    vectoriser = _vectoriser(100).fit(table)
    columns = fit_columns(table.get_columns())
    assert sum(column.measured for column in columns.values()) == 4
    later = people(seed=1).select(table.columns)
    expected = vectoriser.transform(later)
    found = pl.concat([column.transform(later[name]) for name, column in columns.items()], how="horizontal")
    assert found.columns == expected.columns
    assert found.cast(pl.Float32).equals(expected)


def test_only_training_rows_are_looked_at(encoder: TableEncoder) -> None:
    table = people()
    changed = pl.concat(
        [table.head(80), people(seed=9).tail(40).with_columns(height=pl.lit(1e9), city=pl.lit("Paris"))]
    )
    again = TableEncoder().fit(changed, np.arange(120) < 80)
    assert again.names == encoder.names
    assert np.array_equal(again.transform(table), encoder.transform(table))
    assert not np.array_equal(TableEncoder().fit(table).transform(table)[:, 0], encoder.transform(table)[:, 0])


def test_what_was_not_there_in_training(encoder: TableEncoder) -> None:
    later = people(seed=1).with_columns(
        city=pl.lit("Paris"), title=pl.lit(None, pl.String), written_date=pl.lit("soon"), written_number=pl.lit("few")
    )
    x = encoder.transform(later)
    assert np.isfinite(x).all()
    origin = np.array(encoder.origin)
    assert not x[:, origin == "city"].any()
    assert not x[:, origin == "title"].any()
    assert x[:, encoder.names.index("written_date_missing")].all()
    assert x[:, encoder.names.index("written_number_missing")].all()
    nothing = encoder.transform(pl.DataFrame({name: [None] for name in later.columns}))
    assert np.isfinite(nothing).all()
    assert nothing[0, encoder.names.index("seen_missing")] == 1


def test_a_value_missing_only_later_becomes_the_median() -> None:
    encoder = TableEncoder().fit(pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, 100.0]}))
    assert encoder.names == ["a"]
    missing, median = encoder.transform(pl.DataFrame({"a": [None, 3.0]}))[:, 0]
    assert missing == median


def test_outliers_leave_the_others_where_they_were() -> None:
    usual = np.linspace(0, 1, 99)
    calm = TableEncoder().fit(pl.DataFrame({"a": usual}))
    wild = TableEncoder().fit(pl.DataFrame({"a": np.append(usual, 1e12)}))
    near = pl.DataFrame({"a": usual})
    assert np.abs(calm.transform(near) - wild.transform(near)).max() < 0.05
    assert wild.transform(pl.DataFrame({"a": [1e300, -1e300, 1e12]})).tolist() == [[3.0], [-3.0], [3.0]]


def test_large_numbers_keep_their_differences() -> None:
    days = [20240101.0 + place for place in range(30)]
    x = TableEncoder().fit(pl.DataFrame({"day": days})).transform(pl.DataFrame({"day": days}))
    assert len(np.unique(x)) == 30


def test_mostly_missing_numbers_are_still_scaled_by_those_that_are_there() -> None:
    values = [float(place % 10) * 1000 if place % 4 == 0 else None for place in range(80)]
    x = TableEncoder().fit(pl.DataFrame({"a": values})).transform(pl.DataFrame({"a": values}))
    assert 0.5 < x[::4, 0].std() < 2


def test_few_training_rows_of_titles_are_text_not_categories() -> None:
    titles = [f"paper {place} on {'sets' if place % 2 else 'trees'}" for place in range(20)]
    encoder = TableEncoder().fit(pl.DataFrame({"title": titles, "half": ["a", "b"] * 10}))
    assert "title_00" in encoder.names
    assert {"half_a", "half_b"} <= set(encoder.names)
    later = encoder.transform(pl.DataFrame({"title": ["more on sets", "sets", "trees", "of trees"], "half": ["a"] * 4}))
    text = later[:, np.array(encoder.origin) == "title"]
    text /= np.linalg.norm(text, axis=1, keepdims=True)
    alike = text @ text.T
    assert min(alike[0, 1], alike[2, 3]) > max(alike[0, 2], alike[0, 3], alike[1, 2], alike[1, 3])


def test_texts_are_read_with_as_many_buckets_as_they_were_learned_with() -> None:
    texts = pl.Series([f"paper {place} on {'sets' if place % 2 else 'trees'}" for place in range(20)])
    for buckets in (64, 4096):
        encoder = TextEncoder.fit(texts, buckets)
        assert encoder.rarity.shape == (buckets,)
        found = TextEncoder(encoder.rarity, encoder.directions).transform(texts)
        assert found.shape == (20, encoder.directions.shape[1])
        assert np.linalg.norm(found[::2].mean(0) - found[1::2].mean(0)) > 0.1


def test_columns_with_nothing_in_training_are_left_out() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [None, None, 7.0], "c": [None, None, "x"], "d": ["NA", "?", "x"]})
    encoder = TableEncoder().fit(frame, np.array([0, 1]))
    assert encoder.names == ["a"]
    assert encoder.transform(frame).shape == (3, 1)
    message = refusal(lambda: TableEncoder().fit(frame.select("b", "c", "d"), np.array([0, 1])))
    assert "has no value in the training rows of 'b', 'c', 'd'" in message


def test_texts_of_nothing_but_blanks_are_left_out() -> None:
    frame = pl.DataFrame({"a": [" " * place for place in range(1, 30)], "b": range(29)})
    assert TableEncoder().fit(frame).names == ["b"]
    assert "has no value in the training rows of 'a'" in refusal(lambda: TableEncoder().fit(frame.select("a")))


def test_names_differ_even_where_the_tables_own_clash() -> None:
    frame = pl.DataFrame({"a_b": [1.0, 2.0], "a": ["b", None], "a_missing": ["x", "y"]})
    encoder = TableEncoder().fit(frame)
    assert encoder.names == ["a_b", "a_b (2)", "a_missing", "a_missing_x", "a_missing_y"]
    assert encoder.origin == ["a_b", "a", "a", "a_missing", "a_missing"]


def test_rows_in_pieces_are_the_same(encoder: TableEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()
    whole = encoder.transform(table)
    monkeypatch.setattr("settwister.tables.encoder.ROWS_AT_ONCE", 17)
    assert np.allclose(encoder.transform(table), whole, atol=1e-6)
    assert encoder.transform(table.clear()).shape == (0, whole.shape[1])
    reordered = table.select(reversed(table.columns))
    assert np.allclose(encoder.transform(reordered), whole, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.drop("height", "city"), "the table of features lacks 'height', 'city', expected the columns of"),
        (lambda t: t.with_columns(x=1, y=2), "has 'x', 'y' as well, expected only the columns of training"),
        (
            lambda t: t.with_columns(height=pl.lit("tall")),
            "column 'height' of the table of features is String, expected a number column as in",
        ),
        (
            lambda t: t.with_columns(city=pl.lit(7)),
            "column 'city' of the table of features is Int32, expected a text column",
        ),
        (lambda t: t.with_columns(born=pl.lit(1990)), "expected a date column as in training: convert it"),
        (lambda t: t.with_columns(member=pl.lit(0.5)), "expected a boolean column as in training"),
        (lambda t: t.with_columns(height=pl.lit(NAN)), "column 'height' of the table of features holds 120 NaN values"),
        (lambda t: t.with_columns(height=pl.lit(INF)), "holds 120 infinite values"),
        (lambda t: t.with_columns(height=pl.lit([1, 2])), "column 'height' of the table of features is List"),
        (lambda t: t.to_pandas(), "the features are a DataFrame, expected a polars data frame"),
    ],
)
def test_tables_that_differ_from_training(encoder: TableEncoder, change: Any, sentence: str) -> None:
    table = change(people())
    assert sentence in refusal(lambda: encoder.transform(table))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "there are 0 training rows of 1 columns"),
        ([0, 3], "rows go from 0 to 3, expected positions from 0 to 2"),
        ([-1], "rows go from -1 to -1"),
        ([True, False], "rows are bool of shape (2,), expected positions, or a mask of 3 rows"),
        ([0.0], "rows are float64"),
        ([[0]], "of shape (1, 1)"),
    ],
)
def test_training_rows_that_are_not_there(rows: Any, sentence: str) -> None:
    assert sentence in refusal(lambda: TableEncoder().fit(pl.DataFrame({"a": [1, 2, 3]}), np.array(rows)))


def test_an_encoder_that_learned_nothing() -> None:
    assert "expected a call of fit first" in refusal(lambda: TableEncoder().transform(people()))
    assert "expected a call of fit first" in refusal(lambda: TableEncoder().to_bytes())
    assert "0 columns" in refusal(lambda: TableEncoder().fit(pl.DataFrame()))
