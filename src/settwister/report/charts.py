"""Charts as small SVG drawings that take their colours from the page, so that they work in light and dark."""

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 14, 44
COLOURS = 8  # classes series-0 … series-7 of the page's style sheet


def line_chart(series: Mapping[str, Sequence[float]], x_label: str, y_label: str, *, log_y: bool = False) -> str:
    """Lines over 1, 2, 3, …, one per named series, with a legend below.

    Args:
        log_y: a logarithmic vertical axis; values must be positive.
    """
    lines = {name: [v for v in values if math.isfinite(v)] for name, values in series.items()}
    values = [v for line in lines.values() for v in line]
    if not values:
        return "<p>Nothing to draw.</p>"
    longest = max(len(line) for line in lines.values())
    low, high = min(values), max(values)
    if log_y and low > 0:
        ticks = [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    else:
        log_y = False
        ticks = nice_ticks(low, high)
    bottom, top = ticks[0], ticks[-1]

    def x(i: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((i - 1) / max(1, longest - 1))

    def y(value: float) -> float:
        if log_y:
            part = (math.log10(value) - math.log10(bottom)) / max(1e-12, math.log10(top) - math.log10(bottom))
        else:
            part = (value - bottom) / max(1e-12, top - bottom)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part

    drawn = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(t):.1f}" y2="{y(t):.1f}"/>'
        f'<text class="tick" x="{LEFT - 6}" y="{y(t) + 4:.1f}" text-anchor="end">{t:g}</text>'
        for t in ticks
    ]
    drawn += [
        f'<text class="tick" x="{x(t):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{t:g}</text>'
        for t in nice_ticks(1, longest)
        if 1 <= t <= longest and t == int(t)
    ]
    for number, line in enumerate(lines.values()):
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(line, start=1))
        drawn.append(f'<polyline class="series-{number % COLOURS}" points="{points}"/>')
    across, down = (LEFT + WIDTH) / 2, HEIGHT / 2
    drawn += [
        f'<text x="{across}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(14 {down}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>',
    ]
    legend = "".join(
        f'<li><span class="key series-{number % COLOURS}"></span>{escape(name)}</li>'
        for number, name in enumerate(lines)
    )
    title = escape(f"{y_label} against {x_label}")
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">{"".join(drawn)}</svg>'
        f'<figcaption><ul class="legend">{legend}</ul></figcaption></figure>'
    )


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that span ``low`` to ``high``.

    >>> nice_ticks(0.13, 0.97)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if high <= low:
        high = low + (abs(low) or 1)
    raw = (high - low) / about
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]
