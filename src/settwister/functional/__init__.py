"""Pure tensor functions: the incidence of a batch of sets, its sums, and the twist of those sums."""

from settwister.functional.incidence import Grid, Incidence, Matrix
from settwister.functional.monomials import fold_index, fold_ordered, monomials_up_to, multisets, num_multisets
from settwister.functional.neighbour_sum import Csr, neighbour_sum
from settwister.functional.twist import twist, twist_factored, twists

__all__ = [
    "Csr",
    "Grid",
    "Incidence",
    "Matrix",
    "fold_index",
    "fold_ordered",
    "monomials_up_to",
    "multisets",
    "neighbour_sum",
    "num_multisets",
    "twist",
    "twist_factored",
    "twists",
]
