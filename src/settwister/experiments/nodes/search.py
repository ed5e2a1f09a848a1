"""Searches for settings: each proposes some, is told how well they did, and proposes others."""

from collections.abc import Generator

from settwister.errors import InputError
from settwister.experiments.nodes.methods import Log, Method, Settings

#: yields settings and is sent their validation score; what is sent first is None, before any settings
Search = Generator[Settings, float | None, None]


def grid_search(combinations: list[Settings]) -> Search:
    """Every combination of a grid."""
    for settings in combinations:  # noqa: UP028 (scores are sent back, which a list cannot take)
        yield settings


def sampled_search(method: Method, first: Settings, trials: int, seed: int = 0) -> Search:
    """Optuna's sampler over the method's space; the first trial is given, as far as it lies in the space."""
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            "--protocol tuned needs Optuna, which is not installed: pip install 'settwister[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, multivariate=False))
    study.enqueue_trial(_within(first, method))
    for _ in range(trials):
        trial = study.ask()
        settings: Settings = {}
        for name, options in method.space.items():
            if isinstance(options, Log):
                settings[name] = trial.suggest_float(name, options.low, options.high, log=True)
            else:
                settings[name] = trial.suggest_categorical(name, options)
        score = yield settings
        assert score is not None
        study.tell(trial, score)


def _within(settings: Settings, method: Method) -> Settings:
    """Those settings that the space has."""
    found = {}
    for name, value in settings.items():
        options = method.space.get(name)
        if options is not None and (isinstance(options, Log) or value in options):
            found[name] = value
    return found
