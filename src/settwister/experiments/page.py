"""A table of the paper as a page: the numbers, and every model's learning curve."""

from collections.abc import Sequence
from html import escape

from settwister.experiments.nodes.rendering import by_labels_used, node_table
from settwister.experiments.render import lines, name_of, title
from settwister.experiments.runner import Row
from settwister.experiments.terms import Terms
from settwister.report import html_table, line_chart, page

BOLD = "\0{}\1"  # until the rest is escaped
METRICS = {"mae": "MAE", "acc": "accuracy", "balanced_acc": "balanced accuracy"}


def table_page(rows: Sequence[Row], terms: Terms) -> str:
    """One self-contained HTML page for rows of one or more tables."""
    sections = []
    for name in dict.fromkeys(row.cell.table for row in rows):
        of_table = [row for row in rows if row.cell.table == name]
        if name == "nodes":
            sections += [_table(heading, *node_table(some, BOLD)) for heading, some in by_labels_used(of_table, terms)]
        else:
            sections.append(_table(f"{title(name)}; {terms.words(name)}", *lines(of_table, BOLD), words=2))
        colours = {model: i for i, model in enumerate(dict.fromkeys(map(name_of, of_table)))}  # one for all graphs
        for task in dict.fromkeys(row.cell.task for row in of_table):
            sections.append(_curves(name, task, [row for row in of_table if row.cell.task == task], colours))
    note = (
        '<p class="note">Mean and deviation over seeds on the test split, at the epoch with the best validation score. '
        "Bold: the best, and all that a two-sample t-test at p = 0.05 cannot tell from it. Seconds are per epoch and "
        "seed on the machine that ran them; the paper's numbers are its own.</p>"
    )
    return page("Set Twister: the paper's tables, run again", note + "".join(sections))


def _table(heading: str, header: list[str], body: list[list[str]], words: int = 1) -> str:
    marked = [[escape(cell).replace("\0", "<strong>").replace("\1", "</strong>") for cell in line] for line in body]
    return f"<h2>{escape(heading)}</h2>{html_table(header, marked, words=words)}"


def _curves(table: str, task: str, rows: Sequence[Row], colours: dict[str, int]) -> str:
    """Validation scores by epoch, averaged over seeds."""
    series = {}
    for row in rows:
        curves = [run.get("curves", {}).get("validation_score", []) for run in row.runs]
        # Seeds may have stopped at different epochs; the mean goes as far as all of them did.
        series[name_of(row)] = [sum(at) / len(at) for at in zip(*curves, strict=False)]
    metric = rows[0].cell.metric
    label = f"{task}: validation {METRICS[metric]}"
    chart = line_chart(series, "epoch", label, log_y=metric == "mae", colours=colours)
    return f'<section id="{escape(table)}-{escape(task)}">{chart}</section>'
