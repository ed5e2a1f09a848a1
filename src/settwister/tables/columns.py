"""What kinds of columns there are, and which values in them can be used."""

from collections.abc import Collection, Iterable, Mapping
from datetime import date, time, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from settwister.errors import InputError

if TYPE_CHECKING:
    import polars

MOST_NAMED = 20


def kind(dtype: "polars.DataType") -> str | None:
    """The kind of a column, in one word; None for what cannot be a feature."""
    import polars as pl

    if dtype.is_numeric():
        return "number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    if dtype in (pl.Date, pl.Datetime):
        return "date"
    plain = {pl.Boolean: "boolean", pl.Duration: "duration", pl.Time: "time", pl.Null: "missing"}
    return next((word for known, word in plain.items() if dtype == known), None)


def as_plain(column: "polars.Series", kind: str) -> "polars.Series":
    """A column of the given kind as strings, dates or float64: booleans as 0 and 1, durations and times in seconds."""
    import polars as pl

    if column.dtype == pl.Null:
        return column.cast({"text": pl.String, "date": pl.Date}.get(kind, pl.Float64))
    if kind == "text":
        return column.cast(pl.String)
    if kind == "duration":
        return column.dt.total_nanoseconds().cast(pl.Float64) / 1e9
    if kind == "time":
        return column.to_physical().cast(pl.Float64) / 1e9
    return column if kind == "date" else column.cast(pl.Float64)


def check_features(features: "polars.DataFrame", title: str) -> None:
    """Refuse columns and values that no feature can have, by the column's name."""
    for column in features:
        if kind(column.dtype) is None:
            raise InputError(
                f"column {column.name!r} of {title} is {column.dtype}, expected numbers, text, booleans or dates: "
                "leave it out or spread it over columns of its own"
            )
        if column.dtype.is_float():
            check_finite(column, title)


def check_same_columns(features: "polars.DataFrame", kinds: Mapping[str, str], title: str) -> None:
    """Refuse a table whose columns are not those of training, by name and by kind."""
    given, known = features.columns, list(kinds)
    if absent := [name for name in known if name not in given]:
        raise InputError(f"{title} lacks {listed(absent)}, expected the columns of training, {listed(known)}: add them")
    if more := [name for name in given if name not in kinds]:
        raise InputError(
            f"{title} has {listed(more)} as well, expected only the columns of training, {listed(known)}: drop them"
        )
    for name, before in kinds.items():
        dtype = features[name].dtype
        # A column of a CSV file that is empty throughout has no type, then or now.
        if kind(dtype) != before and "missing" not in (kind(dtype), before):
            raise InputError(
                f"column {name!r} of {title} is {dtype}, expected a {before} column as in training: convert it"
            )


def example(kinds: Mapping[str, str]) -> "polars.DataFrame":
    """Two rows of columns of the given kinds, one of them missing throughout."""
    import polars as pl

    values: dict[str, Any] = {
        "number": 1.0,
        "boolean": True,
        "text": "a",
        "date": date(2020, 1, 1),
        "duration": timedelta(1),
        "time": time(12),
        "missing": None,
    }
    return pl.DataFrame({name: [values[word], None] for name, word in kinds.items()})


def check_finite(column: "polars.Series", title: str) -> None:
    """Refuse NaN and infinite values in a column of floats."""
    if infinite := int(column.is_infinite().sum()):
        raise InputError(
            f"column {column.name!r} of {title} holds {infinite} infinite value{'s'[: infinite > 1]}, expected finite "
            "numbers: replace them, or write them as null if they are missing"
        )
    if nans := int(column.is_nan().sum()):
        raise InputError(
            f"column {column.name!r} of {title} holds {nans} NaN value{'s'[: nans > 1]}, expected missing values as "
            "null: fill_nan(None) of polars does that"
        )


def missing(column: "polars.Series") -> "polars.Series":
    """Which cells hold nothing: null, NaN, or text of nothing but whitespace."""
    import polars as pl

    gone = column.is_null()
    if column.dtype.is_float():
        gone |= column.is_nan()
    if kind(column.dtype) == "text":
        gone |= column.cast(pl.String).str.strip_chars() == ""
    return gone


def whole(column: "polars.Series") -> "polars.Series":
    """Which of a column of floats are whole numbers that an Int64 holds exactly; null stays null."""
    return (column == column.floor()) & (column.abs() < 2.0**53)


def check_columns(wanted: Iterable[str], there: Collection[str], title: str, *, trained: bool = False) -> None:
    """Refuse a column that is not there, naming those that are and the one that may be meant.

    Args:
        trained: whether a model asks for these columns, rather than a person.
    """
    for name in wanted:
        if name in there:
            continue
        alike = _most_alike(name, there)
        if trained:
            advice = "add it" if alike is None else f"add it, or call {alike!r} so if that is meant"
            raise InputError(
                f"{title} has no column {name!r}, which the model was trained on, expected it beside "
                f"{listed(there)}: {advice}"
            )
        hint = "" if alike is None else f": did you mean {alike!r}?"
        raise InputError(f"{title} has no column {name!r}, expected one of {listed(there)}{hint}")


def _most_alike(name: str, there: Iterable[str]) -> str | None:
    """That of the columns there whose name is nearest, in whatever case, if any is near."""
    lowered = {other.lower(): other for other in there}
    return next((lowered[other] for other in get_close_matches(name.lower(), lowered, 1)), None)


def listed(values: Collection[Any], most: int = MOST_NAMED) -> str:
    """The first few values as a reader would write them: ``'a', 'b', 'c' and 4 more``."""
    first = ", ".join(repr(value) for value, _ in zip(values, range(most), strict=False))
    return f"{first} and {len(values) - most} more" if len(values) > most else first
