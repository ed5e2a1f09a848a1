"""Checksums of a folder's files, so that damage and careless edits are noticed before anything is believed.

They do not prove who wrote a folder, as whoever changes a file can change its checksum too; nothing in a folder is run
either way. Folders that were written before there were checksums have none and are opened without.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from settwister.errors import InputError

ENTRY = "sha256"


def sealed(folder: Path, name: str, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a folder's JSON file, of this name, with checksums of it and of all files that are there."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return content | {
        ENTRY: {path.relative_to(folder).as_posix(): _of_file(path) for path in files} | _own(name, content)
    }


def check(folder: Path, name: str, content: dict[str, Any]) -> None:
    """Refuse a folder with a file that is not as it was written, or gone."""
    if ENTRY not in content:
        return
    given = content[ENTRY]
    if not isinstance(given, dict) or name not in given:
        raise InputError(f"{folder / name} does not list checksums by file, expected what save wrote")
    rest = {key: value for key, value in content.items() if key != ENTRY}
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for file, digest in given.items():
        if file not in there:
            raise InputError(f"{folder / file} is missing, expected it beside {name}: save or copy the folder again")
        found = _own(name, rest)[name] if file == name else _of_file(there[file])
        if found != digest:
            raise InputError(f"{folder / file} is not as it was written: save or copy the folder again")


def _own(name: str, content: dict[str, Any]) -> dict[str, str]:
    """The checksum of what a JSON file says, however it is laid out."""
    return {name: hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
