"""Sets in any of their common forms, as :class:`~settwister.Sets` of double precision."""

from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from settwister.errors import InputError
from settwister.estimator.inputs import LARGEST, from_torch, rows
from settwister.functional.incidence import Grid, Matrix
from settwister.functional.neighbour_sum import Csr
from settwister.sets import Sets


def sets_of(estimator: Any, X: Any, *, reset: bool) -> Sets:
    """Sets of finite elements, as wide as those that the estimator was fitted on.

    Args:
        estimator: whose ``n_features_in_`` is compared, or set if ``reset``.
        X: a :class:`~settwister.Sets`, a list of (n_i, d) arrays, a (B, n, d) array, or (B, d): one element per set.
    """
    given = from_torch(X)
    if scipy.sparse.issparse(given):
        raise InputError("X is sparse, expected dense elements: a list of (n, d) arrays, or X.toarray()")
    if isinstance(given, dict) or hasattr(given, "__next__"):
        raise InputError(f"X is a {type(X).__name__}, expected sets: a list of (n, d) arrays, an array or Sets")
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind == "O":
        given = list(given)
    if isinstance(given, Sets):
        found = given.to(torch.float64)
    elif isinstance(given, list | tuple) and any(_is_matrix(one) for one in given):
        found = _ragged(given)
    elif getattr(given, "ndim", 0) == 3:
        found = Sets.dense(_numbers("X", given), check=False)
    else:
        return Sets.dense(rows(estimator, given, reset=reset, sparse=False).astype(np.float64)[:, None, :])
    _check(estimator, found, reset=reset)
    return found


def _check(estimator: Any, sets: Sets, *, reset: bool) -> None:
    if reset:
        estimator.n_features_in_ = sets.dim
        estimator.__dict__.pop("feature_names_in_", None)
    if sets.dim == 0 or sets.dim != estimator.n_features_in_:
        expected = "at least 1" if reset else f"{estimator.n_features_in_}, as in fit"
        raise InputError(f"elements have {sets.dim} features, expected {expected}")
    if not bool((sets.elements.abs() <= LARGEST).all()):  # NaN is not less than anything
        odd = int((~(sets.elements.abs() <= LARGEST)).sum())
        raise InputError(
            f"the sets hold {odd} values that are NaN, infinite or above {LARGEST:.3g}, expected finite numbers of "
            "single precision: drop or fill them first"
        )


def _is_matrix(one: Any) -> bool:
    if isinstance(one, list | tuple):
        return len(one) > 0 and isinstance(one[0], list | tuple | np.ndarray)
    return bool(getattr(one, "ndim", 0) == 2)


def _ragged(given: Any) -> Sets:
    arrays = [_matrix(place, one) for place, one in enumerate(given)]
    widths = {one.shape[1] for one in arrays if one is not None}
    if len(widths) > 1:
        raise InputError(f"sets have elements of {sorted(widths)} features, expected as many in all of them")
    width = widths.pop()
    filled = [np.empty((0, width)) if one is None else one for one in arrays]
    return Sets.ragged(np.concatenate(filled), np.cumsum([0, *(len(one) for one in filled)]), check=False)


def _matrix(place: int, given: Any) -> NDArray[np.float64] | None:
    """One set as (n, d); None for an empty one that does not say how wide its elements would be."""
    found = _numbers(f"set {place}", from_torch(given))
    if found.ndim == 1 and found.size == 0:
        return None
    if found.ndim != 2:
        raise InputError(f"set {place} has shape {found.shape}, expected (elements, features)")
    return found


def _numbers(name: str, given: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(given, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} cannot be read as numbers ({error}), expected (elements, features) arrays") from None


def occurrences(sets: Sets) -> Tensor:
    """(U,) how often the sets hold each of the distinct elements, or with how much absolute weight."""
    held, like = sets.incidence, sets.elements
    if isinstance(held, Matrix):
        return held.counts.to(like.dtype).abs().sum(0)
    if isinstance(held, Grid):
        return like.new_ones(len(like)) if held.mask is None else held.mask.flatten().to(like.dtype)
    assert isinstance(held, Csr)
    weight = like.new_ones(len(held.index)) if held.weight is None else held.weight.to(like.dtype).abs()
    return like.new_zeros(len(like)).index_add(0, held.index.long(), weight)
