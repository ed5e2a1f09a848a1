"""The node table's protocols: which settings a method gets, and what is run with them.

``quick`` is the library's defaults. ``paper`` is the paper's grid: every combination, or as many, small networks first,
is tried from one initialisation; the best sixth of them on validation are tried from all five, and the best on average
is taken. What the paper leaves open is decided by the grid's smallest networks. ``tuned`` is as many trials of Optuna's
sampler for every method, each in a space of its own; what comes on top of a method (correct and smooth, collective
learning, an average of several) takes over the settings that were found for it. Where splits are random, run s has
split s and initialisation s, and searches see the training and validation nodes of split 0.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from settwister._checks import choice
from settwister.errors import DivergedError, InputError, UnfinishedError
from settwister.experiments.nodes.cells import SEEDS, NodeCell
from settwister.experiments.nodes.fit import Fitted, fit, metrics, recipe_with
from settwister.experiments.nodes.judging import judged, raced
from settwister.experiments.nodes.methods import Method, method
from settwister.experiments.runner import Row
from settwister.experiments.store import RunStore
from settwister.graphs import Graph, Split, available, load, random_split
from settwister.training.node_recipe import NodeRecipe
from settwister.training.search import (
    Settings,
    Space,
    as_json,
    at_most,
    best_of,
    best_of_finalists,
    lies_in,
    sampled_search,
)

PROTOCOLS = ("quick", "paper", "tuned")
#: splits that a run has without being asked for them, where they came with the graph; and those to be asked for
PRESCRIBED, SPLITS = ("fixed", "year", "official"), ("geom", "public")
TRIALS = 40
SEARCH_SEED = 0
#: one in so many of a grid's settings is tried from every initialisation
SETTINGS_PER_FINALIST = 6

Tell = Callable[[NodeCell, int, int, str], None]


def recipe_of(graph: Graph, epochs: int | None = None, protocol: str = "paper") -> NodeRecipe:
    """The paper's: Adam, weight decay 5e-4, patience 200; classes weighed where they are uneven.

    There the tuned protocol keeps the epoch of the lowest validation loss and waits half as long for one: thirty nodes
    of the smallest class make a quarter of the score, and its best of hundreds of epochs is a peak of noise.
    """
    recipe = NodeRecipe(balanced=graph.balanced)
    if protocol == "tuned" and graph.balanced:
        recipe = replace(recipe, chosen_by="loss", patience=recipe.patience // 2)
    return recipe if epochs is None else replace(recipe, epochs=epochs)


def split_of(graph: Graph, seed: int, family: str | None = None) -> Split:
    """The split of a run: one that came with the graph where it has its own, else 60/20/20 at random.

    Args:
        family: which of the graph's own to take, such as ``"geom"``, each of them once, unless there is but one; left
            out, those that its makers prescribe, as often as there are seeds.
    """
    if family is not None and family not in graph.splits:
        has = f"it has {', '.join(graph.splits)}" if graph.splits else "it has none of its own"
        raise InputError(f"splits are {family!r}, which {graph.name} lacks ({has}): leave --splits out for 60/20/20")
    for own in PRESCRIBED if family is None else (family,):
        if own in graph.splits:
            count = len(graph.splits[own])
            if family is not None and 1 < count <= seed:
                raise InputError(
                    f"seed {seed} is beyond the {count} {own} splits of {graph.name}, expected 0 to {count - 1}: it "
                    "would be of one of these again, so leave it out"
                )
            found = graph.splits[own][seed % count]
            if len(found.test) == 0:
                raise InputError(f"the {own} split of {graph.name} has no test nodes, so nothing can be judged by it")
            return found
    return random_split(graph.labelled, seed)


def absent(cells: Iterable[NodeCell], data_dir: str | Path | None) -> list[str]:
    """The graphs of these cells that are not in the data directory."""
    places = available(data_dir)
    return [name for name in dict.fromkeys(cell.task for cell in cells) if places[name] is None]


def run_missing_nodes(
    cells: Iterable[NodeCell],
    store: RunStore,
    protocol: str,
    *,
    data_dir: str | Path | None = None,
    seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    trials: int | None = None,
    splits: str | None = None,
    tell: Tell = lambda cell, done, total, note: None,
    say: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Search and train what has no file yet.

    Args:
        seeds: which runs; left out, those of each cell.
        trials: settings that a search tries; None for the whole grid, or for :data:`TRIALS` where it is sampled. Where
            runs are there after fewer than so many, the search goes on, and those whose settings are no longer the
            best are run again; None takes runs as they are there.
        splits: which of the graphs' own splits to take, as for :func:`split_of`.
        tell: called with the cell, trainings done, trainings in all, and a note for people.
        say: called with a sentence about a graph that cannot be read; the others are run all the same.

    Raises:
        UnfinishedError: in the end, where something came to nothing.
    """
    choice("protocol", protocol, PROTOCOLS)
    cells = list(cells)
    store.check_writable(
        (one, seed)
        for cell in cells
        for one in ((cell,) if protocol == "quick" else (cell, _base(cell)))
        for seed in (cell.seeds if seeds is None else seeds)
    )
    graphs: dict[str, Graph | None] = {}  # one at a time; None where it cannot be read
    failed: list[str] = []
    for cell in cells:
        wanted = list(cell.seeds if seeds is None else seeds)
        done = _of_one_search(run for seed in wanted if (run := store.read(cell, seed)) is not None)
        if all(_is_done(done.get(seed), trials) for seed in wanted):
            continue
        if cell.task not in graphs:
            try:
                graphs = {cell.task: load(cell.task, data_dir)}
            except InputError as error:
                graphs = {cell.task: None}
                failed.append(f"{cell.task}, which cannot be read")
                say(str(error))
        if (graph := graphs[cell.task]) is None:
            continue
        for seed in wanted:
            split_of(graph, seed, splits)
        effort = trials  # a search goes on; it never goes back
        if trials is not None:
            effort = max([trials, *(run.get("trials", 0) for run in done.values())])
        failed += _run(cell, graph, store, protocol, wanted, epochs, effort, splits, tell)
    if failed:
        raise UnfinishedError(f"all was run but for {len(failed)} that came to nothing, {'; '.join(failed)}")


def _of_one_search(runs: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Runs by seed, without those that have other settings than the ones found by the most trials.

    A search that went on and was killed before all runs were made again leaves such.
    """
    found = sorted(runs, key=lambda run: run["seed"])
    if not found:
        return {}
    newest = max(found, key=lambda run: run.get("trials", 0))
    return {run["seed"]: run for run in found if run.get("settings") == newest.get("settings")}


def _is_done(run: dict[str, Any] | None, trials: int | None) -> bool:
    """Whether a run is there, and was found by as many trials as are asked for; one without a search has 0."""
    return run is not None and not 0 < run.get("trials", 0) < (trials or 0)


def node_rows(cells: Iterable[NodeCell], store: RunStore, seeds: Sequence[int] | None = None) -> list[Row]:
    """What the store has of these cells; cells without a run are left out."""
    found = []
    for cell in cells:
        wanted = cell.seeds if seeds is None else seeds
        there = [run for seed in wanted if (run := store.read(cell, seed)) is not None]
        if runs := _of_one_search(there):
            found.append(Row(cell, list(runs.values()), [run["seed"] for run in there if run["seed"] not in runs]))
    return found


def _base(cell: NodeCell) -> NodeCell:
    """The cell whose search this one takes its settings from."""
    return replace(cell, model=method(cell.model).base or cell.model)


def _run(
    cell: NodeCell,
    graph: Graph,
    store: RunStore,
    protocol: str,
    seeds: list[int],
    epochs: int | None,
    trials: int | None,
    splits: str | None,
    tell: Tell,
) -> list[str]:
    """Search, and train those seeds that were not trained with what is found; a sentence for each that diverged."""
    chosen, recipe = method(cell.model), recipe_of(graph, epochs, protocol)
    settings, tried = chosen.untuned(graph.name), 0
    searched: dict[str, Any] = {}
    if protocol != "quick" and chosen.build is not None:
        base = _base(cell)
        split = split_of(graph, SEARCH_SEED, splits)
        tried = _effort(method(base.model), graph, protocol, trials)
        try:
            settings = _searched(
                method(base.model),
                graph,
                split,
                recipe,
                protocol,
                tried,
                store.search_file(base),
                lambda done, note: tell(cell, done, tried + len(seeds), note),
            )
        except DivergedError as error:
            return [f"{cell.model} on {cell.task}: {error}"]
        searched = {"space": as_json(_space(method(base.model), graph, protocol))}
    total = tried + len(seeds)
    tell(cell, tried, total, "")
    diverged = []
    for done, seed in enumerate(seeds):
        split = split_of(graph, seed, splits)

        def tell_epoch(epoch: int, note: str, already: int = tried + done, seed: int = seed) -> None:
            tell(cell, already, total, f"seed {seed}, epoch {epoch}, {note}")

        earlier = store.read(cell, seed)
        if earlier is not None and earlier.get("settings") == settings:
            if earlier.get("trials", 0) < tried or any(earlier.get(name) != searched[name] for name in searched):
                store.write(cell, seed, earlier | searched | {"trials": tried})
            continue
        try:
            found = fit(chosen, graph, split, settings, recipe, seed, tell_epoch)
        except DivergedError as error:
            diverged.append(f"{cell.model} on {cell.task}, seed {seed}: {error}")
            continue
        store.write(cell, seed, _content(found, graph, split, seed, settings, recipe) | searched | {"trials": tried})
        tell(cell, tried + done + 1, total, f"seed {seed}, validation {100 * found.validation:.1f}")
    return diverged


def _effort(base: Method, graph: Graph, protocol: str, trials: int | None) -> int:
    """How many settings a search tries."""
    if protocol == "tuned":
        return TRIALS if trials is None else trials
    whole = base.paper_effort(graph.name)
    return whole if trials is None else min(trials, whole)


def _space(base: Method, graph: Graph, protocol: str) -> Space:
    """What a search varies, and what it takes as given: a single choice."""
    return base.space if protocol == "tuned" else base.paper_space(graph.name)


def _searched(
    base: Method,
    graph: Graph,
    split: Split,
    recipe: NodeRecipe,
    protocol: str,
    tried: int,
    path: Path,
    tell: Callable[[int, str], None],
) -> Settings:
    """The settings that the protocol's search finds for a method."""
    if protocol == "tuned":
        search = sampled_search(base.space, base.starts(graph.name), tried)
        found, _ = best_of(search, raced(base, graph, split, recipe, SEARCH_SEED), path, tell, enough=tried)
    else:
        judge = judged(base, graph, split, recipe, SEARCH_SEED)
        found, trials = best_of(at_most(base.paper_search(graph.name), tried), judge, path, tell)
        if (finalists := tried // SETTINGS_PER_FINALIST) >= 2:
            further = [judged(base, graph, split, recipe, seed) for seed in range(SEEDS) if seed != SEARCH_SEED]
            found = best_of_finalists(trials, finalists, further, path, lambda note: tell(tried, note))
    if not lies_in(found, _space(base, graph, protocol)):
        raise InputError(f"{path} holds trials of something else: remove it, and the search begins anew")
    return found


def _content(
    found: Fitted, graph: Graph, split: Split, seed: int, settings: Settings, recipe: NodeRecipe
) -> dict[str, Any]:
    test = metrics(found.scores, graph.y, split.test)
    return {
        "seed": seed,
        "test": test["balanced_accuracy" if graph.balanced else "accuracy"],
        "validation": 100 * found.validation,
        "test_metrics": test,
        "settings": settings,
        "recipe": recipe_with(recipe, settings).to_json(),
        "chosen": found.chosen,
        "best_epoch": found.best_epoch,
        "epochs": found.epochs,
        "seconds_per_epoch": found.seconds_per_epoch,
        "parameters": found.parameters,
        "split": {part: len(getattr(split, part)) for part in ("train", "validation", "test")},
        "curves": {name: [round(value, 4) for value in values] for name, values in found.curves.items()},
    }
