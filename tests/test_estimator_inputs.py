"""What a classifier of nodes may be given: edges, features and labels, in all the forms that people have them in."""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from torch_geometric.data import Data

from example_graph import NODES, Example, both_ways, example, named, refusal, tiny
from settwister.estimator import CorrectAndSmooth, OneHopClassifier, SetClassifier
from settwister.estimator.edges import neighbourhoods
from settwister.estimator.inputs import labels
from settwister.estimator.scaling import Binned, Standardised
from settwister.functional import Csr
from settwister.graphs import neighbour_sets


@pytest.fixture(scope="module")
def graph() -> Example:
    return example()


@pytest.fixture(scope="module")
def fitted(graph: Example) -> OneHopClassifier:
    """Do not change it."""
    return tiny().fit(graph.X, graph.some, graph.edges)


# ---- edges -----------------------------------------------------------------------------------------------------------


def networkx_of(edges: NDArray[np.int64], weight: NDArray[np.float64] | None = None, kind: Any = networkx.Graph) -> Any:
    found = kind()
    found.add_nodes_from(range(NODES))
    for i, (source, target) in enumerate(edges.T.tolist()):
        found.add_edge(source, target, **({} if weight is None else {"weight": weight[i]}))
    return found


def sparse(edges: NDArray[np.int64], weight: NDArray[Any]) -> Any:
    return scipy.sparse.coo_matrix((weight, (edges[0], edges[1])), shape=(NODES, NODES))


FORMS: dict[str, Callable[[NDArray[np.int64]], Any]] = {
    "(2, E) of int32": lambda e: e.astype(np.int32),
    "(E, 2)": lambda e: e.T,
    "list of pairs": lambda e: [tuple(pair) for pair in e.T.tolist()],
    "list of lists": lambda e: e.T.tolist(),
    "set of pairs": lambda e: {tuple(pair) for pair in e.T.tolist()},
    "both ways": both_ways,
    "in another order": lambda e: e[:, ::-1],
    "pandas": lambda e: pd.DataFrame(e.T, columns=["from", "to"]),
    "pandas, columns of one name": lambda e: pd.DataFrame(e.T, columns=["node", "node"]),
    "pandas, columns named as attributes of graphs": lambda e: pd.DataFrame(e.T, columns=["nodes", "edge_index"]),
    "pandas with weights of 1": lambda e: pd.DataFrame(dict(a=e[0], b=e[1], w=1)),
    "pandas of objects": lambda e: pd.DataFrame(e.T).astype(object),
    "polars": lambda e: pl.DataFrame({"a": e[0], "b": e[1]}),
    "polars with weights of 1": lambda e: pl.DataFrame({"a": e[0], "b": e[1], "w": np.ones(e.shape[1])}),
    "scipy matrix": lambda e: sparse(both_ways(e), np.ones(2 * e.shape[1])).tocsr(),
    "scipy array of booleans, one way": lambda e: scipy.sparse.csc_array(sparse(e, np.ones(e.shape[1], dtype=bool))),
    "networkx": networkx_of,
    "networkx, directed": lambda e: networkx_of(e, kind=networkx.DiGraph),
    "networkx, parallel edges": lambda e: networkx_of(both_ways(e), kind=networkx.MultiGraph),
    "PyG": lambda e: Data(edge_index=torch.from_numpy(both_ways(e)), num_nodes=NODES),
    "PyG with weights of 1": lambda e: Data(
        edge_index=torch.from_numpy(both_ways(e)), edge_weight=torch.ones(2 * e.shape[1], 1)
    ),
    "torch": torch.from_numpy,
    "torch, (E, 2)": lambda e: torch.from_numpy(e).t(),
    "Csr": lambda e: neighbour_sets(torch.from_numpy(e), NODES),
}
WEIGHTED: dict[str, Callable[[NDArray[np.int64], NDArray[np.float64]], Any]] = {
    "polars": lambda e, w: pl.DataFrame({"a": e[0], "b": e[1], "w": w}),
    "pandas, in two halves": lambda e, w: pd.concat([pd.DataFrame(dict(a=e[0], b=e[1], w=w / 2))] * 2),
    "scipy, both ways": lambda e, w: sparse(both_ways(e), np.tile(w, 2)).tocsr(),
    "scipy, one way": lambda e, w: sparse(e, w).tocsc(),
    "scipy, the smaller of two ways": lambda e, w: sparse(both_ways(e), np.concatenate([w, w / 3])),
    "networkx": networkx_of,
    "networkx, directed": lambda e, w: networkx_of(e, w, networkx.DiGraph),
    "PyG, both ways": lambda e, w: Data(
        edge_index=torch.from_numpy(both_ways(e)), edge_weight=torch.from_numpy(np.tile(w, 2))
    ),
    "with edges of weight 0": lambda e, w: pd.DataFrame(
        dict(a=np.append(e[0], 0), b=np.append(e[1], NODES - 1), w=np.append(w, 0.0))
    ),
    "Csr": lambda e, w: neighbour_sets(torch.from_numpy(e), NODES, weight=torch.from_numpy(w)),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_graph_gives_the_same_bits_in_any_form(graph: Example, fitted: OneHopClassifier, form: str) -> None:
    edges = FORMS[form](graph.edges)
    found = tiny().fit(graph.X, graph.some, edges).predict_proba(graph.X, edges)
    np.testing.assert_array_equal(found, fitted.predict_proba(graph.X, graph.edges))


@pytest.mark.parametrize("form", WEIGHTED)
def test_the_same_weighted_graph_gives_the_same_bits_in_any_form(graph: Example, form: str) -> None:
    weight = np.random.default_rng(1).integers(1, 9, graph.edges.shape[1]) / 4.0
    frame = pd.DataFrame(dict(a=graph.edges[0], b=graph.edges[1], w=weight))
    model = tiny(pool="sum", max_epochs=5)
    expected = model.fit(graph.X, graph.some, frame).predict_proba(graph.X, frame)
    edges = WEIGHTED[form](graph.edges, weight)
    np.testing.assert_array_equal(model.fit(graph.X, graph.some, edges).predict_proba(graph.X, edges), expected)
    plain = model.fit(graph.X, graph.some, graph.edges).predict_proba(graph.X, graph.edges)
    assert not np.allclose(plain, expected), "weights are read"


def test_edges_may_name_nodes_by_the_index_of_the_features(graph: Example, fitted: OneHopClassifier) -> None:
    """In pairs, frames and networkx graphs; a (2, E) array is of row numbers whatever the index says."""
    names = [f"node {i}" for i in range(NODES)]
    X = pd.DataFrame(graph.X, index=names)
    pairs = [(names[source], names[target]) for source, target in graph.edges.T]
    expected = fitted.predict_proba(graph.X, graph.edges)
    graph_of_names = networkx.Graph(pairs)
    for edges in (pairs, np.array(pairs), pd.DataFrame(pairs), pl.DataFrame(pairs, orient="row"), graph_of_names):
        model = tiny().fit(X, graph.some, edges)
        np.testing.assert_array_equal(model.predict_proba(X, edges), expected)
    np.testing.assert_array_equal(tiny().fit(X, graph.some, graph.edges).predict_proba(X, graph.edges), expected)


def test_rows_of_a_frame_keep_their_names_when_some_are_taken(graph: Example) -> None:
    """Whether by a slice, which pandas numbers on from where it began, or by a mask."""
    whole, pairs = pd.DataFrame(graph.X), [(20, 25), (22, 29), (20, 21)]
    model = tiny().fit(whole, graph.some, graph.edges)
    expected = model.predict_proba(whole[20:30].reset_index(drop=True), [(a - 20, b - 20) for a, b in pairs])
    np.testing.assert_array_equal(model.predict_proba(whole[20:30], pairs), expected)
    np.testing.assert_array_equal(model.predict_proba(whole[(whole.index >= 20) & (whole.index < 30)], pairs), expected)


def test_ends_that_are_not_nodes_are_counted_and_named(graph: Example) -> None:
    X = pd.DataFrame(graph.X, index=[f"n{i}" for i in range(NODES)])
    pairs = [("n0", "n1"), ("n0", "Ada"), ("Bob", "Ada"), ("n1", 7)]
    assert refusal(lambda: tiny().fit(X, graph.some, pairs)) == (
        "4 ends of edges are not nodes, such as 'Ada', 'Bob', 'Ada', expected ids of the 60 nodes: drop these edges or "
        "add the nodes"
    )
    for edges in ([(0, 99), (-1, 1), (60, 2)], np.array([[0, -1, 60], [99, 1, 2]])):
        message = refusal(lambda edges=edges: tiny().fit(graph.X, graph.some, edges))
        assert message.startswith("3 ends of edges are not nodes, such as ")
        assert "expected row numbers of the 60 nodes" in message
    twice = pd.DataFrame(graph.X, index=["same"] * NODES)
    assert "59 nodes share their id with another" in refusal(
        lambda: tiny().fit(twice, graph.some, [("same", "same")]),
    )


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("edges.csv", "edges are a str of shape (), expected (2, edges) row numbers"),
        (zip([0], [1], strict=True), "edges are a zip of shape ()"),
        ([(0, 1, 2)] * 3, "edges are a list of shape (3, 3)"),
        ([(0, 1), (0, 1, 2)], "edges are a list that is no list of pairs"),
        (np.zeros((2, 4)), "edges are float64 of shape (2, 4), expected whole numbers"),
        ([(0, [1])], "1 ends of edges are not nodes, such as [1]"),
        ([(0.5, 1)], "1 ends of edges are not nodes, such as 0.5"),
        ([("0", 1)], "1 ends of edges are not nodes, such as '0'"),
        (pd.DataFrame({"a": [1]}), "the data frame of edges has 1 columns, expected source, target"),
        (pd.DataFrame({"a": [1], "b": [2], "w": ["x"]}), "the weights in column 'w' are "),
        (
            pl.DataFrame({"a": [1], "b": [2], "w": [None]}, schema_overrides={"w": pl.Float64}),
            "weight is negative, NaN",
        ),
        (pl.DataFrame({"a": [1, None], "b": [2, 3]}), "1 ends of edges are not nodes, such as nan"),
        (pd.DataFrame({"a": [1], "b": [2], "w": [-0.5]}), "weight is negative, NaN or infinite"),
        (pd.DataFrame({"a": [1], "b": [2], "w": [1e300]}), "weight is negative, NaN or infinite"),
        (scipy.sparse.eye_array(7), "the adjacency has shape (7, 7), expected (60, 60), one row per node"),
        (scipy.sparse.eye_array(NODES) * 1j, "the adjacency holds complex128, expected numbers"),
        (sparse(np.array([[0, 1], [1, 0]]), np.array([-1.0, 2.0])), "weight is negative"),
        (networkx.Graph([("Ada", "Bob")]), "2 ends of edges are not nodes, such as 'Ada', 'Bob'"),
        (networkx.Graph([(0, 1, {"weight": "x"})]), "an edge's weight is not a number"),
        (Data(), "edges have no edge_index"),
        (Data(edge_index=torch.zeros(2, 3).long(), edge_weight=torch.ones(2)), "edge_weight has 2 entries, expected 3"),
        (neighbour_sets(torch.zeros(2, 0).long(), 7), "expected 60 sets of 60 elements, one per node"),
    ],
)
def test_edges_that_are_none_are_refused(graph: Example, edges: Any, message: str) -> None:
    assert message in refusal(lambda: tiny().fit(graph.X, graph.some, edges))


def entries(found: Csr) -> set[tuple[int, int, float]]:
    weight = torch.ones(len(found.index)) if found.weight is None else found.weight
    return set(zip(found.rows.tolist(), found.index.tolist(), weight.tolist(), strict=True))


def test_a_directed_graph_lists_sources_and_an_undirected_networkx_graph_has_both_ends() -> None:
    for directed in (networkx.DiGraph, networkx.MultiDiGraph):
        assert entries(neighbourhoods(directed([(0, 1), (2, 2)]), 3, directed=True, loops=True)) == {
            (1, 0, 1.0),
            (2, 2, 1.0),
        }
    undirected = networkx.Graph([(0, 1, {"weight": 2.0}), (2, 2, {"weight": 3.0})])
    assert entries(neighbourhoods(undirected, 3, directed=True, loops=True)) == {
        (1, 0, 2.0),
        (0, 1, 2.0),
        (2, 2, 3.0),
    }
    matrix = scipy.sparse.coo_matrix(([1.0, 2.0, 4.0], ([0, 1, 0], [1, 0, 1])), shape=(3, 3))  # (0, 1) twice
    assert entries(neighbourhoods(matrix, 3, directed=True)) == {(1, 0, 5.0), (0, 1, 2.0)}
    assert entries(neighbourhoods(matrix, 3)) == {(1, 0, 5.0), (0, 1, 5.0)}
    assert matrix.nnz == 3, "the caller's matrix is as it was"
    rows = scipy.sparse.csr_matrix(([1.0, 4.0, 2.0], [1, 1, 0], [0, 2, 3, 3]), shape=(3, 3))  # the same, in rows
    assert entries(neighbourhoods(rows, 3, directed=True)) == {(1, 0, 5.0), (0, 1, 2.0)}
    assert entries(neighbourhoods(rows, 3)) == {(1, 0, 5.0), (0, 1, 5.0)}
    assert rows.nnz == 3


def test_weights_that_are_all_one_are_not_kept() -> None:
    edges = pd.DataFrame(dict(a=[0, 1], b=[1, 2], w=1.0))
    assert neighbourhoods(edges, 3).weight is None
    assert neighbourhoods(pd.concat([edges, edges]), 3).weight is not None, "each edge weighs 2"


# ---- features --------------------------------------------------------------------------------------------------------

FEATURES: dict[str, Callable[[NDArray[np.float64]], Any]] = {
    "float32": lambda X: X.astype(np.float32),
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "by columns": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "scipy csr": scipy.sparse.csr_matrix,
    "scipy coo array": scipy.sparse.coo_array,
    "scipy, entries in halves": lambda X: scipy.sparse.csr_matrix(
        (
            np.repeat(X.ravel() / 2, 2),
            np.repeat(np.tile(np.arange(X.shape[1]), len(X)), 2),
            2 * X.shape[1] * np.arange(len(X) + 1),
        ),
        shape=X.shape,
    ),
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{i}" for i in range(X.shape[1])]),
    "torch": torch.from_numpy,
    "torch with gradients": lambda X: torch.from_numpy(X).requires_grad_(),
    "torch sparse": lambda X: torch.from_numpy(X).to_sparse(),
}


@pytest.mark.parametrize("form", FEATURES)
@pytest.mark.parametrize("share", [1.0, 0.1])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_same_features_give_the_same_predictions_in_any_form(graph: Example, form: str, share: float) -> None:
    """Also where most of them are zeros, which are then not stored."""
    X = graph.X * (np.random.default_rng(0).random(graph.X.shape) < share)
    expected = tiny(max_epochs=5).fit(X, graph.some, graph.edges)
    given = FEATURES[form](X)
    found = tiny(max_epochs=5).fit(given, graph.some, graph.edges)
    assert isinstance(found.scaling_, Binned if share < 0.2 else Standardised)
    np.testing.assert_allclose(
        found.predict_proba(given, graph.edges), expected.predict_proba(X, graph.edges), rtol=2e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        found.predict_proba(X, graph.edges), expected.predict_proba(X, graph.edges), rtol=2e-4, atol=1e-5
    )


def test_features_are_not_changed(graph: Example) -> None:
    X = scipy.sparse.csr_matrix(([1.0, 2.0, 3.0], [2, 2, 0], [0, *[3] * NODES]), shape=(NODES, 60))
    before = X.copy()
    tiny(max_epochs=1).fit(X, graph.some)
    assert (X.data == before.data).all()
    assert (X.indices == before.indices).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((NODES, 2), np.nan), "X has 120 values that are NaN or infinite, expected finite numbers"),
        (scipy.sparse.csr_matrix(np.full((NODES, 2), np.inf)), "X has 120 values that are NaN or infinite"),
        (np.full((NODES, 2), 1e300), "X holds 1e+300, expected numbers of single precision, up to 3.4e+38"),
        (np.zeros(NODES), "Reshape your data"),
        (np.full((NODES, 2), "word"), "could not convert string to float"),
        (np.ones((NODES - 1, 2)), "y has 60 labels, expected 59, one per row of X"),
    ],
)
def test_features_that_are_none_are_refused(graph: Example, X: Any, message: str) -> None:
    assert message in refusal(lambda: tiny().fit(X, graph.some))


def test_features_far_beyond_those_of_fit_are_refused_rather_than_answered_with_nan(
    graph: Example, fitted: OneHopClassifier
) -> None:
    X = graph.X.copy()
    X[3] = 1e38
    assert "is not a finite number, expected features like those of fit" in refusal(
        lambda: fitted.predict_proba(X, graph.edges)
    )
    assert refusal(lambda: tiny(scale=False).fit(1e37 * graph.X, graph.some, graph.edges)).startswith(
        "training ended in NaN"
    )


def test_features_that_cannot_be_written_to_need_no_copy_by_the_caller(graph: Example) -> None:
    """As of a file that is mapped into memory; torch would warn, which is an error here."""
    X = graph.X.astype(np.float32)
    X.flags.writeable = False
    found = tiny(max_epochs=1, scale=False).fit(X, graph.some, graph.edges).predict_proba(X, graph.edges)
    expected = tiny(max_epochs=1, scale=False).fit(X.copy(), graph.some, graph.edges).predict_proba(X, graph.edges)
    np.testing.assert_array_equal(found, expected)


# ---- labels ----------------------------------------------------------------------------------------------------------

LABELS: dict[str, Callable[[NDArray[np.int64]], Any]] = {
    "list": lambda y: y.tolist(),
    "float with -1": lambda y: y.astype(float),
    "NaN": lambda y: np.where(y < 0, np.nan, y),
    "list with None": lambda y: [None if label < 0 else label for label in y.tolist()],
    "list with both": lambda y: [(None, -1, math.nan)[i % 3] if label < 0 else label for i, label in enumerate(y)],
    "pandas Int64": lambda y: pd.Series(y).astype("Int64").mask(y < 0),
    "polars": lambda y: pl.Series([None if label < 0 else label for label in y.tolist()]),
    "torch": torch.from_numpy,
    "strings and None": lambda y: named(y, None),
    "strings and NaN": lambda y: named(y, math.nan),
    "strings and -1": lambda y: named(y, -1),
    "array of strings": lambda y: np.array(named(y, None), dtype=object),
    "pandas strings": lambda y: pd.Series(named(y, None), dtype="string"),
    "pandas categories": lambda y: pd.Series(named(y, None), dtype="category"),
    "pandas objects": lambda y: pd.Series(named(y, pd.NA), dtype=object),
    "polars strings": lambda y: pl.Series(named(y, None)),
}


@pytest.mark.parametrize("form", LABELS)
def test_the_same_labels_give_the_same_predictions_in_any_form(
    graph: Example, fitted: OneHopClassifier, form: str
) -> None:
    y = LABELS[form](graph.some)
    found = tiny().fit(graph.X, y, graph.edges)
    np.testing.assert_array_equal(found.predict_proba(graph.X, graph.edges), fitted.predict_proba(graph.X, graph.edges))
    classes = ["a", "b", "c"] if isinstance(found.classes_[0], str) else [0, 1, 2]
    assert found.classes_.tolist() == classes
    assert found.score(graph.X, y, graph.edges) == fitted.score(graph.X, graph.some, graph.edges) > 0.8
    assert set(found.predict(graph.X, graph.edges)) <= set(classes)


def test_booleans_are_two_classes_with_or_without_unknown_ones(graph: Example) -> None:
    whole = tiny().fit(graph.X, graph.y == 1, graph.edges)
    assert whole.classes_.dtype == bool
    y = [None if label < 0 else label == 1 for label in graph.some.tolist()]
    some_known = tiny().fit(graph.X, y, graph.edges)
    assert some_known.classes_.tolist() == [False, True]
    assert some_known.predict(graph.X, graph.edges).dtype == bool
    assert some_known.decision_function(graph.X, graph.edges).shape == (NODES,)


def test_a_column_of_labels_is_taken_with_a_warning(graph: Example) -> None:
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        tiny(max_epochs=1).fit(graph.X, graph.some[:, None])


@pytest.mark.parametrize("missing", [False, True])
def test_just_minus_one_and_one_are_two_classes_with_a_warning(graph: Example, missing: bool) -> None:
    y = np.where(graph.y == 1, 1.0, -1.0)
    if missing:
        y[10:] = np.nan
    with pytest.warns(UserWarning, match="they are taken as two classes, and no label as unknown"):
        model = tiny().fit(graph.X, y, graph.edges)
    assert model.classes_.tolist() == [-1, 1]
    assert model.score(graph.X[:9], y[:9], []) == np.mean(model.predict(graph.X[:9], []) == y[:9])
    alone = np.flatnonzero(y == -1)[:3]
    assert 0 <= model.score(graph.X[alone], y[alone], []) <= 1, "-1 is a class there too"


def test_minus_one_is_unknown_in_a_score_if_it_was_in_training(graph: Example, fitted: OneHopClassifier) -> None:
    predicted = fitted.predict(graph.X, graph.edges)
    some_ones = np.where(predicted == 1, 1, -1)
    assert fitted.score(graph.X, some_ones, graph.edges) == 1
    weight = np.arange(NODES)
    expected = np.average(predicted == graph.y, weights=weight)
    assert fitted.score(graph.X, graph.y, graph.edges, sample_weight=weight) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "a classifier requires y to be passed"),
        (np.zeros(NODES), "y has 1 class (0.0), expected at least 2 (-1 is not a class but an unknown label)"),
        (["a"] + [None] * (NODES - 1), "y has 1 class ('a'), expected at least 2"),
        (np.full(NODES, -1), "no label is known"),
        ([None] * NODES, "no label is known"),
        (np.zeros(7), "y has 7 labels, expected 60, one per row of X"),
        (np.linspace(0, 1, NODES), "Unknown label type: continuous"),
        (np.zeros((NODES, 2)), "y should be a 1d array"),
        ([0, "a"] * (NODES // 2), "y holds labels of type int, str, expected all numbers, all strings or all booleans"),
        ([True, 2] * (NODES // 2), "y holds labels of type bool, int"),
        ([[0], [1, 2]] * (NODES // 2), "y holds labels of type list"),
        ([0, 1e400] * (NODES // 2), "Input y contains infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_labels_that_are_none_are_refused(graph: Example, y: Any, message: str) -> None:
    assert message in refusal(lambda: tiny().fit(graph.X, y))
    if y is not None:
        assert refusal(lambda: CorrectAndSmooth(tiny()).fit(graph.X, y))


def test_a_score_of_no_known_label_is_refused(graph: Example, fitted: OneHopClassifier) -> None:
    assert "60 labels, 0 of them known" in refusal(lambda: fitted.score(graph.X, np.full(NODES, -1), graph.edges))
    assert "7 labels, 7 of them known" in refusal(lambda: fitted.score(graph.X, graph.y[:7], graph.edges))


@pytest.mark.parametrize("given", [pd.array([3, 7, None], dtype="Int64"), pd.array(["a", "b", None], dtype="string")])
def test_labels_in_pandas_own_types_stay_what_they_are(given: Any) -> None:
    found, known = labels(pd.Series(given))
    assert found.tolist() == list(given[:2])
    assert found.dtype.kind in "iU"
    assert known.tolist() == [True, True, False]


# ---- labels and weights that do not go with X ------------------------------------------------------------------------


def test_labels_named_in_another_order_are_refused(graph: Example) -> None:
    """By place they would be those of other nodes; labels without names, or named as rows are, go by place."""
    X = pd.DataFrame(graph.X, index=[f"n{i}" for i in range(NODES)])
    y = pd.Series(graph.some, index=X.index)
    for model in (tiny(), CorrectAndSmooth(tiny())):
        model.fit(X, y, [])
        model.score(X, y, [])
        for do in (model.fit, model.score):
            message = refusal(lambda do=do: do(X, y.iloc[::-1], []))  # type: ignore[misc]
            assert message.startswith("y names its rows otherwise than X, or in another order")
            do(X, y.reset_index(drop=True), [])
            do(X, y.to_numpy(), [])


def test_weights_of_nothing_are_refused(fitted: OneHopClassifier, graph: Example) -> None:
    message = refusal(lambda: fitted.score(graph.X, graph.y, graph.edges, sample_weight=np.zeros(NODES)))
    assert message == "sample_weight adds up to nothing over the known labels, expected some that count"


def test_a_graph_in_place_of_features_is_named(graph: Example) -> None:
    data = Data(x=torch.from_numpy(graph.X), edge_index=torch.from_numpy(graph.edges))
    assert refusal(lambda: tiny().fit(data, graph.some)) == (
        "X is a Data, expected features: give its x, and the graph itself as edges"
    )


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_a_sparse_tensor_is_an_adjacency(graph: Example) -> None:
    dense = np.zeros((NODES, NODES))
    dense[tuple(both_ways(graph.edges))] = 1
    expected = neighbourhoods(scipy.sparse.csr_matrix(dense), NODES)
    for tensor in (torch.from_numpy(dense).to_sparse(), torch.from_numpy(dense).to_sparse_csr()):
        found = neighbourhoods(tensor, NODES)
        assert torch.equal(found.ptr, expected.ptr)
        assert torch.equal(found.index, expected.index)
        assert found.weight is None


# ---- what torch was told ---------------------------------------------------------------------------------------------


@pytest.fixture
def double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


SURROUNDINGS: list[Callable[[], Any]] = [
    torch.no_grad,
    torch.inference_mode,
    partial(torch.autocast, "cpu", torch.bfloat16),
    nullcontext,  # with the other default type
]


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
def test_what_torch_was_told_changes_nothing(
    surrounding: Callable[[], Any], graph: Example, request: pytest.FixtureRequest
) -> None:
    """Another default type, no gradients, half precision: estimators learn and answer the same to the bit."""
    X, y, edges = graph.X, graph.some, graph.edges

    def run() -> list[NDArray[Any]]:
        smoothed = CorrectAndSmooth(tiny(), random_state=0)
        both = [model.fit(X, y, edges).predict_proba(X, edges) for model in (tiny(), smoothed)]
        sets = SetClassifier(max_epochs=3, random_state=0).fit(X[:, None], graph.y).predict_proba(X[:, None])
        return [*both, sets]

    expected = run()
    if surrounding is nullcontext:
        request.getfixturevalue("double")
    with surrounding():
        found = run()
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
