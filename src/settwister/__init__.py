"""Set Twister and its rivals: permutation-invariant functions of sets, for PyTorch.

>>> import torch, settwister as st
>>> model = st.SetTwister(in_dim=3, out_dim=1)
>>> sets = st.Sets.ragged(torch.randn(6, 3), ptr=torch.tensor([0, 2, 2, 6]))
>>> tuple(model(sets).shape)
(3, 1)
"""

from settwister import functional, paper
from settwister._version import __version__
from settwister.errors import InputError
from settwister.nn import DeepSets, JanossyGRU, JanossyPooling, SetModel, SetTransformer, SetTwister, Twist
from settwister.sets import Sets

__all__ = [
    "DeepSets",
    "InputError",
    "JanossyGRU",
    "JanossyPooling",
    "SetModel",
    "SetTransformer",
    "SetTwister",
    "Sets",
    "Twist",
    "__version__",
    "functional",
    "paper",
]
