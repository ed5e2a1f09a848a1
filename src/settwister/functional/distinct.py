r"""Sums over tuples of *different* elements, still linear in the size of the set.

A product of sums also counts tuples that repeat an element. Over different elements only,

.. math:: \sum_{i_1 \ne \dots \ne i_k} \prod_j f_j(i_j)
          = \sum_{\pi} \prod_{B \in \pi} (-1)^{|B|-1} (|B|-1)! \sum_i \prod_{j \in B} f_j(i)

over all partitions π of {1 … k} into blocks B (for k = 2: S_1 S_2 − Σ_i f_1 f_2). So the products inside the blocks are
taken per element and pooled once, and everything after that is per set. Bell(4) = 15 terms is where we stop.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from settwister.functional.monomials import multisets

LARGEST_K = 4

Partition = tuple[tuple[int, ...], ...]


def set_partitions(k: int) -> tuple[Partition, ...]:
    """All partitions of {0 … k-1} into blocks.

    >>> set_partitions(2)
    (((0, 1),), ((0,), (1,)))
    >>> [len(set_partitions(k)) for k in range(1, 5)]
    [1, 2, 5, 15]
    """
    if k == 0:
        return ((),)
    found: list[Partition] = []
    for partition in set_partitions(k - 1):
        for i, block in enumerate(partition):
            found.append((*partition[:i], (*block, k - 1), *partition[i + 1 :]))
        found.append((*partition, (k - 1,)))
    return tuple(found)


def sign(partition: Partition) -> int:
    """The partition's coefficient in the inclusion–exclusion, Π (-1)^(|B|-1) (|B|-1)!."""
    return math.prod([(-1) ** (len(block) - 1) * math.factorial(len(block) - 1) for block in partition])


def block_rows(M: int, k: int) -> Tensor:
    """(partitions, k, C(M+k-1, k)): for every block of every partition, where the monomial of that part of every
    multiset stands among all pooled monomials; -1 where a partition has fewer than k blocks."""
    row = {u: i for i, u in enumerate(u for degree in range(1, k + 1) for u in multisets(M, degree))}
    listed, partitions = multisets(M, k), set_partitions(k)
    table = torch.full((len(partitions), k, len(listed)), -1, device="cpu")
    for p, partition in enumerate(partitions):
        for b, block in enumerate(partition):
            table[p, b] = torch.tensor([row[tuple(sorted(u[j] for j in block))] for u in listed], device="cpu")
    return table


def distinct_monomials(pooled: Tensor, rows: Tensor) -> Tensor:
    """Every monomial of degree k, summed over tuples of different elements only.

    Args:
        pooled: (…, P, d), the monomials of degrees 1, 2, … of each element (at least up to k), pooled over the set.
        rows: :func:`block_rows` of M and k.

    Returns:
        (…, C(M+k-1, k), d)
    """
    terms = []
    for table, partition in zip(rows, set_partitions(rows.shape[1]), strict=True):
        factors = [pooled.index_select(-2, table[b]) for b in range(len(partition))]
        terms.append(sign(partition) * _product(factors))
    return torch.stack(terms).sum(0)


def subsets(k: int) -> tuple[tuple[int, ...], ...]:
    """Nonempty subsets of {0 … k-1}, by size.

    >>> subsets(2)
    ((0,), (1,), (0, 1))
    """
    numbered = [tuple(j for j in range(k) if bits >> j & 1) for bits in range(1, 2**k)]
    return tuple(sorted(numbered, key=lambda subset: (len(subset), subset)))


def distinct_product(pooled: dict[tuple[int, ...], Tensor], members: Sequence[int]) -> Tensor:
    """Π_{j in members} f_j summed over tuples of different elements, from pooled products of every subset."""
    terms = []
    for partition in set_partitions(len(members)):
        factors = [pooled[tuple(members[j] for j in block)] for block in partition]
        terms.append(sign(partition) * _product(factors))
    return torch.stack(terms).sum(0)


def _product(factors: Sequence[Tensor]) -> Tensor:
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product
