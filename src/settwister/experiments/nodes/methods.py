"""Every method of the node table: what it is made of, and what each protocol varies of it.

A name says what a method is: a network of :data:`NETWORKS`, or a Set Twister of any M and k, and behind it what comes
on top (:data:`ON_TOP`), so ``gat_cs`` and ``set_twister_m4_k3_cl`` are methods too. :data:`METHODS` has those that the
table shows.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from settwister.errors import InputError
from settwister.nn import nodes
from settwister.nn.twist import MOST_PRODUCTS
from settwister.training.node_recipe import AVERAGE
from settwister.training.search import Log, Search, Settings, Space, grid_search

RATES = (1e-3, 5e-3, 1e-2)
WIDTHS = (128, 256, 512)
LAYERS = (2, 3)
#: what makes a network larger
SIZES = ("layers", "width")
#: graphs whose features the paper standardises
STANDARDISED = ("friendster",)
#: what the tuned search makes of features
TUNED_SCALINGS = ("none", "deviation", "tf_idf", "binned")
#: what the tuned search begins with where a method's settings do not say
STANDARD: Settings = dict(
    weight_decay=5e-4,
    average=AVERAGE,
    dropout=0.5,
    input_dropout=0.5,
    layer_norm=False,
    residual=False,
    norm="asinh",
    M=2,
    k=2,
    blocks=10,
    drop_node=0.5,
    batch_norm=False,
    normalise_rows=True,
    start="fan_out",
)


#: what is varied: the values of each setting, the larger networks last
Choices = dict[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Method:
    """How a method's settings become a model.

    Args:
        build: from features, classes and settings (without those of the recipe) to a model; None where there is no
            network.
        defaults: settings under budget ``quick``; ``rate`` among them is the recipe's, and ``scaling`` is a key of
            :data:`settwister.graphs.SCALINGS`.
        grid: what the paper varies; its protocol tries every combination.
        left_open: what the paper does not say; its protocol lets the grid's smallest networks decide.
        space: what the tuned protocol varies, as data: choices in a tuple, or a :class:`Log` range.
        collective: trained by collective learning.
        smoothed: followed by correct and smooth.
        published: settings that its authors give for a graph; under ``""``, for the graphs that they leave out.
        begun_with: the same of what the paper's grid varies: the library's defaults, and where the tuned search begins.
        members: how many networks, from as many initialisations, whose probabilities are averaged.
        crossed: each of the members is stopped by another such share of the training and validation nodes and learns
            from the rest, so that all of them together learn from every known label.
        pooled: what the networks say is pooled with what known labels say of nodes that are linked or alike.
        base: the method whose search this one takes its settings from: what it adds comes on top.
    """

    build: Callable[[int, int, Settings], nodes.NodeModel] | None
    defaults: Settings = field(default_factory=dict)
    grid: Choices = field(default_factory=dict)
    left_open: Choices = field(default_factory=dict)
    space: Space = field(default_factory=dict)
    collective: bool = False
    smoothed: bool = False
    published: dict[str, Settings] = field(default_factory=dict)
    begun_with: dict[str, Settings] = field(default_factory=dict)
    members: int = 1
    crossed: bool = False
    pooled: bool = False
    base: str | None = None

    def fixed(self, graph: str) -> Settings:
        """What no search but the tuned one varies."""
        return _of_graph(self.published, graph)

    def untuned(self, graph: str) -> Settings:
        """The library's defaults for a graph: where nothing is searched."""
        return self.defaults | self.fixed(graph) | _of_graph(self.begun_with, graph)

    def starts(self, graph: str) -> list[Settings]:
        """Where the tuned search begins: the defaults, their weights averaged, under every scaling of the features."""
        assert isinstance(self.space["scaling"], tuple)
        given = self.untuned(graph)
        own = STANDARD | {"rho_layers": given.get("layers")} | given
        return [
            {name: value for name, value in (own | {"scaling": one}).items() if name in self.space}
            for one in self.space["scaling"]
        ]

    def paper_search(self, graph: str) -> Search:
        """The paper's grid, small networks first, and those with every choice that it leaves open."""
        grid, choices = self._varied_by_the_paper(graph)
        return grid_search(grid, choices, self._smallest())

    def paper_effort(self, graph: str) -> int:
        """How many settings :meth:`paper_search` tries."""
        grid, choices = self._varied_by_the_paper(graph)
        return len(grid) + self._smallest() * (len(choices) - 1)

    def paper_space(self, graph: str) -> Choices:
        """What the paper varies and what it leaves open, and a single choice of what is given."""
        return self.grid | self.left_open | {name: (value,) for name, value in self._given_by_the_paper(graph).items()}

    def _given_by_the_paper(self, graph: str) -> Settings:
        return self.fixed(graph) | ({"scaling": "standard"} if graph in STANDARDISED else {})

    def _varied_by_the_paper(self, graph: str) -> tuple[list[Settings], list[Settings]]:
        """The combinations of its grid, and of what it leaves open."""
        given = self._given_by_the_paper(graph)
        return [given | one for one in _combinations(self.grid, given)], _combinations(self.left_open, given)

    def _smallest(self) -> int:
        """How many settings of the grid are of the smallest network: they come first."""
        return math.prod(len(values) for name, values in self.grid.items() if name not in SIZES)


def _of_graph(given: dict[str, Settings], graph: str) -> Settings:
    return given.get(graph, given.get("", {}))


def _combinations(varied: Choices, fixed: Settings) -> list[Settings]:
    """Every combination, the last setting varied first; what is fixed is not varied."""
    free = {name: values for name, values in varied.items() if name not in fixed}
    return [dict(zip(free, values, strict=True)) for values in product(*free.values())]


def _one_hop(kind: type[nodes.OneHopDeepSets] | type[nodes.OneHopSetTwister], **fixed: Any) -> Any:
    """Widths are rounded up to a multiple of a fixed M, so that branches are equal."""
    branches: int = fixed.get("M", 1)

    def build(features: int, classes: int, settings: Settings) -> nodes.NodeModel:
        width: int = settings["width"] + -settings["width"] % branches
        layers: int = settings["layers"]
        behind: int = settings.get("rho_layers", layers)
        more = {name: value for name, value in settings.items() if name not in ("width", "layers", "rho_layers")}
        return kind(features, classes, (width,) * layers, (width,) * behind, **fixed | more)

    return build


def _layered(kind: Any, **fixed: Any) -> Any:
    def build(features: int, classes: int, settings: Settings) -> nodes.NodeModel:
        more = {name: value for name, value in settings.items() if name != "width"}
        made: nodes.NodeModel = kind(features, classes, settings["width"], **fixed | more)
        return made

    return build


def _build_mlp(features: int, classes: int, settings: Settings) -> nodes.NodeModel:
    more = {name: value for name, value in settings.items() if name not in ("width", "layers")}
    return nodes.NodeMLP(features, classes, (settings["width"],) * settings["layers"], **more)


_PLAIN: Settings = dict(layers=2, width=256, rate=5e-3)
_OURS: Settings = dict(layers=1, width=256, rate=1e-2, pool="mean")
_GRID: Choices = dict(layers=LAYERS, width=WIDTHS, rate=RATES)
_ONE_HOP_GRID = _GRID | dict(pool=("sum", "mean"))
#: the paper has tanh in most experiments and does not say in which, and drops half of something without a word on
#: whether features are among it
_ONE_HOP_OPEN: Choices = dict(activation=("tanh", "relu"), input_dropout=(0.5, 0.0))
#: the paper has PyG's GCN and GAT, whose examples divide every node's features by their sum
_PYG_OPEN: Choices = dict(scaling=("none", "rows"))

_DROPOUTS = (0.0, 0.2, 0.35, 0.5, 0.65, 0.8)
_SPACE: dict[str, Any] = dict(
    rate=Log(1e-3, 3e-2),
    weight_decay=Log(1e-5, 1e-2),
    average=(0.0, AVERAGE),
    width=(64, 128, 256, 512),
    dropout=_DROPOUTS,
    scaling=TUNED_SCALINGS,
)
_PYG_SPACE = _SPACE | dict(scaling=(*TUNED_SCALINGS, "rows"))
_MLP_SPACE = _SPACE | dict(layers=(1, 2), input_dropout=_DROPOUTS)
_ONE_HOP_SPACE = _MLP_SPACE | dict(
    rho_layers=(0, 1, 2), pool=("sum", "mean", "sqrt"), layer_norm=(False, True), residual=(False, True)
)
_TWISTER_SPACE = _ONE_HOP_SPACE | dict(norm=(None, "asinh", "layer"), M=(2, 4), k=(2, 3))
_GRAND_SPACE = _SPACE | dict(
    rate=Log(1e-3, 0.3),
    width=(32, 64, 128, 256),
    steps=(2, 4, 5, 8),
    samples=(2, 4),
    drop_node=(0.2, 0.5),
    input_dropout=_DROPOUTS,
    consistency=(0.5, 0.7, 1.0),
    temperature=(0.2, 0.3, 0.5),
    batch_norm=(False, True),
    normalise_rows=(True, False),
)

_GRAND_CORA: Settings = dict(steps=8, samples=4, input_dropout=0.5, dropout=0.5, consistency=1.0, temperature=0.5)
# On graphs without a published setting it is Citeseer's, the one whose first layer can come before the propagation.
_GRAND_CITESEER = dict(steps=2, samples=2, input_dropout=0.0, dropout=0.2, consistency=0.7, temperature=0.3)
_GRAND_PUBMED = dict(
    steps=5, samples=4, input_dropout=0.6, dropout=0.8, consistency=1.0, temperature=0.2, batch_norm=True
)

# Truncated Krylov and Snowball divide rows of words by their sum; what sums of other features mean is left open.
_DIVIDED: Settings = dict(normalise_rows=True)
_WORDS = {"cora": _DIVIDED, "citeseer": _DIVIDED, "pubmed": _DIVIDED}
_KRYLOV_OPEN: Choices = dict(start=("fan_out", "xavier"), normalise_rows=(True, False))
_KRYLOV_SPACE = _SPACE | _KRYLOV_OPEN | dict(layers=(1, 2, 3))

NETWORKS: dict[str, Method] = {
    "gcn": Method(_layered(nodes.GCN), _PLAIN, _GRID, _PYG_OPEN, _PYG_SPACE | dict(layers=(2, 3))),
    "gat": Method(
        _layered(nodes.GAT),
        dict(layers=2, width=16, rate=5e-3),
        _GRID | dict(width=(16, 32)),
        _PYG_OPEN,
        _PYG_SPACE | dict(width=(8, 16, 32, 64), layers=(2, 3)),
    ),
    "tk_gcn": Method(
        _layered(nodes.TruncatedKrylov),
        _PLAIN,
        _GRID,
        _KRYLOV_OPEN,
        _KRYLOV_SPACE | dict(blocks=(2, 4, 7, 10, 19, 30)),
        # The larger the graph, the fewer its authors take; others have as many as the largest of theirs.
        published={
            "cora": dict(blocks=30) | _DIVIDED,
            "citeseer": dict(blocks=19) | _DIVIDED,
            "pubmed": dict(blocks=7) | _DIVIDED,
            "": dict(blocks=7),
        },
    ),
    "snowball": Method(_layered(nodes.Snowball), _PLAIN, _GRID, _KRYLOV_OPEN, _KRYLOV_SPACE, published=_WORDS),
    "grand": Method(
        _layered(nodes.Grand),
        dict(width=128, rate=1e-2),
        dict(width=WIDTHS, rate=RATES),
        dict(normalise_rows=(True, False)),
        _GRAND_SPACE,
        published={"cora": _GRAND_CORA, "citeseer": _GRAND_CITESEER, "pubmed": _GRAND_PUBMED, "": _GRAND_CITESEER},
        begun_with={"pubmed": dict(width=32, rate=0.2), "": dict(width=32)},
    ),
    "mlp": Method(_build_mlp, _PLAIN, _GRID, space=_MLP_SPACE),
    "deepsets": Method(
        _one_hop(nodes.OneHopDeepSets), _PLAIN | dict(pool="mean"), _ONE_HOP_GRID, _ONE_HOP_OPEN, _ONE_HOP_SPACE
    ),
    "set_twister_plus": Method(_one_hop(nodes.OneHopSetTwister), _OURS, _ONE_HOP_GRID, space=_TWISTER_SPACE),
}
#: what may come on top of a network: collective learning; an average of five, also of crossed ones; the opinion pool;
#: correct and smooth
ON_TOP: dict[str, dict[str, Any]] = {
    "cl": dict(collective=True),
    "x5": dict(members=5),
    "crossed": dict(members=5, crossed=True),
    "pooled": dict(pooled=True),
    "cs": dict(smoothed=True),
}
_COMPOSED = re.compile(rf"(?P<network>.+?)(?P<on_top>(_({'|'.join(ON_TOP)}))*)")
_TWISTER = re.compile(r"set_twister_m(?P<M>[1-9]\d?)_k(?P<k>[1-9])")


def _network(name: str) -> Method | None:
    """A network by its name; of Set Twisters, those of the paper's form with any M and k."""
    if twister := _TWISTER.fullmatch(name):
        degrees = {letter: int(number) for letter, number in twister.groupdict().items()}
        if (products := degrees["M"] ** degrees["k"]) > MOST_PRODUCTS:
            raise InputError(
                f"method {name!r} has {products:,} products of sums, M to the power of k, expected at most "
                f"{MOST_PRODUCTS:,}: choose a smaller M or k"
            )
        build = _one_hop(nodes.OneHopSetTwister, norm=None, lower_orders=None, **degrees)
        return replace(NETWORKS["deepsets"], build=build)
    return NETWORKS.get(name)


def _composed(name: str) -> Method:
    """A network with what its name says comes on top."""
    found = _COMPOSED.fullmatch(name)
    network = found and _network(found["network"])
    if not found or not network:
        raise InputError(
            f"unknown method {name!r}, expected {', '.join(_OTHERS)}, or one of {', '.join(NETWORKS)} and "
            f"set_twister_m4_k3 (any M and k), with any of {', '.join(f'_{one}' for one in ON_TOP)} behind it"
        )
    on_top = found["on_top"].split("_")[1:]
    if on_top != [one for one in ON_TOP if one in on_top] or {"x5", "crossed"} <= set(on_top):
        raise InputError(
            f"method {name!r} has something on top twice or out of order, expected each of _{', _'.join(ON_TOP)} at "
            "most once and in this order, and only one of _x5 and _crossed, which are both five networks"
        )
    for one in on_top:
        network = replace(network, base=found["network"], **ON_TOP[one])
    return network


#: methods whose names do not say what they are made of
_OTHERS: dict[str, Method] = {
    "label_propagation": Method(None),
    "correct_and_smooth": _composed("mlp_cs"),  # as the paper's table has it
    "labels_pooled": Method(None, members=5, crossed=True, pooled=True),
}
#: what the table shows
METHODS: dict[str, Method] = {
    name: _OTHERS.get(name) or _composed(name)
    for name in (
        *("gcn", "gat", "tk_gcn", "tk_gcn_cl", "snowball", "snowball_cl", "grand", "mlp", "label_propagation"),
        *("deepsets", "set_twister_m2_k2", "set_twister_plus", "correct_and_smooth", "deepsets_cs"),
        *("set_twister_plus_cs", "set_twister_plus_pooled", "gcn_pooled", "gcn_x5_cs", "set_twister_plus_x5_cs"),
        *("gcn_crossed", "set_twister_plus_crossed", "labels_pooled", "gcn_crossed_pooled"),
        "set_twister_plus_crossed_pooled",
    )
}


def method(name: str) -> Method:
    """A method by its name: one that the table shows, or any network with something on top.

    >>> method("gat_cs").smoothed, method("gat_cs").base, method("set_twister_m4_k3_cl").collective
    (True, 'gat', True)
    """
    return METHODS[name] if name in METHODS else _composed(name)
