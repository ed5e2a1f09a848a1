"""``settwister reproduce``: the paper's tables, ours beside the published numbers."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import TaskID
from rich.text import Text

from settwister import paper
from settwister._checks import choice
from settwister.cli.output import JsonOption, listed, print_rows, print_table, progress
from settwister.errors import InputError, UnfinishedError
from settwister.experiments import BUDGETS, TABLES, Cell, Row, RunStore, cells, rows, run_missing
from settwister.experiments.cells import TableCell
from settwister.experiments.nodes import (
    ON_TOP,
    PROTOCOLS,
    SPLITS,
    NodeCell,
    absent,
    node_cells,
    node_rows,
    run_missing_nodes,
)
from settwister.experiments.nodes.rendering import by_labels_used, node_row, node_table, settings_tried
from settwister.experiments.page import table_page
from settwister.experiments.render import (
    LATEX_BOLD,
    MARKDOWN_BOLD,
    TERMINAL_BOLD,
    by_model,
    latex,
    lines,
    markdown,
    title,
)
from settwister.experiments.terms import Terms
from settwister.files import check_page, new_file
from settwister.graphs import load
from settwister.graphs.registry import no_graphs
from settwister.paper.cost import Count
from settwister.tasks import load_digits

COUNTED: dict[str, Callable[[], list[Count]]] = {
    "parameters": paper.parameter_counts,
    "figure1_cost": paper.figure1_counts,
}
MOST_SEEDS = 1000
SMOKE_EPOCHS = 2
KNOWN = (*COUNTED, *TABLES, "nodes", "all")


def reproduce(
    name: Annotated[str, typer.Argument(metavar="TABLE", help=f"Which table: {', '.join(KNOWN)}.")],
    budget: Annotated[str, typer.Option(help=f"How much to train: {', '.join(BUDGETS)}.")] = "quick",
    protocol: Annotated[
        str | None,
        typer.Option(help=f"For nodes, how settings are found: {', '.join(PROTOCOLS)}; by the budget otherwise."),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            help="Only these models, separated by commas. For nodes also any network with what comes on top behind its "
            f"name, such as gat_cs or set_twister_m4_k3_cl: {', '.join(f'_{one}' for one in ON_TOP)}."
        ),
    ] = None,
    tasks: Annotated[str | None, typer.Option(help="Only these tasks, separated by commas.")] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Which seeds, such as 0-4 or 0,2; the budget's own otherwise.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs, instead of the budget's own.", min=1)] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            help="For nodes, how many settings a search tries: of the paper's grid, small networks first.", min=1
        ),
    ] = None,
    splits: Annotated[
        str | None,
        typer.Option(
            help="For nodes, splits that came with the graphs: geom (Geom-GCN's ten, --seeds 0-9) or public; otherwise "
            "60/20/20 at random, or what a graph's makers prescribe."
        ),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where MNIST and graphs are; else SETTWISTER_DATA, else the cache folder.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="The folder of run files: what it holds is not run again.")] = Path(
        "results"
    ),
    stored: Annotated[
        bool, typer.Option("--stored", help="Train nothing and need no data: print what --runs holds.")
    ] = False,
    holdout_digits: Annotated[
        bool, typer.Option("--holdout-digits", help="Validate and test on MNIST's own test digits, undeformed.")
    ] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write a page with the learning curves.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Reproduce a table of the paper: run what is missing, then print our numbers beside the published ones.

    [bold]parameters[/] and [bold]figure1_cost[/] count; they exit with 1 unless every number equals the paper's. The
    other tables train. Every finished run is a file in --runs, so a second call only trains what is missing, and a call
    that is killed goes on where it was.

    Budgets: [bold]smoke[/] is seconds, to see that everything works; [bold]quick[/] is our recipe, minutes per number;
    [bold]paper[/] is the paper's optimiser, epochs and seeds, which takes days.

    [bold]nodes[/] is the table of graphs; those that are not in the data directory are left out, and settwister
    datasets says how to get them. Budget quick is the library's defaults; [bold]--protocol paper[/] searches the
    paper's grid first, which takes days unless --trials says how much of it, and [bold]tuned[/] a space of its own.

    Example: [cyan]settwister reproduce integers --tasks variance --models deepsets,set_twister_m2_k2[/]

    A table as far as it was run: [cyan]settwister reproduce nodes --protocol paper --stored[/]
    """
    if name not in KNOWN:
        raise InputError(f"unknown table {name!r}, expected one of {', '.join(KNOWN)}")
    choice("budget", budget, BUDGETS)
    if name not in ("nodes", "all"):
        _expect_none(name, "it is for nodes alone", protocol=protocol, trials=trials, splits=splits)
    if name != "all" and not name.startswith("images"):
        _expect_none(name, "it is for tables of images alone", holdout_digits=holdout_digits or None)
    if stored:
        _expect_none("--stored", "nothing is searched then", trials=trials)
    if name in COUNTED:
        given = {"models": models, "tasks": tasks, "seeds": seeds, "epochs": epochs, "html": html}
        _expect_none(name, "nothing is trained there", **given)
    if as_markdown + as_latex + as_json > 1:
        raise InputError("more than one of --markdown, --latex and --json was given, expected one form to print")
    protocol = choice("protocol", protocol or ("paper" if budget == "paper" else "quick"), PROTOCOLS)
    if splits is not None:
        choice("splits", splits, SPLITS)
    if trials is not None and protocol == "quick":
        raise InputError(f"--trials is {trials} under protocol quick, expected none: nothing is searched there")
    counted = [table for table in COUNTED if name in (table, "all")]
    trained = [table for table in TABLES if name in (table, "all")]
    chosen = [cell for t in trained for cell in cells(t, listed(models), listed(tasks))]
    wanted = _seeds(seeds)
    node_seeds = wanted or ([0] if budget == "smoke" else None)
    wanted_runs = None if node_seeds is None else len(node_seeds)
    if html is not None:
        check_page(html)
    found: list[Row] = []
    terms = Terms(protocol, budget, splits, epochs, holdout_digits)
    came_to_nothing = None
    for images in (False, True):
        if some := [cell for cell in chosen if cell.images == images]:
            variants = _digits(data_dir, holdout_digits, stored) if images else []
            store = RunStore(runs, budget, *variants, *_other_epochs(epochs), only_read=stored)
            if not stored:
                _train(some, store, budget, wanted, epochs, data_dir, holdout_digits)
            found += rows(some, store, budget, wanted)
            _say_broken(store)
    if name in ("nodes", "all"):
        trained.append("nodes")
        store = RunStore(runs, *terms.folder_of_nodes(), only_read=stored)
        of_nodes = node_cells(listed(models), listed(tasks))
        if not stored:
            of_nodes, came_to_nothing = _train_nodes(
                of_nodes, store, terms, node_seeds, trials, data_dir, all_graphs=tasks is None
            )
        found += (node_found := node_rows(of_nodes, store, node_seeds))
        _say_broken(store)
        _say_left_out(node_found)
    if came_to_nothing is not None and not found and not counted:
        raise came_to_nothing
    if stored and trained and not found:
        raise InputError(
            f"{runs} holds no such run of {name}: name the folder of runs with --runs, or leave --stored out, and what "
            "is missing is trained"
        )
    if html is not None:
        with new_file(html) as staging:
            staging.write_text(table_page(found, terms), encoding="utf-8")
    counts = {t: COUNTED[t]() for t in counted}
    if as_json:
        every: list[tuple[str, dict[str, Any]]] = [(t, count.as_row()) for t in counted for count in counts[t]]
        every += [
            (t := row.cell.table, node_row(row, terms) if t == "nodes" else row.as_row() | terms.as_fields(t))
            for row in found
        ]
        # Only among rows of several tables does each say which one it is of.
        print_rows({"table": t} | row if name == "all" else row for t, row in every)
    else:
        style = MARKDOWN_BOLD if as_markdown else LATEX_BOLD if as_latex else TERMINAL_BOLD
        for t in counted:
            _print(title(t), *_counts_table(counts[t], style), style)
        for t in trained:
            of_table = [row for row in found if row.cell.table == t]
            if t == "nodes":
                below = "\n[dim]({})[/]" if style == TERMINAL_BOLD else " ({})"
                for heading, some_rows in by_labels_used(of_table, terms):
                    _print(heading, *node_table(some_rows, style, below, wanted_runs), style)
                if tried := settings_tried(of_table, protocol):
                    print(f"% {tried}" if style == LATEX_BOLD else tried)
            else:  # a terminal may be too narrow for a line per model
                heading = f"{title(t)}; {terms.words(t)}"
                _print(heading, *(lines if style == TERMINAL_BOLD else by_model)(of_table, style), style)
    if came_to_nothing is not None:
        raise came_to_nothing
    if any(count.ours != count.paper for t in counted for count in counts[t]):
        raise typer.Exit(1)


def _digits(data_dir: Path | None, holdout: bool, stored: bool) -> list[str]:
    """What sets runs on images apart: whose digits they are, where not MNIST's, and which of them are for testing."""
    whose = "mnist" if stored else load_digits(data_dir).name
    if whose != "mnist":
        _say("no MNIST was found, so scikit-learn's 8×8 digits, enlarged, stand in for it")
    return [*([] if whose == "mnist" else [f"{whose}-digits"]), *(["holdout"] if holdout else [])]


def _other_epochs(given: int | None) -> list[str]:
    """What sets runs of another length than the budget's own apart."""
    return [] if given is None else [f"{given}-epochs"]


def _train(
    chosen: list[Cell],
    store: RunStore,
    budget: str,
    seeds: list[int] | None,
    epochs: int | None,
    data_dir: Path | None,
    holdout: bool,
) -> None:
    images = {"data_dir": None if data_dir is None else str(data_dir), "holdout": holdout}
    with _progress_of() as tell:
        run_missing(chosen, store, budget, seeds=seeds, epochs=epochs, image_options=images, tell=tell)


def _train_nodes(
    chosen: list[NodeCell],
    store: RunStore,
    terms: Terms,
    seeds: list[int] | None,
    trials: int | None,
    data_dir: Path | None,
    *,
    all_graphs: bool,
) -> tuple[list[NodeCell], InputError | None]:
    """Train what is missing of the node table on the graphs that are there: their cells, and what came to nothing.

    What came to nothing does not keep the rest from being shown.
    """
    missing = absent(chosen, data_dir)
    if missing and not all_graphs:
        load(missing[0], data_dir)  # fails, and says where it looked and what to do
    chosen = [cell for cell in chosen if cell.task not in missing]
    if not chosen:
        return [], InputError(no_graphs(data_dir))
    if missing:
        _say(f"{', '.join(missing)} not in the data directory, so left out")
    if terms.splits is not None and all_graphs:
        lacking = [name for name in dict.fromkeys(cell.task for cell in chosen) if _lacks(name, terms.splits, data_dir)]
        chosen = [cell for cell in chosen if cell.task not in lacking]
        if not chosen:
            return [], InputError(f"no graph of those there has {terms.splits} splits: leave --splits out for 60/20/20")
        if lacking:
            _say(f"{', '.join(lacking)} without {terms.splits} splits, so left out")
    with _progress_of() as tell:
        try:
            run_missing_nodes(
                chosen,
                store,
                terms.protocol,
                data_dir=data_dir,
                seeds=seeds,
                epochs=terms.epochs or (SMOKE_EPOCHS if terms.smoke else None),
                trials=trials,
                splits=terms.splits,
                tell=tell,
                say=_say,
            )
        except UnfinishedError as error:
            return chosen, error
    return chosen, None


def _lacks(graph: str, splits: str, data_dir: Path | None) -> bool:
    """Whether a graph is known to have no such splits; what cannot be read is told of where it is trained on."""
    try:
        return splits not in load(graph, data_dir).splits
    except InputError:
        return False


def _say(sentence: str) -> None:
    print(f"settwister: {sentence}", file=sys.stderr)


def _say_broken(store: RunStore) -> None:
    for path, why in store.broken.items():
        _say(
            f"of the run files {path} is {why}, so it is left out"
            if store.only_read
            else f"of the run files one was {why} and is now {path}"
        )


def _say_left_out(rows: list[Row]) -> None:
    for row in rows:
        if row.left_out:
            seeds = ", ".join(map(str, row.left_out))
            _say(
                f"of {row.cell.model} on {row.cell.task} the runs of seeds {seeds} have other settings than the one "
                "of the most trials, so they are left out"
            )


@contextmanager
def _progress_of() -> Iterator[Callable[[TableCell, int, int, str], None]]:
    """A bar per cell."""
    with progress() as bars:
        shown: dict[TableCell, TaskID] = {}

        def tell(cell: TableCell, done: int, total: int, note: str) -> None:
            if cell not in shown:
                shown[cell] = bars.add_task(f"{cell.table} {cell.task} {cell.model}", total=total, note="")
            bars.update(shown[cell], completed=done, note=note)

        yield tell


def _expect_none(name: str, why: str, **options: Any) -> None:
    """Refuse options that a table, or another option, would not heed."""
    for option, given in options.items():
        if given is not None:
            raise InputError(f"--{option.replace('_', '-')} is {given} for {name}, expected none: {why}")


def _counts_table(counts: list[Count], style: str) -> tuple[list[str], list[list[str]]]:
    no = "[red]no[/]" if style == TERMINAL_BOLD else style.format("no")
    body = [[c.model, c.column, f"{c.ours:,}", f"{c.paper:,}", "yes" if c.ours == c.paper else no] for c in counts]
    return ["model", "column", "ours", "paper", "equal"], body


def _print(heading: str, header: list[str], body: list[list[str]], style: str) -> None:
    if style == TERMINAL_BOLD:
        print_table(heading, header, [[Text.from_markup(cell) for cell in line] for line in body])
    elif style == MARKDOWN_BOLD:
        print(f"{heading}\n\n{markdown(header, body)}\n")
    else:
        print(f"% {heading}\n{latex(header, body)}\n")


def _seeds(given: str | None) -> list[int] | None:
    """``0-4`` or ``0,2,5`` as a list.

    >>> _seeds("0-2,7")
    [0, 1, 2, 7]
    """
    if given is None:
        return None
    found: set[int] = set()
    for part in given.split(","):
        ends = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())
        if ends is None:
            raise InputError(f"seeds are {given!r}, expected numbers such as 0-4 or 0,2")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if not first <= last < first + MOST_SEEDS:
            raise InputError(f"seeds are {given!r}, expected a range that rises and holds at most {MOST_SEEDS:,}")
        found |= set(range(first, last + 1))
    return sorted(found)
