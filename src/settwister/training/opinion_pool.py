r"""A logarithmic opinion pool: what networks say of a node, and what the known labels of other nodes say of it.

.. math:: \log p_v = \sum_e w_e \log p_v^{(e)} - \log Z_v

Beside the networks there are simple opinions, none of which is trained: labels spread along edges; votes of the nodes
that are most alike, by their own features or by those and their neighbours' together; and, for features that count
something, naive Bayes. The few weights are those that make held-out labels most likely; an opinion that is of no use
gets a weight near 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor

from settwister.functional.neighbour_sum import Csr
from settwister.functional.propagation import label_propagation, normalised
from settwister.graphs.features import as_scipy, tf_idf
from settwister.training.node_trainer import Labelled, joined

ALIKE = 10  # nodes that vote
ALPHA, STEPS = 0.8, 50  # of label propagation
SMOOTHING = 0.3  # what naive Bayes adds to every count
DOUBT = 0.05  # the share of every opinion that is spread over all classes: none rules a class out
RIDGE = 1e-3  # on the squared weights: keeps them finite where held-out labels are met without exception
NETWORKS = "networks"

#: from nodes with their labels, and other nodes, to (B, C) shares of those; a row of zeros is no opinion
Opinion = Callable[[Labelled, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Pooled:
    """(N, C) probabilities, and how much each opinion counts."""

    scores: Tensor
    weights: dict[str, float]


def label_opinions(x: Tensor | Csr, neighbours: Csr, num_classes: int) -> dict[str, Opinion]:
    """What known labels say of other nodes: ``linked``, ``alike``, ``alike_around`` and ``counted``.

    Args:
        x: (N, d) features. To see which nodes are alike, they are weighed by :func:`~settwister.graphs.tf_idf` and
            compared by their cosine. They are counts, or may be taken for such, where none is negative.
    """
    along = normalised(neighbours, "DAD")

    def linked(known: Labelled, asked: Tensor) -> Tensor:
        return label_propagation(known.nodes, known.labels, num_classes, along, ALPHA, STEPS)[asked]

    own = as_scipy(tf_idf(x))
    around = own + as_scipy(normalised(neighbours, "DA")) @ own
    found = {"linked": linked, "alike": _votes(own, num_classes), "alike_around": _votes(around, num_classes)}
    counts = as_scipy(x)
    return found if counts.nnz and counts.data.min() < 0 else found | {"counted": _naive_bayes(counts, num_classes)}


def pool(
    networks: Tensor,
    opinions: Mapping[str, Opinion],
    parts: Sequence[tuple[Labelled, Labelled]],
    known: Labelled,
    class_weight: Tensor | None = None,
) -> Pooled:
    """Pool what networks say with further opinions.

    Args:
        networks: (N, C) probabilities; of held-out nodes, those by networks that have not learned from them.
        parts: pairs of the nodes that were learned from and the nodes held out meanwhile. Of the latter, opinions are
            asked with the labels of the former alone, and by the latter's labels the weights are found.
        known: whose labels may speak of all other nodes. Where they were not held out, they keep what networks say.
        class_weight: (C,) how much a node of each class counts when weights are found.
    """
    held = joined([part for _, part in parts])
    others = torch.ones(len(networks), dtype=torch.bool)
    others[torch.cat([known.nodes, held.nodes])] = False
    asked = [*((learned, part.nodes) for learned, part in parts), (known, others.nonzero().squeeze(-1))]
    nodes = torch.cat([some for _, some in asked])
    logs = torch.stack(
        [
            networks[nodes].clamp(min=torch.finfo(networks.dtype).tiny).log(),
            *(torch.cat([_doubted(opinion(*one)) for one in asked]).log() for opinion in opinions.values()),
        ],
        dim=1,
    )
    weights = pool_weights(logs[: len(held)], held.labels, class_weight)
    scores = networks.clone()
    scores[nodes] = torch.einsum("e,nec->nc", weights.to(logs.dtype), logs).softmax(-1)
    return Pooled(scores, dict(zip((NETWORKS, *opinions), weights.tolist(), strict=True)))


def pool_weights(logs: Tensor, labels: Tensor, class_weight: Tensor | None = None) -> Tensor:
    """(E,) the weights of E opinions under which labels are most likely; a convex problem in E numbers.

    Args:
        logs: (n, E, C) logarithms of what each opinion says of each node.

    Example:
        >>> sure, guessing = torch.tensor([[0.9, 0.1], [0.1, 0.9]]), torch.tensor([[0.5, 0.5], [0.5, 0.5]])
        >>> weights = pool_weights(torch.stack([sure, guessing], 1).log(), torch.tensor([0, 1]))
        >>> bool(weights[0] > 1), bool(weights[1].abs() < 1e-6)
        (True, True)
    """
    logs = logs.double()
    class_weight = None if class_weight is None else class_weight.double()
    weights = torch.zeros(logs.shape[1], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=200, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        found = F.cross_entropy(torch.einsum("e,nec->nc", weights, logs), labels, class_weight)
        found = found + RIDGE * weights.square().sum()
        found.backward()
        return found

    with torch.enable_grad():
        optimiser.step(loss)
    return weights.detach()


def _votes(features: csr_array, num_classes: int) -> Opinion:
    """The labels of those known nodes whose features point most the same way, each counted by its cosine."""
    from sklearn.neighbors import NearestNeighbors

    def votes(known: Labelled, asked: Tensor) -> Tensor:
        found = torch.zeros(len(asked), num_classes)
        if len(asked) == 0:
            return found
        nearest = NearestNeighbors(n_neighbors=min(ALIKE, len(known)), metric="cosine", algorithm="brute")
        distance, place = nearest.fit(features[known.nodes.numpy()]).kneighbors(features[asked.numpy()])
        cosine = torch.from_numpy(1 - distance).float().clamp(min=0)
        return found.scatter_add(1, known.labels[torch.from_numpy(place)], cosine)

    return votes


def _naive_bayes(counts: csr_array, num_classes: int) -> Opinion:
    """Classes by how often each feature occurs in them, features taken as independent."""
    from sklearn.naive_bayes import MultinomialNB

    def shares(known: Labelled, asked: Tensor) -> Tensor:
        found = torch.zeros(len(asked), num_classes)
        if len(asked) == 0:
            return found
        model = MultinomialNB(alpha=SMOOTHING).fit(counts[known.nodes.numpy()], known.labels.numpy())
        found[:, torch.from_numpy(model.classes_)] = torch.from_numpy(
            model.predict_proba(counts[asked.numpy()])
        ).float()
        return found

    return shares


def _doubted(votes: Tensor) -> Tensor:
    """Votes as shares that sum to 1 and are nowhere 0; no votes are equal shares."""
    total = votes.sum(1, keepdim=True)
    classes = votes.shape[1]
    shares = torch.where(total > 0, votes / torch.where(total > 0, total, 1), 1 / classes)
    return (1 - DOUBT) * shares + DOUBT / classes
