"""The twist as a module: coefficients, their start, lower orders, distinct tuples, normalisation."""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from settwister._checks import choice, flag, whole_number
from settwister.errors import InputError
from settwister.functional.autocast import full_precision
from settwister.functional.distinct import LARGEST_K, block_rows, distinct_monomials, distinct_product, subsets
from settwister.functional.monomials import fold_index, fold_ordered, monomials_up_to, num_multisets
from settwister.functional.twist import FORMS, twist_factored, twist_ordered, twists

MOST_PRODUCTS = 2**25
LARGEST_DEGREE = 64  # a product of more factors than this has no digits left in float32

Form = Literal["ordered", "multiset", "factored"]
LowerOrders = Literal["concat", "sum"]
Norm = Literal["asinh", "layer"]


class Twist(nn.Module):
    r"""All k-fold Hadamard products of M sums, with learnable coefficients.

    .. math:: f_{M,k} = \sum_{u_1 \dots u_k} \alpha_{u_1 \dots u_k} \odot S_{u_1} \odot \dots \odot S_{u_k}

    Args:
        M: how many sums; k: how many of them a product has (it may exceed M); dim: their width d_rep.
        form: ``"ordered"`` has M^k alphas and a bias, as the paper's code; ``"multiset"`` has one alpha per product,
            C(M+k-1, k), as the paper's equation (2); ``"factored"`` has alphas of rank ``rank``, so that k and M can
            grow: its cost is rank·k·M per channel.
        rank: of the factored form; 4·M where left out.
        lower_orders: ``"concat"`` puts out the sums themselves and every degree 2 … k; ``"sum"`` appends a constant 1
            to the sums, so that the one form of degree k contains every lower degree.
        distinct: only tuples of different elements (k ≤ 4). Then :meth:`lift` must be pooled instead of the plain sums.
        norm: what tames the products, which grow as n^k. ``"asinh"`` puts every output through asinh, with
            learned gains before and behind it: linear near 0, logarithmic far out, and nothing about the set is lost.
            ``"layer"`` is a LayerNorm per order; it would not tell a set from the same set twice, so the logarithm of
            each scale it divides out goes along, as one more number per order.

    Shapes:
        (…, pooled, dim) → (…, out_dim), where ``pooled`` is M unless ``distinct``. Computed in at least float32, also
        under autocast, because products of sums grow as n^k.

    Example:
        >>> twist = Twist(M=3, k=2, dim=4, form="multiset")
        >>> tuple(twist(torch.randn(8, 3, 4)).shape), twist.alpha["2"].shape[0]
        ((8, 4), 6)
    """

    def __init__(
        self,
        M: int,
        k: int,
        dim: int,
        form: Form = "ordered",
        rank: int | None = None,
        lower_orders: LowerOrders | None = None,
        distinct: bool = False,
        norm: Norm | None = None,
    ) -> None:
        super().__init__()
        self.M = whole_number("M", M)
        self.k = whole_number("k", k, most=LARGEST_DEGREE)
        self.dim = whole_number("dim", dim)
        self.form: str = choice("form", form, FORMS)
        self.lower_orders: str | None = choice("lower_orders", lower_orders, (None, "concat", "sum"))
        self.distinct = flag("distinct", distinct)
        if rank is not None and form != "factored":
            raise InputError(f"rank is {rank} with form={form!r}, expected None: only the factored form has a rank")
        if distinct and k > LARGEST_K:
            raise InputError(f"k is {k} with distinct=True, expected at most {LARGEST_K}")
        self.rank = whole_number("rank", 4 * M if rank is None else rank)
        #: sums that the products are made of: M, and one constant where lower orders are summed
        self.factors = M + (lower_orders == "sum")
        products = self.factors**k if form == "ordered" else num_multisets(self.factors, k)
        if form != "factored" and products > MOST_PRODUCTS:
            raise InputError(
                f"M={M} and k={k} make {products} products in the {form} form, expected at most {MOST_PRODUCTS}: use "
                'form="factored", whose cost grows as rank·k·M'
            )
        orders = range(min(2, k), k + 1) if lower_orders == "concat" else (k,)
        self.alpha = nn.ParameterDict({str(j): nn.Parameter(torch.empty(self._alpha_shape(j))) for j in orders})
        self.bias = nn.ParameterDict({j: nn.Parameter(torch.empty(dim)) for j in self.alpha if form == "ordered"})
        widths = ([M * dim] if lower_orders == "concat" else []) + [dim] * len(orders)
        self.norm: str | None = choice("norm", norm, (None, *NORMS))
        if norm == "layer" and dim < 2:
            raise InputError(
                'norm is "layer" with dim=1, expected a width of at least 2: LayerNorm of one number is always 0'
            )
        self.norms = nn.ModuleList(NORMS[norm](width) for width in widths) if norm else None
        self.out_dim = sum(width + (norm == "layer") for width in widths)
        #: the degree in phi of every vector that :meth:`lift` returns
        self.degrees = self._degrees()
        self._make_tables()
        self.reset_parameters()

    def _make_tables(self) -> None:
        """Index tables that follow from M and k: they move with the module and are not saved."""
        for j in map(int, self.alpha):
            if self.form == "ordered":
                self.register_buffer(f"fold_{j}", fold_index(self.factors, j), persistent=False)
        if self.distinct and self.form != "factored":
            for j in range(1, self.k + 1):
                self.register_buffer(f"blocks_{j}", block_rows(self.M, j), persistent=False)

    def _table(self, name: str, degree: int) -> Tensor:
        table: Tensor = getattr(self, f"{name}_{degree}")
        return table

    def _alpha_shape(self, degree: int) -> tuple[int, ...]:
        return {
            "ordered": (self.factors**degree, self.dim),
            "multiset": (num_multisets(self.factors, degree), self.dim),
            "factored": (degree, self.dim, self.rank, self.factors),
        }[self.form]

    def reset_parameters(self) -> None:
        """Start so that independent sums of unit variance give outputs of unit variance, whatever form, k and M."""
        for degree, alpha in self.alpha.items():
            nn.init.normal_(alpha, std=self._start_std(int(degree)))
        for bias in self.bias.values():
            nn.init.zeros_(bias)

    def _start_std(self, degree: int) -> float:
        constants = self.factors - self.M
        if self.form == "multiset":
            return 1 / math.sqrt(_multiset_moment(self.M, constants, degree))
        moment = _norm_moment(self.M, constants, degree)
        if self.form == "ordered":
            return 1 / math.sqrt(moment)
        return math.pow(self.rank * moment, -1 / (2 * degree))

    # ---- what is pooled ---------------------------------------------------------------------------------------------

    def _degrees(self) -> tuple[int, ...]:
        if not self.distinct:
            return (1,) * self.M
        if self.form == "factored":
            per_order = [len(s) for j in self.alpha for s in subsets(int(j)) for _ in range(self.rank)]
            return (1,) * self.M + tuple(per_order)
        return tuple(j for j in range(1, self.k + 1) for _ in range(num_multisets(self.M, j)))

    def lift(self, values: Tensor) -> Tensor:
        """What must be summed over each set: (U, M, dim) → (U, pooled, dim), the first M vectors unchanged.

        The identity, unless ``distinct``: then also the products of branches within each element.
        """
        if not self.distinct:
            return values
        if self.form != "factored":
            return torch.cat(monomials_up_to(values, self.k), dim=-2)
        lifted = [values]
        for degree, factors in self.alpha.items():
            mixed = torch.einsum("umd,jdrm->jurd", values, factors[..., : self.M])
            lifted += [mixed[list(subset)].prod(0) for subset in subsets(int(degree))]
        return torch.cat(lifted, dim=-2)

    # ---- the twist itself -------------------------------------------------------------------------------------------

    def forward(self, sums: Tensor) -> Tensor:
        pooled = len(self.degrees)
        if sums.dim() < 2 or tuple(sums.shape[-2:]) != (pooled, self.dim):
            raise InputError(f"sums have shape {tuple(sums.shape)}, expected (…, {pooled}, {self.dim})")
        with full_precision(sums.device.type):
            return self._forward(sums.to(torch.promote_types(sums.dtype, torch.float32)))

    def _forward(self, sums: Tensor) -> Tensor:
        alphas = {int(degree): alpha.to(sums.dtype) for degree, alpha in self.alpha.items()}
        if self.distinct:
            found = self._distinct_twists(sums, alphas)
        elif self.form == "factored":
            found = [twist_factored(self._with_constant(sums), factors) for factors in alphas.values()]
        elif self.form == "ordered":
            with_constant = self._with_constant(sums)
            found = [twist_ordered(with_constant, a, j, self._table("fold", j)) for j, a in alphas.items()]
        else:
            found = twists(self._with_constant(sums), alphas)
        if self.form == "ordered":
            found = [f + bias for f, bias in zip(found, self.bias.values(), strict=True)]
        if self.lower_orders == "concat":
            found.insert(0, sums[..., : self.M, :].flatten(-2))
        if self.norms is not None:
            found = [norm(f) for norm, f in zip(self.norms, found, strict=True)]
        return torch.cat(found, dim=-1)

    def _with_constant(self, sums: Tensor) -> Tensor:
        """The sums, and a constant 1 behind them where lower orders are summed."""
        return torch.cat([sums, torch.ones_like(sums[..., :1, :])], dim=-2) if self.lower_orders == "sum" else sums

    def _distinct_twists(self, pooled: Tensor, alphas: dict[int, Tensor]) -> list[Tensor]:
        if self.form == "factored":
            return self._distinct_factored(pooled, alphas)
        found = []
        for degree, given in alphas.items():
            ordered = self.form == "ordered"
            alpha = fold_ordered(given, self.factors, degree, self._table("fold", degree)) if ordered else given
            # In colexicographic order, multisets with a constant (the last factor) are those of one degree less.
            lowest = 1 if self.lower_orders == "sum" else degree
            terms = [distinct_monomials(pooled, self._table("blocks", j)) for j in range(degree, lowest - 1, -1)]
            if self.lower_orders == "sum":
                terms.append(torch.ones_like(pooled[..., :1, :]))
            found.append((torch.cat(terms, dim=-2) * alpha).sum(-2))
        return found

    def _distinct_factored(self, pooled: Tensor, alphas: dict[int, Tensor]) -> list[Tensor]:
        found = []
        start = self.M
        for degree, factors in alphas.items():
            by_subset = {}
            for subset in subsets(degree):
                by_subset[subset] = pooled[..., start : start + self.rank, :]
                start += self.rank
            product = distinct_product(by_subset, range(degree))
            if self.lower_orders == "sum":
                constants = factors[..., self.M].transpose(-1, -2)  # (degree, rank, dim)
                for subset in subsets(degree)[:-1]:
                    rest = [j for j in range(degree) if j not in subset]
                    product = product + constants[rest].prod(0) * distinct_product(by_subset, subset)
                product = product + constants.prod(0)
            found.append(product.sum(-2))
        return found

    def extra_repr(self) -> str:
        rank = f", rank={self.rank}" if self.form == "factored" else ""
        return (
            f"M={self.M}, k={self.k}, dim={self.dim}, form={self.form!r}{rank}, lower_orders={self.lower_orders!r}, "
            f"distinct={self.distinct}, norm={self.norm!r}"
        )


class Asinh(nn.Module):
    r"""``weight · asinh(gain · x) + bias``, elementwise, all three learned: tames products of any size, one-to-one.

    The gain sets where linear ends and logarithmic begins. It starts at ½, and the weight at 2, so that small values
    pass unchanged: from 1, errors on a variance are half as large again; from 0.1, maxmin loses six points.
    """

    START = 0.5

    def __init__(self, width: int) -> None:
        super().__init__()
        self.log_gain = nn.Parameter(torch.full((width,), math.log(self.START)))
        self.weight = nn.Parameter(torch.full((width,), 1 / self.START))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.asinh(x * self.log_gain.exp()) * self.weight + self.bias


class ScaleKeepingNorm(nn.Module):
    """LayerNorm that appends ``log(1 + standard deviation)``, the scale that it divides out: (…, d) → (…, d + 1)."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scale = (centred.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return torch.cat([centred / scale * self.weight + self.bias, scale.log1p()], dim=-1)


NORMS: dict[str, Callable[[int], nn.Module]] = {"asinh": Asinh, "layer": ScaleKeepingNorm}


def _norm_moment(M: int, constants: int, k: int) -> int:
    """E (|S|² + constants)^k for S standard normal in R^M: the variance of a sum over all ordered k-tuples."""
    return sum(math.comb(k, i) * constants ** (k - i) * math.prod(M + 2 * j for j in range(i)) for i in range(k + 1))


def _multiset_moment(M: int, constants: int, k: int) -> int:
    """Σ over multisets of E Π S_u²: the coefficient of t^k in (Σ_m (2m-1)!! t^m)^M (Σ_m t^m)^constants."""
    one = [math.prod(range(1, 2 * m, 2)) for m in range(k + 1)]
    found = [1] + [0] * k
    for series in [one] * M + [[1] * (k + 1)] * constants:
        found = [sum(found[i] * series[degree - i] for i in range(degree + 1)) for degree in range(k + 1)]
    return found[k]
