"""The paper itself: its published numbers, its exact architectures, what they cost."""

from settwister.paper.architectures import model, models_of, setting, tasks_of
from settwister.paper.cost import figure1_counts, operations, parameter_counts
from settwister.paper.tables import published, table

__all__ = [
    "figure1_counts",
    "model",
    "models_of",
    "operations",
    "parameter_counts",
    "published",
    "setting",
    "table",
    "tasks_of",
]
