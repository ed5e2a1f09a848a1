"""The arrays and the network in an estimator's folder, looked at before and after they are read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from settwister.errors import InputError, reason
from settwister.estimator.folder import MARKER
from settwister.nn import storage as networks
from settwister.nn.saved import Saved

Network = TypeVar("Network", bound=Saved)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of a file beside estimator.json: together as large as the file, of whatever shapes it says."""
    if not path.is_file():
        raise InputError(f"{path} is missing, expected it beside {MARKER}")
    try:
        found: dict[str, NDArray[Any]] = load_file(path)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no safetensors file ({reason(error)}): save or copy it again") from error
    return found


def are_finite(arrays: Mapping[str, NDArray[Any]], widths: Mapping[str, int]) -> bool:
    """Whether these are exactly the arrays of these widths, of finite double precision."""
    return sorted(arrays) == sorted(widths) and all(
        arrays[name].shape == (width,) and arrays[name].dtype == np.float64 and bool(np.isfinite(arrays[name]).all())
        for name, width in widths.items()
    )


def read_network(
    folder: Path,
    expected: tuple[type[Network], ...],
    in_dim: int,
    out_dim: int,
    dtype: torch.dtype = torch.float32,
) -> Network:
    """A network of finite weights, of one of these classes, between as many features and outputs as is said."""
    network = networks.load({kind.__name__: kind for kind in expected}, folder)
    assert isinstance(network, expected)
    if (network.in_dim, network.out_dim) != (in_dim, out_dim):
        raise InputError(
            f"{folder} is from {network.in_dim} features to {network.out_dim} outputs, expected {in_dim} and {out_dim} "
            f"by {MARKER}"
        )
    if not all(_finite_weight(value, dtype) for value in network.state_dict().values()):
        precision = "single" if dtype == torch.float32 else "double"
        raise InputError(
            f"{folder / 'model.safetensors'} holds other weights than finite ones of {precision} precision"
        )
    return network


def _finite_weight(value: torch.Tensor, dtype: torch.dtype) -> bool:
    return value.dtype == dtype and bool(value.isfinite().all())
