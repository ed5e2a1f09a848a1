"""The paper's theorems as tests that could fail."""

import itertools
import math

import pytest
import torch
from numpy.polynomial.legendre import leggauss

import settwister as st
from settwister import Sets
from settwister.theory import as_deepsets, error_in_mean, expansion, legendre_basis, orders_of, twisted

SMOOTH = {"gauss": (lambda x, y: torch.exp(-((x - y) ** 2)), 2), "cosine": (lambda x, y, z: torch.cos(x + y + z), 3)}


def over_tuples(f, h: torch.Tensor, k: int) -> torch.Tensor:
    """Definition 3: Σ over all k-tuples of elements, repeats included."""
    return sum(f(*h[list(t)].unbind()) for t in itertools.product(range(len(h)), repeat=k))


def test_the_basis_is_orthonormal() -> None:
    x, weight = map(torch.from_numpy, leggauss(60))
    basis = legendre_basis(x, 20)
    torch.testing.assert_close(basis.t() @ (basis * weight[:, None]), torch.eye(20, dtype=torch.double))


@pytest.mark.parametrize("name", SMOOTH)
def test_theorem_1_smooth_functions_converge_geometrically(name: str) -> None:
    f, k = SMOOTH[name]
    errors = [error_in_mean(f, k, M, nodes=60) for M in (2, 4, 6, 8, 10)]
    ratios = [later / earlier for earlier, later in itertools.pairwise(errors)]
    assert max(ratios) < 0.3
    assert ratios[-1] < ratios[0], "each further pair of basis functions gains more than the one before"
    assert errors[-1] < 1e-5


def test_theorem_1_a_kink_converges_at_the_algebraic_rate() -> None:
    """|x - y| has one and a half derivatives in L², so the error falls as M^-1.5."""
    sizes = [8, 16, 32]
    errors = [error_in_mean(lambda x, y: (x - y).abs(), 2, M, nodes=1000) for M in sizes]
    rates = [math.log(a / b) / math.log(2) for a, b in itertools.pairwise(errors)]
    assert all(1.4 < rate < 1.6 for rate in rates)


def test_theorem_1_a_polynomial_is_exact_to_rounding() -> None:
    assert error_in_mean(lambda x, y, z: x * y * z, 3, M=2, nodes=20) < 1e-14
    assert error_in_mean(lambda x, y, z: x * y * z, 3, M=1, nodes=20) > 0.1


@pytest.mark.parametrize("name", [*SMOOTH, "product"])
def test_theorem_1_the_twist_of_sums_is_the_sum_over_tuples(name: str) -> None:
    """And so Σ over n^k tuples costs n: with enough basis functions both agree on a set."""
    f, k = SMOOTH.get(name, (lambda x, y, z: x * y * z, 3))
    h = torch.rand(7, dtype=torch.double) * 2 - 1
    M = 24 if name != "product" else 2
    approximation = twisted(h, expansion(f, k, M, nodes=60), k, M)
    torch.testing.assert_close(approximation, over_tuples(f, h, k), atol=1e-7, rtol=1e-7)


def test_theorem_1_needs_the_constant() -> None:
    """Without c_u (every multiset weighted as one tuple) the same twist is wrong."""
    alpha = expansion(SMOOTH["gauss"][0], 2, 24, nodes=60)
    shares = torch.tensor([orders_of(u) for u in st.functional.multisets(24, 2)], dtype=torch.double)[:, None]
    h = torch.rand(7, dtype=torch.double) * 2 - 1
    exact = over_tuples(SMOOTH["gauss"][0], h, 2)
    assert (twisted(h, alpha / shares, 2, 24) - exact).abs() > 0.1


def mixed_derivative(f, h: torch.Tensor) -> torch.Tensor:
    """∂^k f / ∂h_1 … ∂h_k, by differentiating k times."""
    value = f(h)
    for i in range(len(h)):
        (gradient,) = torch.autograd.grad(value, h, create_graph=True, allow_unused=True, materialize_grads=True)
        value = gradient[i]
        if not value.requires_grad:
            value = value + 0 * h.sum()
    return value.detach()


@pytest.mark.parametrize("k", [2, 3, 4])
def test_theorem_2_a_product_of_k_needs_k(k: int) -> None:
    h = torch.randn(k, dtype=torch.double, requires_grad=True)
    product = mixed_derivative(lambda h: over_tuples(lambda *t: math.prod(t), h, k), h)
    torch.testing.assert_close(product, torch.tensor(float(math.factorial(k)), dtype=torch.double))


@pytest.mark.parametrize("form", ["ordered", "multiset", "factored"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_theorem_2_no_form_of_lower_order_reaches_it(k: int, form: str) -> None:
    """The mixed derivative of any (k-1)-ary twist of learned sums is 0 on k elements; of a k-ary one it is not."""
    found = {}
    for order in (k - 1, k):
        model = st.SetTwister(1, 1, (8, 8), (), M=2, k=order, form=form, norm=None, lower_orders="sum",
                              activation="tanh").double()  # fmt: skip
        h = torch.randn(k, dtype=torch.double, requires_grad=True)
        found[order] = mixed_derivative(lambda h, model=model: model(Sets.dense(h.reshape(1, -1, 1)))[0, 0], h)
    assert found[k - 1].abs() < 1e-12
    assert found[k].abs() > 1e-6


@pytest.mark.parametrize(("M", "k"), [(1, 1), (2, 2), (3, 2), (2, 3), (4, 4)])
@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_proposition_set_twister_contains_deepsets(M: int, k: int, pool: str) -> None:
    deepsets = st.DeepSets(3, 2, (6, 5), (4,), pool=pool)
    for parameter in deepsets.parameters():
        torch.nn.init.normal_(parameter)
    sets = Sets.ragged(torch.randn(9, 3), torch.tensor([0, 2, 2, 3, 9]))
    torch.testing.assert_close(as_deepsets(deepsets, M, k)(sets), deepsets(sets))


def test_the_papers_own_weights_are_deepsets_only_up_to_the_size() -> None:
    """Branches 2 … k that put out 1 sum to n: Π = n^(k-1) Σ φ_1, exact for one size of set only."""
    phi_1 = torch.randn(7, 5)
    for n in (1, 4, 7):
        sums = torch.stack([phi_1[:n], torch.ones(n, 5)], dim=1).sum(0)
        alpha = torch.zeros(3, 5)
        alpha[st.functional.multisets(2, 2).index((0, 1))] = 1
        torch.testing.assert_close(st.functional.twist(sums, alpha, 2), n * phi_1[:n].sum(0))
