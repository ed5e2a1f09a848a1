"""The neighbour sum against a dense matrix product: values, gradients of both orders, weights, empty rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from settwister import Sets
from settwister.functional import Csr, neighbour_sum


def random_csr(
    num_sets: int = 7, num_elements: int = 5, entries: int = 30, *, weighted: bool = False
) -> tuple[Csr, torch.Tensor]:
    """A sparse incidence, duplicates included, and the dense matrix it stands for."""
    rows = torch.randint(num_sets, (entries,))
    rows[rows == 2] = 3  # leaves set 2 empty
    columns = torch.randint(num_elements, (entries,))
    weight = torch.randn(entries, dtype=torch.double) if weighted else None
    values = torch.ones(entries, dtype=torch.double) if weight is None else weight
    dense = torch.zeros(num_sets, num_elements, dtype=torch.double).index_put((rows, columns), values, accumulate=True)
    return Csr.from_pairs(rows, columns, num_sets, num_elements, weight), dense


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("blocks", [None, 1, 2, 5, 7])
def test_equals_a_dense_product_and_so_do_its_gradients(weighted: bool, blocks: int | None) -> None:
    csr, dense = random_csr(weighted=weighted)
    csr = csr if blocks is None else csr.with_transpose(blocks)
    values = torch.randn(5, 3, dtype=torch.double, requires_grad=True)
    torch.testing.assert_close(neighbour_sum(values, csr), dense @ values)
    assert torch.autograd.gradcheck(lambda v: neighbour_sum(v, csr), (values,))
    assert torch.autograd.gradgradcheck(lambda v: neighbour_sum(v, csr).square(), (values,))


@pytest.mark.parametrize("blocks", [1, 3])
def test_weights_can_be_learned(blocks: int) -> None:
    edges = torch.tensor([[0, 1, 2, 2, 0], [1, 1, 0, 3, 1]])
    weight = torch.randn(5, dtype=torch.double, requires_grad=True)
    values = torch.randn(4, 2, dtype=torch.double, requires_grad=True)

    def summed(v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return neighbour_sum(v, Csr.from_pairs(edges[1], edges[0], 4, 4, w).with_transpose(blocks))

    assert torch.autograd.gradcheck(summed, (values, weight))
    assert torch.autograd.gradgradcheck(summed, (values, weight))


@given(some.integers(0, 40), some.integers(1, 9), some.integers(1, 9), some.integers(0, 2**31))
def test_any_size_equals_a_dense_product(entries: int, num_sets: int, num_elements: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(num_sets, (entries,), generator=generator)
    columns = torch.randint(num_elements, (entries,), generator=generator)
    dense = torch.zeros(num_sets, num_elements).index_put((rows, columns), torch.ones(entries), accumulate=True)
    values = torch.randn(num_elements, 3, generator=generator)
    csr = Csr.from_pairs(rows, columns, num_sets, num_elements)
    torch.testing.assert_close(neighbour_sum(values, csr), dense @ values)
    torch.testing.assert_close(neighbour_sum(values, csr.with_transpose()), dense @ values)


def test_tall_matrices_of_few_columns_are_transposed_in_blocks() -> None:
    """The gradient is the same; a sum over many columns, or few rows, stays in one block."""
    tall, dense = random_csr(9000, 6, 20_000)
    cut = tall.with_transpose()
    assert cut.transpose is not None
    assert cut.transpose.blocks == 9
    found = []
    for csr in (cut, tall.with_transpose(blocks=1)):
        values = torch.randn(6, 3, dtype=torch.double, generator=torch.Generator().manual_seed(0)).requires_grad_()
        out = neighbour_sum(values, csr)
        torch.testing.assert_close(out, dense @ values)
        (grad,) = torch.autograd.grad(out.square().sum(), values)
        found.append(grad)
    torch.testing.assert_close(*found)
    for csr in (random_csr(9000, 6, 400)[0], random_csr(7000, 6, 20_000)[0], random_csr(9000, 900, 20_000)[0]):
        whole = csr.with_transpose().transpose
        assert whole is not None
        assert whole.blocks == 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ready", [False, True])
def test_sums_of_half_precision_are_taken_in_single(dtype: torch.dtype, weighted: bool, ready: bool) -> None:
    csr, _ = random_csr(4, 5, 3_000, weighted=weighted)
    csr = csr.with_transpose() if ready else csr
    values = torch.rand(5, 3).to(dtype).requires_grad_()
    full = values.detach().float().requires_grad_()
    out, expected = neighbour_sum(values, csr), neighbour_sum(full, csr)
    assert torch.equal(out, expected)
    for summed in (out, expected):
        summed.sum().backward()
    assert values.grad is not None
    assert full.grad is not None
    assert torch.equal(values.grad, full.grad.to(dtype))
    assert csr.sizes(values).dtype == dtype


def test_indices_are_int32_and_rows_sorted() -> None:
    csr, _ = random_csr()
    assert csr.ptr.dtype == csr.index.dtype == torch.int32
    assert csr.lengths[2] == 0
    assert torch.equal(csr.rows, csr.rows.sort().values)


def test_no_elements_at_all() -> None:
    csr = Csr.from_pairs(torch.empty(0).long(), torch.empty(0).long(), num_sets=3, num_elements=0).with_transpose()
    values = torch.zeros(0, 2, requires_grad=True)
    out = neighbour_sum(values, csr)
    assert torch.equal(out, torch.zeros(3, 2))
    out.sum().backward()
    assert values.grad is not None


def test_the_transpose_is_built_only_where_gradients_are_wanted() -> None:
    x, edges = torch.randn(3, 2), torch.tensor([[0, 1], [1, 2]])
    assert Sets.neighbours(x, edges).incidence.transpose is not None
    with torch.no_grad():
        assert Sets.neighbours(x, edges).incidence.transpose is None
