"""Every method of the node table, in one dictionary: what it is made of, and what the paper's grid varies."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from settwister.errors import InputError
from settwister.nn import nodes

Settings = dict[str, Any]
RATES = (1e-3, 5e-3, 1e-2)
WIDTHS = (128, 256, 512)
LAYERS = (2, 3)


@dataclass(frozen=True)
class Method:
    """How a method's settings become a model.

    Args:
        build: from features, classes and settings (without those of the recipe) to a model; None where nothing is
            learned.
        defaults: settings under budget ``quick``; ``rate`` among them is the recipe's.
        grid: what the paper's protocol varies; every combination is tried.
        collective: trained by collective learning.
        smoothed: followed by correct and smooth.
    """

    build: Callable[[int, int, Settings], nodes.NodeModel] | None
    defaults: Settings = field(default_factory=dict)
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    collective: bool = False
    smoothed: bool = False

    def combinations(self) -> list[Settings]:
        """The paper's grid."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]


def _one_hop(kind: type[nodes.OneHopDeepSets] | type[nodes.OneHopSetTwister], **fixed: Any) -> Any:
    def build(features: int, classes: int, settings: Settings) -> nodes.NodeModel:
        width, layers = settings["width"], settings["layers"]
        more = {name: value for name, value in settings.items() if name not in ("width", "layers")}
        return kind(features, classes, (width,) * layers, (width,) * layers, **fixed | more)

    return build


def _layered(kind: Any, **fixed: Any) -> Any:
    def build(features: int, classes: int, settings: Settings) -> nodes.NodeModel:
        more = {name: value for name, value in settings.items() if name != "width"}
        made: nodes.NodeModel = kind(features, classes, settings["width"], **fixed | more)
        return made

    return build


def _mlp(features: int, classes: int, settings: Settings) -> nodes.NodeModel:
    return nodes.NodeMLP(features, classes, (settings["width"],) * settings["layers"])


_TWISTER = dict(norm=None, lower_orders=None)  # the paper's form
_GRID: dict[str, tuple[Any, ...]] = dict(layers=LAYERS, width=WIDTHS, rate=RATES)
_ONE_HOP_GRID = _GRID | dict(pool=("sum", "mean"))
_PLAIN: Settings = dict(layers=2, width=256, rate=5e-3)

METHODS: dict[str, Method] = {
    "gcn": Method(_layered(nodes.GCN), _PLAIN, _GRID),
    "gat": Method(_layered(nodes.GAT), dict(layers=2, width=16, rate=5e-3), _GRID | dict(width=(16, 32))),
    "tk_gcn": Method(_layered(nodes.TruncatedKrylov), _PLAIN, _GRID),
    "tk_gcn_cl": Method(_layered(nodes.TruncatedKrylov), _PLAIN, _GRID, collective=True),
    "snowball": Method(_layered(nodes.Snowball), _PLAIN, _GRID),
    "grand": Method(_layered(nodes.Grand), dict(width=128, rate=1e-2), dict(width=WIDTHS, rate=RATES)),
    "mlp": Method(_mlp, _PLAIN, _GRID),
    "label_propagation": Method(None),
    "deepsets": Method(_one_hop(nodes.OneHopDeepSets), _PLAIN | dict(pool="mean"), _ONE_HOP_GRID),
    "set_twister_m2_k2": Method(
        _one_hop(nodes.OneHopSetTwister, **_TWISTER), _PLAIN | dict(pool="mean"), _ONE_HOP_GRID
    ),
    "set_twister_plus": Method(
        _one_hop(nodes.OneHopSetTwister), dict(layers=1, width=256, rate=1e-2, pool="mean"), _ONE_HOP_GRID
    ),
    "correct_and_smooth": Method(_mlp, _PLAIN, _GRID, smoothed=True),
    "deepsets_cs": Method(_one_hop(nodes.OneHopDeepSets), _PLAIN | dict(pool="mean"), _ONE_HOP_GRID, smoothed=True),
    "set_twister_plus_cs": Method(
        _one_hop(nodes.OneHopSetTwister),
        dict(layers=1, width=256, rate=1e-2, pool="mean"),
        _ONE_HOP_GRID,
        smoothed=True,
    ),
}


def method(name: str) -> Method:
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}, expected one of {', '.join(METHODS)}")
    return METHODS[name]
