r"""Sums over tuples of *different* elements, still linear in the size of the set.

A product of sums also counts tuples that repeat an element. Over different elements only,

.. math:: \sum_{i_1 \ne \dots \ne i_k} \prod_j f_j(i_j)
          = \sum_{\pi} \prod_{B \in \pi} (-1)^{|B|-1} (|B|-1)! \sum_i \prod_{j \in B} f_j(i)

over all partitions π of {1 … k} into blocks B (for k = 2: S_1 S_2 − Σ_i f_1 f_2). So the products inside the blocks are
taken per element and pooled once, and everything after that is per set. Bell(4) = 15 terms is where we stop.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from settwister.functional.monomials import multisets, num_multisets

LARGEST_K = 4

Partition = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=8)
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
    return math.prod((-1) ** (len(block) - 1) * math.factorial(len(block) - 1) for block in partition)


@lru_cache(maxsize=64)
def _block_rows(M: int, k: int) -> tuple[tuple[int, tuple[Tensor, ...]], ...]:
    """Per partition: its sign, and per block the row of every multiset's block among all pooled monomials."""
    first_row = [0, 0]
    for degree in range(1, k):
        first_row.append(first_row[-1] + num_multisets(M, degree))
    row = {u: first_row[j] + i for j in range(1, k + 1) for i, u in enumerate(multisets(M, j))}
    return tuple(
        (sign(partition), tuple(_rows_of_block(row, block, multisets(M, k)) for block in partition))
        for partition in set_partitions(k)
    )


def _rows_of_block(
    row: dict[tuple[int, ...], int], block: tuple[int, ...], listed: Sequence[tuple[int, ...]]
) -> Tensor:
    return torch.tensor([row[tuple(sorted(u[j] for j in block))] for u in listed], device="cpu")


def distinct_monomials(pooled: Tensor, M: int, k: int) -> Tensor:
    """Every monomial of degree k, summed over tuples of different elements only.

    Args:
        pooled: (…, P, d), the monomials of degrees 1, 2, … of each element (at least up to k), pooled over the set.

    Returns:
        (…, C(M+k-1, k), d)
    """
    terms = []
    for coefficient, blocks in _block_rows(M, k):
        factors = [pooled.index_select(-2, rows.to(pooled.device)) for rows in blocks]
        terms.append(coefficient * _product(factors))
    return torch.stack(terms).sum(0)


@lru_cache(maxsize=8)
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
