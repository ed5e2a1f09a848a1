"""The state of a training run in one file, replaced in one step: a kill loses at most the epoch under way."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from settwister.files import new_file
from settwister.training.recipe import Recipe

SECONDS_BETWEEN = 20.0
TENSORS = ("rows", "first", "second", "best_rows", "best_score", "best_epoch", "rate", "stale")


@dataclass(eq=False)
class Checkpoint:
    """Everything that a run carries from one epoch to the next; S seeds, P parameters each.

    Orders and other random numbers are drawn anew from (seed, epoch), so no generator's state is needed.
    """

    seeds: list[int]
    recipe: Recipe
    rows: Tensor
    first: Tensor
    second: Tensor
    best_rows: Tensor
    best_score: Tensor
    best_epoch: Tensor
    rate: Tensor
    stale: Tensor
    epoch: int = 0
    curves: dict[str, list[list[float]]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    saved: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, seeds: list[int], recipe: Recipe, initial: Tensor) -> "Checkpoint":
        size = len(seeds)
        return cls(
            seeds,
            recipe,
            rows=initial.clone(),
            first=torch.zeros_like(initial),
            second=torch.zeros_like(initial),
            best_rows=initial.clone(),
            best_score=torch.full((size,), torch.nan, dtype=torch.double),
            best_epoch=torch.zeros(size, dtype=torch.long),
            rate=torch.full((size, 1), float(recipe.learning_rate)),
            stale=torch.zeros(size, dtype=torch.long),
            curves={"train_loss": [], "train_score": [], "validation_score": []},
        )

    @classmethod
    def open(cls, folder: Path | None, seeds: list[int], recipe: Recipe, initial: Tensor) -> "Checkpoint":
        """The checkpoint in ``folder``, or a fresh start where there is none that fits."""
        fresh = cls.start(seeds, recipe, initial)
        path = fresh.path(folder)
        if path is None or not path.is_file():
            return fresh
        try:
            with safe_open(path, framework="pt") as file:
                kept = json.loads(file.metadata()["state"])
                tensors = {name: file.get_tensor(name).clone() for name in TENSORS}
        except (SafetensorError, OSError, KeyError, TypeError, ValueError):
            return fresh  # half a disk, another program's file: the run starts again, nothing finished is lost
        fits = all(tensors[name].shape == getattr(fresh, name).shape for name in TENSORS)
        if not fits or kept["recipe"] != recipe.to_json() or kept["seeds"] != seeds:
            return fresh
        return cls(seeds, recipe, **tensors, epoch=kept["epoch"], curves=kept["curves"], seconds=kept["seconds"])

    def path(self, folder: Path | None) -> Path | None:
        return None if folder is None else folder / f"seeds-{'-'.join(map(str, self.seeds))}.safetensors"

    def finish_epoch(
        self, losses: Tensor, train_scores: Tensor, scores: Tensor, higher_is_better: bool, recipe: Recipe
    ) -> None:
        """Note an epoch's curves, keep each seed's best weights, and lower its rate where it has not improved."""
        self.epoch += 1
        for name, values in (("train_loss", losses), ("train_score", train_scores), ("validation_score", scores)):
            self.curves[name].append(values.tolist())
        better = scores > self.best_score if higher_is_better else scores < self.best_score
        better |= self.best_score.isnan()
        self.best_rows = torch.where(better.unsqueeze(1), self.rows, self.best_rows)
        self.best_score = torch.where(better, scores, self.best_score)
        self.best_epoch = torch.where(better, self.epoch, self.best_epoch)
        self.stale = torch.where(better, 0, self.stale + 1)
        if recipe.schedule == "plateau":
            lower = self.stale > recipe.patience
            self.rate = torch.where(lower.unsqueeze(1), self.rate * recipe.factor, self.rate)
            self.stale = torch.where(lower, 0, self.stale)

    def save(self, folder: Path | None, *, last: bool) -> None:
        """Write the file if some time has passed since the last one, and after the last epoch."""
        path = self.path(folder)
        if path is None or not (last or time.monotonic() - self.saved > SECONDS_BETWEEN):
            return
        kept = {
            "seeds": self.seeds,
            "recipe": self.recipe.to_json(),
            "epoch": self.epoch,
            "curves": self.curves,
            "seconds": self.seconds,
        }
        tensors = {name: getattr(self, name).contiguous() for name in TENSORS}
        with new_file(path) as staging:
            save_file(tensors, staging, metadata={"state": json.dumps(kept)})
        self.saved = time.monotonic()
