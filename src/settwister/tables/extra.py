"""The packages that tables need, which a plain installation does not bring."""

import importlib

from settwister.errors import InputError


def needs(*packages: str) -> None:
    """Refuse to go on where one of ``packages`` cannot be imported."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise InputError(
                f"tables need {package}, which is not installed: pip install 'settwister[tables]'"
            ) from error
