"""Products of M sums, listed once each and built by sharing prefixes.

A multiset u1 ≤ … ≤ uk of branches names the monomial S_u1 ⊙ … ⊙ S_uk. Multisets are listed in *colexicographic* order
(compared from their largest member down), because then all monomials over the first v branches stand in front: degree j
is ``S_v ⊙ (a leading slice of degree j-1)`` for v = 1 … M, with no index and no gather.
"""

import itertools
import math

import torch
from torch import Tensor


def multisets(M: int, k: int) -> tuple[tuple[int, ...], ...]:
    """All multisets of k out of M branches, each ascending, in colexicographic order.

    >>> multisets(2, 2)
    ((0, 0), (0, 1), (1, 1))
    >>> multisets(3, 2)
    ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
    """
    found = itertools.combinations_with_replacement(range(M), k)
    return tuple(sorted(found, key=lambda u: u[::-1]))


def num_multisets(M: int, k: int) -> int:
    """C(M + k - 1, k), the number of multisets and of equation (2)'s alphas."""
    return math.comb(M + k - 1, k)


def raise_degree(monomials: Tensor, sums: Tensor, degree: int) -> Tensor:
    """Monomials of ``degree`` from those of one degree less: one product each.

    Args:
        monomials: (…, C(M+degree-2, degree-1), d).
        sums: (…, M, d).

    Returns:
        (…, C(M+degree-1, degree), d)
    """
    M = sums.shape[-2]
    return torch.cat(
        [sums[..., v : v + 1, :] * monomials[..., : num_multisets(v + 1, degree - 1), :] for v in range(M)],
        dim=-2,
    )


def monomials_up_to(sums: Tensor, degree: int) -> list[Tensor]:
    """Monomials of degrees 1 … ``degree``, each (…, C(M+j-1, j), d)."""
    found = [sums]
    for j in range(2, degree + 1):
        found.append(raise_degree(found[-1], sums, j))
    return found


def fold_index(M: int, k: int) -> Tensor:
    """(M**k,) where each ordered tuple stands among the multisets: ascending u is at Σ_j C(u_j + j, j + 1), j from 0.

    >>> fold_index(M=2, k=2).tolist()
    [0, 1, 1, 2]
    """
    tuples = torch.arange(M**k, device="cpu")
    digits = torch.stack([(tuples // M ** (k - 1 - j) % M).int() for j in range(k)])
    ascending = digits.sort(dim=0).values
    index = torch.zeros_like(tuples)
    for j in range(k):
        before = torch.tensor([math.comb(u + j, j + 1) for u in range(M)], device="cpu")
        index += before[ascending[j]]
    return index


def fold_ordered(alpha: Tensor, M: int, k: int, index: Tensor | None = None) -> Tensor:
    """Fold the M^k alphas of ordered tuples into the C(M+k-1, k) of multisets, by adding the orders of each.

    Args:
        index: :func:`fold_index` of M and k, where a caller has it at hand.

    >>> fold_ordered(torch.tensor([[1.0], [2.0], [3.0], [4.0]]), M=2, k=2).flatten().tolist()
    [1.0, 5.0, 4.0]
    """
    if index is None:
        index = fold_index(M, k).to(alpha.device)
    return alpha.new_zeros(num_multisets(M, k), alpha.shape[-1]).index_add(0, index, alpha)
