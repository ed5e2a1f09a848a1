"""``settwister demo``: a minute that shows what the library is for."""

from functools import partial
from typing import Annotated

import typer
from rich.progress import Progress, TaskID

from settwister.cli.output import JsonOption, print_rows, print_table, progress
from settwister.demo import MODELS, TASK, train_for


def demo(
    seconds: Annotated[float, typer.Option(help="Training time per model.", min=0.1)] = 8.0,
    seed: Annotated[int, typer.Option(help="Of the data and of every model.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Train every set model on a generated task for the same time, and compare them.

    The task: sets of ten integers below 100, given as random vectors; predict the variance of the integers. It depends
    on pairs of elements. A twist of sums holds them; a plain sum does not, and leaves them to the network behind it,
    which the two rows with a linear rho show.

    Example: [cyan]settwister demo --seconds 5[/]
    """
    data = TASK.generate(seed)
    results = []
    with progress() as bars:
        for name in MODELS:
            bar = bars.add_task(f"{name:>23}", total=1.0, note="")
            results.append(train_for(name, data, seconds, seed, partial(_tell, bars, bar)))
            _tell(bars, bar, 1.0, f"test MAE {results[-1].mae:.2f}")
    if as_json:
        print_rows(result.as_row() for result in results)
        return
    answers = data.target["test"]
    spread = float((answers - answers.median()).abs().mean())
    print_table(
        f"Variance of {TASK.length} integers below {TASK.vocabulary}, {seconds:g} s of training each",
        ["model", "test MAE", "sets seen", "parameters"],
        [(r.model, f"{r.mae:.2f}", f"{r.sets_seen:,}", f"{r.parameters:,}") for r in results],
    )
    typer.echo(
        f"Mean absolute error on {TASK.test:,} new sets, lower is better; "
        f"always answering the median would give {spread:.1f}."
    )


def _tell(bars: Progress, bar: TaskID, done: float, note: str) -> None:
    bars.update(bar, completed=done, note=note)
