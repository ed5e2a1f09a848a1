"""What the tests of tables share: tables of every kind of column, files of them, and damage to their bytes."""

import datetime as dt
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as some

from settwister import InputError

INF, NAN = float("inf"), float("nan")
QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


def written(folder: Path, name: str, content: str | bytes | pl.DataFrame) -> Path:
    path = folder / name
    if isinstance(content, pl.DataFrame):
        content.write_parquet(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def parquet_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def people(rows: int = 120, seed: int = 0) -> pl.DataFrame:
    """A table with a column of every kind, some of each missing."""
    rng = np.random.default_rng(seed)
    words = ["graph", "neural", "sets", "theory", "protein", "poetry", "market", "river", "physics", "history"]
    days = rng.integers(0, 900, rows)
    frame = pl.DataFrame(
        {
            "height": rng.normal(170, 10, rows),
            "children": rng.integers(0, 5, rows),
            "member": rng.random(rows) < 0.5,
            "city": rng.choice(["Rome", "Oslo", "Lima"], rows).tolist(),
            "size": pl.Series(rng.choice(["S", "M"], rows).tolist(), dtype=pl.Enum(["S", "M", "L"])),
            "title": [" ".join(rng.choice(words, 5)) for _ in range(rows)],
            "born": [dt.date(1990, 1, 1) + dt.timedelta(days=int(day)) for day in days],
            "seen": pl.Series(
                [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(day)) for day in days]
            ).dt.replace_time_zone("UTC"),
            "written_date": [f"{1 + day % 28:02d}/{1 + day % 12:02d}/2023" for day in days],
            "written_number": [f"{number:.3f}" for number in rng.normal(size=rows)],
            "stay": [dt.timedelta(minutes=int(day)) for day in days],
            "alarm": [dt.time(int(day) % 24, 30) for day in days],
        }
    )
    gone = pl.DataFrame(rng.random((rows, frame.width)) < 0.1, schema=frame.columns)
    return frame.with_columns(
        pl.when(gone[name]).then(None).otherwise(pl.col(name)).alias(name) for name in frame.columns
    )


def attempt(call: Callable[[], Any]) -> Any:
    """What ``call`` gives, None where it refuses; any other error is a failure."""
    try:
        return call()
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    return None


@some.composite
def damage(draw: Any) -> Callable[[bytes], bytes]:
    """Some bytes changed, cut out, put in, or all from some place on gone."""
    what = draw(some.sampled_from(["change", "cut", "insert", "end"]))
    where = draw(some.lists(some.floats(0, 1, exclude_max=True), min_size=1, max_size=4))
    value = draw(some.binary(min_size=1, max_size=4))

    def damaged(content: bytes) -> bytes:
        for place in (int(share * len(content)) for share in where):
            if what == "end":
                return content[:place]
            kept = content[place + (len(value) if what in ("change", "cut") else 0) :]
            content = content[:place] + (b"" if what == "cut" else value) + kept
        return content

    return damaged
