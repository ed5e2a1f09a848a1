"""Downloads: only when asked for, compared before they are read, whole or not at all."""

import io
import ssl
import urllib.request
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from graph_files import (
    Server,
    arxiv_tables,
    digest,
    friendster_objects,
    refusal,
    serve_wikics,
    write_arxiv,
    write_friendster,
)
from settwister.graphs import GRAPHS, download, load
from settwister.graphs.features import from_entries
from settwister.graphs.parts import Parts, fingerprint


@pytest.fixture
def wikics_server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return serve_wikics(monkeypatch)


def test_nothing_is_fetched_unless_asked(wikics_server: Server, tmp_path: Path) -> None:
    refusal(lambda: load("wikics", tmp_path))
    assert wikics_server.asked == []
    told: list[tuple[str, int, int | None]] = []
    graph = load("wikics", tmp_path, download=True, tell=lambda *what: told.append(what))
    assert graph.num_nodes == 15
    length = len(wikics_server.files["https://here/data.json"])
    assert told == [("data.json", length, length)]
    assert sorted(p.name for p in (tmp_path / "wikics").iterdir()) == ["SHA256SUMS", "raw"]
    load("wikics", tmp_path, download=True)
    assert len(wikics_server.asked) == 1


def test_fetched_files_are_compared_before_and_after(wikics_server: Server, tmp_path: Path) -> None:
    good = wikics_server.files["https://here/data.json"]
    wikics_server.files["https://here/data.json"] = good.replace(b"true", b"tRue", 1)
    assert f"expected {digest(good)}: nothing was kept" in refusal(lambda: load("wikics", tmp_path, download=True))
    assert list((tmp_path / "wikics").iterdir()) == []
    wikics_server.files["https://here/data.json"] = good
    load("wikics", tmp_path, download=True)
    path = tmp_path / "wikics" / "raw" / "data.json"
    path.write_bytes(good + b" ")
    assert f"{path} has changed since it was downloaded" in refusal(lambda: load("wikics", tmp_path))
    (tmp_path / "wikics" / "SHA256SUMS").write_text("nonsense\n")
    assert "SHA256SUMS cannot be read" in refusal(lambda: load("wikics", tmp_path))
    with (tmp_path / "wikics" / "SHA256SUMS").open("wb") as handle:
        handle.truncate(2**40)
    assert "SHA256SUMS: there are 1099511627776 bytes" in refusal(lambda: load("wikics", tmp_path))


def test_a_download_that_fails_is_one_sentence(
    wikics_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wikics_server.files.clear()
    assert "https://here/data.json cannot be fetched (" in refusal(lambda: load("wikics", tmp_path, download=True))
    wikics_server.files["https://here/data.json"] = b"much too long"
    monkeypatch.setattr(download, "LARGEST_FILE", 4)
    assert "has more than 4 bytes" in refusal(lambda: load("wikics", tmp_path, download=True))
    assert list((tmp_path / "wikics").iterdir()) == []


def test_an_archive_is_compared_and_only_its_tables_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_arxiv(tmp_path / "source", arxiv_tables())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../outside", "harm")
        for name in arxiv_tables():
            archive.write(tmp_path / "source" / name, f"arxiv/{name}")
    server = Server({"https://here/arxiv.zip": packed.getvalue()})
    monkeypatch.setattr(download, "_response", server)
    known = GRAPHS["arxiv"]
    there = replace(known.downloads[0], url="https://here/arxiv.zip", sha256=digest(packed.getvalue()))
    monkeypatch.setitem(GRAPHS, "arxiv", replace(known, downloads=(there,)))
    (tmp_path / "data").mkdir()
    assert load("arxiv", tmp_path / "data", download=True).num_nodes == 20
    assert sorted(p.name for p in (tmp_path / "data" / "arxiv").iterdir()) == ["SHA256SUMS", "raw", "split"]
    assert not (tmp_path / "data" / "outside").exists()
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("content", [b"no archive", None])
def test_an_archive_without_its_tables_is_one_sentence(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("arxiv/readme", "nothing else")
    content = content or packed.getvalue()
    monkeypatch.setattr(download, "_response", Server({"https://here/arxiv.zip": content}))
    there = replace(GRAPHS["arxiv"].downloads[0], url="https://here/arxiv.zip", sha256=digest(content))
    monkeypatch.setitem(GRAPHS, "arxiv", replace(GRAPHS["arxiv"], downloads=(there,)))
    said = refusal(lambda: load("arxiv", tmp_path, download=True))
    assert "there is no arxiv/raw/edge.csv.gz in it" in said or "cannot be read (File is not a zip file)" in said
    assert list((tmp_path / "arxiv").iterdir()) == []


def test_files_without_a_checksum_are_compared_by_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_friendster(tmp_path / "source" / "friendster", friendster_objects())
    known = GRAPHS["friendster"]
    parts = known.read(tmp_path / "source" / "friendster")
    files = {d.url: (tmp_path / "source" / "friendster" / d.path).read_bytes() for d in known.downloads}
    monkeypatch.setattr(download, "_response", Server(files))
    said = refusal(lambda: load("friendster", tmp_path, download=True))
    assert "what was fetched is not friendster: its fingerprint is" in said
    assert list((tmp_path / "friendster").iterdir()) == []
    monkeypatch.setitem(GRAPHS, "friendster", replace(known, prints=fingerprint(parts, "fixed")))
    assert load("friendster", tmp_path, download=True).num_nodes == 16


def test_a_fingerprint_is_of_the_graph_and_not_of_the_file() -> None:
    first = Parts(torch.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.tensor([[0, 1, 1], [1, 0, 1]]), torch.tensor([0, 1]))
    same = Parts(
        from_entries(np.array([1, 0]), np.array([0, 1]), np.array([1.0, 2.0]), 2, 2),
        torch.tensor([[1], [0]], dtype=torch.int32),
        torch.tensor([0, 1]),
    )
    assert fingerprint(first, "public") == fingerprint(same, "public")
    assert fingerprint(first, "public") != fingerprint(replace(first, y=torch.tensor([1, 1])), "public")


def test_only_verified_connections_are_made() -> None:
    handlers = {type(handler).__name__: handler for handler in download.opener().handlers}
    context: ssl.SSLContext = handlers["HTTPSHandler"]._context
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert "is not https" in refusal(lambda: download._response("http://here/data.json"))
    request = urllib.request.Request("https://here/data.json")
    moved = handlers["_StaysSecure"].redirect_request
    assert moved(request, io.BytesIO(), 302, "", {}, "https://there/").full_url == "https://there/"
    assert "is not https" in refusal(lambda: moved(request, io.BytesIO(), 302, "", {}, "http://there/"))
    for known in GRAPHS.values():
        assert all(one.url.startswith("https://") for one in known.downloads)
        assert {path for one in known.downloads for path in one.paths} == set(known.files)
        assert known.prints or all(len(one.sha256 or "") == 64 for one in known.downloads)
