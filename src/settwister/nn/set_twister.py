"""Set Twister, equation (2) of the paper inside its transform–sum–twist–transform architecture."""

import torch
from torch import Tensor

from settwister._checks import flag, probability, whole_number, widths
from settwister.errors import InputError
from settwister.nn.mlp import mlp
from settwister.nn.set_model import SetModel, pool_scale
from settwister.nn.twist import Form, LowerOrders, Norm, Twist
from settwister.sets import Sets


class SetTwister(SetModel):
    r"""M learned sums, combined in all their k-fold Hadamard products, then transformed.

    .. math:: \text{ST}_{M,k}(h) = \rho\Big(\sum_{u_1 \le \dots \le u_k} \alpha_{u_1 \dots u_k} \odot
              \bigodot_j \sum_i \phi_{u_j}(h_i)\Big)

    phi's last width is shared out among the M branches, so d_rep = phi[-1] / M and the cost is DeepSets'. The defaults
    (tamed products, concatenated lower orders, GELU) train far better than the paper's form, which
    ``settwister.paper.model`` builds to the parameter.

    Args:
        in_dim, out_dim: features of an element, numbers per set.
        phi: widths of the network on elements, activated after every layer. The last layer is block-diagonal, one block
            per branch; the ones before it are shared. A single layer is dense: every branch reads the whole element.
        rho: hidden widths of the network on the twisted sums; ``()`` makes it linear.
        M, k, form, rank, lower_orders, distinct, norm: see :class:`~settwister.Twist`.
        independent: no shared layers; every branch is a network of its own (widths phi / M).
        activation: ``"gelu"``, ``"tanh"`` or ``"relu"``.
        pool: ``"sum"``, ``"mean"`` or ``"sqrt"`` (the sum over √n).
        bias: whether the layers of phi and rho have biases.
        dropout: after every activation, in training.

    Example:
        >>> from settwister import Sets
        >>> model = SetTwister(3, 1, M=3, k=3, form="multiset")
        >>> tuple(model(Sets.dense(torch.randn(4, 5, 3))).shape)
        (4, 1)
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        phi: tuple[int, ...] = (60, 60),
        rho: tuple[int, ...] = (50, 50),
        M: int = 2,
        k: int = 2,
        form: Form = "ordered",
        rank: int | None = None,
        lower_orders: LowerOrders | None = "concat",
        distinct: bool = False,
        norm: Norm | None = "asinh",
        independent: bool = False,
        activation: str = "gelu",
        pool: str = "sum",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        config = dict(in_dim=in_dim, out_dim=out_dim, phi=widths("phi", phi), rho=widths("rho", rho), M=M, k=k)
        config |= dict(form=form, rank=rank, lower_orders=lower_orders, distinct=distinct, norm=norm)
        config |= dict(independent=flag("independent", independent), activation=activation, pool=pool, bias=bias)
        config |= dict(dropout=probability("dropout", dropout))
        super().__init__(config)
        if not phi:
            raise InputError("phi is empty, expected at least one layer width")
        whole_number("M", M)
        for width in phi if independent else phi[-2:]:
            if width % M:
                raise InputError(
                    f"phi is {tuple(phi)}, expected widths that M={M} divides wherever branches are separate"
                )
        self.pool = pool
        block_layers = len(phi) - 1 if independent else 1
        self.phi = mlp(in_dim, tuple(phi), activation, blocks=M, block_layers=block_layers, bias=bias, dropout=dropout)
        self.twist = Twist(M, k, phi[-1] // M, form, rank, lower_orders, distinct, norm)
        self.rho = self._rho(self.twist.out_dim, tuple(rho), activation, bias=bias, dropout=dropout)

    def _forward(self, sets: Sets) -> Tensor:
        branches = self.phi(sets.elements).reshape(-1, self.twist.M, self.twist.dim)
        if self.twist.distinct:
            branches = branches.to(torch.promote_types(branches.dtype, torch.float32))
        sums = sets.sum(self.twist.lift(branches))
        scale = pool_scale(sets, self.pool, sums)
        if scale is not None:
            degrees = torch.tensor(self.twist.degrees, dtype=scale.dtype, device=scale.device)
            sums = sums * (scale**degrees).unsqueeze(-1)
        out: Tensor = self.rho(self.twist(sums).to(self._like().dtype))
        return out
