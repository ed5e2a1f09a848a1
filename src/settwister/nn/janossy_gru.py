"""Full Janossy pooling: a bidirectional GRU with attention over random orders of the whole set (Meng et al. 2019)."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from settwister._checks import whole_number, widths
from settwister.nn.mlp import linear, mlp
from settwister.nn.set_model import SetModel
from settwister.sets import Bucket, Sets

# Odd multipliers of a 64-bit mixing function (the finaliser of splitmix64, as signed numbers).
_MIX = (-4658895280553007687, -7723592293110705685)


class JanossyGRU(SetModel):
    r"""A recurrent network with attention over random orders of the set.

    .. math:: \text{JP}(h) = \rho\Big(\frac{1}{|\Pi|} \sum_{\pi \in \Pi} \sum_t a_t \, g_t\Big), \qquad
              a = \text{softmax}_t\big(v \cdot \tanh(W g_t + b) + c\big), \quad g = \text{GRU}(h_\pi)

    g is the sum of the two directions. In training every pass draws one fresh order per set from torch's generator. In
    evaluation there are ``orders`` of them, drawn by hashing each element's features with ``seed``: they look random,
    but depend on nothing except the set's content. So the trained model is a deterministic, permutation-invariant
    function, and batch-mates cannot change it. An empty set's context is 0.

    Args:
        in_dim, out_dim: features of an element, numbers per set.
        hidden: width of the GRU and of the attention.
        rho: hidden widths of the network on the context; ``()`` makes it linear.
        embed: width of a layer (with activation) in front of the GRU; none where left out.
        orders: how many orders are averaged in evaluation.
        activation: ``"gelu"``, ``"tanh"`` or ``"relu"``, in ``embed`` and rho.
        seed: of the orders in evaluation.

    Example:
        >>> from settwister import Sets
        >>> model = JanossyGRU(3, 1, hidden=8).eval()
        >>> x = torch.randn(4, 5, 3)
        >>> torch.allclose(model(Sets.dense(x)), model(Sets.dense(x.flip(1))), atol=1e-6)
        True
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        hidden: int = 80,
        rho: tuple[int, ...] = (50, 50),
        embed: int | None = None,
        orders: int = 1,
        activation: str = "tanh",
        seed: int = 0,
    ) -> None:
        config = dict(in_dim=in_dim, out_dim=out_dim, hidden=hidden, rho=widths("rho", rho), embed=embed, orders=orders)
        config |= dict(activation=activation, seed=seed)
        super().__init__(config)
        self.hidden = whole_number("hidden", hidden)
        self.orders = whole_number("orders", orders)
        self.seed = whole_number("seed", seed, least=0)
        width = in_dim if embed is None else whole_number("embed", embed)
        self.embed = nn.Sequential() if embed is None else mlp(in_dim, (embed,), activation)
        self.gru = nn.GRU(width, hidden, batch_first=True, bidirectional=True)
        self.attention = nn.Sequential(linear(hidden, hidden), nn.Tanh(), linear(hidden, 1))
        self.rho = self._rho(hidden, tuple(rho), activation)

    def _forward(self, sets: Sets) -> Tensor:
        embedded = self.embed(sets.elements)
        hashed = [] if self.training else [content_hash(sets.elements, self.seed + r) for r in range(self.orders)]

        def context(bucket: Bucket) -> Tensor:
            if self.training:
                return self._context(embedded, bucket, torch.rand(bucket.index.shape, device=embedded.device))
            return torch.stack([self._context(embedded, bucket, key[bucket.index]) for key in hashed]).mean(0)

        out: Tensor = self.rho(sets.map(context, empty=self._like().new_zeros(self.hidden)))
        return out

    def _context(self, embedded: Tensor, bucket: Bucket, keys: Tensor) -> Tensor:
        """(b, hidden): the GRU over each set in ascending order of its keys, then attention."""
        ordered = embedded[bucket.sorted_by(keys)]
        if bucket.mask is None:
            both = self.gru(ordered)[0]
        else:
            lengths = bucket.mask.sum(1).cpu()
            packed = pack_padded_sequence(ordered, lengths, batch_first=True, enforce_sorted=False)
            both, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        states = both[..., : self.hidden] + both[..., self.hidden :]
        scores = self.attention(states).squeeze(-1)
        if bucket.mask is not None:
            scores = scores.masked_fill(~bucket.mask, -torch.inf)
        return torch.einsum("bn,bnh->bh", scores.softmax(-1), states)


def content_hash(x: Tensor, seed: int) -> Tensor:
    """(U,) a pseudo-random int64 per row, a function of the row's values and the seed only.

    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]])
    >>> a, b, c = content_hash(x, seed=0).tolist()
    >>> a == c, a == b
    (True, False)
    """
    bits = (x.detach().double() + 0.0).view(torch.int64)  # a value has one hash in every type; adding 0 turns -0 into 0
    places = torch.arange(1, x.shape[1] + 1, device=x.device)
    return _mixed((_mixed(bits + _mixed(places + (seed << 32)))).sum(1))


def _mixed(z: Tensor) -> Tensor:
    """Spread every input bit over the whole word; products wrap around."""
    for shift, factor in zip((30, 27), _MIX, strict=True):
        z = (z ^ ((z >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return z ^ ((z >> 31) & ((1 << 33) - 1))
