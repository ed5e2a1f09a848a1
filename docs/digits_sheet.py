"""Draws docs/img/digits.png, a contact sheet of deformed digits, where MNIST is at hand: ``make docs``."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from settwister.tasks import InfiMnist, load_digits

mpl.use("Agg")
import matplotlib.pyplot as plt

DIGITS, DEFORMED = 6, 11


def main() -> None:
    digits = load_digits()
    if digits.name != "mnist":
        print("no MNIST in the data directory: docs/img/digits.png stays as it is")
        return
    stream = InfiMnist.open(digits)
    first, count = len(digits.test_x), len(digits.train_x)
    rows = []
    for digit in range(DIGITS):
        numbers = first + digit + count * np.arange(DEFORMED + 1)  # the digit itself, then its deformations
        original, *deformed = stream.images(numbers)
        gap = np.full((28, 6), 128, np.uint8)
        rows.append(np.concatenate([original, gap, *deformed], axis=1))
    sheet = np.concatenate(rows).repeat(2, axis=0).repeat(2, axis=1)
    plt.imsave(Path(__file__).parent / "img" / "digits.png", sheet, cmap="gray_r", pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
