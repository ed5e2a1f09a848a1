"""Feed-forward networks: dense layers, and block-diagonal ones for the branches of phi."""

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from settwister.errors import InputError
from settwister.nn.dropout import Dropout, ReluDropout

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "gelu": nn.GELU}


class BlockLinear(nn.Module):
    r"""A linear layer whose matrix is block-diagonal: M equal blocks that do not see each other.

    .. math:: y_u = x_u W_u + b_u, \qquad u = 1 \dots M

    One batched product over the blocks; a masked dense layer would cost M times the work and the memory.

    Args:
        blocks: M.
        in_features, out_features: total widths, multiples of M.

    Shapes:
        (…, in_features) or, from a layer of the same kind, (…, M, in_features / M) → (…, M, out_features / M). The
        blocks keep an axis of their own because compiled code vectorises over rows that are whole.

    Example:
        >>> layer = BlockLinear(2, 4, 6)
        >>> tuple(layer.weight.shape), tuple(layer(torch.ones(5, 4)).shape)
        ((2, 2, 3), (5, 2, 3))
    """

    def __init__(self, blocks: int, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        for name, width in (("in_features", in_features), ("out_features", out_features)):
            if width % blocks:
                raise InputError(f"{name} is {width}, expected a multiple of M={blocks} so that the blocks are equal")
        self.weight = nn.Parameter(torch.empty(blocks, in_features // blocks, out_features // blocks))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier-uniform within each block, zero biases."""
        _, fan_in, fan_out = self.weight.shape
        bound = math.sqrt(6 / (fan_in + fan_out))
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        blocks, fan_in, fan_out = self.weight.shape
        before = x.shape[:-1] if x.shape[-1] == blocks * fan_in else x.shape[:-2]
        split = x.reshape(-1, blocks, fan_in).transpose(0, 1)
        out = torch.bmm(split, self.weight).transpose(0, 1).reshape(*before, blocks, fan_out)
        return out if self.bias is None else out + self.bias.view(blocks, fan_out)

    def extra_repr(self) -> str:
        blocks, fan_in, fan_out = self.weight.shape
        return f"blocks={blocks}, in_features={blocks * fan_in}, out_features={blocks * fan_out}"


def linear(in_features: int, out_features: int, bias: bool = True) -> nn.Linear:
    """A dense layer as the paper starts it: Xavier-uniform weights, zero biases."""
    layer = nn.Linear(in_features, out_features, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def mlp(
    in_dim: int,
    widths: tuple[int, ...],
    activation: str,
    *,
    blocks: int = 1,
    block_layers: int = 0,
    activate_last: bool = True,
    bias: bool = True,
    dropout: float = 0.0,
    first: Callable[[int, int, bool], nn.Module] = linear,
) -> nn.Sequential:
    """A feed-forward network ``in_dim → widths[0] → …``.

    Args:
        blocks: how many blocks the block-diagonal layers have.
        block_layers: how many layers, counted from the last, are block-diagonal. The first layer never is: every branch
            reads the whole input. What comes out of them has an axis of the blocks, see :class:`BlockLinear`.
        activate_last: also after the last layer, as phi does; rho does not.
        first: makes the first layer from its widths and ``bias``.
    """
    first_block = max(1, len(widths) - block_layers) if blocks > 1 else len(widths)
    layers: list[nn.Module] = []
    for i, (before, after) in enumerate(pairwise((in_dim, *widths))):
        dense = first if i == 0 else linear
        layers.append(dense(before, after, bias) if i < first_block else BlockLinear(blocks, before, after, bias))
        if i < len(widths) - 1 or activate_last:
            if dropout and activation == "relu":
                layers.append(ReluDropout(dropout))
            else:
                layers += [ACTIVATIONS[activation](), *([Dropout(dropout)] if dropout else [])]
    return nn.Sequential(*layers)
