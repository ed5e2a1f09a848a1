"""Small files that would become large: refused in one sentence before they fill the memory, honest ones read."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from example_tables import QUICK, attempt, damage, parquet_bytes, refusal, written
from settwister.tables import csv_file, parquet_file, read_edges, read_table, unpacking

LIMITS = (csv_file.ALWAYS, parquet_file.ALWAYS, unpacking.MOST_TIMES)  # before the fixture below
IDS = pl.Series([1, 2])
READERS: dict[str, Callable[[Path], Any]] = {
    "whole": read_table,
    "batches": lambda path: read_edges(path, IDS),
}
readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that small files can reach."""
    monkeypatch.setattr(csv_file, "ALWAYS", 10_000)
    monkeypatch.setattr(csv_file, "BLOCK_BYTES", 4_096)
    monkeypatch.setattr(parquet_file, "ALWAYS", 10_000)
    monkeypatch.setattr(unpacking, "MOST_TIMES", 4)


# ---- packed CSV -----------------------------------------------------------------------------------------------------


@readers
@pytest.mark.parametrize("name", ["e.csv.gz", "e.tsv.gz", "E.CSV.GZ"])
def test_a_packed_file_that_becomes_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[[Path], Any]
) -> None:
    text = b"source,target\n" + b"1,2\n" * 250_000
    path = written(tmp_path, name, gzip.compress(text.replace(b",", b"\t") if "tsv" in name else text))
    size = path.stat().st_size
    for function in ("read_csv", "open_csv"):
        monkeypatch.setattr(pyarrow.csv, function, lambda *_: pytest.fail("given to pyarrow"))
    message = refusal(lambda: read(path))
    assert message.startswith(f"{path} has {size} bytes and unpacks to ")
    assert f"expected at most {max(10_000, 4 * size)} of a file of that size" in message
    assert message.endswith("if you trust it, decompress it first")


@readers
def test_the_same_file_unpacked_is_read(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    text = b"source,target\n" + b"1,2\n" * 25_000
    refusal(lambda: read(written(tmp_path, "e.csv.gz", gzip.compress(text))))
    read(written(tmp_path, "e.csv", text))


@readers
def test_a_packed_file_may_become_a_little_always_and_much_if_it_is_large(
    tmp_path: Path, read: Callable[[Path], Any]
) -> None:
    read(written(tmp_path, "e.csv.gz", gzip.compress(b"source,target\n" + b"1,2\n" * 2_000)))
    notes = np.random.default_rng(0).bytes(40_000).hex()
    text = "source,target,note\n" + "".join(f"1,2,{notes[place : place + 80]}\n" for place in range(0, 80_000, 80))
    path = written(tmp_path, "e.csv.gz", gzip.compress(text.encode()))
    assert 10_000 < len(text) < 4 * path.stat().st_size
    read(path)


def test_several_members_of_gzip_count_together(tmp_path: Path) -> None:
    parts = [b"source,target\n", *[b"1,2\n" * 2_000] * 3]
    path = written(tmp_path, "e.csv.gz", b"".join(map(gzip.compress, parts)))
    assert "decompress it first" in refusal(lambda: read_table(path))


# ---- columns of CSV -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (b"," * 30 + b"\n", 31),
        (b"," * 30, 31),
        (b'\xef\xbb\xbf\r\n\n"a\nb"' + b",x" * 30 + b"\r\n1", 31),
        (b'"a ""quoted"" \n name"' + b',"b\n"' * 30 + b"\n", 31),
        (b'a"b' + b',c"' * 30 + b"\n", 31),
        (b'"never closed' + b",x" * 30, 31),
        (b"a\n" + b"," * 99, 1),
        (b'"a,b",c\n1,2,3,4', 3),
        (b"", 1),
    ],
)
def test_a_line_of_commas_is_not_taken_for_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: bytes, columns: int, ending: str
) -> None:
    """Too many for any table, counted as pyarrow would, or a few more where names have commas in them."""
    monkeypatch.setattr(csv_file, "MOST_COLUMNS", columns - 1)
    path = written(tmp_path, f"t{ending}", header + b" " if ending == ".csv" else gzip.compress(header))
    message = refusal(lambda: read_table(path))
    assert message == f"{path} has {columns} columns, expected at most {columns - 1}: choose some of them"


def test_as_many_columns_as_allowed_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "MOST_COLUMNS", 3)
    assert read_table(written(tmp_path, "t.csv", "a,b,c\n1,2,3\n")).columns == ["a", "b", "c"]
    assert read_table(written(tmp_path, "t.tsv", "a,a,a,a\tb\n1\t3\n")).columns == ["a,a,a,a", "b"]


# ---- Parquet --------------------------------------------------------------------------------------------------------


def parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def refused(read: Callable[[Path], Any], path: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> str:
    if monkeypatch is not None:
        monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("read"))
    message = refusal(lambda: read(path))
    assert message.startswith(f"{path} has {path.stat().st_size} bytes and unpacks to ")
    assert message.endswith("if you trust it, write it as CSV, or read it yourself and give the data frame")
    return message


@readers
def test_one_number_in_very_many_rows_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Any]
) -> None:
    path = parquet(tmp_path / "t.parquet", {"source": np.ones(10**6, dtype=int), "target": np.ones(10**6, dtype=int)})
    assert "unpacks to 16000000 or more" in refused(read, path, monkeypatch)


@readers
def test_pages_that_are_packed_too_well_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], Any]
) -> None:
    texts = ["x" * 10_000 + str(place) for place in range(100)]
    columns = {"source": texts, "target": texts}
    path = parquet(tmp_path / "t.parquet", columns, compression="zstd", use_dictionary=False)
    refused(read, path, monkeypatch)


@readers
@pytest.mark.parametrize("rows", [10**6, 10**15])
def test_rows_that_a_file_only_claims_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, read: Callable[[Path], Any]
) -> None:
    path = parquet(tmp_path / "t.parquet", {"source": [1] * 1000, "target": [2] * 1000}, store_schema=False)
    path.write_bytes(with_rows(path.read_bytes(), 1000, rows))
    assert pq.ParquetFile(path).metadata.num_rows == rows
    assert f"unpacks to {16 * rows} or more" in refused(read, path, monkeypatch)


def with_rows(content: bytes, before: int, after: int) -> bytes:
    """A Parquet file whose last part says that there are other numbers of rows and values."""
    length = int.from_bytes(content[-8:-4], "little")
    start, last = content[: -8 - length], content[-8 - length : -8]
    assert zigzag(before) in last
    last = last.replace(zigzag(before), zigzag(after))
    return start + last + len(last).to_bytes(4, "little") + b"PAR1"


def zigzag(number: int) -> bytes:
    """A number as Parquet's last part writes it: seven bits at a time, the lowest first, the sign before all."""
    number, found = number << 1, b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


@readers
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
def test_one_text_in_very_many_rows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: pa.DataType, read: Callable[[Path], Any]
) -> None:
    """A file of a few kilobytes that would take a hundred megabytes, which no size in it tells."""
    once = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, dtype=np.int32)), pa.array(["x" * 2**16]))
    column = once if pa.types.is_dictionary(kind) else once.cast(kind)
    path = parquet(tmp_path / "t.parquet", {"source": column, "target": column}, compression="zstd")
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(parquet_file, "ALWAYS", 3 * 2**16)  # both texts once
    assert f"unpacks to {2 * 1000 * 2**16} or more" in refused(read, path)


def test_in_batches_only_one_batch_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["1", "2" * 100] * 500
    path = parquet(tmp_path / "t.parquet", {"source": texts, "target": texts})
    monkeypatch.setattr("settwister.tables.table.BATCH_ROWS", 50)
    monkeypatch.setattr(parquet_file, "ALWAYS", 30_000)
    assert read_edges(path, pl.Series(["1", "2" * 100])).pairs.shape == (2, 1000)
    assert "unpacks to " in refused(read_table, path)


@pytest.mark.parametrize("rows", [7, 1000])
@pytest.mark.parametrize("stored", [True, False], ids=["types of Arrow", "types of Parquet"])
def test_text_that_is_counted_is_the_text_that_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, stored: bool
) -> None:
    """The longest text in every row would be too much, all that is there is not."""
    words = [None, "", "é", "long" * 200, *(f"word {place}" for place in range(40))]
    made = np.random.default_rng(0).choice(len(words), size=300, p=[0.2] + [0.8 / 43] * 43)
    texts = [words[place] for place in made]
    frame = pl.DataFrame(
        {
            "id": range(300),
            "text": texts,
            "other": texts[::-1],
            "bytes": [text and text.encode() for text in texts],
            "category": pl.Series(texts, dtype=pl.Categorical),
        }
    )
    path = parquet(
        tmp_path / "t.parquet", {name: frame[name].to_arrow() for name in frame.columns},
        row_group_size=rows, store_schema=stored,
    )  # fmt: skip
    monkeypatch.setattr("settwister.tables.table.BATCH_ROWS", 64)
    monkeypatch.setattr(parquet_file, "ALWAYS", 200_000)
    counted = []
    monkeypatch.setattr(parquet_file, "_text_bytes", lambda batch: counted.append(batch.schema) or 0)
    expected = frame.with_columns(pl.col("category").cast(pl.String))
    assert read_table(path).equals(expected)
    assert any(pa.types.is_dictionary(schema.field("text").type) for schema in counted)
    monkeypatch.setattr(parquet_file, "ALWAYS", 10**9)
    counted.clear()
    assert read_table(path).equals(expected)
    assert not any(pa.types.is_dictionary(schema.field("text").type) for schema in counted)


def test_columns_that_are_not_asked_for_do_not_count(tmp_path: Path) -> None:
    once = pa.DictionaryArray.from_arrays(pa.array(np.zeros(500, dtype=np.int32)), pa.array(["x" * 2**10]))
    path = parquet(tmp_path / "t.parquet", {"source": [1] * 500, "target": [2] * 500, "note": once.cast(pa.string())})
    assert read_edges(path, IDS).pairs.shape == (2, 500)
    refused(read_table, path)


TEXTS = parquet_bytes(pa.table({"source": ["1", "2", "1", None] * 9, "target": ["2", "1", "x" * 50, "1"] * 9}))


@settings(QUICK, max_examples=100)
@given(damage=damage())
def test_damaged_text_is_read_or_refused_where_it_is_counted(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = written(tmp_path, "t.parquet", damage(TEXTS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_file, "_most_text", lambda *_: 10**12)
        for read in (read_table, lambda path: read_edges(path, pl.Series(["1", "2"]), drop_unknown=True)):
            attempt(lambda read=read: read(path))  # type: ignore[misc]


def test_honest_tables_are_far_from_the_limits() -> None:
    """A gigabyte of CSV that was packed tenfold, and five million people with twenty columns of categories."""
    csv, parquet, times = LIMITS
    assert csv >= 2**29
    assert times >= 3 * 10
    assert parquet > 5e6 * 20 * 16
