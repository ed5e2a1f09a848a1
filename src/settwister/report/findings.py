"""What an evaluation means, in sentences that do not promise more than the numbers hold."""

from settwister.evaluation import Evaluation

WIDE = 0.1  # an interval wider than this is a rough estimate
FEW = 10  # test nodes, below which a class's own numbers say little
FEW_FOR_CALIBRATION = 500
UNEVEN = 0.1  # accuracy this far above balanced accuracy: rare classes fare worse
CALIBRATED = 0.05
MOST_NAMED = 5


def headline(found: Evaluation, *, balanced: bool = False) -> str:
    """How often the model is right, and how often the commonest class would have been.

    Args:
        balanced: begin with every class counted alike, for who asked for that.
    """
    first = ""
    if balanced:
        first = (
            f"With every class counted alike, the model is right {found.balanced_accuracy:.1%} of the time; guessing "
            f"would be right {found.chance:.1%}. "
        )
    commonest = max(found.per_class, key=lambda row: int(row["support"]))["name"]
    low, high = found.interval
    return (
        f"{first}The model names the right class for {found.right:,} of {found.nodes:,} test {_nodes(found.nodes)}, "
        f"{found.accuracy:.1%} (95% interval {low:.1%} to {high:.1%}); always answering “{commonest}” would be right "
        f"for {found.majority:.1%}."
    )


def caveats(found: Evaluation, *, balanced: bool = False) -> list[str]:
    """What to keep in mind before trusting that headline; empty where there is nothing of note."""
    said = []
    low, high = found.interval
    if high - low > WIDE:
        said.append(
            f"With {found.nodes:,} test {_nodes(found.nodes)}, the accuracy is known only roughly: it may be anything "
            f"from {low:.0%} to {high:.0%}."
        )
    if balanced:  # classes that count alike cost accuracy, and nobody asked for more of it than of the commonest class
        if found.balanced_accuracy <= found.chance:
            said.append("With every class counted alike, this is no better than guessing.")
    elif found.accuracy < found.majority:
        said.append("This is worse than always answering the commonest class.")
    elif low <= found.majority:
        said.append("This is not clearly better than always answering the commonest class.")
    if found.accuracy - found.balanced_accuracy > UNEVEN:
        said.append(
            f"Rare classes fare worse than common ones: with every class counted alike, the model is right "
            f"{found.balanced_accuracy:.1%} of the time."
        )
    rare = [str(row["name"]) for row in found.per_class if 0 < row["support"] < FEW]
    if rare:
        said.append(f"With fewer than {FEW} test nodes each, what is said of these classes is rough: {_named(rare)}.")
    unseen = [str(row["name"]) for row in found.per_class if row["support"] == 0]
    if unseen:
        said.append(f"Without a test node, nothing is known of how well these classes are found: {_named(unseen)}.")
    return said


def calibration(found: Evaluation) -> str:
    """Whether the model's probabilities can be taken at their word."""
    sure = sum(confidence * count for confidence, _, count in found.reliability) / found.nodes
    start = f"Confidence and accuracy differ by {100 * found.calibration_error:.1f} points on average (ECE)"
    if found.calibration_error <= CALIBRATED:
        said = f"{start}: the probabilities can be taken at their word."
    elif abs(sure - found.accuracy) < found.calibration_error / 2:
        said = f"{start}, too high for some nodes and too low for others."
    else:
        said = f"{start}: the model is {'surer' if sure > found.accuracy else 'less sure'} than it should be."
    if found.nodes < FEW_FOR_CALIBRATION:
        said += f" With {found.nodes:,} test {_nodes(found.nodes)}, some of that is chance."
    return said


def _named(names: list[str]) -> str:
    shown = ", ".join(f"“{name}”" for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{shown} and {more:,} more {'class' if more == 1 else 'classes'}" if more > 0 else shown


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"
