"""A fitted encoder as bytes, through skops: data, never a pickle.

Bytes may come from anybody. Before skops sees them, their length, their checksum, the sizes in their zip directory and
every type they name are looked at. Only types that we write ourselves pass; skops alone would also take any of
scikit-learn's and numpy's.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

from settwister.errors import InputError, reason

MAGIC = b"settwister table encoder 1\n"
LARGEST = 512 * 2**20  # bytes, packed as well as unpacked
LARGEST_SCHEMA = 128 * 2**20  # bytes of JSON, which take several times as much when parsed
MOST_MEMBERS = 100_000

# Objects of these types are made without calling them, and then given their attributes.
OBJECTS = (
    "polars.datatypes.classes.Date",
    "polars.datatypes.classes.Datetime",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.preprocessing._data.RobustScaler",
    "sklearn.preprocessing._encoders.OneHotEncoder",
    "skrub._clean_null_strings.CleanNullStrings",
    "skrub._datetime_encoder.DatetimeEncoder",
    "skrub._drop_uninformative.DropUninformative",
    "skrub._squashing_scaler.SquashingScaler",
    "skrub._squashing_scaler._MinMaxScaler",
    "skrub._table_vectorizer.PassThrough",
    "skrub._to_datetime.ToDatetime",
    "skrub._to_float.ToFloat",
    "skrub._to_str.ToStr",
)
# Plain data. A type stands for nothing but itself: of a dictionary's keys, all of which are text.
PLAIN = {
    ("DTypeNode", "numpy.dtype"),
    ("DictNode", "builtins.dict"),
    ("JsonNode", "builtins.str"),
    ("ListNode", "builtins.list"),
    ("NdArrayNode", "numpy.ndarray"),
    ("TupleNode", "builtins.tuple"),
    ("TypeNode", "builtins.str"),
}
# (what builds it in skops, what it is) for all that an encoder may hold.
WRITTEN = frozenset(PLAIN | {("ObjectNode", name) for name in OBJECTS})


def pack(state: dict[str, Any]) -> bytes:
    """``state`` as bytes that :func:`unpack` reads."""
    import skops.io

    packed: bytes = skops.io.dumps(state, compression=zipfile.ZIP_DEFLATED)
    _check(packed)
    return MAGIC + hashlib.sha256(packed).digest() + packed


def unpack(data: bytes) -> dict[str, Any]:
    """What :func:`pack` was given."""
    import skops.io

    start = len(MAGIC) + hashlib.sha256().digest_size
    if not isinstance(data, bytes) or not data.startswith(MAGIC) or len(data) < start:
        raise InputError("these bytes are not a table encoder, expected what TableEncoder.to_bytes gives")
    packed = data[start:]
    if hashlib.sha256(packed).digest() != data[len(MAGIC) : start]:
        raise InputError("the table encoder's bytes are damaged, expected them as they were written: copy them again")
    try:
        _check(packed)
        state = skops.io.loads(packed, trusted=sorted({name for _, name in WRITTEN}))
    except InputError:
        raise
    except Exception as error:  # zipfile, json, numpy and skops have no common error
        raise InputError(f"the table encoder cannot be read ({reason(error)}): fit and save it again") from error
    if not isinstance(state, dict):
        raise InputError(f"the table encoder is a {type(state).__name__}, expected what TableEncoder.to_bytes gives")
    return state


def _check(packed: bytes) -> None:
    """Refuse what is too large or names a type that is not ours, before anything of it is built."""
    if len(packed) > LARGEST:
        raise InputError(f"the table encoder has {len(packed)} bytes, expected at most {LARGEST}: use fewer columns")
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        members = file.infolist()
        size = sum(member.file_size for member in members)
        if size > LARGEST or len(members) > MOST_MEMBERS:
            raise InputError(
                f"the table encoder unpacks to {size} bytes in {len(members)} parts, expected at most {LARGEST} in "
                f"{MOST_MEMBERS}: use fewer columns"
            )
        schema_size = file.getinfo("schema.json").file_size
        if schema_size > LARGEST_SCHEMA:
            raise InputError(
                f"the table encoder's schema has {schema_size} bytes, expected at most {LARGEST_SCHEMA}: use fewer "
                "columns"
            )
        schema = json.loads(file.read("schema.json"))
    for node in _nodes(schema):
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        if (str(node.get("__loader__")), name) not in WRITTEN:
            raise InputError(
                f"the table encoder holds {' '.join(name.split())[:100]}, expected only what TableEncoder writes: do "
                "not use it, or fit it again with the versions installed here"
            )


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a skops schema that says what to build, however deep."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part or "__module__" in part or "__class__" in part:
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
