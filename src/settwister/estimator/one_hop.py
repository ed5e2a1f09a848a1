"""A classifier of nodes from their features and their neighbours', in scikit-learn's manner."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from settwister import files
from settwister.errors import DivergedError, InputError
from settwister.estimator import one_hop_folder, settings
from settwister.estimator.edges import neighbourhoods
from settwister.estimator.folder import OURS
from settwister.estimator.inputs import classes, held_back, ids_of, labels, rows, same_order, seed_of, share_met
from settwister.estimator.scaling import learned
from settwister.estimator.torch_state import usual_torch
from settwister.estimator.tuning import fingerprint, tuned
from settwister.evaluation import expected_calibration_error, temperature
from settwister.functional.neighbour_sum import Csr
from settwister.nn import nodes
from settwister.training.node_recipe import AVERAGE, NodeRecipe
from settwister.training.node_trainer import (
    Labelled,
    NodeTrained,
    member_seed,
    node_logits,
    recipe_score,
    train_nodes,
)

WITHOUT_VALIDATION = 200  # epochs, where there are too few labels to choose by
SPREAD = 1.0  # of the logarithm of temperatures, see evaluation.temperature
NOT_FINITE = "training ended in NaN, expected finite numbers: lower learning_rate, or scale X"

Tell = Callable[[int, int, str], None]


class OneHopClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Classify nodes by their own features and the set of their neighbours'.

    A fifth of the labelled nodes, of every class alike, is held back: it says when to stop, and by it probabilities
    are calibrated. What was learned carries over to other graphs with the same features: ``predict`` takes any.

    scikit-learn's own searches and cross-validation cut X into parts, and cannot cut edges with it: use :meth:`tune`,
    or mark the nodes to be judged by as unknown in y.

    Args:
        model: ``"set_twister"``, ``"deepsets"``, or ``"mlp"``, which does not look at neighbours.
        width, layers: of the network before the sum over neighbours; ``"auto"`` is 256 wide for many features, such as
            bags of words, and 64 for fewer than 256.
        head_layers: hidden layers of the network behind the sum, 0 for a linear one; ``"auto"`` is 0 where there are no
            two known labels for every feature, else as many as ``layers``.
        M, k: Set Twister's learned sums, and how many are multiplied.
        pool: ``"mean"``, ``"sum"`` or ``"sqrt"`` over neighbours.
        dropout: between layers; ``"auto"`` is 0.5 for many features, 0.3 for few.
        input_dropout: of the features; ``"auto"`` is 0.5 where they are many and there are no two known labels for
            every one, else 0.2.
        members: networks from as many initialisations, whose probabilities are averaged, for as many times the cost;
            ``"auto"`` is 3 where there are two known labels for every feature, and no more than 50,000, else 1.
        layer_norm, residual: normalise what the second network reads; add a linear function of it.
        learning_rate, weight_decay, max_epochs, patience: Adam, stopped after so many epochs without a better score.
        batch_size: nodes per step; None takes all in one.
        validation_fraction: of the labelled nodes.
        class_weight: None, ``"balanced"`` (classes count alike, however large), or a weight for each class.
        scale: ``True`` standardises columns; ``"binned"`` turns each into yes-or-no columns, as in
            :func:`~settwister.graphs.binned`; ``False`` does neither. ``"auto"`` standardises, unless features are
            mostly zeros: then those that are not just 0 and 1 are binned if there are two known labels for every
            feature, and all left as they are if not.
        directed: only sources of edges are neighbours; loops: a node may be its own.
        calibrate: divide the logits by a temperature fitted to the held-back nodes.
        random_state: a number for the same outcome every time.
        verbose: print a line every so many epochs; 0 for none.

    Attributes:
        classes_, n_features_in_, feature_names_in_: as in scikit-learn.
        network_: the trained :class:`~settwister.nn.nodes.NodeModel`, an average of several where there are members.
        temperature_: by which logits are divided.
        validation_score_: accuracy on the held-back nodes, balanced or weighted as ``class_weight`` says.
        calibration_error_: expected calibration error on them, {"before": …, "after": …}.
        curves_: training loss, validation loss and score of every epoch; n_iter_: how many there were; best_epoch_; all
            three of the first member.

    Example:
        >>> X = np.array([[0.0], [0.0], [-1.0], [1.0]] * 10)
        >>> y = np.array([0, 1, -1, -1] * 10)  # a node's class is in its neighbour's feature; -1 is unknown
        >>> edges = [(i, i + 2) for i in range(40) if i % 4 < 2]
        >>> model = OneHopClassifier(random_state=0).fit(X, y, edges)
        >>> model.predict(X, edges)[:2]
        array([0, 1])
    """

    def __init__(
        self,
        model: str = "set_twister",
        *,
        width: Any = "auto",
        layers: int = 1,
        head_layers: Any = "auto",
        members: Any = "auto",
        M: int = 2,
        k: int = 2,
        pool: str = "mean",
        dropout: Any = "auto",
        input_dropout: Any = "auto",
        layer_norm: bool = False,
        residual: bool = False,
        learning_rate: float = 1e-2,
        weight_decay: float = 5e-4,
        max_epochs: int = 1000,
        patience: int = 100,
        batch_size: int | None = None,
        validation_fraction: float = 0.2,
        class_weight: Any = None,
        scale: Any = "auto",
        directed: bool = False,
        loops: bool = False,
        calibrate: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.width = width
        self.layers = layers
        self.head_layers = head_layers
        self.members = members
        self.M = M
        self.k = k
        self.pool = pool
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.layer_norm = layer_norm
        self.residual = residual
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.scale = scale
        self.directed = directed
        self.loops = loops
        self.calibrate = calibrate
        self.random_state = random_state
        self.verbose = verbose

    # ---- learning ---------------------------------------------------------------------------------------------------

    @usual_torch()
    def fit(self, X: Any, y: Any, edges: Any = None, validation: Any = None, tell: Tell | None = None) -> Self:
        """Learn from the nodes whose label is known; the others are neighbours.

        Args:
            X: (N, d) features: an array, a tensor, a scipy sparse matrix, or a data frame of numbers, whose index names
                the nodes.
            y: (N,) labels; -1, None or NaN where unknown. Where there is nothing but -1 and 1, these are two classes.
            edges: in any form of :func:`~settwister.estimator.edges.neighbourhoods`; None for no edges.
            validation: row numbers to hold back, or a boolean per row, instead of a random share.
            tell: called after every epoch with the number done, the most there can be, and a note for people; where
                several networks are trained, their epochs count together.
        """
        self.__dict__.pop("network_", None)  # until all is well, it is not fitted
        names, array = ids_of(X), rows(self, X, reset=True)
        same_order(names, y)
        found, known = labels(y)
        given = settings.of_nodes(self.get_params(deep=False), array.shape[1], int(known.sum()))
        if len(known) != array.shape[0]:
            raise InputError(f"y has {len(known)} labels, expected {array.shape[0]}, one per row of X")
        self.classes_, codes = classes(found, " (-1 is not a class but an unknown label)")
        seed = seed_of(given["random_state"])
        held = torch.from_numpy(held_back(validation, known, codes, given["validation_fraction"], seed))
        labelled, numbers = torch.from_numpy(known.nonzero()[0]), torch.from_numpy(codes)
        train = Labelled(labelled[~held], numbers[~held])
        validating = Labelled(labelled[held], numbers[held]) if bool(held.any()) else None
        self.scaling_ = learned(array, train.nodes.numpy(), given["scale"], len(labelled))
        x = self.scaling_(array)
        sets = neighbourhoods(edges, array.shape[0], names, directed=given["directed"], loops=given["loops"])
        self.saw_edges_ = len(sets.index) > 0
        recipe = _recipe(given, self.classes_, selecting=validating is not None)
        members: list[NodeTrained] = []
        for number in range(given["members"]):
            one = member_seed(seed, number)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(one)
                network = _network(given, self.scaling_.width(array.shape[1]), len(self.classes_))
            before = sum(len(earlier.curves["train_loss"]) for earlier in members)
            told = partial(_tell_member, tell or self._tell, number, given["members"], before, recipe.epochs)
            try:
                members.append(train_nodes(network, x, sets, train, validating, recipe, one, told))
            except DivergedError as error:
                raise InputError(NOT_FINITE) from error
            if not bool(members[-1].probabilities.isfinite().all()):
                raise InputError(NOT_FINITE)
        first = members[0]
        self.curves_, self.best_epoch_, self.n_iter_ = first.curves, first.best_epoch, len(first.curves["train_loss"])
        self.validation_score_ = _reached(members, validating, recipe)
        self.network_ = first.model if len(members) == 1 else nodes.Averaged.over([one.model for one in members])
        self._calibrate(x, sets, validating, given["calibrate"])
        return self

    def tune(
        self,
        X: Any,
        y: Any,
        edges: Any = None,
        *,
        time_limit: float | None = None,
        trials: int | None = None,
        storage: str | Path | None = None,
        validation: Any = None,
    ) -> Self:
        """Look for better settings with Optuna, judged on held-back nodes, then set them and fit.

        Args:
            time_limit: seconds; trials: how many. One of them has to be given.
            storage: a file that finished trials are kept in; the same call goes on where a stopped one was.

        Needs ``pip install 'settwister[tune]'``.
        """
        if storage is not None:
            files.check_file(Path(storage))
        array, (found, known) = rows(self, X, reset=True), labels(y)
        labelled = int(known.sum())
        given = settings.of_nodes(self.get_params(deep=False), array.shape[1], labelled)
        # Read once for all trials; what they are trials of is written into the file.
        sets = neighbourhoods(edges, array.shape[0], ids_of(X), directed=given["directed"], loops=given["loops"])
        about = fingerprint(array, found, known, sets, validation)
        best, self.trials_ = tuned(
            self,
            lambda copy: copy.set_params(members=1).fit(X, y, sets, validation),
            time_limit=time_limit,
            trials=trials,
            path=None if storage is None else Path(storage),
            tell=lambda done, note: print(f"trial {done}: {note}") if given["verbose"] else None,
            about=about,
            size=(array.shape[1], labelled),
        )
        return self.set_params(**best).fit(X, y, sets, validation)  # type: ignore[no-any-return]

    def _tell(self, done: int, total: int, note: str) -> None:
        if self.verbose and done % self.verbose == 0:
            print(f"epoch {done}: {note}")

    # ---- probabilities ----------------------------------------------------------------------------------------------

    def _calibrate(self, x: Tensor | Csr, sets: Csr, validation: Labelled | None, wanted: bool) -> None:
        self.temperature_: float = 1.0
        self.calibration_error_: dict[str, float] = {}
        if validation is None:
            return
        logits = node_logits(self.network_, x, sets, validation.nodes).double()
        known = validation.labels.numpy()
        if wanted:
            self.temperature_ = temperature(logits.numpy(), known, SPREAD)
        self.calibration_error_ = {
            name: expected_calibration_error((logits / divisor).softmax(-1).numpy(), known)
            for name, divisor in (("before", 1.0), ("after", self.temperature_))
        }

    @usual_torch()
    def _logits(self, X: Any, edges: Any) -> Tensor:
        check_is_fitted(self)
        names, array = ids_of(X), rows(self, X, reset=False)
        if edges is None and self.saw_edges_:
            warnings.warn(
                "no edges were given to a classifier that was fitted with some: every node is taken as isolated; pass "
                "edges, or an empty list of them to say so",
                stacklevel=4,
            )
        sets = neighbourhoods(edges, array.shape[0], names, directed=self.directed, loops=self.loops)
        found = node_logits(self.network_, self.scaling_(array), sets) / self.temperature_
        if not bool(found.isfinite().all()):
            odd = int((~found.isfinite().all(1)).nonzero()[0])
            raise InputError(
                f"the answer for row {odd} is not a finite number, expected features like those of fit: some are too "
                "large, there or at its neighbours"
            )
        return found

    def decision_function(self, X: Any, edges: Any = None) -> NDArray[np.float32]:
        """(N, C) logits, or (N,) of the second class where there are two."""
        found = self._logits(X, edges)
        found = found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found
        return found.numpy()

    def predict_proba(self, X: Any, edges: Any = None) -> NDArray[np.float32]:
        """(N, C) probabilities in the order of ``classes_``."""
        return self._logits(X, edges).softmax(-1).numpy()

    def predict(self, X: Any, edges: Any = None) -> NDArray[Any]:
        """(N,) classes."""
        best = self._logits(X, edges).argmax(-1).numpy()
        found: NDArray[Any] = self.classes_[best]
        return found

    def score(self, X: Any, y: Any, edges: Any = None, sample_weight: Any = None) -> float:
        """The share of known labels that were met."""
        check_is_fitted(self)
        same_order(ids_of(X), y)
        return share_met(self.predict(X, edges), y, self.classes_, sample_weight)

    # ---- files ------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write a new folder, wholly or not at all; no pickle.

        Args:
            force: replace a folder that exists.
        """
        check_is_fitted(self)
        with files.new_folder(files.writable(folder, ours=OURS, force=force)) as staging:
            one_hop_folder.write(self, staging)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a folder that :meth:`save` wrote, from anybody: nothing in it is run."""
        found: Self = one_hop_folder.read(cls, Path(folder))[0]
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _tell_member(tell: Tell, number: int, members: int, before: int, most: int, epoch: int, note: str) -> None:
    """One network's progress as that of all: so many epochs went before, it and those after it have ``most`` each."""
    total = before + (members - number) * most
    tell(before + epoch, total, note if members == 1 else f"network {number + 1} of {members}, {note}")


def _reached(members: list[NodeTrained], validation: Labelled | None, recipe: NodeRecipe) -> float:
    """The validation score of all members together."""
    if len(members) == 1 or validation is None:
        return members[0].validation
    together = torch.stack([one.probabilities[validation.nodes] for one in members]).mean(0)
    return recipe_score(together.argmax(-1), validation.labels, recipe)


def _network(given: dict[str, Any], in_dim: int, out_dim: int) -> nodes.NodeModel:
    sizes, head = (given["width"],) * given["layers"], (given["width"],) * given["head_layers"]
    common = {name: given[name] for name in ("dropout", "input_dropout")}
    if given["model"] == "mlp":
        return nodes.NodeMLP(in_dim, out_dim, sizes * 2, **common)
    common |= {name: given[name] for name in ("pool", "layer_norm", "residual")}
    if given["model"] == "deepsets":
        return nodes.OneHopDeepSets(in_dim, out_dim, sizes, head, **common)
    return nodes.OneHopSetTwister(in_dim, out_dim, sizes, head, given["M"], given["k"], **common)


def _recipe(given: dict[str, Any], classes: NDArray[Any], *, selecting: bool) -> NodeRecipe:
    weight = given["class_weight"]
    if isinstance(weight, dict):
        names = classes.tolist()
        if unknown := [name for name in weight if name not in names]:
            raise InputError(f"class_weight names {unknown[0]!r}, expected classes: {', '.join(map(repr, names))}")
    return NodeRecipe(
        rate=given["learning_rate"],
        weight_decay=given["weight_decay"],
        epochs=given["max_epochs"] if selecting else min(given["max_epochs"], WITHOUT_VALIDATION),
        patience=given["patience"],
        balanced=weight == "balanced",
        batch=given["batch_size"],
        class_weight=tuple(float(weight.get(name, 1.0)) for name in names) if isinstance(weight, dict) else None,
        average=AVERAGE,
    )
