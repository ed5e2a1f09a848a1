"""Searches for settings: each proposes some, is told how well they did, and proposes others.

Trials are kept in a file as they finish. A search proposes the same settings after the same scores, so one that was
killed goes on where it was. A trial may be given up when it is seen to be a poor one: it then has no score.
"""

import json
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from settwister.errors import DivergedError, InputError
from settwister.extras import needs
from settwister.files import new_file

Settings = dict[str, Any]
#: yields settings and is sent their score, the higher the better, or None where the trial was given up; what is sent
#: first is None, before any settings
Search = Generator[Settings, float | None, None]


@dataclass(frozen=True)
class Log:
    """A range of numbers, searched by their logarithms."""

    low: float
    high: float


#: what a search varies, as data: choices in a tuple, or a range
Space = Mapping[str, "tuple[Any, ...] | Log"]


def as_json(space: Space) -> dict[str, Any]:
    """A space as a file keeps it: choices as a list, a range by its ends."""
    return {name: asdict(given) if isinstance(given, Log) else list(given) for name, given in space.items()}


@dataclass(frozen=True)
class Trial:
    """Settings, how well they did (None: given up), and further facts for the file."""

    settings: Settings
    score: float | None
    facts: dict[str, Any]


#: from settings, and the trials before them, to their score and further facts
Judge = Callable[[Settings, Sequence[Trial]], tuple[float | None, dict[str, Any]]]


def grid_search(grid: Sequence[Settings], left_open: Sequence[Settings] = ({},), small: int = 0) -> Search:
    """Every combination of a grid, and what the grid leaves open decided by its first settings.

    Args:
        left_open: what may be chosen, such as an activation; the first of them where ``small`` is 0.
        small: so many of the grid's first settings are tried with every choice. The one that has the best score there
            is taken with all the others.
    """
    best, choice = -math.inf, left_open[0]
    for settings in grid[:small]:
        for one in left_open:
            score = yield settings | one
            if score is not None and score > best:
                best, choice = score, one
    for settings in grid[small:]:
        yield settings | choice


def at_most(search: Search, trials: int) -> Search:
    """The first so many proposals of a search."""
    score: float | None = None
    for _ in range(trials):
        try:
            settings = search.send(score)
        except StopIteration:
            return
        score = yield settings


def sampled_search(space: Space, first: Sequence[Settings], trials: int | None, seed: int = 0) -> Search:
    """Optuna's sampler; the first trials are given, as far as they lie in the space. None goes on for ever."""
    needs("searching", "tune", "optuna")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, multivariate=False))
    for settings in first:
        study.enqueue_trial(_within(settings, space))
    done = 0
    while trials is None or done < trials:
        trial = study.ask()
        settings = {}
        for name, options in space.items():
            if isinstance(options, Log):
                settings[name] = trial.suggest_float(name, options.low, options.high, log=True)
            else:
                settings[name] = trial.suggest_categorical(name, options)
        score = yield settings
        if score is None:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, score)
        done += 1


def _within(settings: Settings, space: Space) -> Settings:
    """Those settings that the space has."""
    found = {}
    for name, value in settings.items():
        options = space.get(name)
        if options is not None and (isinstance(options, Log) or value in options):
            found[name] = value
    return found


def best_of(
    search: Search,
    run: Judge,
    path: Path | None = None,
    tell: Callable[[int, str], None] = lambda done, note: None,
    more: Callable[[], bool] = lambda: True,
    enough: int | None = None,
) -> tuple[Settings, list[Trial]]:
    """The settings with the best score, and all trials.

    Args:
        run: judges settings; what it says beside the score is kept.
        path: where finished trials are kept; those in it are not run again.
        tell: called after every trial with the number done and a note for people.
        more: asked before every new trial but the first; False ends the search.
        enough: where the file has so many trials, these are the search: on another machine a sampler's rounding would
            have it propose others, and finished work would be done again.
    """
    kept = read_trials(path)
    if enough is not None and len(kept) >= enough:
        trials = kept[:enough]
        return dict(_best(trials).settings), trials
    known = {_key(trial.settings): trial for trial in kept}
    trials = []
    score: float | None = None
    while True:
        try:
            settings = search.send(score)
        except StopIteration:
            break
        if _key(settings) not in known:
            if trials and not more():
                break
            known[_key(settings)] = Trial(settings, *run(settings, trials))
            # in the order of this search, so that its first trials are the file's; what another proposed comes last
            replayed = {_key(trial.settings): trial for trial in trials} | {_key(settings): known[_key(settings)]}
            _write(path, list((replayed | known).values()))
        trials.append(known[_key(settings)])
        score = trials[-1].score
        scored = any(one.score is not None for one in trials)
        tell(len(trials), f"search, best {100 * _score(_best(trials)):.1f}" if scored else "search")
    return dict(_best(trials).settings), trials


def best_of_finalists(
    trials: Sequence[Trial],
    finalists: int,
    further: Sequence[Judge],
    path: Path | None = None,
    tell: Callable[[str], None] = lambda note: None,
) -> Settings:
    """The settings that are best on average, of the few that have the best scores.

    The best of many noisy scores is luck as much as merit; a mean of several is less so.

    Args:
        further: judge the finalists again, each in another way: from another initialisation for example.
        path: the file of the trials, to which the further scores are added; those in it are not asked for again.
        tell: called after every further score with a note for people.
    """
    kept = {_key(trial.settings): trial for trial in (*trials, *read_trials(path))}
    ranked = sorted((trial for trial in trials if trial.score is not None), key=_score, reverse=True)
    means = {}
    for place, trial in enumerate(ranked[:finalists], 1):
        key = _key(trial.settings)
        scores = list(kept[key].facts.get("further", []))
        for judge in further[len(scores) :]:
            scores.append(judge(trial.settings, ())[0] or 0.0)  # training that came to nothing is worth nothing
            kept[key] = replace(trial, facts=trial.facts | {"further": scores})
            _write(path, list(kept.values()))
            tell(f"finalist {place} of {finalists}, mean {100 * fmean([_score(trial), *scores]):.1f}")
        means[key] = fmean([_score(trial), *scores])
    return dict(kept[max(means, key=means.__getitem__)].settings)


def _best(trials: Sequence[Trial]) -> Trial:
    finished = [one for one in trials if one.score is not None]
    if not finished:
        raise DivergedError(f"none of {len(trials)} settings could be trained to the end: scale the features")
    return max(finished, key=_score)


def _score(trial: Trial) -> float:
    assert trial.score is not None
    return trial.score


def _further(trial: Trial) -> int:
    return len(trial.facts.get("further", ()))


def _key(settings: Settings) -> str:
    return json.dumps(settings, sort_keys=True)


def _write(path: Path | None, trials: list[Trial]) -> None:
    """Keep these trials, and what another process has added to the file since it was read.

    Its further scores of a trial of ours, where they are more than ours; its own trials behind ours.
    """
    if path is None:
        return
    others = {_key(trial.settings): trial for trial in read_trials(path)}
    trials = [max(trial, others.pop(_key(trial.settings), trial), key=_further) for trial in trials]
    trials += others.values()
    content = [{"settings": trial.settings, "validation": trial.score} | trial.facts for trial in trials]
    with new_file(path) as staging:
        staging.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_trials(path: Path | None) -> list[Trial]:
    """The trials that a file holds; none where it is not there."""
    if path is None or not path.exists():
        return []
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(listed, list):
            raise ValueError(f"it holds a {type(listed).__name__}")
        return [_read(content) for content in listed]
    except RecursionError:
        reason = "it is nested too deep"
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        reason = str(error)
    raise InputError(f"{path} is not a list of trials ({reason}): remove it, and the search begins anew")


def _read(content: dict[str, Any]) -> Trial:
    settings, score = content.pop("settings"), content.pop("validation")
    if not isinstance(settings, dict) or not (score is None or _is_score(score)):
        raise ValueError("a trial lacks its settings or its score")
    reached, further = content.get("reached", {}), content.get("further", [])
    if not isinstance(reached, dict) or not isinstance(further, list):
        raise ValueError("a trial's further scores are not listed")
    if not all(map(_is_score, (*reached.values(), *further))):
        raise ValueError("a trial's further scores are not all numbers")
    return Trial(settings, score, content)


def _is_score(given: Any) -> bool:
    return isinstance(given, float) and math.isfinite(given)


def lies_in(settings: Settings, space: Space) -> bool:
    """Whether these are settings that a search of the space may find."""
    return settings.keys() == space.keys() and all(is_option(settings[name], space[name]) for name in space)


def is_option(value: Any, options: tuple[Any, ...] | Log) -> bool:
    """Whether a search may choose this: True is not 1 here."""
    if isinstance(options, Log):
        return isinstance(value, float) and options.low <= value <= options.high
    return any(type(value) is type(one) and value == one for one in options)
