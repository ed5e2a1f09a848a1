"""Training, of set models and of node classifiers: how, from where, and with what kept."""

from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import Labelled, predict_nodes, train_nodes
from settwister.training.recipe import Recipe
from settwister.training.set_trainer import Trained, train

__all__ = ["Labelled", "NodeRecipe", "Recipe", "Trained", "predict_nodes", "train", "train_nodes"]
