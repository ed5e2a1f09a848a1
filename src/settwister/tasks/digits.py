"""Images of digits: MNIST from the user's data directory, or scikit-learn's small embedded ones."""

import gzip
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from settwister.errors import InputError, reason
from settwister.files import data_folder

Images = NDArray[np.uint8]
SIDE = 28
IDX_FILES = {
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}


@dataclass(eq=False)
class Digits:
    """Labelled images of 28 × 28 bytes.

    Args:
        name: ``"mnist"`` or ``"sklearn"``.
        folder: where the files were, for further files beside them; None for the embedded digits.
    """

    name: str
    folder: Path | None
    train_x: Images
    train_y: Images
    test_x: Images
    test_y: Images


def load_digits(data_dir: str | Path | None = None) -> Digits:
    """MNIST from ``mnist/mnist.npz`` or from its four idx files (plain or .gz) in the data directory.

    Where there is no MNIST at all, scikit-learn's 1,797 digits of 8 × 8, enlarged.
    """
    folder = data_folder(data_dir)
    for place in [] if folder is None else [folder / "mnist", folder]:
        if (place / "mnist.npz").is_file():
            return _from_npz(place / "mnist.npz")
        if any(_idx_path(place, name) for name in IDX_FILES.values()):
            return _from_idx(place)
    return _embedded()


def _from_npz(path: Path) -> Digits:
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays = {name: file[name] for name in IDX_FILES}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} cannot be read ({reason(error)}), expected arrays {', '.join(IDX_FILES)}: fetch it again"
        ) from error
    return Digits("mnist", path.parent, **_checked(path, arrays))


def _from_idx(place: Path) -> Digits:
    arrays = {}
    for key, name in IDX_FILES.items():
        path = _idx_path(place, name)
        if path is None:
            raise InputError(f"{place / name} is missing, expected all four MNIST files beside each other")
        arrays[key] = _read_idx(path)
    return Digits("mnist", place, **_checked(place, arrays))


def _idx_path(place: Path, name: str) -> Path | None:
    return next((path for path in (place / name, place / f"{name}.gz") if path.is_file()), None)


def _read_idx(path: Path) -> Images:
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        magic = struct.unpack(">HBB", content[:4])
        shape = struct.unpack(f">{magic[2]}I", content[4 : 4 + 4 * magic[2]])
        values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * magic[2])
        if magic[:2] != (0, 8) or values.size != np.prod(shape):
            raise ValueError(f"{values.size} bytes for shape {shape}")
    except (OSError, EOFError, ValueError, struct.error) as error:
        raise InputError(f"{path} is not a whole idx file ({reason(error)}): fetch it again") from error
    return values.reshape(shape)


def _checked(path: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Images]:
    for part in ("train", "test"):
        x, y = arrays[f"{part}_x"], arrays[f"{part}_y"]
        if x.dtype != np.uint8 or x.ndim != 3 or x.shape[1:] != (SIDE, SIDE) or y.shape != (len(x),) or not len(x):
            raise InputError(
                f"{path} has {part} images of shape {x.shape} ({x.dtype}) and labels of shape {y.shape}, expected "
                f"bytes of shape (n, {SIDE}, {SIDE}) and (n,)"
            )
        if not np.isin(y, np.arange(10)).all():
            raise InputError(f"{path} has {part} labels outside 0 … 9, expected digits")
    return {name: array.astype(np.uint8) for name, array in arrays.items()}


def _embedded() -> Digits:
    """scikit-learn's digits, each pixel three by three with a border, four fifths of them for training."""
    from sklearn.datasets import load_digits as sklearn_digits

    found = sklearn_digits()
    small = (found.images * (255 / 16)).astype(np.uint8)
    border = (SIDE - 3 * 8) // 2
    large = np.pad(small.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (border, border), (border, border)))
    labels, cut = found.target.astype(np.uint8), len(large) * 4 // 5
    return Digits("sklearn", None, large[:cut], labels[:cut], large[cut:], labels[cut:])
