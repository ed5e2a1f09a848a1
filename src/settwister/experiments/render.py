"""A table of rows as text: for a terminal, for Markdown, for LaTeX."""

import math
from collections.abc import Sequence

from settwister import paper
from settwister.experiments.runner import Row
from settwister.experiments.statistics import best, mean_std

NAMES = {
    "deepsets": "DeepSets",
    "janossy_2ary": "JP 2-ary",
    "janossy_full_gru": "JP full (GRU)",
    "set_transformer": "Set Transformer",
    "set_twister_plus": "Set Twister, our defaults",
    "gcn": "GCN",
    "gat": "GAT",
    "tk_gcn": "TK-GCN",
    "tk_gcn_cl": "TK-GCN + CL",
    "snowball": "Snowball",
    "snowball_cl": "Snowball + CL",
    "grand": "GRAND",
    "mlp": "MLP",
    "label_propagation": "Label propagation",
    "correct_and_smooth": "MLP + C&S",
    "deepsets_cs": "DeepSets + C&S",
    "set_twister_plus_cs": "Set Twister, our defaults, + C&S",
    "gcn_x5_cs": "five GCNs + C&S",
    "set_twister_plus_x5_cs": "five Set Twisters, our defaults, + C&S",
    "gcn_crossed": "five crossed GCNs",
    "set_twister_plus_crossed": "five crossed Set Twisters, our defaults",
    "labels_pooled": "known labels alone, pooled",
    "gcn_pooled": "pooled GCN",
    "set_twister_plus_pooled": "pooled Set Twister, our defaults",
    "gcn_crossed_pooled": "five crossed and pooled GCNs",
    "set_twister_plus_crossed_pooled": "five crossed and pooled Set Twisters, our defaults",
} | {f"set_twister_m{M}_k2": f"Set Twister (M={M}, k=2)" for M in range(1, 10)}

#: how the best of a table is set in bold, with {} for the number
MARKDOWN_BOLD, LATEX_BOLD, TERMINAL_BOLD = "**{}**", r"\textbf{{{}}}", "[bold]{}[/]"
#: what a cell is measured by, in words
METRICS = {"mae": "MAE", "acc": "acc.", "balanced_acc": "balanced acc."}


def lines(rows: Sequence[Row], bold: str) -> tuple[list[str], list[list[str]]]:
    """Header and body with a line per cell, for a terminal of any width.

    Args:
        bold: how to set the best in bold, with ``{}`` for the number.
    """
    best_of = winners(rows)
    tasks = list(dict.fromkeys(row.cell.task for row in rows))
    body = []
    for row in sorted(rows, key=lambda row: tasks.index(row.cell.task)):
        ours, published, epochs, seconds = _numbers(row, bold if row.cell.model in best_of[row.cell.task] else "{}")
        body.append([f"{row.cell.task} {METRICS[row.cell.metric]}", name_of(row), ours, published, epochs, seconds])
    return ["task", "model", "ours", "paper", "epochs", "s/epoch"], body


def by_model(rows: Sequence[Row], bold: str) -> tuple[list[str], list[list[str]]]:
    """Header and body with a line per model, as the paper prints it: per task ours, the paper's, epochs, seconds."""
    tasks = list(dict.fromkeys(row.cell.task for row in rows))
    models = list(dict.fromkeys(row.cell.model for row in rows))
    by_cell = {(row.cell.model, row.cell.task): row for row in rows}
    best_of = winners(rows)
    header = ["model"]
    for task in tasks:
        metric = next(row.cell.metric for row in rows if row.cell.task == task)
        header += [f"{task} {METRICS[metric]}", "paper", "epochs", "s/epoch"]
    body = []
    for model in models:
        line = [next(name_of(row) for row in rows if row.cell.model == model)]
        for task in tasks:
            row = by_cell.get((model, task))
            line += ["–"] * 4 if row is None else _numbers(row, bold if model in best_of[task] else "{}")
        body.append(line)
    return header, body


def name_of(row: Row) -> str:
    """A model's name; where its settings were searched, it has nobody's defaults."""
    name = NAMES.get(row.cell.model, row.cell.model)
    return name.replace(", our defaults,", "").replace(", our defaults", "") if row.runs[0].get("trials") else name


def winners(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Per task, the best models and those that a t-test cannot tell from it."""
    found = {}
    for task in dict.fromkeys(row.cell.task for row in rows):
        of_task = [row for row in rows if row.cell.task == task]
        scores = {row.cell.model: row.scores for row in of_task}
        found[task] = best(scores, higher_is_better=of_task[0].cell.metric != "mae")
    return found


def _numbers(row: Row, style: str) -> list[str]:
    published = row.cell.published()
    return [
        style.format(spread(*mean_std(row.scores), row.cell.digits)),
        "–" if published is None else spread(published["mean"], published["std"], row.cell.digits),
        str(row.epochs),
        f"{mean_std([run['seconds_per_epoch'] for run in row.runs])[0]:.2f}",
    ]


def spread(mean: float, std: float, digits: int = 3) -> str:
    """Mean and deviation as the paper prints them.

    >>> spread(0.3331, 0.008), spread(0.5, float("nan"))
    ('0.333(0.008)', '0.500')
    """
    return f"{mean:.{digits}f}" if math.isnan(std) else f"{mean:.{digits}f}({std:.{digits}f})"


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def latex(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [
        " & ".join(cell.replace("–", "--").replace("&", r"\&") for cell in line) + r" \\" for line in [header, *body]
    ]
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def title(name: str) -> str:
    return str(paper.table(name)["title"])
