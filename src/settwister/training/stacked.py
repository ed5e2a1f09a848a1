"""Several models of one architecture as one: all their parameters in a single (seeds, parameters) matrix.

A step of a small model is bound by the overhead of calls, not by arithmetic. Stacked, S seeds share every call; and an
optimiser is a few operations on one matrix. Models that cannot be stacked (a GRU) run one after the other inside the
same function, so that nothing outside this file knows the difference.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.func import functional_call, vmap

from settwister.nn import JanossyGRU, SetModel
from settwister.sets import Sets

NOT_STACKABLE = (JanossyGRU,)


def passes(model: SetModel, seeds: int) -> int:
    """How many trainings it takes to train that many seeds: one where they can be stacked."""
    return seeds if isinstance(model, NOT_STACKABLE) else 1


class Stack:
    """S models of one architecture.

    Args:
        models: equal but for their parameters' values; the first is kept as the pattern, the values are copied.
    """

    def __init__(self, models: Sequence[SetModel]) -> None:
        self.pattern = models[0]
        self.shapes = {name: value.shape for name, value in self.pattern.named_parameters()}
        self.stackable = not isinstance(self.pattern, NOT_STACKABLE)
        rows = [torch.cat([p.detach().flatten() for p in model.parameters()]) for model in models]
        self.initial = torch.stack(rows)

    def parameters(self, row: Tensor) -> dict[str, Tensor]:
        """One model's parameters, as views into its row."""
        sizes = [shape.numel() for shape in self.shapes.values()]
        parts = torch.split(row, sizes)
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def forward(self, rows: Tensor, build: Callable[[Tensor, Tensor], Sets], elements: Tensor, batch: Tensor) -> Tensor:
        """Every model on its own batch.

        Args:
            rows: (S, P).
            build: from one seed's elements and batch to sets.
            elements: (S, U, d) or (S, 0); batch: (S, B, …).

        Returns:
            (S, B)
        """

        def one(row: Tensor, elements: Tensor, batch: Tensor) -> Tensor:
            out: Tensor = functional_call(self.pattern, self.parameters(row), (build(elements, batch),))
            return out.squeeze(-1)

        if self.stackable:
            found: Tensor = vmap(one)(rows, elements, batch)
            return found
        return torch.stack([one(*seed) for seed in zip(rows, elements, batch, strict=True)])

    def model(self, row: Tensor) -> SetModel:
        """One of them as a model of its own."""
        model = type(self.pattern)(**self.pattern.config)
        model.load_state_dict(self.parameters(row.detach().clone()))
        return model.eval()
