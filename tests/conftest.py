"""What tests share: a fixed seed, hypothesis without deadlines on a noisy machine, and small graphs and tables."""

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import torch

from example_cora import written_cora
from example_people import Tables, social, written

hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with a small Cora."""
    return written_cora(tmp_path / "data")


@pytest.fixture(scope="session")
def tables() -> Tables:
    """People and who their friends are; do not change them."""
    return social()


@pytest.fixture
def files(tables: Tables, tmp_path: Path) -> Path:
    """The same as two files."""
    return written(tables, tmp_path)
