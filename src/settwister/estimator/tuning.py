"""Settings of a classifier found by Optuna, on the nodes that it holds back."""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone

from settwister._checks import whole_number
from settwister.errors import InputError
from settwister.estimator.inputs import from_torch, seed_of
from settwister.estimator.settings import of_nodes, plain
from settwister.functional.neighbour_sum import Csr
from settwister.training.search import (
    Log,
    Search,
    Settings,
    Space,
    Trial,
    best_of,
    lies_in,
    read_trials,
    sampled_search,
)

_DROPOUTS = (0.0, 0.2, 0.35, 0.5, 0.65, 0.8)
SPACE: Space = dict(
    learning_rate=Log(1e-3, 3e-2),
    weight_decay=Log(1e-5, 1e-2),
    width=(64, 128, 256, 512),
    layers=(1, 2),
    head_layers=(0, 1, 2),
    dropout=_DROPOUTS,
    input_dropout=_DROPOUTS,
    pool=("mean", "sum", "sqrt"),
    layer_norm=(False, True),
    residual=(False, True),
    M=(2, 4),
    k=(2, 3),
)
#: settings that a model does not read
UNREAD = {"set_twister": (), "deepsets": ("M", "k"), "mlp": ("M", "k", "pool", "layer_norm", "residual", "head_layers")}


def tuned(
    estimator: Any,
    fit: Callable[[Any], Any],
    *,
    time_limit: float | None,
    trials: int | None,
    path: Path | None,
    tell: Callable[[int, str], None] = lambda done, note: None,
    about: str = "",
    size: tuple[int, int] | None = None,
) -> tuple[Settings, list[Trial]]:
    """The best settings that were found before the time was over, and all that were tried.

    Args:
        fit: trains a copy with some settings and gives it back, fitted.
        time_limit: seconds; the trial that is running then is finished. The first trial, of the settings that the
            estimator has, is always run.
        trials: at most so many.
        path: a file of finished trials; those in it are not run again, and their time does not count.
        about: says what the trials are of; a file of trials of something else is refused.
        size: how many features and known labels there are, which decides what ``"auto"`` stands for in the first trial.
    """
    if time_limit is None and trials is None:
        raise InputError("neither time_limit nor trials was given, expected one of them: a search has to end")
    if time_limit is not None and not (isinstance(time_limit, int | float) and time_limit > 0):
        raise InputError(f"time_limit is {time_limit!r}, expected a number of seconds above 0")
    most = None if trials is None else whole_number("trials", plain(trials))
    given = {name: plain(value) for name, value in estimator.get_params().items()}
    if size is not None:
        given = of_nodes(given, *size)
    space = {name: options for name, options in SPACE.items() if name not in UNREAD[given["model"]]}
    fixed = {name: value for name, value in given.items() if name not in (*space, "random_state", "verbose")}
    # One seed for all trials, which then share their held-back nodes: a given one, so that the best is fitted again.
    state = given["random_state"] if isinstance(given["random_state"], int) else None
    seed = state if state is not None else seed_of(given["random_state"])
    about = f"{about} random_state={state} {fixed!r}"
    _same_task(path, about)
    ends = None if time_limit is None else time.monotonic() + time_limit

    def run(settings: Settings, earlier: Sequence[Trial]) -> tuple[float, dict[str, Any]]:
        fitted = fit(clone(estimator).set_params(**settings, random_state=seed))
        score = float(fitted.validation_score_)
        if math.isnan(score):
            raise InputError("no labelled node is held back, expected some to judge settings by: label more nodes")
        return score, {"epochs": fitted.n_iter_, "about": about}

    search = _own_first(space, {name: given[name] for name in space}, most)
    return best_of(search, run, path, tell, lambda: ends is None or time.monotonic() < ends)


def _own_first(space: Space, own: Settings, trials: int | None) -> Search:
    """The settings that the estimator has, though they may lie outside the space; then what the sampler proposes."""
    if lies_in(own, space):
        yield from sampled_search(space, [own], trials)
        return
    yield own
    yield from sampled_search(space, [], None if trials is None else trials - 1)


def _same_task(path: Path | None, about: str) -> None:
    for trial in read_trials(path):
        if trial.facts.get("about") != about:
            raise InputError(
                f"{path} holds trials of other nodes, edges, labels or settings, expected those of an earlier call "
                "like this one: remove it, or choose another file"
            )


def fingerprint(X: Any, known_labels: Any, known: Any, sets: Csr, validation: Any) -> str:
    """The same for the same features, labels, neighbours and held-back nodes, and for no others."""
    parts = [X.indptr, X.indices, X.data] if scipy.sparse.issparse(X) else [X]
    parts += [known_labels, known, sets.ptr, sets.index, sets.weight, validation]
    digest = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(from_torch(part)) if part is not None else np.empty(0)
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
