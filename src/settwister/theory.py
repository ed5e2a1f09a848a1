r"""The paper's theory, made computable: Theorem 1's expansion and the Proposition's weights.

Theorem 1 says that a k-ary function summed over all tuples of a set is the limit of twists, because f expands in
products of an orthogonal basis. Here the basis is Legendre's on [-1, 1], so every coefficient can be computed and the
error measured. The constant that the paper leaves open, for a symmetric f: a multiset u of basis functions stands for
c_u = k! / Π m_u! ordered tuples (m_u: how often u occurs), so its coefficient is c_u times that of one tuple.
"""

import math
from collections import Counter
from collections.abc import Callable

import torch
from numpy.polynomial.legendre import leggauss
from torch import Tensor, nn

from settwister.functional import multisets, twist
from settwister.nn import BlockLinear, DeepSets, SetTwister

Symmetric = Callable[..., Tensor]


def legendre_basis(x: Tensor, M: int) -> Tensor:
    """The first M Legendre polynomials, of unit norm on [-1, 1]: (…,) → (…, M).

    >>> legendre_basis(torch.tensor([1.0], dtype=torch.double), 3).round(decimals=3).tolist()
    [[0.707, 1.225, 1.581]]
    """
    values = [torch.ones_like(x), x]
    for degree in range(1, M - 1):
        values.append(((2 * degree + 1) * x * values[-1] - degree * values[-2]) / (degree + 1))
    norms = torch.tensor([math.sqrt(degree + 0.5) for degree in range(M)], dtype=x.dtype)
    return torch.stack(values[:M], dim=-1) * norms


def expansion(f: Symmetric, k: int, M: int, nodes: int = 200) -> Tensor:
    """Theorem 1's alphas: the coefficients of a symmetric k-ary f in multisets of M Legendre polynomials.

    Args:
        f: a symmetric function of k tensors that broadcast, each with values in [-1, 1].
        nodes: Gauss–Legendre nodes per variable.

    Returns:
        (C(M+k-1, k), 1), in the order of :func:`~settwister.functional.multisets`; float64.
    """
    coefficients = _of_ordered_tuples(f, k, M, nodes)
    return torch.stack([orders_of(u) * coefficients[u] for u in multisets(M, k)]).unsqueeze(-1)


def orders_of(u: tuple[int, ...]) -> int:
    """c_u = k! / Π m_u!: how many ordered tuples the multiset stands for.

    >>> orders_of((0, 0, 1)), orders_of((0, 1, 2))
    (3, 6)
    """
    return math.factorial(len(u)) // math.prod(math.factorial(times) for times in Counter(u).values())


def twisted(h: Tensor, alpha: Tensor, k: int, M: int) -> Tensor:
    """The twist of M Legendre sums: approximates Σ over k-tuples of f(h_i1 … h_ik), at a cost linear in the set.

    Args:
        h: (…, n) sets of numbers in [-1, 1].

    Returns:
        (…,)
    """
    sums = legendre_basis(h, M).sum(-2).unsqueeze(-1)
    return twist(sums, alpha, k).squeeze(-1)


def error_in_mean(f: Symmetric, k: int, M: int, nodes: int = 200) -> float:
    """The root of the mean squared error of the expansion over [-1, 1]^k."""
    x, weight = _quadrature(nodes)
    approximation = _of_ordered_tuples(f, k, M, nodes)
    for _ in range(k):  # turn one basis index at a time back into a variable
        approximation = torch.tensordot(approximation, legendre_basis(x, M), dims=([0], [1]))
    squared = (f(*_grid(x, k)) - approximation).square()
    for _ in range(k):
        squared = torch.tensordot(squared, weight, dims=([0], [0]))
    return math.sqrt(float(squared) / 2**k)


def as_deepsets(deepsets: DeepSets, M: int = 2, k: int = 2) -> SetTwister:
    r"""The Proposition: a Set Twister that equals a given DeepSets, for any M ≥ 1 and k.

    The first branch is DeepSets' phi and all alphas are 0 but that of S_1 · 1 · … · 1, which is 1. The paper takes
    branches φ_2 … φ_k that put out 1; their *sums* are n, so what it builds is ρ(n^(k-1) Σ φ), which is DeepSets only
    for sets of one size. A constant among the sums (``lower_orders="sum"``) makes it exact for all.
    """
    config = deepsets.config
    twister = SetTwister(
        config["in_dim"],
        config["out_dim"],
        phi=tuple(M * width for width in config["phi"]),
        rho=config["rho"],
        M=M,
        k=k,
        form="multiset",
        lower_orders="sum",
        norm=None,
        independent=True,
        **{name: config[name] for name in ("activation", "pool", "bias", "dropout")},
    )
    with torch.no_grad():
        for ours, theirs in zip(twister.phi, deepsets.phi, strict=True):
            if not isinstance(theirs, nn.Linear):
                continue
            if isinstance(ours, BlockLinear):
                ours.weight[0] = theirs.weight.t()
            elif isinstance(ours, nn.Linear):
                ours.weight[: theirs.out_features] = theirs.weight
            if isinstance(ours.bias, Tensor):
                ours.bias[: theirs.out_features] = theirs.bias
        twister.twist.alpha[str(k)].zero_()
        twister.twist.alpha[str(k)][multisets(M + 1, k).index((0, *(M,) * (k - 1)))] = 1
        twister.rho.load_state_dict(deepsets.rho.state_dict())
    return twister


def _grid(x: Tensor, k: int) -> list[Tensor]:
    """x along each of k axes."""
    return [x.reshape([-1 if axis == j else 1 for axis in range(k)]) for j in range(k)]


def _of_ordered_tuples(f: Symmetric, k: int, M: int, nodes: int) -> Tensor:
    """(M, …, M): the integrals of f against every ordered product of k basis functions."""
    x, weight = _quadrature(nodes)
    weighted = legendre_basis(x, M) * weight.unsqueeze(-1)
    coefficients = f(*_grid(x, k))
    for _ in range(k):  # integrate out one variable at a time, turning it into a basis index
        coefficients = torch.tensordot(coefficients, weighted, dims=([0], [0]))
    return coefficients


def _quadrature(nodes: int) -> tuple[Tensor, Tensor]:
    """Gauss–Legendre nodes and weights on [-1, 1]."""
    x, weight = leggauss(nodes)
    return torch.from_numpy(x), torch.from_numpy(weight)
