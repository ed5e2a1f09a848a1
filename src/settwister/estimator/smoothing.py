"""Correct and smooth around any classifier of nodes, for graphs whose neighbours tend to share labels."""

from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from settwister import files
from settwister._checks import probability
from settwister.errors import InputError
from settwister.estimator import smoothing_folder
from settwister.estimator.edges import neighbourhoods
from settwister.estimator.folder import OURS
from settwister.estimator.inputs import classes, held_back, ids_of, labels, order_of, same_order, seed_of, share_met
from settwister.estimator.one_hop import OneHopClassifier
from settwister.estimator.settings import plain
from settwister.estimator.torch_state import usual_torch
from settwister.functional.neighbour_sum import Csr
from settwister.training.correct_and_smooth import Steps, choose_correct_and_smooth
from settwister.training.node_trainer import Labelled, score


class CorrectAndSmooth(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier whose probabilities are corrected by its errors on known labels and smoothed along edges.

    The known labels are part of the prediction, so it is for the graph that it was fitted on: ``predict`` takes the
    same nodes, with features and edges as they are then; in any order where a data frame's index names them, else in
    that of ``fit``. Which steps to take, and how far, is chosen on nodes that are held back; where nothing helps there,
    nothing is done. Both steps go along edges in both directions, by their weights.

    To keep one, :meth:`save` it: around a :class:`OneHopClassifier` it has a folder, which holds the row numbers of the
    nodes whose labels it spreads, and these labels. So whoever is given the folder is given the labels, and predicts
    for the same nodes in the same order; nodes with other names, or in another order, are refused. To predict for other
    nodes, keep the classifier inside: ``estimator_.save``.

    Args:
        estimator: a :class:`OneHopClassifier`, or one with its ``fit``; None for the default.
        validation_fraction: of the labelled nodes, held back for both.
        random_state: a number for the same outcome every time; for the estimator too, if that has none.

    Attributes:
        estimator_: fitted; steps_: what is done; validation_score_: with it.
        classes_, n_features_in_, feature_names_in_: as in scikit-learn.
    """

    def __init__(self, estimator: Any = None, *, validation_fraction: float = 0.2, random_state: Any = None) -> None:
        self.estimator = estimator
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @usual_torch()
    def fit(self, X: Any, y: Any, edges: Any = None, validation: Any = None) -> Self:
        """As :meth:`OneHopClassifier.fit`."""
        self.__dict__.pop("steps_", None)  # one that cannot be fitted now is not fitted
        fraction = probability("validation_fraction", plain(self.validation_fraction))
        found, known = labels(y)
        self.classes_, codes = classes(found, " (-1 is not a class but an unknown label)")
        seed = seed_of(self.random_state)
        held = held_back(validation, known, codes, fraction, seed)
        if not held.any():
            raise InputError("no labelled node could be held back, expected two or more of some class")
        base = OneHopClassifier() if self.estimator is None else clone(self.estimator)
        if not {"edges", "validation"} <= signature(base.fit).parameters.keys():
            raise InputError(
                f"estimator is a {type(base).__name__}, expected a OneHopClassifier, or one whose fit takes edges and "
                "validation as that of a OneHopClassifier does"
            )
        if base.get_params().get("random_state", seed) is None:
            base.set_params(random_state=seed)
        rows = known.nonzero()[0]
        self.estimator_ = base.fit(X, y, edges, validation=rows[held])
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        self.num_nodes_ = len(known)
        self._names: Sequence[Any] | None = ids_of(X) or range(self.num_nodes_)
        known_part, held_part = (
            Labelled(torch.from_numpy(rows[part]), torch.from_numpy(codes[part])) for part in (~held, held)
        )
        self.known_, sets = known_part, self._sets(X, edges)
        shares = torch.from_numpy(self.estimator_.predict_proba(X, edges))
        balanced = getattr(base, "class_weight", None) == "balanced"
        if len(sets.index) == 0:  # nothing to go along
            self.steps_ = Steps(None, None)
            self.validation_score_ = score(shares[held_part.nodes].argmax(1), held_part.labels, balanced=balanced)
            return self
        chosen = choose_correct_and_smooth(shares, sets, known_part, held_part, balanced=balanced)
        self.steps_, self.validation_score_ = chosen.steps, chosen.validation
        return self

    def _sets(self, X: Any, edges: Any) -> Csr:
        """Both ways, whatever the classifier inside does: the steps are defined for symmetric adjacencies."""
        return neighbourhoods(edges, self.num_nodes_, ids_of(X))

    @usual_torch()
    def predict_proba(self, X: Any, edges: Any = None) -> NDArray[np.float32]:
        """(N, C) shares that add up to 1, in the order of ``classes_``."""
        check_is_fitted(self)
        shape = getattr(X, "shape", None)
        if shape is not None and len(shape) == 2 and shape[0] != self.num_nodes_:  # before edges fail to fit it
            raise self._other_nodes(shape[0])
        base = torch.from_numpy(self.estimator_.predict_proba(X, edges))
        if len(base) != self.num_nodes_:
            raise self._other_nodes(len(base))
        if self.steps_.correct is None and self.steps_.smooth is None:
            return base.numpy()
        known = Labelled(self._places(ids_of(X))[self.known_.nodes], self.known_.labels)
        with torch.no_grad():
            found = self.steps_(base, known, self._sets(X, edges)).clamp(min=0)
        total = found.sum(1, keepdim=True)
        return torch.where(total > 0, found / total.clamp(min=1e-12), base).numpy()

    def _places(self, names: Any) -> Tensor:
        """Where the nodes of fit are among those of X, by their names; without names the order is the same."""
        if names is None:
            return torch.arange(self.num_nodes_)
        if self._names is None:  # it comes from a folder, which has a checksum of them or, an old one, nothing
            if self._order not in (None, order_of(names)):
                raise InputError(
                    "X names other nodes than those of fit, or in another order, expected the same index: a folder "
                    "knows no names, so bring the rows into the order of fit"
                )
            return torch.arange(self.num_nodes_)
        place = {name: number for number, name in enumerate(names)}
        if len(place) < len(names) or place.keys() != set(self._names):
            raise InputError(
                "X names other nodes than those of fit, expected the same ones in any order: their labels are part of "
                "the prediction; the classifier inside, estimator_, takes any graph"
            )
        return torch.tensor([place[name] for name in self._names])

    def _other_nodes(self, count: int) -> InputError:
        return InputError(
            f"X has {count} rows, expected the {self.num_nodes_} nodes it was fitted on: their labels are part of the "
            "prediction; the classifier inside, estimator_, takes any graph"
        )

    def predict(self, X: Any, edges: Any = None) -> NDArray[Any]:
        """(N,) classes."""
        best = self.predict_proba(X, edges).argmax(1)
        found: NDArray[Any] = self.classes_[best]
        return found

    def score(self, X: Any, y: Any, edges: Any = None, sample_weight: Any = None) -> float:
        """The share of known labels that were met."""
        check_is_fitted(self)
        same_order(ids_of(X), y)
        return share_met(self.predict(X, edges), y, self.classes_, sample_weight)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write a new folder, wholly or not at all; no pickle. It holds the labels that are spread.

        Args:
            force: replace a folder that exists.
        """
        check_is_fitted(self)
        smoothing_folder.check(self)
        with files.new_folder(files.writable(folder, ours=OURS, force=force)) as staging:
            smoothing_folder.write(self, staging)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a folder that :meth:`save` wrote, from anybody: nothing in it is run."""
        found: Self = smoothing_folder.read(cls, Path(folder))
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "steps_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
