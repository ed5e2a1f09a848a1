"""The layer that reads features, dense or sparse."""

import torch
from torch import Tensor, nn

from settwister.functional.dropout import dropout, keep
from settwister.functional.neighbour_sum import Csr


class FeatureLinear(nn.Module):
    """A dense layer whose input may be sparse: then it is a sum of rows of the weight, one per stored value.

    Dropout acts on the input in training; of a sparse one only the stored values are drawn, since the others are 0
    whether dropped or not.

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

    def forward(self, x: Tensor | Csr, extra: Tensor | None = None) -> Tensor:
        if isinstance(x, Csr):
            x = drop_values(x, self.dropout) if self.training else x
        else:
            x = dropout(x, self.dropout, self.training)
        out = product(x, self.weight, extra)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}, dropout={self.dropout}"


def product(x: Tensor | Csr, weight: Tensor, extra: Tensor | None = None) -> Tensor:
    """``[x, extra] · weight``, x dense or sparse."""
    if extra is not None:
        return product(x, weight[: -extra.shape[1]]) + extra @ weight[-extra.shape[1] :]
    return x.sum(weight) if isinstance(x, Csr) else x @ weight


def drop_values(x: Csr, p: float) -> Csr:
    """Dropout on the stored values."""
    if p == 0.0:
        return x
    kept = keep(x.index.shape[0], p).to(x.index.device)
    weight = kept if x.weight is None else x.weight * kept
    return Csr(x.ptr, x.index, x.num_elements, weight, x.transpose)


def dense(x: Tensor | Csr) -> Tensor:
    """The features as a dense matrix."""
    if isinstance(x, Tensor):
        return x
    found = torch.zeros(x.num_sets, x.num_elements, device=x.index.device)
    values = torch.ones(len(x.index)) if x.weight is None else x.weight
    return found.index_put_((x.rows, x.index.long()), values, accumulate=True)


def take_rows(x: Tensor | Csr, index: Tensor) -> Tensor | Csr:
    """Some rows of the features, in the given order, ready for a fast backward pass."""
    return x[index] if isinstance(x, Tensor) else x.take(index).with_transpose()


def row_normalised(x: Tensor | Csr) -> Tensor | Csr:
    """Every row divided by the sum of its absolute values; a row of zeros stays one.

    >>> row_normalised(torch.tensor([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    if isinstance(x, Tensor):
        total = x.abs().sum(1, keepdim=True)
        return x / torch.where(total == 0, 1, total)
    values = torch.ones(len(x.index)) if x.weight is None else x.weight
    total = torch.zeros(x.num_sets, dtype=values.dtype).scatter_add(0, x.rows, values.abs())
    return Csr(x.ptr, x.index, x.num_elements, values / torch.where(total == 0, 1, total)[x.rows], x.transpose)
