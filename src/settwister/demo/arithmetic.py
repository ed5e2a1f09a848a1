"""The demonstration: every set model learns the variance of a set of integers, each for the same time."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch

from settwister.nn import DeepSets, JanossyGRU, JanossyPooling, SetModel, SetTransformer, SetTwister
from settwister.sets import Sets
from settwister.tasks import IntegerTask, Sequences

TASK = IntegerTask("variance", train=50_000, validation=1, test=5_000)
BATCH = 128
FAST, SLOW = 5e-3, 1e-3  # peak learning rates; attention, recurrence and pairs need smaller steps

MODELS: dict[str, Callable[[], SetModel]] = {
    "Set Twister": lambda: SetTwister(TASK.width, 1, phi=(20, 60), rho=(100,)),
    "DeepSets": lambda: DeepSets(TASK.width, 1, phi=(20, 60), rho=(100,)),
    # A linear rho can only weigh what the pooled representation holds already: does it hold pairs?
    "Set Twister, linear rho": lambda: SetTwister(TASK.width, 1, phi=(20, 60), rho=(), norm=None),
    "DeepSets, linear rho": lambda: DeepSets(TASK.width, 1, phi=(20, 60), rho=()),
    "Janossy 2-ary": lambda: JanossyPooling(TASK.width, 1, phi=(20, 60), rho=(100,), order="given"),
    "Janossy GRU": lambda: JanossyGRU(TASK.width, 1, rho=(100,)),
    "Set Transformer": lambda: SetTransformer(TASK.width, 1),
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


def train_for(name: str, data: Sequences, seconds: float, seed: int, tell: Callable[[float, str], None]) -> Result:
    """Train one model for a share of the clock, the learning rate following a cosine from warm-up to 0.

    Args:
        tell: called with the fraction done and the running error.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = MODELS[name]()
        optimiser = torch.optim.Adam(model.parameters())
        counts, targets = data.counts("train"), data.target["train"]
        centre, spread = targets.mean(), targets.std()
        peak = FAST if isinstance(model, SetTwister | DeepSets) else SLOW
        error, seen, start = math.nan, 0, time.perf_counter()
        while (done := (time.perf_counter() - start) / seconds) < 1:
            for group in optimiser.param_groups:
                group["lr"] = peak * min(1, 20 * done) * (1 + math.cos(math.pi * done)) / 2
            rows = torch.randint(len(targets), (BATCH,))
            # Bags over the vocabulary: phi runs once per integer, however often it occurs.
            out = model(Sets.bags(data.elements, counts[rows], check=False)).squeeze(1)
            loss = (out * spread + centre - targets[rows]).abs().mean()
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
        bags = [Sets.bags(data.elements, part) for part in data.counts("test").split(500)]
        found = torch.cat([model(sets) for sets in bags]).squeeze(1) * spread + centre
    mae = (found - data.target["test"]).abs().mean().item()
    return Result(name, mae, seen, model.num_parameters(), time.perf_counter() - start)
