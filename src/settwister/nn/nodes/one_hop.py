"""Single-hop node models, equations (3) and (4) of the paper: a node, and the set of its neighbours."""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from settwister._checks import choice, flag, probability, whole_number, widths
from settwister.errors import InputError
from settwister.functional.autocast import at_least_single
from settwister.nn.features import FeatureLinear
from settwister.nn.mlp import ACTIVATIONS, linear, mlp
from settwister.nn.nodes.base import NodeBatch, NodeModel, arguments
from settwister.nn.set_model import POOLS, pool_scale
from settwister.nn.twist import Form, LowerOrders, Norm, Twist


class OneHop(NodeModel):
    """phi on every distinct node, summed over neighbours, and rho on the node's own phi beside what became of the sums.

    Subclasses say what becomes of the sums.
    """

    hops = 1

    def _build(self, combined: int, M: int) -> None:
        """Make phi and rho, ``combined`` being the width of what the sums become."""
        given = self.config
        activation, dropout = choice("activation", given["activation"], ACTIVATIONS), given["dropout"]
        self.pool: str = choice("pool", given["pool"], POOLS)
        first = partial(FeatureLinear, dropout=given["input_dropout"])
        phi, rho = given["phi"], given["rho"]
        self.phi = mlp(self.in_dim, phi, activation, blocks=M, block_layers=1, dropout=dropout, first=first)
        together = phi[-1] + combined
        self.rho = mlp(together, (*rho, self.out_dim), activation, activate_last=False, dropout=dropout)
        self.norm = nn.LayerNorm(together) if flag("layer_norm", given["layer_norm"]) else nn.Identity()
        self.skip = linear(together, self.out_dim) if flag("residual", given["residual"]) else None

    def _prepare(self, batch: NodeBatch) -> NodeBatch:
        """The batch, its neighbour sets weighed as the pool has it: so a step passes over the sums once less."""
        scale = pool_scale(batch.neighbours, self.pool, at_least_single(self._like()))
        return batch if scale is None else replace(batch, neighbours=batch.neighbours.scaled(scale.squeeze(-1)))

    def _forward(self, prepared: NodeBatch) -> Tensor:
        first, *rest = self.phi
        values = first(prepared.x, prepared.extra)
        for layer in rest:
            values = layer(values)
        values = values.flatten(1)
        sums = prepared.neighbours.sum(values)
        own = values if prepared.own is None else values[prepared.own]
        together = self.norm(torch.cat([own, self._combine(sums)], dim=-1).to(self._like().dtype))
        out: Tensor = self.rho(together)
        return out if self.skip is None else out + self.skip(together)

    def _combine(self, sums: Tensor) -> Tensor:
        raise NotImplementedError


class OneHopDeepSets(OneHop):
    r"""DeepSets for nodes.

    .. math:: \rho\Big(\phi(x_v), \sum_{u \in N(v)} \phi(x_u)\Big)

    Args:
        in_dim, out_dim: features of a node, classes.
        phi: widths of the network on nodes, activated after every layer; at least one.
        rho: hidden widths of the network on the node and its neighbourhood.
        activation: ``"relu"``, ``"gelu"`` or ``"tanh"``.
        pool: ``"sum"``, ``"mean"`` or ``"sqrt"``.
        dropout: after every activation; input_dropout: of the features.
        layer_norm: normalise what rho reads.
        residual: add a linear function of what rho reads to the logits.
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        phi: tuple[int, ...] = (256,),
        rho: tuple[int, ...] = (256,),
        activation: str = "relu",
        pool: str = "mean",
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        layer_norm: bool = False,
        residual: bool = False,
    ) -> None:
        super().__init__(_config(locals()))
        self._build(phi[-1], M=1)

    def _combine(self, sums: Tensor) -> Tensor:
        return sums


class OneHopSetTwister(OneHop):
    r"""Set Twister for nodes.

    .. math:: \rho\Big(\phi_1(x_v), \dots, \phi_M(x_v), \sum_{u_1 \le \dots \le u_k} \alpha_{u_1 \dots u_k} \odot
              \bigodot_j \sum_{w \in N(v)} \phi_{u_j}(x_w)\Big)

    The node is not among its neighbours. Args as for :class:`OneHopDeepSets`, and those of
    :class:`~settwister.Twist`; ``phi[-1]`` is shared out among the M branches.

    Example:
        >>> from settwister.functional import Csr
        >>> neighbours = Csr.from_pairs(torch.tensor([0, 1]), torch.tensor([1, 0]), 3, 3).with_transpose()
        >>> tuple(OneHopSetTwister(5, 2)(NodeBatch(torch.randn(3, 5), neighbours)).shape)
        (3, 2)
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        phi: tuple[int, ...] = (256,),
        rho: tuple[int, ...] = (256,),
        M: int = 2,
        k: int = 2,
        form: Form = "ordered",
        rank: int | None = None,
        lower_orders: LowerOrders | None = "concat",
        norm: Norm | None = "asinh",
        activation: str = "relu",
        pool: str = "mean",
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        layer_norm: bool = False,
        residual: bool = False,
    ) -> None:
        super().__init__(_config(locals()))
        whole_number("M", M)
        if any(width % M for width in phi[-2:]):
            raise InputError(f"phi is {tuple(phi)}, expected widths that M={M} divides wherever branches are separate")
        twist = Twist(M, k, phi[-1] // M, form, rank, lower_orders, norm=norm)
        self._build(twist.out_dim, M)
        self.twist = twist

    def _combine(self, sums: Tensor) -> Tensor:
        found: Tensor = self.twist(sums.unflatten(-1, (self.twist.M, self.twist.dim)))
        return found


def _config(given: dict[str, Any]) -> dict[str, Any]:
    """A constructor's arguments, checked, as they are saved."""
    config = arguments(given)
    config |= dict(phi=widths("phi", config["phi"]), rho=widths("rho", config["rho"]))
    for name in ("dropout", "input_dropout"):
        probability(name, config[name])
    if not config["phi"]:
        raise InputError("phi is empty, expected at least one layer width")
    return config
