"""The twist, equation (2) of the paper: all k-fold Hadamard products of M sums, weighted and added."""

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import Any

import torch
from torch import Tensor

from settwister._checks import choice
from settwister.errors import InputError
from settwister.functional.monomials import fold_ordered, num_multisets, raise_degree

FORMS = ("ordered", "multiset", "factored")
FEW_TUPLES = 16
MANY_SETS = 1_000  # from here on memory and not the number of calls decides what a quadratic twist costs


def twist(sums: Tensor, alpha: Tensor, k: int, form: str = "multiset") -> Tensor:
    r"""Combine M sums in all their k-fold Hadamard products.

    .. math:: f = \sum_{u_1 \le \dots \le u_k} \alpha_{u_1 \dots u_k} \odot S_{u_1} \odot \dots \odot S_{u_k}

    Args:
        sums: (…, M, d), one row per learned sum.
        alpha: the coefficients, by form:

            - ``"multiset"``: (C(M+k-1, k), d), rows as :func:`~settwister.functional.multisets` lists them;
            - ``"ordered"``: (M**k, d), rows as ``itertools.product(range(M), repeat=k)`` lists them;
            - ``"factored"``: (k, d, R, M), the low rank Σ_q Π_j (a_q^(j) · S), which costs R·k·M per channel.
        k: how many sums a product has; it may exceed M.

    Returns:
        (…, d)

    Example:
        >>> sums = torch.tensor([[2.0], [3.0]])                      # M = 2 sums of width 1
        >>> twist(sums, torch.tensor([[1.0], [10.0], [100.0]]), k=2)  # 2·2 + 10·2·3 + 100·3·3
        tensor([964.])
    """
    choice("form", form, FORMS)
    M, d = sums.shape[-2:]
    expected = {"multiset": (num_multisets(M, k), d), "ordered": (M**k, d), "factored": (k, d, *alpha.shape[-2:-1], M)}
    if tuple(alpha.shape) != expected[form]:
        raise InputError(
            f"alpha has shape {tuple(alpha.shape)}, expected {expected[form]} for the {form} form of degree {k} over "
            f"{M} sums of width {d}"
        )
    if form == "factored":
        return twist_factored(sums, alpha)
    if form == "ordered":
        return twist_ordered(sums, alpha, k)
    return twists(sums, {k: alpha})[0]


def twist_ordered(sums: Tensor, alpha: Tensor, k: int, fold: Tensor | None = None) -> Tensor:
    """The twist over ordered tuples, with alpha (M**k, d).

    Args:
        fold: :func:`~settwister.functional.fold_index` of M and k, where a caller has it at hand.
    """
    M = sums.shape[-2]
    if M**k > FEW_TUPLES:
        return twists(sums, {k: fold_ordered(alpha, M, k, fold)})[0]
    # A compiled graph fuses the products itself, and an exported one must not depend on how many sets there are.
    if k == 2 and sums.dim() == 3 and not torch.compiler.is_compiling() and len(sums) >= MANY_SETS:
        found: Tensor = _Quadratic.apply(sums, alpha.unflatten(0, (M, M)))
        return found
    # Few tuples: contracting one place after the other takes the fewest calls, and nothing need be folded.
    inner = alpha
    for _ in range(k):
        inner = (sums.unsqueeze(-3) * inner.unflatten(-2, (-1, M))).sum(-2)
    return inner.squeeze(-2)


class _Quadratic(torch.autograd.Function):
    """``Σ alpha_uv ⊙ S_u ⊙ S_v`` over ordered pairs: what is stored on the way is never wider than one sum.

    Shapes:
        sums (B, M, d), alpha (M, M, d) → (B, d)
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(sums: Tensor, alpha: Tensor) -> Tensor:
        each, both = sums.unbind(-2), alpha + alpha.transpose(0, 1)
        found = None
        for u, one in enumerate(each):
            inner = one * alpha[u, u]
            for v in range(u + 1, len(each)):
                inner = torch.addcmul(inner, each[v], both[u, v])
            found = one * inner if found is None else torch.addcmul(found, one, inner)
        assert found is not None
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Any, *tangent: Tensor) -> Tensor:
        sums, alpha = ctx.saved_tensors
        along_sums, along_alpha = tangent
        both = alpha + alpha.transpose(0, 1)
        crossed = sums.unsqueeze(-2) * both * along_sums.unsqueeze(-3)
        found: Tensor = crossed.sum((-2, -3)) + _Quadratic.forward(sums, along_alpha)
        return found

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, Tensor]:
        sums, alpha = ctx.saved_tensors
        each, both = sums.unbind(-2), alpha + alpha.transpose(0, 1)
        weighed = [grad[0] * one for one in each]
        to_sums = []
        for u in range(len(each)):
            back = weighed[0] * both[u, 0]
            for v in range(1, len(each)):
                back = torch.addcmul(back, weighed[v], both[u, v])
            to_sums.append(back)
        pairs = {(u, v): (weighed[u] * each[v]).sum(0) for u, v in combinations_with_replacement(range(len(each)), 2)}
        rows = [torch.stack([pairs[min(u, v), max(u, v)] for v in range(len(each))]) for u in range(len(each))]
        return torch.stack(to_sums, -2), torch.stack(rows)


def twists(sums: Tensor, alphas: Mapping[int, Tensor]) -> list[Tensor]:
    """Twists of several degrees from one set of sums, sharing every product that they share.

    Args:
        sums: (…, M, d).
        alphas: degree → coefficients of the multiset form, in ascending order of degree.

    Returns:
        One (…, d) per degree.
    """
    products, degree = sums, 1
    found = []
    for k, alpha in alphas.items():
        while degree < k - 1:
            degree += 1
            products = raise_degree(products, sums, degree)
        found.append(_contract(sums, products, alpha, k) if k > 1 else (sums * alpha).sum(-2))
    return found


def _contract(sums: Tensor, products: Tensor, alpha: Tensor, k: int) -> Tensor:
    """Σ_v S_v ⊙ (Σ alpha ⊙ the products of degree k-1 over branches 1 … v): degree k is never stored."""
    pieces = []
    start = 0
    for v in range(sums.shape[-2]):
        stop = start + num_multisets(v + 1, k - 1)
        inner = (products[..., : stop - start, :] * alpha[start:stop]).sum(-2)
        pieces.append(sums[..., v, :] * inner)
        start = stop
    return torch.stack(pieces).sum(0)


def twist_factored(sums: Tensor, factors: Tensor) -> Tensor:
    """The low-rank twist Σ_q Π_j (a_q^(j) · S), with factors (k, d, R, M)."""
    # Channels first, so that every factor is one batched matrix product (d, R, M) · (d, M, B).
    M, d = sums.shape[-2:]
    channels = sums.reshape(-1, M, d).permute(2, 1, 0).contiguous()
    product = torch.bmm(factors[0], channels)
    for factor in factors[1:]:
        product = product * torch.bmm(factor, channels)
    return product.sum(1).t().reshape(*sums.shape[:-2], d)
