"""The layer that reads features, dense or sparse."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from settwister.functional.autocast import at_least_single, full_precision
from settwister.functional.dropout import dropout, keep
from settwister.functional.neighbour_sum import Csr


@dataclass(frozen=True, eq=False)
class Centred:
    """Sparse features less a multiple of one row: what subtracting means makes of them, without writing it out.

    Hardly anything of it is 0, but a product with a weight costs what it costs for the sparse part, and a vector more.

    Args:
        sparse: (N, d).
        row: (d,) what is subtracted; share: (N,) how many times from each node's features.
    """

    sparse: Csr
    row: Tensor
    share: Tensor

    @property
    def num_sets(self) -> int:
        return self.sparse.num_sets

    @property
    def num_elements(self) -> int:
        return self.sparse.num_elements

    @cached_property
    def full(self) -> Tensor:
        """Written out: dropping some of it needs every value."""
        return torch.addr(dense(self.sparse), self.share, self.row, alpha=-1)


Features = Tensor | Csr | Centred


def shape(x: Features) -> tuple[int, int]:
    """(N, d)."""
    return (x.shape[0], x.shape[1]) if isinstance(x, Tensor) else (x.num_sets, x.num_elements)


class FeatureLinear(nn.Module):
    """A dense layer whose input may be sparse: then it is a sum of rows of the weight, one per stored value.

    Dropout acts on the input in training; of a sparse one only the stored values are drawn, since the others are 0
    whether dropped or not. Of centred ones every value is.

    Args:
        dropout: of the input.

    Shapes:
        (N, in_features) → (N, out_features); the weight is (in_features, out_features). With ``extra``, further dense
        columns that are never dropped, x has as many fewer.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Features, extra: Tensor | None = None) -> Tensor:
        dropped = drop_features(x, self.dropout) if self.training else x
        out = product(dropped, self.weight, extra)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}, dropout={self.dropout}"


def product(x: Features, weight: Tensor, extra: Tensor | None = None) -> Tensor:
    """``[x, extra] · weight``, x dense or sparse."""
    if extra is not None:
        return product(x, weight[: -extra.shape[1]]) + extra.to(weight.dtype) @ weight[-extra.shape[1] :]
    if isinstance(x, Centred):
        with full_precision(weight.device.type):
            gone = at_least_single(x.row) @ at_least_single(weight)
            return torch.addr(x.sparse.sum(weight), at_least_single(x.share), gone, alpha=-1).to(weight.dtype)
    return x.sum(weight).to(weight.dtype) if isinstance(x, Csr) else x @ weight


def drop_features(x: Features, p: float) -> Features:
    """Dropout; of sparse features on the stored values."""
    if p == 0.0:
        return x
    if not isinstance(x, Csr):
        return dropout(dense(x), p)
    kept = keep(x.index.shape[0], p).to(x.index.device)
    weight = kept if x.weight is None else x.weight * kept
    return Csr(x.ptr, x.index, x.num_elements, weight, x.transpose)


def dense(x: Features) -> Tensor:
    """The features as a dense matrix."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Centred):
        return x.full
    values = torch.ones(len(x.index), device=x.index.device) if x.weight is None else x.weight
    found = values.new_zeros(x.num_sets, x.num_elements)
    return found.index_put_((x.rows, x.index.long()), values, accumulate=True)


def take_rows(x: Features, index: Tensor) -> Features:
    """Some rows of the features, in the given order, ready for a fast backward pass."""
    if isinstance(x, Centred):
        return Centred(x.sparse.take(index).with_transpose(), x.row, x.share[index])
    return x[index] if isinstance(x, Tensor) else x.take(index).with_transpose()


def row_normalised(x: Features) -> Features:
    """Every row divided by the sum of its absolute values; a row of zeros stays one.

    >>> row_normalised(torch.tensor([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    if isinstance(x, Tensor):
        total = x.abs().sum(1, keepdim=True)
        return x / torch.where(total == 0, 1, total)
    sparse = x.sparse if isinstance(x, Centred) else x
    values = torch.ones(len(sparse.index)) if sparse.weight is None else sparse.weight
    total, absolute = values.new_zeros(sparse.num_sets), values.abs()
    if isinstance(x, Centred):  # as if nothing were stored, and then what is stored makes of it
        gone = x.share[sparse.rows] * x.row[sparse.index.long()]
        total, absolute = x.share.abs() * x.row.abs().sum(), (values - gone).abs() - gone.abs()
    total = total.scatter_add(0, sparse.rows, absolute)
    total = torch.where(total == 0, 1, total)
    divided = replace(sparse, weight=values / total[sparse.rows])
    return Centred(divided, x.row, x.share / total) if isinstance(x, Centred) else divided
