"""InfiMNIST (Loosli, Canu, Bottou 2007): an endless, numbered stream of deformed digits.

The procedure is InfiMNIST's, number for number. It needs displacement fields and two tangent images per training digit.
Where the data directory has the original files, those are used; otherwise the fields are smoothed uniform noise of our
own and the tangents are the images' derivatives, so the pictures are of the same kind but not the same.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from settwister.errors import InputError
from settwister.tasks.digits import SIDE, Digits, Images
from settwister.tasks.streams import stream

FIELDS = 1522
FIELD_FILE = "fields_float_1522x28x28.bin"
TANGENT_FILE = "tangVec_float_60000x28x28.bin"
SMOOTHING = 3.0  # pixels
SCALE = 1.0  # root mean square displacement of our own fields, in pixels
CHUNK = 10_000

Floats = NDArray[np.float32]

#: what translation t moves by: up, down, left, right, the four diagonals, nothing; (rows, columns)
SHIFTS = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1), (0, 0))


@dataclass(eq=False)
class InfiMnist:
    """The stream: number i is a test digit (first), then a training digit, then deformed training digits without end.

    Args:
        digits: what is deformed.
        fields: (1522, 28, 28) displacements.
        tangents: (n, 2, 28, 28), memory-mapped, or None to take derivatives.
    """

    digits: Digits
    fields: Floats
    tangents: Floats | None = None

    @classmethod
    def open(cls, digits: Digits, scale: float = SCALE) -> "InfiMnist":
        """With the original fields and tangents if they lie beside the digits, else with our own.

        Args:
            scale: of our own fields, in pixels.
        """
        fields = None if digits.folder is None else _mapped(digits.folder / FIELD_FILE, (FIELDS, SIDE, SIDE))
        shape = (len(digits.train_x), 2, SIDE, SIDE)
        tangents = None if digits.folder is None else _mapped(digits.folder / TANGENT_FILE, shape)
        if fields is None or tangents is None:
            return cls(digits, own_fields(scale))
        return cls(digits, fields, tangents)

    def labels(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The digits that images show."""
        tests, trains = len(self.digits.test_y), len(self.digits.train_y)
        found = self.digits.train_y[(numbers - tests) % trains].astype(np.int64)
        return np.where(numbers < tests, self.digits.test_y[np.minimum(numbers, tests - 1)], found)

    def images(self, numbers: NDArray[np.int64]) -> Images:
        """(n, 28, 28) images by number, made a chunk at a time."""
        out = np.empty((len(numbers), SIDE, SIDE), np.uint8)
        for start in range(0, len(numbers), CHUNK):
            out[start : start + CHUNK] = self._chunk(numbers[start : start + CHUNK])
        return out

    def _chunk(self, numbers: NDArray[np.int64]) -> Images:
        tests, trains = len(self.digits.test_x), len(self.digits.train_x)
        source = (numbers - tests) % trains
        out = self.digits.train_x[source]
        out[numbers < tests] = self.digits.test_x[numbers[numbers < tests]]
        deformed = np.flatnonzero(numbers >= tests + trains)
        if len(deformed):
            out[deformed] = self._deform(numbers[deformed], source[deformed])
        return out

    def _deform(self, numbers: NDArray[np.int64], source: NDArray[np.int64]) -> Images:
        first = (131071 * numbers) % 2**32 % (FIELDS - 1)
        second = (first + 1 + 2 * numbers) % FIELDS
        digit = self.digits.train_x[source].astype(np.float32)
        if self.tangents is None:
            across, down = np.gradient(digit, axis=2), np.gradient(digit, axis=1)
        else:
            across, down = self.tangents[source, 0], self.tangents[source, 1]
        # first + second is always odd, which in the original means a minus
        moved = digit - (self.fields[first] * across - self.fields[second] * down)
        whole = np.clip(moved, 0, 255).astype(np.uint8)
        return _shifted(whole, first % len(SHIFTS))


def own_fields(scale: float = SCALE) -> Floats:
    """Smooth random displacements, the same on every machine: uniform noise, blurred, of a given size."""
    noise = stream(0, "infimnist fields").random((FIELDS, SIDE, SIDE)) * 2 - 1
    smooth: NDArray[np.float64] = gaussian_filter(noise, sigma=(0, SMOOTHING, SMOOTHING), mode="wrap")
    smooth *= scale / np.sqrt(np.square(smooth).mean())
    return smooth.astype(np.float32)


def _shifted(images: Images, which: NDArray[np.int64]) -> Images:
    """Each image moved by its shift; vacated pixels are 0."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    out = np.empty_like(images)
    for t, (rows, columns) in enumerate(SHIFTS):
        chosen = which == t
        out[chosen] = padded[chosen, 1 - rows : 1 - rows + SIDE, 1 - columns : 1 - columns + SIDE]
    return out


def _mapped(path: Path, shape: tuple[int, ...]) -> Floats | None:
    if not path.is_file():
        return None
    expected = 4 * int(np.prod(shape))
    if path.stat().st_size != expected:
        raise InputError(f"{path} has {path.stat().st_size} bytes, expected {expected}: fetch it again")
    return np.memmap(path, dtype="<f4", mode="r", shape=shape)
