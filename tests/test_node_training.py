"""Training node models: collective learning, correct and smooth, and the leaks that would flatter them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from example_nodes import CLASSES, FEATURES, MODELS, NODES, ONE_HOP, example, parts
from settwister.errors import DivergedError, InputError
from settwister.functional.propagation import (
    NORMALISATIONS,
    label_propagation,
    normalised,
    smooth,
)
from settwister.graphs import Graph, random_split
from settwister.nn.nodes import (
    Averaged,
    Grand,
    NodeBatch,
    NodeMLP,
    OneHopDeepSets,
    OneHopSetTwister,
)
from settwister.training import node_trainer as node_trainer_module
from settwister.training.collective import CollectiveRound, train_collective
from settwister.training.correct_and_smooth import ALPHAS, Step, Steps, choose_correct_and_smooth
from settwister.training.node_recipe import NodeRecipe
from settwister.training.node_trainer import (
    Labelled,
    NodeRun,
    NodeTrained,
    class_weights,
    predict_nodes,
    score,
    train_nodes,
)


@pytest.fixture
def graph() -> Graph:
    return example()


def test_validation_nodes_of_classes_that_training_lacks_have_a_loss_all_the_same(graph: Graph) -> None:
    train = Labelled(torch.arange(4), torch.tensor([0, 0, 1, 1]))
    strange, mixed = (Labelled(torch.tensor([4, 5]), torch.tensor(labels)) for labels in ([2, 2], [2, 1]))
    for validation in (strange, mixed):
        model = NodeMLP(FEATURES, 3, (4,))
        recipe = NodeRecipe(epochs=3, balanced=True)
        found = train_nodes(model, graph.x, graph.neighbours, train, validation, recipe)
        assert all(np.isfinite(found.curves["validation_loss"]))
    with pytest.raises(InputError, match="expected finite numbers above 0"):
        NodeRecipe(class_weight=(0.0, 1.0))


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_bits(graph: Graph, name: str) -> None:
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        model = MODELS[name]()
        found.append(train_nodes(model, graph.x, graph.neighbours, *parts(graph), NodeRecipe(epochs=3), seed=4))
    assert torch.equal(found[0].probabilities, found[1].probabilities)
    assert found[0].curves == found[1].curves
    torch.testing.assert_close(found[0].probabilities.sum(1), torch.ones(NODES))


@pytest.mark.parametrize("name", ["gcn", "set_twister"])
def test_the_average_of_weights_is_that_of_every_step(graph: Graph, name: str) -> None:
    """It is taken beside a training that knows nothing of it."""
    train, _ = parts(graph)
    steps: list[dict[str, Tensor]] = []
    torch.manual_seed(0)
    model = MODELS[name]()

    def keep(epoch: int, note: str) -> None:
        steps.append({key: value.detach().clone() for key, value in model.named_parameters()})

    train_nodes(model, graph.x, graph.neighbours, train, None, NodeRecipe(epochs=12), seed=4, tell=keep)
    expected = dict(steps[0])
    for done, weights in enumerate(steps[1:], 1):
        share = 1 - min(0.4, done / (done + 10))
        expected = {key: (1 - share) * expected[key] + share * weights[key] for key in weights}
    torch.manual_seed(0)
    averaged = MODELS[name]()
    train_nodes(averaged, graph.x, graph.neighbours, train, None, NodeRecipe(epochs=12, average=0.4), seed=4)
    for key, value in averaged.named_parameters():
        torch.testing.assert_close(value, expected[key])


@pytest.mark.parametrize("name", MODELS)
def test_the_average_that_was_best_on_validation_is_kept(graph: Graph, name: str) -> None:
    train, validation = parts(graph)
    model = MODELS[name]()
    found = train_nodes(model, graph.x, graph.neighbours, train, validation, NodeRecipe(epochs=20, average=0.9))
    reached = score(found.probabilities[validation.nodes].argmax(1), validation.labels, balanced=False)
    assert reached == found.validation == found.curves["validation_score"][found.best_epoch - 1]
    assert found.model is model


@pytest.mark.parametrize("name", MODELS)
def test_test_labels_do_not_leak(graph: Graph, name: str) -> None:
    """Trained twice, the second time with garbage for the test nodes' labels; then also for the validation nodes'."""
    split = random_split(graph.labelled, seed=0)

    def trained(y: Tensor, select: bool) -> Tensor:
        torch.manual_seed(0)
        train, validation = parts(graph, y)
        recipe = NodeRecipe(epochs=4, balanced=True)
        found = train_nodes(MODELS[name](), graph.x, graph.neighbours, train, validation if select else None, recipe)
        return found.probabilities

    garbage = graph.y.clone()
    garbage[split.test] = (garbage[split.test] + 1) % CLASSES
    assert torch.equal(trained(graph.y, True), trained(garbage, True))
    garbage[split.validation] = (garbage[split.validation] + 1) % CLASSES
    assert torch.equal(trained(graph.y, False), trained(garbage, False))


def test_validation_labels_do_not_leak_where_nothing_is_chosen_by_them(graph: Graph) -> None:
    """Of what comes on top of a model: collective learning of fixed length, fixed steps of correct and smooth."""
    split = random_split(graph.labelled, seed=0)
    base = torch.rand(NODES, CLASSES, generator=torch.Generator().manual_seed(1)).softmax(-1)
    steps = Steps(Step("DAD", 0.8), Step("DA", 0.6))

    def found(y: Tensor) -> list[Tensor]:
        train, _ = parts(graph, y)
        torch.manual_seed(0)
        model = NodeMLP(FEATURES + CLASSES, CLASSES, (8,))
        recipe = NodeRecipe(epochs=3)
        collective = train_collective(model, graph.x, graph.neighbours, train, None, recipe, rounds=2)
        along = normalised(graph.neighbours, "DAD")
        spread = label_propagation(train.nodes, train.labels, CLASSES, along, 0.5, 20)
        return [collective.probabilities, steps(base, train, graph.neighbours), spread]

    garbage = graph.y.clone()
    for part in (split.validation, split.test):
        garbage[part] = (garbage[part] + 1) % CLASSES
    for honest, blind in zip(found(graph.y), found(garbage), strict=True):
        assert torch.equal(honest, blind)


def test_the_best_weights_are_kept_and_patience_ends_it(graph: Graph) -> None:
    torch.manual_seed(0)
    train, validation = parts(graph)
    recipe = NodeRecipe(rate=0.05, epochs=400, patience=20)
    found = train_nodes(MODELS["deepsets"](), graph.x, graph.neighbours, train, validation, recipe)
    scores = found.curves["validation_score"]
    assert found.validation == max(scores)
    assert scores[found.best_epoch - 1] == max(scores)
    assert len(scores) == min(400, found.best_epoch + 20)
    predicted = found.probabilities[validation.nodes].argmax(1)
    assert score(predicted, validation.labels, balanced=False) == found.validation
    some = torch.tensor([5, 2])
    torch.testing.assert_close(predict_nodes(found.model, graph.x, graph.neighbours, some), found.probabilities[some])


def test_the_epoch_can_be_chosen_by_loss(graph: Graph) -> None:
    """What is said to have been reached is the score of the epoch that is kept, not the best of all."""
    torch.manual_seed(0)
    train, validation = parts(graph)
    recipe = NodeRecipe(rate=0.05, epochs=400, patience=20, chosen_by="loss")
    asked: list[float] = []

    def stop(epoch: int, reached: float) -> bool:
        asked.append(reached)
        return False

    model = MODELS["deepsets"]()
    found = train_nodes(model, graph.x, graph.neighbours, train, validation, recipe, stop=stop)
    losses, scores = found.curves["validation_loss"], found.curves["validation_score"]
    assert found.best_epoch - 1 == losses.index(min(losses))
    assert len(losses) == min(400, found.best_epoch + 20)
    assert found.validation == asked[-1] == scores[found.best_epoch - 1]
    with pytest.raises(InputError, match="chosen_by is 'luck', expected one of"):
        NodeRecipe(chosen_by="luck")


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", ONE_HOP)
def test_minibatches_have_the_gradient_of_the_whole(graph: Graph, name: str, weighted: bool) -> None:
    """Without dropout, the mean over batches of equal size is the full batch's gradient, also where classes weigh."""
    model = MODELS[name]().eval()
    train, _ = parts(graph)
    run = NodeRun(model, graph.x, graph.neighbours, train, None, NodeRecipe(balanced=weighted), 0, lambda *_: None)
    weight = run.class_weight
    assert (weight is not None) == weighted

    def gradient(nodes: Tensor) -> Tensor:
        model.zero_grad()
        prepared = model.prepare(NodeBatch.of(graph.x, graph.neighbours, nodes))
        model.loss(prepared, None, graph.y[nodes], weight).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    batches = train.nodes[torch.randperm(len(train))].split(6)
    assert {len(batch) for batch in batches} == {6}
    mean = torch.stack([gradient(batch) for batch in batches]).mean(0)
    torch.testing.assert_close(mean, gradient(train.nodes), atol=1e-6, rtol=1e-4)


def test_a_weighted_loss_is_the_weighted_mean_over_all_nodes(graph: Graph) -> None:
    model = MODELS["gcn"]().eval()
    train, _ = parts(graph)
    run = NodeRun(model, graph.x, graph.neighbours, train, None, NodeRecipe(balanced=True), 0, lambda *_: None)
    logits = model(NodeBatch(graph.x, graph.neighbours))[train.nodes]
    wanted = torch.nn.functional.cross_entropy(logits, train.labels, class_weights(train.labels, CLASSES))
    found = model.loss(run.whole, train.nodes, train.labels, run.class_weight)
    torch.testing.assert_close(found, wanted)


def test_a_loss_that_is_no_number_is_an_error(graph: Graph) -> None:
    train, validation = parts(graph)
    assert isinstance(graph.x, Tensor)
    with pytest.raises(
        DivergedError, match=r"the loss was (nan|inf) in epoch \d+, expected a number: scale the features"
    ):
        train_nodes(MODELS["gat"](), graph.x * 1e38, graph.neighbours, train, validation, NodeRecipe(epochs=20))


def test_minibatches_train(graph: Graph) -> None:
    torch.manual_seed(0)
    recipe = NodeRecipe(rate=0.02, weight_decay=0.0, epochs=150, batch=8)
    train, _ = parts(graph)
    model = OneHopSetTwister(FEATURES, CLASSES, (32,), (16,), dropout=0.0, input_dropout=0.0)
    found = train_nodes(model, graph.x, graph.neighbours, train, None, recipe)
    assert score(found.probabilities[train.nodes].argmax(1), train.labels, balanced=True) > 0.9
    with pytest.raises(InputError, match="it needs the graph"):
        train_nodes(MODELS["gcn"](), graph.x, graph.neighbours, train, None, recipe)


def test_many_validation_nodes_are_judged_in_parts(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    train, validation = parts(graph)
    recipe, found = NodeRecipe(epochs=3, batch=8), []
    for at_once in (1_000, len(validation) // 3):
        monkeypatch.setattr(node_trainer_module, "EVALUATE_AT_ONCE", at_once)
        torch.manual_seed(0)
        model = OneHopSetTwister(FEATURES, CLASSES, (8,), (8,))
        found.append(train_nodes(model, graph.x, graph.neighbours, train, validation, recipe).curves)
    assert found[0]["train_loss"] == found[1]["train_loss"]
    assert found[0]["validation_loss"] == pytest.approx(found[1]["validation_loss"])


@pytest.mark.parametrize(
    ("nodes", "labels", "sentence"),
    [
        ([0, NODES], [0, 1], f"node {NODES} among the labelled nodes, expected ids from 0 to {NODES - 1}"),
        ([-1, 2], [0, 1], "node -1 among the labelled nodes"),
        (
            [0, 1],
            [0, CLASSES],
            f"label {CLASSES} among the labelled nodes, expected labels below the {CLASSES} classes",
        ),
    ],
)
def test_labelled_nodes_that_do_not_fit_are_named(
    graph: Graph, nodes: list[int], labels: list[int], sentence: str
) -> None:
    odd, (train, validation) = Labelled(torch.tensor(nodes), torch.tensor(labels)), parts(graph)
    for pair in ((odd, validation), (train, odd)):
        with pytest.raises(InputError, match=sentence):
            train_nodes(MODELS["mlp"](), graph.x, graph.neighbours, *pair, NodeRecipe(epochs=1))


@pytest.mark.parametrize("name", MODELS)
def test_predictions_leave_a_model_as_it_was(graph: Graph, name: str) -> None:
    """In training or not, part by part, and are those of evaluation either way."""
    model = MODELS[name]()
    expected = predict_nodes(model.eval(), graph.x, graph.neighbours)
    for training in (True, False):
        first = next(module for module in model.train(training).modules() if module is not model).eval()
        torch.testing.assert_close(predict_nodes(model, graph.x, graph.neighbours), expected)
        assert model.training is training
        assert not first.training
    model.train()
    with pytest.raises(InputError):
        predict_nodes(model, graph.x, graph.neighbours, torch.tensor([NODES]))
    assert model.training


@pytest.mark.parametrize("name", MODELS)
def test_nodes_to_predict_are_numbers_or_a_mask(graph: Graph, name: str) -> None:
    model = MODELS[name]()
    everything, mask = predict_nodes(model, graph.x, graph.neighbours), graph.y == 2
    torch.testing.assert_close(predict_nodes(model, graph.x, graph.neighbours, mask), everything[mask])
    for nodes, sentence in ((torch.tensor([-1]), "nodes hold -1"), (torch.tensor([True]), "a mask of 40 booleans")):
        with pytest.raises(InputError, match=sentence):
            predict_nodes(model, graph.x, graph.neighbours, nodes)
    with pytest.raises(InputError, match="neighbours are int64 of shape"):
        predict_nodes(model, graph.x, torch.zeros(2, 5, dtype=torch.long), mask)


def test_collective_learning_tells_of_all_its_rounds(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that diverges is the last of them; what the others found stays."""
    train, validation = parts(graph)
    model = NodeMLP(FEATURES + CLASSES, CLASSES, (4,))
    found = train_collective(model, graph.x, graph.neighbours, train, validation, NodeRecipe(epochs=3), rounds=4)
    assert {len(curve) for curve in found.curves.values()} == {12}
    assert 1 <= found.best_epoch <= 12
    real, begun = CollectiveRound.run, []

    def run(self: CollectiveRound) -> NodeTrained:
        begun.append(self)
        if len(begun) == 3:
            raise DivergedError("the loss was nan in epoch 2")
        return real(self)

    monkeypatch.setattr(CollectiveRound, "run", run)
    found = train_collective(model, graph.x, graph.neighbours, train, validation, NodeRecipe(epochs=3), rounds=4)
    assert (len(begun), len(found.curves["train_loss"])) == (3, 6)
    begun[:] = [None, None]
    with pytest.raises(DivergedError):
        train_collective(model, graph.x, graph.neighbours, train, validation, NodeRecipe(epochs=3))


def test_collective_learning_keeps_the_round_that_its_recipe_would(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guesses made up for three rounds: the second is right most often, the last is surest of what is right."""
    train, validation = parts(graph)
    shares = torch.full((3, NODES, CLASSES), 0.0)
    for number, (right, sure) in enumerate([(0.2, 0.4), (0.9, 0.4), (0.6, 0.99)]):
        count = round(right * len(validation))
        shares[number] = (1 - sure) / (CLASSES - 1)
        shares[number, validation.nodes[:count], validation.labels[:count]] = sure
        rest = validation.nodes[count:]
        shares[number, rest] = torch.tensor([0.33, 0.33, 0.33])
        shares[number, rest, (validation.labels[count:] + 1) % CLASSES] = 0.34
    real, given = CollectiveRound.run, iter(())

    def run(self: CollectiveRound) -> NodeTrained:
        return replace(real(self), probabilities=next(given))

    monkeypatch.setattr(CollectiveRound, "run", run)
    for chosen_by, wanted in (("score", 1), ("loss", 2)):
        given, recipe = iter(shares), NodeRecipe(epochs=1, chosen_by=chosen_by)
        model = NodeMLP(FEATURES + CLASSES, CLASSES, (4,))
        found = train_collective(model, graph.x, graph.neighbours, train, validation, recipe, rounds=3)
        assert found.chosen == {"round": wanted}


def test_collective_learning_needs_a_column_per_class(graph: Graph) -> None:
    train, validation = parts(graph)
    model = NodeMLP(FEATURES, CLASSES, (4,))
    with pytest.raises(InputError, match=f"x has {FEATURES + CLASSES} columns, expected in_dim={FEATURES}"):
        train_collective(model, graph.x, graph.neighbours, train, validation, NodeRecipe(epochs=1))


def test_collective_learning_never_shows_a_target(graph: Graph) -> None:
    """What is shown at a step and what the loss is over do not meet, and together they are the training nodes."""
    train, validation = parts(graph)
    seen: list[tuple[Tensor, Tensor]] = []

    class Spy(NodeMLP):
        def with_extra(self, prepared: object, extra: Tensor) -> object:
            self.shown = extra
            return super().with_extra(prepared, extra)

        def loss(self, prepared: object, rows: Tensor | None, labels: Tensor, class_weight: Tensor | None) -> Tensor:
            assert rows is not None
            assert torch.equal(labels, graph.y[rows])
            seen.append((self.shown.clone(), rows))
            return super().loss(prepared, rows, labels, class_weight)

    model = Spy(FEATURES + CLASSES, CLASSES, (4,))
    recipe = NodeRecipe(epochs=15)
    found = train_collective(model, graph.x, graph.neighbours, train, validation, recipe, rounds=2)
    torch.testing.assert_close(found.probabilities.sum(1), torch.ones(NODES))
    first = seen[:15]
    for shown, targets in first:  # the first round: no guesses yet, so whatever is shown is a label
        nodes = shown.sum(1).nonzero().squeeze(-1)
        assert torch.equal(shown[nodes].argmax(1), graph.y[nodes])
        assert torch.equal(torch.cat([nodes, targets]).sort().values, train.nodes)
    assert len({tuple(targets.tolist()) for _, targets in first}) > 10  # drawn anew at every step
    shown, targets = seen[15]
    assert torch.equal(shown.sum(1), torch.ones(NODES))  # then every node has a label or a guess


def test_collective_learning_answers_without_a_nodes_own_label(graph: Graph) -> None:
    """A model that repeats what it is shown says nothing of the training nodes that it was shown for its answer."""

    class Parrot(NodeMLP):
        def _forward(self, prepared: NodeBatch) -> Tensor:
            assert prepared.extra is not None
            return 20 * prepared.extra + 0 * super()._forward(prepared)

    train, validation = parts(graph)
    model = Parrot(FEATURES + CLASSES, CLASSES, (4,))
    found = train_collective(model, graph.x, graph.neighbours, train, validation, NodeRecipe(epochs=2), rounds=1)
    even = torch.full((len(train), CLASSES), 1 / CLASSES)
    torch.testing.assert_close(found.probabilities[train.nodes], even, atol=1e-3, rtol=0)
    reached = score(found.probabilities[validation.nodes].argmax(1), validation.labels, balanced=False)
    assert found.validation == reached  # that of the answer, not of one draw


def test_correct_and_smooth_is_chosen_on_validation(graph: Graph) -> None:
    """The choice is the best of all on validation; a constant base that says nothing is not left as it is."""
    train, validation = parts(graph)
    base = torch.full((NODES, CLASSES), 1 / CLASSES)
    chosen = choose_correct_and_smooth(base, graph.neighbours, train, validation)
    assert chosen.validation == score(chosen.scores[validation.nodes].argmax(1), validation.labels, balanced=False)
    torch.testing.assert_close(chosen.steps(base, train, graph.neighbours), chosen.scores)
    for steps in (Steps(None, None), Steps(Step("DAD", 0.8), Step("DA", 0.8))):
        scores = steps(base, train, graph.neighbours)
        assert chosen.validation >= score(scores[validation.nodes].argmax(1), validation.labels, balanced=False)


def test_versions_are_smoothed_side_by_side(graph: Graph) -> None:
    train, _ = parts(graph)
    z, along = torch.rand(NODES, 3, CLASSES), normalised(graph.neighbours, "AD")
    together = smooth(z, train.nodes, train.labels, along, 0.7)
    for version in range(3):
        torch.testing.assert_close(together[:, version], smooth(z[:, version], train.nodes, train.labels, along, 0.7))


@pytest.mark.parametrize("largest", [1, 5 * NODES * CLASSES, 2**26])
def test_the_choice_is_that_of_trying_one_after_the_other(
    graph: Graph, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("settwister.training.correct_and_smooth.LARGEST", largest)
    train, validation = parts(graph)
    base = torch.rand(NODES, CLASSES, generator=torch.Generator().manual_seed(0)).softmax(1)
    options = [None, *(Step(kind, alpha) for alpha in ALPHAS for kind in NORMALISATIONS)]
    best: tuple[float, Steps | None] = (-1.0, None)
    for steps in (Steps(first, second) for first in options for second in options):
        found = steps(base, train, graph.neighbours)[validation.nodes].argmax(1)
        reached = score(found, validation.labels, balanced=True)
        best = (reached, steps) if reached > best[0] else best
    chosen = choose_correct_and_smooth(base, graph.neighbours, train, validation, balanced=True)
    assert (chosen.validation, chosen.steps) == best


def test_uneven_classes() -> None:
    labels = torch.tensor([0, 0, 0, 0, 1, 1])
    assert class_weights(labels, 3).tolist() == [1.0, 2.0, 0.0]
    assert score(torch.zeros(6, dtype=torch.long), labels, balanced=False) == pytest.approx(4 / 6)
    assert score(torch.zeros(6, dtype=torch.long), labels, balanced=True) == 0.5


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "no layers": (lambda: OneHopDeepSets(3, 2, ()), "phi is empty"),
    "indivisible": (lambda: OneHopSetTwister(3, 2, (9,)), "expected widths that M=2 divides"),
    "pool": (lambda: OneHopDeepSets(3, 2, pool="max"), "pool is 'max'"),
    "dropout": (lambda: OneHopDeepSets(3, 2, dropout=1.5), "dropout is 1.5"),
    "rate": (lambda: NodeRecipe(rate=0.0), "expected a positive learning rate"),
    "epochs": (lambda: NodeRecipe(epochs=0), "epochs is 0"),
    "average": (lambda: NodeRecipe(average=1.0), "average is 1.0, expected at least 0 and less than 1"),
    "no labels": (lambda: Labelled(torch.tensor([]), torch.tensor([])), "no labelled nodes"),
    "uneven": (lambda: Labelled(torch.tensor([1]), torch.tensor([0, 1])), "expected as many of each"),
    "negative": (lambda: Labelled(torch.tensor([1]), torch.tensor([-1])), "label -1 among the labelled"),
    "a list": (lambda: Labelled([1], torch.tensor([1])), "nodes are a list, expected a tensor of whole numbers"),
    "a mask": (lambda: Labelled(torch.tensor([True]), torch.tensor([1])), "nodes are torch.bool, expected torch.int64"),
    "floats": (
        lambda: Labelled(torch.tensor([1]), torch.tensor([1.0])),
        "labels are torch.float32, expected",
    ),
    "weights": (
        lambda: NodeRecipe(class_weight="ab"),
        "class_weight is ab, expected finite numbers above 0",
    ),
    "a weight": (lambda: NodeRecipe(class_weight=(1, "b")), "class_weight is \\(1, 'b'\\), expected finite numbers"),
    "width": (lambda: NodeMLP(5, 3, hidden=8), "hidden is 8, expected a sequence of layer widths"),
    "no width": (lambda: NodeMLP(5, 3, hidden=(0,)), "hidden\\[0\\] is 0, expected a whole number of at least 1"),
    "activation": (lambda: NodeMLP(5, 3, activation="x"), "activation is 'x', expected one of"),
    "grand, dropout": (lambda: Grand(5, 3, dropout=1.5), "dropout is 1.5, expected a number from 0"),
    "grand, input": (lambda: Grand(5, 3, input_dropout="a"), "input_dropout is 'a', expected a number from 0"),
    "grand, sharpening": (lambda: Grand(5, 3, temperature="a"), "temperature 'a', expected 0 or more and more than 0"),
    "no networks": (lambda: Averaged.over([]), "there are no networks to average, expected at least one"),
    "two kinds": (
        lambda: Averaged.over([NodeMLP(5, 3), NodeMLP(5, 3, (8,))]),
        "a NodeMLP was given beside a NodeMLP, expected networks of one class and configuration",
    ),
}


@pytest.mark.parametrize("name", ["deepsets", "gcn"])
def test_what_cannot_be_trained_is_named(graph: Graph, name: str) -> None:
    train, validation = parts(graph)
    assert isinstance(graph.x, Tensor)
    right = dict(model=MODELS[name](), x=graph.x, neighbours=graph.neighbours, train=train, validation=validation)
    right |= dict(recipe=NodeRecipe(epochs=1))
    wrong: list[tuple[dict[str, object], str]] = [
        (dict(model=torch.nn.Linear(2, 2)), "model is a Linear, expected a NodeModel"),
        (dict(neighbours=torch.zeros(2, 3)), "neighbours is a Tensor, expected a Csr"),
        (dict(train=train.nodes), "train is a Tensor, expected a Labelled"),
        (dict(validation=(train.nodes, train.labels)), "validation is a tuple, expected a Labelled"),
        (dict(recipe={"rate": 0.1}), "recipe is a dict, expected a NodeRecipe"),
        (dict(x=graph.x.to_sparse()), "x is torch-sparse float32 of shape"),
        (dict(x=graph.x[1:]), "x has 39 rows, expected 40, the nodes that neighbours are of"),
        (dict(x=graph.x[:, 1:]), f"x has {FEATURES - 1} columns, expected in_dim={FEATURES}"),
        (dict(x=graph.x.double()), "x is torch.float64, expected torch.float32 as the model's parameters"),
        (dict(recipe=NodeRecipe(class_weight=(1.0, 2.0))), "class_weight has 2 numbers, expected 3, one per class"),
    ]
    for changed, sentence in wrong:
        with pytest.raises(InputError, match=sentence):
            train_nodes(**{**right, **changed})  # type: ignore[arg-type]


def test_labels_and_weights_of_classes_may_be_of_any_whole_type(graph: Graph) -> None:
    """As int32 and int they train the same bits as as int64 and float."""
    train, validation = parts(graph)
    found = []
    for weight, dtype in (((1.0, 2.0, 3.0), torch.int64), ((1, 2, 3), torch.int32)):
        torch.manual_seed(0)
        given = [Labelled(part.nodes.to(dtype), part.labels.to(dtype)) for part in (train, validation)]
        recipe = NodeRecipe(epochs=3, class_weight=weight)
        found.append(train_nodes(MODELS["deepsets"](), graph.x, graph.neighbours, *given, recipe))
    assert torch.equal(found[0].probabilities, found[1].probabilities)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_double_precision_is_trained_with_weights_of_classes(graph: Graph, name: str) -> None:
    assert isinstance(graph.x, Tensor)
    for recipe in (NodeRecipe(epochs=3, balanced=True), NodeRecipe(epochs=3, class_weight=(1, 2, 3))):
        found = train_nodes(MODELS[name]().double(), graph.x.double(), graph.neighbours, *parts(graph), recipe)
        assert found.probabilities.dtype == torch.float64
        assert all(np.isfinite(found.curves["validation_loss"]))


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name: str) -> None:
    make, message = BAD[name]
    with pytest.raises(InputError, match=message):
        make()
