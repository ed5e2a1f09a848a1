"""A trained node classifier as a page, in the order in which a person asks about it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from settwister.evaluation import Evaluation, wilson_interval
from settwister.report.axes import short_count
from settwister.report.bars import bar_chart, rank_bars
from settwister.report.charts import line_chart
from settwister.report.classifier_report import ClassifierReport, DataSummary
from settwister.report.findings import calibration, caveats, headline
from settwister.report.matrix import MOST_DRAWN, MOST_WITH_NUMBERS, commonest_mistakes, heat_map
from settwister.report.page import html_table, page
from settwister.report.reliability import reliability_diagram

MOST_CLASSES_LISTED = 30
MOST_COLUMNS_SHOWN = 15
MOST_COLUMNS_LISTED = 1000


def classifier_page(about: ClassifierReport) -> str:
    """One self-contained HTML page about a trained node classifier; parts with nothing to show are left out."""
    found = about.evaluation
    sections = {
        "What was found": _found(about),
        "The data": _data(about.data),
        "Learning curves": _curves(about),
        "Confusion matrix": _confusion(found),
        "Class by class": _per_class(found),
        "Can its probabilities be trusted?": _reliability(found),
        "Accuracy by number of neighbours": _by_degree(found),
        "Models compared": _leaderboard(about),
        "How to use the model": "".join(
            f"<h3>{escape(what)}</h3><pre><code>{escape(lines)}</code></pre>" for what, lines in about.usage.items()
        ),
        "Configuration": _settings(["setting", "value"], about.configuration)
        + _settings(["package", "version"], about.versions),
    }
    body = "".join(f"<section><h2>{name}</h2>{content}</section>" for name, content in sections.items() if content)
    return page(about.title, body)


def _found(about: ClassifierReport) -> str:
    found = about.evaluation
    low, high = found.interval
    figures = {
        "accuracy": (f"{found.accuracy:.1%}", f"95%: {low:.1%} to {high:.1%}"),
        "commonest class": (f"{found.majority:.1%}", "were it always the answer"),
        "balanced accuracy": (f"{found.balanced_accuracy:.1%}", "every class counts alike"),
        "macro-F1": (f"{found.macro_f1:.3f}", f"log loss {found.log_loss:.3f}"),
    }
    if about.balanced:
        first = {"balanced accuracy": (f"{found.balanced_accuracy:.1%}", f"by guessing: {found.chance:.1%}")}
        figures = first | figures | first  # in the first place, and as it is told here
    cards = "".join(
        f"<div><dt>{name}</dt><dd>{value} <small>{more}</small></dd></div>" for name, (value, more) in figures.items()
    )
    warned = "".join(
        f'<p class="caveat">{escape(said)}</p>' for said in [*caveats(found, balanced=about.balanced), *about.notes]
    )
    note = (
        "Measured on nodes that took no part in training. The interval (Wilson's) takes test nodes as independent of "
        "each other; neighbours in a graph are not quite, so it is somewhat too narrow."
    )
    said = escape(headline(found, balanced=about.balanced))
    return f'<p>{said}</p><dl class="figures">{cards}</dl>{warned}<p class="note">{escape(note)}</p>'


def _data(data: DataSummary) -> str:
    facts = {
        "nodes": data.nodes,
        "with a label": data.labelled,
        "without a label": data.unlabelled,
        **{f"nodes for {name}": nodes for name, nodes in data.split.items()},
        "edges": data.edges,
        "nodes without neighbours": data.isolated,
        "features in the tables": data.columns,
        "features after encoding": data.features,
    }
    table = html_table(["what", "how many"], [[escape(name), f"{count:,}"] for name, count in facts.items()])
    common = sorted(data.classes.items(), key=lambda item: -item[1])
    more = len(common) - MOST_CLASSES_LISTED
    rest = f'<p class="note">And {more:,} rarer ones.</p>' if more > 0 else ""
    classes = rank_bars(dict(common[:MOST_CLASSES_LISTED]), decimals=0) + rest
    heights = {_short(row["degrees"]): row["nodes"] for row in data.degrees}
    degrees = f"<h3>Neighbours</h3>{bar_chart(heights, 'neighbours', 'nodes')}" if heights else ""
    return f"{table}{_readings(data)}<h3>Labelled nodes by class</h3>{classes}{degrees}"


def _readings(data: DataSummary) -> str:
    """What each column was read as; of many columns a line, and the rest when somebody opens it."""
    if not data.readings:
        return ""
    body = [[escape(row["column"]), escape(row["read_as"]), f"{row['gaps']:,}"] for row in data.readings]
    more = len(body) - MOST_COLUMNS_LISTED
    rest = f'<p class="note">And {more:,} more.</p>' if more > 0 else ""
    header = ["column", "read as", f"gaps in {data.nodes:,} rows"]
    table = html_table(header, body[:MOST_COLUMNS_LISTED], words=2) + rest
    if len(body) > MOST_COLUMNS_SHOWN:
        counts = Counter(row["read_as"] for row in data.readings).most_common()
        counted = "; ".join(f"{escape(read_as)}: {count:,}" for read_as, count in counts)
        table = f"<details><summary>{len(body):,} columns ({counted})</summary>{table}</details>"
    note = "A gap is a cell that is empty, or that cannot be read as what the column is."
    return f'<h3>How columns were read</h3><p class="note">{note}</p>{table}'


def _curves(about: ClassifierReport) -> str:
    """One chart for each last word among the names, because curves of the same word have the same unit."""
    words = {name: name.replace("_", " ").split() or [""] for name in about.curves}
    # What is said of the same nodes has the same colour in every chart.
    subjects = list(dict.fromkeys(" ".join(parts[:-1]) for parts in words.values()))
    charts = [f'<p class="note">Of the first of {about.networks} networks.</p>'] if about.networks > 1 else []
    for unit in dict.fromkeys(parts[-1] for parts in words.values()):
        names = [name for name, parts in words.items() if parts[-1] == unit]
        series = {" ".join(words[name]): about.curves[name] for name in names}
        colours = {" ".join(words[name]): subjects.index(" ".join(words[name][:-1])) for name in names}
        mark = None if about.best_epoch is None else (about.best_epoch, f"kept: epoch {about.best_epoch}")
        charts.append(line_chart(series, "epoch", unit, mark=mark, colours=colours))
    return "".join(charts)


def _confusion(found: Evaluation) -> str:
    names = [str(row["name"]) for row in found.per_class]
    how = "Row: the label of a test node. Column: the model's answer. Colour: the share of the row."
    parts = [heat_map(found.confusion, names)]
    if len(names) <= MOST_DRAWN:
        parts.insert(0, f'<p class="note">{how}</p>')
    if len(names) > MOST_WITH_NUMBERS:
        parts.append(f"<h3>Commonest mistakes</h3>{commonest_mistakes(found.confusion, names)}")
    return "".join(parts)


def _per_class(found: Evaluation) -> str:
    answered = [sum(column) for column in zip(*found.confusion, strict=True)]
    body = []
    for row, answers in zip(found.per_class, answered, strict=True):
        # A share of no nodes is not 0, it is not there.
        precision = f"{row['precision']:.3f}" if answers else "–"
        recall = f"{row['recall']:.3f}" if row["support"] else "–"
        f1 = f"{row['f1']:.3f}" if answers or row["support"] else "–"
        body.append([escape(str(row["name"])), precision, recall, f1, f"{row['support']:,}"])
    note = (
        "Precision: how often this answer is right. Recall: how many nodes of the class are found. "
        "F1: one number for both."
    )
    return f'<p class="note">{note}</p>' + html_table(["class", "precision", "recall", "F1", "test nodes"], body)


def _reliability(found: Evaluation) -> str:
    note = "A dot holds test nodes of like confidence, its area says how many. On the diagonal, 80% sure is 80% right."
    diagram = reliability_diagram(found.reliability)
    return f'<p>{escape(calibration(found))}</p><p class="note">{note}</p>{diagram}'


def _by_degree(found: Evaluation) -> str:
    if not found.by_degree:
        return ""
    nodes = [int(row["nodes"]) for row in found.by_degree]
    shares = {_short(row["degrees"]): float(row["accuracy"]) for row in found.by_degree}
    ends = [wilson_interval(round(share * n), n) for share, n in zip(shares.values(), nodes, strict=True)]
    chart = bar_chart(
        shares,
        "neighbours (below: test nodes)",
        "accuracy",
        percent=True,
        counts=nodes,
        intervals=ends,
        line=found.accuracy,
    )
    return f'<p class="note">Thin lines: 95% intervals. Dashed: the accuracy over all test nodes.</p>{chart}'


def _short(degrees: str) -> str:
    """Degrees for below a bar: "524288-1048575" would need the space of three.

    >>> _short("2-3"), _short("524288-1048575")
    ('2-3', '524k-1.05M')
    """
    return "-".join(short_count(int(end)) if end.isdecimal() and len(end) > 4 else end for end in degrees.split("-"))


def _leaderboard(about: ClassifierReport) -> str:
    if not about.leaderboard:
        return ""
    rows = about.leaderboard
    chosen = next((row.model for row in rows if row.chosen), None)
    body = [
        [
            f"<strong>{escape(row.model)}</strong> (this model)" if row.chosen else escape(row.model),
            f"{row.accuracy:.1%}",
            f"{row.balanced_accuracy:.1%}",
            f"{row.macro_f1:.3f}",
            f"{row.seconds:,.1f}",
        ]
        for row in rows
    ]
    shown = {row.model: row.balanced_accuracy if about.balanced else row.accuracy for row in rows}
    bars = rank_bars(shown, percent=True, chosen=chosen)
    table = html_table(["model", "accuracy", "balanced accuracy", "macro-F1", "seconds"], body)
    what = "Balanced accuracy" if about.balanced else "Accuracy"
    return f'<p class="note">{what} on test nodes; the first is the best on validation nodes.</p>{bars}{table}'


def _settings(header: list[str], given: Mapping[str, Any]) -> str:
    body = [[escape(name), f"<code>{escape(value)}</code>"] for name, value in _flat(given)]
    return html_table(header, body, words=2) if body else ""


def _flat(given: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value if isinstance(value, str) else json.dumps(value, default=str)
