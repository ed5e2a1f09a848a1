"""Benchmarks measure what they say; how fast things are is for ``settwister bench``, not for a test."""

import pytest
import torch

from settwister.bench import nodes as bench_nodes
from settwister.bench import sets as bench_sets
from settwister.bench import twist as bench_twist
from settwister.bench.timing import Part, Row, best_times, compare
from settwister.functional import multisets, num_multisets, twist
from settwister.nn.nodes import OneHopSetTwister
from settwister.training.node_trainer import predict_nodes


def measured(parts: list[Part]) -> list[Row]:
    return [row for part in parts for row in part()]


def test_the_rival_of_the_multiset_form_computes_the_same() -> None:
    sums, alpha = torch.randn(5, 4, 6), torch.randn(num_multisets(4, 3), 6)
    torch.testing.assert_close(bench_twist.gathered(sums, alpha, torch.tensor(multisets(4, 3))), twist(sums, alpha, 3))


def test_rows_are_ratios() -> None:
    rows = measured(bench_twist.parts(rounds=1))
    assert [row.name for row in rows[:2]] == ["multiset", "factored, rank 16"]
    for row in rows:
        assert row.ratio == row.other / row.ours
        assert set(row.as_row()) == {"name", "ratio", "ours", "other", "unit", "against"}


def test_sets_are_measured_for_training_and_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sizes, not compiled: that every row is there and says what it is."""
    monkeypatch.setattr(bench_sets, "LENGTHS", (10, 20))
    monkeypatch.setattr(bench_sets, "PAIR_LENGTHS", (10, 20))
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    rows = measured(bench_sets.parts(rounds=1))
    assert [row.against for row in rows[:3]] == ["DeepSets, integers", "DeepSets, images", "a plain loop"]
    assert all("slope" in row.name for row in rows[3:])
    assert len(rows) == 7


def test_nodes_are_measured_against_pyg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small stand-ins: that every row is there; a graph too large for the rival has no ratio."""
    monkeypatch.delenv("SETTWISTER_DATA", raising=False)
    monkeypatch.setattr(bench_nodes, "SIZES", {"cora": (200, 400, 30, 3, 0.1), "pubmed": (100, 300, 8, 2, 1.0)})
    monkeypatch.setattr(bench_nodes, "available", lambda folder: {"cora": None, "pubmed": None})
    monkeypatch.setattr(bench_nodes, "GROWTH", (2_000, 3_000))
    monkeypatch.setattr(bench_nodes, "GCN_LARGEST", 2_000)
    rows = measured(bench_nodes.parts(rounds=1))
    against = ["PyG's GCN, {0}", "PyG's GAT, {0}", "PyG's scatter"]
    named = [name.format(graph) for graph in ("cora-sized", "pubmed-sized") for name in against]
    assert [row.against for row in rows] == [*named, "GCN", "GCN"]
    assert rows[0].name == "Set Twister's epoch, cora-sized"
    assert (rows[-1].ratio, rows[-1].other) == (None, None)
    assert rows[-2].ratio is not None


def test_growing_graphs_are_asked_about_the_same_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_nodes, "GROWTH", (2_000, 3_000))
    model = OneHopSetTwister(bench_nodes.FEATURES, 2, (8,), (8,))
    said = []
    for nodes in bench_nodes.GROWTH:
        graph, asked = bench_nodes.grown(nodes)
        assert graph.num_nodes == nodes
        assert len(asked.unique()) == bench_nodes.ASKED
        said.append(predict_nodes(model, graph.x, graph.neighbours, asked))
    torch.testing.assert_close(*said)


def test_runs_take_turns_and_the_best_counts() -> None:
    calls: list[str] = []
    times = best_times({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2, warm_up=1)
    assert calls == ["a", "b"] * 3
    assert compare(times, "a", "b").against == "b"
