"""``settwister reproduce nodes``."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commands import settwister
from example_cora import NODES
from graph_files import few_arrays, write_npz
from settwister.experiments.nodes import protocol as protocol_module
from settwister.experiments.nodes.methods import METHODS
from settwister.experiments.nodes.protocol import split_of
from settwister.graphs import load


def test_splits_that_came_with_a_graph(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their runs have a folder of their own; a graph that lacks them is named."""
    asked = ["reproduce", "nodes", "--models", "mlp", "--tasks", "cora", "--seeds", "0-1", "--epochs", "2"]
    places = ["--data-dir", str(data), "--runs", str(tmp_path / "runs"), "--splits"]
    assert settwister(*asked, *places, "geom") == 2
    assert "splits are 'geom', which cora lacks (it has none of its own)" in capsys.readouterr().err
    assert settwister(*asked, *places, "../elsewhere") == 2
    assert "splits is '../elsewhere', expected one of 'geom', 'public'" in capsys.readouterr().err
    path = data / "cora" / "cora.npz"
    parts = np.arange(NODES) % 3 == np.arange(3)[:, None]
    masks = {f"geom_{name}_mask": part for name, part in zip(("train", "val", "test"), parts, strict=True)}
    with np.load(path) as content:
        np.savez(path, **dict(content), **masks)
    graph = load("cora", data)
    assert split_of(graph, 5, "geom") is graph.splits["geom"][0], "of a single split a seed is an initialisation"
    assert len(split_of(graph, 5).test) == NODES // 5
    assert settwister(*asked, *places, "geom") == 0
    assert settwister("reproduce", "integers", "--splits", "geom") == 2
    assert "--splits is geom for integers, expected none: it is for nodes alone" in capsys.readouterr().err
    run = json.loads((tmp_path / "runs/quick-geom-splits-2-epochs/nodes/mlp/cora/seed-1.json").read_text())
    assert run["split"] == {"train": NODES // 3, "validation": NODES // 3, "test": NODES // 3}


def test_reproduce_nodes(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["reproduce", "nodes", "--budget", "smoke", "--models", "gcn,set_twister_plus,label_propagation"]
    places = ["--data-dir", str(data), "--runs", str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")]
    assert settwister(*asked, *places, "--json") == 0
    out = capsys.readouterr()
    rows = json.loads(out.out)["rows"]
    assert [(row["model"], row["task"]) for row in rows] == [
        ("gcn", "cora"), ("label_propagation", "cora"), ("set_twister_plus", "cora"),
    ]  # fmt: skip
    assert rows[0]["paper_mean"] == 88.39
    assert rows[0]["metric"] == "acc"
    assert rows[0]["test_metrics"]["accuracy"] == rows[0]["mean"]
    assert set(rows[0]["test_metrics"]) == {"accuracy", "balanced_accuracy", "macro_f1"}
    assert "friendster, pubmed, citeseer, arxiv, wikics not in the data directory" in out.err
    assert "GCN" in (tmp_path / "page.html").read_text()
    assert settwister(*asked, *places) == 0
    printed = capsys.readouterr().out
    assert "(88.39)" in printed
    assert "of 1 runs" not in printed, "a smoke run is one run"
    assert settwister(*asked, *places, "--seeds", "0-1", "--stored", "--markdown") == 0
    assert "(88.39), 1 of 2 runs |" in capsys.readouterr().out


def test_a_table_says_what_it_is_of(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["reproduce", "nodes", "--models", "gcn,gcn_crossed", "--seeds", "0", "--data-dir", str(data)]
    places = ["--runs", str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")]
    assert settwister(*asked, *places, "--protocol", "tuned", "--trials", "1", "--epochs", "3", "--json") == 0
    plain, crossed = json.loads(capsys.readouterr().out)["rows"]
    run = json.loads((tmp_path / "runs/tuned-3-epochs/nodes/gcn/cora/seed-0.json").read_text())
    said = {"protocol": "tuned", "smoke": False, "splits": None, "given_epochs": 3, "trials": 1}
    assert plain.items() >= (said | {"settings": run["settings"], "learns_from_validation": False}).items()
    assert crossed.items() >= (said | {"learns_from_validation": True}).items()
    assert "; protocol tuned, at most 3 epochs; in parentheses" in (tmp_path / "page.html").read_text()
    for form in ("--markdown", "--latex", "--stored"):
        given = ["--protocol", "tuned", "--epochs", "3", form]
        assert settwister(*asked, *places, *given) == 0
        assert "; protocol tuned, at most 3 epochs; in parentheses" in " ".join(capsys.readouterr().out.split())
    assert settwister(*asked, *places, "--budget", "smoke", "--markdown") == 0
    assert "; protocol quick, budget smoke; in parentheses" in capsys.readouterr().out


def test_runs_that_are_not_counted_are_told_of(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those with other settings once per cell; damaged ones, of another place, and folders each."""
    asked = [
        "reproduce",
        "nodes",
        "--models",
        "mlp",
        "--tasks",
        "cora",
        "--epochs",
        "1",
        "--runs",
        str(tmp_path / "runs"),
    ]
    assert settwister(*asked, "--data-dir", str(data), "--seeds", "0-6") == 0
    capsys.readouterr()
    folder = tmp_path / "runs/quick-1-epochs/nodes/mlp/cora"
    paths = [folder / f"seed-{seed}.json" for seed in range(7)]
    whole = json.loads(paths[0].read_text())
    for seed in (1, 2):
        other = whole | {"seed": seed, "settings": whole["settings"] | {"width": 8}}
        paths[seed].write_text(json.dumps(other))
    paths[3].write_text(json.dumps(whole | {"seed": 3, "model": "gcn"}))
    paths[4].write_text(json.dumps(whole | {"seed": 4, "test": 5000}))
    paths[5].unlink()
    paths[5].mkdir()
    assert settwister(*asked, "--seeds", "0-6", "--stored", "--json", "--html", str(tmp_path / "page.html")) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["rows"][0]["seeds"] == [0, 6]
    assert out.err.splitlines() == [
        f"settwister: of the run files {paths[3]} is of another method, graph, table or seed, so it is left out",
        f"settwister: of the run files {paths[4]} is not whole, so it is left out",
        f"settwister: of the run files {paths[5]} is a folder, so it is left out",
        "settwister: of mlp on cora the runs of seeds 1, 2 have other settings than the one of the most trials, so "
        "they are left out",
    ]
    assert settwister(*asked, "--data-dir", str(data), "--seeds", "5-7") == 2
    assert f"{paths[5]} is a folder, so no run can be written there: move it away" in capsys.readouterr().err
    assert not (folder / "seed-7.json").exists(), "nothing was trained"


def test_without_any_graph_there_is_no_table(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["reproduce", "nodes", "--models", "mlp", "--runs", str(tmp_path / "runs")]
    (tmp_path / "empty").mkdir()
    advice = "name the one that has them with --data-dir or SETTWISTER_DATA; settwister datasets says how to get them"
    assert settwister(*asked, "--data-dir", str(tmp_path / "empty")) == 2
    out = capsys.readouterr()
    assert (out.out, out.err) == ("", f"settwister: {tmp_path / 'empty'} has none of the graphs: {advice}\n")
    monkeypatch.delenv("SETTWISTER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    assert settwister(*asked) == 2
    assert capsys.readouterr().err == f"settwister: there is no data directory: {advice}\n"
    assert settwister(*asked, "--data-dir", str(data), "--splits", "geom") == 2
    assert "no graph of those there has geom splits: leave --splits out" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("more", [[], ["--splits", "public"]])
def test_a_graph_that_cannot_be_read_does_not_keep_the_others_from_being_run(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = write_npz(tmp_path, "cora", few_arrays())
    damaged.write_bytes(b"PK")
    write_npz(tmp_path, "pubmed", few_arrays())
    asked = ["reproduce", "nodes", "--budget", "smoke", "--models", "mlp,label_propagation", "--runs", str(tmp_path)]
    assert settwister(*asked, "--data-dir", str(tmp_path), *more, "--json") == 2
    out = capsys.readouterr()
    assert [(row["model"], row["task"]) for row in json.loads(out.out)["rows"]] == [
        ("mlp", "pubmed"), ("label_propagation", "pubmed")
    ]  # fmt: skip
    _, first, last = out.err.splitlines()
    assert first.startswith(f"settwister: {damaged} cannot be read")
    assert last == "settwister: all was run but for 1 that came to nothing, cora, which cannot be read"


def test_what_diverges_does_not_hide_the_rest(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "gcn", replace(METHODS["gcn"], defaults=dict(width=8, rate=1e30)))
    asked = ["reproduce", "nodes", "--models", "gcn,label_propagation", "--tasks", "cora", "--seeds", "0"]
    page = tmp_path / "page.html"
    places = ["--data-dir", str(data), "--runs", str(tmp_path / "runs"), "--html", str(page)]
    assert settwister(*asked, *places) == 2
    out = capsys.readouterr()
    assert "Label propagation" in out.out
    assert "Label propagation" in page.read_text()
    assert "all was run but for 1 that came to nothing, gcn on cora, seed 0: the loss was" in out.err


def test_a_missing_package_is_named(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    places = ["--data-dir", str(data), "--runs", str(tmp_path / "runs")]
    for asked, what in (
        (["reproduce", "nodes", "--models", "gat", *places], "GAT"),
        (["bench", "nodes"], "bench nodes"),
    ):
        assert settwister(*asked) == 2
        expected = f"{what} needs torch_geometric, which is not installed: pip install 'settwister[pyg]'"
        assert expected in capsys.readouterr().err


def test_what_is_stored_is_shown_without_data_or_training(
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And where there is nothing, or nothing of what is asked for, it says so."""
    asked = ["reproduce", "nodes", "--budget", "smoke", "--models", "gcn", "--runs", str(tmp_path / "runs")]
    assert settwister(*asked, "--stored") == 2
    assert "runs holds no such run of nodes: name the folder of runs with --runs" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
    assert settwister(*asked, "--data-dir", str(data), "--json") == 0
    trained = capsys.readouterr().out
    monkeypatch.setattr(protocol_module, "fit", None)
    monkeypatch.delenv("SETTWISTER_DATA", raising=False)
    assert settwister(*asked, "--stored", "--json") == 0
    out = capsys.readouterr()
    assert (out.out, out.err) == (trained, "")
    assert settwister(*asked, "--stored", "--seeds", "7") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "pubmed"], "pubmed"),
        (["--tasks", "karate"], "table 'nodes' has no task 'karate', expected one of friendster"),
        (["--models", "magic"], "unknown method 'magic', expected label_propagation, "),
        (["--models", "labels_pooled_cs"], "unknown method 'labels_pooled_cs', expected label_propagation, "),
        (["--models", "gcn_cs_cs"], "method 'gcn_cs_cs' has something on top twice"),
        (["--models", "gcn_cs_pooled"], "method 'gcn_cs_pooled' has something on top twice or out of order"),
        (["--models", "gcn_x5_crossed"], "only one of _x5 and _crossed"),
        (["--models", ","], "',' names nothing, expected names separated by commas"),
        (["--trials", "3"], "--trials is 3 under protocol quick, expected none"),
        (["--seeds", "1-"], "seeds are '1-', expected numbers such as 0-4 or 0,2"),
        (["--seeds", "4-0"], "seeds are '4-0', expected a range that rises"),
        (["--seeds", "0-99999999"], "holds at most 1,000"),
        (["--models", "set_twister_m0_k2"], "unknown method 'set_twister_m0_k2'"),
        (["--protocol", "luck"], "protocol is 'luck', expected one of 'quick', 'paper', 'tuned'"),
        (["--holdout-digits"], "--holdout-digits is True for nodes, expected none: it is for tables of images alone"),
        (["--stored", "--protocol", "paper", "--trials", "3"], "--trials is 3 for --stored, expected none"),
        (["--models", "mlp,set_twister_m9_k9"], "method 'set_twister_m9_k9' has 387,420,489 products of sums"),
        (["--models", "set_twister_m9_k9_cs"], "expected at most 33,554,432: choose a smaller M or k"),
    ],
)
def test_bad_requests_are_named(
    arguments: list[str],
    message: str,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert settwister("reproduce", "nodes", *arguments, "--data-dir", str(data), "--runs", str(tmp_path / "runs")) == 2
    out = capsys.readouterr()
    assert message in out.err
    assert not (tmp_path / "runs").exists()
