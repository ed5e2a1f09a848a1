"""Whether torch.func is at work: its transforms know torch's own functions, and not autograd functions of ours."""

import torch

# Not part of torch's public interface: without it, transforms fail as they do for any autograd function of this kind.
_active = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)


def transformed() -> bool:
    """Inside ``vmap``, ``grad`` and their like, outside of compiled graphs."""
    return not torch.compiler.is_compiling() and bool(_active())
