"""Packages that a plain installation does not bring: the extras of ``pip install 'settwister[...]'``."""

import importlib

from settwister.errors import InputError


def needs(what: str, extra: str, *packages: str) -> None:
    """Refuse to go on with ``what`` where a package cannot be imported, and say which extra brings it."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise InputError(
                f"{what} needs {package}, which is not installed: pip install 'settwister[{extra}]'"
            ) from error
