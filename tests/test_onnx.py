"""ONNX files give torch's answers in onnxruntime, on batches of other sizes than the one they were traced on."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

import settwister as st
from settwister import InputError, Sets
from settwister.onnx import export

EXPORTED = {
    "deepsets": lambda: st.DeepSets(3, 2),
    "deepsets_mean": lambda: st.DeepSets(3, 2, pool="mean"),
    "set_twister": lambda: st.SetTwister(3, 2),
    "set_twister_multiset": lambda: st.SetTwister(3, 2, M=3, k=3, form="multiset", lower_orders="sum", pool="sqrt"),
    "set_twister_factored": lambda: st.SetTwister(3, 2, k=3, form="factored", norm="layer"),
    "set_twister_distinct": lambda: st.SetTwister(3, 2, k=2, distinct=True),
}


def run(path: Path, **inputs: torch.Tensor) -> np.ndarray:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (out,) = session.run(["out"], {name: value.numpy() for name, value in inputs.items()})
    return out


@pytest.mark.parametrize("name", EXPORTED)
def test_dense_and_ragged_equal_torch(name: str, tmp_path: Path) -> None:
    model = EXPORTED[name]()
    export(model, tmp_path / "dense.onnx")
    for sets, length in [(1, 1), (4, 7), (9, 2)]:
        x, mask = torch.randn(sets, length, 3), torch.rand(sets, length) < 0.7
        mask[0] = False  # an empty set
        ours = model(Sets.dense(x, mask)).detach().numpy()
        np.testing.assert_allclose(run(tmp_path / "dense.onnx", x=x, mask=mask), ours, atol=1e-5, rtol=1e-5)
    export(model, tmp_path / "ragged.onnx", layout="ragged")
    for offsets in ([0, 5], [0, 2, 2, 9], [0, 0, 1, 1, 4, 4]):
        x, ptr = torch.randn(offsets[-1], 3), torch.tensor(offsets)
        ours = model(Sets.ragged(x, ptr)).detach().numpy()
        np.testing.assert_allclose(run(tmp_path / "ragged.onnx", x=x, ptr=ptr), ours, atol=1e-5, rtol=1e-5)
    assert model.training
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dense.onnx", "ragged.onnx"]


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="JanossyGRU cannot be exported, expected a SetTwister or a DeepSets"):
        export(st.JanossyGRU(3, 2), tmp_path / "model.onnx")
    with pytest.raises(InputError, match="layout is 'bags', expected one of 'dense', 'ragged'"):
        export(st.DeepSets(3, 2), tmp_path / "model.onnx", layout="bags")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
