"""Training: how, from where, and with what kept."""

from settwister.training.recipe import Recipe
from settwister.training.set_trainer import Trained, train

__all__ = ["Recipe", "Trained", "train"]
