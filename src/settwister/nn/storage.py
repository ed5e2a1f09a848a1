"""The model folder: ``model.safetensors`` and ``config.json``, never a pickle.

A folder may come from anybody. So its class is looked up among our own by name, its arguments pass the constructor's
checks, and the model is laid out without memory first, to compare every name and shape with the file before anything is
allocated.
"""

import json
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from settwister._checks import LARGEST_WIDTH
from settwister._version import __version__
from settwister.errors import InputError, reason
from settwister.files import new_folder, writable
from settwister.functional.monomials import num_multisets
from settwister.nn.twist import LARGEST_DEGREE

FORMAT = 1
LARGEST_CONFIG = 2**20  # bytes
MOST_LAYERS = 256


def save(model: nn.Module, name: str, config: dict[str, Any], folder: Path, *, force: bool) -> None:
    content = {"format": FORMAT, "settwister": __version__, "model": name, "config": config}
    tensors = {key: value.detach().contiguous().cpu() for key, value in model.state_dict().items()}
    with new_folder(writable(folder, ours=("config.json", "model.safetensors"), force=force)) as staging:
        save_file(tensors, staging / "model.safetensors")
        (staging / "config.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def load(known: Mapping[str, type[nn.Module]], folder: Path) -> nn.Module:
    """The model in ``folder``, in evaluation mode, on the CPU."""
    name, config = _read_config(folder / "config.json", known)
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{weights} is missing, expected it beside config.json")
    _check_products(config, folder)
    try:
        with torch.device("meta"):
            model = known[name](**config)
    except (TypeError, InputError) as error:
        raise InputError(f"{folder / 'config.json'} does not describe a {name}: {error}") from error
    try:
        _compare(model, weights)
        # The reader maps the file into memory; a copy outlives whatever happens to the file.
        tensors = {key: tensor.clone() for key, tensor in load_file(weights).items()}
    except (SafetensorError, OSError) as error:
        raise InputError(f"{weights} is no safetensors file ({reason(error)}): save or copy it again") from error
    model.load_state_dict(tensors, assign=True)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    return model.eval()


def _read_config(path: Path, known: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if not path.is_file():
        raise InputError(f"{path} is missing, expected a folder that save_pretrained wrote")
    if path.stat().st_size > LARGEST_CONFIG:
        raise InputError(f"{path} has {path.stat().st_size} bytes, expected at most {LARGEST_CONFIG}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON ({reason(error)}): save the model again") from error
    if not isinstance(content, dict) or not isinstance(content.get("config"), dict):
        raise InputError(f'{path} has no "config" object, expected what save_pretrained writes')
    if content.get("format") != FORMAT:
        raise InputError(
            f"{path} has format {content.get('format')!r}, expected {FORMAT}: this is settwister {__version__}, the "
            f"folder was written by {content.get('settwister')!r}"
        )
    name = content.get("model")
    if not isinstance(name, str) or name not in known:
        raise InputError(f"{path} names the model {name!r}, expected one of {', '.join(sorted(known))}")
    config = content["config"]
    if any(isinstance(value, list) and len(value) > MOST_LAYERS for value in config.values()):
        raise InputError(f"{path} lists more than {MOST_LAYERS} layers, expected a model that save_pretrained wrote")
    return name, {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}


def _check_products(config: dict[str, Any], folder: Path) -> None:
    """Refuse an M and a k whose products have no room in the file of weights.

    Laid out without memory, a network still makes its tables of products: 16 million for M=2 and k=24.
    """
    M, k, form = config.get("M"), config.get("k"), config.get("form", "ordered")
    if type(M) is not int or type(k) is not int or not (1 <= M <= LARGEST_WIDTH and 1 <= k <= LARGEST_DEGREE):
        return  # what is wrong with other numbers is said by the constructor
    products = {"ordered": M**k, "multiset": num_multisets(M, k)}.get(str(form), 0)
    weights = folder / "model.safetensors"
    if products > weights.stat().st_size:
        raise InputError(
            f"{folder / 'config.json'} has M={M} and k={k}, so {reprlib.repr(products)} products, expected no more "
            f"than the {weights.stat().st_size} bytes of {weights}: save or copy it again"
        )


def _compare(model: nn.Module, weights: Path) -> None:
    expected = {key: (tuple(value.shape), value.dtype.is_floating_point) for key, value in model.state_dict().items()}
    with safe_open(weights, framework="pt") as file:
        slices = {key: file.get_slice(key) for key in file.keys()}  # noqa: SIM118 (not a mapping)
        found = {key: (tuple(part.get_shape()), part.get_dtype()) for key, part in slices.items()}
    for key in sorted(expected.keys() ^ found.keys()):
        side = "lacks" if key in expected else "has an unknown"
        raise InputError(f"{weights} {side} tensor {key!r}, expected exactly those that config.json describes")
    for key, (shape, floating) in expected.items():
        given, dtype = found[key]
        if given != shape:
            raise InputError(f"{weights} has {key!r} of shape {given}, expected {shape} by config.json")
        if dtype.startswith(("F", "BF")) != floating:  # F16, F32, F64 and BF16
            raise InputError(f"{weights} has {key!r} of type {dtype}, expected {'floats' if floating else 'integers'}")
