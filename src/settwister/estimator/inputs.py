"""What people have, as what the models read: features and labels in any of their common forms."""

import hashlib
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from torch import Tensor

from settwister.errors import InputError
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.features import from_rows
from settwister.graphs.splits import stratified_parts

MOSTLY_ZERO = 0.2  # a matrix with a smaller share of non-zeros is read as a sparse one
MinusOne = Literal["unknown", "class", "guess"]
CONSTANT = 1e-13  # a column that varies by less than this part of its largest value is constant up to rounding
LARGEST = float(np.finfo(np.float32).max)

# ---- features -------------------------------------------------------------------------------------------------------


def rows(estimator: Any, X: Any, *, reset: bool, sparse: bool = True) -> Any:
    """(N, d) X as scikit-learn checks it, dense or compressed sparse rows, all numbers finite.

    Args:
        estimator: whose ``n_features_in_`` and ``feature_names_in_`` are compared, or set if ``reset``.
        sparse: whether a sparse matrix is allowed.
    """
    if hasattr(X, "edge_index"):
        raise InputError(f"X is a {type(X).__name__}, expected features: give its x, and the graph itself as edges")
    try:
        found = validate_data(
            estimator,
            from_torch(X),
            accept_sparse="csr" if sparse else False,
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            reset=reset,
        )
    except ValueError as error:
        raise InputError(str(error)) from error
    values = found.data if scipy.sparse.issparse(found) else found
    largest = float(np.maximum(values.max(initial=0), -values.min(initial=0)))
    if not np.isfinite(largest):
        raise InputError(
            f"X has {np.count_nonzero(~np.isfinite(values))} values that are NaN or infinite, expected finite numbers: "
            "drop or fill them first"
        )
    if largest > LARGEST:
        raise InputError(
            f"X holds {largest:.3g}, expected numbers of single precision, up to {LARGEST:.3g}: rescale it"
        )
    return found


def from_torch(given: Any) -> Any:
    """A tensor as NumPy or, if it is sparse, SciPy has it; all else as it is."""
    if not isinstance(given, Tensor):
        return given
    tensor = given.detach().cpu()
    if tensor.layout == torch.strided:
        return tensor.numpy()
    entries = tensor.to_sparse_coo().coalesce()
    return scipy.sparse.csr_matrix((entries.values().numpy(), entries.indices().numpy()), shape=tuple(tensor.shape))


def lean(x: Any) -> Any:
    """A matrix as compressed sparse rows if it is mostly zeros, else as an array, however it was stored."""
    if not scipy.sparse.issparse(x):
        return scipy.sparse.csr_matrix(x) if np.count_nonzero(x) < MOSTLY_ZERO * x.size else x
    x = x.tocsr()
    if not x.has_canonical_format:
        x = x.copy()  # nobody's matrix is changed
        x.sum_duplicates()
    return x if np.count_nonzero(x.data) < MOSTLY_ZERO * x.shape[0] * x.shape[1] else x.toarray()


def features(x: Any) -> Tensor | Csr:
    """Features as the first layer reads them: sparse if they are mostly zeros, which gives the same sums.

    Args:
        x: (N, d) finite numbers, an array or a scipy sparse matrix.
    """
    found = lean(x)
    if scipy.sparse.issparse(found):
        return from_rows(found.indptr, found.indices, found.data, found.shape)
    return torch.from_numpy(np.require(found, np.float32, ["C", "W"]))  # torch warns of what it could not write to


def standard(
    values: NDArray[np.float64], counts: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of every column; a column that is constant, but for rounding, has deviation 1.

    Args:
        values: (N, d); counts: (N,) how often each row occurs.
    """
    if counts is not None:
        values, counts = values[counts > 0], counts[counts > 0]
    if len(values) == 0:
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    apart = values - values[0]  # so that large numbers which differ by little lose nothing
    mean = np.average(apart, axis=0, weights=counts)
    deviation = np.sqrt(np.average((apart - mean) ** 2, axis=0, weights=counts))
    varies = apart.max(0) - apart.min(0) > CONSTANT * np.abs(values).max(0)
    return values[0] + mean, np.where(varies & (deviation > 0), deviation, 1.0)


def ids_of(X: Any) -> Any:
    """The names of the nodes: a data frame's index, unless it just numbers the rows."""
    index = getattr(X, "index", None)
    if index is None or callable(index):
        return None
    if type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return None
    return index.tolist()


def order_of(names: Sequence[Any]) -> str:
    """The same for the same names in the same order, and for no others."""
    return hashlib.sha256(repr(list(names)).encode()).hexdigest()


def same_order(names: Any, y: Any) -> None:
    """Refuse labels whose own index names the rows in another order than the index of X does."""
    of_labels = ids_of(y) if hasattr(y, "isna") else None
    if names is not None and of_labels is not None and of_labels != names:
        raise InputError(
            "y names its rows otherwise than X, or in another order, expected one index for both: give y.loc[X.index], "
            "or y.to_numpy() if the order is right"
        )


# ---- labels ---------------------------------------------------------------------------------------------------------


def labels(y: Any, minus_one: MinusOne = "guess") -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels that are known, and (N,) which they are; None, NaN and pandas' missing value are unknown.

    Args:
        minus_one: whether -1 is a class or unknown too. The guess is that it is unknown, unless there is nothing but -1
            and 1, which are two classes as scikit-learn's users write them.
    """
    if y is None:
        raise InputError("a classifier requires y to be passed, but the target y is None: give one label per row")
    if hasattr(y, "isna") and not isinstance(getattr(y, "dtype", None), np.dtype | None):
        y = y.to_numpy(dtype=object)  # pandas' own types; as floats, whole numbers with a gap would be others
    try:
        # As objects, since in an array of text NaN would be a word and -1 another.
        array: NDArray[Any] = column_or_1d(
            np.array(y, dtype=object) if isinstance(y, list | tuple) else from_torch(y), warn=True
        )
    except ValueError as error:
        raise InputError(str(error)) from error
    if array.dtype.kind == "f":
        known = ~np.isnan(array)
    elif array.dtype.kind == "O":
        known = np.array([not _missing(value) for value in array], dtype=bool)
        if minus_one != "class" and any(isinstance(value, str | bool | np.bool_) for value in array):
            known &= np.array([not _is_minus_one(value) for value in array])
    else:
        known = np.ones(len(array), dtype=bool)
    values = _typed(array[known])
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise InputError("Input y contains infinity, expected classes; NaN or -1 where a label is unknown")
    if minus_one == "class" or values.dtype.kind not in "iuf":
        return values, known
    if minus_one == "guess" and set(np.unique(values).tolist()) == {-1, 1}:
        warnings.warn("y holds just -1 and 1: they are taken as two classes, and no label as unknown", stacklevel=4)
        return values, known
    known[known] = values != -1
    return values[values != -1], known


def classes(values: NDArray[Any], note: str = "") -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes among known labels, sorted, and for each label the number of its class.

    Args:
        note: for the message where there is only one.
    """
    if len(values) == 0:
        raise InputError("no label is known, expected at least two classes")
    try:
        check_classification_targets(values)
    except ValueError as error:
        raise InputError(str(error)) from error
    found, codes = np.unique(values, return_inverse=True)
    if len(found) < 2:
        raise InputError(f"y has 1 class ({found.tolist()[0]!r}), expected at least 2{note}")
    return found, codes


def share_met(predicted: NDArray[Any], y: Any, known_classes: NDArray[Any], sample_weight: Any = None) -> float:
    """The share of the labels in y that were met, of those that are known; weighted where a weight is given."""
    found, known = labels(y, "class" if -1 in known_classes.tolist() else "unknown")
    if len(known) != len(predicted) or not known.any():
        raise InputError(
            f"y has {len(known)} labels, {known.sum()} of them known, expected {len(predicted)}, one per row of X"
        )
    if sample_weight is None:
        return float(np.mean(predicted[known] == found))
    weight = np.asarray(sample_weight)
    if weight.shape != known.shape:
        raise InputError(f"sample_weight has shape {weight.shape}, expected {known.shape}, one number per row of X")
    if not weight[known].sum() > 0:
        raise InputError("sample_weight adds up to nothing over the known labels, expected some that count")
    return float(np.average(predicted[known] == found, weights=weight[known]))


def _missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_minus_one(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(value == -1)


def _typed(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as an array of their type, so that they can be compared, sorted and saved."""
    if values.dtype.kind in "iufbU":
        return values
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain}
    if kinds <= {str} or kinds <= {bool} or kinds <= {int, float}:
        found = np.array(plain)
        if found.dtype.kind in "iufbU":
            return found
    raise InputError(
        f"y holds labels of type {', '.join(sorted(kind.__name__ for kind in kinds))}, expected all numbers, all "
        "strings or all booleans"
    )


# ---- choices --------------------------------------------------------------------------------------------------------


def held_back(
    validation: Any, known: NDArray[np.bool_], codes: NDArray[np.int64], fraction: float, seed: int
) -> NDArray[np.bool_]:
    """(labelled nodes,) which of them are held back: as given, or the same share of every class.

    Args:
        validation: row numbers, or a boolean per row; None for a random share.
        known: (N,) which labels are known; codes: their classes.
    """
    if validation is None:
        found: NDArray[np.bool_] = stratified_parts(codes, (1 - fraction, fraction), seed) == 1
        return found
    wanted = np.asarray(from_torch(validation))
    if wanted.dtype == bool and wanted.shape == known.shape:
        wanted = wanted.nonzero()[0]
    elif wanted.size and (wanted.dtype.kind not in "iu" or wanted.ndim != 1):
        raise InputError(
            f"validation is {wanted.dtype} of shape {wanted.shape}, expected row numbers or a boolean for each of the "
            f"{len(known)} rows"
        )
    held: NDArray[np.bool_] = np.isin(known.nonzero()[0], wanted)
    if held.sum() != len(np.unique(wanted)) or held.all():
        raise InputError("validation names rows without a label, or all that have one, expected some of them")
    return held


def seed_of(random_state: Any) -> int:
    """A seed for everything; without a random state a new one every time, and no global generator is asked."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31 - 1))
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise InputError(
            f"random_state is {random_state!r}, expected None, a whole number from 0 to {2**32 - 1}, or a RandomState"
        ) from None
