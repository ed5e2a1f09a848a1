"""What the forms of the twist cost, forward and backward, and what larger M and k cost a whole model."""

from functools import partial

import torch
from torch import Tensor

from settwister.bench.timing import Part, Row, best_times, compare
from settwister.functional import multisets, num_multisets, twist
from settwister.nn import SetTwister
from settwister.sets import Sets

BATCH, WIDTH, M, K, RANK = 128, 64, 8, 4, 16


def parts(rounds: int = 30) -> list[Part]:
    """Ratios of the forms at M=8, k=4, batch 128, and of whole models at equal width."""
    return [partial(_forms, rounds), partial(_models, rounds)]


def gathered(sums: Tensor, alpha: Tensor, index: Tensor) -> Tensor:
    """The obvious way: gather the k factors of every product, multiply, weigh, add. Here only to be compared with.

    Args:
        sums: (B, M, d); alpha: (C, d); index: (C, k), the factors of each product.
    """
    product = sums.index_select(1, index[:, 0])
    for j in range(1, index.shape[1]):
        product = product * sums.index_select(1, index[:, j])
    return (product * alpha).sum(1)


def _forms(rounds: int) -> list[Row]:
    generator = torch.Generator().manual_seed(0)
    sums = torch.randn(BATCH, M, WIDTH, generator=generator).requires_grad_()
    alpha = torch.randn(num_multisets(M, K), WIDTH, generator=generator).requires_grad_()
    ordered = torch.randn(M**K, WIDTH, generator=generator).requires_grad_()
    factors = torch.randn(K, WIDTH, RANK, M, generator=generator).requires_grad_()
    index = torch.tensor(multisets(M, K))

    def both_ways(out: Tensor, coefficients: Tensor) -> None:
        torch.autograd.grad(out.sum(), (sums, coefficients))

    gather, multiset, factored = f"gathering {K} factors per product", "multiset", f"factored, rank {RANK}"
    times = best_times(
        {
            gather: lambda: both_ways(gathered(sums, alpha, index), alpha),
            multiset: lambda: both_ways(twist(sums, alpha, K), alpha),
            "ordered": lambda: both_ways(twist(sums, ordered, K, "ordered"), ordered),
            factored: lambda: both_ways(twist(sums, factors, K, "factored"), factors),
        },
        rounds,
    )
    return [
        compare(times, multiset, gather),
        compare(times, factored, multiset),
        compare(times, "ordered", gather),
    ]


def _models(rounds: int) -> list[Row]:
    """Whole models on 128 sets of 10: d_rep = width / M, so the factored twist costs the same whatever M is."""
    sets = Sets.dense(torch.randn(BATCH, 10, 100, generator=torch.Generator().manual_seed(0)))
    smallest = "Set Twister M=2, k=2"
    models = {smallest: SetTwister(100, 1, (120, 120), (50, 50))}
    for m, k, rank in ((4, 3, 4), (8, 4, 4)):
        models[f"Set Twister M={m}, k={k}, factored, rank {rank}"] = SetTwister(
            100, 1, (120, 120), (50, 50), M=m, k=k, form="factored", rank=rank
        )
    runs = {name: lambda model=model: model(sets).sum().backward() for name, model in models.items()}
    times = best_times(runs, rounds)
    return [compare(times, name, smallest) for name in models if name != smallest]
