"""Features of nodes: sparse ones from their entries, and the ways of scaling them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.nn.features import Centred, Features, row_normalised

CONSTANT = 1e-12  # a column whose variance is this small beside its mean square is constant up to rounding


def from_entries(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any] | None, num_rows: int, num_columns: int
) -> Csr:
    """Sparse features from (row, column, value); zeros are dropped, and values that are all 1 are not kept."""
    if values is not None:
        stored = values != 0
        rows, columns, values = rows[stored], columns[stored], single(values[stored])
    weight = None if values is None or bool((values == 1).all()) else torch.from_numpy(values)
    entries = torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(columns.astype(np.int64))
    return Csr.from_pairs(*entries, num_rows, num_columns, weight).with_transpose()


def from_rows(ptr: NDArray[Any], columns: NDArray[Any], values: NDArray[Any] | None, shape: tuple[int, int]) -> Csr:
    """Sparse features from compressed rows, once every number in them has been looked at.

    Raises:
        InputError: where the rows do not follow each other, or a column or a value is not there.
    """
    num_rows, num_columns = shape
    if ptr.dtype.kind not in "iu" or columns.dtype.kind not in "iu" or columns.ndim != 1:
        raise InputError("the sparse features have row starts or columns that are not lists of whole numbers")
    if ptr.shape != (num_rows + 1,):
        raise InputError(f"the sparse features have {ptr.size} row starts, expected {num_rows + 1} for {num_rows} rows")
    starts: NDArray[np.int64] = ptr.astype(np.int64)
    lengths: NDArray[np.int64] = starts[1:] - starts[:-1]
    if ptr[0] != 0 or ptr[-1] != columns.size or bool((lengths < 0).any()):
        raise InputError(f"the sparse features have row starts that do not rise from 0 to {columns.size} entries")
    if columns.size and (columns.min() < 0 or columns.max() >= num_columns):
        outside = columns.min() if columns.min() < 0 else columns.max()
        raise InputError(f"the sparse features name column {outside}, expected 0 to {num_columns - 1}")
    rows = np.repeat(np.arange(num_rows), lengths)
    order = np.lexsort((columns, rows))
    twice = (rows[order][1:] == rows[order][:-1]) & (columns[order][1:] == columns[order][:-1])
    if bool(twice.any()):
        row, column = rows[order][1:][twice][0], columns[order][1:][twice][0]
        raise InputError(f"the sparse features name column {column} twice in row {row}, expected every column once")
    if values is not None and (values.shape != columns.shape or values.dtype.kind not in "fiub"):
        raise InputError(
            f"the sparse features have {values.size} values ({values.dtype}), expected {columns.size} numbers"
        )
    return from_entries(rows, columns, values, num_rows, num_columns)


def as_scipy(x: Tensor | Csr) -> csr_array:
    """A matrix in SciPy's compressed rows, in double precision."""
    if isinstance(x, Tensor):
        return csr_array(x.double().numpy())
    values = np.ones(len(x.index)) if x.weight is None else x.weight.double().numpy()
    return csr_array((values, x.index.numpy(), x.ptr.numpy()), shape=(x.num_sets, x.num_elements))


def single(values: NDArray[Any]) -> NDArray[np.float32]:
    """In single precision; what is too large for it is infinite, which :meth:`Graph.make` refuses in a sentence."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def scaled(x: Tensor | Csr) -> Tensor | Csr:
    """Every column divided by its standard deviation over all nodes; a constant column is left as it is.

    :func:`standardised` also subtracts the column's mean, which makes sparse features dense. That adds the same row to
    every node, which the bias of a first linear layer can learn, if not where features are dropped or spread before it.

    >>> scaled(torch.tensor([[0.0, 3.0], [4.0, 3.0]])).tolist()
    [[0.0, 3.0], [2.0, 3.0]]
    """
    if isinstance(x, Tensor):
        return x / _spread(x.double().var(0, correction=0), x.double().square().mean(0)).to(x.dtype)
    nodes, columns = x.num_sets, x.index.long()
    values = torch.ones(len(columns), dtype=torch.float64) if x.weight is None else x.weight.double()

    def per_column(what: Tensor) -> Tensor:
        return torch.zeros(x.num_elements, dtype=torch.float64).scatter_add(0, columns, what)

    mean = per_column(values) / nodes
    absent = nodes - per_column(torch.ones_like(values))
    variance = (per_column((values - mean[columns]).square()) + absent * mean.square()) / nodes
    spread = _spread(variance, per_column(values.square()) / nodes)
    return Csr(x.ptr, x.index, x.num_elements, (values / spread[columns]).float(), x.transpose)


def standardised(x: Tensor | Csr) -> Tensor | Centred:
    """Every column of mean 0 and deviation 1 over all nodes; a constant column is 0.

    >>> standardised(torch.tensor([[0.0, 3.0], [4.0, 3.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    found = scaled(x)
    if isinstance(found, Tensor):
        return found - found.mean(0, dtype=torch.float64).to(found.dtype)
    assert found.weight is not None
    total = torch.zeros(found.num_elements, dtype=torch.float64)
    mean = total.scatter_add(0, found.index.long(), found.weight.double()) / found.num_sets
    return Centred(found, mean.float(), torch.ones(found.num_sets))


def _spread(variance: Tensor, mean_square: Tensor) -> Tensor:
    return torch.where(variance <= CONSTANT * mean_square, 1, variance).sqrt()


def tf_idf(x: Tensor | Csr) -> Tensor | Csr:
    """Every column weighed by how few nodes have it, every row then of length 1: scikit-learn's, for words of texts.

    A node without features stays without.

    >>> tf_idf(torch.tensor([[1.0, 1.0], [0.0, 1.0]])).round(decimals=2).tolist()
    [[0.8100000023841858, 0.5799999833106995], [0.0, 1.0]]
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    found = TfidfTransformer().fit_transform(as_scipy(x))
    if isinstance(x, Tensor):
        return torch.from_numpy(found.toarray()).to(x.dtype)
    return Csr(x.ptr, x.index, x.num_elements, torch.from_numpy(found.data).float(), x.transpose)


def binned(x: Tensor | Csr, parts: int = 4) -> Csr:
    """Every column as yes-or-no columns: is it there, and above each quartile of the values that are.

    So a network can tell much from little, as trees do. A column of 0 and 1 stays one column.

    Args:
        parts: into how many equal shares the values of a column are cut.

    >>> binned(torch.tensor([[0.0, 1.0], [3.0, 1.0], [5.0, 0.0]]), parts=2)  # the second column has one value
    Csr(3 sets of 3 elements, 5 entries)
    """
    return above(x, thresholds(x, parts))


def thresholds(x: Tensor | Csr, parts: int = 4) -> Tensor:
    """(parts - 1, d) what cuts each column's values, zeros left aside, into equal shares.

    Infinite where no value is above, or where the threshold before it asks the same.
    """
    _, columns, values = _entries(x)
    num_columns = x.shape[1] if isinstance(x, Tensor) else x.num_elements
    ordered = values[torch.from_numpy(np.lexsort((values.numpy(), columns.numpy())))]
    counts = torch.bincount(columns, minlength=num_columns)
    ends = counts.cumsum(0)
    before = torch.full((num_columns,), -torch.inf, dtype=torch.float64)  # everything that is there is above it
    largest = torch.zeros_like(before)
    largest[counts > 0] = ordered[ends[counts > 0] - 1]
    found = torch.full((parts - 1, num_columns), torch.inf, dtype=torch.float64)
    for part, row in enumerate(found, 1):
        below = (counts * part) // parts
        there = below > 0
        last = torch.full_like(before, torch.inf)
        last[there] = ordered[(ends - counts + below - 1)[there]]
        asked = (last > before) & (last < largest)
        row[asked] = before[asked] = last[asked]
    return found


def above(x: Tensor | Csr, limits: Tensor) -> Csr:
    """Yes-or-no columns: is a column there, and, behind all of these, is it above each of its finite thresholds.

    Args:
        limits: (parts - 1, d) as :func:`thresholds` gives them, perhaps those of other nodes.
    """
    rows, columns, values = _entries(x)
    asked = limits.isfinite()
    numbers = asked.flatten().cumsum(0).view_as(limits) - 1 + limits.shape[1]
    kept_rows, kept_columns = [rows], [columns]
    for limit, number in zip(limits, numbers, strict=True):
        yes = values > limit[columns]
        kept_rows.append(rows[yes])
        kept_columns.append(number[columns[yes]])
    num_rows, num_columns = x.shape[0] if isinstance(x, Tensor) else x.num_sets, binned_width(limits)
    return Csr.from_pairs(torch.cat(kept_rows), torch.cat(kept_columns), num_rows, num_columns).with_transpose()


def binned_width(limits: Tensor) -> int:
    """How many columns :func:`above` makes by these thresholds."""
    return limits.shape[1] + int(limits.isfinite().sum())


def _entries(x: Tensor | Csr) -> tuple[Tensor, Tensor, Tensor]:
    """The rows, columns and values of all that is not zero."""
    if isinstance(x, Tensor):
        rows, columns = x.nonzero().unbind(1)
        return rows, columns, x[rows, columns].double()
    values = torch.ones(len(x.index), dtype=torch.float64) if x.weight is None else x.weight.double()
    return x.rows, x.index.long(), values


#: what can be done with features before a model reads them
SCALINGS: dict[str, Callable[[Tensor | Csr], Features]] = {
    "none": lambda x: x,
    "deviation": scaled,
    "standard": standardised,
    "rows": row_normalised,
    "tf_idf": tf_idf,
    "binned": binned,
}
