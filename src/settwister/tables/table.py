"""A table as columns by name, wherever it is."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from settwister.errors import InputError, reason
from settwister.tables.converting import check_names, from_pandas_columns

if TYPE_CHECKING:
    import polars

BATCH_ROWS = 2**20


class Table(ABC):
    """Columns by name, read whole or in batches.

    Args:
        title: what messages call it.
        names: the columns, in order.
        typed: whether columns have types; the cells of a CSV file are text until something else is made of them.
    """

    typed = True

    def __init__(self, title: str, names: list[str]) -> None:
        self.title = title
        self.names = names
        check_names(names, title)

    def whole(self, columns: list[str] | None = None, text: Collection[str] = ()) -> "polars.DataFrame":
        """The named columns, all where None; those in ``text`` stay text where the table has no types."""
        frame = self._whole(self.names if columns is None else columns, text)
        if frame.height == 0:
            raise InputError(f"{self.title} has no rows, expected at least one")
        return frame

    @abstractmethod
    def _whole(self, columns: list[str], text: Collection[str]) -> "polars.DataFrame": ...

    @abstractmethod
    def batches(self, columns: list[str]) -> Iterator["polars.DataFrame"]:
        """The named columns, some rows at a time; all of them text where the table has no types."""


class Frame(Table):
    """A data frame that is in memory already."""

    def __init__(self, frame: "polars.DataFrame", title: str, index: Any = None) -> None:
        super().__init__(title, frame.columns)
        self._frame = frame
        self._index = index

    def _whole(self, columns: list[str], text: Collection[str]) -> "polars.DataFrame":
        return self._frame.select(columns)

    def batches(self, columns: list[str]) -> Iterator["polars.DataFrame"]:
        return self._frame.select(columns).iter_slices(BATCH_ROWS)

    def index(self) -> "polars.Series | None":
        """The pandas index, which polars frames do not have."""
        if self._index is None:
            return None
        if self._index.nlevels > 1:
            raise InputError(
                f"the index of {self.title} has {self._index.nlevels} levels, expected one: name an id column"
            )
        return from_pandas_columns(
            [self._index.to_series()], [str(self._index.name or "index")], self.title
        ).to_series()


@contextmanager
def reading(path: Path, form: str) -> Iterator[None]:
    """Turn whatever reading ``path`` raises into one :class:`InputError` that names the file."""
    import polars as pl

    try:
        yield
    except InputError:
        raise
    # A panic of polars is no Exception, and the libraries below raise anything from OSError to UnicodeDecodeError.
    except (Exception, pl.exceptions.PanicException) as error:
        raise InputError(f"{path} cannot be read ({reason(error)}), expected {form}: write it again") from error
