"""Models out of PyTorch, as ONNX. Needs the extra: ``pip install settwister[onnx]``."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from settwister._checks import choice
from settwister.errors import InputError
from settwister.files import new_file
from settwister.nn import DeepSets, SetModel, SetTwister
from settwister.sets import Sets


class _OnDense(nn.Module):
    def __init__(self, model: SetModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.model(Sets.dense(x, mask))
        return out


class _OnRagged(nn.Module):
    def __init__(self, model: SetModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, ptr: Tensor) -> Tensor:
        out: Tensor = self.model(Sets.ragged(x, ptr))
        return out


def export(model: SetModel, path: str | Path, layout: Literal["dense", "ragged"] = "dense") -> None:
    """Write a model as an ONNX file that any runtime can run, for any number of sets and elements.

    Args:
        model: a :class:`~settwister.SetTwister` or :class:`~settwister.DeepSets`; exported in evaluation mode.
        path: of the file, replaced if it exists.
        layout: what the file's inputs are. ``"dense"``: ``x`` (sets, elements, features) and ``mask`` (sets, elements),
            booleans. ``"ragged"``: ``x`` (elements, features) and ``ptr`` (sets + 1), int64. The output is ``out``.
    """
    if not isinstance(model, DeepSets | SetTwister):
        raise InputError(f"{type(model).__name__} cannot be exported, expected a SetTwister or a DeepSets")
    choice("layout", layout, ("dense", "ragged"))
    x = torch.zeros(3, 5, model.in_dim, dtype=next(model.parameters()).dtype)
    sets, elements = torch.export.Dim("sets"), torch.export.Dim("elements")
    wrapped: nn.Module
    if layout == "dense":
        wrapped, inputs, names = _OnDense(model), (x, torch.ones(3, 5, dtype=torch.bool)), ("x", "mask")
        shapes = ({0: sets, 1: elements}, {0: sets, 1: elements})
    else:
        wrapped, inputs, names = _OnRagged(model), (x.flatten(0, 1), torch.tensor([0, 3, 7, 15])), ("x", "ptr")
        shapes = ({0: elements}, {0: torch.export.Dim("offsets")})
    training = model.training
    try:
        with _quiet_exporter():
            program = torch.onnx.export(
                wrapped.eval(),
                inputs,
                input_names=names,
                output_names=["out"],
                dynamic_shapes=shapes,
                dynamo=True,
                verbose=False,
            )
    finally:
        model.train(training)
    assert program is not None
    with new_file(Path(path)) as staging:
        program.save(staging)


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    """The exporter warns about its own insides and about packages that have nothing to do with the model."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
