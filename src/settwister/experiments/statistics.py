"""Mean, deviation, and who is best: a two-sample t-test at p = 0.05, as the paper's tables have it."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

P = 0.05


def mean_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample deviation; one run has a deviation of NaN.

    >>> mean_std([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    return fmean(values), stdev(values) if len(values) > 1 else math.nan


def best(scores: Mapping[str, Sequence[float]], *, higher_is_better: bool) -> set[str]:
    """The best by mean, and all that a t-test cannot tell from it; of single runs, the best alone.

    >>> sorted(best({"a": [0.9, 0.92, 0.91], "b": [0.89, 0.93, 0.9], "c": [0.1, 0.12, 0.11]}, higher_is_better=True))
    ['a', 'b']
    """
    scores = {name: values for name, values in scores.items() if values}
    if not scores:
        return set()
    pick = max if higher_is_better else min
    winner = pick(scores, key=lambda name: fmean(scores[name]))
    return {winner} | {name for name in scores if name != winner and not _differ(scores[name], scores[winner])}


def _differ(a: Sequence[float], b: Sequence[float]) -> bool:
    """By Student's test, whose common deviation may come from one of the two alone; single runs always do."""
    if len(a) == len(b) == 1:
        return True
    from scipy.stats import ttest_ind_from_stats

    deviations = [stdev(values) if len(values) > 1 else 0.0 for values in (a, b)]
    if deviations == [0.0, 0.0]:
        return fmean(a) != fmean(b)
    found = ttest_ind_from_stats(fmean(a), deviations[0], len(a), fmean(b), deviations[1], len(b))
    return bool(found.pvalue < P)
