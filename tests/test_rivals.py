"""Each model against its definition, written as loops over one set."""

import itertools
import math

import pytest
import torch

import settwister as st
from reference import block_diagonal
from settwister import InputError, Sets
from settwister.nn import BlockLinear
from settwister.nn.janossy_gru import content_hash


def one_set(x: torch.Tensor) -> Sets:
    return Sets.dense(x.unsqueeze(0))


def test_block_linear_is_a_masked_linear() -> None:
    layer = BlockLinear(3, 6, 12)
    torch.nn.init.normal_(layer.bias)
    x = torch.randn(5, 6)
    dense = x @ block_diagonal(layer.weight).t() + layer.bias
    torch.testing.assert_close(layer(x), dense.reshape(5, 3, 4))
    torch.testing.assert_close(layer(x.reshape(5, 3, 2)), layer(x))


@pytest.mark.parametrize("independent", [False, True])
def test_set_twister_is_its_definition(independent: bool) -> None:
    """The paper's own form, with masked dense layers and a loop over ordered pairs."""
    model = st.SetTwister(3, 2, (8, 8, 8), (6,), norm=None, lower_orders=None, activation="tanh",
                          independent=independent)  # fmt: skip
    torch.nn.init.normal_(model.twist.bias["2"])
    x = torch.randn(7, 3)
    h = x
    for layer in model.phi:
        h = h @ block_diagonal(layer.weight).t() + layer.bias if isinstance(layer, BlockLinear) else layer(h)
    sums = h.sum(0).reshape(2, 4)
    pairs = itertools.product(range(2), repeat=2)
    f = sum(model.twist.alpha["2"][i] * sums[u] * sums[v] for i, (u, v) in enumerate(pairs)) + model.twist.bias["2"]
    torch.testing.assert_close(model(one_set(x))[0], model.rho(f))
    blocks = sum(isinstance(layer, BlockLinear) for layer in model.phi)
    assert blocks == (2 if independent else 1)


def test_deepsets_is_its_definition() -> None:
    model = st.DeepSets(3, 2)
    x = torch.randn(7, 3)
    torch.testing.assert_close(model(one_set(x))[0], model.rho(model.phi(x).sum(0)))


@pytest.mark.parametrize("pool", ["sum", "mean", "sqrt"])
@pytest.mark.parametrize("distinct", [False, True])
def test_pooling_divides_each_factor(pool: str, distinct: bool) -> None:
    """Mean pooling of a k-fold product divides by n^k, sqrt by n^(k/2), also where the lift pools products."""
    model = st.SetTwister(3, 2, (8, 8), (), k=3, form="multiset", norm=None, lower_orders=None, pool=pool,
                          distinct=distinct)  # fmt: skip
    plain = st.SetTwister(3, 2, (8, 8), (), k=3, form="multiset", norm=None, lower_orders=None, distinct=distinct)
    plain.load_state_dict(model.state_dict())
    plain.rho[0].bias.data.zero_(), model.rho[0].bias.data.zero_()
    sets = one_set(torch.randn(5, 3))
    scale = {"sum": 1, "mean": 5**-3, "sqrt": 5**-1.5}[pool]
    torch.testing.assert_close(model(sets), plain(sets) * scale)


@pytest.mark.parametrize("order", ["sorted", "given"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_janossy_is_a_loop_over_tuples(k: int, order: str) -> None:
    model = st.JanossyPooling(3, 2, (8, 8), (6,), k=k, order=order)
    x = torch.randn(5, 3).round()  # rounding makes ties in the first feature
    in_order = x if order == "given" else torch.tensor(sorted(x.tolist()))
    phi = torch.nn.Sequential(model.first, *model.rest)
    summed = sum(phi(in_order[list(t)].flatten()) for t in itertools.combinations(range(5), k))
    torch.testing.assert_close(model(one_set(x))[0], model.rho(summed))


def test_janossy_in_chunks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = st.JanossyPooling(3, 2)
    sets = Sets.dense(torch.randn(3, 9, 3))
    whole = model(sets)
    monkeypatch.setattr("settwister.nn.janossy.CHUNK", 7)
    torch.testing.assert_close(model(sets), whole)


def test_janossy_reads_bags_in_the_vocabulary_order() -> None:
    model = st.JanossyPooling(1, 2, order="given")
    vocabulary = torch.tensor([[3.0], [1.0], [2.0]])
    bags = Sets.bags(vocabulary, torch.tensor([[1, 2, 1]]))
    torch.testing.assert_close(model(bags), model(one_set(vocabulary[[0, 1, 1, 2]])))


def gru_states(gru: torch.nn.GRU, x: torch.Tensor, suffix: str = "") -> torch.Tensor:
    """One direction of a GRU, cell by cell."""
    w_in, w_h = getattr(gru, f"weight_ih_l0{suffix}"), getattr(gru, f"weight_hh_l0{suffix}")
    b_in, b_h = getattr(gru, f"bias_ih_l0{suffix}"), getattr(gru, f"bias_hh_l0{suffix}")
    h, states = torch.zeros(gru.hidden_size), []
    for element in x:
        r_i, z_i, n_i = (w_in @ element + b_in).chunk(3)
        r_h, z_h, n_h = (w_h @ h + b_h).chunk(3)
        r, z = torch.sigmoid(r_i + r_h), torch.sigmoid(z_i + z_h)
        h = (1 - z) * torch.tanh(n_i + r * n_h) + z * h
        states.append(h)
    return torch.stack(states)


def test_janossy_gru_is_a_loop_over_orders() -> None:
    model = st.JanossyGRU(3, 2, hidden=5, rho=(6,), orders=4, seed=7).eval()
    x = torch.randn(6, 3)
    contexts = []
    for r in range(4):
        ordered = x[content_hash(x, 7 + r).argsort()]
        backward = gru_states(model.gru, ordered.flip(0), "_reverse").flip(0)
        states = gru_states(model.gru, ordered) + backward
        weights = model.attention(states).squeeze(-1).softmax(0)
        contexts.append(weights @ states)
    torch.testing.assert_close(model(one_set(x))[0], model.rho(torch.stack(contexts).mean(0)))


def test_janossy_gru_draws_a_fresh_order_in_training_only() -> None:
    model = st.JanossyGRU(3, 2)
    sets = one_set(torch.randn(8, 3))
    assert not torch.allclose(model(sets), model(sets))
    model.eval()
    assert torch.equal(model(sets), model(sets))


def test_hashed_orders_look_uniform() -> None:
    """Over many sets of 3, each of the 6 orders comes up about a sixth of the time, for every seed."""
    x = torch.randn(6000, 3, 4)
    for seed in (0, 1):
        orders = content_hash(x.reshape(-1, 4), seed).reshape(6000, 3).argsort(1)
        counts = torch.bincount((orders * torch.tensor([9, 3, 1])).sum(1))
        assert (counts[counts > 0].double() / 1000 - 1).abs().max() < 0.12
        assert (counts > 0).sum() == 6


def slow_mab(block: torch.nn.Module, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    q, k, v = block.fc_q(queries), block.fc_k(keys), block.fc_v(keys)
    width = q.shape[-1] // block.heads
    attended = torch.zeros_like(q)
    for head in range(block.heads):
        part = slice(head * width, (head + 1) * width)
        for i in range(len(q)):
            scores = torch.stack([q[i, part] @ key for key in k[:, part]]) / math.sqrt(q.shape[-1])
            attended[i, part] = scores.softmax(0) @ v[:, part]
    o = block.norm_attention(q + attended)
    return block.norm_out(o + torch.relu(block.fc_o(o)))


@pytest.mark.parametrize("short", [0, 128])
@pytest.mark.parametrize("inducing", [None, 3])
def test_set_transformer_is_its_definition(inducing: int | None, short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("settwister.nn.set_transformer.SHORT", short)
    model = st.SetTransformer(3, 2, hidden=8, heads=2, inducing=inducing)
    x = torch.randn(5, 3)
    encoded = slow_mab(model.encoder, x, x if inducing is None else slow_mab(model.induced, model.points, x))
    pooled = slow_mab(model.pooling, model.seed, encoded)
    torch.testing.assert_close(model(one_set(x)), model.out(pooled))


def test_dropout_acts_in_training_only() -> None:
    sets = Sets.dense(torch.randn(2, 5, 3))
    for model in (
        st.SetTwister(3, 2, dropout=0.5),
        st.DeepSets(3, 2, dropout=0.5),
        st.JanossyPooling(3, 2, dropout=0.5),
    ):
        assert not torch.equal(model(sets), model(sets))
        model.eval()
        assert torch.equal(model(sets), model(sets))


BAD = {
    "M does not divide phi": (
        lambda: st.SetTwister(3, 1, phi=(60, 50), M=3),
        "phi is (60, 50), expected widths that M=3",
    ),
    "M does not divide the trunk": (lambda: st.SetTwister(3, 1, phi=(50, 60), M=3), "phi is (50, 60), expected widths"),
    "k": (lambda: st.SetTwister(3, 1, k=0), "k is 0, expected a whole number of at least 1"),
    "M": (lambda: st.SetTwister(3, 1, M=0), "M is 0, expected a whole number of at least 1"),
    "no phi": (lambda: st.SetTwister(3, 1, phi=()), "phi is empty, expected at least one layer width"),
    "no phi in DeepSets": (lambda: st.DeepSets(3, 1, phi=()), "phi is empty"),
    "no phi in Janossy": (lambda: st.JanossyPooling(3, 1, phi=()), "phi is empty"),
    "width": (lambda: st.DeepSets(3, 1, phi=(60, -1)), "phi[1] is -1, expected a whole number of at least 1"),
    "widths": (lambda: st.DeepSets(3, 1, rho=50), "rho is 50, expected a sequence of layer widths such as (60, 60)"),
    "in_dim": (lambda: st.DeepSets("3", 1), "in_dim is '3', expected a whole number"),
    "activation": (lambda: st.DeepSets(3, 1, activation="sin"), "activation is 'sin', expected one of 'tanh', 'relu'"),
    "pool": (lambda: st.DeepSets(3, 1, pool="max"), "pool is 'max', expected one of 'sum', 'mean', 'sqrt'"),
    "dropout": (lambda: st.DeepSets(3, 1, dropout=1.0), "dropout is 1.0, expected a number from 0 up to"),
    "heads": (lambda: st.SetTransformer(3, 1, hidden=10), "hidden is 10, expected a multiple of heads=4"),
    "order": (lambda: st.JanossyPooling(3, 1, order="random"), "order is 'random', expected one of 'sorted', 'given'"),
    "orders": (lambda: st.JanossyGRU(3, 1, orders=0), "orders is 0, expected a whole number of at least 1"),
    "blocks": (lambda: BlockLinear(4, 6, 8), "in_features is 6, expected a multiple of M=4"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_one_clear_sentence(case: str) -> None:
    build, message = BAD[case]
    with pytest.raises(InputError) as caught:
        build()
    assert message in str(caught.value)
