"""The neighbour sum ``A · values`` for a sparse incidence A, forward and backward both as a bag sum."""

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from settwister.errors import InputError
from settwister.functional.autocast import at_least_single
from settwister.functional.transforms import transformed

INT32_LIMIT = 2**31 - 1
#: a backward pass reads this many rows at a time: at a usual width they stay in a core's cache
BLOCK_ROWS = 1024
#: where there are fewer rows than so many blocks, all of them stay in the cache; with fewer entries per bag, there are
#: too many bags to add up
LEAST_BLOCKS, LEAST_PER_BAG = 8, 8


@dataclass(eq=False, repr=False)
class Csr:
    """A sparse incidence, sets × elements, in compressed rows: set ``b`` holds ``index[ptr[b]:ptr[b + 1]]``.

    Args:
        ptr: (B + 1,) offsets, int32 wherever the sizes allow it.
        index: (N,) element numbers, same type as ``ptr``.
        num_elements: the number of columns, U.
        weight: (N,) weights, or None where every entry is 1.
        transpose: the same matrix in compressed columns, for the backward pass; built by :meth:`with_transpose`.
    """

    ptr: Tensor
    index: Tensor
    num_elements: int
    weight: Tensor | None = None
    transpose: "Transpose | None" = None

    def __repr__(self) -> str:
        weighted = "" if self.weight is None else ", weighted"
        return f"Csr({self.num_sets:,} sets of {self.num_elements:,} elements, {len(self.index):,} entries{weighted})"

    @classmethod
    def from_pairs(
        cls,
        rows: Tensor,
        columns: Tensor,
        num_sets: int,
        num_elements: int,
        weight: Tensor | None = None,
    ) -> "Csr":
        """Sort (row, column) pairs by row; pairs of one row keep the order in which they were given."""
        sorted_rows, order = torch.sort(rows, stable=True)
        ptr = _offsets(sorted_rows, num_sets, int32=_fits_int32(rows.shape[0], num_sets, num_elements))
        index = columns[order].to(ptr.dtype)
        return cls(ptr, index, num_elements, None if weight is None else weight[order])

    @classmethod
    def from_segments(cls, ptr: Tensor, length: int) -> "Csr":
        """Sets one after the other, from ``ptr[b]`` to ``ptr[b + 1]``; the transpose comes without a sort."""
        places = torch.arange(length, device=ptr.device)
        whole = torch.int32 if _fits_int32(length, ptr.shape[0]) else torch.int64
        ends = torch.arange(length + 1, dtype=whole, device=ptr.device)
        transpose = Transpose(ends, _rows_of(ptr, length).to(whole), places)
        return cls(ptr.to(whole), places.to(whole), length, None, transpose)

    @classmethod
    def from_partition(cls, set_of_element: Tensor, num_sets: int) -> "Csr":
        """Every element in exactly one set, ``set_of_element[i]``; the transpose comes without a second sort."""
        length = set_of_element.shape[0]
        places = torch.arange(length, device=set_of_element.device)
        csr = cls.from_pairs(set_of_element, places, num_sets, length)
        order = csr.index.long()
        transpose = Transpose(
            torch.arange(length + 1, dtype=csr.ptr.dtype, device=places.device),
            set_of_element.to(csr.ptr.dtype),
            torch.empty_like(order).scatter(0, order, places),
        )
        return cls(csr.ptr, csr.index, length, None, transpose)

    @property
    def num_sets(self) -> int:
        return self.ptr.shape[0] - 1

    @property
    def lengths(self) -> Tensor:
        """(B,) how many entries each row stores."""
        return self.ptr[1:] - self.ptr[:-1]

    @property
    def rows(self) -> Tensor:
        """(N,) the row of every stored entry."""
        return _rows_of(self.ptr, self.index.shape[0])

    def with_transpose(self, blocks: int | None = None) -> "Csr":
        """The same incidence, ready for a fast backward pass.

        Args:
            blocks: into how many blocks the transpose cuts the rows; left out, as many as are fast.
        """
        blocks = self._fast_blocks() if blocks is None else blocks
        rows, key = self.rows, self.index
        if blocks > 1:
            key = rows // -(-self.num_sets // blocks) * self.num_elements + key
        sorted_keys, order = torch.sort(key, stable=True)
        ptr = _offsets(sorted_keys, blocks * self.num_elements, int32=self.ptr.dtype == torch.int32)
        transpose = Transpose(ptr, rows[order].to(ptr.dtype), order, blocks)
        return Csr(self.ptr, self.index, self.num_elements, self.weight, transpose)

    def _fast_blocks(self) -> int:
        """One, unless columns are few and long: then the values that they sum come from all over a large table."""
        if torch.compiler.is_compiling() or self.index.device.type != "cpu":
            return 1
        blocks = -(-self.num_sets // BLOCK_ROWS)
        bags = blocks * self.num_elements
        return blocks if blocks >= LEAST_BLOCKS and len(self.index) >= LEAST_PER_BAG * bags else 1

    def take(self, index: Tensor) -> "Csr":
        """Some rows, in the given order, without a transpose."""
        start = self.ptr[index].long()
        lengths = self.ptr[index + 1].long() - start
        ptr = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        first = (start - ptr[:-1]).repeat_interleave(lengths)
        places = first + torch.arange(len(first), device=index.device)
        weight = None if self.weight is None else self.weight[places]
        return Csr(ptr.to(self.ptr.dtype), self.index[places], self.num_elements, weight)

    def emptied(self, rows: int) -> "Csr":
        """So many rows without an entry, over the same elements."""
        return Csr(self.ptr.new_zeros(rows + 1), self.index[:0], self.num_elements)

    def scaled(self, by: Tensor) -> "Csr":
        """Every row's weights multiplied by its number of ``by``, (B,)."""
        each = by[self.rows]
        weight = each if self.weight is None else self.weight.to(each.dtype) * each
        return replace(self, weight=weight)

    def sum(self, values: Tensor) -> Tensor:
        """``A · values``: (U, F) → (B, F), in at least float32."""
        return neighbour_sum(values, self)

    def sizes(self, like: Tensor) -> Tensor:
        """(B,) how many elements each set holds, or how much absolute weight, in the type of ``like``."""
        if self.weight is None:
            return self.lengths.to(like.dtype)
        absolute = Csr(self.ptr, self.index, self.num_elements, self.weight.abs(), self.transpose)
        return neighbour_sum(like.new_ones(self.num_elements, 1), absolute).squeeze(-1).to(like.dtype)

    def occurrences(self) -> "Csr":
        """One unweighted entry per occurrence: what models that look at pairs or orders read.

        Raises:
            InputError: where a weight is not a whole, non-negative count.
        """
        if self.weight is None:
            return self
        repeats = self.weight.detach().round().long()
        if not torch.equal(repeats.to(self.weight.dtype), self.weight.detach()) or bool((repeats < 0).any()):
            raise InputError(
                "these sets have fractional or negative weights, and a model of pairs or orders needs whole counts: "
                "use SetTwister or DeepSets, or drop the weights"
            )
        rows, columns = self.rows.repeat_interleave(repeats), self.index.repeat_interleave(repeats)
        return Csr.from_pairs(rows, columns, self.num_sets, self.num_elements)

    def to(self, device: torch.device) -> "Csr":
        return Csr(
            self.ptr.to(device),
            self.index.to(device),
            self.num_elements,
            None if self.weight is None else self.weight.to(device),
            None if self.transpose is None else self.transpose.to(device),
        )


@dataclass(eq=False)
class Transpose:
    """A :class:`Csr` seen by columns; ``order`` sends its entries to their places in the row order.

    With ``blocks``, a column is that many bags, one for each block of rows, block by block: (blocks · U + 1,) offsets.
    """

    ptr: Tensor
    index: Tensor
    order: Tensor
    blocks: int = 1

    def to(self, device: torch.device) -> "Transpose":
        return Transpose(self.ptr.to(device), self.index.to(device), self.order.to(device), self.blocks)


def neighbour_sum(values: Tensor, incidence: Csr) -> Tensor:
    r"""Sum the values of every set's elements.

    .. math:: \text{out}_b = \sum_{(b, i)} w_{bi} \, \text{values}_i

    Forward is one ``embedding_bag`` over int32 rows; backward is the same call over the transposed rows, so that
    neither scatters. The operation is linear and its backward is itself a neighbour sum: gradients of any order work,
    also for weights that require them. Of a tall incidence with few columns, such as nodes' words, the backward pass
    goes block by block of rows, whose gradients stay in the cache while they are read once for every column.

    Args:
        values: (U, F) one row per distinct element.
        incidence: B × U. Without a transpose the backward pass falls back to ``index_add``.

    Returns:
        (B, F), in at least float32; an empty set sums to 0.

    Example:
        >>> import torch
        >>> pairs = torch.tensor([0, 0, 2]), torch.tensor([0, 1, 1])
        >>> neighbour_sum(torch.tensor([[1.0], [2.0]]), Csr.from_pairs(*pairs, num_sets=3, num_elements=2)).tolist()
        [[3.0], [0.0], [2.0]]
    """
    values = at_least_single(values)
    weight = None if incidence.weight is None else incidence.weight.to(values.dtype)
    if torch.compiler.is_exporting() or transformed():
        return _scattered_sum(values, incidence, weight)
    transpose = incidence.transpose
    if transpose is None:
        if values.requires_grad or (weight is not None and weight.requires_grad):
            return _scattered_sum(values, incidence, weight)
        return _bag_sum(values, incidence.ptr, incidence.index, weight)
    if weight is not None and weight.requires_grad:
        summed: Tensor = _WeightedSum.apply(
            values,
            weight,
            incidence.rows,
            incidence.ptr,
            incidence.index,
            transpose.ptr,
            transpose.index,
            transpose.order,
            (1, transpose.blocks),
        )
    else:
        transposed_weight = None if weight is None else weight[transpose.order]
        summed = _LinearSum.apply(
            values,
            incidence.ptr,
            incidence.index,
            weight,
            transpose.ptr,
            transpose.index,
            transposed_weight,
            (1, transpose.blocks),
        )
    return summed


def _bag_sum(values: Tensor, ptr: Tensor, index: Tensor, weight: Tensor | None, blocks: int = 1) -> Tensor:
    if index.shape[0] == 0:
        return values.new_zeros((ptr.shape[0] - 1) // blocks, values.shape[1])
    found = F.embedding_bag(index, values, ptr, mode="sum", per_sample_weights=weight, include_last_offset=True)
    return found if blocks == 1 else found.unflatten(0, (blocks, -1)).sum(0)


def _scattered_sum(values: Tensor, incidence: Csr, weight: Tensor | None) -> Tensor:
    """The stock way: what ONNX and torch.func know, and what differentiates without a transpose."""
    gathered = values[incidence.index.long()]
    if weight is not None:
        gathered = gathered * weight.unsqueeze(-1)
    rows = incidence.rows
    out = values.new_zeros(incidence.num_sets, values.shape[1])
    return out.scatter_add(0, rows.unsqueeze(-1).expand_as(gathered), gathered)


def _fits_int32(*sizes: int) -> bool:
    """Whether indices may be int32; an exported graph must hold for any size and keeps int64."""
    # Of a traced size the comparison alone is no bool, and all of them is one.
    return not torch.compiler.is_exporting() and all(size < INT32_LIMIT for size in sizes)


def _offsets(sorted_keys: Tensor, num_rows: int, *, int32: bool) -> Tensor:
    """Where each key 0 … num_rows starts in a sorted list of keys."""
    keys = torch.arange(num_rows + 1, dtype=sorted_keys.dtype, device=sorted_keys.device)
    return torch.searchsorted(sorted_keys, keys, out_int32=int32)


def _rows_of(ptr: Tensor, length: int) -> Tensor:
    """(N,) row numbers from offsets, without a loop and without a size that depends on the data."""
    starts = ptr[1:-1].long()
    steps = torch.zeros(length + 1, dtype=torch.long, device=ptr.device)
    return steps.scatter_add(0, starts, torch.ones_like(starts))[:length].cumsum(0)


class _LinearSum(torch.autograd.Function):
    """``A · values``, with ``A`` constant."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        ptr: Tensor,
        index: Tensor,
        weight: Tensor | None,
        ptr_t: Tensor,
        index_t: Tensor,
        weight_t: Tensor | None,
        blocks: tuple[int, int],
    ) -> Tensor:
        ctx.save_for_backward(ptr, index, weight, ptr_t, index_t, weight_t)
        ctx.blocks = blocks
        return _bag_sum(values, ptr, index, weight, blocks[0])

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        ptr, index, weight, ptr_t, index_t, weight_t = ctx.saved_tensors
        blocks = ctx.blocks[::-1]
        back = _LinearSum.apply(grad[0].contiguous(), ptr_t, index_t, weight_t, ptr, index, weight, blocks)
        return back, None, None, None, None, None, None, None


class _WeightedSum(torch.autograd.Function):
    """``A · values``, with weights that are learned too."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        weight: Tensor,
        rows: Tensor,
        ptr: Tensor,
        index: Tensor,
        ptr_t: Tensor,
        index_t: Tensor,
        order_t: Tensor,
        blocks: tuple[int, int],
    ) -> Tensor:
        ctx.save_for_backward(values, weight, rows, ptr, index, ptr_t, index_t, order_t)
        ctx.blocks = blocks
        return _bag_sum(values, ptr, index, weight, blocks[0])

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        values, weight, rows, ptr, index, ptr_t, index_t, order_t = ctx.saved_tensors
        g = grad[0].contiguous()
        to_rows = torch.empty_like(order_t)
        to_rows[order_t] = torch.arange(order_t.shape[0], device=order_t.device)
        columns = index.long()
        blocks = ctx.blocks[::-1]
        back = _WeightedSum.apply(g, weight[order_t], columns[order_t], ptr_t, index_t, ptr, index, to_rows, blocks)
        to_weight = (g[rows] * values[columns]).sum(-1)
        return back, to_weight, None, None, None, None, None, None, None
