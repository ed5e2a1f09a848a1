"""The trainer: the same as torch's optimisers, the same stacked or alone, the same interrupted or not."""

import itertools
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import settwister as st
from settwister import InputError
from settwister.tasks import IntegerTask
from settwister.training import Recipe, Trained, train
from settwister.training.optimisers import clip_each, update
from settwister.training.stacked import Stack

TASK = IntegerTask("variance", length=4, vocabulary=8, width=5, train=96, validation=32, test=32)
RECIPE = Recipe(epochs=3, learning_rate=3e-3, batch=16)

BUILDS = {
    "set_twister": lambda: st.SetTwister(5, 1, (8, 8), (6,)),
    "deepsets": lambda: st.DeepSets(5, 1, (8, 8), (6,)),
    "janossy": lambda: st.JanossyPooling(5, 1, (8, 8), (6,), order="given"),
    "janossy_gru": lambda: st.JanossyGRU(5, 1, hidden=6, rho=(6,)),
    "set_transformer": lambda: st.SetTransformer(5, 1, hidden=8),
}


def weights(trained: list[Trained]) -> torch.Tensor:
    return torch.stack([torch.cat([p.detach().flatten() for p in t.model.parameters()]) for t in trained])


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_optimisers_are_torchs(name: str, weight_decay: float) -> None:
    rates = torch.tensor([[0.01], [0.1]])
    recipe = Recipe(1, 0.01, optimiser=name, weight_decay=weight_decay, clip=0.5)
    start = torch.randn(2, 7)
    theirs = [start[i].clone().requires_grad_() for i in range(2)]
    classes = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    options = dict(weight_decay=weight_decay) | (dict(momentum=0.9) if name == "sgd" else {})
    optimisers = [classes[name]([p], lr=float(rate), **options) for p, rate in zip(theirs, rates, strict=True)]
    rows, first, second = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    for step in range(1, 6):
        gradient = torch.randn(2, 7)
        rows, first, second = update(recipe, rows, gradient, first, second, torch.tensor(float(step)), rates)
        for parameter, optimiser, g in zip(theirs, optimisers, gradient, strict=True):
            parameter.grad = g.clone()
            torch.nn.utils.clip_grad_norm_([parameter], 0.5)
            optimiser.step()
    torch.testing.assert_close(rows, torch.stack(theirs).detach())


def test_each_seed_is_clipped_by_its_own_norm() -> None:
    gradient = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    torch.testing.assert_close(clip_each(gradient, 1.0), torch.tensor([[0.6, 0.8], [0.3, 0.4]]))
    assert clip_each(gradient, 0.0) is gradient


@pytest.mark.parametrize("name", BUILDS)
def test_a_seed_ends_the_same_stacked_or_alone(name: str) -> None:
    together = train(BUILDS[name], TASK.generate, [0, 1, 5], RECIPE, compiled=False)
    alone = [train(BUILDS[name], TASK.generate, [seed], RECIPE, compiled=False)[0] for seed in (0, 1, 5)]
    torch.testing.assert_close(weights(together), weights(alone), atol=1e-4, rtol=1e-3)
    for a, b in zip(together, alone, strict=True):
        assert a.seed == b.seed
        assert a.test == pytest.approx(b.test, rel=1e-3)
        assert a.curves["train_loss"] == pytest.approx(b.curves["train_loss"], rel=1e-3)


@pytest.mark.parametrize("name", ["set_twister", "janossy", "set_transformer"])
def test_compiled_training_is_the_same(name: str) -> None:
    torch.compiler.reset()
    compiled = train(BUILDS[name], TASK.generate, [0, 1], RECIPE, compiled=True)
    plain = train(BUILDS[name], TASK.generate, [0, 1], RECIPE, compiled=False)
    torch.testing.assert_close(weights(compiled), weights(plain), atol=1e-3, rtol=1e-2)


def test_what_was_compiled_for_one_recipe_or_model_is_not_used_for_another() -> None:
    """Shapes are all that a compiled step looks at, and here they are all the same."""
    deepsets = BUILDS["deepsets"]
    others = [(deepsets, replace(RECIPE, optimiser="sgd")), (lambda: st.DeepSets(5, 1, (8, 8), (6,), "tanh"), RECIPE)]
    train(deepsets, TASK.generate, [0], RECIPE, compiled=True)
    for build, recipe in others:
        compiled, plain = (train(build, TASK.generate, [0], recipe, compiled=flag) for flag in (True, False))
        torch.testing.assert_close(weights(compiled), weights(plain), atol=1e-3, rtol=1e-2)


def test_bags_and_gathered_sequences_train_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    bags = train(BUILDS["set_twister"], TASK.generate, [0, 1], RECIPE, compiled=False)
    monkeypatch.setattr("settwister.training.set_trainer.FEW_ELEMENTS", 0)
    gathered = train(BUILDS["set_twister"], TASK.generate, [0, 1], RECIPE, compiled=False)
    torch.testing.assert_close(weights(bags), weights(gathered), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", BUILDS)
def test_pictures_are_bytes_that_stand_for_shares_of_white(name: str) -> None:
    """However few they are: as bytes they train every model as their values would."""
    made = TASK.generate(0)
    pixels = torch.randint(256, made.elements.shape, dtype=torch.uint8)
    as_bytes, as_values = (replace(made, elements=elements) for elements in (pixels, pixels / 255))
    found = [train(BUILDS[name], lambda seed, d=d: d, [0], RECIPE, compiled=False) for d in (as_bytes, as_values)]
    torch.testing.assert_close(weights(found[0]), weights(found[1]))


def test_training_learns_and_the_best_epoch_is_kept() -> None:
    recipe = Recipe(epochs=100, learning_rate=1e-2, batch=16)
    (found,) = train(BUILDS["set_twister"], TASK.generate, [0], recipe, compiled=False)
    assert found.curves["train_loss"][-1] < 0.3 * found.curves["train_loss"][0]
    scores = found.curves["validation_score"]
    assert found.validation == min(scores)
    assert scores[found.best_epoch - 1] == found.validation
    data = TASK.generate(0)
    out = found.model(st.Sets.bags(data.elements, data.counts("test").float())).squeeze(1).detach()
    scaled = out * data.target["train"].std() + data.target["train"].mean()
    assert found.test == pytest.approx(float((scaled - data.target["test"]).abs().mean()), rel=1e-4)


def test_accuracy_counts_rounded_outputs() -> None:
    task = IntegerTask("range", length=2, vocabulary=3, width=4, train=320, validation=32, test=32)
    (found,) = train(
        lambda: st.SetTwister(4, 1, (16, 16), (16,)), task.generate, [0], Recipe(40, 1e-2, batch=16), compiled=False
    )
    assert found.test == 1.0
    assert found.validation == max(found.curves["validation_score"])


def test_plateau_lowers_each_seeds_rate_on_its_own() -> None:
    from settwister.training.checkpoint import Checkpoint

    recipe = Recipe(10, 1.0, schedule="plateau", patience=2, factor=0.5)
    state = Checkpoint.start([0, 1], recipe, torch.zeros(2, 3))
    for epoch in range(4):  # seed 0 stands still, seed 1 gets better and better
        state.finish_epoch(torch.zeros(2), torch.zeros(2), torch.tensor([0.5, 0.1 * epoch]).double(), True, recipe)
    assert state.rate.flatten().tolist() == [0.5, 1.0]
    assert state.best_epoch.tolist() == [1, 4]


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("name", ["set_twister", "janossy_gru"])
@pytest.mark.parametrize("schedule", ["cosine", "plateau"])
def test_an_interrupted_run_ends_as_if_it_had_not_been(
    name: str, schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("settwister.training.checkpoint.SECONDS_BETWEEN", 0.0)
    recipe = Recipe(epochs=6, learning_rate=1e-2, batch=16, schedule=schedule, patience=1)
    whole = train(BUILDS[name], TASK.generate, [0, 1], recipe, compiled=False)

    def stop_at(epoch: int):
        def tell(done: int, note: str) -> None:
            if done == epoch:
                raise StoppedError

        return tell

    for epoch in (2, 3, 5):
        with pytest.raises(StoppedError):
            train(BUILDS[name], TASK.generate, [0, 1], recipe, checkpoint=tmp_path, compiled=False, tell=stop_at(epoch))
    resumed = train(BUILDS[name], TASK.generate, [0, 1], recipe, checkpoint=tmp_path, compiled=False)
    assert torch.equal(weights(resumed), weights(whole))
    for a, b in zip(resumed, whole, strict=True):
        assert a.curves == b.curves
        assert a.test == b.test


def test_a_checkpoint_of_other_settings_or_half_a_file_is_not_used(tmp_path: Path) -> None:
    expected = train(BUILDS["deepsets"], TASK.generate, [0], RECIPE, compiled=False)
    other = Recipe(epochs=3, learning_rate=1e-1, batch=16)
    train(BUILDS["deepsets"], TASK.generate, [0], other, checkpoint=tmp_path, compiled=False)
    found = train(BUILDS["deepsets"], TASK.generate, [0], RECIPE, checkpoint=tmp_path, compiled=False)
    assert torch.equal(weights(found), weights(expected))
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:1000])
    found = train(BUILDS["deepsets"], TASK.generate, [0], RECIPE, checkpoint=tmp_path, compiled=False)
    assert torch.equal(weights(found), weights(expected))


def test_a_killed_process_resumes_to_the_same_weights(tmp_path: Path) -> None:
    """SIGKILL at three moments of its own choosing, then the same call; the weights are those of an undisturbed run."""
    code = """
import sys, torch, settwister as st
import settwister.training.checkpoint as c
from pathlib import Path
from settwister.tasks import IntegerTask
from settwister.training import Recipe, train
c.SECONDS_BETWEEN = 0.0
task = IntegerTask("variance", length=4, vocabulary=8, width=5, train=640, validation=32, test=32)
build = lambda: st.SetTwister(5, 1, (8, 8), (6,))
found = train(build, task.generate, [0, 1], Recipe(30, 3e-3, batch=16), checkpoint=Path(sys.argv[1]), compiled=False,
              tell=lambda done, note: print(done, flush=True))
print("sum", *[repr(float(p.double().sum())) for t in found for p in t.model.parameters()])
"""
    undisturbed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a")], capture_output=True, text=True, check=True, timeout=300
    )
    for epochs in (3, 8):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "b")], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in itertools.islice(process.stdout, epochs):
                assert line.strip().isdigit()
            process.send_signal(signal.SIGKILL)
    resumed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "b")], capture_output=True, text=True, check=True, timeout=300
    )
    assert resumed.stdout.splitlines()[-1] == undisturbed.stdout.splitlines()[-1]
    assert len(resumed.stdout.splitlines()) <= 31 - 10, "finished epochs are not run again"


def test_a_stack_gives_its_models_back() -> None:
    models = [BUILDS["set_twister"]() for _ in range(3)]
    stack = Stack(models)
    sets = st.Sets.dense(torch.randn(4, 6, 5))
    for i, model in enumerate(models):
        torch.testing.assert_close(stack.model(stack.initial[i])(sets), model(sets))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(epochs=0), "epochs is 0, expected a whole number of at least 1"),
        (dict(learning_rate=0), "learning_rate is 0, expected a positive number"),
        (dict(learning_rate=-1.0), "learning_rate is -1.0, expected a number of at least 0"),
        (dict(optimiser="lion"), "optimiser is 'lion', expected one of 'adam', 'adamw', 'sgd'"),
        (dict(schedule="step"), "schedule is 'step', expected one of 'constant', 'cosine', 'plateau'"),
        (dict(clip=float("nan")), "clip is nan, expected"),
    ],
)
def test_bad_recipes_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Recipe(**dict(epochs=1, learning_rate=0.1) | changes)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_recipes_round_trip() -> None:
    assert Recipe.from_json(RECIPE.to_json()) == RECIPE
    with pytest.raises(InputError, match="a recipe has no 'speed', expected only batch"):
        Recipe.from_json({"speed": 1})
