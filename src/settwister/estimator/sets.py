"""Estimators of sets, in scikit-learn's manner: a list of arrays in, a class or a number per set out."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from settwister import files
from settwister.errors import InputError
from settwister.estimator import sets_folder, settings
from settwister.estimator.folder import OURS
from settwister.estimator.inputs import LARGEST, classes, from_torch, labels, seed_of, standard
from settwister.estimator.set_inputs import occurrences, sets_of
from settwister.estimator.torch_state import usual_torch
from settwister.graphs.splits import stratified_parts
from settwister.nn import DeepSets, SetModel, SetTransformer, SetTwister
from settwister.sets import Sets
from settwister.training.fit_sets import Loss, fit_sets, outputs
from settwister.training.recipe import Recipe

LOSSES: dict[str, Loss] = {
    "absolute": lambda out, target: (out - target).abs().mean(),
    "squared": lambda out, target: (out - target).square().mean(),
}


class _SetEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What both share: settings, reading sets, standardising elements, the network and its training."""

    def __init__(
        self,
        model: str = "set_twister",
        *,
        width: int = 64,
        M: int = 2,
        k: int = 2,
        pool: str = "sum",
        dropout: float = 0.0,
        learning_rate: float = 5e-3,
        weight_decay: float = 0.0,
        max_epochs: int = 100,
        patience: int = 30,
        batch_size: int = 128,
        validation_fraction: float = 0.15,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.width = width
        self.M = M
        self.k = k
        self.pool = pool
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def _read(self, X: Any, *, reset: bool) -> Sets:
        """Sets of standardised elements; the standard is that of the sets that were fitted on."""
        found = sets_of(self, X, reset=reset)
        if reset:
            # Elements count as often as the sets hold them, so that bags are scaled as lists are.
            mean, scale = standard(found.elements.numpy(), occurrences(found).numpy())
            self.mean_, self.scale_ = torch.from_numpy(mean), torch.from_numpy(scale)
        return found.with_elements((found.elements - self.mean_) / self.scale_)

    def _fit(
        self,
        given: dict[str, Any],
        sets: Sets,
        target: Tensor,
        out_dim: int,
        loss: Loss,
        groups: NDArray[np.int64],
    ) -> SetModel:
        seed, fraction = seed_of(given["random_state"]), given["validation_fraction"]
        held = torch.from_numpy(stratified_parts(groups, (1 - fraction, fraction), seed) == 1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = _network(given, sets.dim, out_dim)
        recipe = Recipe(
            given["max_epochs"], given["learning_rate"], batch=given["batch_size"], weight_decay=given["weight_decay"]
        )
        rows, sets = torch.arange(len(sets)), sets.to(torch.float32)
        found = fit_sets(
            network, sets, target, rows[~held], rows[held], recipe, loss, given["patience"], seed, self._tell
        )
        self.curves_, self.best_epoch_, self.n_iter_ = found.curves, found.best_epoch, len(found.curves["train_loss"])
        return network

    @usual_torch()
    def _outputs(self, X: Any) -> Tensor:
        check_is_fitted(self)
        sets = self._read(X, reset=False).to(next(self.network_.parameters()).dtype)
        found = outputs(self.network_, sets)
        if not bool(found.isfinite().all()):
            odd = int((~found.isfinite().all(1)).nonzero()[0])
            raise InputError(
                f"the answer for set {odd} is not a finite number, expected elements like those of fit: some are too "
                "large, or too many"
            )
        return found

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write a new folder, wholly or not at all; no pickle.

        Args:
            force: replace a folder that exists.
        """
        check_is_fitted(self)
        with files.new_folder(files.writable(folder, ours=OURS, force=force)) as staging:
            sets_folder.write(self, staging)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def _tell(self, epoch: int, note: str) -> None:
        if self.verbose and epoch % self.verbose == 0:
            print(f"epoch {epoch}: {note}")


class SetClassifier(ClassifierMixin, _SetEstimator):  # type: ignore[misc]
    """Classify sets.

    Args:
        model: ``"set_twister"``, ``"deepsets"`` or ``"set_transformer"``.
        width: of both layers before the sum and both after it.
        M, k: Set Twister's learned sums, and how many are multiplied.
        pool: ``"sum"``, ``"mean"`` or ``"sqrt"``; dropout: after every hidden layer. A Set Transformer reads neither.
        learning_rate: the peak of a cosine with warm-up over max_epochs; weight_decay, batch_size: of Adam.
        patience: stop after so many epochs without a better loss on the sets that are held back.
        validation_fraction: of the sets, held back.
        random_state: a number for the same outcome every time.
        verbose: print a line every so many epochs; 0 for none.

    Example:
        >>> sets = [np.full((n % 4, 1), n % 3) for n in range(30)]
        >>> SetClassifier(max_epochs=2, random_state=0).fit(sets, [len(s) > 1 for s in sets]).predict(sets[:3]).shape
        (3,)
    """

    @usual_torch()
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sets.

        Args:
            X: a list of (n_i, d) arrays, which may be empty, a (B, n, d) array, a :class:`~settwister.Sets`, or a
                (B, d) array of sets with one element each.
            y: (B,) classes.
        """
        self.__dict__.pop("network_", None)  # until all is well, it is not fitted
        given = settings.of_sets(self.get_params(deep=False))
        found, known = labels(y, "class")
        if not known.all():
            raise InputError(f"y lacks {(~known).sum()} labels (None or NaN), expected one for every set")
        sets = self._read(X, reset=True)
        _same_length(sets, found)
        self.classes_, codes = classes(found)
        self.network_ = self._fit(given, sets, torch.from_numpy(codes), len(self.classes_), F.cross_entropy, codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """(B, C) probabilities in the order of ``classes_``."""
        return self._outputs(X).softmax(-1).numpy()

    def predict(self, X: Any) -> NDArray[Any]:
        """(B,) classes."""
        best = self._outputs(X).argmax(-1).numpy()
        found: NDArray[Any] = self.classes_[best]
        return found

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a folder that :meth:`save` wrote, from anybody: nothing in it is run."""
        found: Self = sets_folder.read_classifier(cls, Path(folder))
        return found


class SetRegressor(RegressorMixin, _SetEstimator):  # type: ignore[misc]
    """A number, or several, for every set. Arguments as for :class:`SetClassifier`, and the loss.

    Args:
        loss: ``"squared"`` or ``"absolute"``, of standardised targets.

    Example:
        >>> sets = [np.full((n % 4, 1), 1.0) for n in range(30)]
        >>> SetRegressor(max_epochs=2, random_state=0).fit(sets, [float(len(s)) for s in sets]).predict(sets[:3]).shape
        (3,)
    """

    def __init__(
        self,
        model: str = "set_twister",
        *,
        loss: str = "squared",
        width: int = 64,
        M: int = 2,
        k: int = 2,
        pool: str = "sum",
        dropout: float = 0.0,
        learning_rate: float = 5e-3,
        weight_decay: float = 0.0,
        max_epochs: int = 100,
        patience: int = 30,
        batch_size: int = 128,
        validation_fraction: float = 0.15,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            model,
            width=width,
            M=M,
            k=k,
            pool=pool,
            dropout=dropout,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            max_epochs=max_epochs,
            patience=patience,
            batch_size=batch_size,
            validation_fraction=validation_fraction,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss

    @usual_torch()
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sets.

        Args:
            X: as for :meth:`SetClassifier.fit`.
            y: (B,) or (B, outputs) numbers.
        """
        self.__dict__.pop("network_", None)  # until all is well, it is not fitted
        given, numbers = settings.of_sets(self.get_params(deep=False)), _numbers(y)
        sets = self._read(X, reset=True)
        _same_length(sets, numbers)
        self.target_shape_ = numbers.shape[1:]
        target = torch.from_numpy(numbers).reshape(len(numbers), -1)
        # A target that never changes has scale 0: whatever the network says, the answer is that number.
        self.target_scale_, self.target_mean_ = torch.std_mean(target, dim=0, correction=0)
        apart = target - self.target_mean_
        standardised = (apart / torch.where(self.target_scale_ > 0, self.target_scale_, 1.0)).float()
        groups = np.zeros(len(sets), dtype=np.int64)
        network = self._fit(given, sets, standardised, target.shape[1], LOSSES[given["loss"]], groups)
        self.network_ = network.double()  # scikit-learn's regressors answer in double precision
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """(B,) or (B, outputs), in the units of y."""
        found = self._outputs(X) * self.target_scale_ + self.target_mean_
        return found.reshape(len(found), *self.target_shape_).numpy()

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a folder that :meth:`save` wrote, from anybody: nothing in it is run."""
        found: Self = sets_folder.read_regressor(cls, Path(folder))
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _network(given: dict[str, Any], in_dim: int, out_dim: int) -> SetModel:
    sizes = (given["width"], given["width"])
    common: dict[str, Any] = {name: given[name] for name in ("pool", "dropout")}
    if given["model"] == "set_transformer":
        return SetTransformer(in_dim, out_dim, given["width"], settings.HEADS)
    if given["model"] == "deepsets":
        return DeepSets(in_dim, out_dim, sizes, sizes, **common)
    return SetTwister(in_dim, out_dim, sizes, sizes, given["M"], given["k"], **common)


def _same_length(sets: Sets, y: NDArray[Any]) -> None:
    if len(y) != len(sets):
        raise InputError(f"y has {len(y)} values, expected {len(sets)}, one per set")
    if len(sets) == 0:
        raise InputError("there are 0 sets, expected at least one")


def _numbers(y: Any) -> NDArray[np.float64]:
    if y is None:
        raise InputError("a regressor requires y to be passed, but the target y is None: give one number per set")
    given = from_torch(y)
    if getattr(getattr(given, "dtype", None), "kind", "") == "c":
        raise InputError("Complex data not supported: y holds complex numbers, expected real ones")
    try:
        found = np.array(given, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"y cannot be read as numbers ({error}), expected one per set, or several") from None
    if found.ndim not in (1, 2) or 0 in found.shape[1:]:
        raise InputError(f"y has shape {found.shape}, expected (sets,) or (sets, outputs)")
    if not bool((np.abs(found) < LARGEST).all()):  # NaN is not less than anything
        raise InputError("y holds NaN, infinity or a number that is too large, expected finite numbers")
    return found
