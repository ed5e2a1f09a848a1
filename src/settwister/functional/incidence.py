"""The incidence A of a batch of sets: what every layout comes down to.

Three classes hold it. ``Grid`` is a padded batch, ``Matrix`` a dense matrix of counts, ``Csr`` (in ``neighbour_sum``)
everything sparse. They answer the same questions, so no model asks which of them it was given.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from settwister.functional.neighbour_sum import Csr


class Incidence(Protocol):
    """B sets over U distinct elements."""

    @property
    def num_sets(self) -> int: ...

    @property
    def num_elements(self) -> int: ...

    def sum(self, values: Tensor) -> Tensor:
        """``A · values``: (U, F) → (B, F)."""

    def sizes(self, like: Tensor) -> Tensor:
        """(B,) how many elements each set holds, or how much absolute weight, in the type of ``like``."""

    def occurrences(self) -> Csr:
        """One unweighted entry per occurrence of an element in a set, set by set."""

    def to(self, device: torch.device) -> Self: ...


@dataclass(eq=False)
class Grid:
    """A padded batch: element ``b * length + j`` is place j of set b.

    Args:
        num_sets: B.
        length: places per set.
        mask: (B, length), True where an element is real; None where all are.
        device: where the elements are.
    """

    num_sets: int
    length: int
    mask: Tensor | None
    device: torch.device

    @property
    def num_elements(self) -> int:
        return self.num_sets * self.length

    def sum(self, values: Tensor) -> Tensor:
        grid: Tensor = values.unflatten(0, (self.num_sets, self.length))
        if self.mask is not None:
            grid = torch.where(self.mask.unsqueeze(-1), grid, 0)
        return grid.sum(1)

    def sizes(self, like: Tensor) -> Tensor:
        if self.mask is None:
            return like.new_full((self.num_sets,), self.length)
        return self.mask.sum(1).to(like.dtype)

    def occurrences(self) -> Csr:
        if self.mask is None:
            starts = torch.arange(self.num_sets + 1, device=self.device) * self.length
            return Csr(starts, torch.arange(self.num_elements, device=self.device), self.num_elements)
        starts = F.pad(self.mask.sum(1).cumsum(0), (1, 0))
        return Csr(starts, self.mask.flatten().nonzero().squeeze(-1), self.num_elements)

    def to(self, device: torch.device) -> "Grid":
        return Grid(self.num_sets, self.length, None if self.mask is None else self.mask.to(device), device)


@dataclass(eq=False)
class Matrix:
    """A dense matrix of counts, B × U: the fastest form where the distinct elements are few."""

    counts: Tensor

    @property
    def num_sets(self) -> int:
        return self.counts.shape[0]

    @property
    def num_elements(self) -> int:
        return self.counts.shape[1]

    def sum(self, values: Tensor) -> Tensor:
        return self.counts.to(values.dtype) @ values

    def sizes(self, like: Tensor) -> Tensor:
        return self.counts.to(like.dtype).abs().sum(1)

    def occurrences(self) -> Csr:
        rows, columns = self.counts.nonzero(as_tuple=True)
        counts = self.counts[rows, columns]
        return Csr.from_pairs(rows, columns, self.num_sets, self.num_elements, counts).occurrences()

    def to(self, device: torch.device) -> "Matrix":
        return Matrix(self.counts.to(device))
