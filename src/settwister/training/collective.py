"""Collective learning on any base (Hang et al. 2021): a model that also reads some labels and guesses of the others."""

import math
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from settwister.errors import DivergedError
from settwister.functional.neighbour_sum import Csr
from settwister.functional.propagation import one_hot_rows
from settwister.nn.features import Features
from settwister.nn.nodes import NodeModel
from settwister.tasks.streams import stream
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, NodeRun, NodeTrained, Tell

SHOWN = 0.3  # the share of training labels that the model may read
SAMPLES = 8  # draws that a prediction is averaged over
ROUNDS = 10
ALMOST_NOTHING = 1e-6  # what a draw counts for a node whose label it shows: one that all of them show has a mean too
LATER_PATIENCE = 50  # of rounds after the first, which go on from weights that are trained already


def train_collective(
    model: NodeModel,
    x: Features,
    neighbours: Csr,
    train: Labelled,
    validation: Labelled | None,
    recipe: NodeRecipe,
    seed: int = 0,
    rounds: int = ROUNDS,
    tell: Tell = lambda epoch, note: None,
) -> NodeTrained:
    """Train in rounds, each reading guesses drawn from the round before, and keep the round best on validation.

    At every step 30% of the training labels are drawn anew and shown; the loss is over the others. So a target is
    never among what is shown, and labels of validation nodes never are. Predictions are the mean over draws of as many,
    where the code of its authors shows one set of its own throughout. A round goes on from the weights of the one
    before, so rounds after the first are given up sooner. One that diverges is the last. Epochs, their time and curves
    are those of all rounds, one after the other; ``chosen`` says which round was kept.

    Args:
        model: its ``in_dim`` counts one column per class beside those of x.
    """
    model.check_width(x, torch.empty(0, model.out_dim))
    best: NodeTrained | None = None
    best_value = -math.inf
    guesses: Tensor | None = None
    done, seconds, curves = 0, 0.0, defaultdict[str, list[float]](list)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, "collective").integers(2**62)))
        for number in range(rounds):
            if number == 1:
                recipe = replace(recipe, patience=min(recipe.patience, LATER_PATIENCE))
            model = deepcopy(model)  # so that the best round's weights stay as they were
            one = CollectiveRound(model, x, neighbours, train, validation, recipe, seed, tell)
            one.guesses = guesses
            try:
                found = one.run()
            except DivergedError:
                if best is None:
                    raise
                break
            guesses = found.probabilities
            found.best_epoch += done
            done += len(found.curves["train_loss"])
            seconds += found.seconds_per_epoch * len(found.curves["train_loss"])
            for name, values in found.curves.items():
                curves[name] += values
            value = float(number)  # without validation nodes the last round is kept
            if validation is not None:  # of the mean over draws, which is what is kept, not of one lucky draw
                found.validation, loss = one.score_and_loss(guesses[validation.nodes], validation.labels)
                value = found.validation if recipe.chosen_by == "score" else -loss
            if value > best_value:
                best, best_value = replace(found, chosen={"round": number}), value
    assert best is not None
    return replace(best, seconds_per_epoch=seconds / done, curves=dict(curves))


class CollectiveRound(NodeRun):
    """One round of it: a model whose further columns are labels that are shown, and guesses of the others."""

    guesses: Tensor | None = None

    def needs_whole(self) -> bool:
        return True

    def _shown(self) -> Tensor:
        """Which of the training nodes the model may read at this step."""
        shown = torch.rand(len(self.train)) < SHOWN
        if bool(shown.all()):
            shown[0] = False  # somebody must be a target
        return shown

    def _given(self, shown: Tensor) -> Any:
        """The graph with the labels of shown nodes, and for every other node a guess drawn from the last round's."""
        classes = self.model.out_dim
        labels = torch.zeros(self.neighbours.num_sets, classes)
        if self.guesses is not None:
            drawn = torch.multinomial(self.guesses, 1).squeeze(-1)
            labels = one_hot_rows(torch.arange(len(drawn)), drawn, len(drawn), classes)
        nodes = self.train.nodes[shown]
        labels[nodes] = 0
        labels[nodes, self.train.labels[shown]] = 1
        return self.model.with_extra(self.whole, labels)

    def _steps(self, epoch: int) -> Iterator[tuple[tuple[Any, Tensor | None], Tensor]]:
        shown = self._shown()
        yield (self._given(shown), self.train.nodes[~shown]), self.train.labels[~shown]

    def _validation_probabilities(self, validation: Labelled) -> Tensor:
        return self.judged.probabilities(self._given(self._shown()))[validation.nodes]

    @torch.no_grad()
    def _predict(self) -> Tensor:
        """The mean over draws; of a training node, over those that did not show the model its label."""
        total = torch.zeros(self.neighbours.num_sets, self.model.out_dim)
        draws = torch.zeros(self.neighbours.num_sets, 1)
        for _ in range(SAMPLES):
            shown = self._shown()
            unseen = torch.ones_like(draws)
            unseen[self.train.nodes[shown]] = ALMOST_NOTHING
            total += unseen * self.model.probabilities(self._given(shown))
            draws += unseen
        return total / draws
