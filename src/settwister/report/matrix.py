"""A confusion matrix as a heat map, readable in light and dark."""

import math
from collections.abc import Sequence
from html import escape

from settwister.errors import InputError
from settwister.report.axes import LETTER, Frame, short_count, shortened, text
from settwister.report.charts import NOTHING
from settwister.report.page import html_table

MOST_WITH_NUMBERS = 12
MOST_DRAWN = 60  # beyond that a cell is too small to point at, and the page too large to open
LONGEST_NAME = 22


def heat_map(counts: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """A square per label (row) and answer (column), the stronger its colour the larger its share of the row.

    Up to 12 classes each square shows its count; beyond that it tells it when pointed at.
    """
    if any(len(side) != len(names) for side in (counts, *counts)):
        raise InputError(f"there are {len(names)} names, expected as many rows of as many counts")
    if not names:
        return NOTHING
    if len(names) > MOST_DRAWN:
        return f'<p class="note">{len(names)} classes are too many to draw.</p>'
    numbers = len(names) <= MOST_WITH_NUMBERS
    wide, high = (46, 34) if numbers else (18, 18)
    shown = [shortened(name, LONGEST_NAME) for name in names]
    margin = 12 + LETTER * max(map(len, shown))
    # Names of columns lie flat where they are short, lean where there is room for it, and stand upright elsewhere.
    if numbers and margin <= wide:
        turned, above, after = 0, 40.0, 12.0
    elif numbers:
        turned, above, after = -40, 24 + 0.65 * margin, 0.6 * margin
    else:
        turned, above, after = -90, 20 + margin, 12.0
    left, over = margin + 22, "answer of the model"
    after = max(after, (LETTER * len(over) - wide * len(names)) / 2)  # two columns are narrower than what is over them
    width, height = left + wide * len(names) + after, above + high * len(names) + 8
    frame = Frame(width, height, left=left, right=after, top=above, bottom=8)
    middle = above + high * len(names) / 2
    drawn = [
        text(left + wide * len(names) / 2, 14, over),
        f'<text transform="translate(12 {middle:g}) rotate(-90)" text-anchor="middle">label</text>',
    ]
    for i, (row, name) in enumerate(zip(counts, names, strict=True)):
        y, total = above + high * i, sum(row)
        drawn.append(text(left - 6, y + high / 2 + 4, shown[i], anchor="end"))
        at, anchor = left + wide * (i + 0.5), "start" if turned else "middle"
        drawn.append(text(at + (3 if turned else 0), above - 6, shown[i], anchor=anchor, turned=turned))
        for j, count in enumerate(row):
            share = count / max(1, total)
            said = f"{name}, answered {names[j]}: {count:,} of {total:,} nodes"
            drawn.append(
                f'<g><title>{escape(said)}</title><rect class="cell" x="{left + wide * j:g}" y="{y:g}" '
                f'width="{wide}" height="{high}"/>'
                + _heat(left + wide * j, y, wide, high, share)
                + (text(left + wide * (j + 0.5), y + high / 2 + 4, short_count(count), kind="on") if numbers else "")
                + "</g>"
            )
    right = sum(row[i] for i, row in enumerate(counts))
    label = f"Confusion matrix of {len(names)} classes: {right:,} of {sum(map(sum, counts)):,} nodes on the diagonal"
    return frame.figure(drawn, label)


def _heat(x: float, y: float, wide: float, high: float, share: float) -> str:
    """The colour over a cell; most cells of a large matrix have none, and nothing is written for them."""
    if share == 0:
        return ""
    # The root makes a mistake of a few percent visible beside a diagonal of most.
    depth = f"{math.sqrt(share):.3g}"
    return f'<rect class="heat" x="{x:g}" y="{y:g}" width="{wide}" height="{high}" fill-opacity="{depth}"/>'


def commonest_mistakes(counts: Sequence[Sequence[int]], names: Sequence[str], most: int = 10) -> str:
    """A table of which labels are most often answered with which other class."""
    pairs = [(count, i, j) for i, row in enumerate(counts) for j, count in enumerate(row) if i != j and count]
    pairs.sort(key=lambda pair: (-pair[0], pair[1:]))
    body = [
        [escape(names[i]), escape(names[j]), f"{count:,}", f"{count / sum(counts[i]):.0%}"]
        for count, i, j in pairs[:most]
    ]
    if not body:
        return "<p>There are no mistakes.</p>"
    return html_table(["label", "answer", "nodes", "of the label's nodes"], body, words=2)
