"""One method on one split of one graph, from one initialisation."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from settwister.experiments.nodes.methods import Method
from settwister.functional.propagation import NORMALISATIONS, label_propagation, normalised
from settwister.graphs import SCALINGS, Graph, Split
from settwister.graphs.graph import UNKNOWN, num_columns
from settwister.nn.features import Features
from settwister.tasks.streams import permutation, stream
from settwister.training.collective import train_collective
from settwister.training.correct_and_smooth import ALPHAS, choose_correct_and_smooth
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import (
    Labelled,
    NodeTrained,
    Stop,
    Tell,
    class_weights,
    joined,
    member_seed,
    never,
    score,
    train_nodes,
)
from settwister.training.opinion_pool import Opinion, label_opinions, pool
from settwister.training.search import Settings

STEPS = 50  # of label propagation


@dataclass(eq=False)
class Fitted:
    """What a method says of every node, and how it came about; nothing here was computed from test labels."""

    scores: Tensor = field(repr=False)
    validation: float
    parameters: int = 0
    epochs: int = 0
    best_epoch: int = 0
    seconds_per_epoch: float = 0.0
    curves: dict[str, list[float]] = field(default_factory=dict, repr=False)
    chosen: dict[str, Any] = field(default_factory=dict)


def fit(
    method: Method,
    graph: Graph,
    split: Split,
    settings: Settings,
    recipe: NodeRecipe,
    seed: int,
    tell: Tell = lambda epoch, note: None,
    stop: Stop = never,
) -> Fitted:
    """Train a method; labels are passed on of training and validation nodes alone."""
    train = Labelled(split.train, graph.y[split.train])
    validation = Labelled(split.validation, graph.y[split.validation])
    graph = replace(graph, y=torch.full_like(graph.y, UNKNOWN))
    parts = [(train, validation)] * method.members
    if method.crossed:
        parts = crossed(train, validation, method.members, seed)
    if method.build is not None:
        fitted = _networks(method, graph, parts, settings, recipe, seed, tell, stop)
    else:
        fitted = _undecided(graph) if method.pooled else _propagated(graph, train, validation, recipe.balanced)
    if method.pooled:
        opinions = label_opinions(graph.x, graph.neighbours, graph.num_classes)
        fitted = _pooled(fitted, parts if method.crossed else parts[:1], opinions, recipe.balanced)
    if method.smoothed:
        chosen = choose_correct_and_smooth(fitted.scores, graph.neighbours, train, validation, balanced=recipe.balanced)
        before = {"base_validation": fitted.validation}  # or that of the networks alone, where they were pooled
        fitted.chosen = before | fitted.chosen | {"correct_and_smooth": chosen.steps.to_json()}
        fitted.scores, fitted.validation = chosen.scores, chosen.validation
    return fitted


def _networks(
    method: Method,
    graph: Graph,
    parts: list[tuple[Labelled, Labelled]],
    settings: Settings,
    recipe: NodeRecipe,
    seed: int,
    tell: Tell,
    stop: Stop,
) -> Fitted:
    """One network for every part, which learns from the first half of it and is stopped by the other; their mean."""
    x = SCALINGS[settings.get("scaling", "none")](graph.x)
    members = [
        _member(method, graph, x, *part, settings, recipe, member_seed(seed, number), tell, stop)
        for number, part in enumerate(parts)
    ]
    if len(members) == 1:
        return members[0]
    fitted = _averaged(members, parts[0][1], balanced=recipe.balanced)
    if method.crossed:  # most members learned from a validation node: what counts is what the one says that did not
        fitted.validation = sum(one.validation for one in members) / len(members)
        for one, (_, held) in zip(members, parts, strict=True):
            fitted.scores[held.nodes] = one.scores[held.nodes]
    return fitted


def crossed(train: Labelled, validation: Labelled, count: int, seed: int) -> list[tuple[Labelled, Labelled]]:
    """Training and validation nodes dealt anew, so many times: each node validates once and is learned from else."""
    known = joined([train, validation])
    shares = [
        Labelled(known.nodes[share], known.labels[share])
        for share in permutation(len(known), seed, "crossed").chunk(count)
    ]
    return [(joined([*shares[:number], *shares[number + 1 :]]), held) for number, held in enumerate(shares)]


def _member(
    method: Method,
    graph: Graph,
    x: Features,
    train: Labelled,
    validation: Labelled,
    settings: Settings,
    recipe: NodeRecipe,
    seed: int,
    tell: Tell,
    stop: Stop,
) -> Fitted:
    """One network, trained on what was made of the graph's features."""
    assert method.build is not None
    of_recipe = NodeRecipe.__dataclass_fields__
    given = {name: value for name, value in settings.items() if name not in (*of_recipe, "scaling")}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, "initialisation").integers(2**62)))
        extra = graph.num_classes if method.collective else 0
        model = method.build(num_columns(x) + extra, graph.num_classes, given)
    recipe = recipe_with(recipe, settings)
    found: NodeTrained
    if method.collective:
        found = train_collective(model, x, graph.neighbours, train, validation, recipe, seed, tell=tell)
    else:
        found = train_nodes(model, x, graph.neighbours, train, validation, recipe, seed, tell, stop)
    return Fitted(
        found.probabilities,
        found.validation,
        model.num_parameters(),
        len(found.curves["train_loss"]),
        found.best_epoch,
        found.seconds_per_epoch,
        found.curves,
        found.chosen,
    )


def recipe_with(recipe: NodeRecipe, settings: Settings) -> NodeRecipe:
    """A recipe with those of the settings that are its own, such as the rate."""
    return replace(recipe, **{name: value for name, value in settings.items() if name in recipe.__dataclass_fields__})


def _averaged(members: list[Fitted], validation: Labelled, *, balanced: bool) -> Fitted:
    """The mean of what several networks say; its curves are the first one's."""
    first, scores = members[0], torch.stack([one.scores for one in members]).mean(0)
    reached = score(scores[validation.nodes].argmax(1), validation.labels, balanced=balanced)
    return replace(
        first,
        scores=scores,
        validation=reached,
        parameters=sum(one.parameters for one in members),
        seconds_per_epoch=sum(one.seconds_per_epoch for one in members),
        chosen={},
    )


def _undecided(graph: Graph) -> Fitted:
    """Where there is no network: every class is as likely, of every node."""
    return Fitted(torch.full((graph.num_nodes, graph.num_classes), 1 / graph.num_classes), 1 / graph.num_classes)


def _pooled(
    fitted: Fitted, parts: list[tuple[Labelled, Labelled]], opinions: Mapping[str, Opinion], balanced: bool
) -> Fitted:
    """What networks say, pooled with what the labels that they learned from say of linked and of similar nodes."""
    held = joined([held for _, held in parts])
    known = parts[0][0] if len(parts) == 1 else held  # crossed networks learned, all together, from every label
    weight = class_weights(held.labels, fitted.scores.shape[1]) if balanced else None
    found = pool(fitted.scores, opinions, parts, known, weight)
    reached = score(found.scores[held.nodes].argmax(1), held.labels, balanced=balanced)
    chosen = {"pool": found.weights, "base_validation": fitted.validation}
    return replace(fitted, scores=found.scores, validation=reached, chosen=chosen)


def _propagated(graph: Graph, train: Labelled, validation: Labelled, balanced: bool) -> Fitted:
    """Label propagation, along the adjacency and as far as is best on validation."""
    began = time.perf_counter()
    best: Fitted | None = None
    for kind in NORMALISATIONS:
        along = normalised(graph.neighbours, kind)
        for alpha in ALPHAS:
            found = label_propagation(train.nodes, train.labels, graph.num_classes, along, alpha, STEPS)
            reached = score(found[validation.nodes].argmax(1), validation.labels, balanced=balanced)
            if best is None or reached > best.validation:
                best = Fitted(found, reached, chosen={"adjacency": kind, "alpha": alpha})
    assert best is not None
    best.seconds_per_epoch = time.perf_counter() - began
    return best


def metrics(scores: Tensor, y: Tensor, nodes: Tensor) -> dict[str, float]:
    """Accuracy, balanced accuracy and macro-F1 in percent, on some nodes."""
    from sklearn.metrics import f1_score

    predicted, labels = scores[nodes].argmax(1), y[nodes]
    return {
        "accuracy": 100 * score(predicted, labels, balanced=False),
        "balanced_accuracy": 100 * score(predicted, labels, balanced=True),
        "macro_f1": 100 * float(f1_score(labels, predicted, average="macro", zero_division=0)),
    }
