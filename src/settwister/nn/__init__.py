"""The set models, and the twist that one of them is named after."""

from settwister.nn.deepsets import DeepSets
from settwister.nn.janossy import JanossyPooling
from settwister.nn.janossy_gru import JanossyGRU
from settwister.nn.mlp import BlockLinear
from settwister.nn.set_model import SetModel
from settwister.nn.set_transformer import SetTransformer
from settwister.nn.set_twister import SetTwister
from settwister.nn.twist import Twist

__all__ = [
    "BlockLinear",
    "DeepSets",
    "JanossyGRU",
    "JanossyPooling",
    "SetModel",
    "SetTransformer",
    "SetTwister",
    "Twist",
]
