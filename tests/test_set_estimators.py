"""Estimators of sets in scikit-learn's manner, the loop that trains them, and taking some sets of many."""

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import Tensor

from example_graph import refusal
from settwister import DeepSets, Sets, SetTwister
from settwister.estimator import SetClassifier, SetRegressor
from settwister.training.fit_sets import fit_sets, outputs
from settwister.training.recipe import Recipe

ListOfSets = list[NDArray[np.float64]]


def regressor(**settings: Any) -> SetRegressor:
    return SetRegressor(**dict(width=8, max_epochs=5, random_state=0) | settings)


def classifier(**settings: Any) -> SetClassifier:
    return SetClassifier(**dict(width=8, max_epochs=5, random_state=0) | settings)


def some_sets(count: int = 60, length: int | None = None, seed: int = 0) -> ListOfSets:
    """Sets of two features, of 0 to 5 elements each or all as long, every element one of seven."""
    made = np.random.default_rng(seed)
    vocabulary = made.normal(loc=3.0, scale=2.0, size=(7, 2))
    return [vocabulary[made.integers(7, size=made.integers(6) if length is None else length)] for _ in range(count)]


def sizes(sets: ListOfSets) -> NDArray[np.float64]:
    return np.array([float(len(one)) for one in sets])


# ---- scikit-learn's own checks --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@parametrize_with_checks([SetClassifier(), SetRegressor()])
def test_sets_of_one_element_pass_scikit_learns_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# ---- forms of sets --------------------------------------------------------------------------------------------------


def bags(sets: ListOfSets) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct elements, and how often each set holds each; an element that no set holds comes last."""
    distinct = np.unique(np.concatenate(sets), axis=0)
    counts = np.array([[(one == element).all(1).sum() for element in distinct] for one in sets], dtype=float)
    return np.concatenate([distinct, [[1e6, -1e6]]]), np.pad(counts, ((0, 0), (0, 1)))


def padded(sets: ListOfSets) -> Sets:
    """To one length, with numbers that nobody is to read."""
    longest = max(len(one) for one in sets)
    x = np.full((len(sets), longest, 2), 1e6)
    for row, one in zip(x, sets, strict=True):
        row[: len(one)] = one
    return Sets.dense(x, np.arange(longest) < sizes(sets)[:, None])


def ragged(sets: ListOfSets, dtype: torch.dtype = torch.float64) -> Sets:
    ends = np.cumsum([0, *map(len, sets)])
    return Sets.ragged(torch.from_numpy(np.concatenate(sets)).to(dtype), ends)


def objects(sets: ListOfSets) -> NDArray[Any]:
    found = np.empty(len(sets), dtype=object)
    found[:] = sets
    return found


FORMS: dict[str, Callable[[ListOfSets], Any]] = {
    "tuple": tuple,
    "lists of lists": lambda sets: [one.tolist() for one in sets],
    "empty sets without a width": lambda sets: [one if len(one) else np.array([]) for one in sets],
    "tensors": lambda sets: [torch.from_numpy(one).requires_grad_() for one in sets],
    "array of arrays": objects,
    "in another order": lambda sets: [one[::-1] for one in sets],
    "Sets.ragged": ragged,
    "Sets.ragged, single precision": lambda sets: ragged(sets, torch.float32),
    "Sets.dense, padded": padded,
    "Sets.bags": lambda sets: Sets.bags(*bags(sets)),
    "Sets.bags, sparse": lambda sets: Sets.bags(bags(sets)[0], scipy.sparse.csr_array(bags(sets)[1])),
}
SAME_LENGTH: dict[str, Callable[[ListOfSets], Any]] = {
    "(B, n, d)": np.stack,
    "(B, n, d) tensor": lambda sets: torch.from_numpy(np.stack(sets)),
    "Sets.dense": lambda sets: Sets.dense(np.stack(sets)),
}


@pytest.mark.parametrize("model", ["set_twister", "deepsets", "set_transformer"])
@pytest.mark.parametrize("form", [*FORMS, *SAME_LENGTH])
def test_the_same_sets_give_the_same_predictions_in_any_form(form: str, model: str) -> None:
    """Fitted or predicted in; also bags, whose elements count as often as they occur, and padding, which never does."""
    sets = some_sets(length=3 if form in SAME_LENGTH else None)
    y, given = np.array([one.sum() for one in sets]), (FORMS | SAME_LENGTH)[form](sets)
    expected = regressor(model=model, max_epochs=2).fit(sets, y)
    np.testing.assert_allclose(expected.predict(given), expected.predict(sets), rtol=1e-4, atol=1e-4)
    found = regressor(model=model, max_epochs=2).fit(given, y)
    np.testing.assert_allclose(found.mean_, expected.mean_, rtol=1e-5)
    np.testing.assert_allclose(found.scale_, expected.scale_, rtol=1e-5)
    np.testing.assert_allclose(found.predict(given), expected.predict(sets), rtol=1e-2, atol=1e-2)


def test_rows_of_a_matrix_are_sets_of_one_element() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = regressor().fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict([row[None] for row in X]), model.predict(X))
    assert model.predict(np.tile(X[:, None], (1, 4, 1))).shape == (40,)


def test_elements_are_scaled_as_they_occur() -> None:
    sets = [np.array([[1.0, 5.0]] * 3), np.array([[5.0, 5.0]]), np.empty((0, 2))]
    for given in (sets, Sets.bags(*bags(sets)), padded(sets)):
        model = regressor(validation_fraction=0).fit(given, [1.0, 2.0, 3.0])
        np.testing.assert_allclose(model.mean_, [2.0, 5.0])
        np.testing.assert_allclose(model.scale_, [math.sqrt(3), 1.0])  # a column that never changes is left alone


def test_empty_sets_are_sets() -> None:
    sets = some_sets()
    assert any(len(one) == 0 for one in sets)
    model = regressor(max_epochs=30).fit(sets, sizes(sets))
    answers = model.predict([np.empty((0, 2)), sets[0], []])
    assert np.isfinite(answers).all()
    assert answers[0] == answers[2]
    nothing = regressor().fit([np.empty((0, 2))] * 9, np.arange(9.0))
    assert np.isfinite(nothing.predict(sets)).all()
    assert model.predict(Sets.ragged(torch.empty(0, 2), torch.zeros(1, dtype=torch.long))).shape == (0,)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            [np.zeros((2, 2)), np.zeros((2, 3))],
            "sets have elements of [2, 3] features, expected as many in all of them",
        ),
        ([np.zeros((2, 2)), np.zeros(2)], "set 1 has shape (2,), expected (elements, features)"),
        ([np.zeros((2, 2)), np.zeros((1, 2, 2))], "set 1 has shape (1, 2, 2)"),
        ([np.zeros((2, 2)), "word"], "set 1 cannot be read as numbers"),
        ([np.zeros((2, 2)), [[1.0], [2.0, 3.0]]], "set 1 cannot be read as numbers"),
        ([np.full((2, 2), np.nan), np.zeros((1, 2))], "the sets hold 4 values that are NaN, infinite or above 3.4e+38"),
        ([np.full((2, 2), 1e300), np.zeros((1, 2))], "the sets hold 4 values that are NaN, infinite or above"),
        (np.full((2, 3, 1), np.inf), "the sets hold 6 values that are NaN"),
        (Sets.dense(torch.full((2, 1, 2), math.nan), check=False), "the sets hold 4 values that are NaN"),
        ([np.zeros((2, 0))] * 2, "elements have 0 features, expected at least 1"),
        ([np.zeros(3), np.zeros(2)], "setting an array element with a sequence"),
        ([], "Expected 2D array, got 1D array instead"),
        ({"a": 1}, "X is a dict, expected sets: a list of (n, d) arrays, an array or Sets"),
        ((one for one in [1]), "X is a generator, expected sets"),
        (scipy.sparse.eye_array(2), "X is sparse, expected dense elements"),
        ([np.zeros((1, 2))] * 3, "y has 2 values, expected 3, one per set"),
    ],
)
def test_sets_that_are_none_are_refused(X: Any, message: str) -> None:
    assert message in refusal(lambda: regressor().fit(X, [0.0, 1.0]))
    assert message in refusal(lambda: classifier().fit(X, [0, 1]))


def test_no_sets_at_all_are_refused() -> None:
    nothing = Sets.ragged(torch.empty(0, 2), torch.zeros(1, dtype=torch.long))
    assert "there are 0 sets, expected at least one" in refusal(lambda: regressor().fit(nothing, []))
    assert refusal(lambda: classifier().fit(nothing, []))


def test_other_widths_and_numbers_far_too_large_are_refused_in_prediction() -> None:
    sets = [1e-6 * one for one in some_sets()]
    model = regressor(model="deepsets").fit(sets, sizes(sets))
    assert "elements have 3 features, expected 2, as in fit" in refusal(lambda: model.predict([np.zeros((2, 3))]))
    assert "X has 3 features, but SetRegressor is expecting 2" in refusal(lambda: model.predict(np.zeros((2, 3))))
    names = classifier(model="deepsets").fit(sets, sizes(sets) > 2)
    large = np.array([[1e38, 1e38], [1e38, -1e38]])
    assert "the answer for set 1 is not a finite number" in refusal(lambda: names.predict([sets[0], large]))
    assert "the sets hold 2 values that are NaN" in refusal(lambda: names.predict([np.full((1, 2), np.nan)]))


# ---- learning -------------------------------------------------------------------------------------------------------


def scalars(count: int, seed: int) -> ListOfSets:
    made = np.random.default_rng(seed)
    return [made.normal(size=(made.integers(2, 9), 1)) * made.uniform(0.2, 2) for _ in range(count)]


def test_the_variance_of_small_sets_is_learned() -> None:
    train, test = scalars(400, 0), scalars(200, 1)
    model = regressor(width=32, max_epochs=60, pool="mean").fit(train, [one.var() for one in train])
    assert r2_score([one.var() for one in test], model.predict(test)) > 0.9  # the mean alone is 0
    assert len(model.curves_["train_loss"]) == len(model.curves_["validation_loss"]) == model.n_iter_
    assert min(model.curves_["validation_loss"]) == model.curves_["validation_loss"][model.best_epoch_ - 1]


@pytest.mark.parametrize("model", ["set_twister", "deepsets", "set_transformer"])
def test_classes_of_sets_are_learned(model: str) -> None:
    """Whether an element is there that stands out."""

    def classes(sets: ListOfSets) -> NDArray[np.str_]:
        return names[[int((one[:, 0] > 4).any()) for one in sets]]

    names = np.array(["none", "some"])
    train, test = some_sets(300, length=3), some_sets(400, length=3)[300:]
    fitted = classifier(model=model, width=16, max_epochs=30).fit(train, classes(train))
    assert fitted.classes_.tolist() == ["none", "some"]
    assert 0.3 < np.mean(classes(test) == "some") < 0.7
    assert fitted.score(test, classes(test)) > 0.9
    shares = fitted.predict_proba(test)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(names[shares.argmax(1)], fitted.predict(test))


def test_minus_one_is_a_class_of_sets_like_any_other() -> None:
    sets = some_sets()
    assert classifier().fit(sets, np.where(sizes(sets) > 2, 1, -1)).classes_.tolist() == [-1, 1]
    assert classifier().fit(sets, [bool(len(one) > 2) for one in sets]).predict(sets).dtype == bool


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_several_numbers_per_set_come_in_their_own_units(loss: str) -> None:
    sets = some_sets(200)
    y = np.stack([1e6 + 1e3 * sizes(sets), 1e-6 * np.array([one.sum() for one in sets]), np.full(200, 0.1)], axis=1)
    model = regressor(max_epochs=40, loss=loss, width=16).fit(sets, y)
    found = model.predict(sets)
    assert found.shape == y.shape
    assert found.dtype == np.float64
    assert (r2_score(y[:, :2], found[:, :2], multioutput="raw_values") > 0.9).all()
    np.testing.assert_allclose(found[:, 2], 0.1, rtol=1e-9)
    assert model.fit(sets, y[:, :1]).predict(sets).shape == (200, 1)
    assert model.fit(sets, y[:, 0]).predict(sets).shape == (200,)


def test_without_held_back_sets_the_last_weights_are_kept() -> None:
    sets = some_sets()
    model = regressor(validation_fraction=0).fit(sets, sizes(sets))
    assert (model.best_epoch_, model.n_iter_, model.curves_["validation_loss"]) == (5, 5, [])
    assert np.isfinite(regressor(validation_fraction=0.9).fit(sets[:2], [1.0, 2.0]).predict(sets)).all()
    assert np.isfinite(regressor().fit(sets[:1], [1.0]).predict(sets)).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "a classifier requires y to be passed"),
        ([0, 0, 0], "y has 1 class (0), expected at least 2"),
        (["a", None, "b"], "y lacks 1 labels (None or NaN), expected one for every set"),
        ([0.0, math.nan, 1.0], "y lacks 1 labels"),
        ([0.5, 0.25, 1.0], "Unknown label type: continuous"),
        ([0, 1], "y has 2 values, expected 3, one per set"),
    ],
)
def test_classes_that_are_none_are_refused(y: Any, message: str) -> None:
    assert message in refusal(lambda: classifier().fit([np.zeros((1, 2))] * 3, y))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "a regressor requires y to be passed"),
        (["a", "b", "c"], "y cannot be read as numbers"),
        ([[1.0], [1.0, 2.0], [3.0]], "y cannot be read as numbers"),
        (np.zeros((3, 1, 1)), "y has shape (3, 1, 1), expected (sets,) or (sets, outputs)"),
        (np.zeros((3, 0)), "y has shape (3, 0)"),
        ([0.0, math.nan, 1.0], "y holds NaN, infinity or a number that is too large"),
        ([0.0, 1e300, 1.0], "y holds NaN, infinity or a number that is too large"),
        (np.zeros(3) * 1j, "Complex data not supported"),
    ],
)
def test_numbers_that_are_none_are_refused(y: Any, message: str) -> None:
    assert message in refusal(lambda: regressor().fit([np.zeros((1, 2))] * 3, y))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(model="mlp"), "model is 'mlp', expected one of 'set_twister', 'deepsets', 'set_transformer'"),
        (dict(width=9), "width is 9, expected a multiple of M=2"),
        (dict(model="set_transformer", width=30), "width is 30, expected a multiple of 4: a set transformer's heads"),
        (dict(loss="huber"), "loss is 'huber', expected one of 'squared', 'absolute'"),
        (dict(batch_size=None), "batch_size is None, expected a whole number"),
        (dict(patience=0), "patience is 0"),
        (dict(validation_fraction=-0.1), "validation_fraction is -0.1"),
        (dict(dropout=2), "dropout is 2"),
        (dict(learning_rate=1e30), "the loss is not finite after"),
        (dict(random_state=-1), "random_state is -1, expected None, a whole number"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(settings: dict[str, Any], message: str) -> None:
    sets = some_sets()
    assert message in refusal(lambda: regressor(**settings).fit(sets, sizes(sets)))


# ---- scikit-learn's tools -------------------------------------------------------------------------------------------


def test_the_same_random_state_gives_the_same_bits_and_no_generator_is_touched() -> None:
    sets = some_sets()

    def run(state: Any) -> NDArray[np.float64]:
        found: NDArray[np.float64] = regressor(random_state=state, dropout=0.2).fit(sets, sizes(sets)).predict(sets)
        return found

    before = torch.get_rng_state(), np.random.get_state()[1].copy(), np.random.get_state()[2]
    np.testing.assert_array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))
    assert not np.array_equal(run(None), run(None))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()
    assert np.random.get_state()[2] == before[2]


def test_pickles_clones_and_searches() -> None:
    sets = some_sets()
    model = classifier().fit(sets, sizes(sets) > 2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(sets), model.predict_proba(sets))
    with pytest.raises(NotFittedError):
        clone(model).predict(sets)
    search = GridSearchCV(regressor(), {"width": np.array([4, 8]), "M": [np.int64(2)]}, cv=2)
    assert search.fit(sets, sizes(sets)).best_params_["width"] in (4, 8)
    assert len(cross_val_score(classifier(), sets, sizes(sets) > 2, cv=3)) == 3


def test_a_failed_fit_leaves_it_unfitted() -> None:
    sets = some_sets()
    model = regressor().fit(sets, sizes(sets))
    with pytest.raises(ValueError, match="one per set"):
        model.fit([one[:, :1] for one in sets], [1.0])
    with pytest.raises(NotFittedError):
        model.predict(sets)


def test_epochs_are_printed_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    sets = some_sets()
    for fraction in (0.0, 0.2):
        regressor(verbose=2, max_epochs=4, validation_fraction=fraction).fit(sets, sizes(sets))
        assert [line[:7] for line in capsys.readouterr().out.splitlines()] == ["epoch 2", "epoch 4"]


# ---- the loop -------------------------------------------------------------------------------------------------------


def squared(out: Tensor, target: Tensor) -> Tensor:
    return (out - target).square().mean()


def loop(model: Any, epochs: int = 8, **more: Any) -> Any:
    sets = ragged(some_sets(), torch.float32)
    target = sets.incidence.lengths.float().unsqueeze(-1)
    rows = torch.arange(60)
    given: dict[str, Any] = dict(recipe=Recipe(epochs, 0.01, batch=16), loss=squared, patience=epochs)
    return fit_sets(model, sets, target, rows[:45], rows[45:], **given | more)


def test_the_weights_with_the_smallest_validation_loss_are_kept() -> None:
    sets = ragged(some_sets(), torch.float32)
    target = sets.incidence.lengths.float().unsqueeze(-1)
    for rate in (0.01, 0.3):  # with the larger one, the last is not the best
        model = DeepSets(2, 1, phi=(8,), rho=(8,))
        found = loop(model, recipe=Recipe(8, rate, batch=16))
        assert found.validation == min(found.curves["validation_loss"])
        assert found.curves["validation_loss"][found.best_epoch - 1] == found.validation
        held = torch.arange(45, 60)
        assert squared(outputs(model, sets, held), target[held]).item() == pytest.approx(found.validation, rel=1e-5)
        torch.testing.assert_close(outputs(model, sets)[held], outputs(model, sets, held))
        assert not model.training


def test_training_stops_when_patience_is_over() -> None:
    found = loop(SetTwister(2, 1), epochs=200, recipe=Recipe(200, 0.1, batch=16), patience=3)
    assert len(found.curves["train_loss"]) == found.best_epoch + 3 < 200


def test_every_training_set_is_seen_once_per_epoch_also_in_a_last_small_batch() -> None:
    seen: list[float] = []

    def noting(out: Tensor, target: Tensor) -> Tensor:
        if out.requires_grad:
            seen.extend(target.flatten().tolist())
        return squared(out, target)

    sets = ragged(some_sets(), torch.float32)
    number = torch.arange(60.0).unsqueeze(-1)
    fit_sets(
        DeepSets(2, 1), sets, number, torch.arange(0, 60, 2), torch.arange(0), Recipe(2, 0.01, batch=16), noting, 9
    )
    for epoch in (seen[:30], seen[30:]):
        assert sorted(epoch) == list(range(0, 60, 2))
    assert seen[:30] != seen[30:], "in another order"


def test_the_same_seed_gives_the_same_weights_and_dropout_leaves_the_generator_alone() -> None:
    def run(seed: int) -> Tensor:
        torch.manual_seed(0)
        model = DeepSets(2, 1, dropout=0.5)
        before = torch.get_rng_state()
        loop(model, seed=seed)
        assert torch.equal(torch.get_rng_state(), before)
        return torch.cat([value.flatten() for value in model.parameters()]).detach()

    torch.testing.assert_close(run(1), run(1), rtol=0, atol=0)
    assert not torch.equal(run(1), run(2))


def test_without_validation_sets_there_is_no_validation_loss() -> None:
    told: list[tuple[int, str]] = []
    sets = ragged(some_sets(), torch.float32)
    target = torch.zeros(60, 1)
    found = fit_sets(
        *(DeepSets(2, 1), sets, target, torch.arange(60), torch.arange(0), Recipe(3, 0.01), squared, 1),
        tell=lambda epoch, note: told.append((epoch, note)),
    )
    assert math.isnan(found.validation)
    assert found.best_epoch == 3
    assert [epoch for epoch, _ in told] == [1, 2, 3]


# ---- some sets of many ----------------------------------------------------------------------------------------------


def held(sets: Sets) -> list[list[tuple[tuple[float, ...], float]]]:
    """The slow and obvious way: what each set holds, with how much weight, one element at a time."""
    if len(sets.elements) == 0:
        return [[]] * len(sets)
    eye = torch.eye(len(sets.elements), dtype=sets.elements.dtype)
    found = []
    for row in sets.sum(eye):
        pairs = [(tuple(sets.elements[i].tolist()), row[i].item()) for i in range(len(row)) if row[i] != 0]
        found.append(sorted(pairs))
    return found


MANY: dict[str, Callable[[], Sets]] = {
    "ragged": lambda: ragged(some_sets(9)),
    "dense": lambda: Sets.dense(np.stack(some_sets(9, length=3))),
    "padded": lambda: padded(some_sets(9)),
    "bags": lambda: Sets.bags(*bags(some_sets(9))),
    "sparse bags": lambda: Sets.bags(bags(some_sets(9))[0], scipy.sparse.csr_array(bags(some_sets(9))[1] / 4)),
    "neighbours": lambda: Sets.neighbours(
        torch.arange(18.0).reshape(9, 2), torch.tensor([[0, 1, 1, 8, 3], [1, 0, 4, 4, 4]]), torch.rand(5)
    ),
}


@pytest.mark.parametrize("rows", [[], [0], [8, 2, 5], [3, 3, 3], list(range(9))])
@pytest.mark.parametrize("layout", MANY)
def test_taken_sets_hold_what_they_held(layout: str, rows: list[int]) -> None:
    sets = MANY[layout]()
    taken = sets.take(torch.tensor(rows, dtype=torch.long))
    assert len(taken) == len(rows)
    whole = held(sets)
    assert held(taken) == [whole[row] for row in rows]
    torch.testing.assert_close(taken.sizes(taken.elements), sets.sizes(sets.elements)[rows])


@pytest.mark.parametrize("layout", MANY)
def test_a_model_answers_for_taken_sets_as_for_all_and_has_the_same_gradients(layout: str) -> None:
    torch.manual_seed(0)
    sets, rows = MANY[layout]().to(torch.float64), torch.tensor([7, 0, 4])
    model = SetTwister(2, 1, phi=(8,), rho=(8,)).double()
    results = []
    for out in (model(sets)[rows], model(sets.take(rows))):
        gradients = torch.autograd.grad(out.square().sum(), tuple(model.parameters()))
        results.append((out.detach(), gradients))
    torch.testing.assert_close(results[0], results[1])


def test_taken_sets_have_only_the_elements_that_they_hold() -> None:
    sets = ragged([np.ones((5, 2)), np.zeros((2, 2)), np.ones((1, 2))])
    assert len(sets.take(torch.tensor([1])).elements) == 2
    assert len(sets.take(torch.tensor([1, 1])).elements) == 2
    assert len(sets.take(torch.tensor([], dtype=torch.long)).elements) == 0
