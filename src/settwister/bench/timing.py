"""Fair timings on a noisy machine: everything in turn, round after round, and the best of each."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """Two things measured in one run; ``ratio`` is how many times faster ours is.

    Where the other thing was not run, because it would take too long or too much memory, both are None.
    """

    name: str
    ratio: float | None
    ours: float
    other: float | None
    unit: str
    against: str

    def as_row(self) -> dict[str, str | float | None]:
        return asdict(self)


#: some rows of a benchmark, measured when it is called
Part = Callable[[], list[Row]]


def best_times(runs: Mapping[str, Callable[[], object]], rounds: int = 30, warm_up: int = 3) -> dict[str, float]:
    """The shortest time of each run in seconds, taking them in turn so that noise hits all alike."""
    best = dict.fromkeys(runs, float("inf"))
    for i in range(warm_up + rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            elapsed = time.perf_counter() - start
            if i >= warm_up:
                best[name] = min(best[name], elapsed)
    return best


def compare(times: Mapping[str, float], name: str, against: str) -> Row:
    ours, other = times[name], times[against]
    return Row(name, other / ours, ours * 1e3, other * 1e3, "ms", against)
