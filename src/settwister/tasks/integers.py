"""Arithmetic on randomly encoded integers: every integer is a fixed random vector, drawn per seed."""

from dataclasses import dataclass

import torch

from settwister._checks import whole_number
from settwister.errors import InputError
from settwister.tasks.sequences import SPLITS, Sequences
from settwister.tasks.streams import stream
from settwister.tasks.targets import target


@dataclass(frozen=True)
class IntegerTask:
    """Sequences of integers drawn uniformly with replacement, each given by its embedding.

    Args:
        target: a key of :data:`~settwister.tasks.TARGETS`.
        length: integers per sequence.
        vocabulary: integers run from 0 to ``vocabulary - 1``.
        width: of the embeddings, uniform on (-0.5, 0.5).
        train, validation, test: sequences per split.

    Example:
        >>> data = IntegerTask("range", length=5, train=10).generate(seed=0)
        >>> tuple(data.index["train"].shape), tuple(data.elements.shape)
        ((10, 5), (100, 100))
    """

    target: str
    length: int = 10
    vocabulary: int = 100
    width: int = 100
    train: int = 100_000
    validation: int = 10_000
    test: int = 10_000

    def __post_init__(self) -> None:
        wanted = target(self.target)
        whole_number("vocabulary", self.vocabulary, least=2)
        whole_number("width", self.width)
        for split in SPLITS:
            whole_number(split, getattr(self, split))
        if whole_number("length", self.length) < wanted.least_length:
            raise InputError(f"length is {self.length}, expected at least {wanted.least_length} for {self.target}")

    def generate(self, seed: int) -> Sequences:
        """The data of one run: embeddings and splits, each from a stream of its own."""
        wanted = target(self.target)
        elements = stream(seed, "embedding").random((self.vocabulary, self.width), dtype="float32") - 0.5
        index = {}
        for split in SPLITS:
            drawn = stream(seed, split).integers(self.vocabulary, size=(getattr(self, split), self.length))
            index[split] = torch.from_numpy(drawn).sort(1).values
        return Sequences(
            torch.from_numpy(elements),
            index,
            {split: wanted(numbers) for split, numbers in index.items()},
            wanted.metric,
        )
