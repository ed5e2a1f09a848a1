"""``settwister demo``: what the library is for, in two minutes and without a download."""

import json
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TaskID

from settwister.cli import predict as predict_commands
from settwister.cli.compare import leaderboard
from settwister.cli.output import JsonOption, print_rows, print_table, progress
from settwister.cli.tables import LARGEST_SEED, Force, write_table
from settwister.demo.arithmetic import MODELS, TASK, train_for
from settwister.errors import InputError
from settwister.files import check_writable, new_file


def demo(
    out: Annotated[
        Path | None, typer.Option(help="A folder for the tables, the model and its page; a temporary one otherwise.")
    ] = None,
    people: Annotated[int, typer.Option(min=200, help="How many the made-up social network has.")] = 4000,
    sets: Annotated[
        bool, typer.Option("--sets", help="Train every set model on the variance of ten integers.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="With --sets: training time per model.", min=0.1)] = 8.0,
    seed: Annotated[int, typer.Option(help="Of the data and of every model.", min=0, max=LARGEST_SEED)] = 0,
    force: Force = False,
    as_json: JsonOption = False,
) -> None:
    """Make up a social network, learn from its two tables who is of which kind, and write a page about it.

    The network is written as two Parquet files, as somebody might export them. A person's kind says how different the
    cities of their friends are: nothing in one's own row tells, and no single friend does. Then digits, each joined to
    the eight that look most alike.

    With --sets: every set model learns the variance of ten integers for the same time.

    Example: [cyan]settwister demo --out demo[/]
    """
    if sets:
        _sets(seconds, seed, as_json)
    else:
        folder = Path(tempfile.mkdtemp(prefix="settwister-demo-")) if out is None else out
        _tables(folder, people, seed, force=force, as_json=as_json)


def _tables(out: Path, people: int, seed: int, *, force: bool, as_json: bool) -> None:
    from settwister.demo.digits import digits_scores
    from settwister.demo.social import social_tables
    from settwister.estimator import OneHopClassifier
    from settwister.estimator.table import TableClassifier

    nodes, edges, model = out / "people.parquet", out / "friends.parquet", out / "model"
    there = [path for path in (nodes, edges, model) if os.path.lexists(path)]
    if there and not force:
        raise InputError(f"{there[0]} exists already, expected a new folder: choose another --out, or --force")
    check_writable(nodes)
    for path, frame in zip((nodes, edges), social_tables(people, seed), strict=True):
        with new_file(path) as staging:
            write_table(frame, staging)
    say = _Steps(as_json)
    say(f"compare --nodes {nodes} --edges {edges} --id person --target kind --members 1 --out {model}")
    table = TableClassifier("person", "kind", classifier=OneHopClassifier(members=1), random_state=seed)
    found = leaderboard(table, nodes, edges, None, model, force=True)
    say.result(found.show, found.to_json())
    say(f"explain --model {model} --nodes {nodes} --edges {edges} --node p0001 --top 5")
    explained = predict_commands.opened(model).explain("p0001", nodes, edges)
    say.result(lambda: predict_commands.show_explanation(explained, top=5), explained.to_json())
    say("1,797 pictures of digits, each joined to the eight that look most alike")
    with progress() as bars:
        shown = bars.add_task("digits", total=None, note="")
        digits = digits_scores(seed, lambda note: bars.update(shown, note=note))
    say.result(partial(_show_digits, digits), {"rows": digits})
    if as_json:
        print(json.dumps({"steps": say.results, "page": str(model / "report.html")}, indent=1, default=str))
        return
    page = escape(str(model / "report.html"))
    Console().print(f"\nThe page: [bold]{page}[/]", highlight=False, soft_wrap=True)


class _Steps:
    """What is done, for people as it happens, for programs in the end."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.results: list[dict[str, Any]] = []

    def __call__(self, what: str) -> None:
        self.results.append({"step": what})
        if not self.as_json:
            Console().print(f"\n[cyan]{escape(what)}[/]", highlight=False, soft_wrap=True)

    def result(self, show: Any, content: dict[str, Any]) -> None:
        self.results[-1] |= content
        if not self.as_json:
            show()


def _show_digits(rows: list[dict[str, Any]]) -> None:
    print_table(
        "Digits: test accuracy with a tenth of the labels",
        ["model", "accuracy", "seconds"],
        [[row["model"], f"{row['accuracy']:.1%}", f"{row['seconds']:.1f}"] for row in rows],
    )


def _sets(seconds: float, seed: int, as_json: bool) -> None:
    """The variance depends on pairs: a twist of sums holds them, a plain sum leaves them to the network behind it."""
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
