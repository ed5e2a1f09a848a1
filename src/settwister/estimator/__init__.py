"""Estimators in scikit-learn's manner: a graph, two tables or a collection of sets in, predictions out."""

from settwister.estimator.one_hop import OneHopClassifier
from settwister.estimator.sets import SetClassifier, SetRegressor
from settwister.estimator.smoothing import CorrectAndSmooth
from settwister.estimator.table import TableClassifier

__all__ = ["CorrectAndSmooth", "OneHopClassifier", "SetClassifier", "SetRegressor", "TableClassifier"]
