"""Writes docs/results.md from the run files in results/: ``make docs``."""

from pathlib import Path

from settwister.experiments import TABLES, Row, RunStore, cells, rows
from settwister.experiments.render import MARKDOWN_BOLD, NAMES, by_model, markdown, title
from settwister.experiments.statistics import best, mean_std
from settwister.files import new_file

ROOT = Path(__file__).parent.parent
HEAD = """# The arithmetic tables, run again

Written by `make docs` from the run files in `results/`; nothing here is typed. `settwister reproduce TABLE` prints the
same and runs what is missing. Budget `quick`: our recipe (targets standardised, Adam, a cosine from a high rate after
5% of warm-up, gradients clipped at 1; `experiments/recipes.py`), on two CPU cores. The paper's rows have its
architectures to the parameter; "our defaults" is the library's Set Twister at DeepSets' parameter count within 2%. The
recipe was found with Set Twister and DeepSets; Janossy pooling and Set Transformer take it over, with fewer epochs and
(GRU and Set Transformer) a smaller rate, and might do better with one of their own.

Mean(deviation) over seeds on the test split, at the epoch with the best validation score. Bold: the best of what was
run, and all that a two-sample t-test at p = 0.05 cannot tell from it. Seconds are per epoch and seed, seeds stacked,
and were taken while other runs shared the machine: they say how long these runs took, not how models compare (for that,
`settwister bench sets`). How our defaults were chosen: [defaults.md](defaults.md); how the recipe:
[recipe.md](recipe.md). The paper's numbers are after 2,000 epochs (maxmin on integers: 40,000; linear rho: 1,000).
"""


CURVES = """## More sums, narrower or as wide

Training and validation accuracy on the maxmin of 20 integers, the mean over seeds; `python docs/training_curves.py`
draws it from the run files of `maxmin_length` and `maxmin_fixed_width`. As in the paper, more sums help even where each
is narrower, so that the cost is that of two; the paper's figure goes on to 40,000 epochs.

![accuracy by epoch for M = 2, 3 and 4](img/training_curves.svg)
"""
HOLDOUT = """## Image inputs, digits that were never trained on

As in the paper, the three splits above draw their pictures from one stream of deformed digits: a test picture may be
another deformation of a digit that was trained on. Here validation and test pictures are MNIST's own test digits,
undeformed. The paper's numbers beside them are those of the other way.
"""


def as_markdown(found: list[Row]) -> str:
    return markdown(*by_model(found, MARKDOWN_BOLD))


def counted(found: list[Row]) -> str:
    """How many seeds the rows have; a single one has no deviation."""
    fewest, most = (pick(len(row.runs) for row in found) for pick in (min, max))
    return f"{most} seed{'s' * (most > 1)}" if fewest == most else f"{fewest} to {most} seeds"


def text() -> str:
    store = RunStore(ROOT / "results", "quick", only_read=True)
    parts, progress = [HEAD], []
    for name in TABLES:
        chosen = cells(name)
        found = rows(chosen, store, "quick")
        progress.append(f"| `{name}` | {len(found)} | {len(chosen)} |")
        if found:
            parts.append(
                f"## {title(name)}\n\n`settwister reproduce {name}`, {counted(found)}.\n\n{as_markdown(found)}\n"
            )
    parts.append(CURVES)
    found = rows(cells("images"), RunStore(ROOT / "results", "quick", "holdout", only_read=True), "quick")
    if found:
        parts.append(
            f"{HOLDOUT}\n`settwister reproduce images --holdout-digits`, {counted(found)}.\n\n{as_markdown(found)}\n"
        )
    parts.append("## How far the runs have come\n\n| table | cells run | of |\n|---|---|---|")
    return "\n".join(parts) + "\n" + "\n".join(progress) + "\n"


def summary() -> str:
    """The two tables that have every model, as one: ours, and the paper's in parentheses."""
    store = RunStore(ROOT / "results", "quick", only_read=True)
    columns: dict[str, dict[str, Row]] = {}
    for name in ("integers", "images"):
        for row in rows(cells(name), store, "quick"):
            head = f"{name}, {row.cell.task} {'MAE' if row.cell.metric == 'mae' else 'acc.'}"
            columns.setdefault(head, {})[row.cell.model] = row
    models = dict.fromkeys(model for column in columns.values() for model in column)
    body = [[NAMES[model], *(both(column, model) for column in columns.values())] for model in models]
    return markdown(["", *columns], body)


def both(column: dict[str, Row], model: str) -> str:
    if model not in column:
        return "–"
    cell = column[model].cell
    winners = best({name: row.scores for name, row in column.items()}, higher_is_better=cell.metric == "acc")
    ours, published = f"{mean_std(column[model].scores)[0]:.3f}", cell.published()
    shown = f"**{ours}**" if model in winners else ours
    return shown if published is None else f"{shown} ({published['mean']:.3f})"


if __name__ == "__main__":
    with new_file(ROOT / "docs" / "results.md") as staging:
        staging.write_text(text(), encoding="utf-8")
