"""Sets: five layouts of the same sets, and one clear sentence for what cannot be one."""

import numpy as np
import pytest
import scipy.sparse
import torch

from settwister import InputError, Sets

X = torch.arange(12.0).reshape(4, 3)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_layouts_describe_the_same_sets() -> None:
    """{x0, x1}, {}, {x2, x3, x2} five ways."""
    occurrences = torch.tensor([0, 1, 2, 3, 2])
    padded = torch.stack([torch.stack([X[0], X[1], X[1] * 0]), torch.full((3, 3), torch.nan), X[[2, 3, 2]]])
    mask = torch.tensor([[True, True, False], [False] * 3, [True] * 3])
    counts = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 2, 1]])
    edges = torch.tensor([[0, 1, 2, 3, 2], [0, 0, 2, 2, 2]])
    shuffled = torch.tensor([3, 0, 4, 2, 1])
    layouts = [
        Sets.dense(padded, mask),
        Sets.ragged(X[occurrences], torch.tensor([0, 2, 2, 5])),
        Sets.indexed(X[occurrences][shuffled], torch.tensor([0, 0, 2, 2, 2])[shuffled], 3),
        Sets.bags(X, counts),
        Sets.bags(X, counts.to_sparse_coo()),
        Sets.bags(X, counts.to_sparse_csr()),
        Sets.bags(X, scipy.sparse.csr_matrix(counts.numpy())),
        Sets.bags(X.numpy(), scipy.sparse.coo_array(counts.numpy())),
    ]
    expected = torch.stack([X[0] + X[1], torch.zeros(3), X[2] + X[3] + X[2]])
    for sets in layouts:
        assert len(sets) == 3
        torch.testing.assert_close(sets.sum(sets.elements), expected)
        assert sets.sizes(X).tolist() == [2, 0, 3]
        assert sorted(row for bucket in sets.buckets() for row in bucket.rows.tolist()) == [0, 2]
    neighbours = Sets.neighbours(X, edges)  # one more set than the others: node 3 has no neighbours
    torch.testing.assert_close(neighbours.sum(X)[:3], expected)
    assert neighbours.sizes(X).tolist() == [2, 0, 3, 0]


def test_nothing_given_is_changed() -> None:
    x, mask = torch.full((1, 2, 2), torch.nan), torch.tensor([[True, False]])
    x[0, 0] = 1
    before = x.clone()
    Sets.dense(x, mask)
    assert torch.equal(x, before) or torch.equal(x.isnan(), before.isnan())


def test_values_of_any_trailing_shape_are_summed() -> None:
    sets = Sets.ragged(X, torch.tensor([0, 1, 4]))
    values = torch.randn(4, 2, 5)
    torch.testing.assert_close(sets.sum(values)[1], values[1:].sum(0))


def test_half_precision_values_are_summed_in_float32() -> None:
    x = torch.ones(5000, 1, dtype=torch.bfloat16)  # bfloat16 cannot count past 256
    assert Sets.ragged(x, torch.tensor([0, 5000])).sum(x).item() == 5000
    with torch.autocast("cpu", dtype=torch.bfloat16):
        counts = torch.ones(1, 5000)
        assert Sets.bags(torch.ones(5000, 1), counts).sum(torch.ones(5000, 1)).item() == 5000


def test_buckets_pad_at_most_twice_and_skip_empty_sets() -> None:
    sizes = torch.tensor([0, 1, 2, 3, 4, 5, 100, 0, 63])
    sets = Sets.ragged(torch.randn(int(sizes.sum()), 2), torch.nn.functional.pad(sizes.cumsum(0), (1, 0)))
    padded = 0
    for bucket in sets.buckets():
        masks = torch.ones_like(bucket.index, dtype=torch.bool) if bucket.mask is None else bucket.mask
        assert masks.sum(1).tolist() == sizes[bucket.rows].tolist()
        padded += masks.numel()
        for row, index, mask in zip(bucket.rows, bucket.index, masks, strict=True):
            start = int(sizes[:row].sum())
            assert index[mask].tolist() == list(range(start, start + int(sizes[row])))
    assert padded <= 2 * int(sizes.sum())


def test_other_elements_and_other_types() -> None:
    sets = Sets.ragged(X, torch.tensor([0, 1, 4]))
    assert sets.to(torch.float64).elements.dtype == torch.float64
    assert sets.with_elements(torch.ones(4, 1)).sum(torch.ones(4, 1)).flatten().tolist() == [1, 3]
    with pytest.raises(InputError, match="3 elements given, expected 4"):
        sets.with_elements(torch.ones(3, 1))


INF = torch.tensor([[1.0, 2.0], [torch.inf, 0.0]])
BAD = {
    "nan": (lambda: Sets.dense(torch.full((1, 2, 3), torch.nan)), "6 values that are NaN or infinite, the first nan"),
    "inf": (lambda: Sets.ragged(INF, torch.tensor([0, 2])), "the first inf at row 1, column 0, expected finite"),
    "inf features": (lambda: Sets.neighbours(INF, torch.tensor([[0], [1]])), "expected finite numbers"),
    "inf counts": (lambda: Sets.bags(X, torch.full((2, 4), torch.inf)), "counts has 8 values that are NaN or infinite"),
    "two dims": (
        lambda: Sets.dense(X),
        "x is float32 of shape (4, 3), expected floating-point numbers of",
    ),
    "integers": (lambda: Sets.ragged(X.long(), torch.tensor([0, 4])), "x is int64 of shape (4, 3), expected floating"),
    "mask shape": (
        lambda: Sets.dense(X[None], torch.ones(1, 3).bool()),
        "mask is bool of shape (1, 3), expected booleans of shape (1, 4)",
    ),
    "mask type": (lambda: Sets.dense(X[None], torch.ones(1, 4)), "mask is float32 of shape (1, 4), expected booleans"),
    "ptr falls": (
        lambda: Sets.ragged(X, torch.tensor([0, 3, 2, 4])),
        "ptr falls from 3 to 2 at set 1, expected offsets that never fall",
    ),
    "ptr ends early": (lambda: Sets.ragged(X, torch.tensor([0, 3])), "ptr runs from 0 to 3, expected from 0 to 4"),
    "ptr starts late": (lambda: Sets.ragged(X, torch.tensor([1, 4])), "ptr runs from 1 to 4, expected from 0 to 4"),
    "ptr empty": (lambda: Sets.ragged(X, torch.empty(0).long()), "ptr is empty, expected one more offset"),
    "ptr floats": (lambda: Sets.ragged(X, torch.tensor([0.0, 4.0])), "ptr is float32 of shape (2,), expected int64"),
    "index past": (
        lambda: Sets.indexed(X, torch.tensor([0, 1, 2, 1]), 2),
        "index holds 2, expected ids from 0 to 1 (below 2, num_sets)",
    ),
    "index negative": (lambda: Sets.indexed(X, torch.tensor([0, -1, 1, 1]), 2), "index holds -1, expected ids"),
    "index short": (lambda: Sets.indexed(X, torch.tensor([0]), 2), "index has 1 entries, expected 4, one per row of x"),
    "edge unknown": (
        lambda: Sets.neighbours(X, torch.tensor([[0], [9]])),
        "edges holds 9, expected ids from 0 to 3 (below 4, the rows of x)",
    ),
    "edges by rows": (
        lambda: Sets.neighbours(X, torch.tensor([[0, 1], [1, 2], [2, 3]])),
        "edges is int64 of shape (3, 2), expected shape (2, edges)",
    ),
    "weight short": (
        lambda: Sets.neighbours(X, torch.tensor([[0, 1], [1, 2]]), torch.ones(3)),
        "weight has 3 entries, expected 2, one per edge",
    ),
    "counts narrow": (lambda: Sets.bags(X, torch.ones(2, 3)), "counts has shape (2, 3), expected (sets, 4)"),
    "numpy strings": (
        lambda: Sets.ragged(np.array(["a"]), [0, 1]),
        "x is a ndarray that torch makes no tensor of",
    ),
    "devices": (
        lambda: Sets.ragged(X, torch.empty(2, dtype=torch.long, device="meta")),
        "ptr is on meta, expected cpu, where the elements are",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_sentence(case: str) -> None:
    build, message = BAD[case]
    with pytest.raises(InputError) as caught:
        build()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
