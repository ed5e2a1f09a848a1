"""Fetching published files: only when asked to, over verified TLS, compared before they are read, moved when whole."""

import hashlib
import http.client
import os
import ssl
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from settwister.errors import InputError, reason
from settwister.files import new_file
from settwister.graphs.archives import member, open_archive
from settwister.graphs.limits import LARGEST_FILE, check_file
from settwister.graphs.reading import reading

Tell = Callable[[str, int, int | None], None]
SUMS = "SHA256SUMS"
BLOCK = 2**20
LARGEST_SUMS = 2**16  # bytes
SECONDS = 60


@dataclass(frozen=True)
class Download:
    """A published file.

    Args:
        url: where it is, with ``https``.
        path: where it goes, relative to the graph's folder.
        sha256: of the file; None where nobody has published it, and the graph's fingerprint is compared instead.
        members: (name in the archive, path) of what is taken out of a zip file, which is not kept itself.
    """

    url: str
    path: str
    sha256: str | None
    members: tuple[tuple[str, str], ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(path for _, path in self.members) or (self.path,)


def fetch(downloads: Iterable[Download], folder: Path, check: Callable[[Path], None], tell: Tell | None = None) -> None:
    """Put the files into ``folder``, all of them or none, with their SHA-256 beside them.

    Args:
        check: called with a temporary folder that holds the files; an error there leaves nothing behind.
        tell: called with a file's name, the bytes so far, and the bytes in all where the server says so.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        holder = tempfile.TemporaryDirectory(prefix=".download.", dir=folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({reason(error)}): choose another data directory") from error
    with holder as temporary:
        staging = Path(temporary)
        sums: dict[str, str] = {}
        for download in downloads:
            _get(download, staging, tell)
            sums |= {path: sha256(staging / path) for path in download.paths}
        check(staging)
        with new_file(folder / SUMS) as file:  # first, so that none of the files is ever there without its sum
            file.write_text("".join(f"{digest}  {path}\n" for path, digest in sums.items()), encoding="ascii")
        for path in sums:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (staging / path).replace(folder / path)


def verify(folder: Path, paths: Iterable[str]) -> None:
    """Compare the files with what was recorded when they were fetched; files that somebody put there pass."""
    record = folder / SUMS
    if not record.is_file():
        return
    with reading(record, "lines of a SHA-256 and a path"):
        check_file(record, LARGEST_SUMS)
        sums = {path: digest for digest, path in (line.split() for line in record.read_text("ascii").splitlines())}
    for path in paths:
        if path in sums and sha256(folder / path) != sums[path]:
            raise InputError(
                f"{folder / path} has changed since it was downloaded: remove it and {record} and download it again"
            )


def sha256(path: Path) -> str:
    with reading(path, "a file"), path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _get(download: Download, staging: Path, tell: Tell | None) -> None:
    target = staging / download.path
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _response(download.url) as response, target.open("wb") as out:
            length = response.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            done = 0
            while block := response.read(BLOCK):
                done += len(block)
                if done > LARGEST_FILE:
                    raise InputError(f"{download.url} has more than {LARGEST_FILE} bytes, expected a published graph")
                out.write(block)
                if tell is not None:
                    tell(target.name, done, total)
    except (OSError, http.client.HTTPException) as error:
        raise InputError(
            f"{download.url} cannot be fetched ({reason(error)}): check the connection, or put the file there by hand"
        ) from error
    if total is not None and done != total:
        raise InputError(f"{download.url} broke off after {done} of {total} bytes: try again")
    if download.sha256 is not None and (found := sha256(target)) != download.sha256:
        raise InputError(f"{download.url} has the SHA-256 {found}, expected {download.sha256}: nothing was kept")
    if download.members:
        with reading(target, "a zip file"), open_archive(target) as archive:
            for name, path in download.members:
                _extract(archive, name, staging / path)
        target.unlink()


def _extract(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member(archive, name)) as source, path.open("wb") as out:
        while block := source.read(BLOCK):
            out.write(block)
        out.flush()
        os.fsync(out.fileno())


def opener() -> urllib.request.OpenerDirector:
    """Certificates and names are verified, and no redirection leaves TLS."""
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=ssl.create_default_context()), _StaysSecure)


def _response(url: str) -> Any:
    _require_tls(url)
    return opener().open(url, timeout=SECONDS)


def _require_tls(url: str) -> None:
    if not url.lower().startswith("https://"):
        raise InputError(f"{url} is not https, expected an address whose server is verified")


class _StaysSecure(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        _require_tls(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
