"""What there is to say of a trained node classifier, as plain data."""

from dataclasses import dataclass, field
from typing import Any

from settwister._checks import whole_number
from settwister.errors import InputError
from settwister.evaluation import Evaluation


@dataclass(frozen=True)
class DataSummary:
    """The graph that a classifier was trained on, in numbers.

    Args:
        nodes: all of them, labelled or not.
        labelled: those with a label.
        edges: pairs of nodes that are joined, each once.
        isolated: nodes without neighbours.
        columns: features in the tables, before encoding.
        features: numbers per node that the model sees, after encoding.
        classes: labelled nodes by class.
        split: nodes by what they were used for, such as training, validation and test.
        degrees: how many nodes have how many neighbours, as :func:`settwister.evaluation.degree_histogram` gives it.
        readings: what each column was read as, as :meth:`settwister.tables.TableEncoder.readings` gives it.
    """

    nodes: int
    labelled: int
    edges: int
    isolated: int
    columns: int
    features: int
    classes: dict[str, int]
    split: dict[str, int]
    degrees: list[dict[str, Any]] = field(default_factory=list)
    readings: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("labelled", "isolated"):
            whole_number(name, getattr(self, name), least=0, most=whole_number("nodes", self.nodes))
        for name in ("edges", "columns", "features"):
            whole_number(name, getattr(self, name), least=0, most=2**62)

    @property
    def unlabelled(self) -> int:
        return self.nodes - self.labelled


@dataclass(frozen=True)
class LeaderboardRow:
    """One of the models that were compared; scores, on test nodes, are shares from 0 to 1.

    ``chosen`` is the one that the page is about.
    """

    model: str
    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    seconds: float
    chosen: bool = False


@dataclass(frozen=True)
class ClassifierReport:
    """Everything that :func:`~settwister.report.classifier_page` shows of a trained node classifier.

    Args:
        title: for the top of the page.
        data: what it was trained on.
        evaluation: how good it is on test nodes.
        curves: values by epoch, by name. Curves whose names have the same last word ("training loss", "validation
            loss") share a chart.
        best_epoch: the epoch, from 1, whose model was kept.
        networks: how many answer as one; curves and epoch are then of the first.
        leaderboard: models that were compared, if any, the best on validation nodes first.
        usage: commands or Python lines to use the model with, by what they do.
        configuration: settings by name; a dictionary within is shown under its name and a dot.
        versions: of Python and of packages.
        notes: further sentences for the first section.
        balanced: whether classes were to count alike, so that balanced accuracy is the first thing to say.
    """

    title: str
    data: DataSummary
    evaluation: Evaluation
    curves: dict[str, list[float]] = field(default_factory=dict)
    best_epoch: int | None = None
    networks: int = 1
    leaderboard: list[LeaderboardRow] = field(default_factory=list)
    usage: dict[str, str] = field(default_factory=dict)
    configuration: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    balanced: bool = False

    def __post_init__(self) -> None:
        if self.best_epoch is not None:
            whole_number("best_epoch", self.best_epoch)
        whole_number("networks", self.networks)
        models = [row.model for row in self.leaderboard]
        twice = sorted({model for model in models if models.count(model) > 1})
        if twice:
            raise InputError(f"the leaderboard has {twice[0]!r} twice, expected a name of its own for each row")
