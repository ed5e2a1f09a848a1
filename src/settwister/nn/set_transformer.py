"""Set Transformer (Lee et al. 2019): attention among a set's elements, then pooling by attention."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from settwister._checks import whole_number
from settwister.errors import InputError
from settwister.nn.mlp import linear
from settwister.nn.set_model import SetModel
from settwister.sets import Bucket, Sets

SHORT = 128  # up to this many keys, plain products are faster, and torch.func can transform them


class SetTransformer(SetModel):
    r"""Self-attention over the elements, pooled by attention from one learned seed, then a linear layer.

    .. math:: \text{ST}(h) = \text{Linear}\big(\text{PMA}(\text{SAB}(h))\big), \qquad
              \text{SAB}(X) = \text{MAB}(X, X), \quad \text{PMA}(Z) = \text{MAB}(\text{seed}, Z)

    With ``inducing`` points SAB becomes ISAB(X) = MAB(X, MAB(I, X)), whose cost is linear in n instead of n². Attention
    over an empty set is 0, so its output is that of the seed alone.

    Args:
        in_dim, out_dim: features of an element, numbers per set.
        hidden: width of every block, a multiple of ``heads``.
        heads: attention heads.
        inducing: number of inducing points; plain self-attention where left out.

    Example:
        >>> tuple(SetTransformer(3, 1)(Sets.dense(torch.randn(4, 5, 3))).shape)
        (4, 1)
    """

    def __init__(
        self, in_dim: int, out_dim: int, hidden: int = 64, heads: int = 4, inducing: int | None = None
    ) -> None:
        super().__init__(dict(in_dim=in_dim, out_dim=out_dim, hidden=hidden, heads=heads, inducing=inducing))
        if whole_number("hidden", hidden) % whole_number("heads", heads):
            raise InputError(f"hidden is {hidden}, expected a multiple of heads={heads}")
        if inducing is None:
            self.points = None
            self.encoder = MAB(in_dim, in_dim, hidden, heads)
        else:
            self.points = _seeds(whole_number("inducing", inducing), hidden)
            self.induced = MAB(hidden, in_dim, hidden, heads)
            self.encoder = MAB(in_dim, hidden, hidden, heads)
        self.seed = _seeds(1, hidden)
        self.pooling = MAB(hidden, hidden, hidden, heads)
        self.out = linear(hidden, out_dim)

    def _forward(self, sets: Sets) -> Tensor:
        def pooled(bucket: Bucket) -> Tensor:
            encoded = self._encode(sets.elements[bucket.index], bucket.mask)
            seeds = self.seed.expand(len(bucket.rows), -1, -1)
            found: Tensor = self.pooling(seeds, encoded, bucket.mask).squeeze(1)
            return found

        out: Tensor = self.out(sets.map(pooled, empty=self.pooling.without_keys(self.seed).squeeze(0)))
        return out

    def _encode(self, x: Tensor, mask: Tensor | None) -> Tensor:
        if self.points is None:
            encoded: Tensor = self.encoder(x, x, mask)
        else:
            summary = self.induced(self.points.expand(x.shape[0], -1, -1), x, mask)
            encoded = self.encoder(x, summary, None)
        return encoded


class MAB(nn.Module):
    r"""Multihead attention block.

    .. math:: O = \text{LN}(Q + \text{softmax}(QK^T / \sqrt{h}) V), \qquad \text{out} = \text{LN}(O + \text{relu}(W O))

    with Q, K, V linear in the queries and keys, and the scores scaled by the full width h, as the authors' code does.

    Shapes:
        queries (b, q, query_dim), keys (b, n, key_dim), mask (b, n) True where a key is real → (b, q, hidden)
    """

    def __init__(self, query_dim: int, key_dim: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.fc_q = linear(query_dim, hidden)
        self.fc_k = linear(key_dim, hidden)
        self.fc_v = linear(key_dim, hidden)
        self.fc_o = linear(hidden, hidden)
        self.norm_attention = nn.LayerNorm(hidden)
        self.norm_out = nn.LayerNorm(hidden)

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
        q = self.fc_q(queries)
        heads = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, self.fc_k(keys), self.fc_v(keys))]
        attended = attention(heads[0], heads[1], heads[2], mask, scale=1 / math.sqrt(q.shape[-1]))
        return self._finish(q + attended.transpose(1, 2).flatten(-2))

    def without_keys(self, queries: Tensor) -> Tensor:
        """The block with nothing to attend to: attention contributes 0."""
        return self._finish(self.fc_q(queries))

    def _finish(self, attended: Tensor) -> Tensor:
        o = self.norm_attention(attended)
        out: Tensor = self.norm_out(o + torch.relu(self.fc_o(o)))
        return out


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """softmax(scale · q kᵀ) v, over the keys that are real.

    Args:
        q: (b, heads, n, w); k, v: (b, heads, m, w); mask: (b, m).
    """
    allowed = None if mask is None else mask[:, None, None, :]
    if k.shape[-2] > SHORT:  # never stores the n × m scores
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, scale=scale)
    scores = scale * q @ k.transpose(-1, -2)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1) @ v


def _seeds(count: int, hidden: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(count, hidden)))
