"""``settwister fit``: tables in, a judged and saved classifier out."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from settwister.cli.output import JsonOption, progress
from settwister.cli.tables import (
    Balanced,
    Directed,
    DropUnknown,
    Edges,
    Epochs,
    Features,
    Force,
    Id,
    Members,
    Nodes,
    Seed,
    SourceColumn,
    Target,
    TargetColumn,
    Weight,
    check_model_folder,
    edge_options,
    notes_on,
    one_hop_classifier,
    say_dropped,
    table_classifier,
    usage_lines,
    verdict,
)


def fit(
    nodes: Nodes,
    id: Id,
    target: Target,
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    edges: Edges = None,
    features: Features = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    weight: Weight = None,
    drop_unknown: DropUnknown = False,
    directed: Directed = False,
    balanced: Balanced = False,
    model: Annotated[str, typer.Option(help="set_twister, deepsets or mlp.")] = "set_twister",
    epochs: Epochs = 1000,
    members: Members = None,
    tune: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Look for better settings for so long. What was tried is kept in OUT.trials.json until the model is "
            "saved, so that the same command goes on where a stopped one was.",
        ),
    ] = 0,
    seed: Seed = 0,
    force: Force = False,
    as_json: JsonOption = False,
) -> None:
    """Train a classifier of nodes on your own tables, judge it, and save it with a page about it.

    Of the nodes whose class is known, a fifth is set aside to judge the outcome by, and another fifth says when to
    stop. Columns may be numbers, categories, booleans, dates or text, with gaps. The folder holds the model,
    report.html and all that predict needs; nothing in it is ever run.

    Example: [cyan]settwister fit --nodes people.parquet --edges friends.parquet --id name --target team --out model[/]
    """
    check_model_folder(out, force=force)
    classifier = one_hop_classifier(directed, balanced, epochs, members, model)
    reading = edge_options(edges, source_column, target_column, weight, drop_unknown, directed)
    table = table_classifier(id, target, features, reading, classifier, seed)
    trials = Path(f"{out.expanduser().absolute()}.trials.json")
    with progress() as bars:
        shown = bars.add_task("reading", total=None, note="")
        graph, split = table.read(nodes, edges)
        if tune:
            bars.update(shown, description="tuning", total=tune)
            began = time.monotonic()

            def tell_trial(done: int, note: str) -> None:
                bars.update(shown, completed=time.monotonic() - began, note=note)

            table.tune(graph, split, time_limit=tune, storage=trials, tell=tell_trial)
        bars.update(shown, description="training", total=None, completed=0)
        table.learn(graph, split, lambda done, most, note: bars.update(shown, completed=done, total=most, note=note))
    usage = usage_lines(nodes, edges, out, drop_unknown)
    report = table.report(usage=usage, notes=notes_on(graph.dropped))
    table.save(out, force=force, report=report)
    if tune:
        trials.unlink(missing_ok=True)
    found = table.evaluation_
    if as_json:
        content: dict[str, Any] = {"model": str(out), "data": asdict(table.data_), "test": found.to_json()}
        content |= {"dropped_edges": graph.dropped} | ({"trials": len(table.trials_)} if tune else {})
        print(json.dumps(content, indent=1))
        return
    say_dropped(graph.dropped)
    console = Console()
    console.print(verdict(found, "test nodes", balanced=report.balanced))
    if tune:
        console.print(f"{len(table.trials_)} settings were tried, each judged on the validation nodes.")
    fitted = table.classifier_
    networks = fitted.network_.config.get("members", 1)
    trained = "The network was" if networks == 1 else f"{networks} networks, answering as one, were"
    whose = "" if networks == 1 else " of the first"
    console.print(
        f"{trained} trained in {table.seconds_:.1f} s; epoch {fitted.best_epoch_} of {fitted.n_iter_}{whose} was kept."
    )
    console.print(f"Model: {escape(str(out))}   Page: {escape(str(out / 'report.html'))}", highlight=False)
    for what, line in usage.items():
        console.print(f"{what}: [cyan]{escape(line)}[/]", highlight=False, soft_wrap=True)
