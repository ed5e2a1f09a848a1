"""The arithmetic tasks against their definitions, and the data against what was promised of it."""

import gzip
import itertools
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from settwister import InputError
from settwister.tasks import TARGETS, ImageTask, InfiMnist, IntegerTask, data_folder, load_digits, target
from settwister.tasks.digits import IDX_FILES, Digits
from settwister.tasks.infimnist import FIELD_FILE, FIELDS, SHIFTS, TANGENT_FILE, own_fields

DEFINITIONS = {
    "variance": lambda y: sum((a - b) ** 2 for a in y for b in y) / (2 * len(y) ** 2),
    "range": lambda y: max(y) - min(y),
    "maxmin": lambda y: max(min(abs(a - b) for j, b in enumerate(y) if j != i) for i, a in enumerate(y)),
    "sum": sum,
    "unique_sum": lambda y: sum(set(y)),
    "unique_count": lambda y: len(set(y)),
}


@pytest.mark.parametrize("name", TARGETS)
@given(y=some.lists(some.integers(0, 99), min_size=2, max_size=12))
def test_targets_are_their_definitions(name: str, y: list[int]) -> None:
    assert target(name)(torch.tensor([y])).item() == pytest.approx(DEFINITIONS[name](y), rel=1e-6)


def test_integers_are_the_same_everywhere() -> None:
    """Numbers that were drawn once, on another machine: if these change, every run file is void."""
    data = IntegerTask("variance", train=2, validation=1, test=1).generate(seed=7)
    assert data.index["train"][0].tolist() == [13, 14, 15, 17, 42, 48, 50, 51, 65, 91]
    assert data.elements[0, :3].tolist() == pytest.approx([0.4895, 0.0714, 0.3046], abs=1e-4)


def test_integers_are_what_was_asked_for() -> None:
    data = IntegerTask("range", length=6, vocabulary=30, width=7, train=500, validation=40, test=30).generate(3)
    assert data.elements.shape == (30, 7)
    assert data.elements.abs().max() < 0.5
    assert [len(data.target[split]) for split in ("train", "validation", "test")] == [500, 40, 30]
    for split, numbers in data.index.items():
        assert numbers.shape[1] == 6
        assert numbers.min() >= 0
        assert numbers.max() < 30
        assert torch.equal(numbers, numbers.sort(1).values)
        assert torch.equal(data.target[split], target("range")(numbers))
    counts = data.counts("test")
    assert counts.dtype == torch.uint8
    assert counts.sum(1).tolist() == [6] * 30
    assert torch.equal(counts.float() @ torch.arange(30.0), data.index["test"].sum(1).float())


def test_seeds_and_splits_have_streams_of_their_own() -> None:
    task = IntegerTask("sum", train=50, validation=50, test=50)
    drawn = [task.generate(seed).index[split] for seed in (0, 1) for split in ("train", "validation", "test")]
    assert not any(torch.equal(a, b) for a, b in itertools.combinations(drawn, 2))
    assert torch.equal(task.generate(0).index["test"], drawn[2])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: IntegerTask("variance", vocabulary=1), "vocabulary is 1, expected a whole number of at least 2"),
        (lambda: IntegerTask("maxmin", length=1), "length is 1, expected at least 2 for maxmin"),
        (lambda: ImageTask("maxmin", length=1), "length is 1, expected at least 2 for maxmin"),
        (lambda: IntegerTask("median"), "target is 'median', expected one of 'variance', 'range', 'maxmin', 'sum'"),
        (lambda: IntegerTask("sum", train=0), "train is 0, expected a whole number of at least 1"),
        (lambda: ImageTask("sum", pool=0), "pool is 0, expected"),
    ],
)
def test_bad_tasks_are_refused(build, message: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert message in str(caught.value)


# ---- digits ---------------------------------------------------------------------------------------------------------


def few_digits(train: int = 6, test: int = 4) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        "train_x": random.integers(0, 256, (train, 28, 28), dtype=np.uint8),
        "train_y": np.arange(train, dtype=np.uint8) % 10,
        "test_x": random.integers(0, 256, (test, 28, 28), dtype=np.uint8),
        "test_y": np.arange(test, dtype=np.uint8) % 10,
    }


def write_idx(folder: Path, arrays: dict[str, np.ndarray], *, compress: bool = False) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for key, name in IDX_FILES.items():
        array = arrays[key]
        content = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()
        (folder / (f"{name}.gz" if compress else name)).write_bytes(gzip.compress(content) if compress else content)


@pytest.mark.parametrize("layout", ["npz", "idx", "idx.gz"])
def test_mnist_is_read_in_every_form(layout: str, tmp_path: Path) -> None:
    arrays = few_digits()
    if layout == "npz":
        (tmp_path / "mnist").mkdir()
        np.savez_compressed(tmp_path / "mnist" / "mnist.npz", **arrays)
    else:
        write_idx(tmp_path / "mnist", arrays, compress=layout == "idx.gz")
    digits = load_digits(tmp_path)
    assert digits.name == "mnist"
    for key, array in arrays.items():
        assert np.array_equal(getattr(digits, key), array)


def test_without_mnist_the_embedded_digits_are_enlarged(tmp_path: Path) -> None:
    digits = load_digits(tmp_path)
    assert digits.name == "sklearn"
    assert digits.train_x.shape == (1437, 28, 28)
    assert set(digits.test_y.tolist()) == set(range(10))
    assert "scikit-learn's 8×8 digits, enlarged" in ImageTask("sum", data_dir=str(tmp_path)).source()


def test_broken_digits_are_named(tmp_path: Path) -> None:
    write_idx(tmp_path, few_digits())
    (tmp_path / IDX_FILES["test_x"]).write_bytes(b"\0\0\x08\x03" + b"\0" * 20)
    with pytest.raises(InputError, match=r"t10k-images-idx3-ubyte is not a whole idx file .*: fetch it again"):
        load_digits(tmp_path)
    (tmp_path / IDX_FILES["test_x"]).unlink()
    with pytest.raises(InputError, match=r"t10k-images-idx3-ubyte is missing, expected all four MNIST files"):
        load_digits(tmp_path)
    (tmp_path / "mnist.npz").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(InputError, match=r"mnist.npz cannot be read"):
        load_digits(tmp_path)
    np.savez(tmp_path / "mnist.npz", **few_digits() | {"train_y": np.zeros(2, np.uint8)})
    with pytest.raises(InputError, match=r"labels of shape \(2,\), expected bytes of shape \(n, 28, 28\)"):
        load_digits(tmp_path)
    np.savez(tmp_path / "mnist.npz", **few_digits() | {"train_y": np.full(6, 77, np.uint8)})
    with pytest.raises(InputError, match="labels outside 0 … 9"):
        load_digits(tmp_path)


def test_the_data_directory_is_found_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETTWISTER_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    with pytest.raises(InputError, match="is not there, expected a folder: check --data-dir"):
        data_folder(tmp_path / "nowhere")
    monkeypatch.setenv("SETTWISTER_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"SETTWISTER_DATA is .*nowhere, expected a folder that exists"):
        data_folder()
    monkeypatch.delenv("SETTWISTER_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder() is None
    (tmp_path / "settwister").mkdir()
    assert data_folder() == tmp_path / "settwister"


# ---- InfiMNIST ------------------------------------------------------------------------------------------------------


def slow_image(digits: Digits, fields: np.ndarray, tangents: np.ndarray, i: int) -> np.ndarray:
    """The published procedure, one pixel at a time."""
    tests, trains = len(digits.test_x), len(digits.train_x)
    if i < tests:
        return digits.test_x[i]
    a = (i - tests) % trains
    if i < tests + trains:
        return digits.train_x[a]
    k1 = ((131071 * i) % 2**32) % 1521
    k2 = (k1 + 1 + 2 * i) % 1522
    s = -1 if (k1 + k2) % 2 else 1
    moved = np.zeros((28, 28), np.uint8)
    up_down, left_right = SHIFTS[k1 % 9]
    for row, column in itertools.product(range(28), range(28)):
        v = np.float32(digits.train_x[a, row, column]) + s * (
            fields[k1, row, column] * tangents[a, 0, row, column]
            - fields[k2, row, column] * tangents[a, 1, row, column]
        )
        to = row + up_down, column + left_right
        if 0 <= to[0] < 28 and 0 <= to[1] < 28:
            moved[to] = int(min(max(v, 0), 255))
    return moved


def test_infimnist_is_the_published_procedure_on_the_original_files(tmp_path: Path) -> None:
    """With files in the original's format beside the digits, every pixel is the original's."""
    np.savez(tmp_path / "mnist.npz", **few_digits())
    random = np.random.default_rng(1)
    fields = random.normal(size=(FIELDS, 28, 28)).astype("<f4")
    tangents = (random.normal(size=(6, 2, 28, 28)) * 60).astype("<f4")
    fields.tofile(tmp_path / FIELD_FILE)
    tangents.tofile(tmp_path / TANGENT_FILE)
    stream = InfiMnist.open(load_digits(tmp_path))
    numbers = np.array([0, 3, 4, 9, 10, 11, 25, 1000, 123_456, 2**31 + 5, 8_000_000])
    for number, image in zip(numbers, stream.images(numbers), strict=True):
        assert np.array_equal(image, slow_image(stream.digits, fields, tangents, int(number))), number
    assert stream.labels(numbers).tolist() == [0, 3, *((numbers[2:] - 4) % 6).tolist()]
    (tmp_path / FIELD_FILE).write_bytes(b"short")
    with pytest.raises(InputError, match="has 5 bytes, expected 4772992: fetch it again"):
        InfiMnist.open(load_digits(tmp_path))


def test_our_own_fields_are_smooth_and_scaled(tmp_path: Path) -> None:
    fields = own_fields(scale=2.0)
    assert fields.shape == (FIELDS, 28, 28)
    assert np.sqrt(np.square(fields).mean()) == pytest.approx(2.0, rel=1e-3)
    steps = np.diff(fields, axis=1)
    assert np.abs(steps).mean() < 0.5 * np.abs(fields).mean()
    stream = InfiMnist.open(load_digits(tmp_path))
    first = len(stream.digits.test_x) + len(stream.digits.train_x)
    image = stream.images(np.array([first]))[0]
    original = stream.digits.train_x[0]
    assert not np.array_equal(image, original)
    assert np.array_equal(image, stream.images(np.array([first + 5, first]))[1]), "an image depends on its number only"


def test_image_sequences_show_what_their_targets_say(tmp_path: Path) -> None:
    task = ImageTask("sum", length=3, pool=200, data_dir=str(tmp_path), train=40, validation=10, test=10)
    data = task.generate(0)
    assert data.elements.shape == (200, 784)
    assert data.elements.dtype == torch.uint8
    stream = InfiMnist.open(load_digits(tmp_path))
    first = len(stream.digits.test_x) + len(stream.digits.train_x)
    labels = stream.labels(first + data.index["train"].numpy())
    assert data.target["train"].tolist() == labels.sum(1).tolist()
    held_out = ImageTask("sum", length=3, pool=200, holdout=True, data_dir=str(tmp_path), train=40).generate(0)
    assert held_out.index["train"].max() < 200 <= held_out.index["test"].min()
    tests = held_out.elements[held_out.index["test"][0, 0]].reshape(28, 28).numpy()
    assert (stream.digits.test_x == tests).all(axis=(1, 2)).any()


@pytest.mark.skipif(load_digits().name != "mnist", reason="no MNIST: point SETTWISTER_DATA at a folder that has it")
def test_real_mnist_is_whole_and_its_deformations_stay_close() -> None:
    stream = InfiMnist.open(load_digits())
    assert (len(stream.digits.train_x), len(stream.digits.test_x)) == (60_000, 10_000)
    assert np.bincount(stream.digits.train_y).min() > 5000
    numbers = 70_000 + 100 * np.arange(500)
    deformed = stream.images(numbers).astype(float)
    originals = stream.digits.train_x[(numbers - 10_000) % 60_000].astype(float)
    ink = deformed.mean(axis=(1, 2)) / originals.mean(axis=(1, 2))
    assert 0.95 < np.median(ink) < 1.15, "a deformation moves ink, and makes or loses little of it"
    assert np.corrcoef(deformed.ravel(), originals.ravel())[0, 1] > 0.5
