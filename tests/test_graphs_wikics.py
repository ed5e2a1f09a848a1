"""WikiCS's JSON: against PyG's reader, and what is refused."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from graph_files import dense, equal_splits, little_memory, pairs, refusal, wikics_content, write_wikics
from settwister import InputError
from settwister.graphs import from_pyg, load
from settwister.graphs import wikics as wikics_format


def test_wikics_is_what_pyg_makes_of_it(tmp_path: Path) -> None:
    from torch_geometric.datasets import WikiCS
    from torch_geometric.utils import remove_self_loops

    content = wikics_content()
    write_wikics(tmp_path / "WikiCS", content)
    graph, data = load("wikics", tmp_path), WikiCS(str(tmp_path / "WikiCS"), is_undirected=True)[0]
    assert torch.equal(dense(graph.x), data.x)
    assert torch.equal(graph.y, data.y)
    assert pairs(graph) == set(zip(*remove_self_loops(data.edge_index)[0].tolist(), strict=True))
    assert graph.given_edges == sum(map(len, content["links"]))
    assert len(graph.splits["official"]) == 20
    data.test_mask = data.test_mask.unsqueeze(1).expand(-1, 20)
    assert equal_splits(replace(graph, splits={"public": graph.splits["official"]}), from_pyg(data))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"labels": None}, "labels"),
        ({"features": [[1.0, 2.0], [3.0]]}, "cannot be read ("),
        ({"features": [1.0] * 15}, "features have shape (15,), expected (nodes, features)"),
        ({"features": [[float("nan")] * 4] * 15}, "x has values that are NaN or infinite"),
        ({"links": [[1]]}, "links are not lists for 15 nodes"),
        ({"links": [[15]] + [[]] * 14}, "edges hold node 15, expected ids from 0 to 14"),
        ({"links": [[0.5]] + [[]] * 14}, "links is float64"),
        ({"train_masks": [[True] * 15] * 20}, "nodes are in more than one part of a split"),
        ({"train_masks": [[2] * 15] * 20}, "train_masks holds other things than true and false"),
        ({"test_mask": [True] * 3}, "a mask of the splits is bool of shape (3,)"),
    ],
)
def test_bad_wikics_is_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = write_wikics(tmp_path / "wikics", wikics_content() | change)
    said = refusal(lambda: load("wikics", tmp_path))
    assert sentence in said
    assert str(path.parent.parent) in said


@pytest.mark.parametrize("content", ["", "[]", "{", '{"features": ' + "[" * 100_000])
def test_wikics_that_is_not_its_json_is_refused(content: str, tmp_path: Path) -> None:
    path = write_wikics(tmp_path / "wikics", {})
    path.write_text(content)
    assert str(path) in refusal(lambda: load("wikics", tmp_path))


# ---- what is too large ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"features": [["a" * 10**6] + [0.0] * 3] + [[0.0] * 4] * 14}, "features holds other things than numbers"),
        ({"labels": ["a" * 10**6, *range(14)]}, "labels holds other things than numbers"),
        ({"labels": [10**15] * 15}, "there are 1000000000000001 classes, expected at most 4096"),
        ({"labels": {"0": 1}}, "labels is dict, expected a list of numbers"),
        ({"links": [["a"]] + [[]] * 14}, "links holds other things than numbers"),
        ({"links": [[{}]] + [[]] * 14}, "links holds other things than numbers"),
        ({"features": [[10**400] * 4] * 15}, "cannot be read ("),
        ({"features": [[1e300] * 4] * 15}, "x has values that are NaN or infinite"),
        ({"features": [[[[0.0]]]] * 15}, "features holds other things than numbers"),
        ({"train_masks": [[True] * 15] * 200}, "there are 200 splits, expected at most 128"),
        ({"train_masks": None}, "train_masks is NoneType, expected a list of numbers"),
    ],
)
def test_numbers_that_would_make_room_are_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    """A text of a million letters in a list would become one at every place of an array."""
    write_wikics(tmp_path / "wikics", wikics_content() | change)
    with little_memory():
        assert sentence in refusal(lambda: load("wikics", tmp_path))


def test_a_file_of_a_terabyte_of_nothing_is_refused(tmp_path: Path) -> None:
    path = write_wikics(tmp_path / "wikics", wikics_content())
    with path.open("r+b") as handle:
        handle.truncate(2**40)
    with little_memory():
        said = refusal(lambda: load("wikics", tmp_path))
    assert said.startswith(f"{path}: there are 1099511627776 bytes, expected at most 134217728")


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":['])
def test_deep_nesting_is_refused(opening: str, tmp_path: Path) -> None:
    path = write_wikics(tmp_path / "wikics", {})
    path.write_text('{"features": ' + opening * 10**6)
    with little_memory():
        assert "cannot be read (" in refusal(lambda: load("wikics", tmp_path))


any_json = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=3),
    lambda inner: some.lists(inner, max_size=15) | some.dictionaries(some.text(max_size=2), inner, max_size=2),
    max_leaves=20,
)


@given(changes=some.dictionaries(some.sampled_from(wikics_format.KEYS), any_json, min_size=1, max_size=3))
def test_json_of_any_kind_is_a_graph_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    write_wikics(folder / "wikics", wikics_content() | changes)
    with suppress(InputError):
        assert load("wikics", folder).num_nodes > 0
