"""Set Twister and its rivals: permutation-invariant functions of sets, for PyTorch.

>>> import torch, settwister as st
>>> model = st.SetTwister(in_dim=3, out_dim=1)
>>> sets = st.Sets.ragged(torch.randn(6, 3), ptr=torch.tensor([0, 2, 2, 6]))
>>> tuple(model(sets).shape)
(3, 1)
"""

from typing import TYPE_CHECKING, Any

from settwister import functional, paper
from settwister._version import __version__
from settwister.errors import InputError
from settwister.nn import DeepSets, JanossyGRU, JanossyPooling, SetModel, SetTransformer, SetTwister, Twist
from settwister.sets import Sets

if TYPE_CHECKING:
    from settwister.estimator import CorrectAndSmooth, OneHopClassifier, SetClassifier, SetRegressor, TableClassifier

__all__ = [
    "CorrectAndSmooth",
    "DeepSets",
    "InputError",
    "JanossyGRU",
    "JanossyPooling",
    "OneHopClassifier",
    "SetClassifier",
    "SetModel",
    "SetRegressor",
    "SetTransformer",
    "SetTwister",
    "Sets",
    "TableClassifier",
    "Twist",
    "__version__",
    "functional",
    "paper",
]


def __getattr__(name: str) -> Any:
    """Estimators are imported when they are asked for: with scikit-learn, ``import settwister`` takes twice as long."""
    if name not in ("CorrectAndSmooth", "OneHopClassifier", "SetClassifier", "SetRegressor", "TableClassifier"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from settwister import estimator

    return getattr(estimator, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
