"""What every set model shares: it is called on :class:`Sets` and checks them."""

from typing import Any

import torch
from torch import Tensor, nn

from settwister._checks import choice
from settwister.errors import InputError
from settwister.functional.incidence import Incidence
from settwister.nn.mlp import ACTIVATIONS, mlp
from settwister.nn.saved import Saved
from settwister.sets import Sets

POOLS = ("sum", "mean", "sqrt")


class SetModel(Saved):
    """A permutation-invariant function of sets: ``model(sets)`` is (B, out_dim).

    A subclass implements ``_forward`` and passes its constructor's arguments on as ``config``. A set's output never
    depends on the other sets in the batch, and an empty set has one.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        choice("activation", config.get("activation", "tanh"), ACTIVATIONS)
        choice("pool", config.get("pool", "sum"), POOLS)

    def forward(self, sets: Sets) -> Tensor:
        if not isinstance(sets, Sets):
            raise InputError(
                f"{type(self).__name__} was called on {type(sets).__name__}, expected Sets: wrap a (sets, elements, "
                "features) tensor as Sets.dense(x)"
            )
        if sets.dim != self.in_dim:
            raise InputError(f"the elements have {sets.dim} features, expected in_dim={self.in_dim}")
        like = self._like()
        if sets.elements.device != like.device:
            raise InputError(f"the sets are on {sets.elements.device}, expected {like.device}, where the model is")
        if sets.elements.dtype != like.dtype and not torch.is_autocast_enabled(like.device.type):
            raise InputError(
                f"the elements are {sets.elements.dtype}, expected {like.dtype} as the model's parameters: use "
                f"sets.to({like.dtype}) or model.to({sets.elements.dtype})"
            )
        return self._forward(sets)

    def _forward(self, sets: Sets) -> Tensor:
        raise NotImplementedError

    def _rho(self, in_dim: int, widths: tuple[int, ...], activation: str, **options: Any) -> nn.Sequential:
        """From a representation to the output: hidden layers, then a linear one."""
        return mlp(in_dim, (*widths, self.out_dim), activation, activate_last=False, **options)


def pool_scale(sets: Sets | Incidence, pool: str, like: Tensor) -> Tensor | None:
    """(B, 1) what sums are multiplied by: 1/n for ``mean``, 1/√n for ``sqrt``, None for ``sum``; 1 for an empty set."""
    if pool == "sum":
        return None
    sizes = sets.sizes(like)
    sizes = torch.where(sizes > 0, sizes, 1)
    return (1 / sizes if pool == "mean" else sizes.rsqrt()).unsqueeze(-1)
