"""What the paper counts: trainable parameters (its supplement) and operations (its Figure 1)."""

from dataclasses import asdict, dataclass

from torch import nn

from settwister.nn import BlockLinear, DeepSets, SetTwister
from settwister.paper.architectures import model
from settwister.paper.tables import published

FIGURE1_ELEMENTS = 2


@dataclass(frozen=True)
class Count:
    """One of our counts beside the paper's."""

    model: str
    column: str
    ours: int
    paper: int

    def as_row(self) -> dict[str, str | int]:
        return asdict(self)


def parameter_counts() -> list[Count]:
    """The 22 parameter counts of the supplement, ours from the models as built."""
    cells = {
        "images": ("images", "variance"),
        "integers": ("integers", "variance"),
        "maxmin_n10": ("maxmin_length", "n10"),
        "maxmin_n20": ("maxmin_length", "n20"),
    }
    return [
        Count(row["model"], column, model(cells[column][0], row["model"], cells[column][1]).num_parameters(), given)
        for row in published()["parameters"]["rows"]
        for column, given in row.items()
        if column != "model"
    ]


def figure1_counts() -> list[Count]:
    """The 8 counts of Figure 1: two elements in R^10, rho → 10 → 2, no biases anywhere."""
    models: dict[str, SetTwister | DeepSets] = {
        "set_twister_m3_k2": SetTwister(
            10,
            2,
            phi=(12, 12, 12),
            rho=(10,),
            M=3,
            k=2,
            form="multiset",
            lower_orders=None,
            norm=None,
            independent=True,
            activation="tanh",
            bias=False,
        ),
        "deepsets": DeepSets(10, 2, phi=(12, 12, 12), rho=(10,), activation="tanh", bias=False),
    }
    counts = []
    for row in published()["figure1_cost"]["rows"]:
        built = models[row["model"]]
        rho = _weights(built.rho)
        ours = {"operations": operations(built, FIGURE1_ELEMENTS), "parameters": built.num_parameters() - rho}
        ours |= {f"{name}_with_rho": value + rho for name, value in ours.items()}
        counts += [Count(row["model"], column, ours[column], row[column]) for column in ours]
    return counts


def operations(built: SetTwister | DeepSets, n: int) -> int:
    """Operations on one set of n elements before rho, as Figure 1 counts them.

    A multiply, an add and a multiply-accumulate count 1 each; activations count nothing. With C products,
    n·|phi| + (n-1)·M·d [sums] + (k-1)·C·d [products] + C·d [alphas] + (C-1)·d [their sum].
    """
    elements: int = n * _weights(built.phi)
    if isinstance(built, DeepSets):
        return elements + (n - 1) * int(built.config["phi"][-1])
    twist = built.twist
    products = int(twist.alpha[str(twist.k)].shape[0])
    d = twist.dim
    sums = (n - 1) * twist.M * d
    return elements + sums + (twist.k - 1) * products * d + products * d + (products - 1) * d


def _weights(network: nn.Module) -> int:
    layers = (layer for layer in network.modules() if isinstance(layer, nn.Linear | BlockLinear))
    return sum(int(layer.weight.numel()) for layer in layers)
