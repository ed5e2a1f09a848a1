"""Model folders: what is saved comes back, and no folder, however bad, does more than raise one sentence."""

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import settwister as st
from settwister import InputError, SetModel
from test_models import MODELS, built, ragged, vocabulary


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", MODELS)
def test_what_was_saved_comes_back(name: str, tmp_path: Path) -> None:
    model = built(name)
    model.save_pretrained(tmp_path / "model")
    sets = ragged([[0, 1, 2], [], [3]], vocabulary())
    for opened in (type(model).from_pretrained(tmp_path / "model"), SetModel.from_pretrained(tmp_path / "model")):
        assert type(opened) is type(model)
        assert not opened.training
        torch.testing.assert_close(opened.state_dict(), model.state_dict(), rtol=0, atol=0)
        torch.testing.assert_close(opened(sets), model(sets))
        assert all(parameter.requires_grad for parameter in opened.parameters())
    assert names_in(tmp_path / "model") == ["config.json", "model.safetensors"]
    assert names_in(tmp_path) == ["model"], "no temporary folder stays behind"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    st.SetTwister(3, 1).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_an_existing_folder_is_replaced_only_when_told(folder: Path) -> None:
    with pytest.raises(InputError, match="exists already, expected a new folder: force=True"):
        st.DeepSets(3, 1).save_pretrained(folder)
    assert isinstance(SetModel.from_pretrained(folder), st.SetTwister)
    st.DeepSets(3, 1).save_pretrained(folder, force=True)
    assert isinstance(SetModel.from_pretrained(folder), st.DeepSets)
    assert names_in(folder.parent) == ["model"]


def test_a_folder_of_something_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("precious")
    with pytest.raises(InputError, match=r"has no config\.json: it is not ours to replace"):
        st.DeepSets(3, 1).save_pretrained(tmp_path / "letters", force=True)
    assert (tmp_path / "letters" / "one.txt").read_text() == "precious"


def test_a_file_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("precious")
    with pytest.raises(InputError, match="is a file, expected a folder or nothing"):
        st.DeepSets(3, 1).save_pretrained(tmp_path / "model", force=True)
    assert (tmp_path / "model").read_text() == "precious"


def test_a_kill_while_saving_leaves_a_whole_model(tmp_path: Path) -> None:
    """A process that saves over and over is killed at a random moment; what is there opens."""
    code = (
        "import sys, settwister as st\n"
        "model = st.SetTwister(3, 1, phi=(600, 600))\n"
        "model.save_pretrained(sys.argv[1]); print('saved', flush=True)\n"
        "while True: model.save_pretrained(sys.argv[1], force=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "model")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(200):
            SetModel.from_pretrained(tmp_path / "model") if sys.platform == "linux" else None
        process.send_signal(signal.SIGKILL)
    assert isinstance(SetModel.from_pretrained(tmp_path / "model"), st.SetTwister)


def changed(folder: Path, **changes: object) -> None:
    content = json.loads((folder / "config.json").read_text())
    content["config"] |= changes.pop("config", {})  # type: ignore[operator]
    (folder / "config.json").write_text(json.dumps(content | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(model="os.system"), "names the model 'os.system', expected one of"),
        (dict(model=["SetTwister"]), "expected one of"),
        (dict(format=99), "has format 99, expected 1"),
        (dict(config={"M": 10**9}), "has M=1000000000 and k=2, so 1000000000000000000 products"),
        (dict(config={"M": 7}), "does not describe a SetTwister: phi is (60, 60), expected widths that M=7"),
        (dict(config={"k": 10**6}), "does not describe a SetTwister: k is 1000000, expected at most 64"),
        (dict(config={"k": 24}), "has M=2 and k=24, so 16777216 products, expected no more than the"),
        (dict(config={"k": 40, "form": "factored", "rank": 10**9}), "lacks tensor 'twist.alpha.10'"),
        (dict(config={"phi": [10**9, 10**9]}), "expected (1000000000, 3) by config.json"),
        (dict(config={"phi": [2] * 10**5}), "lists more than 256 layers"),
        (dict(config={"phi": "60"}), "phi is '60', expected a sequence of layer widths"),
        (dict(config={"colour": "red"}), "unexpected keyword argument 'colour'"),
        (dict(config={"in_dim": 4}), "has 'phi.0.weight' of shape (60, 3), expected (60, 4) by config.json"),
        (dict(config={"form": "multiset"}), "has an unknown tensor 'twist.bias.2'"),
        (dict(config={"norm": "batch"}), "norm is 'batch', expected one of None, 'asinh', 'layer'"),
        (dict(config={"rho": [50, 50, 50]}), "lacks tensor 'rho.6.bias'"),
    ],
)
def test_a_hostile_configuration_is_refused(folder: Path, changes: dict[str, object], message: str) -> None:
    changed(folder, **changes)
    with pytest.raises(InputError) as caught:
        SetModel.from_pretrained(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not valid JSON"),
        (b"\xff\xfe", "is not valid JSON"),
        (b"[" * 10**5, "is not valid JSON"),
        (b"[]", 'has no "config" object'),
        (b" " * (2**20 + 1), "expected at most 1048576"),
    ],
)
def test_a_broken_configuration_is_refused(folder: Path, content: bytes, message: str) -> None:
    (folder / "config.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        SetModel.from_pretrained(folder)


def test_missing_files_are_named(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"model.safetensors is missing, expected it beside config.json"):
        SetModel.from_pretrained(folder)
    with pytest.raises(InputError, match=r"config.json is missing, expected a folder that save_pretrained wrote"):
        SetModel.from_pretrained(folder / "nowhere")


def test_the_wrong_class_is_named(folder: Path) -> None:
    with pytest.raises(InputError, match="holds a SetTwister, expected a DeepSets"):
        st.DeepSets.from_pretrained(folder)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(length=some.floats(0, 1), flips=some.lists(some.tuples(some.floats(0, 1), some.integers(1, 255)), max_size=4))
def test_truncated_or_flipped_weights_never_crash(
    folder: Path, length: float, flips: list[tuple[float, int]], tmp_path: Path
) -> None:
    """Any cut of the file is refused; a flipped byte is refused or, within a number, merely another number."""
    whole = (folder / "model.safetensors").read_bytes()
    damaged = tmp_path / "damaged"
    damaged.mkdir(exist_ok=True)
    (damaged / "config.json").write_bytes((folder / "config.json").read_bytes())
    content = bytearray(whole[: int(length * len(whole))] if not flips else whole)
    for place, bits in flips:
        content[int(place * (len(content) - 1)) // (1 if place > 0.5 else 8)] ^= bits
    (damaged / "model.safetensors").write_bytes(bytes(content))
    if len(content) < len(whole):
        with pytest.raises(InputError, match=r"model\.safetensors"):
            SetModel.from_pretrained(damaged)
    else:
        with contextlib.suppress(InputError):
            SetModel.from_pretrained(damaged)


def test_whole_numbers_for_weights_are_refused(folder: Path) -> None:
    """As many bytes, which the file says are of another type."""
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes().replace(b'"F32"', b'"I32"'))
    with pytest.raises(InputError, match=r"model\.safetensors has 'phi\.0\.weight' of type I32, expected floats"):
        SetModel.from_pretrained(folder)


def test_a_pickle_is_not_opened(folder: Path, tmp_path: Path) -> None:
    witness = tmp_path / "ran"

    class Hostile:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (str(witness),)

    torch.save({"phi.0.weight": Hostile()}, folder / "model.safetensors")
    with pytest.raises(InputError, match="is no safetensors file"):
        SetModel.from_pretrained(folder)
    assert not witness.exists()
