"""Training set models: what a step costs, what stacking seeds gains, and how cost grows with the set."""

import itertools
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from settwister import paper
from settwister.bench.timing import Part, Row, best_times, compare
from settwister.experiments.cells import Cell
from settwister.nn import BlockLinear, SetModel, SetTwister
from settwister.sets import Sets
from settwister.training import Recipe
from settwister.training.set_trainer import SetTrainer

SEEDS = 5
BATCH = 128
LENGTHS = (10, 100, 1_000, 10_000)
GROWING = ("set_twister_m2_k2", "deepsets", "janossy_2ary", "set_transformer")
PAIR_LENGTHS = (10, 100, 300, 1_000)  # a hundred million pairs do not fit


def parts(rounds: int = 200) -> list[Part]:
    """Set Twister's step against DeepSets', the stacked trainer against a plain loop, and slopes in the set's size.

    Each comparison by itself: a step that follows one of another size finds cold caches.
    """
    steps = [partial(_steps, "integers", SEEDS, rounds), partial(_steps, "images", 1, rounds)]
    growth = [partial(_growth, name, max(3, rounds // 20)) for name in GROWING]
    return [*steps, partial(_stacking, rounds), *growth]


def _steps(table: str, seeds: int, rounds: int) -> list[Row]:
    twister = _stacked_step(Cell(table, "set_twister_m2_k2", "variance"), seeds)
    deepsets = _stacked_step(Cell(table, "deepsets", "variance"), seeds)
    times = best_times({f"Set Twister, {table}": twister, f"DeepSets, {table}": deepsets}, rounds)
    return [compare(times, *times)]


def _stacking(rounds: int) -> list[Row]:
    stacked = _stacked_step(Cell("integers", "set_twister_m2_k2", "variance"), SEEDS)
    times = best_times({"stacked trainer, per seed": stacked, "a plain loop": _plain_step()}, rounds)
    times["stacked trainer, per seed"] /= SEEDS
    return [compare(times, *times)]


def _stacked_step(cell: Cell, seeds: int) -> Callable[[], object]:
    """One compiled training step of all seeds, as the trainer takes it."""
    sizes = dict(train=BATCH, validation=1, test=1) | (dict(pool=2000) if cell.images else {})
    task = cell.data(**sizes)
    data = [task.generate(seed) for seed in range(seeds)]
    trainer = SetTrainer([cell.build() for _ in range(seeds)], data, list(range(seeds)), Recipe(1, 1e-3))
    order = torch.arange(BATCH).expand(seeds, -1)
    batch, target = trainer.numbers(trainer.batch("train", order)), trainer.targets("train", order)
    state = trainer.stack.initial
    step = trainer.compiled_step()
    number, rate = torch.tensor(1.0), torch.full((seeds, 1), 1e-3)
    zeros = torch.zeros_like(state)
    return lambda: step(state, zeros, zeros, number, rate, batch, target)


class _Masked(nn.Linear):
    """A block-diagonal layer as a masked dense one."""

    def __init__(self, blocks: int, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features)
        block = torch.ones(out_features // blocks, in_features // blocks)
        self.register_buffer("mask", torch.block_diag(*[block] * blocks))

    def forward(self, x: Tensor) -> Tensor:
        assert isinstance(self.mask, Tensor)
        return nn.functional.linear(x, self.weight * self.mask, self.bias)


def _plain_step() -> Callable[[], object]:
    """What one would write first: one seed, eager, masked layers, every occurrence gathered, torch's own Adam."""
    model = paper.model("integers", "set_twister_m2_k2", "variance")
    assert isinstance(model, SetTwister)
    for i, layer in enumerate(model.phi):
        if isinstance(layer, BlockLinear):
            blocks, fan_in, fan_out = layer.weight.shape
            model.phi[i] = _Masked(blocks, blocks * fan_in, blocks * fan_out)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    embedding, numbers = torch.rand(100, 100) - 0.5, torch.randint(100, (BATCH, 10))
    target = numbers.float().var(1, correction=0, keepdim=True)
    pairs = list(itertools.product(range(2), repeat=2))

    def step() -> None:
        sums = model.phi(embedding[numbers]).sum(1).unflatten(-1, (2, -1))
        products = torch.stack([sums[:, u] * sums[:, v] for u, v in pairs], dim=1)
        twisted = (products * model.twist.alpha["2"]).sum(1) + model.twist.bias["2"]
        loss = (model.rho(twisted) - target).abs().mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


def _growth(name: str, rounds: int) -> list[Row]:
    """The slope of log time on log n over the last two sizes, one set, forward and backward: 1 is linear, 2 quadratic.

    ``ratio`` is the slope. Below a thousand elements, calls cost more than arithmetic and every slope is near 0.
    """
    lengths = PAIR_LENGTHS if name == "janossy_2ary" else LENGTHS
    model = paper.model("integers", name, "variance")
    times = best_times({str(n): _pass(model, n) for n in lengths}, rounds, warm_up=1)
    longest, before = times[str(lengths[-1])], times[str(lengths[-2])]
    slope = math.log(longest / before) / math.log(lengths[-1] / lengths[-2])
    what = f"{name}: slope, n = {lengths[-1]:,}"
    return [Row(what, slope, longest * 1e3, before * 1e3, "ms", f"n = {lengths[-2]:,}")]


def _pass(model: SetModel, n: int) -> Callable[[], object]:
    sets = Sets.dense(torch.rand(1, n, model.in_dim) - 0.5)
    return lambda: model(sets).sum().backward()
