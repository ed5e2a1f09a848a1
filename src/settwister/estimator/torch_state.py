"""What torch was told globally, such as another default type, is not about the networks inside an estimator."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def usual_torch() -> Iterator[None]:
    """Single precision by default, gradients recorded, no autocast: whatever surrounds the call.

    >>> torch.set_default_dtype(torch.float64)
    >>> with torch.no_grad(), usual_torch():
    ...     torch.zeros(1).dtype, torch.is_grad_enabled()
    (torch.float32, True)
    >>> torch.set_default_dtype(torch.float32)
    """
    before = torch.get_default_dtype()
    if before != torch.float32:
        torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
            yield
    finally:
        if before != torch.float32:
            torch.set_default_dtype(before)
