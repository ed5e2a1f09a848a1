"""The paper's arithmetic tasks: what is computed, on integers and on images of digits."""

from settwister.files import data_folder
from settwister.tasks.digits import Digits, load_digits
from settwister.tasks.images import ImageTask
from settwister.tasks.infimnist import InfiMnist
from settwister.tasks.integers import IntegerTask
from settwister.tasks.sequences import SPLITS, Sequences
from settwister.tasks.targets import TARGETS, Target, target

__all__ = [
    "SPLITS",
    "TARGETS",
    "Digits",
    "ImageTask",
    "InfiMnist",
    "IntegerTask",
    "Sequences",
    "Target",
    "data_folder",
    "load_digits",
    "target",
]
