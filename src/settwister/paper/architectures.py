"""The paper's set models to the parameter: every count in its supplement is met by these and no others.

An arithmetic table of the paper is a *setting* (what goes in, how wide phi and rho are) and a change to it (relu for
tanh, a linear rho, a width per branch). :func:`model` reads both off the table's name and task.
"""

import re
from dataclasses import dataclass, replace

from settwister.errors import InputError
from settwister.nn import DeepSets, JanossyGRU, JanossyPooling, SetModel, SetTransformer, SetTwister
from settwister.paper.tables import published


@dataclass(frozen=True)
class Setting:
    """What one column of one table fixes for all its models."""

    in_dim: int
    phi: tuple[int, ...]
    rho: tuple[int, ...]
    activation: str = "tanh"
    pair_in_dim: int = 50  # features of an element for 2-ary Janossy pooling, whose phi reads two
    gru_embed: int | None = None
    attention_width: int = 64
    per_branch: bool = False  # phi's widths are each branch's own, not shared out


IMAGES = Setting(784, (300, 100, 60), (100,), pair_in_dim=784, gru_embed=300, attention_width=128)
INTEGERS = Setting(100, (20, 60), (100,))
MAXMIN = {
    "n10": Setting(100, (60, 60), (50, 50)),
    "n20": Setting(100, (120, 120), (50, 50)),
}

_BASES: dict[str, dict[str, Setting]] = {
    "images": dict.fromkeys(("variance", "range", "maxmin"), IMAGES),
    "integers": {"variance": INTEGERS, "range": INTEGERS, "maxmin": MAXMIN["n10"]},
    "maxmin": MAXMIN,
}


def setting(table: str, task: str | None = None) -> Setting:
    """The setting of one task of one arithmetic table; without a task, the table's first."""
    known = [name for name in published() if name.split("_")[0] in _BASES]
    if table not in known:
        raise InputError(f"table {table!r} has no set models, expected one of {', '.join(known)}")
    base, _, change = table.partition("_")
    tasks = tasks_of(table)
    if task is None:
        task = tasks[0]
    if task not in tasks:
        raise InputError(f"table {table!r} has no task {task!r}, expected one of {', '.join(tasks)}")
    found = _BASES[base][task]
    match change:
        case "relu":
            return replace(found, activation="relu")
        case "linear_rho":
            return replace(found, rho=())
        case "fixed_width":
            return replace(found, phi=MAXMIN["n20"].phi, activation="relu", per_branch=True)
        case _:
            return found


def tasks_of(table: str) -> list[str]:
    """The tasks that are columns of a table, such as variance, range, maxmin.

    >>> tasks_of("integers_relu"), tasks_of("maxmin_length")
    (['variance', 'range'], ['n10', 'n20'])
    """
    return list(dict.fromkeys(column.split("_")[0] for column in published()[table]["columns"]))


def models_of(table: str) -> list[str]:
    """The models that are rows of a table."""
    return [row["model"] for row in published()[table]["rows"]]


def model(table: str, model: str, task: str | None = None) -> SetModel:
    """The exact architecture of one cell of the paper, freshly initialised.

    Args:
        table: a key of the published tables with set models, such as ``"integers"``.
        model: as the tables name it: ``"set_twister_m2_k2"``, ``"deepsets"``, ``"janossy_2ary"``,
            ``"janossy_full_gru"``, ``"set_transformer"``. Set Twister takes any M and k in place of those numbers.
        task: a task of that table; the first where left out.

    Example:
        >>> model("maxmin_length", "set_twister_m2_k2", task="n10").num_parameters()
        12221
    """
    s = setting(table, task)
    if twister := re.fullmatch(r"set_twister_m([1-9]\d?)_k([1-9])", model):
        M, k = int(twister[1]), int(twister[2])
        phi = tuple(M * width for width in s.phi) if s.per_branch else s.phi
        return SetTwister(
            s.in_dim, 1, phi, s.rho, M, k, form="ordered", lower_orders=None, norm=None, activation=s.activation
        )
    match model:
        case "deepsets":
            return DeepSets(s.in_dim, 1, s.phi, s.rho, activation=s.activation)
        case "janossy_2ary":
            # The paper feeds sorted sequences; a batch of bags over the vocabulary is one.
            return JanossyPooling(s.pair_in_dim, 1, s.phi, s.rho, k=2, order="given", activation=s.activation)
        case "janossy_full_gru":
            return JanossyGRU(s.in_dim, 1, 80, s.rho, embed=s.gru_embed, activation=s.activation)
        case "set_transformer":
            return SetTransformer(s.in_dim, 1, s.attention_width)
    raise InputError(
        f"unknown model {model!r}, expected one of set_twister_mM_kK, deepsets, janossy_2ary, janossy_full_gru, "
        "set_transformer"
    )
