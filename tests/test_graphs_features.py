"""Features: sparse ones are scaled as dense ones, and keep their gradients."""

import numpy as np
import pytest
import torch

from graph_files import dense
from settwister.functional import Csr
from settwister.graphs import binned, scaled, standardised, tf_idf
from settwister.graphs.features import from_entries
from settwister.nn.features import Centred, row_normalised
from settwister.nn.features import dense as written_out


@pytest.mark.parametrize("binary", [True, False])
def test_sparse_features_are_scaled_as_dense_ones(binary: bool) -> None:
    random = np.random.default_rng(0)
    table = np.where(random.random((30, 6)) < 0.4, random.normal(size=(30, 6)), 0).astype(np.float32)
    table[:, 0], table[:, 1] = 0.1, 0  # a constant column has no spread, up to rounding, and an empty one none at all
    table = (table != 0).astype(np.float32) if binary else table
    rows, columns = table.nonzero()
    sparse = from_entries(rows, columns, table[rows, columns], 30, 6)
    assert (sparse.weight is None) == binary
    full = torch.from_numpy(table)
    spread = torch.tensor([1.0 if column < 2 else float(table[:, column].astype(float).std()) for column in range(6)])
    torch.testing.assert_close(scaled(full), full / spread)
    torch.testing.assert_close(dense(scaled(sparse)), full / spread)
    centred = (full - full.mean(0)) / spread
    for either in (full, sparse):
        torch.testing.assert_close(written_out(standardised(either)), centred)
    total = full.abs().sum(1, keepdim=True)
    torch.testing.assert_close(row_normalised(full), full / total)
    torch.testing.assert_close(dense(row_normalised(sparse)), full / total)
    normalised = row_normalised(standardised(sparse))
    assert isinstance(normalised, Centred)
    torch.testing.assert_close(normalised.full, centred / centred.abs().sum(1, keepdim=True), atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(row_normalised(normalised).full, normalised.full, atol=1e-6, rtol=1e-4)


def test_rare_words_weigh_more() -> None:
    table = torch.tensor([[1.0, 1.0, 0.0], [3.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    weighed = table * (torch.log(5 / (1 + torch.tensor([3.0, 1.0, 0.0]))) + 1)
    wanted = weighed / weighed.norm(dim=1, keepdim=True).clamp(min=1e-9)
    rows, columns = (part.numpy() for part in table.nonzero(as_tuple=True))
    for values in (table, (table > 0).float()):
        sparse = tf_idf(from_entries(rows, columns, values.numpy()[rows, columns], 4, 3))
        torch.testing.assert_close(dense(sparse), tf_idf(values))
    torch.testing.assert_close(tf_idf(table), wanted)


def test_sparse_features_keep_their_gradients() -> None:
    table = torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    rows, columns = (part.numpy() for part in table.nonzero(as_tuple=True))
    x = row_normalised(from_entries(rows, columns, table.numpy()[rows, columns], 3, 2))
    assert isinstance(x, Csr)
    weight = torch.randn(2, 4, requires_grad=True)
    (x.sum(weight) * torch.arange(3.0).unsqueeze(1)).sum().backward()
    torch.testing.assert_close(weight.grad, torch.tensor([[1.0] * 4, [0.0] * 4]))


def by_hand(full: torch.Tensor, parts: int) -> list[list[float]]:
    """The questions of every column, as columns of yes and no: presence first, then part by part."""
    presence = [[float(value != 0) for value in column] for column in full.T.tolist()]
    asked = []
    for part in range(1, parts):
        for number, column in enumerate(full.T.tolist()):
            there = sorted(value for value in column if value != 0)
            below = [there[len(there) * p // parts - 1] for p in range(1, part + 1) if len(there) * p // parts > 0]
            if len(there) * part // parts == 0 or below[-1] == there[-1] or below[-1] in below[:-1]:
                continue
            asked.append([float(value != 0 and value > below[-1]) for value in full[:, number].tolist()])
    return presence + asked


@pytest.mark.parametrize("parts", [1, 2, 4, 7])
def test_binned_asks_what_it_would_by_hand(parts: int) -> None:
    """Columns that are empty, of one value, of few, and of many; negative values too."""
    made = np.random.default_rng(0)
    full = torch.from_numpy(made.normal(size=(30, 6))).float()
    full[:, 0] = 0
    full[:, 1] = full[:, 1].sign().clamp(min=0)
    full[:, 2] = (3 * full[:, 2]).round()
    full[made.random(full.shape) < 0.5] = 0
    rows, columns = full.nonzero().T.numpy()
    sparse = from_entries(rows, columns, full.numpy()[rows, columns], *full.shape)
    wanted = torch.tensor(by_hand(full, parts)).T
    for found in (binned(full, parts), binned(sparse, parts)):
        torch.testing.assert_close(dense(found), wanted)
        assert found.transpose is not None


def test_binned_leaves_yes_and_no_as_they_are() -> None:
    x = from_entries(np.array([0, 1, 1]), np.array([1, 0, 1]), None, 3, 2)
    torch.testing.assert_close(dense(binned(x)), dense(x))
    assert binned(torch.zeros(3, 2)).num_elements == 2
