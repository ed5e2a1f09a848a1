"""Training a node classifier.

What is passed in is what can be used: labels of training and validation nodes, and never those of others.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from settwister.errors import DivergedError, InputError
from settwister.functional.neighbour_sum import Csr
from settwister.nn.features import Features
from settwister.nn.nodes import NodeBatch, NodeModel
from settwister.nn.nodes.base import check_graph, node_numbers
from settwister.tasks.streams import permutation, stream
from settwister.training.node_recipe import NodeRecipe

EVALUATE_AT_ONCE = 50_000  # nodes per call in prediction and, where training has batches, in validation
FIRST_STEPS = 10  # the running average of weights forgets its start as if so many steps had gone before

Tell = Callable[[int, str], None]
#: asked after every epoch, with the number done and the validation score of the one to keep; True ends the training
Stop = Callable[[int, float], bool]


def never(epoch: int, best: float) -> bool:
    return False


@dataclass(frozen=True, eq=False)
class Labelled:
    """Some nodes with their labels."""

    nodes: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        for name in ("nodes", "labels"):
            given = getattr(self, name)
            if not isinstance(given, Tensor):
                raise InputError(f"{name} are a {type(given).__name__}, expected a tensor of whole numbers")
        if self.nodes.shape != self.labels.shape or self.nodes.dim() != 1:
            raise InputError(
                f"{tuple(self.nodes.shape)} nodes with {tuple(self.labels.shape)} labels, expected as many of each"
            )
        if len(self.nodes) == 0:
            raise InputError("no labelled nodes were given, expected at least one in each part of the split")
        for name in ("nodes", "labels"):
            given = getattr(self, name)
            if given.dtype not in (torch.int64, torch.int32):
                advice = ": use mask.nonzero().squeeze(-1) and labels[mask]" if given.dtype == torch.bool else ""
                raise InputError(f"{name} are {given.dtype}, expected torch.int64, whole numbers{advice}")
            object.__setattr__(self, name, given.long())
        if int(self.labels.min()) < 0:
            raise InputError(f"label {int(self.labels.min())} among the labelled nodes, expected labels from 0")

    def __len__(self) -> int:
        return len(self.nodes)

    def check_fits(self, num_nodes: int, num_classes: int) -> None:
        """Refuse nodes that a graph does not have, and labels that a model does not know."""
        least, most, label = int(self.nodes.min()), int(self.nodes.max()), int(self.labels.max())
        if least < 0 or most >= num_nodes:
            bad = least if least < 0 else most
            raise InputError(f"node {bad} among the labelled nodes, expected ids from 0 to {num_nodes - 1}")
        if label >= num_classes:
            raise InputError(f"label {label} among the labelled nodes, expected labels below the {num_classes} classes")


def joined(parts: Sequence[Labelled]) -> Labelled:
    """The nodes of several parts, one part after the other."""
    return Labelled(torch.cat([part.nodes for part in parts]), torch.cat([part.labels for part in parts]))


@dataclass(eq=False)
class NodeTrained:
    """The outcome: the model with its best weights, what it says of every node, and what else validation decided."""

    model: NodeModel
    probabilities: Tensor = field(repr=False)
    best_epoch: int
    validation: float
    seconds_per_epoch: float
    curves: dict[str, list[float]] = field(repr=False)
    chosen: dict[str, Any] = field(default_factory=dict)


def train_nodes(
    model: NodeModel,
    x: Features,
    neighbours: Csr,
    train: Labelled,
    validation: Labelled | None,
    recipe: NodeRecipe,
    seed: int = 0,
    tell: Tell = lambda epoch, note: None,
    stop: Stop = never,
) -> NodeTrained:
    """Train a model and keep the weights that are best on validation nodes, as the recipe chooses.

    The same seed gives the same outcome.

    Args:
        model: changed in place.
        validation: None turns model selection off: all epochs are run and the last weights kept.
        tell: called after every epoch with the number done and a note for people.
        stop: asked after every epoch that has a validation score whether to give up here.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, "nodes").integers(2**62)))
        run = NodeRun(model, x, neighbours, train, validation, recipe, seed, tell, stop)
        model.check_width(x)
        return run.run()


class NodeRun:
    """One training; what is drawn at random comes from torch's generator and, for batches, from the seed."""

    def __init__(
        self,
        model: NodeModel,
        x: Features,
        neighbours: Csr,
        train: Labelled,
        validation: Labelled | None,
        recipe: NodeRecipe,
        seed: int,
        tell: Tell,
        stop: Stop = never,
    ) -> None:
        self.model, self.x, self.neighbours = model, x, neighbours
        self.train, self.validation, self.recipe, self.seed = train, validation, recipe, seed
        self.tell, self.stop = tell, stop
        given = {"model": (model, NodeModel), "neighbours": (neighbours, Csr), "recipe": (recipe, NodeRecipe)}
        given |= {"train": (train, Labelled)} | ({} if validation is None else {"validation": (validation, Labelled)})
        for name, (one, kind) in given.items():
            if not isinstance(one, kind):
                raise InputError(f"{name} is a {type(one).__name__}, expected a {kind.__name__}")
        check_graph(x, neighbours)
        for part in (train, validation):
            if part is not None:
                part.check_fits(neighbours.num_sets, model.out_dim)
        self.whole = model.prepare(NodeBatch(x, neighbours)) if self.needs_whole() else None
        if recipe.batch is not None and self.whole is not None:
            raise InputError(f"batch is {recipe.batch} with {type(model).__name__}, expected None: it needs the graph")
        self.optimiser = torch.optim.Adam(model.parameters(), recipe.rate, weight_decay=recipe.weight_decay, fused=True)
        self.class_weight = class_weights(train.labels, model.out_dim) if recipe.balanced else None
        if recipe.class_weight is not None:
            if len(recipe.class_weight) != model.out_dim:
                raise InputError(
                    f"class_weight has {len(recipe.class_weight)} numbers, expected {model.out_dim}, one per class"
                )
            self.class_weight = torch.tensor(recipe.class_weight, dtype=torch.float32)
        if self.class_weight is not None:
            self.class_weight = self.class_weight / self.class_weight[train.labels].mean()
            self.class_weight = self.class_weight.to(next(model.parameters()).dtype)
        self.averaged: AveragedModel | None = None
        if recipe.average > 0:
            self.averaged = AveragedModel(model, multi_avg_fn=partial(_average, recipe.average))
        # A part that is used every epoch is cut out of the graph once.
        self.train_part = self._part(train.nodes) if recipe.batch is None else None
        self.validation_part: tuple[Any, Tensor | None] | None = None
        if validation is not None and (recipe.batch is None or len(validation) <= EVALUATE_AT_ONCE):
            self.validation_part = self._part(validation.nodes)

    def needs_whole(self) -> bool:
        return self.model.hops is None

    @property
    def judged(self) -> NodeModel:
        """What is validated and kept: the model, or the average of its weights."""
        if self.averaged is None:
            return self.model
        assert isinstance(self.averaged.module, NodeModel)
        return self.averaged.module

    def _part(self, nodes: Tensor) -> tuple[Any, Tensor | None]:
        """What the model is given for these nodes, and which rows of its output they are."""
        if self.whole is not None:
            return self.whole, nodes
        return self.model.prepare(NodeBatch.of(self.x, self.neighbours, nodes, self.model.hops)), None

    def _steps(self, epoch: int) -> Iterator[tuple[tuple[Any, Tensor | None], Tensor]]:
        if self.train_part is not None:
            yield self.train_part, self.train.labels
            return
        assert self.recipe.batch is not None
        for rows in permutation(len(self.train), self.seed, "batches", epoch).split(self.recipe.batch):
            yield self._part(self.train.nodes[rows]), self.train.labels[rows]

    def epoch(self, number: int = 1) -> float:
        """One pass over the training nodes; its mean loss."""
        self.model.train()
        losses = []
        for (prepared, rows), labels in self._steps(number):
            self.optimiser.zero_grad()
            loss = self.model.loss(prepared, rows, labels, self.class_weight)
            loss.backward()
            self.optimiser.step()
            if self.averaged is not None:
                self.averaged.update_parameters(self.model)
            losses.append(float(loss.detach()))
        return sum(losses) / len(losses)

    def run(self) -> NodeTrained:
        recipe = self.recipe
        best: tuple[float, float] | None = None
        best_epoch, best_score, weights = 0, float("nan"), _copy(self.judged)
        curves: dict[str, list[float]] = {"train_loss": [], "validation_loss": [], "validation_score": []}
        began = time.perf_counter()
        for epoch in range(1, recipe.epochs + 1):
            curves["train_loss"].append(self.epoch(epoch))
            if not math.isfinite(curves["train_loss"][-1]):
                raise DivergedError(
                    f"the loss was {curves['train_loss'][-1]} in epoch {epoch}, expected a number: scale the "
                    f"features, or train with a rate below {recipe.rate:g}"
                )
            if self.validation is None:
                best_epoch = epoch
                self.tell(epoch, f"loss {curves['train_loss'][-1]:.3f}")
                continue
            score, validation_loss = self._validate(self.validation)
            curves["validation_score"].append(score)
            curves["validation_loss"].append(validation_loss)
            self.tell(epoch, f"loss {curves['train_loss'][-1]:.3f}, validation {score:.3f}")
            rank = (score, -validation_loss) if recipe.chosen_by == "score" else (-validation_loss, score)
            if best is None or rank > best:
                best, best_epoch, best_score, weights = rank, epoch, score, _copy(self.judged)
            elif epoch - best_epoch >= recipe.patience:
                break
            if self.stop(epoch, best_score):
                break
        seconds = (time.perf_counter() - began) / epoch
        if self.validation is None:
            weights = _copy(self.judged)
        self.averaged = None
        self.model.load_state_dict(weights)
        self.model.eval()
        return NodeTrained(self.model, self._predict(), best_epoch, best_score, seconds, curves)

    @torch.no_grad()
    def _validate(self, validation: Labelled) -> tuple[float, float]:
        self.judged.eval()
        return self.score_and_loss(self._validation_probabilities(validation), validation.labels)

    def score_and_loss(self, shares: Tensor, labels: Tensor) -> tuple[float, float]:
        """How good (B, C) probabilities are, as the recipe weighs classes."""
        loss = F.nll_loss(shares.clamp(min=1e-12).log(), labels, self.class_weight, reduction="sum")
        weight = len(labels) if self.class_weight is None else float(self.class_weight[labels].sum())
        # Where no class of these nodes was in training, none has a weight and all losses are alike.
        return recipe_score(shares.argmax(-1), labels, self.recipe), float(loss) / max(weight, 1e-12)

    def _validation_probabilities(self, validation: Labelled) -> Tensor:
        if self.validation_part is None:  # too many to be held at once
            return predict_nodes(self.judged, self.x, self.neighbours, validation.nodes)
        prepared, rows = self.validation_part
        found = self.judged.probabilities(prepared)
        return found if rows is None else found[rows]

    @torch.no_grad()
    def _predict(self) -> Tensor:
        if self.whole is not None:
            return self.model.probabilities(self.whole)
        return predict_nodes(self.model, self.x, self.neighbours)


def predict_nodes(model: NodeModel, x: Features, neighbours: Csr, nodes: Tensor | None = None) -> Tensor:
    """(B, C) probabilities of some nodes, or of all.

    Args:
        nodes: numbers, or a mask of all nodes.
    """
    return node_logits(model, x, neighbours, nodes).softmax(-1)


def node_logits(model: NodeModel, x: Features, neighbours: Csr, nodes: Tensor | None = None) -> Tensor:
    """(B, C) logits of some nodes, or of all; a model of one hop reads only what these nodes see."""
    if not isinstance(model, NodeModel):
        raise InputError(f"model is a {type(model).__name__}, expected a NodeModel")
    check_graph(x, neighbours)
    nodes = None if nodes is None else node_numbers(nodes, neighbours.num_sets)
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            return _logits(model, x, neighbours, nodes)
    finally:
        for module, training in modes.items():
            module.training = training


def _logits(model: NodeModel, x: Features, neighbours: Csr, nodes: Tensor | None) -> Tensor:
    if model.hops is None:
        found: Tensor = model(NodeBatch(x, neighbours))
        return found if nodes is None else found[nodes]
    nodes = torch.arange(neighbours.num_sets) if nodes is None else nodes
    chunks = nodes.split(EVALUATE_AT_ONCE)
    return torch.cat([model(NodeBatch.of(x, neighbours, chunk, model.hops)) for chunk in chunks])


def class_weights(labels: Tensor, num_classes: int) -> Tensor:
    """(C,) the largest class's size over each class's; 0 for a class that does not occur."""
    counts = torch.bincount(labels, minlength=num_classes).float()
    return torch.where(counts > 0, counts.max() / counts, 0.0)


def score(predicted: Tensor, labels: Tensor, *, balanced: bool) -> float:
    """The share of labels that were met, or the mean of that share over the classes that occur."""
    met = (predicted == labels).double()
    if not balanced:
        return float(met.mean())
    return float(torch.stack([met[labels == c].mean() for c in labels.unique()]).mean())


def recipe_score(predicted: Tensor, labels: Tensor, recipe: NodeRecipe) -> float:
    """The share of labels that were met, balanced or weighted as a recipe has it."""
    if recipe.class_weight is None:
        return score(predicted, labels, balanced=recipe.balanced)
    weight = torch.tensor(recipe.class_weight, dtype=torch.float32)[labels]
    return float((weight * (predicted == labels)).sum() / weight.sum().clamp(min=1e-12))


def member_seed(seed: int, number: int) -> int:
    """The seed of one of several networks; the first has the seed of one that stands alone."""
    return seed if number == 0 else int(stream(seed, "member", number).integers(2**62))


def _average(most: float, averaged: Sequence[Tensor], current: Sequence[Tensor], steps: Tensor | int) -> None:
    """Move the averaged weights, of so many steps, towards the current ones."""
    done = int(steps)
    torch._foreach_lerp_(list(averaged), list(current), 1 - min(most, done / (done + FIRST_STEPS)))


def _copy(model: NodeModel) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
