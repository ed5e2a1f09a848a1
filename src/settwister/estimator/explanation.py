"""Why a node was classified as it was: the prediction again, without one neighbour or one column at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from settwister.functional.neighbour_sum import Csr
from settwister.nn.features import dense, take_rows
from settwister.nn.nodes import NodeBatch, NodeModel

ENTRIES_AT_ONCE = 2**22  # neighbours over all rows of a batch


@dataclass(frozen=True)
class Explanation:
    """What the prediction of one node rests on.

    Args:
        node: its name; prediction, probability: what it was given.
        neighbours: name, and by how much the probability is higher with that neighbour than without it.
        columns: name, and the same for the column in the node's own row, and in its neighbours' rows; without a column
            means with its average over the training nodes.
    """

    node: Any
    prediction: Any
    probability: float
    neighbours: list[dict[str, Any]]
    columns: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def explain(
    classifier: Any,
    x: Tensor | Csr,
    sets: Csr,
    node: int,
    baseline: NDArray[np.float32],
    groups: Mapping[str, Sequence[int]],
    names: Sequence[Any],
    classes: NDArray[Any],
) -> Explanation:
    """Leave out each neighbour, and each column of the node and of its neighbours, and predict again.

    Args:
        classifier: a fitted :class:`~settwister.OneHopClassifier` whose features are not scaled.
        x, sets: of the graph; node: which row.
        baseline: (d,) what a column is replaced by.
        groups: places in x by the column of the table that they came from.
        names: of the nodes.
    """
    around = sets.take(torch.tensor([node]))
    others, weight = around.index.long(), around.weight
    local = dense(take_rows(x, torch.cat([torch.tensor([node]), others])))  # the node first
    model: NodeModel = classifier.network_

    def probabilities(rows: Tensor, batch: Csr, own: Tensor) -> Tensor:
        with torch.no_grad():
            logits: Tensor = model.eval()(NodeBatch(rows, batch, own))
            found: Tensor = (logits / classifier.temperature_).softmax(-1)
            return found

    whole = _all_but(len(others), weight, torch.tensor([-1]))
    full = probabilities(local, whole, torch.zeros(1, dtype=torch.long))[0]
    best = int(full.argmax())
    without = torch.cat(
        [torch.empty(0)]
        + [
            probabilities(local, _all_but(len(others), weight, left), torch.zeros(len(left), dtype=torch.long))[:, best]
            for left in torch.arange(len(others)).split(max(1, ENTRIES_AT_ONCE // max(1, len(others))))
        ]
    )
    moved = [
        {"node": names[other], "change": float(full[best] - one)}
        for other, one in zip(others.tolist(), without.tolist(), strict=True)
    ]
    average = torch.from_numpy(baseline)
    columns = []
    for name, places in groups.items():
        change = {}
        for whose, part in (("own", slice(0, 1)), ("neighbours", slice(1, None))):
            changed = local.clone()
            changed[part, places] = average[places]
            found = probabilities(changed, whole, torch.zeros(1, dtype=torch.long))[0, best]
            change[whose] = float(full[best] - found)
        columns.append({"column": name, **change})
    return Explanation(
        names[node],
        classes[best].item(),
        float(full[best]),
        sorted(moved, key=lambda row: -abs(row["change"])),
        sorted(columns, key=lambda row: -max(abs(row["own"]), abs(row["neighbours"]))),
    )


def _all_but(count: int, weight: Tensor | None, left: Tensor) -> Csr:
    """A row for each of ``left``: the neighbours 1 … count but that one, -1 leaving out none."""
    kept = torch.arange(count) != left.unsqueeze(-1)
    rows, places = kept.nonzero(as_tuple=True)
    chosen = None if weight is None else weight[places]
    return Csr.from_pairs(rows, places + 1, len(left), count + 1, chosen)
