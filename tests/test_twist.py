"""The twist against loops over tuples of elements, in float64, values and gradients."""

import itertools
import math
import sys

import pytest
import torch

import settwister as st
from reference import twist_over_tuples
from settwister import InputError
from settwister.functional import fold_ordered, multisets, num_multisets, twist
from settwister.functional.twist import MANY_SETS, twist_ordered
from settwister.nn.twist import ScaleKeepingNorm

FORMS = ["ordered", "multiset", "factored"]


def expected_output(module: st.Twist, phi: torch.Tensor) -> torch.Tensor:
    """The whole module, norm excepted, on one set."""
    parts = [phi.sum(0).flatten()] if module.lower_orders == "concat" else []
    for degree, alpha in module.alpha.items():
        f = twist_over_tuples(
            phi,
            alpha,
            int(degree),
            module.form,
            constant=module.lower_orders == "sum",
            distinct=module.distinct,
        )
        parts.append(f + module.bias[degree] if module.form == "ordered" else f)
    return torch.cat(parts)


@pytest.mark.parametrize("distinct", [False, True], ids=["", "distinct"])
@pytest.mark.parametrize("lower_orders", [None, "concat", "sum"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("M", "k"), [(1, 1), (3, 1), (2, 2), (3, 2), (1, 3), (2, 3), (3, 3), (2, 4)])
def test_equals_loops_over_tuples(M: int, k: int, form: str, lower_orders: str | None, distinct: bool) -> None:
    module = st.Twist(M, k, dim=2, form=form, rank=2 if form == "factored" else None, lower_orders=lower_orders,
                      distinct=distinct).double()  # fmt: skip
    for bias in module.bias.values():
        torch.nn.init.normal_(bias)
    phi = torch.randn(4, M, 2, dtype=torch.double, requires_grad=True)
    parameters = [phi, *module.parameters()]

    fast = module(module.lift(phi).sum(0, keepdim=True))[0]
    slow = expected_output(module, phi)
    torch.testing.assert_close(fast, slow)

    direction = torch.randn_like(slow)
    ours, reference = (torch.autograd.grad(out @ direction, parameters, materialize_grads=True) for out in (fast, slow))
    for a, b in zip(ours, reference, strict=True):
        torch.testing.assert_close(a, b)


def test_k_larger_than_m_and_deep_orders_in_plain_products() -> None:
    """Degrees that loops over elements cannot reach, against a loop over branches only."""
    for M, k in [(2, 6), (3, 5), (8, 4)]:
        sums = torch.randn(3, M, 4, dtype=torch.double)
        alpha = torch.randn(num_multisets(M, k), 4, dtype=torch.double)
        slow = sum(alpha[i] * sums[:, list(u)].prod(1) for i, u in enumerate(multisets(M, k)))
        torch.testing.assert_close(twist(sums, alpha, k), slow)


def test_multisets_are_all_of_them_once() -> None:
    for M, k in itertools.product(range(1, 6), range(1, 5)):
        listed = multisets(M, k)
        assert sorted(listed) == sorted(itertools.combinations_with_replacement(range(M), k))
        assert len(listed) == num_multisets(M, k) == math.comb(M + k - 1, k)


def test_folding_the_ordered_alphas_changes_nothing() -> None:
    sums, alpha = torch.randn(5, 3, 4, dtype=torch.double), torch.randn(27, 4, dtype=torch.double)
    torch.testing.assert_close(
        twist(sums, alpha, 3, "ordered"), twist(sums, fold_ordered(alpha, M=3, k=3), 3, "multiset")
    )


@pytest.mark.parametrize("M", [1, 2, 3])
def test_many_sets_at_once_are_twisted_as_few_are(M: int) -> None:
    """From MANY_SETS on pairs have a path of their own: values, gradients and torch.func's against the other one."""
    sums = torch.randn(MANY_SETS, M, 2, dtype=torch.double, requires_grad=True)
    alpha = torch.randn(M**2, 2, dtype=torch.double, requires_grad=True)
    many, few = twist_ordered(sums, alpha, 2), torch.cat([twist_ordered(s, alpha, 2) for s in sums.split(100)])
    torch.testing.assert_close(many, few)
    direction = torch.randn_like(many)
    ours, expected = (torch.autograd.grad((out * direction).sum(), (sums, alpha)) for out in (many, few))
    torch.testing.assert_close(ours, expected)

    def total(sums: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
        return twist_ordered(sums, alpha, 2).square().sum()

    stacked = torch.stack([alpha.detach(), 2 * alpha.detach()])
    by_each = torch.func.vmap(torch.func.grad(total, argnums=1), (None, 0))(sums.detach(), stacked)
    for found, one in zip(by_each, stacked, strict=True):
        one.requires_grad_()
        torch.testing.assert_close(found, torch.autograd.grad(total(sums.detach(), one), one)[0])


def test_many_sets_have_second_and_forward_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["settwister.functional.twist"], "MANY_SETS", 1)
    inputs = [torch.randn(4, 3, 2, dtype=torch.double, requires_grad=True), torch.randn(9, 2).double().requires_grad_()]
    assert torch.autograd.gradcheck(lambda s, a: twist_ordered(s, a, 2), inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda s, a: twist_ordered(s, a, 2), inputs)


def test_leading_dimensions_are_kept() -> None:
    for form in FORMS:
        module = st.Twist(2, 3, 4, form)
        sums = torch.randn(5, 6, 2, 4)
        torch.testing.assert_close(module(sums)[2, 3], module(sums[2, 3]))


def squared_moment(M: int, constants: int, k: int, *, ordered: bool) -> int:
    """Σ over products of k factors of E (product)², the M sums standard normal: enumerated, E S^2m = (2m-1)!!."""
    total = 0
    for u in multisets(M + constants, k):
        times = [u.count(branch) for branch in range(M + constants)]
        moment = math.prod(math.prod(range(1, 2 * m, 2)) for m in times[:M])
        orders = math.factorial(k) // math.prod(map(math.factorial, times)) if ordered else 1
        total += orders * moment
    return total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lower_orders", [None, "sum"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("M", [1, 2, 5, 16])
def test_starts_with_unit_variance(M: int, k: int, form: str, lower_orders: str | None) -> None:
    """Products of many normals have tails too heavy to sample, so the expectation over the sums is enumerated, and the
    coefficients' own variance is measured on the module; small degrees are also simply run."""
    constants = int(lower_orders == "sum")
    products = squared_moment(M, constants, k, ordered=form != "multiset")
    rank = 8 if form == "factored" else None
    coefficients = {"ordered": (M + constants) ** k, "multiset": num_multisets(M, k), "factored": 8 * k * M}[form]
    module = st.Twist(M, k, max(2, 2**17 // coefficients), form, rank=rank, lower_orders=lower_orders)
    alpha_variance = float(module.alpha[str(k)].detach().double().square().mean())
    variance = 8 * products * alpha_variance**k if form == "factored" else products * alpha_variance
    assert variance == pytest.approx(1, rel=0.02 * k)

    if k <= 2:
        sums = torch.randn(2**21 // (M * module.dim), M, module.dim)
        assert float(module(sums).detach().square().mean()) == pytest.approx(1, rel=0.1)


def test_runs_in_float32_under_autocast() -> None:
    sums = torch.full((1, 2, 4), 3000.0)  # squares overflow float16 and lose digits in bfloat16
    module = st.Twist(2, 2, 4, "multiset")
    plain = module(sums)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = module(sums)
    assert mixed.dtype == torch.float32
    torch.testing.assert_close(mixed, plain)


def test_asinh_keeps_products_of_huge_sets_finite_and_in_order() -> None:
    """A hub of degree 13,000 at k = 3 reaches 10^12 or so; rho should see numbers it can learn from."""
    module = st.Twist(2, 3, 4, "multiset", norm="asinh")
    plain = st.Twist(2, 3, 4, "multiset")
    plain.alpha.load_state_dict(module.alpha.state_dict())
    sums = torch.randn(5, 2, 4) * 13_000
    torch.testing.assert_close(module(sums), 2 * (plain(sums) / 2).asinh())
    assert module(sums).abs().max() < 100
    near_zero = sums * 1e-6
    torch.testing.assert_close(module(near_zero), plain(near_zero), atol=1e-6, rtol=1e-3)


def test_layer_norm_keeps_the_scale() -> None:
    norm = ScaleKeepingNorm(6)
    x = torch.randn(4, 6) * 100
    out = norm(x)
    torch.testing.assert_close(out[:, :-1], torch.nn.functional.layer_norm(x, (6,)))
    torch.testing.assert_close(out[:, -1], (1 + x.var(1, correction=0).add(1e-5).sqrt()).log())


@pytest.mark.parametrize("norm", [None, "asinh", "layer"])
def test_no_norm_takes_a_set_for_the_same_set_twice(norm: str | None) -> None:
    model = st.SetTwister(3, 4, norm=norm)
    x = torch.randn(1, 5, 3)
    once, twice = model(st.Sets.dense(x)), model(st.Sets.dense(torch.cat([x, x], dim=1)))
    assert not torch.allclose(once, twice, atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(M=2, k=0, dim=4), "k is 0, expected a whole number of at least 1"),
        (dict(M=0, k=2, dim=4), "M is 0, expected"),
        (dict(M=2, k=2.0, dim=4), "k is 2.0, expected"),
        (dict(M=2, k=2, dim=4, form="cubic"), "form is 'cubic', expected one of 'ordered', 'multiset', 'factored'"),
        (dict(M=2, k=2, dim=4, rank=3), "only the factored form has a rank"),
        (dict(M=2, k=5, dim=4, distinct=True), "k is 5 with distinct=True, expected at most 4"),
        (dict(M=16, k=8, dim=4), 'use form="factored"'),
        (dict(M=2, k=2, dim=1, norm="layer"), "expected a width of at least 2"),
        (dict(M=2, k=2, dim=4, lower_orders="all"), "lower_orders is 'all', expected one of None, 'concat', 'sum'"),
    ],
)
def test_bad_arguments_say_what_was_expected(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        st.Twist(**arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_bad_shapes_say_what_was_expected() -> None:
    with pytest.raises(InputError, match=r"expected \(…, 2, 4\)"):
        st.Twist(2, 2, 4)(torch.zeros(3, 4, 2))
    with pytest.raises(InputError, match=r"expected \(3, 4\) for the multiset form of degree 2 over 2 sums"):
        twist(torch.zeros(5, 2, 4), torch.zeros(4, 4), k=2)
