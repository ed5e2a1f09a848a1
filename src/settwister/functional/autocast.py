"""Sums over sets and products of sums are never taken in half precision."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def full_precision(device_type: str) -> AbstractContextManager[None]:
    """Autocast off for a while; nothing where it is off already, as entering it costs as much as a small product."""
    return torch.autocast(device_type, enabled=False) if torch.is_autocast_enabled(device_type) else nullcontext()


def at_least_single(x: Tensor) -> Tensor:
    """In single precision where it was in half, and as it is otherwise."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
