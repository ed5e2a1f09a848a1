"""What skrub makes of columns of text and dates.

skrub's TableVectorizer finds out what each column is: dates or numbers written as text, a few categories, free text. We
keep its fitted steps, column by column, rather than itself: it holds every step many times over, and skops writes
it as many times, tens of megabytes for a dozen columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from settwister.tables.text import TextEncoder

if TYPE_CHECKING:
    import polars

MOST_CATEGORIES = 40
FEWEST_CATEGORIES = 5


@dataclass(frozen=True, eq=False)
class Column:
    """How one column is read.

    Args:
        steps: skrub's and scikit-learn's fitted transformers, in order.
        measured: whether numbers come out that need a scale, unlike categories' 0 and 1 and text's components.
        text: reads what the steps leave, where that is free text.
    """

    steps: list[Any]
    measured: bool
    text: TextEncoder | None = None

    def transform(self, cells: "polars.Series") -> "polars.DataFrame":
        """One or more columns of numbers; null where a number or a date is missing."""
        import polars as pl

        out = self.cleaned(cells)
        if self.text is not None:
            numbers = self.text.transform(out)
            return pl.DataFrame(numbers, schema=[f"{cells.name}_{place:02d}" for place in range(numbers.shape[1])])
        return out if isinstance(out, pl.DataFrame) else out.to_frame()

    @property
    def read_as(self) -> str:
        """What the cells are taken for, in a word."""
        from skrub import DatetimeEncoder

        if not self.measured:
            return "category" if self.text is None else "text"
        return "date" if isinstance(self.steps[-1], DatetimeEncoder) else "number"

    def gaps(self, cells: "polars.Series") -> int:
        """How many cells hold nothing, or nothing that can be read as what the column is."""
        out: Any = cells
        for step in filter(_takes_a_column, self.steps):  # a one-hot encoding has a column for what is missing
            out = step.transform(out)
        found: int = (out.to_series() if hasattr(out, "to_series") else out).null_count()
        return found

    def cleaned(self, cells: "polars.Series") -> Any:
        """``cells`` after the steps."""
        out: Any = cells
        for step in self.steps:
            out = step.transform(out if _takes_a_column(step) else out.to_frame())
        return out


def _takes_a_column(step: Any) -> bool:
    """skrub's own steps do, scikit-learn's take a table."""
    return getattr(step, "__single_column_transformer__", False)


def fit_columns(train: list["polars.Series"]) -> dict[str, Column]:
    """How to read each column of text and dates, learned from training rows; without those that hold nothing."""
    import polars as pl

    if not train:
        return {}
    vectoriser = _vectoriser(len(train[0]))
    vectoriser.fit(pl.DataFrame({cells.name: cells for cells in train}))  # a list would rename the nameless one
    columns = {}
    for cells in train:
        what = vectoriser.column_to_kind_.get(cells.name)
        # The last step of a column, a cast of each output, is a mapping; we cast all of them at once.
        steps = [step for step in vectoriser.all_processing_steps_[cells.name] if not isinstance(step, Mapping)]
        if what == "high_cardinality":
            text = TextEncoder.fit(Column(steps, measured=False).cleaned(cells))
            if text.directions.size:  # blanks of different lengths have none
                columns[cells.name] = Column(steps, measured=False, text=text)
        elif what is not None:
            columns[cells.name] = Column(steps, measured=what in ("numeric", "datetime"))
    return columns


def _vectoriser(rows: int) -> Any:
    from sklearn.preprocessing import OneHotEncoder
    from skrub import TableVectorizer

    # skrub's own drops one of two categories, and then takes a third, seen later, for the dropped one.
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype="float32")
    # Few nodes may be labelled. What differs in most of their rows is a title or a name, not a category.
    most = min(MOST_CATEGORIES, max(FEWEST_CATEGORIES, rows // 2))
    return TableVectorizer(cardinality_threshold=most, low_cardinality=one_hot, high_cardinality="passthrough")
