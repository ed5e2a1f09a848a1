"""Sums over sets and products of sums are never taken in half precision."""

from contextlib import AbstractContextManager, nullcontext

import torch


def full_precision(device_type: str) -> AbstractContextManager[None]:
    """Autocast off for a while; nothing where it is off already, as entering it costs as much as a small product."""
    return torch.autocast(device_type, enabled=False) if torch.is_autocast_enabled(device_type) else nullcontext()
