"""Columns of any kind as numbers that a neural network can read."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from settwister.errors import InputError
from settwister.extras import needs
from settwister.tables import saved
from settwister.tables.columns import as_plain, check_features, check_same_columns, example, kind, listed, missing
from settwister.tables.text import TextEncoder
from settwister.tables.vectorising import Column, fit_columns

if TYPE_CHECKING:
    import polars

FARTHEST = 1e100  # numbers beyond are cut off, so that no difference overflows
ROWS_AT_ONCE = 2**14
TITLE = "the table of features"
WORDS = {"boolean": "yes or no", "time": "time of day"}  # for kinds of columns, where theirs would not tell everybody


class _Part(NamedTuple):
    """What one column of the table becomes: names and (N, d) values, NaN where missing."""

    origin: str
    names: list[str]
    values: NDArray[Any]


class TableEncoder:
    """Encodes a table of numbers, booleans, categories, dates and text as finite float32.

    Numbers and parts of dates are squashed: centred, divided by their middle range, and bent so that nothing leaves
    [-3, 3]. Booleans stay 0 and 1. Categories become a column of 0 and 1 each; one that was not there in training is 0
    in all of them. Missing numbers, booleans and dates become the median, with a column that says so. Free text is read
    by :class:`~settwister.tables.text.TextEncoder`.

    >>> import polars
    >>> table = polars.DataFrame({"age": [31, 45, None], "city": ["Rome", "Oslo", "Rome"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.names
    ['age', 'age_missing', 'city_Oslo', 'city_Rome']
    >>> encoder.transform(table)[:, 1:].tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]

    Attributes:
        names: of the D columns that come out.
        origin: for each of them, the table's column it came from.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.origin: list[str] = []
        self._kinds: dict[str, str] = {}
        self._numbers: list[str] = []  # columns that are numbers already, booleans and durations included
        self._columns: dict[str, Column] = {}  # all others
        self._scaler: Any = None
        self._imputer: Any = None
        self._gaps: list[int] = []  # which of the measured numbers have a column that says they are missing

    def fit(self, features: "polars.DataFrame", rows: NDArray[Any] | None = None) -> Self:
        """Learn from the training rows of ``features`` alone.

        Args:
            rows: positions, or a mask, of the training rows; all rows where left out.
        """
        needs("a table", "tables", "polars", "pyarrow", "skrub", "skops")
        from sklearn.impute import SimpleImputer
        from skrub import SquashingScaler

        _check_frame(features)
        self._kinds = {column.name: str(kind(column.dtype)) for column in features}
        train = _training_rows(features, rows)
        known = [column.name for column in train if column.null_count() < train.height]
        self._numbers = [name for name in known if self._kinds[name] not in ("text", "date")]
        others = [as_plain(train[name], self._kinds[name]) for name in known if self._kinds[name] in ("text", "date")]
        self._columns = fit_columns(others)

        measured, flags, plain = self._parts(train)
        if not measured + flags + plain:
            raise InputError(f"{TITLE} has no value in the training rows of {listed(features.columns)}, expected some")
        # Squashed rather than standardised: one value a thousand times the others leaves those where they were.
        self._scaler = SquashingScaler().fit(_side_by_side(measured)) if measured else None
        numbers = self._scaled(measured, flags, train.height)
        self._imputer = SimpleImputer(strategy="median").fit(numbers) if measured + flags else None
        self._gaps = _gaps(measured + flags, numbers)

        origin = [part.origin for part in measured + flags for _ in part.names]
        names = [name for part in measured + flags for name in part.names]
        names += [f"{origin[gap]}_missing" for gap in self._gaps]
        origin += [origin[gap] for gap in self._gaps]
        # scikit-learn calls the category of what is missing None.
        names += [
            name if name != f"{part.origin}_None" else f"{part.origin}_missing" for part in plain for name in part.names
        ]
        self.origin = origin + [part.origin for part in plain for _ in part.names]
        self.names = _distinct(names)
        return self

    def transform(self, features: "polars.DataFrame") -> NDArray[np.float32]:
        """(N, D), one row per row of ``features``, which must have the columns that :meth:`fit` was given."""
        self._check_fitted()
        _check_frame(features)
        check_same_columns(features, self._kinds, TITLE)
        out = np.empty((features.height, len(self.names)), dtype=np.float32)
        for start in range(0, features.height, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            measured, flags, plain = self._parts(features[some])
            numbers = self._scaled(measured, flags, features[some].height)
            missing = np.isnan(numbers)[:, self._gaps]
            filled = numbers if self._imputer is None else self._imputer.transform(numbers)
            np.concatenate([filled, missing, *(part.values for part in plain)], axis=1, out=out[some], casting="unsafe")
        return out

    def readings(self, features: "polars.DataFrame") -> list[dict[str, Any]]:
        """What each column of the table is read as, and how many rows of ``features`` have a gap there.

        >>> import polars
        >>> table = polars.DataFrame({"age": ["31", "45", "?"], "city": ["Rome", "Oslo", "Rome"]})
        >>> TableEncoder().fit(table).readings(table)[0]
        {'column': 'age', 'read_as': 'number', 'gaps': 1}
        """
        self._check_fitted()
        check_same_columns(features, self._kinds, TITLE)
        found = []
        for name, word in self._kinds.items():
            column = self._columns.get(name)
            if column is not None:
                read_as, gaps = column.read_as, column.gaps(as_plain(features[name], word))
            else:
                read_as = WORDS.get(word, word) if name in self._numbers else "nothing, left out"
                gaps = int(missing(features[name]).sum())
            found.append({"column": name, "read_as": read_as, "gaps": gaps})
        return found

    @property
    def texts(self) -> list[str]:
        """The columns of the table that are text."""
        return [name for name, word in self._kinds.items() if word == "text"]

    def to_bytes(self) -> bytes:
        """This encoder as bytes, no pickle among them."""
        self._check_fitted()
        about = {
            "names": self.names,
            "origin": self.origin,
            "kinds": self._kinds,
            "numbers": self._numbers,
            "measured": {name: column.measured for name, column in self._columns.items()},
            "gaps": self._gaps,
        }
        texts = {name: column.text for name, column in self._columns.items() if column.text is not None}
        state = {
            "about": json.dumps(about),
            "steps": {name: column.steps for name, column in self._columns.items()},
            "texts": {name: [text.rarity, text.directions] for name, text in texts.items()},
            "scaler": self._scaler,
            "imputer": self._imputer,
        }
        return saved.pack(state)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The encoder that :meth:`to_bytes` wrote; bytes from elsewhere are refused before anything of them runs."""
        needs("a table", "tables", "polars", "pyarrow", "skrub", "skops")
        state = saved.unpack(data)
        encoder = cls()
        try:
            encoder._restore(state)
            finite = bool(np.isfinite(encoder.transform(example(encoder._kinds))).all())
        except Exception as error:  # well-formed parts that do not belong together can fail in any way
            raise InputError("the table encoder's parts do not fit together: fit and save it again") from error
        if not finite:
            raise InputError("the table encoder gives values that are not finite: fit and save it again")
        return encoder

    def _restore(self, state: dict[str, Any]) -> None:
        about = json.loads(state["about"])
        self.names, self.origin = list(map(str, about["names"])), list(map(str, about["origin"]))
        if len(self.names) != len(self.origin):
            raise ValueError("as many names as origins")
        self._kinds, self._numbers, self._gaps = about["kinds"], about["numbers"], about["gaps"]
        texts = {name: TextEncoder(*arrays) for name, arrays in state["texts"].items()}
        self._columns = {
            name: Column(steps, bool(about["measured"][name]), texts.get(name))
            for name, steps in state["steps"].items()
        }
        self._scaler, self._imputer = state["scaler"], state["imputer"]

    def _parts(self, features: "polars.DataFrame") -> tuple[list[_Part], list[_Part], list[_Part]]:
        """The columns by what is to be done with them: scaled and filled in, filled in, and left as they are."""
        measured: list[_Part] = []
        flags: list[_Part] = []
        plain: list[_Part] = []
        for name in self._numbers:
            # In float64 until they are centred: in float32, 20240131 for the 31st of January would be 20240132.
            values = as_plain(features[name], self._kinds[name]).to_numpy().reshape(-1, 1)
            part = _Part(name, [name], np.clip(values, -FARTHEST, FARTHEST))
            (flags if self._kinds[name] == "boolean" else measured).append(part)
        for name, column in self._columns.items():
            out = column.transform(as_plain(features[name], self._kinds[name]))
            if column.measured:
                values = np.clip(out.to_numpy().astype(np.float64), -FARTHEST, FARTHEST)
                measured.append(_Part(name, out.columns, values))
            else:
                plain.append(_Part(name, out.columns, out.to_numpy()))
        return measured, flags, plain

    def _scaled(self, measured: list[_Part], flags: list[_Part], rows: int) -> NDArray[np.float64]:
        """Numbers, scaled, and booleans beside them, NaN where missing.

        Scaled before they are filled in: medians in most places would make the middle range 0.
        """
        scaled = [self._scaler.transform(_side_by_side(measured))] if measured else []
        return np.concatenate([np.empty((rows, 0)), *scaled, *(part.values for part in flags)], axis=1)

    def _check_fitted(self) -> None:
        if not self.names:
            raise InputError("the table encoder has learned nothing yet, expected a call of fit first")


def _check_frame(features: Any) -> None:
    import polars as pl

    if not isinstance(features, pl.DataFrame):
        raise InputError(f"the features are a {type(features).__name__}, expected a polars data frame: see read_nodes")
    check_features(features, TITLE)


def _training_rows(features: "polars.DataFrame", rows: Any) -> "polars.DataFrame":
    if rows is not None:
        rows = np.asarray(rows)
        if rows.dtype == bool and rows.shape == (features.height,):
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
            raise InputError(
                f"rows are {rows.dtype} of shape {rows.shape}, expected positions, or a mask of {features.height} rows"
            )
        if rows.size and not 0 <= rows.min() <= rows.max() < features.height:
            raise InputError(
                f"rows go from {rows.min()} to {rows.max()}, expected positions from 0 to {features.height - 1}"
            )
        features = features[rows.astype(np.int64)]
    if features.height == 0 or features.width == 0:
        raise InputError(
            f"there are {features.height} training rows of {features.width} columns, expected at least one of each"
        )
    return features


def _gaps(parts: list[_Part], numbers: NDArray[np.float64]) -> list[int]:
    """Where numbers are missing; once for all that come from one column, as all the parts of a date do."""
    gaps, place = [], 0
    for part in parts:
        missing = np.flatnonzero(np.isnan(numbers[:, place : place + len(part.names)]).any(axis=0))
        gaps += [place + int(missing[0])] if missing.size else []
        place += len(part.names)
    return gaps


def _side_by_side(parts: list[_Part]) -> NDArray[np.float64]:
    return np.concatenate([part.values for part in parts], axis=1)


def _distinct(names: list[str]) -> list[str]:
    """``names``, with a number behind those that a table's own column names make the same."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        number = 1
        while names[place] in seen:
            number += 1
            names[place] = f"{name} ({number})"
        seen.add(names[place])
    return names
