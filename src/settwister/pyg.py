"""Set Twister where PyTorch Geometric expects an aggregation. Needs the extra: ``pip install settwister[pyg]``."""

from typing import Any

import torch
from torch import Tensor

from settwister.errors import InputError
from settwister.nn import SetTwister
from settwister.sets import Sets

try:
    from torch_geometric.nn.aggr import Aggregation
except ImportError as error:
    raise ImportError("settwister.pyg needs PyTorch Geometric: pip install 'settwister[pyg]'") from error


class TwisterAggregation(Aggregation):  # type: ignore[misc]
    r"""Set Twister as an ``aggr=`` of PyG layers whose messages are vectors: each node's messages are a set.

    .. math:: \text{out}_v = \text{ST}_{M,k}\big(\{x_i : \text{index}_i = v\}\big)

    A node without messages gets Set Twister's output on the empty set.

    Args:
        in_channels: features of a message.
        out_channels: features of the result; ``in_channels`` where left out, as most layers expect.
        **options: of :class:`~settwister.SetTwister`. By default phi is one layer twice as wide as the messages and rho
            is linear, because the layers around an aggregation are networks already.

    Shapes:
        x (E, in_channels), index (E,) or ptr (N + 1,) → (N, out_channels)

    Example:
        >>> import torch
        >>> from torch_geometric.nn import SAGEConv
        >>> layer = SAGEConv(16, 32, aggr=TwisterAggregation(16))
        >>> edges = torch.tensor([[0, 1, 2], [1, 1, 0]])
        >>> tuple(layer(torch.randn(3, 16), edges).shape)
        (3, 32)
    """

    def __init__(self, in_channels: int, out_channels: int | None = None, **options: Any) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = in_channels if out_channels is None else out_channels
        options = {"phi": (2 * in_channels,), "rho": ()} | options
        self.set_twister = SetTwister(in_channels, self.out_channels, **options)

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int = 0,
        dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:
        self.assert_two_dimensional_input(x, dim)
        # PyG's own __call__ has put in a missing index (one set of everything) and a missing dim_size, unchecked.
        if not torch.compiler.is_compiling():
            _check(x, index, ptr, dim_size)
        sets = Sets.ragged(x, ptr, check=False) if ptr is not None else Sets.indexed(x, index, dim_size, check=False)
        out: Tensor = self.set_twister(sets)
        return out

    def reset_parameters(self) -> None:
        fresh = SetTwister(**self.set_twister.config).to(next(self.parameters()))
        self.set_twister.load_state_dict(fresh.state_dict())

    def __repr__(self) -> str:
        return f"TwisterAggregation({self.in_channels}, {self.out_channels}, {self.set_twister.twist.extra_repr()})"


def _check(x: Tensor, index: Tensor | None, ptr: Tensor | None, dim_size: int) -> None:
    if ptr is not None:
        if ptr.dim() != 1 or len(ptr) == 0:
            raise InputError(f"ptr has shape {tuple(ptr.shape)}, expected (sets + 1,), offsets that start with 0")
        if int(ptr[0]) != 0:
            raise InputError(f"ptr starts at {int(ptr[0])}, expected 0, the first row of x")
        if int(ptr[-1]) != len(x):
            raise InputError(f"ptr ends at {int(ptr[-1])}, expected {len(x)}, the rows of x")
        falls = (ptr[1:] < ptr[:-1]).nonzero()
        if len(falls):
            before, after = ptr[int(falls[0]) :][:2].tolist()
            raise InputError(
                f"ptr falls from {before} to {after} at set {int(falls[0])}, expected offsets that never fall"
            )
    elif index is not None and index.numel():
        if int(index.max()) >= dim_size:
            raise InputError(f"index holds {int(index.max())}, expected ids below dim_size={dim_size}")
        if int(index.min()) < 0:
            raise InputError(f"index holds {int(index.min())}, expected ids from 0 to {dim_size - 1}")
