"""What all tests share: a fixed seed, and hypothesis without deadlines on a noisy machine."""

from collections.abc import Iterator

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield
