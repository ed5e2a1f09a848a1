"""Several networks that answer as one."""

import math
from typing import Any, Self

import torch
from torch import Tensor, nn

from settwister._checks import choice, whole_number
from settwister.errors import InputError
from settwister.nn.nodes.base import NodeBatch, NodeModel
from settwister.nn.nodes.mlp import NodeMLP
from settwister.nn.nodes.one_hop import OneHopDeepSets, OneHopSetTwister

MOST = 64
_KINDS: dict[str, type[NodeModel]] = {kind.__name__: kind for kind in (NodeMLP, OneHopDeepSets, OneHopSetTwister)}


class Averaged(NodeModel):
    """The mean of what several networks of one kind say, as logits.

    Args:
        of: the class of the networks, one that looks no further than one hop.
        members: how many.
        in_dim, out_dim, config: the arguments of each.
    """

    def __init__(self, of: str, members: int, in_dim: int, out_dim: int, **config: Any) -> None:
        config |= {"in_dim": in_dim, "out_dim": out_dim}
        super().__init__({"of": of, "members": members, **config})
        kind = _KINDS[choice("of", of, tuple(_KINDS))]
        self.hops = kind.hops
        self.members = nn.ModuleList(kind(**config) for _ in range(whole_number("members", members, most=MOST)))

    @classmethod
    def over(cls, networks: list[NodeModel]) -> Self:
        """Trained networks of one class and configuration, put together; they are not copied."""
        if not networks:
            raise InputError("there are no networks to average, expected at least one")
        first = networks[0]
        for other in networks:
            if type(other) is not type(first) or other.config != first.config:
                raise InputError(
                    f"a {type(other).__name__} was given beside a {type(first).__name__}, expected networks of one "
                    "class and configuration"
                )
        with torch.device("meta"):
            made = cls(type(first).__name__, len(networks), **first.config)
        made.members = nn.ModuleList(networks)
        return made.eval()

    def _prepare(self, batch: NodeBatch) -> Any:
        return self.members[0]._prepare(batch)  # type: ignore[operator]

    def _forward(self, prepared: Any) -> Tensor:
        each = torch.stack([member._forward(prepared).log_softmax(-1) for member in self.members])  # type: ignore[operator]
        return each.logsumexp(0) - math.log(len(self.members))
