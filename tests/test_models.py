"""Properties that every set model must have, in one place: a new model is one more line in MODELS."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

import settwister as st
from settwister import InputError, Sets
from settwister.nn import SetModel

DIM = 3
SMALL = dict(phi=(8, 8), rho=(6,))

MODELS: dict[str, Callable[[], SetModel]] = {
    "set_twister": lambda: st.SetTwister(DIM, 2, **SMALL),
    "set_twister_paper": lambda: st.SetTwister(DIM, 2, **SMALL, norm=None, lower_orders=None, activation="tanh"),
    "set_twister_layer_norm": lambda: st.SetTwister(DIM, 2, **SMALL, norm="layer"),
    "set_twister_multiset_k3": lambda: st.SetTwister(DIM, 2, **SMALL, M=4, k=3, form="multiset"),
    "set_twister_factored_k4": lambda: st.SetTwister(DIM, 2, **SMALL, k=4, form="factored", lower_orders="sum"),
    "set_twister_distinct": lambda: st.SetTwister(DIM, 2, **SMALL, k=3, distinct=True),
    "set_twister_mean": lambda: st.SetTwister(DIM, 2, **SMALL, pool="mean", distinct=True),
    "set_twister_sqrt": lambda: st.SetTwister(DIM, 2, **SMALL, pool="sqrt"),
    "set_twister_independent": lambda: st.SetTwister(DIM, 2, **SMALL, independent=True),
    "deepsets": lambda: st.DeepSets(DIM, 2, **SMALL),
    "deepsets_mean": lambda: st.DeepSets(DIM, 2, **SMALL, pool="mean"),
    "deepsets_sqrt": lambda: st.DeepSets(DIM, 2, **SMALL, pool="sqrt"),
    "janossy": lambda: st.JanossyPooling(DIM, 2, **SMALL),
    "janossy_3ary": lambda: st.JanossyPooling(DIM, 2, **SMALL, k=3),
    "janossy_gru": lambda: st.JanossyGRU(DIM, 2, hidden=5, rho=(6,)),
    "janossy_gru_orders": lambda: st.JanossyGRU(DIM, 2, hidden=5, rho=(6,), embed=4, orders=3),
    "set_transformer": lambda: st.SetTransformer(DIM, 2, hidden=8, heads=2),
    "set_transformer_induced": lambda: st.SetTransformer(DIM, 2, hidden=8, heads=2, inducing=3),
}

every_model = pytest.mark.parametrize("name", MODELS)
#: sets as lists of vocabulary entries, duplicates and empty sets included, at most as many sets as entries
batches = some.lists(some.lists(some.integers(0, 7), max_size=7), min_size=1, max_size=8)


def built(name: str) -> SetModel:
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    for parameter in model.parameters():  # so that a wrong bias or norm shows, and no output is 0 by chance
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def vocabulary() -> torch.Tensor:
    return torch.randn(8, DIM, generator=torch.Generator().manual_seed(1))


def ragged(batch: list[list[int]], x: torch.Tensor) -> Sets:
    sizes = torch.tensor([0] + [len(members) for members in batch])
    return Sets.ragged(x[[i for members in batch for i in members]], sizes.cumsum(0))


def layouts(batch: list[list[int]], x: torch.Tensor) -> dict[str, Sets]:
    """The same sets in every layout; ``neighbours`` has some further, empty sets."""
    rows = torch.tensor([b for b, members in enumerate(batch) for _ in members], dtype=torch.long)
    columns = torch.tensor([i for members in batch for i in members], dtype=torch.long)
    length = max(map(len, batch)) + 2
    padded = torch.full((len(batch), length, DIM), torch.nan, dtype=x.dtype)
    mask = torch.zeros(len(batch), length, dtype=torch.bool)
    for b, members in enumerate(batch):
        places = torch.randperm(length)[: len(members)].sort().values
        padded[b, places], mask[b, places] = x[members], True
    counts = torch.zeros(len(batch), len(x)).index_put((rows, columns), torch.ones(len(rows)), accumulate=True)
    mixed = torch.randperm(len(rows))
    return {
        "dense": Sets.dense(padded, mask),
        "ragged": ragged(batch, x),
        "indexed": Sets.indexed(x[columns[mixed]], rows[mixed], len(batch)),
        "bags": Sets.bags(x, counts.to_sparse_coo()),
        "bags_dense": Sets.bags(x, counts),
        "neighbours": Sets.neighbours(x, torch.stack([columns, rows])),
    }


def close(ours: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(ours, other, atol=1e-5, rtol=1e-5)


@every_model
@given(batch=batches)
def test_every_layout_gives_the_same_answer(name: str, batch: list[list[int]]) -> None:
    model = built(name)
    expected = model(ragged(batch, vocabulary()))
    assert expected.shape == (len(batch), 2)
    assert expected.isfinite().all()
    for sets in layouts(batch, vocabulary()).values():
        close(model(sets)[: len(batch)], expected)


@every_model
@given(batch=batches, data=some.data())
def test_order_within_a_set_does_not_matter(name: str, batch: list[list[int]], data: some.DataObject) -> None:
    shuffled = [data.draw(some.permutations(members)) for members in batch]
    model = built(name)
    close(model(ragged(shuffled, vocabulary())), model(ragged(batch, vocabulary())))


@every_model
@given(batch=batches)
def test_batch_mates_do_not_matter(name: str, batch: list[list[int]]) -> None:
    model = built(name)
    together = model(ragged(batch, vocabulary()))
    for b, members in enumerate(batch):
        close(together[b : b + 1], model(ragged([members], vocabulary())))


@every_model
def test_an_empty_set_has_one_finite_output_and_gradient(name: str) -> None:
    model = built(name)
    x = vocabulary().requires_grad_()
    alone, beside = model(ragged([[]], x.detach())), model(ragged([[1, 2, 3], []], x))
    close(alone[0], beside[1])
    beside.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@every_model
def test_no_sets_at_all(name: str) -> None:
    assert built(name)(ragged([], vocabulary())).shape == (0, 2)


@every_model
def test_duplicates_count(name: str) -> None:
    """An element twice is not the element once, unless the model takes a mean."""
    model = built(name)
    once, twice = model(ragged([[0, 1, 2, 3], [0, 0, 1, 2, 3, 3]], vocabulary()))
    assert not torch.allclose(once, twice, atol=1e-4)


@every_model
def test_padding_is_invisible_to_gradients_too(name: str) -> None:
    model = built(name)
    short = vocabulary()[None, :4].clone().requires_grad_()
    padded = torch.full((1, 9, DIM), 7e7)
    padded[:, :4] = vocabulary()[:4]
    padded.requires_grad_()
    mask = torch.arange(9)[None] < 4
    (g_short,) = torch.autograd.grad(model(Sets.dense(short)).sum(), short)
    (g_padded,) = torch.autograd.grad(model(Sets.dense(padded, mask)).sum(), padded)
    close(g_padded[:, :4], g_short)
    assert not g_padded[:, 4:].any()


@every_model
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_types_agree(name: str, dtype: torch.dtype) -> None:
    """The same values in another type: float64 closely, bfloat16 to its three digits."""
    model = built(name)
    x = vocabulary().bfloat16().float()  # exact in every type
    sets = ragged([[0, 1, 2], [3], [], [4, 5, 6, 7]], x)
    expected = model(sets)
    found = model.to(dtype)(sets.to(dtype))
    assert found.dtype == dtype
    tolerance = 1e-4 if dtype == torch.float64 else 0.15
    torch.testing.assert_close(found.float(), expected, atol=tolerance, rtol=tolerance)


@every_model
def test_autocast_stays_close(name: str) -> None:
    model = built(name)
    sets = ragged([[0, 1, 2], [3], [], [4, 5, 6, 7]], vocabulary())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(sets)
    torch.testing.assert_close(mixed.float(), model(sets), atol=0.15, rtol=0.15)


@every_model
def test_gradients_are_right(name: str) -> None:
    model = built(name).double()
    sets = ragged([[0, 1], [], [2, 3, 4]], vocabulary().double())  # sorting has a kink at equal elements
    parameters = list(model.parameters())
    names = [n for n, _ in model.named_parameters()]

    def run(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        # The GRU's orders follow from the elements' bits, which finite differences change: draw them instead.
        torch.manual_seed(0)
        model.train()
        out: torch.Tensor = torch.func.functional_call(
            model, dict(zip(names, values, strict=True)), (sets.with_elements(x),)
        )
        return out

    x = sets.elements.clone().requires_grad_()
    assert torch.autograd.gradcheck(run, (x, *parameters), fast_mode=True, check_undefined_grad=False)


@every_model
def test_the_same_seed_gives_the_same_model_and_answer(name: str) -> None:
    sets = ragged([[0, 1, 2, 3], [4, 5]], vocabulary())
    torch.manual_seed(3)
    first = MODELS[name]().eval()
    torch.manual_seed(3)
    second = MODELS[name]().eval()
    assert torch.equal(first(sets), first(sets))
    assert torch.equal(first(sets), second(sets))


@every_model
def test_a_hundred_thousand_elements_beside_empty_sets(name: str) -> None:
    model = built(name)
    n = 100_000
    sets = Sets.ragged(torch.randn(n + 2, DIM) / 10, torch.tensor([0, 0, n, n, n + 2, n + 2]))
    if name.startswith("janossy") and "gru" not in name:
        with pytest.raises(InputError, match="use SetTwister, whose cost is linear, or raise max_tuples"):
            model(sets)
        return
    with torch.no_grad():
        out = model(sets)
        assert out.isfinite().all()
        close(out[0], out[2])
        close(out[3], model(Sets.ragged(sets.elements[n:], torch.tensor([0, 2])))[0])


@every_model
def test_wrong_input_is_named(name: str) -> None:
    model = built(name)
    with pytest.raises(InputError, match="was called on Tensor, expected Sets: wrap"):
        model(torch.zeros(2, 3, DIM))
    with pytest.raises(InputError, match=r"the elements have 5 features, expected in_dim=3"):
        model(Sets.dense(torch.zeros(2, 3, 5)))
    with pytest.raises(InputError, match=r"the elements are torch.float64, expected torch.float32"):
        model(Sets.dense(torch.zeros(2, 3, DIM).double()))
    with pytest.raises(InputError, match=r"the sets are on meta, expected cpu"):
        model(Sets.dense(torch.zeros(2, 3, DIM, device="meta"), check=False))


def test_fractional_weights_are_for_models_of_sums_only() -> None:
    sets = Sets.bags(vocabulary(), torch.rand(3, 8))
    for name in MODELS:
        if name.startswith(("set_twister", "deepsets")):
            assert built(name)(sets).isfinite().all()
        else:
            with pytest.raises(InputError, match="needs whole counts"):
                built(name)(sets)
