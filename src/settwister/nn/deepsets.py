"""DeepSets (Zaheer et al. 2017), equation (1) of the paper."""

from torch import Tensor

from settwister._checks import probability, widths
from settwister.errors import InputError
from settwister.nn.mlp import mlp
from settwister.nn.set_model import SetModel, pool_scale
from settwister.sets import Sets


class DeepSets(SetModel):
    r"""Transform every element, sum, transform the sum.

    .. math:: \text{DS}(h) = \rho\Big(\sum_i \phi(h_i)\Big)

    Args:
        in_dim, out_dim: features of an element, numbers per set.
        phi: widths of the network on elements, activated after every layer; at least one.
        rho: hidden widths of the network on the sum; ``()`` makes it linear.
        activation: ``"gelu"``, ``"tanh"`` or ``"relu"``.
        pool: ``"sum"``, ``"mean"`` or ``"sqrt"`` (the sum over √n).
        bias: whether the layers have biases.
        dropout: after every activation, in training.

    Example:
        >>> import torch
        >>> from settwister import Sets
        >>> tuple(DeepSets(3, 1)(Sets.dense(torch.randn(4, 5, 3))).shape)
        (4, 1)
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        phi: tuple[int, ...] = (60, 60),
        rho: tuple[int, ...] = (50, 50),
        activation: str = "gelu",
        pool: str = "sum",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        config = dict(in_dim=in_dim, out_dim=out_dim, phi=widths("phi", phi), rho=widths("rho", rho))
        config |= dict(activation=activation, pool=pool, bias=bias, dropout=probability("dropout", dropout))
        super().__init__(config)
        if not phi:
            raise InputError("phi is empty, expected at least one layer width")
        self.pool = pool
        self.phi = mlp(in_dim, tuple(phi), activation, bias=bias, dropout=dropout)
        self.rho = self._rho(phi[-1], tuple(rho), activation, bias=bias, dropout=dropout)

    def _forward(self, sets: Sets) -> Tensor:
        sums = sets.sum(self.phi(sets.elements))
        scale = pool_scale(sets, self.pool, sums)
        pooled = sums if scale is None else sums * scale
        out: Tensor = self.rho(pooled.to(self._like().dtype))
        return out
