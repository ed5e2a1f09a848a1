"""A table of nodes and a table of edges in, a trained, judged and saved classifier out."""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from settwister import files
from settwister._checks import whole_number
from settwister._version import __version__
from settwister.errors import InputError
from settwister.estimator import table_folder
from settwister.estimator.explanation import Explanation, explain
from settwister.estimator.folder import CLASS_TYPES, OURS
from settwister.estimator.inputs import features
from settwister.estimator.one_hop import OneHopClassifier, Tell
from settwister.estimator.tuning import fingerprint, tuned
from settwister.evaluation import Evaluation, degree_histogram, evaluate
from settwister.functional.neighbour_sum import Csr
from settwister.graphs.graph import joined_pairs, neighbour_sets
from settwister.graphs.splits import Split, stratified_parts
from settwister.report import ClassifierReport, DataSummary, classifier_page
from settwister.tables import TableEncoder, labels, read_edges, read_nodes
from settwister.tables.nodes import as_words

if TYPE_CHECKING:
    import polars

PARTS = (0.6, 0.2, 0.2)  # training, validation, test


@dataclass(frozen=True, eq=False)
class TableGraph:
    """Two tables, read: nodes by position, features encoded.

    Args:
        ids: names of the nodes.
        x: (N, d) encoded features.
        sets: every node's neighbours.
        codes: (N,) classes as numbers, -1 where unknown.
        dropped: rows of the table of edges that were left out.
    """

    ids: "polars.Series"
    x: NDArray[np.float32]
    sets: Csr
    codes: NDArray[np.int64]
    dropped: int

    @property
    def degrees(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.sets.lengths.long().numpy()
        return found


class TableClassifier:
    """Classify the nodes of a person's own tables.

    Of the nodes whose class is known, a fifth is set aside before anything else, and only used to judge the outcome;
    another fifth says when to stop. What is saved is the model that was judged.

    Args:
        id: the column that names the nodes.
        target: the column to predict, empty where it is unknown.
        features: the columns to predict from; all others where left out.
        source, end: columns of the table of edges; where left out, ``source`` and ``target``, or those of a table of
            two.
        weight: a column of it with numbers of at least 0.
        drop_unknown: leave out edges to nodes that are not in the table, rather than refuse them.
        classifier: an :class:`OneHopClassifier`; its defaults where left out. Encoded features are not scaled again.
        random_state: for the split and the classifier, where that has none.

    Attributes:
        evaluation_: on the nodes that were set aside; data_: what it learned from; classes_; classifier_; encoder_;
            columns_; readings_: what each of these was read as; seconds_.

    Needs ``pip install 'settwister[tables]'``.
    """

    def __init__(
        self,
        id: str,
        target: str,
        *,
        features: list[str] | None = None,
        source: str | None = None,
        end: str | None = None,
        weight: str | None = None,
        drop_unknown: bool = False,
        classifier: OneHopClassifier | None = None,
        random_state: int = 0,
    ) -> None:
        self.id = id
        self.target = target
        self.features = features
        self.source = source
        self.end = end
        self.weight = weight
        self.drop_unknown = drop_unknown
        self.classifier = classifier
        self.random_state = random_state

    # ---- learning ---------------------------------------------------------------------------------------------------

    def fit(self, nodes: Any, edges: Any = None, tell: Tell | None = None) -> Self:
        """Learn from tables: paths of Parquet or CSV files, or data frames.

        Args:
            tell: as for :meth:`OneHopClassifier.fit`.
        """
        graph, split = self.read(nodes, edges)
        return self.learn(graph, split, tell)

    def read(self, nodes: Any, edges: Any = None) -> tuple[TableGraph, Split]:
        """The tables as a graph, cut in three, with columns encoded by what the training nodes say."""
        if not isinstance(self.id, str) or not isinstance(self.target, str):
            raise InputError(f"id and target are {self.id!r} and {self.target!r}, expected the names of two columns")
        whole_number("random_state", self.random_state, least=0, most=2**63)
        table = read_nodes(nodes, self.id, self.target, self.features)
        assert table.target is not None
        codes, classes = labels(table.target)
        known = np.flatnonzero(codes >= 0)
        parts = stratified_parts(codes[known], PARTS, self.random_state)
        split = Split(*(torch.from_numpy(known[parts == part]) for part in range(3)))
        if len(split.test) == 0 or len(split.validation) == 0:
            raise InputError(
                f"{len(known)} nodes have a class, no class three of them, expected at least three of one: they are "
                "cut in training, validation and test nodes"
            )
        self.classes_ = classes if classes.dtype.kind in CLASS_TYPES else classes.astype(str)
        if self.id in self._answers:
            raise InputError(
                f"the id column is {self.id!r}, as a column of predictions is called, expected another name: rename it"
            )
        self.columns_ = list(table.features.columns)
        self.encoder_ = TableEncoder().fit(table.features, split.train.numpy())
        self.readings_ = self.encoder_.readings(table.features)
        return self._graph(table.ids, table.features, edges, codes), split

    def learn(self, graph: TableGraph, split: Split, tell: Tell | None = None) -> Self:
        """Train on a graph that was read, and judge the outcome by its test nodes."""
        began = time.perf_counter()
        return self.judge(self.trained(graph, split, tell), graph, split, time.perf_counter() - began)

    def tune(
        self,
        graph: TableGraph,
        split: Split,
        *,
        time_limit: float | None = None,
        trials: int | None = None,
        storage: Path | None = None,
        tell: Callable[[int, str], None] = lambda done, note: None,
    ) -> Self:
        """Look for better settings of the classifier, judged on the validation nodes of a graph that was read.

        Args as for :meth:`OneHopClassifier.tune`; ``tell`` is called after every trial with the number done and a note.
        """
        seen = torch.cat([split.train, split.validation])
        base = OneHopClassifier() if self.classifier is None else clone(self.classifier)
        found, self.trials_ = tuned(
            base.set_params(random_state=self.random_state),
            lambda copy: self.trained(graph, split, **copy.get_params() | {"members": 1}),
            time_limit=time_limit,
            trials=trials,
            path=storage,
            about=fingerprint(graph.x, graph.codes[seen], seen, graph.sets, split.validation),
            tell=tell,
            size=(graph.x.shape[1], len(seen)),
        )
        self.classifier = base.set_params(**found)
        return self

    def trained(self, graph: TableGraph, split: Split, tell: Tell | None = None, **settings: Any) -> OneHopClassifier:
        """A classifier for this graph, some settings changed; it is shown no label of the test nodes."""
        base = OneHopClassifier() if self.classifier is None else clone(self.classifier)
        base.set_params(**settings | {"scale": False, "class_weight": self.class_weight})
        if base.random_state is None:
            base.set_params(random_state=self.random_state)
        seen = np.full(len(graph.codes), -1)
        for part in (split.train, split.validation):
            seen[part] = graph.codes[part]
        return base.fit(graph.x, seen, graph.sets, validation=split.validation.numpy(), tell=tell)

    def judge(self, classifier: OneHopClassifier, graph: TableGraph, split: Split, seconds: float) -> Self:
        """Keep a classifier that was trained on this graph, and say how good it is on the test nodes."""
        self.classifier_, self.seconds_ = classifier, seconds
        self.baseline_ = graph.x[split.train].mean(0)
        probabilities = self.classifier_.predict_proba(graph.x, graph.sets)
        test = split.test.numpy()
        self.evaluation_ = evaluate(probabilities[test], graph.codes[test], self.names, graph.degrees[test])
        self.data_ = self._summary(graph, split)
        return self

    def _graph(self, ids: Any, table: Any, edges: Any, codes: NDArray[np.int64]) -> TableGraph:
        options = self.classifier or OneHopClassifier()
        pairs, weight, dropped = torch.empty(2, 0, dtype=torch.int64), None, 0
        if edges is not None:
            found = read_edges(edges, ids, self.source, self.end, self.weight, self.drop_unknown)
            pairs, weight, dropped = found.pairs, found.weight, found.dropped
        if weight is not None:  # an edge of weight 0 is none
            pairs, weight = pairs[:, weight > 0], weight[weight > 0]
        sets = neighbour_sets(pairs, len(ids), weight=weight, directed=options.directed, loops=options.loops)
        return TableGraph(ids, self.encoder_.transform(table), sets, codes, dropped)

    def _summary(self, graph: TableGraph, split: Split) -> DataSummary:
        known = graph.codes[graph.codes >= 0]
        sizes = np.bincount(known, minlength=len(self.classes_))
        return DataSummary(
            nodes=len(graph.codes),
            labelled=len(known),
            edges=joined_pairs(graph.sets),
            isolated=int((graph.degrees == 0).sum()),
            columns=len(self.columns_),
            features=graph.x.shape[1],
            classes=dict(zip(self.names, sizes.tolist(), strict=True)),
            split={"training": len(split.train), "validation": len(split.validation), "test": len(split.test)},
            degrees=degree_histogram(graph.degrees),
            readings=self.readings_,
        )

    @property
    def names(self) -> list[str]:
        """The classes as people read them."""
        return [str(name) for name in self.classes_.tolist()]

    @property
    def class_weight(self) -> Any:
        """The classifier's, by the number of a class where it is by class: networks are trained on numbers."""
        given = None if self.classifier is None else self.classifier.class_weight
        if not isinstance(given, dict):
            return given
        place = {name: code for code, name in enumerate(self.classes_.tolist())}
        if unknown := [name for name in given if name not in place]:
            raise InputError(
                f"class_weight names {unknown[0]!r}, expected classes of {self.target!r}: {', '.join(self.names)}"
            )
        return {place[name]: weight for name, weight in given.items()}

    def _check_fitted(self) -> None:
        if not hasattr(self, "classifier_"):
            raise NotFittedError("this TableClassifier was not fitted yet, expected a call of fit before: fit it first")

    # ---- answers ----------------------------------------------------------------------------------------------------

    def read_new(self, nodes: Any, edges: Any = None, *, with_target: bool = False) -> TableGraph:
        """Tables like those that were fitted on, as a graph; its ``dropped`` says how many edges were left out.

        Args:
            with_target: whether the classes are read too, which must then be there.
        """
        self._check_fitted()
        target = self.target if with_target else None
        table = read_nodes(nodes, self.id, target, self.columns_, self.encoder_.texts, trained=True)
        codes = np.full(len(table.ids), -1)
        if with_target:
            assert table.target is not None
            codes = self._coded(table.target)
        return self._graph(table.ids, table.features, edges, codes)

    def _coded(self, target: Any) -> NDArray[np.int64]:
        place = {name: code for code, name in enumerate(self.classes_.tolist())}
        if self.classes_.dtype.kind == "U":
            target = as_words(target)
        elif self.classes_.dtype.kind == "b" and target.dtype == str:  # cells of a CSV file
            target = target.str.to_lowercase().replace_strict({"true": True, "false": False}, default=None)
        values = target.to_list()
        unknown = sorted({str(value) for value in values if value is not None and value not in place})
        if unknown:
            raise InputError(
                f"the target {self.target!r} holds {', '.join(unknown[:3])}, expected classes that were trained on: "
                f"{', '.join(map(str, place))}"
            )
        return np.array([-1 if value is None else place[value] for value in values])

    def predict(self, nodes: Any, edges: Any = None) -> "polars.DataFrame":
        """The class of every node and the probability of each class, by id."""
        return self.predicted(self.read_new(nodes, edges))

    def predicted(self, graph: TableGraph) -> "polars.DataFrame":
        """:meth:`predict` of tables that :meth:`read_new` read."""
        import polars as pl

        found = self.classifier_.predict_proba(graph.x, graph.sets)
        columns = [self.classes_[found.argmax(1)], *found.T]
        return pl.DataFrame({self.id: graph.ids} | dict(zip(self._answers, columns, strict=True)))

    @property
    def _answers(self) -> list[str]:
        """What the columns of predictions are called."""
        return ["prediction", *(f"probability_{name}" for name in self.classes_.tolist())]

    def evaluate(self, nodes: Any, edges: Any = None) -> Evaluation:
        """How good the predictions are for nodes whose class the table gives."""
        return self.evaluated(self.read_new(nodes, edges, with_target=True))

    def evaluated(self, graph: TableGraph) -> Evaluation:
        """:meth:`evaluate` of tables that :meth:`read_new` read with their classes."""
        known = np.flatnonzero(graph.codes >= 0)
        found = self.classifier_.predict_proba(graph.x, graph.sets)[known]
        return evaluate(found, graph.codes[known], self.names, graph.degrees[known])

    def explain(self, node: Any, nodes: Any, edges: Any = None) -> Explanation:
        """Which neighbours and which columns moved the prediction of a node, each by leaving it out."""
        return self.explained(node, self.read_new(nodes, edges))

    def explained(self, node: Any, graph: TableGraph) -> Explanation:
        """:meth:`explain` in tables that :meth:`read_new` read."""
        names = graph.ids.to_list()
        matches = [place for place, name in enumerate(names) if str(name) == str(node)]
        if not matches:
            raise InputError(f"there is no node {node!r} in the column {self.id!r}, expected one of its ids")
        groups: dict[str, list[int]] = {}
        for place, column in enumerate(self.encoder_.origin):
            groups.setdefault(column, []).append(place)
        return explain(
            self.classifier_, features(graph.x), graph.sets, matches[0], self.baseline_, groups, names, self.classes_
        )

    # ---- files ------------------------------------------------------------------------------------------------------

    def report(self, **more: Any) -> ClassifierReport:
        """All that the page shows; further fields of :class:`~settwister.report.ClassifierReport` may be given."""
        fitted, curves = self.classifier_, self.classifier_.curves_
        names = {
            "train_loss": "training loss",
            "validation_loss": "validation loss",
            "validation_score": "validation accuracy",
        }
        given: dict[str, Any] = dict(
            title=f"Predicting {self.target}",
            data=self.data_,
            evaluation=self.evaluation_,
            curves={names[name]: values for name, values in curves.items() if values},
            best_epoch=fitted.best_epoch_,
            balanced=fitted.class_weight is not None,
            networks=fitted.network_.config.get("members", 1),
            configuration={"classifier": fitted.get_params(), "seconds": round(self.seconds_, 1)},
            versions={"settwister": __version__, "torch": torch.__version__, "python": platform.python_version()},
        )
        return ClassifierReport(**given | more)

    def save(self, folder: str | Path, *, force: bool = False, report: ClassifierReport | None = None) -> None:
        """Write a new folder, wholly or not at all: the classifier, the encoder, and a page about them."""
        self._check_fitted()
        with files.new_folder(files.writable(folder, ours=OURS, force=force)) as staging:
            table_folder.write(self, staging, classifier_page(report or self.report()))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a folder that :meth:`save` wrote, from anybody: nothing in it is run."""
        found: Self = table_folder.read(cls, Path(folder))
        return found
