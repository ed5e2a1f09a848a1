"""Lines over epochs: a small SVG drawing with the colours of the page, so that it works in light and dark."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from settwister.report.axes import LETTER, Frame, Scale, decades, nice_ticks, text, tick_text

COLOURS = 8  # classes series-0 … series-7 of the page's style sheet
NOTHING = "<p>Nothing to draw.</p>"


def line_chart(
    series: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
    *,
    log_y: bool = False,
    mark: tuple[int, str] | None = None,
    colours: Mapping[str, int] | None = None,
) -> str:
    """Lines over 1, 2, 3, …, one per named series, with a legend below.

    Args:
        log_y: a logarithmic vertical axis; values must be positive.
        mark: a place on the horizontal axis and what is there, such as ``(57, "best")``.
        colours: the number of a series' colour; left out, they are numbered as they come. Where there are more than
            colours, the further ones have these again and are dashed.
    """
    # Values that are not numbers are left out where they stand; those after them keep their places.
    lines = {
        name: [(i, v) for i, v in enumerate(values, start=1) if math.isfinite(v)] for name, values in series.items()
    }
    points = [point for line in lines.values() for point in line]
    if not points:
        return NOTHING
    longest = max(i for i, _ in points)
    low, high = min(v for _, v in points), max(v for _, v in points)
    log_y = log_y and low > 0
    scale = Scale(decades(low, high) if log_y else nice_ticks(low, high), log=log_y)
    # Room for the larger letters that a phone gets.
    frame = Frame(left=max(64, 33 + 1.42 * LETTER * max(len(tick_text(t)) for t in scale.ticks)))
    number = {name: (colours or {}).get(name, i) for i, name in enumerate(lines)}
    kind = {name: f"series-{i % COLOURS}{' dashed' if i >= COLOURS else ''}" for name, i in number.items()}

    def x(i: float) -> float:
        return frame.x((i - 1) / max(1, longest - 1))

    drawn = frame.rows(scale)
    drawn += [
        text(x(t), frame.y(0) + 16, f"{t:g}") for t in nice_ticks(1, longest) if 1 <= t <= longest and t == int(t)
    ]
    if mark is not None and 1 <= mark[0] <= longest:
        at, left = x(mark[0]), mark[0] > longest / 2
        drawn.append(f'<line class="guide" x1="{at:.1f}" x2="{at:.1f}" y1="{frame.y(1):g}" y2="{frame.y(0):g}"/>')
        anchor = "end" if left else "start"
        drawn.append(text(at + (-5 if left else 5), frame.y(0) - 8, mark[1], anchor=anchor, kind="value"))
    for name, line in lines.items():
        path = " ".join(f"{x(i):.1f},{frame.y(scale.part(v)):.1f}" for i, v in line)
        drawn.append(f'<polyline class="{kind[name]}" points="{path}"/>')
    drawn += frame.titles(x_label, y_label)
    legend = "".join(f'<li><span class="key {kind[name]}"></span>{escape(name)}</li>' for name in lines)
    return frame.figure(drawn, f"{y_label} against {x_label}", f'<ul class="legend">{legend}</ul>', roomy=True)
