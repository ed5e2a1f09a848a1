"""The command line: ``settwister``."""

import inspect
import io
import re
import signal
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from safetensors import SafetensorError

from settwister._version import __version__
from settwister.cli import bench, compare, datasets, demo, fit, predict, reproduce
from settwister.cli.memory import keep_freed_memory
from settwister.errors import InputError

app = typer.Typer(
    name="settwister",
    help="Classify nodes by the set of their neighbours, and learn functions of sets. Every command prints JSON with "
    "--json; progress goes to standard error. Exit codes: 0 done, 1 a check did not hold, 2 bad usage or bad input, "
    "130 and 143 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "fit": fit.fit,
    "predict": predict.predict,
    "evaluate": predict.evaluate,
    "compare": compare.compare,
    "explain": predict.explain,
    "reproduce": reproduce.reproduce,
    "bench": bench.bench,
    "datasets": datasets.datasets,
}
INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)  # the first is how typer ends after Ctrl-C
TRAINING = ("demo", "fit", "compare", "reproduce")
for name, command in COMMANDS.items():
    # Lines of one paragraph are joined: the terminal's width decides where they break, not the source's.
    described = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(command.__doc__ or ""))
    app.command(name, help=described)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"settwister {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    if context.invoked_subcommand in TRAINING:
        keep_freed_memory()


def main() -> None:
    """Run the command line; a caller's mistake is one sentence on standard error and exit code 2."""
    # So that what was begun beside a file or folder is cleared away.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that a terminal cannot show is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (InputError, OSError, SafetensorError) as error:  # the last two: a full disk, a folder that went away
        print(f"settwister: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as end:
        if end.code in INTERRUPTED:
            print("settwister: interrupted; what was finished is kept", file=sys.stderr)
        raise
