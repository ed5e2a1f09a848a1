"""Dropout from packed random bits: on a CPU, drawing a number per element costs more than the layer beside it."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from settwister.functional.transforms import transformed

_STEPS = 2**15
_SHIFTS = torch.arange(8, dtype=torch.uint8).unsqueeze(-1)


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Zero each element with probability p and scale the others by 1 / (1 - p).

    On CPUs, p = 0.5 takes one random bit per element and any other p 16 of them (so it is rounded to a multiple of
    1/32768), from torch's generator. Elsewhere, and inside compiled or exported graphs and torch.func's transforms,
    torch's own dropout.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> sorted(set(dropout(torch.ones(1000), 0.5).tolist()))
        [0.0, 2.0]
    """
    if not training or p == 0.0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling() or transformed() or p == 1.0:
        return F.dropout(x, p, training)
    kept = keep(x.numel(), p, x.dtype).view(x.shape)
    return x * kept if x.requires_grad else kept.mul_(x)  # features are large, and fresh memory costs


def relu_dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """``dropout(relu(x), p)`` in half the passes over memory: what was kept can be read off the output."""
    if not training or p == 0.0:
        return x.relu()
    stock = x.device.type != "cpu" or torch.compiler.is_compiling() or transformed()
    if stock or p == 1.0 or not x.requires_grad:
        return dropout(x.relu(), p, training)
    found: Tensor = _ReluDropout.apply(x, p)
    return found


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        out = x.relu().mul_(keep(x.numel(), p, x.dtype).view(x.shape))
        ctx.save_for_backward(out)
        ctx.p = p
        return out

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None]:
        (out,) = ctx.saved_tensors
        back: Tensor = torch.ops.aten.threshold_backward(grad[0], out, 0)
        return back.mul_(1 / (1 - ctx.p)), None


def keep(count: int, p: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """(count,) numbers that are 0 with probability p and 1 / (1 - p) otherwise.

    Shifts and masks of whole words, because comparisons to booleans are not vectorised; and in place, because fresh
    memory costs more than arithmetic. Inside compiled graphs and torch.func, by torch's own dropout.
    """
    if torch.compiler.is_compiling() or transformed():
        return F.dropout(torch.ones(count, dtype=dtype), p)
    if p == 0.5:
        octets = _random_words(-(-count // 64)).view(torch.uint8)
        planes = octets >> _SHIFTS  # (8, count / 8): which bit goes to which element does not matter
        return planes.bitwise_and_(1).bitwise_left_shift_(1).view(-1)[:count].to(dtype)
    words = _random_words(-(-count // 4)).view(torch.int16)[:count].bitwise_and_(_STEPS - 1)
    dropped = words.sub_(min(round(p * _STEPS), _STEPS - 1)).bitwise_right_shift_(15)  # -1 where below, else 0
    return dropped.add_(1).to(dtype).mul_(1 / (1 - p))


def _random_words(count: int) -> Tensor:
    """int64 with all 64 bits random."""
    return torch.empty(count, dtype=torch.int64).random_(-(2**63), None)
