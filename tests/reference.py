"""Slow and obvious: loops over tuples of elements, with which every fast path is compared."""

import itertools

import torch
from torch import Tensor


def twist_over_tuples(phi: Tensor, alpha: Tensor, k: int, form: str, *, constant: bool, distinct: bool) -> Tensor:
    """f_k of one set, straight from the definition: a sum over tuples of branches and tuples of elements.

    Args:
        phi: (n, M, d), the branches' values on each element.
        alpha: as functional.twist takes it.
        constant: a branch that is 1 whatever the elements are stands behind the M learned ones.
        distinct: only tuples of different elements; a constant takes part in no tuple.
    """
    n, M, d = phi.shape
    branches = range(M + constant)
    total = torch.zeros(d, dtype=phi.dtype)
    for u in itertools.product(branches, repeat=k):
        weight = coefficient(alpha, u, M + constant, form)
        if weight is None:
            continue
        real = [branch for branch in u if branch < M]
        for elements in itertools.product(range(n), repeat=len(real)):
            if distinct and len(set(elements)) < len(elements):
                continue
            product = weight
            for branch, element in zip(real, elements, strict=True):
                product = product * phi[element, branch]
            total = total + product
    return total


def coefficient(alpha: Tensor, u: tuple[int, ...], factors: int, form: str) -> Tensor | None:
    """The coefficient of an ordered tuple of branches; None where the multiset form lists another order of it."""
    if form == "ordered":
        return alpha[list(itertools.product(range(factors), repeat=len(u))).index(u)]
    if form == "multiset":
        listed = sorted(itertools.combinations_with_replacement(range(factors), len(u)), key=lambda t: t[::-1])
        return alpha[listed.index(u)] if u in listed else None
    product = torch.ones_like(alpha[0, :, :, 0])  # (d, R)
    for j, branch in enumerate(u):
        product = product * alpha[j, :, :, branch]
    return product.sum(-1)


def block_diagonal(weight: Tensor) -> Tensor:
    """The masked dense matrix (out, in) that a BlockLinear of (M, in/M, out/M) stands for."""
    return torch.block_diag(*[block.t() for block in weight])
