"""The paper's six graphs: where each is looked for, how it is read, and where it was published."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from settwister._checks import choice
from settwister.errors import InputError
from settwister.files import cache_folder, data_folder
from settwister.graphs import arxiv, friendster, npz, planetoid, wikics
from settwister.graphs.download import Download, Tell, fetch, sha256, verify
from settwister.graphs.graph import UNKNOWN, Graph, num_columns, num_rows
from settwister.graphs.limits import MOST_CLASSES, MOST_EDGES, MOST_FEATURES, MOST_NODES, check_count
from settwister.graphs.parts import Parts, fingerprint
from settwister.graphs.reading import reading


@dataclass(frozen=True, eq=False)
class Known:
    """A graph of the paper.

    Args:
        name: ours, and that of its folder and ``.npz`` file in the data directory.
        aliases: what PyG and OGB call the folder.
        files: the published files, relative to the folder.
        read: what is in a folder of published files.
        downloads: where those files are.
        family: what the splits in the ``.npz`` file are called.
        classes: how many there are, where the labels do not say so themselves.
        unknown: the label that means there is none.
        prints: the :func:`fingerprint` of the graph, where the files' SHA-256 is not published.
        balanced: as in :class:`Graph`.
    """

    name: str
    aliases: tuple[str, ...]
    files: tuple[str, ...]
    read: Callable[[Path], Parts]
    downloads: tuple[Download, ...]
    family: str = "public"
    classes: int | None = None
    unknown: int | None = None
    prints: str | None = None
    balanced: bool = False


# The published SHA-256 of Planetoid's files, each under the name of its ending. They are those of the vgl library, and
# their exclusive or is, for each graph, the checksum that Julia's MLDatasets keeps for its eight files together.
_PLANETOID = "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"
_PLANETOID_SHA256 = {
    "cora": {
        "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer": {
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
    "pubmed": {
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
}
# The SHA-256 of the next two are those that several public reproductions record, and they agree.
_WIKICS = "https://raw.githubusercontent.com/pmernyei/wiki-cs-dataset/f5207315d649377f936edb66d7d93f5342f01d81/dataset"
_WIKICS_SHA256 = "9bf8cb3ef8eeae81b25e6ccbe0ea195600c205d7edf63ce04f2ec8d9c7dcb3d8"
_ARXIV = "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
_ARXIV_SHA256 = "49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276"
_FRIENDSTER = "https://github.com/PurdueMINDS/GNNsMiscalibrated/raw/1e7cdb0d49a8213c91d5f7a3589209d1b5232b76/data"
# Nobody has published the SHA-256 of Friendster's two files: this is that of the graph in friendster.npz.
_FRIENDSTER_PRINT = "08779ede6138ad1fedf1aeb133bc6b988df62722b540696f430dee2ed65519bd"


def _planetoid(name: str, *aliases: str) -> Known:
    downloads = tuple(
        Download(f"{_PLANETOID}/ind.{name}.{ending}", f"raw/ind.{name}.{ending}", _PLANETOID_SHA256[name][ending])
        for ending in planetoid.ENDINGS
    )
    return Known(name, aliases, planetoid.files(name), partial(planetoid.read, name=name), downloads)


GRAPHS: dict[str, Known] = {
    known.name: known
    for known in (
        _planetoid("cora", "Cora"),
        _planetoid("citeseer", "CiteSeer", "Citeseer"),
        _planetoid("pubmed", "PubMed", "Pubmed"),
        Known(
            "wikics",
            ("WikiCS",),
            wikics.FILES,
            wikics.read,
            (Download(f"{_WIKICS}/data.json", wikics.FILES[0], _WIKICS_SHA256),),
            family="official",
        ),
        Known(
            "arxiv",
            ("ogbn_arxiv", "ogbn-arxiv"),
            arxiv.FILES,
            arxiv.read,
            (Download(_ARXIV, "arxiv.zip", _ARXIV_SHA256, tuple((f"arxiv/{file}", file) for file in arxiv.FILES)),),
            family="year",
        ),
        Known(
            "friendster",
            ("Friendster-25K", "Friendster"),
            friendster.FILES,
            friendster.read,
            tuple(Download(f"{_FRIENDSTER}/{Path(file).name}", file, None) for file in friendster.FILES),
            family="fixed",
            classes=4,
            unknown=4,
            prints=_FRIENDSTER_PRINT,
            balanced=True,
        ),
    )
}


def load(name: str, data_dir: str | Path | None = None, download: bool = False, tell: Tell | None = None) -> Graph:
    """A graph of the paper, from ``NAME/NAME.npz`` or its published files in ``NAME/`` in the data directory.

    Args:
        name: one of ``GRAPHS``.
        data_dir: else ``SETTWISTER_DATA``, else the user's cache folder.
        download: fetch the published files where there is nothing. Nothing is ever fetched otherwise. They are compared
            with the SHA-256 that is recorded here before anything reads them; Friendster's, which nobody has
            published, are read and then compared with the graph that is known. What was fetched is recorded in
            ``SHA256SUMS`` beside it and compared again whenever it is read.
        tell: called with a file's name, the bytes fetched, and the bytes in all where they are known.
    """
    known = GRAPHS[choice("graph", name, GRAPHS)]
    folder = data_folder(data_dir)
    found = None if folder is None else _find(known, folder)
    if found is None and download:
        folder = folder or cache_folder()
        fetch(known.downloads, folder / known.name, partial(_compare, known), tell)
        found = _find(known, folder)
    if found is None:
        raise InputError(_missing(known, folder))
    return _graph(known, found)


def available(data_dir: str | Path | None = None) -> dict[str, Path | None]:
    """Where each graph would be read from: a file, a folder of published files, or None."""
    folder = data_folder(data_dir)
    return {name: None if folder is None else _find(known, folder) for name, known in GRAPHS.items()}


def other_than_published(name: str, place: Path) -> list[str]:
    """Files of a graph that are not those that were published, as far as the SHA-256 of these are known.

    What :func:`load` fetches is; other files may have been put there by hand, or by a program that compares nothing.
    """
    compared = {one.path: one.sha256 for one in GRAPHS[name].downloads if one.path in GRAPHS[name].files}
    if place.is_file():
        return []
    return [path for path, published in compared.items() if published and sha256(place / path) != published]


def no_graphs(data_dir: str | Path | None = None) -> str:
    """What to do where none of the graphs is there."""
    folder = data_folder(data_dir)
    where = "there is no data directory" if folder is None else f"{folder} has none of the graphs"
    return (
        f"{where}: name the one that has them with --data-dir or SETTWISTER_DATA; settwister datasets says how to get "
        "them"
    )


def how_to_get(name: str) -> str:
    """What to do about a graph that is not there."""
    return (
        f"put {name}/{name}.npz or {name}/{GRAPHS[name].files[0]} in the data directory, or: settwister datasets "
        f"--download {name}"
    )


def _find(known: Known, folder: Path) -> Path | None:
    path = folder / known.name / f"{known.name}.npz"
    if path.is_file():
        return path
    for place in (folder / name for name in (known.name, *known.aliases)):
        if all((place / file).is_file() for file in known.files):
            return place
    return None


def _missing(known: Known, folder: Path | None) -> str:
    if folder is None:
        return (
            f"{known.name} is not there, and neither is a data directory: pass one, set SETTWISTER_DATA, or download "
            f"the graph: settwister datasets --download {known.name}"
        )
    places = [folder / name for name in (known.name, *known.aliases)]
    for place in places:
        lacking = [file for file in known.files if not (place / file).is_file()]
        if len(lacking) < len(known.files):
            return (
                f"{place} lacks {', '.join(lacking)}, expected all of {', '.join(known.files)}: fetch the graph again"
            )
    looked = [places[0] / f"{known.name}.npz", *(place / known.files[0] for place in places)]
    return f"{known.name} is not there (looked for {', '.join(map(str, looked))}): {how_to_get(known.name)}"


def _parts(known: Known, found: Path) -> Parts:
    if found.is_file():
        return npz.read(found, known.family)
    verify(found, known.files)
    return known.read(found)


def _compare(known: Known, place: Path) -> None:
    """Read what was fetched, before it is kept."""
    parts = known.read(place)
    if known.prints is not None and (seen := fingerprint(parts, known.family)) != known.prints:
        raise InputError(f"what was fetched is not {known.name}: its fingerprint is {seen}, expected {known.prints}")


def _graph(known: Known, found: Path) -> Graph:
    parts = _parts(known, found)
    with reading(found, "a graph"):
        check_count("nodes", num_rows(parts.x), MOST_NODES)
        check_count("features", num_columns(parts.x), MOST_FEATURES)
        check_count("edges", parts.edges.shape[1], MOST_EDGES)
        check_count("classes", int(parts.y.max()) + 1 if len(parts.y) else 0, MOST_CLASSES)
        y = parts.y if known.unknown is None else torch.where(parts.y == known.unknown, UNKNOWN, parts.y)
        for family, splits in parts.splits.items():
            if any(bool((y[part] < 0).any()) for s in splits for part in (s.train, s.validation, s.test)):
                raise InputError(f"a node of the split {family} has no label, expected labels for all of them")
        graph = Graph.make(
            parts.x,
            parts.edges,
            y,
            num_classes=known.classes,
            name=known.name,
            splits=parts.splits,
            balanced=known.balanced,
        )
    return graph if parts.given_edges is None else replace(graph, given_edges=parts.given_edges)
