"""The common form of the arithmetic tasks: sequences of indices into a table of elements, with targets."""

from dataclasses import dataclass

import torch
from torch import Tensor

SPLITS = ("train", "validation", "test")


@dataclass(eq=False)
class Sequences:
    """A task's data for one seed.

    Args:
        elements: (U, d), the distinct elements: float, or uint8 for images, which stand for value / 255.
        index: split → (N, n), which elements each sequence holds, in ascending order of their integers.
        target: split → (N,).
        metric: ``"mae"`` or ``"accuracy"``.
    """

    elements: Tensor
    index: dict[str, Tensor]
    target: dict[str, Tensor]
    metric: str

    def counts(self, split: str) -> Tensor:
        """(N, U) uint8, how often each sequence holds each element: bags, for few distinct elements."""
        index = self.index[split].long()
        found = torch.zeros(len(index), len(self.elements), dtype=torch.uint8)
        return found.scatter_add(1, index, torch.ones_like(index, dtype=torch.uint8))
