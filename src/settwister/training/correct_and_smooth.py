"""Correct and smooth on top of any base (Huang et al. 2020): which of its two steps, along what, how far."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from settwister.functional.neighbour_sum import Csr
from settwister.functional.propagation import NORMALISATIONS, Normalisation, correct, normalised, smooth
from settwister.training.node_trainer import Labelled, score

ALPHAS = (0.2, 0.4, 0.6, 0.8, 0.9)
LARGEST = 2**26  # numbers in memory at once while options are compared


@dataclass(frozen=True)
class Step:
    """One of the two steps: along which adjacency, and how much of the neighbours' values is taken."""

    adjacency: Normalisation
    alpha: float


@dataclass(frozen=True)
class Steps:
    """Both steps, either, or none.

    Args:
        correct: spread the errors on training nodes, and take them off.
        smooth: average predictions along edges, training nodes starting from their labels.
    """

    correct: Step | None
    smooth: Step | None

    def __call__(self, base: Tensor, train: Labelled, neighbours: Csr) -> Tensor:
        """(N, C) scores from base probabilities; labels of training nodes are all that is spread."""
        found = base
        if self.correct is not None:
            along = normalised(neighbours, self.correct.adjacency)
            found = correct(found, train.nodes, train.labels, along, self.correct.alpha)
        if self.smooth is not None:
            along = normalised(neighbours, self.smooth.adjacency)
            found = smooth(found, train.nodes, train.labels, along, self.smooth.alpha)
        return found

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Chosen:
    """What was best on validation, and what it says of every node."""

    steps: Steps
    scores: Tensor
    validation: float


def choose_correct_and_smooth(
    base: Tensor, neighbours: Csr, train: Labelled, validation: Labelled, *, balanced: bool = False
) -> Chosen:
    """Every combination of steps on a grid, judged on validation nodes, whose labels are never spread.

    Ties go to the combination that comes first: fewer steps, smaller alphas.
    """
    along = {kind: normalised(neighbours, kind) for kind in NORMALISATIONS}
    options = [None, *(Step(kind, alpha) for alpha in ALPHAS for kind in along)]
    reached: dict[tuple[Step | None, Step | None], float] = {}
    together = max(1, LARGEST // base.numel())
    with torch.no_grad():
        for start in range(0, len(options), together):
            firsts = options[start : start + together]
            versions = torch.stack([_corrected(base, train, along, first) for first in firsts], dim=1)
            for second in options:
                found = versions
                if second is not None:
                    found = smooth(versions, train.nodes, train.labels, along[second.adjacency], second.alpha)
                for first, one in zip(firsts, found[validation.nodes].argmax(-1).unbind(1), strict=True):
                    reached[first, second] = score(one, validation.labels, balanced=balanced)
        # in the order of the options, whatever the order of the computation
        first, second = max(((f, s) for f in options for s in options), key=reached.__getitem__)
        steps = Steps(first, second)
        return Chosen(steps, steps(base, train, neighbours), reached[first, second])


def _corrected(base: Tensor, train: Labelled, along: dict[Normalisation, Csr], step: Step | None) -> Tensor:
    if step is None:
        return base
    return correct(base, train.nodes, train.labels, along[step.adjacency], step.alpha)
