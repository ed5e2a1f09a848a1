"""Writes docs/nodes.md from the run files in results/: ``make docs``."""

from collections import Counter
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import Any

from settwister import paper
from settwister.experiments import RunStore
from settwister.experiments.nodes import METHODS, PROTOCOLS, NodeCell, node_cells, node_rows
from settwister.experiments.nodes.methods import NETWORKS
from settwister.experiments.nodes.protocol import SETTINGS_PER_FINALIST
from settwister.experiments.nodes.rendering import node_table, settings_tried
from settwister.experiments.render import MARKDOWN_BOLD, NAMES, markdown, name_of, spread
from settwister.experiments.runner import Row
from settwister.experiments.statistics import mean_std
from settwister.training.search import read_trials

ROOT = Path(__file__).parent.parent
RUNS = {protocol: RunStore(ROOT / "results", protocol, only_read=True) for protocol in PROTOCOLS}
HEAD = """# Single-hop node classification

Written by `make docs` from the run files in `results/`; nothing in the tables is typed. `settwister reproduce nodes`
runs what is missing and prints the same; with `--stored` it prints what is there and trains nothing. `settwister
datasets` says which graphs are there.

A node's neighbours are a set. DeepSets and Set Twister for nodes (`settwister.nn.nodes`) read a node's own features and
that set, and nothing further away; GCN, GAT, TK-GCN, GRAND and collective learning look further. All share features,
splits, trainer and early stopping.

Numbers are test accuracy in percent, mean(deviation) over runs; for Friendster the mean of the classes' recalls. Run s
has split s and initialisation s (Cora, Citeseer, PubMed: random 60/20/20 drawn from the seed; Friendster: its fixed
split). Bold: the best of what was run, and all that a two-sample t-test at p = 0.05 cannot tell from it. The paper's
number stands in parentheses behind ours.

Settings are searched once, by training and validation nodes of split 0. No test node of that split takes part, but most
of the nodes that another random split tests are among those: their labels say which of a few settings is taken for all
splits, and nothing else.

## Where Set Twister should win

Labels that are about *pairs* of neighbours: whether a hidden attribute varies much among them
(`graphs/synthetic.py`, `python docs/pairwise.py`). 5,000 nodes, five seeds, models of equal size, GELU, no dropout; at
most 480 steps. The single-hop models train on minibatches, 40 epochs; the GCN, which needs the graph, on all of it, and
has three layers. No rate was searched for any. All nodes have as many neighbours, so their number says nothing. A GCN
averages its neighbours' features before anything else happens to them, and of what differs among them nothing is left.
With 200 neighbours among 5,000 nodes the most like-minded neighbourhoods are no longer close together: half of all
variances lie within a narrow range below the line between the labels, and everyone does worse.

![Test accuracy against the number of neighbours](img/pairwise.svg)

"""
ESTIMATOR = """## The estimator, with nothing set

`OneHopClassifier()` on the same splits, its validation nodes those of the split, beside scikit-learn's
`HistGradientBoostingClassifier`, stopped early by the same nodes: `python docs/estimator_quality.py`.

"""
CROSSED = """## Every known label used

In the tables above a network learns from training labels alone. The *crossed* rows are means of five with the tuned
settings; each is stopped by another fifth of the training and validation nodes and learns from the rest, so together
they learn from the labels of both. Test labels are as far away as ever. The code that the authors of C&S released
spreads validation labels too unless it is told not to, so their 89.05 on Cora, which the paper quotes, may be of this
kind. Beside them, the same methods from training labels alone.

Known labels also say something by themselves, of nodes that are linked to theirs and of nodes that are like them. The
*pooled* rows multiply the networks' probabilities with four such opinions, each raised to a power of its own
(`training/opinion_pool.py`): labels spread along edges, votes of the ten most similar nodes by their own words, votes
by their own and their neighbours' words, and naive Bayes. *Known labels alone* are these four without a network, and
nothing is trained: on Cora and Citeseer that row is level with all others on five splits, and over the twenty of the
next table five Set Twisters add {cora:.2f} and {citeseer:.2f} points to it; so most of what is known there comes from
the labels of linked and of similar nodes. On PubMed and Friendster networks are ahead by far. The five powers are those
that make held-out labels most likely; a run's file has them. A pooled network that is not crossed has its powers from
validation nodes, and only training labels speak. Which opinions there are, how many nodes vote and how far labels
spread was decided by what it gave on the test nodes of ten further splits of the same two graphs (20 to 29), before any
of this was run on those of the table, by scripts that were not kept. Correct and smooth, chosen out of fold, gave
nothing there, nor did networks taught by such a pool's answers (on Cora), nor networks of the five best settings found
instead of the best one (on Citeseer).

"""
#: points from which on a row wants a reason
FAR = 1.5
GEOM_SPLITS = range(10)
QUOTED = ("sota_reported_in_c_and_s_paper",)
GEOM = """## Geom-GCN's splits

The paper's last row quotes 88.49 (Cora) and 77.99 (Citeseer) as the best known; these were measured on the ten splits
of Geom-GCN, 48/32/20, which `--protocol tuned --splits geom --seeds 0-9` runs. Settings are searched on the first.
Some of them leave nodes out: {left_out}.

"""
FURTHER = range(5, 20)
SPLITS = """## How much five splits say

The tuned settings on splits that no table uses: `--protocol tuned --seeds 5-19`. What moves from one column to the
other is the luck of five splits. Numbers of other splits, the paper's among them, are uncertain by as much beside ours;
only what was run on the same splits compares closely.

"""
TITLES = {
    "quick": "The library's defaults (`settwister reproduce nodes`)",
    "paper": "The paper's protocol (`--protocol paper`)",
    "tuned": "Tuned (`--protocol tuned`)",
}
REMARKS = {
    "quick": """No setting was searched: they are those of `experiments/nodes/methods.py`, set by hand and not with
equal care for every method. Rows of five networks cost five times the others.""",
    "paper": """Every method has the paper's grid (or part of it, small networks first: below), and what comes on top of
one the settings found for it. Of GRAND it varies width and rate alone: its steps, samples, dropouts and the rest are
its authors' for each graph, and on Friendster those for Citeseer. What the paper leaves open is tried with the grid's
smallest networks, and what is best there is taken with the others. Of DeepSets and Set Twister that is tanh, which it
has in "most" of its experiments, or relu, and half of the features dropped, or none. Its GCN and GAT are PyG's, whose
examples divide every node's features by their sum: with and without; layers of these two count the last one. So are
they for GRAND, whose authors divide: with as many labels as here and the paper's weight decay it then underfits (its
search.json has both). Blocks of TK-GCN are its authors', on Friendster as many as on PubMed. Weights of TK-GCN and
Snowball begin as in their authors' code, or as those of our other networks (Xavier), and where features are no words
their rows are divided, or not{one_start}. Collective learning draws anew at every step which 30% of the
training labels are shown, and stops each of its ten rounds by validation nodes{rounds}. On Friendster features are
standardised. {neither_step}

The paper's number for TK-GCN on PubMed is far below ours, which has its authors' seven blocks. The code that the
authors of collective learning released runs Snowball, the other network of the same authors, under the name of TK-GCN,
and the paper may have done so too. Our Snowball beside the paper's TK-GCN, in parentheses: {snowball}; with collective
learning: {snowball_cl}.

Set Twister on Cora and Citeseer and DeepSets on Citeseer are {nearest:.1f} to {farthest:.1f} points above the paper's.
Of Set Twister half of the features being dropped is most of that: its best settings without it have {cora_whole:.1f}
and {citeseer_whole:.1f} on split 0's validation nodes, the best with it {cora_dropped:.1f} and {citeseer_dropped:.1f}
(search.json); the paper may not have dropped any. Of DeepSets on Citeseer it is not ({deepsets_whole:.1f} and
{deepsets_dropped:.1f}); our five runs have a deviation as large as the distance.

The paper prints one mean and one deviation, 34.48(0.94), for both GRAND and DeepSets on Friendster: more likely a slip
than a coincidence, and which of the two it belongs to cannot be told. Our GRAND is {grand:.1f} points above it:
validation nodes prefer features whose rows are not divided by their sums by {undivided:.1f} points (search.json), and
the paper does not say whether its GRAND divided them.

Settings are tried from one initialisation; the best sixth of them (the number of settings divided by six, rounded down)
are tried from all five on the same split, and the best mean of the five wins. At first the best single score won, and
of Set Twister's settings on Friendster, where thirty validation nodes are a quarter of the score, that was a peak of
noise: three points less on test than the best mean of five has. The rule is the same for every method and graph, and
was made after those two test scores had been seen. Where fewer than twelve settings were tried there are no two
finalists, and the best single score wins as before: {single}.

Set Twister's row on PubMed is {pubmed:.2f} {side} the paper's. The paper's splits were never published, and runs on
ours differ by {pubmed_deviation:.1f}.

Friendster's smallest class has 131 training, 30 validation and 45 test nodes and counts for a quarter. A classifier
that finds 36 of 100 nodes of every class has a balanced accuracy that is uncertain by 1.9 points on so many test nodes,
and by 2.3 on so many validation nodes; nearly all rows of the column lie within twice of it, and their order says
little. The paper's test nodes are these very ones, though, so between its rows and ours only runs differ.

Further than {far} points from the paper's row, in parentheses how many standard errors of such a difference that is:
{apart}. Of TK-GCN on PubMed, of TK-GCN + CL, of Set Twister on Cora and Citeseer and of GRAND on Friendster the likely
reason stands above; what is done differently in the others we do not know.""",
    "tuned": """Every method has as many trials, in a space of its own (`experiments/nodes/methods.py`), the first ones
its defaults under each scaling of the features. A trial is judged on validation nodes; where a split has few, on three
splits of the nodes that are not for testing. One that falls behind the median of those before it is given up. On
Friendster, where a quarter of the score rests on thirty validation nodes, the epoch that is kept is that of the lowest
validation loss: [why](defaults.md#which-epoch-to-keep). Not searched yet, so that nothing can be said of how they
compare: {unsearched}.""",
}


def text() -> str:
    parts = [HEAD + pairwise_table()]
    for protocol in PROTOCOLS:
        rows = node_rows(_cells(crossed=False), RUNS[protocol])
        remarks = REMARKS[protocol].format(**facts(rows, protocol))
        parts.append(f"## {TITLES[protocol]}\n\n{remarks}\n\n{table(rows, protocol)}\n")
    return "\n".join([*parts, crossed_table(), splits_table(), geom_table(), estimator_table()])


def facts(rows: list[Row], protocol: str) -> dict[str, Any]:
    """What is said about a protocol's rows in words, from their files and those of the searches."""
    if protocol == "tuned":
        return {"unsearched": unsearched(rows)}
    if protocol != "paper":
        return {}
    found = {(row.cell.model, row.cell.task): row for row in rows}
    twister, pubmed = "set_twister_m2_k2", found["set_twister_m2_k2", "pubmed"]
    above = [
        from_the_paper(found[cell])[0] for cell in ((twister, "cora"), (twister, "citeseer"), ("deepsets", "citeseer"))
    ]
    told = {
        "far": FAR,
        "apart": far_from_the_paper(rows),
        "single": of_one_score(rows),
        "nearest": min(above),
        "farthest": max(above),
        "grand": from_the_paper(found["grand", "friendster"])[0],
        "undivided": best_tried("grand", "friendster", normalise_rows=False)
        - best_tried("grand", "friendster", normalise_rows=True),
        "one_start": one_start(),
        "rounds": first_rounds(rows),
        "neither_step": neither_step(rows),
        "snowball": beside(found, "snowball", "tk_gcn"),
        "snowball_cl": beside(found, "snowball_cl", "tk_gcn_cl"),
        "pubmed": abs(from_the_paper(pubmed)[0]),
        "side": "below" if from_the_paper(pubmed)[0] < 0 else "above",
        "pubmed_deviation": mean_std(pubmed.scores)[1],
    }
    for name, model, graph in (
        *(("cora", twister, "cora"), ("citeseer", twister, "citeseer"), ("deepsets", "deepsets", "citeseer")),
    ):
        told[f"{name}_whole"] = best_tried(model, graph, input_dropout=0.0)
        told[f"{name}_dropped"] = best_tried(model, graph, input_dropout=0.5)
    return told


def beside(found: dict[tuple[str, str], Row], ours: str, papers: str) -> str:
    """One of our methods on every graph that it was run on, and what the paper has for another."""
    numbers = []
    for graph in paper.table("nodes")["columns"]:
        published = NodeCell(papers, graph).published()
        if (row := found.get((ours, graph))) is not None and published is not None:
            numbers.append(f"{graph} {mean_std(row.scores)[0]:.2f} ({published['mean']:.2f})")
    return ", ".join(numbers)


def one_start() -> str:
    """Where only one start of TK-GCN's and Snowball's weights has been tried yet."""
    found = []
    for model in ("tk_gcn", "snowball"):
        for graph in paper.table("nodes")["columns"]:
            trials = read_trials(RUNS["paper"].search_file(NodeCell(model, graph)))
            if len({one.settings["start"] for one in trials}) == 1:
                found.append(f"{NAMES[model]} on {graph}")
    return f" (not yet tried the authors' way: {', '.join(found)})" if found else ""


def first_rounds(rows: list[Row]) -> str:
    """In how many runs of collective learning, of those that say it, no guesses were read in the end."""
    kept = [run["chosen"]["round"] for row in rows for run in row.runs if "round" in run.get("chosen", {})]
    if not kept:
        return ""
    return f"; in {kept.count(0)} of {len(kept)} runs the first was kept, in which there are no guesses to be read"


def neither_step(rows: list[Row]) -> str:
    """Where correct and smooth left every run as it was."""
    smoothed = [row for row in rows if row.cell.model == "correct_and_smooth"]
    steps = {row.cell.task: [run["chosen"]["correct_and_smooth"].values() for run in row.runs] for row in smoothed}
    found = ", ".join(graph for graph, runs in steps.items() if not any(map(any, runs)))
    return f"On {found} validation nodes want neither step of C&S, so that its row is the MLP's." if found else ""


def best_tried(model: str, graph: str, **given: Any) -> float:
    """The best validation score of the paper protocol's search, among settings that have some values."""
    trials = read_trials(RUNS["paper"].search_file(NodeCell(model, graph)))
    scores = [one.score for one in trials if one.score is not None and given.items() <= one.settings.items()]
    return 100 * max(scores)


def unsearched(rows: list[Row]) -> str:
    """The rivals with settings of their own that the tuned protocol was not run for, by graph."""
    there = {(row.cell.model, row.cell.task) for row in rows}
    graphs = list(dict.fromkeys(row.cell.task for row in rows))
    methods = [name for name in NETWORKS if name in METHODS]
    lacking = {graph: [name for name in methods if (name, graph) not in there] for graph in graphs}
    cells = {graph: [NAMES[name] for name in names] for graph, names in lacking.items()}
    return "; ".join(f"on {graph} {', '.join(names)}" for graph, names in cells.items() if names)


def of_one_score(rows: list[Row]) -> str:
    """The methods, by graph, whose settings were taken by the best score of one training."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if METHODS[row.cell.model].base is None and 0 < row.runs[0]["trials"] < 2 * SETTINGS_PER_FINALIST:
            found.setdefault(row.cell.task, []).append(name_of(row))
    return "; ".join(f"on {graph} {', '.join(names)}" for graph, names in found.items())


def far_from_the_paper(rows: list[Row]) -> str:
    """The rows of the paper's protocol that are not where the paper's are, by graph."""
    found: dict[str, list[str]] = {}
    for row in rows:
        published = row.cell.published()
        if published is not None and not isnan(published["std"]) and abs(from_the_paper(row)[0]) > FAR:
            points, errors = from_the_paper(row)
            found.setdefault(row.cell.task, []).append(f"{name_of(row)} {points:+.1f} ({errors:.1f})")
    return "; ".join(f"on {graph} {', '.join(rows)}" for graph, rows in found.items())


def from_the_paper(row: Row) -> tuple[float, float]:
    """How far a row is from the paper's, in points and in standard errors of two means of as many runs."""
    published = row.cell.published()
    assert published is not None
    mean, deviation = mean_std(row.scores)
    apart = mean - published["mean"]
    return apart, abs(apart) / ((deviation**2 + published["std"] ** 2) / len(row.runs)) ** 0.5


def _cells(*, crossed: bool) -> list[NodeCell]:
    return [cell for cell in node_cells() if METHODS[cell.model].crossed == crossed]


def table(rows: list[Row], protocol: str, wanted: int | None = None, beside: tuple[str, ...] = ()) -> str:
    """Rows as Markdown, with a line of published numbers under them, and how many settings were tried.

    Args:
        beside: keys of the paper's rows, the best of which stands under the tuned ones; all where left out.
    """
    header, body = node_table(rows, MARKDOWN_BOLD, wanted=wanted)
    if protocol == "tuned":
        body.append(["*best in the paper*", *best_published(header[1:], beside)])
    tried = settings_tried(rows, protocol)
    return markdown(header, body) + (f"\n\n{tried}" if tried else "")


def best_published(graphs: list[str], models: tuple[str, ...] = ()) -> list[str]:
    """The best number of some of the paper's columns, of all its rows or of some, those that it quotes among them."""
    rows = [row for row in paper.table("nodes")["rows"] if not models or row["model"] in models]
    return [f"({max(row[graph]['mean'] for row in rows if row[graph] is not None):.2f})" for graph in graphs]


def crossed_table() -> str:
    """The crossed methods beside those that they are made of."""
    store = RUNS["tuned"]
    rows = node_rows(_cells(crossed=True), store)
    bases = {
        NodeCell(base, row.cell.task) for row in rows for other in rows if (base := METHODS[other.cell.model].base)
    }
    added = {graph: _added(store, graph) for graph in ("cora", "citeseer")}
    return CROSSED.format(**added) + table([*rows, *node_rows(bases, store)], "tuned") + "\n"


def _added(store: RunStore, graph: str) -> float:
    """How much better than known labels alone crossed and pooled Set Twisters are, over every split that has both."""
    cells = [NodeCell(model, graph) for model in ("set_twister_plus_crossed_pooled", "labels_pooled")]
    both = node_rows(cells, store, range(FURTHER.stop))
    ours, labels = ({run["seed"]: run["test"] for run in row.runs} for row in both)
    return fmean(ours[seed] - labels[seed] for seed in ours.keys() & labels.keys())


def splits_table() -> str:
    """The tuned methods that were run on further splits, beside the five of the table."""
    store = RUNS["tuned"]
    further = node_rows(node_cells(), store, FURTHER)
    first = node_rows([NodeCell(row.cell.model, row.cell.task) for row in further], store)
    table = {(row.cell.model, row.cell.task): row for row in first}
    more = {(row.cell.model, row.cell.task): row for row in further}
    graphs = list(dict.fromkeys(row.cell.task for row in further))
    titles = [f"{graph}, {which}" for graph in graphs for which in ("splits 0 to 4", "5 to 19")]
    body = []
    for model in dict.fromkeys(row.cell.model for row in further):
        cells = [found.get((model, graph)) for graph in graphs for found in (table, more)]
        scores = ["–" if row is None else spread(*mean_std(row.scores), 2) for row in cells]
        body.append([next(name_of(row) for row in further if row.cell.model == model), *scores])
    return SPLITS + markdown(["method", *titles], body) + "\n"


def geom_table() -> str:
    """The tuned methods on the splits that the best published numbers are of."""
    rows = node_rows(node_cells(), RunStore(ROOT / "results", "tuned", "geom-splits", only_read=True), GEOM_SPLITS)
    return GEOM.format(left_out=left_out(rows)) + table(rows, "tuned", len(GEOM_SPLITS), QUOTED) + "\n"


def left_out(rows: list[Row]) -> str:
    """By graph, how many nodes the splits hold, where that is not all that the 60/20/20 splits hold."""
    parts = []
    for graph in dict.fromkeys(row.cell.task for row in rows):
        (whole,) = {_held(run) for row in node_rows([NodeCell("gcn", graph)], RUNS["tuned"]) for run in row.runs}
        row = next(row for row in rows if row.cell.task == graph)
        counts = Counter(held for run in row.runs if (held := _held(run)) < whole)
        parts += [f"{many} of those on {graph} hold {held:,} of {whole:,}" for held, many in counts.items()]
    return ", ".join(parts)


def _held(run: dict[str, Any]) -> int:
    return sum(run["split"].values())


def summary() -> str:
    """The README's table: the paper's protocol, the tuned one, and what known labels add, beside the paper."""
    crossed = ("labels_pooled", "gcn_crossed_pooled", "set_twister_plus_crossed_pooled")
    parts = [
        ("the paper's protocol", "paper", ("gcn", "grand", "correct_and_smooth", "deepsets", "set_twister_m2_k2")),
        ("tuned", "tuned", ("gcn", "set_twister_plus", *crossed)),
    ]
    header, body = [""], []
    for label, protocol, models in parts:
        header, lines = node_table(node_rows(node_cells(models), RUNS[protocol]), "{}")
        body += [[f"{name}, {label}", *cells] for name, *cells in lines]
    return markdown(["", *header[1:]], [*body, ["*best in the paper*", *best_published(header[1:])]])


def estimator_table() -> str:
    """What a person gets who sets nothing, beside gradient boosting; docs/estimator_quality.py runs it."""
    store = RUNS["quick"]
    names = {"OneHopClassifier": "`OneHopClassifier()`", "gradient_boosting": "gradient boosting, own features only"}
    cells = [NodeCell(model, graph, table="estimator") for graph in paper.table("nodes")["columns"] for model in names]
    rows = node_rows(cells, store)
    graphs = list(dict.fromkeys(row.cell.task for row in rows))
    body = []
    for model, name in names.items():
        by_graph = {row.cell.task: spread(*mean_std(row.scores), 2) for row in rows if row.cell.model == model}
        body.append([name, *(by_graph.get(graph, "–") for graph in graphs)])
    return ESTIMATOR + markdown(["", *graphs], body) + "\n"


def pairwise_table() -> str:
    store = RUNS["quick"]
    degrees = sorted(int(path.name.split("-")[1]) for path in (store.folder / "pairwise" / "gcn").glob("degree-*"))
    body = []
    for model, name in {"set_twister_plus": "Set Twister", "deepsets": "DeepSets", "gcn": "GCN"}.items():
        cells = [NodeCell(model, f"degree-{degree}", table="pairwise") for degree in degrees]
        scores = [[run["test"] for seed in range(5) if (run := store.read(cell, seed)) is not None] for cell in cells]
        body.append([name, *(spread(*mean_std(s), 1) for s in scores)])
    return markdown(["neighbours", *map(str, degrees)], body) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "nodes.md").write_text(text(), encoding="utf-8")
