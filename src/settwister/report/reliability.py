"""A reliability diagram: whether answers that are 80% sure are right 80% of the time."""

import math
from collections.abc import Sequence

from settwister.report.axes import Frame, Scale, nice_ticks, text, tick_text
from settwister.report.charts import NOTHING

LARGEST, SMALLEST = 13.0, 2.5  # radii of dots


def reliability_diagram(bins: Sequence[tuple[float, float, int]]) -> str:
    """Accuracy against confidence, a dot per bin with an area by its nodes, and the diagonal of perfect honesty.

    Args:
        bins: confidence, accuracy and nodes, as :func:`settwister.evaluation.reliability` gives them.
    """
    if not bins:
        return NOTHING
    frame = Frame(420, 400, left=60, right=20, top=18)
    scale = Scale(nice_ticks(0, 1))
    drawn = frame.rows(scale, percent=True)
    drawn += [text(frame.x(scale.part(t)), frame.y(0) + 18, tick_text(t, percent=True)) for t in scale.ticks]
    drawn.append(
        f'<line class="guide" x1="{frame.x(0):g}" y1="{frame.y(0):g}" x2="{frame.x(1):g}" y2="{frame.y(1):g}"/>'
    )
    most = max(count for _, _, count in bins)
    # The largest first, so that no dot hides behind another.
    for confidence, right, count in sorted(bins, key=lambda found: -found[2]):
        radius = max(SMALLEST, LARGEST * math.sqrt(count / most))
        said = f"{count:,} nodes: {confidence:.0%} sure, {right:.0%} right"
        drawn.append(
            f'<circle class="dot" cx="{frame.x(confidence):.1f}" cy="{frame.y(right):.1f}" r="{radius:.1f}">'
            f"<title>{said}</title></circle>"
        )
    drawn += frame.titles("confidence", "accuracy")
    words = "; ".join(f"{sure:.0%} sure, {right:.0%} right" for sure, right, _ in bins)
    return frame.figure(drawn, f"Accuracy against confidence. {words}")
