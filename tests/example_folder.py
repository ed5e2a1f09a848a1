"""What the tests of estimators' folders share: copies of folders, and changes to their files."""

import json
import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from hypothesis import strategies as some

from example_graph import refusal

Where = tuple[Any, ...]
ODD_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 10**30, 10**400, 0.0, 0.5, -1.0, 1e308, 1e-320, math.nan, math.inf),
    *("", "x", "auto", "mlp", "balanced", "int", "float", "bool"),
    *([], [1.0], ["a"], [None] * 3, [1.0] * 3, {}, {"a": 1}),
]
#: what may be done to a field: it is of another type, NaN or gone
CHANGES: list[Callable[[Any, Any], None]] = [
    lambda inside, key: inside.__setitem__(key, {"odd": []}),
    lambda inside, key: inside.__setitem__(key, [["odd"]]),
    lambda inside, key: inside.__setitem__(key, math.nan),
    lambda inside, key: inside.__delitem__(key),
]


def copied(saved: Path, target: Path) -> Path:
    for path in sorted(saved.rglob("*")):
        if path.is_file():
            (target / path.relative_to(saved)).parent.mkdir(parents=True, exist_ok=True)
            (target / path.relative_to(saved)).write_bytes(path.read_bytes())
    return target


def unsealed(folder: Path) -> Path:
    """A folder without checksums, as it is left by whoever means to deceive: so that deeper checks are what refuses."""
    for path in folder.rglob("estimator.json"):
        content = json.loads(path.read_text())
        del content["sha256"]
        path.write_text(json.dumps(content))
    return folder


def content_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "estimator.json").read_text())
    return found


def places(content: Any, where: Where = ()) -> Iterator[Where]:
    """Every key and every place of a list, at any depth, but of the curves only the first numbers."""
    keys: Any = (
        content if isinstance(content, dict) else range(min(2, len(content))) if isinstance(content, list) else ()
    )
    for key in keys:
        yield (*where, key)
        yield from places(content[key], (*where, key))


def put(folder: Path, where: Where, change: Callable[[Any, Any], None]) -> None:
    """Write the JSON with a change to what holds a place."""
    content = content_of(folder)
    inside: Any = content
    for key in where[:-1]:
        inside = inside[key]
    change(inside, where[-1])
    (folder / "estimator.json").write_text(json.dumps(content))


def changed(data: some.DataObject, content: Any) -> Any:
    """The content of a JSON file with one to three values replaced, removed or added."""
    for _ in range(data.draw(some.integers(1, 3))):
        where = data.draw(some.sampled_from(list(places(content))))
        inside = content
        for key in where[:-1]:
            inside = inside[key]
        what = data.draw(some.sampled_from(["replaced", "removed", "added"]))
        value = deepcopy(data.draw(some.sampled_from(ODD_VALUES)))  # the next change may be inside it
        if what == "removed":
            del inside[where[-1]]
        elif what == "added" and isinstance(inside, list):
            inside.append(value)
        else:
            inside[where[-1] if what == "replaced" else "more"] = value
        if not list(places(content)):
            break
    return content


#: cut at a share of the bytes, or with some bytes flipped
DAMAGE = some.one_of(
    some.floats(0, 1), some.lists(some.tuples(some.floats(0, 1), some.integers(1, 255)), min_size=1, max_size=4)
)


def damaged(whole: bytes, damage: Any) -> bytes:
    if isinstance(damage, float):
        return whole[: int(damage * (len(whole) - 2))]
    content = bytearray(whole)
    for place, bits in damage:  # half of them in the first eighth, where headers are
        content[int(place * (len(content) - 1)) // (1 if place > 0.5 else 8)] ^= bits
    return bytes(content)


#: what folders of the first days lack
LATER: set[Where] = {("parameters", "head_layers"), ("parameters", "members"), ("order",)}


def fields_looked_at(load: Callable[[Path], Any], saved: Path, folder: Path) -> int:
    """Change every field of the JSON, each in every way: the refusal names the folder. How many changes there were."""
    original = content_of(saved)
    checked = 0
    for where in places(original):
        if where == ("settwister",):  # for people
            continue
        for change in CHANGES:
            (folder / "estimator.json").write_text(json.dumps(original))
            put(folder, where, change)
            found = content_of(folder)
            if found == original or (where in LATER and where[-1] not in reduce(getitem, where[:-1], found)):
                continue
            message = refusal(lambda: load(folder))
            assert str(folder) in message, where
            assert "\n" not in message
            checked += 1
    return checked
