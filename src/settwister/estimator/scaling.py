"""What becomes of features before a network reads them: learned from training rows, and kept with the classifier.

Numbers of different sizes are standardised. Features that are mostly zeros, such as words of texts, stay sparse: as
they are, or, where there are labels enough to learn from it, as yes-or-no columns.
"""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from settwister.errors import InputError
from settwister.estimator.inputs import features, lean, standard
from settwister.estimator.settings import few_labels
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.features import above, binned_width, thresholds


class Scaling(Protocol):
    """From (N, d) rows to what the first layer reads."""

    def __call__(self, array: Any) -> Tensor | Csr: ...

    def width(self, columns: int) -> int:
        """How many features a network reads of so many columns."""
        ...

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """What was learned."""
        ...


class Unscaled:
    """Features as they are."""

    def __call__(self, array: Any) -> Tensor | Csr:
        return features(array)

    def width(self, columns: int) -> int:
        return columns

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        return {}


@dataclass(frozen=True, eq=False)
class Standardised:
    """Every column less its mean, by its deviation."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Self:
        return cls(*standard(rows.astype(np.float64)))

    def __call__(self, array: Any) -> Tensor:
        full = array.toarray() if scipy.sparse.issparse(array) else array
        return torch.from_numpy((full - self.mean) / self.deviation).float()

    def width(self, columns: int) -> int:
        return columns

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        return {"mean": self.mean, "scale": self.deviation}


@dataclass(frozen=True, eq=False)
class Binned:
    """Every column as yes-or-no columns: is it there, and above each quartile of the values that are."""

    thresholds: Tensor

    @classmethod
    def of(cls, rows: Any) -> Self:
        return cls(thresholds(features(rows)))

    def __call__(self, array: Any) -> Csr:
        return above(features(array), self.thresholds)

    def width(self, columns: int) -> int:
        return binned_width(self.thresholds)

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        return {"thresholds": self.thresholds.numpy()}


def learned(array: Any, train: NDArray[Any], wanted: Any, labelled: int) -> Scaling:
    """The scaling of some rows.

    Args:
        array: (N, d) numbers, dense or sparse; train: the rows to learn from.
        wanted: the estimator's setting ``scale``.
        labelled: how many labels are known.
    """
    if wanted is False:
        return Unscaled()
    if wanted == "binned":
        return Binned.of(array[train])
    compact = lean(array)
    if not scipy.sparse.issparse(compact):
        return Standardised.of(compact[train])
    if wanted == "auto":
        found = Binned.of(compact[train])
        asks_more = found.width(array.shape[1]) > array.shape[1]
        return found if asks_more and not few_labels(array.shape[1], labelled) else Unscaled()
    if scipy.sparse.issparse(array):
        raise InputError("scale is True with sparse X, expected 'auto', 'binned' or False: centring makes it dense")
    return Standardised.of(array[train])
