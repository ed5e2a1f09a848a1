"""What charts share: round ticks, scales, where the axes stand, and the figure around a drawing."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

LETTER = 6.6  # the width of a letter of 12 units, on average: labels are measured without a browser


@dataclass(frozen=True)
class Scale:
    """Where a value stands between the first tick and the last, as a part from 0 to 1."""

    ticks: Sequence[float]
    log: bool = False

    def part(self, value: float) -> float:
        low, high, at = (math.log10(v) if self.log else v for v in (self.ticks[0], self.ticks[-1], value))
        return (at - low) / max(1e-12, high - low)


@dataclass(frozen=True)
class Frame:
    """A drawing of some size, in units of the screen's pixels, with margins around the space between its axes."""

    width: float = 640
    height: float = 320
    left: float = 64
    right: float = 12
    top: float = 14
    bottom: float = 44

    def x(self, part: float) -> float:
        return self.left + (self.width - self.left - self.right) * part

    def y(self, part: float) -> float:
        return self.height - self.bottom - (self.height - self.top - self.bottom) * part

    def rows(self, scale: Scale, *, percent: bool = False) -> list[str]:
        """A line across for every tick of a vertical scale, and its number."""
        return [
            f'<line class="grid" x1="{self.left:g}" x2="{self.x(1):g}" y1="{y:.1f}" y2="{y:.1f}"/>'
            + text(self.left - 6, y + 4, tick_text(tick, percent=percent), anchor="end")
            for tick, y in ((tick, self.y(scale.part(tick))) for tick in scale.ticks)
        ]

    def titles(self, x_label: str, y_label: str) -> list[str]:
        across, down = (self.x(0) + self.x(1)) / 2, (self.y(0) + self.y(1)) / 2
        return [
            text(across, self.height - 8, x_label),
            f'<text transform="translate(17 {down:g}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>',
        ]

    def figure(self, drawn: Iterable[str], label: str, caption: str = "", *, roomy: bool = False) -> str:
        """The drawing as a figure that says in words what it shows; ``caption`` is HTML.

        A drawing shrinks and grows with the page as long as its words stay readable. Below that the figure scrolls,
        so that the page never does. A ``roomy`` drawing has space for larger letters; it gets them on a phone and
        shrinks further.
        """
        kind, least = (' class="roomy"', 0.5) if roomy else ("", 0.85)
        size = f"min-width:{least * self.width:.0f}px;max-width:{1.25 * self.width:.0f}px"
        below = f"<figcaption>{caption}</figcaption>" if caption else ""
        return (
            f'<figure><svg{kind} viewBox="0 0 {self.width:g} {self.height:g}" style="{size}" role="img" '
            f'aria-label="{escape(label)}">{"".join(drawn)}</svg>{below}</figure>'
        )


def text(x: float, y: float, words: str, *, anchor: str = "middle", kind: str = "", turned: int = 0) -> str:
    """Words at a place: ``kind`` is a class of the style sheet, ``turned`` degrees clockwise."""
    style = f' class="{kind}"' if kind else ""
    place = f'transform="translate({x:.1f} {y:.1f}) rotate({turned})"' if turned else f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text{style} {place} text-anchor="{anchor}">{escape(words)}</text>'


def tick_text(value: float, *, percent: bool = False) -> str:
    """A number beside an axis.

    >>> tick_text(0.25), tick_text(25000.0), tick_text(0.6, percent=True)
    ('0.25', '25,000', '60%')
    """
    if percent:
        return f"{100 * value:g}%"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def short_count(count: int) -> str:
    """A count in at most five letters.

    >>> short_count(9876), short_count(12345), short_count(2_500_000)
    ('9,876', '12k', '2.5M')
    """
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1e3:.0f}k" if count < 999_500 else f"{count / 1e6:.3g}M"


def shortened(words: str, letters: int) -> str:
    """Words that fit beside a chart.

    >>> shortened("Reinforcement learning", 12)
    'Reinforceme…'
    """
    return words if len(words) <= letters else words[: letters - 1] + "…"


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


def decades(low: float, high: float) -> list[float]:
    """Powers of ten that span two positive numbers.

    >>> decades(0.03, 2.0)
    [0.01, 0.1, 1.0, 10.0]
    """
    return [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
