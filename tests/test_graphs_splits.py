"""Splits: disjoint, complete, and the same again."""

import numpy as np
import torch
from hypothesis import example, given
from hypothesis import strategies as some

from graph_files import PARTS, refusal
from settwister.graphs import random_split
from settwister.graphs.splits import stratified_parts


@given(nodes=some.integers(5, 60), seed=some.integers(0, 5))
def test_random_splits_are_disjoint_complete_and_the_same_again(nodes: int, seed: int) -> None:
    labelled = torch.arange(nodes) * 3
    split, again = random_split(labelled, seed), random_split(labelled, seed)
    parts = [getattr(split, part) for part in PARTS]
    assert torch.equal(torch.cat(parts).sort().values, labelled)
    assert all(torch.equal(part, getattr(again, name)) for part, name in zip(parts, PARTS, strict=True))
    assert len(split.train) == round(0.6 * nodes)


def test_a_mask_of_the_labelled_nodes_is_as_good_as_their_numbers() -> None:
    mask = torch.arange(40) % 3 == 0
    found, expected = random_split(mask, 0), random_split(mask.nonzero().squeeze(-1), 0)
    assert all(torch.equal(getattr(found, part), getattr(expected, part)) for part in PARTS)


def test_random_splits_differ_by_seed_and_need_a_share_for_each_part() -> None:
    assert not torch.equal(random_split(torch.arange(100), 0).test, random_split(torch.arange(100), 1).test)
    assert "expected positive shares" in refusal(lambda: random_split(torch.arange(9), 0, 0.8, 0.2))
    assert "cannot be cut in three" in refusal(lambda: random_split(torch.arange(2), 0))


@given(
    sizes=some.lists(some.integers(1, 30), min_size=1, max_size=5),
    shares=some.sampled_from([(0.6, 0.2, 0.2), (0.8, 0.2), (0.2, 0.4, 0.4), (0.5, 0.0, 0.5), (0.1, 0.9), (1.0, 0.0)]),
    seed=some.integers(0, 5),
)
@example(sizes=[1, 2, 3, 4], shares=(0.2, 0.4, 0.4), seed=0)
@example(sizes=[1, 2, 3, 4], shares=(0.6, 0.2, 0.2), seed=0)
def test_every_class_is_cut_in_the_same_shares(sizes: list[int], shares: tuple[float, ...], seed: int) -> None:
    """To within one node, unless a part would get none; the smallest classes are in the first parts only."""
    classes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    parts = stratified_parts(classes, shares, seed)
    np.testing.assert_array_equal(parts, stratified_parts(classes, shares, seed))
    wanted = [part for part, share in enumerate(shares) if share > 0]
    for one, size in enumerate(sizes):
        counts = np.bincount(parts[classes == one], minlength=len(shares))
        assert counts.sum() == size
        assert len(counts) == len(shares)
        assert all((counts[part] > 0) == (part in wanted[:size]) for part in range(len(shares)) if size <= len(wanted))
        assert all((counts[part] > 0) == (part in wanted) for part in range(len(shares)) if size >= len(wanted))
        if size * min(shares[part] for part in wanted) >= 1:
            assert np.abs(counts - size * np.array(shares)).max() <= 1


def test_which_members_of_a_class_go_where_is_random() -> None:
    classes = np.repeat([0, 1], 500)
    one, other = (stratified_parts(classes, (0.5, 0.5), seed) for seed in (0, 1))
    assert 0.4 < np.mean(one == other) < 0.6
    assert 0.4 < np.mean(one[::2]) < 0.6, "not by place"
    assert 0.4 < np.mean(one[:500] == one[500:]) < 0.6, "not alike in all classes"
