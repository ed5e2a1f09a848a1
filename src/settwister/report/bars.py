"""Bars: upright ones over a few named bins, and lying ones that rank names."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from settwister.errors import InputError
from settwister.report.axes import LETTER, Frame, Scale, nice_ticks, short_count, text
from settwister.report.charts import NOTHING

SLOT = 46  # the least space for a bar and its labels
NARROWEST = 420


def bar_chart(
    heights: Mapping[str, float],
    x_label: str,
    y_label: str,
    *,
    percent: bool = False,
    counts: Sequence[int] | None = None,
    intervals: Sequence[tuple[float, float]] | None = None,
    line: float | None = None,
) -> str:
    """Upright bars from zero, each with its height in figures above.

    Args:
        heights: at least 0, by name.
        percent: heights are shares, of an axis from 0% to 100%.
        counts: how many things each bar stands for, written below its name.
        intervals: from where to where the truth may lie, drawn over each bar.
        line: a height to compare with, drawn across.
    """
    if not heights:
        return NOTHING
    for name, height in heights.items():
        if not 0 <= height < math.inf:
            raise InputError(f"the height of {name!r} is {height}, expected a number of at least 0")
    slot = max(SLOT, 12 + LETTER * max(map(len, heights)))
    lower = 16 if counts is not None else 0
    width = max(NARROWEST, 72 + slot * len(heights))
    frame = Frame(width, 280 + lower, left=60, top=24, bottom=44 + lower)
    scale = Scale(nice_ticks(0, 1 if percent else max(heights.values())))
    half = 0.36 * (frame.x(1) - frame.x(0)) / len(heights)
    drawn, labels, words = frame.rows(scale, percent=percent), [], []
    for i, (name, height) in enumerate(heights.items()):
        x, y = frame.x((i + 0.5) / len(heights)), frame.y(scale.part(height))
        shown = f"{height:.0%}" if percent else short_count(round(height))
        above = y
        drawn.append(
            f'<rect class="bar" x="{x - half:.1f}" width="{2 * half:.1f}" y="{y:.1f}" height="{frame.y(0) - y:.1f}"/>'
        )
        if intervals is not None:
            ends = [frame.y(scale.part(end)) for end in intervals[i]]
            above = min(y, *ends)
            drawn.append(f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/>')
        labels.append(text(x, above - 5, shown, kind="value"))
        labels.append(text(x, frame.y(0) + 16, name))
        words.append(f"{name}: {shown}")
        if counts is not None:
            labels.append(text(x, frame.y(0) + 32, short_count(counts[i])))
            words[-1] += f" of {counts[i]:,}"
    if line is not None:
        level = f"{frame.y(scale.part(line)):.1f}"
        drawn.append(f'<line class="guide" x1="{frame.left:g}" x2="{frame.x(1):g}" y1="{level}" y2="{level}"/>')
    drawn += labels + frame.titles(x_label, y_label)
    return frame.figure(drawn, f"{y_label} against {x_label}. {'; '.join(words)}")


def rank_bars(
    values: Mapping[str, float], *, percent: bool = False, chosen: str | None = None, decimals: int = 3
) -> str:
    """Lying bars in the order given, one per name, from a common zero; negative values go to the left of it.

    They are a list in words and numbers with a strip of colour, so that names of any length fit on any screen.

    Args:
        percent: values are shares, and a full bar is 100%; otherwise the largest value fills its space.
        chosen: the name to stand out; left out, all look alike.
    """
    if not values:
        return NOTHING
    for name, value in values.items():
        if not math.isfinite(value):
            raise InputError(f"the value of {name!r} is {value}, expected a finite number")
    low = min(0.0, *values.values())
    high = max(1.0 if percent else 0.0, *values.values())
    span = (high - low) or 1.0
    items = []
    for name, value in values.items():
        start, size = 100 * (min(value, 0.0) - low) / span, 100 * abs(value) / span
        shown = f"{value:.1%}" if percent else f"{value:,.{decimals}f}"
        kind = "" if chosen is None else ' class="chosen"' if name == chosen else ' class="other"'
        strip = f'<span style="margin-left:{start:.2f}%;width:{size:.2f}%"></span>'
        items.append(
            f'<li{kind}><span class="name">{escape(name)}</span>'
            f'<span class="strip" aria-hidden="true">{strip}</span><span class="number">{shown}</span></li>'
        )
    return f'<ul class="bars">{"".join(items)}</ul>'
