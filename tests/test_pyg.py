"""TwisterAggregation under PyG's own contract and inside PyG's own layers."""

import pytest
import torch
from torch_geometric.nn import SAGEConv, SimpleConv
from torch_geometric.nn.aggr import Aggregation, MultiAggregation

from settwister import InputError, Sets
from settwister.pyg import TwisterAggregation

X = torch.randn(6, 16)
INDEX = torch.tensor([0, 0, 1, 1, 1, 3])
PTR = torch.tensor([0, 2, 5, 5, 6])


def test_the_contract() -> None:
    aggr = TwisterAggregation(16, 32)
    assert isinstance(aggr, Aggregation)
    assert str(aggr).startswith("TwisterAggregation(16, 32, M=2, k=2")
    out = aggr(X, INDEX)
    assert out.size() == (4, 32)
    torch.testing.assert_close(aggr(X, ptr=PTR), out)
    torch.testing.assert_close(aggr(X, INDEX, dim_size=6)[:4], out)
    shuffle = torch.randperm(6)
    torch.testing.assert_close(aggr(X[shuffle], INDEX[shuffle]), out)
    torch.testing.assert_close(out, aggr.set_twister(Sets.indexed(X, INDEX, 4)))


def test_a_set_does_not_see_its_batch_mates_and_an_empty_one_is_defined() -> None:
    aggr = TwisterAggregation(16)
    out = aggr(X, INDEX, dim_size=5)
    torch.testing.assert_close(out[2], out[4])
    torch.testing.assert_close(aggr(X[:2], INDEX[:2]), out[:1])
    assert aggr(X[:0], INDEX[:0]).shape == (0, 16)


@pytest.mark.parametrize("options", [{}, {"M": 4, "k": 3, "form": "factored"}, {"pool": "mean", "distinct": True}])
def test_inside_layers_it_learns(options: dict[str, object]) -> None:
    edges = torch.randint(6, (2, 20))
    for layer in (
        SAGEConv(16, 32, aggr=TwisterAggregation(16, **options)),
        SimpleConv(aggr=TwisterAggregation(16, 32, **options)),
    ):
        out = layer(X, edges)
        assert out.size() == (6, 32)
        out.square().sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


def test_beside_other_aggregations() -> None:
    aggr = MultiAggregation(["mean", TwisterAggregation(16)])
    assert aggr(X, INDEX).size() == (4, 32)


def test_reset_draws_new_parameters() -> None:
    aggr = TwisterAggregation(16)
    before = aggr(X, INDEX)
    aggr.reset_parameters()
    assert not torch.allclose(aggr(X, INDEX), before)


def test_without_an_index_everything_is_one_set() -> None:
    aggr = TwisterAggregation(16)
    torch.testing.assert_close(aggr(X), aggr(X, torch.zeros(6, dtype=torch.long)))


def test_an_index_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match="index holds 3, expected ids below dim_size=2"):
        TwisterAggregation(16)(X, INDEX, dim_size=2)


def test_a_negative_index_is_refused() -> None:
    with pytest.raises(InputError, match="index holds -2, expected ids from 0 to 3"):
        TwisterAggregation(16)(X, torch.tensor([0, 0, -2, 1, 1, 3]), dim_size=4)


@pytest.mark.parametrize(
    ("ptr", "sentence"),
    [
        ([1, 2, 6], "ptr starts at 1, expected 0, the first row of x"),
        ([0, 2, 5], "ptr ends at 5, expected 6, the rows of x"),
        ([0, 2, 8], "ptr ends at 8, expected 6, the rows of x"),
        ([0, 4, 2, 6], "ptr falls from 4 to 2 at set 1, expected offsets that never fall"),
        ([[0, 6]], r"ptr has shape \(1, 2\), expected \(sets \+ 1,\)"),
    ],
)
def test_offsets_that_do_not_cut_x_are_refused(ptr: list[int], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        TwisterAggregation(16)(X, ptr=torch.tensor(ptr))


def test_it_compiles_to_one_graph() -> None:
    aggr = TwisterAggregation(16)
    compiled = torch.compile(aggr, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(X, INDEX, dim_size=4), aggr(X, INDEX, dim_size=4))
