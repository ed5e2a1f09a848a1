"""The demonstration: every set model learns the variance of a set, each for the same time on this machine."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from settwister.nn import DeepSets, JanossyGRU, JanossyPooling, SetModel, SetTransformer, SetTwister
from settwister.sets import Sets

VOCABULARY, LENGTH, WIDTH = 100, 10, 100
TRAIN, TEST, BATCH = 50_000, 5_000, 128
FAST, SLOW = 5e-3, 1e-3  # peak learning rates; attention, recurrence and pairs need smaller steps

MODELS: dict[str, Callable[[], SetModel]] = {
    "Set Twister": lambda: SetTwister(WIDTH, 1, phi=(20, 60), rho=(100,)),
    "DeepSets": lambda: DeepSets(WIDTH, 1, phi=(20, 60), rho=(100,)),
    # A linear rho can only weigh what the pooled representation holds already: does it hold pairs?
    "Set Twister, linear rho": lambda: SetTwister(WIDTH, 1, phi=(20, 60), rho=(), norm=None),
    "DeepSets, linear rho": lambda: DeepSets(WIDTH, 1, phi=(20, 60), rho=()),
    "Janossy 2-ary": lambda: JanossyPooling(WIDTH, 1, phi=(20, 60), rho=(100,), order="given"),
    "Janossy GRU": lambda: JanossyGRU(WIDTH, 1, rho=(100,)),
    "Set Transformer": lambda: SetTransformer(WIDTH, 1),
}


@dataclass(frozen=True)
class Result:
    """One model after its share of the time."""

    model: str
    mae: float
    sets_seen: int
    parameters: int
    seconds: float

    def as_row(self) -> dict[str, str | float]:
        return asdict(self)


@dataclass(eq=False)
class VarianceTask:
    """Sets of ten integers below 100, each integer a random vector; the target is the variance of the integers."""

    embedding: Tensor
    train: Tensor
    test: Tensor

    @classmethod
    def generate(cls, seed: int) -> "VarianceTask":
        generator = torch.Generator().manual_seed(seed)
        embedding = torch.rand(VOCABULARY, WIDTH, generator=generator) - 0.5
        numbers = torch.randint(VOCABULARY, (TRAIN + TEST, LENGTH), generator=generator)
        return cls(embedding, numbers[:TRAIN], numbers[TRAIN:])

    def sets(self, numbers: Tensor) -> Sets:
        """As bags over the vocabulary: phi runs once per integer, however often it occurs."""
        counts = torch.zeros(len(numbers), VOCABULARY).scatter_add(1, numbers, torch.ones(numbers.shape))
        return Sets.bags(self.embedding, counts, check=False)

    def target(self, numbers: Tensor) -> Tensor:
        return numbers.float().var(1, correction=0, keepdim=True)


def train_for(name: str, task: VarianceTask, seconds: float, seed: int, tell: Callable[[float, str], None]) -> Result:
    """Train one model for a share of the clock, the learning rate following a cosine from warm-up to 0.

    Args:
        tell: called with the fraction done and the running error.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = MODELS[name]()
        optimiser = torch.optim.Adam(model.parameters())
        targets = task.target(task.train)
        centre, spread = targets.mean(), targets.std()
        peak = FAST if isinstance(model, SetTwister | DeepSets) else SLOW
        error, seen, start = math.nan, 0, time.perf_counter()
        while (done := (time.perf_counter() - start) / seconds) < 1:
            for group in optimiser.param_groups:
                group["lr"] = peak * min(1, 20 * done) * (1 + math.cos(math.pi * done)) / 2
            rows = torch.randint(TRAIN, (BATCH,))
            loss = (model(task.sets(task.train[rows])) * spread + centre - targets[rows]).abs().mean()
            optimiser.zero_grad()
            (loss / spread).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            seen += BATCH
            if seen // BATCH % 10 == 0:
                error = loss.item() if math.isnan(error) else 0.9 * error + 0.1 * loss.item()
                tell(done, f"MAE {error:.1f}")
    model.eval()
    with torch.no_grad():
        found = torch.cat([model(task.sets(part)) for part in task.test.split(500)]) * spread + centre
    mae = (found - task.target(task.test)).abs().mean().item()
    return Result(name, mae, seen, model.num_parameters(), time.perf_counter() - start)
