"""Training set models on arithmetic tasks: several seeds at once, resumable at any moment."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor
from torch.func import grad

from settwister.nn import DeepSets, SetModel, SetTwister
from settwister.sets import Sets
from settwister.tasks.sequences import Sequences
from settwister.tasks.streams import permutation, stream
from settwister.training.checkpoint import Checkpoint
from settwister.training.optimisers import update
from settwister.training.recipe import Recipe
from settwister.training.stacked import Stack

FEW_ELEMENTS = 1024  # up to this many distinct elements, bags of counts beat gathering every occurrence
EVALUATE_AT_ONCE = 2000  # sequences per call in evaluation

Tell = Callable[[int, str], None]


@dataclass(eq=False)
class Trained:
    """One seed's outcome, its model holding the weights with the best validation score."""

    seed: int
    model: SetModel
    best_epoch: int
    validation: float
    test: float
    seconds_per_epoch: float
    curves: dict[str, list[float]] = field(repr=False)


def train(
    build: Callable[[], SetModel],
    data: Callable[[int], Sequences],
    seeds: Sequence[int],
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    compiled: bool = True,
    tell: Tell = lambda epoch, note: None,
) -> list[Trained]:
    """Train one architecture from several seeds, each on data of its own.

    A seed's outcome does not depend on which others are trained beside it, up to rounding.

    Args:
        build: makes a model; called once per seed, with torch's generator seeded.
        data: from a seed to its sequences.
        checkpoint: a folder; what it holds is resumed, and ends as it would have without the interruption.
        compiled: through torch.compile, which pays off after some seconds of training.
        tell: called after every epoch with the number done and a note for people.
    """
    models = [_initialised(build, seed) for seed in seeds]
    groups = [list(range(len(seeds)))] if Stack(models).stackable else [[i] for i in range(len(seeds))]
    found = []
    for number, group in enumerate(groups):
        trainer = SetTrainer(
            [models[i] for i in group], [data(seeds[i]) for i in group], [seeds[i] for i in group], recipe
        )
        before = number * recipe.epochs
        found += trainer.run(checkpoint, compiled, partial(_told_after, tell, before))
    return found


def _told_after(tell: Tell, before: int, epoch: int, note: str) -> None:
    tell(before + epoch, note)


def _initialised(build: Callable[[], SetModel], seed: int) -> SetModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, "model").integers(2**62)))
        return build()


class SetTrainer:
    """Seeds of one architecture, trained together.

    Args:
        models: one per seed, equal but for their values.
        data: one per seed.
    """

    def __init__(
        self, models: Sequence[SetModel], data: Sequence[Sequences], seeds: Sequence[int], recipe: Recipe
    ) -> None:
        self.stack, self.data, self.seeds, self.recipe = Stack(models), list(data), list(seeds), recipe
        few = all(len(d.elements) <= FEW_ELEMENTS for d in data)
        self.bags = few and isinstance(models[0], DeepSets | SetTwister)
        targets = torch.stack([d.target["train"] for d in data])
        self.centre = targets.mean(1, keepdim=True) if recipe.standardise else torch.zeros(len(data), 1)
        self.spread = targets.std(1, keepdim=True) if recipe.standardise else torch.ones(len(data), 1)
        self.higher_is_better = data[0].metric == "accuracy"
        self.elements = torch.stack([_values(d.elements) for d in data]) if self.bags else torch.zeros(len(data), 0)
        self.counts: dict[str, Tensor] = {}

    # ---- batches ----------------------------------------------------------------------------------------------------

    def batch(self, split: str, rows: Tensor) -> Tensor:
        """(S, B, U) counts or (S, B, n, d) elements of the given sequences, rows (S, B)."""
        if self.bags:
            if split not in self.counts:
                self.counts[split] = torch.stack([d.counts(split) for d in self.data])
            return torch.stack([counts[row] for counts, row in zip(self.counts[split], rows, strict=True)])
        return torch.stack([d.elements[d.index[split][row]] for d, row in zip(self.data, rows, strict=True)])

    def batches(self, order: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """An epoch: (batch, target) after (batch, target), sequences in the given order (S, N)."""
        targets = self.targets("train", order).split(size, dim=1)
        if self.bags:  # small enough to put in order as a whole, which a slice per step then reads
            parts: Iterable[Tensor] = self.batch("train", order).split(size, dim=1)
        else:
            parts = (self.batch("train", rows) for rows in order.split(size, dim=1))
        for part, target in zip(parts, targets, strict=True):
            yield self.numbers(part), target

    def numbers(self, batch: Tensor) -> Tensor:
        """Bytes as numbers: counts as they are, pixels from 0 to 1. Before a compiled step: inside it is 10x slower."""
        return batch.float() if self.bags else _values(batch)

    def sets(self, elements: Tensor, batch: Tensor) -> Sets:
        """One seed's batch, as numbers, as sets."""
        return Sets.bags(elements, batch, check=False) if self.bags else Sets.dense(batch, check=False)

    def targets(self, split: str, rows: Tensor) -> Tensor:
        return torch.stack([d.target[split][row] for d, row in zip(self.data, rows, strict=True)])

    # ---- one step ---------------------------------------------------------------------------------------------------

    def step(
        self, rows: Tensor, first: Tensor, second: Tensor, number: Tensor, rate: Tensor, batch: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """A gradient step of every seed; also (2, S) its mean absolute error and accuracy, in the target's units."""

        def loss(rows: Tensor) -> tuple[Tensor, Tensor]:
            out = self.stack.forward(rows, self.sets, self.elements, batch)
            each = (out - (target - self.centre) / self.spread).abs().mean(1)
            return each.sum(), out.detach() * self.spread + self.centre

        gradient, out = grad(loss, has_aux=True)(rows)
        seen = torch.stack([(out - target).abs().mean(1), (out.round() == target).float().mean(1)])
        return *update(self.recipe, rows, gradient, first, second, number, rate), seen

    def compiled_step(self) -> Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]]:
        """:meth:`step` through torch.compile, which then looks at its tensors' shapes only and not at the model: before
        every step that would take a tenth of the step's own time, and nothing in the model changes. What was compiled
        is found again by its code, so every trainer has a copy of its own: the next one's recipe or activation may
        differ where no shape does."""
        options: dict[str, Any] = {"guard_filter_fn": torch.compiler.keep_tensor_guards_unsafe}
        own = FunctionType(type(self).step.__code__.replace(), type(self).step.__globals__)
        return torch.compile(MethodType(own, self), dynamic=False, options=options)

    def predict(self, rows: Tensor, split: str) -> Tensor:
        """(S, N) outputs for a whole split."""
        length = len(self.data[0].target[split])
        parts = []
        with torch.no_grad():
            for chunk in torch.arange(length).split(EVALUATE_AT_ONCE):
                batch = self.numbers(self.batch(split, chunk.expand(len(self.seeds), -1)))
                parts.append(self.stack.forward(rows, self.sets, self.elements, batch))
        return torch.cat(parts, dim=1) * self.spread + self.centre

    def score(self, out: Tensor, target: Tensor) -> Tensor:
        """(S,) accuracy of the rounded outputs, or the mean absolute error."""
        if self.higher_is_better:
            return (out.round() == target).double().mean(1)
        return (out - target).abs().double().mean(1)

    # ---- the loop ---------------------------------------------------------------------------------------------------

    def run(self, folder: Path | None, compiled: bool, tell: Tell) -> list[Trained]:
        recipe, size = self.recipe, len(self.seeds)
        length = len(self.data[0].target["train"])
        batch = min(recipe.batch, length)
        steps = length // batch
        state = Checkpoint.open(folder, self.seeds, recipe, self.stack.initial)
        step = self.compiled_step() if compiled and self.stack.stackable else self.step
        validation = self.targets("validation", torch.arange(len(self.data[0].target["validation"])).expand(size, -1))
        for epoch in range(state.epoch, recipe.epochs):
            began = time.perf_counter()
            self.stack.pattern.train()
            torch_seed = int(stream(self.seeds[0], "torch", epoch).integers(2**62))
            order = torch.stack([permutation(length, seed, "order", epoch)[: steps * batch] for seed in self.seeds])
            total = torch.zeros(2, size)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(torch_seed)
                for i, (inputs, target) in enumerate(self.batches(order, batch)):
                    number = epoch * steps + i + 1
                    rate = state.rate * recipe.part_of_rate(number, recipe.epochs * steps)
                    state.rows, state.first, state.second, seen = step(
                        state.rows, state.first, state.second, torch.tensor(float(number)), rate, inputs, target
                    )
                    total += seen
            self.stack.pattern.eval()
            scores = self.score(self.predict(state.rows, "validation"), validation)
            errors, accuracies = total / steps
            train_scores = accuracies if self.higher_is_better else errors
            state.finish_epoch(errors, train_scores, scores, self.higher_is_better, recipe)
            state.seconds.append(time.perf_counter() - began)
            state.save(folder, last=epoch + 1 == recipe.epochs)
            shown = "accuracy" if self.higher_is_better else "MAE"
            tell(epoch + 1, f"loss {float(errors.mean()):.3f}, validation {shown} {float(scores.mean()):.3f}")
        return self._outcome(state)

    def _outcome(self, state: Checkpoint) -> list[Trained]:
        count = len(self.data[0].target["test"])
        everything = torch.arange(count).expand(len(self.seeds), -1)
        tests = self.score(self.predict(state.best_rows, "test"), self.targets("test", everything))
        per_epoch = sorted(state.seconds)[len(state.seconds) // 2] / len(self.seeds)
        return [
            Trained(
                seed,
                self.stack.model(state.best_rows[i]),
                int(state.best_epoch[i]),
                float(state.best_score[i]),
                float(tests[i]),
                per_epoch,
                {name: [float(values[i]) for values in curve] for name, curve in state.curves.items()},
            )
            for i, seed in enumerate(self.seeds)
        ]


def _values(elements: Tensor) -> Tensor:
    return elements if elements.is_floating_point() else elements.float().div_(255)


def summary(trained: Trained) -> dict[str, Any]:
    """What a run file keeps of a seed."""
    return {
        "seed": trained.seed,
        "best_epoch": trained.best_epoch,
        "validation": trained.validation,
        "test": trained.test,
        "seconds_per_epoch": trained.seconds_per_epoch,
        "parameters": trained.model.num_parameters(),
        "curves": trained.curves,
    }
