"""Tests of training steps: equal losses in three frameworks from models of any source; options; wrong uses."""

from __future__ import annotations

import copy
import functools
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optax")
pytest.importorskip("flax")
pytest.importorskip("keras")

import numpy as np  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import parallel, training, transforms  # noqa: E402
from graph_compiler.errors import CallMismatch, FrameworkNotInstalled, InvalidOption, NotCompilable  # noqa: E402
from graph_compiler.ops.dtypes import dtype_name  # noqa: E402
from graph_compiler.parallel.rules import layouts_of  # noqa: E402
from graph_compiler.training.losses import LossFunction, ReportErrors  # noqa: E402
from tests.support.logs import logged  # noqa: E402

from .models import (  # noqa: E402
    BATCHES,
    SAMPLES,
    TARGETS,
    classifier,
    cross_entropy,
    keras_loss,
    keras_model,
    network_parameters,
)

RULE = training.optimizer("sgd", learning_rate=0.1, momentum=0.9)


def example(name: str, to: str) -> tuple[Any, ...]:
    """Return arguments for the recording: arrays of the source, with another size than the batches."""
    import jax.numpy as jnp
    import tensorflow as tf

    x = np.ones((5, 4), "float32")
    made = {"torch": torch.from_numpy, "flax": jnp.asarray, "jax": jnp.asarray, "keras": tf.constant}[name](x)
    return (network_parameters(), made) if name == "jax" else (made,)


def trained(state: Any, batches: Any = BATCHES) -> tuple[Any, list[float]]:
    losses = []
    for batch in batches:
        state, metrics = training.single_train_step(state, batch)
        losses.append(float(metrics["loss"]))
    return state, losses


@functools.cache
def graph(to: str, dropout: float = 0.0) -> Any:
    return graph_compiler.compile(classifier(dropout), to=to, args=(torch.ones(5, 4),))


def elements(state: Any, arrays: Any) -> dict[str, Any]:
    native = state.graph._pipeline.target.target
    return {name: np.array(native.to_numpy(array)) for name, array in arrays.items()}


def by_hand(batches: Any, **options: Any) -> tuple[Any, list[float]]:
    """Train the classifier in torch in the usual way; return (model, losses)."""
    model, losses = classifier(), []
    rule = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for x, target in batches:
        rule.zero_grad()
        loss = cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(target))
        loss.backward()
        rule.step()
        losses.append(loss.item())
    return model, losses


@pytest.mark.parametrize("name", SAMPLES)
def test_three_targets_train_alike(name: str) -> None:
    """Random numbers are equal too: Keras and flax use keys, which are the same integers everywhere."""
    sample, found = SAMPLES[name], {}
    for to in TARGETS:
        model = sample.model()
        state = training.TrainState.create(
            model, RULE, loss=sample.loss, to=to, args=example(name, to), **sample.options
        )
        state, found[to] = trained(state)
        held = elements(state, state.parameters)
        if name != "jax":
            state.to_source()
            again = graph_compiler.compile(model, to=to, args=example(name, to)).parameters
            for key, array in elements(state, again).items():
                np.testing.assert_array_equal(array, held[key], err_msg=f"{key} in {to}")
    for to in TARGETS[1:]:
        np.testing.assert_allclose(found[to], found["torch"], rtol=1e-5, err_msg=to)
    if name == "torch":
        np.testing.assert_allclose(found["torch"], by_hand(BATCHES)[1], rtol=1e-6)


@pytest.mark.parametrize("to", TARGETS)
def test_weights_come_back_under_their_names(to: str) -> None:
    model = classifier()
    before, mode = copy.deepcopy(model.state_dict()), model.eval().training
    state = training.TrainState.create(model, RULE, loss=cross_entropy, to=to, args=(torch.ones(5, 4),))
    state, _ = trained(state)
    # Training must change neither the original nor its mode.
    for name, array in model.state_dict().items():
        assert torch.equal(array, before[name])
    state.to_source()
    expected = by_hand(BATCHES)[0].state_dict()
    assert model.training is mode
    assert model.again.weight is model.last.weight
    for name, array in model.state_dict().items():
        # Batch norm subtracts the mean, so the gradient of this bias consists of rounding errors.
        if name not in (
            "first.bias",
            "norm.running_mean",
        ):
            torch.testing.assert_close(array, expected[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("to", TARGETS)
def test_gradients_apart_and_options_together(to: str) -> None:
    def loss(outputs: Any, target: Any) -> Any:
        return cross_entropy(outputs, target), {"most": outputs.max()}

    options = {"accumulate": 2, "freeze": ["first.*"], "ema": 0.75}
    state = training.TrainState.create(
        graph(to), training.optimizer("sgd", learning_rate=0.5), loss=loss, **options
    )
    start = elements(state, state.parameters)
    sums, seen = {}, []
    for batch in BATCHES[:2]:
        gradients, metrics, state = training.compute_gradients(state, batch)
        given = elements(state, gradients)
        assert given.keys() == {"norm.weight", "norm.bias", "last.weight", "last.bias"}
        assert set(metrics) == {"loss", "most"}
        sums = {name: sums.get(name, 0) + array for name, array in given.items()}
        state = training.apply_gradients(state, gradients)
        seen.append(elements(state, state.parameters))
    ema = elements(state, state.ema)
    for name, array in start.items():
        if name in sums:
            np.testing.assert_array_equal(seen[0][name], array)
            np.testing.assert_allclose(seen[1][name], array - 0.5 * sums[name] / 2, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(ema[name], 0.75 * array + 0.25 * seen[1][name], rtol=1e-5, atol=1e-6)
        elif name.startswith("first"):
            np.testing.assert_array_equal(seen[1][name], array)
    assert int(seen[1]["norm.num_batches_tracked"]) == 2
    assert state.step == 2


def frozen_in_torch() -> Any:
    model = classifier()
    model.first.requires_grad_(False)
    return model


def frozen_in_keras() -> Any:
    model = keras_model()
    model.layers[0].trainable = False
    return model


class Backbone(torch.nn.Module):
    """A model whose ``train()`` keeps its body in eval mode."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = classifier(0.5), torch.nn.Linear(3, 3)

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.body.eval()
        return self

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            found = self.body(x)
        return self.head(found)


def with_a_part_in_eval() -> Any:
    model = classifier(0.5)
    model.norm.eval()
    model.drop.eval()
    return model


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "make",
    [with_a_part_in_eval, Backbone, lambda: Backbone().eval()],
    ids=["by the user", "by the model", "from eval"],
)
def test_parts_stay_in_their_modes(make: Callable[[], Any], to: str) -> None:
    """The frozen part must keep its statistics and drop nothing, in a model that is trained."""
    torch.manual_seed(0)
    model = make()
    other = (
        copy.deepcopy(model).train(model.training) if isinstance(model, Backbone) else copy.deepcopy(model)
    )
    state, losses = trained(
        training.TrainState.create(model, RULE, loss=cross_entropy, to=to, args=example("torch", to))
    )
    rule, expected = (
        torch.optim.SGD(
            [weight for weight in other.parameters() if weight.requires_grad], lr=0.1, momentum=0.9
        ),
        [],
    )
    for x, target in BATCHES:
        rule.zero_grad()
        loss = cross_entropy(other(torch.from_numpy(x)), torch.from_numpy(target))
        loss.backward()
        rule.step()
        expected.append(loss.item())
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert not any(
        array.any() for name, array in elements(state, state.parameters).items() if "running_mean" in name
    )


class Counting(torch.nn.Module):
    """A layer that counts the calls of ``train()``, and sets dropout by an attribute at that time."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.drop, self.drops = classifier(), torch.nn.Dropout(1.0), False
        self.asked: list[bool] = []

    def train(self, mode: bool = True) -> Any:
        self.asked.append(mode)
        super().train(mode)
        self.drop.train(mode and self.drops)
        return self

    def forward(self, x: Any) -> Any:
        return self.drop(self.layer(x))


@pytest.mark.parametrize("is_training", [True, False])
def test_a_mode_that_a_model_decides_is_asked_for_where_something_changed(is_training: bool) -> None:
    """A custom ``train()`` is called again only if an attribute, a mode or a part has changed."""
    torch.manual_seed(0)
    model = Counting().train(is_training)
    state = training.TrainState.create(model, RULE, loss=cross_entropy, args=example("torch", "torch"))
    x, target = map(torch.from_numpy, BATCHES[0])
    model.asked.clear()

    def step() -> tuple[float, int]:
        nonlocal state
        state, metrics = training.single_train_step(state, (x, target))
        assert model.training is model.layer.training is is_training
        return metrics["loss"].item(), len(model.asked)

    # This is the loss of outputs that are all zero.
    certain = float(np.log(3))
    for change, loss in (
        (lambda: setattr(model, "drops", True), certain),
        (lambda: setattr(model, "drops", False), None),
        (lambda: setattr(model, "drop", torch.nn.Dropout(1.0)), None),
        (lambda: setattr(model, "drops", True), certain),
    ):
        for _ in range(2):
            step()
        _, before = step()
        assert step()[1] == before
        change()
        found, after = step()
        assert after > before and (found == pytest.approx(certain)) == (loss is not None)


FROZEN = {
    "torch": (frozen_in_torch, cross_entropy, lambda model: {"first.weight", "first.bias"}),
    "keras": (
        frozen_in_keras,
        keras_loss,
        lambda model: {variable.path for variable in model.layers[0].variables},
    ),
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", FROZEN)
def test_what_the_original_freezes_stays(name: str, to: str) -> None:
    make, loss, names = FROZEN[name]
    model = make()
    state = training.TrainState.create(model, RULE, loss=loss, to=to, args=example(name, to))
    start = elements(state, state.parameters)
    state, _ = trained(state)
    kept = {key for key, array in elements(state, state.parameters).items() if (start[key] == array).all()}
    assert kept == names(model) and not kept & set(state.held.trained)


@pytest.mark.parametrize("to", TARGETS)
def test_frozen_parameters_are_told_apart(to: str, tmp_path: Path) -> None:
    graph = graph_compiler.compile(frozen_in_torch().eval(), to=to, args=(torch.ones(5, 4),))
    graph.save(tmp_path / "frozen")
    for one in (graph, graph_compiler.load(tmp_path / "frozen")):
        assert one.frozen == {"first.weight", "first.bias"}
        assert (
            one.trained
            == one._differentiable - one.frozen
            == {"norm.weight", "norm.bias", "last.weight", "last.bias"}
        )
    assert "first.weight" in transforms.jacrev(graph.functional)(graph.parameters, torch.ones(2, 4))
    with pytest.raises(
        InvalidOption, match=r"the model itself keeps all of them from training, first.bias, first.weight"
    ):
        training.TrainState.create(
            frozen_in_torch().requires_grad_(False), RULE, loss=cross_entropy, to=to, args=(torch.ones(5, 4),)
        )


@pytest.mark.parametrize("to", TARGETS)
def test_numbers_are_drawn_anew_at_each_step(to: str) -> None:
    """With a rate of 0 only dropout can change the loss."""
    state = training.TrainState.create(
        graph(to, 0.5), training.optimizer("sgd", learning_rate=0.0), loss=cross_entropy
    )
    state, losses = trained(state, BATCHES[:1] * 60)
    assert len(set(losses)) > 30
    torch.manual_seed(1)
    model, x, target = classifier(0.5), *map(torch.from_numpy, BATCHES[0])
    expected = [cross_entropy(model(x), target).item() for _ in range(200)]
    assert abs(np.mean(losses) - np.mean(expected)) < 4 * np.std(expected) / np.sqrt(60)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(("precision", "near"), [("bf16", 0.02), ("f16", 0.003)])
def test_half_precision(precision: str, near: float, to: str) -> None:
    state = training.TrainState.create(graph(to), RULE, loss=cross_entropy, precision=precision)
    kind = {"bf16": "bfloat16", "f16": "float16"}[precision]
    assert kind in state.graph.source
    state, losses = trained(state)
    expected = by_hand(BATCHES)[1]
    np.testing.assert_allclose(losses, expected, rtol=near)
    assert not np.array_equal(losses, expected)
    assert {str(array.dtype) for array in elements(state, state.parameters).values()} <= {
        "float32",
        "int32",
        "int64",
    }


@pytest.mark.parametrize("to", TARGETS)
def test_updates_that_are_not_finite_are_left_out(to: str) -> None:
    state = training.TrainState.create(graph(to), RULE, loss=cross_entropy, precision="f16", ema=0.5)
    before, scale = elements(state, state.parameters), float(state.held.scaling["scale"])
    broken = {
        name: array * 0 + float("inf") for name, array in state.plan.engine.values(state.held.trained).items()
    }
    state = training.apply_gradients(state, broken)
    after = elements(
        state, {**state.parameters, **{f"ema.{name}": array for name, array in state.ema.items()}}
    )
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)
        np.testing.assert_array_equal(after[f"ema.{name}"], array)
    assert float(state.held.scaling["scale"]) == scale / 2


@pytest.mark.parametrize("to", TARGETS)
def test_a_state_that_is_used_up_says_so(to: str) -> None:
    state = training.TrainState.create(graph(to), RULE, loss=cross_entropy)
    kept = elements(state, state.parameters)
    later, _ = training.single_train_step(state, BATCHES[0])
    # Parameters that were read earlier must not change.
    for name, array in elements(later, state.parameters).items():
        np.testing.assert_array_equal(array, kept[name])
    for use in (
        lambda: training.single_train_step(state, BATCHES[0]),
        lambda: state.save("state"),
        lambda: training.compute_gradients(state, BATCHES[0]),
        lambda: parallel.replicate(state),
        lambda: parallel.unreplicate(state),
        lambda: parallel.shard(state, None, {}),
    ):
        with pytest.raises(CallMismatch, match="was used up by a training step"):
            use()


def test_inputs_in_each_form() -> None:
    import jax.numpy as jnp

    x, target = BATCHES[0]
    state = training.TrainState.create(
        graph("jax"), training.optimizer("sgd", learning_rate=0.0), loss=cross_entropy
    )
    losses = []
    for inputs in (x, (x,), [x], {"x": x}, torch.from_numpy(x), jnp.asarray(x)):
        state, metrics = training.single_train_step(state, (inputs, torch.from_numpy(target)))
        losses.append(float(metrics["loss"]))
    assert len(set(losses)) == 1
    state, metrics = training.single_train_step(state, (x[:3], target[:3]))
    assert float(metrics["loss"]) != losses[0]


def test_a_batch_of_another_kind_is_recorded() -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.norm = torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)

        def forward(self, x: Any, scale: Any = None) -> Any:
            return self.norm(self.layer(x if scale is None else x * scale))

    for to in ("torch", "jax"):
        state = training.TrainState.create(Two(), RULE, loss=cross_entropy, to=to, args=(torch.ones(5, 4),))
        x, target = BATCHES[0]
        state, _ = training.single_train_step(state, (x, target))
        state, metrics = training.single_train_step(
            state, ({"x": x, "scale": np.float32(2) * np.ones((6, 1), "float32")}, target)
        )
        assert len(state.graph.variants) == 2 and np.isfinite(float(metrics["loss"]))
        # Calls made by the recording are not counted.
        assert int(state.parameters["norm.num_batches_tracked"]) == 2


def test_fit_gives_a_history(capsys: Any) -> None:
    state = training.TrainState.create(graph("torch"), RULE, loss=cross_entropy)
    told: list[Any] = []
    state, history = training.fit(
        state,
        BATCHES,
        epochs=4,
        callbacks=[lambda state, metrics: told.append(metrics["epoch"]) or metrics["epoch"] == 3],
    )
    assert told == [1, 2, 3] and [epoch["steps"] for epoch in history] == [5, 5, 5] and state.step == 15
    assert history[-1]["loss"] < history[0]["loss"]
    assert "epoch 1/4" in capsys.readouterr().out


def test_means_of_an_epoch_count_booleans_and_half_precision() -> None:
    def loss(outputs: Any, target: Any) -> Any:
        return cross_entropy(outputs, target), {
            "right": (outputs == outputs).all(),
            "tenth": outputs.detach().half().mean() * 0 + 0.1,
            "two": 2,
        }

    for to in TARGETS:
        state = training.TrainState.create(graph(to), RULE, loss=loss)
        _, history = training.fit(state, BATCHES * 60, progress=False)
        assert history[0]["right"] == 1 and history[0]["two"] == 2 and abs(history[0]["tenth"] - 0.1) < 1e-4


class Deciding(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        return self.one(x) if x.sum() > 0 else self.one(x) + 2 * self.other(x)


def deciding(outputs: Any, target: Any) -> Any:
    return F.mse_loss(outputs, target) if target.sum() > 0 else F.l1_loss(outputs, target)


def test_batches_whose_elements_decide_otherwise() -> None:
    torch.manual_seed(0)
    model, ones = Deciding(), torch.ones(6, 4)
    batches = [
        (sign * ones, aim * torch.ones(6, 1)) for sign, aim in ((1, 1), (-1, 1), (1, -1), (-1, -1), (1, 1))
    ]
    hand, expected = copy.deepcopy(model), []
    rule = torch.optim.SGD(hand.parameters(), lr=0.1)
    for x, target in batches:
        rule.zero_grad()
        value = deciding(hand(x), target)
        value.backward()
        rule.step()
        expected.append(value.item())
    for to in TARGETS:
        made = graph_compiler.compile(copy.deepcopy(model), to=to, args=(-ones,))
        state = training.TrainState.create(made, training.optimizer("sgd", learning_rate=0.1), loss=deciding)
        assert np.allclose(trained(state, batches)[1], expected, rtol=1e-5)


def test_one_array_in_two_places_of_a_batch_is_recorded() -> None:
    model, x, loss = torch.nn.Bilinear(4, 4, 2), torch.randn(6, 4), lambda outputs, _: outputs.mean()
    for to in TARGETS:
        state = training.TrainState.create(model, RULE, loss=loss, to=to, args=(x, x.clone()))
        _, metrics = training.single_train_step(state, ((x, x), None))
        assert np.isclose(float(metrics["loss"]), model(x, x).mean().item(), rtol=1e-5)


def create(**options: Any) -> Any:
    return training.TrainState.create(
        **{"model": graph("jax"), "optimizer": RULE, "loss": cross_entropy, **options}
    )


class Spectral(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.filter = (
            torch.nn.Linear(4, 4),
            torch.nn.Parameter(torch.ones(3, dtype=torch.complex64)),
        )

    def forward(self, x: Any) -> Any:
        return torch.fft.irfft(torch.fft.rfft(self.layer(x)) * self.filter, n=4)


def spectral(to: str, **options: Any) -> Any:
    return create(
        model=Spectral(),
        to=to,
        args=(torch.ones(2, 4),),
        loss=lambda outputs, target: (outputs**2).mean(),
        **options,
    )


def test_complex_parameters_may_be_frozen() -> None:
    assert set(spectral("jax", freeze=["filter"]).parameters) >= {"layer.weight", "layer.bias"}


def step(batch: Any = BATCHES[0], **options: Any) -> Any:
    return training.single_train_step(create(**options), batch)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: create(to="numpy"), NotCompilable, "numpy has no derivatives, so nothing can be trained in it: train in one of 'torch', 'jax'"),
        (lambda: create(model=np.tanh, args=(np.ones(2),)), NotCompilable, "numpy has no derivatives"),
        (lambda: create(model=torch.nn.Linear(2, 1)), InvalidOption, r"give an example of its inputs, args=\(x,\)"),
        (lambda: create(model=torch.tanh, args=(torch.ones(2),)), InvalidOption, "has no parameter that could be trained"),
        (lambda: create(loss=None), InvalidOption, "loss= is missing"),
        (lambda: create(loss="mse"), InvalidOption, "loss= is 'mse', and has to be a function"),
        (lambda: create(optimizer=3), InvalidOption, "optimizer is builtins.int, which is no optimizer for jax"),
        (lambda: create(freeze=["frist.*"]), InvalidOption, r"'frist.\*', which fits no parameter"),
        (lambda: create(freeze="first.*"), InvalidOption, r"freeze=\['first.\*'\]"),
        (lambda: create(freeze=["*"]), InvalidOption, "freeze= fits all of them"),
        (lambda: spectral("jax"), InvalidOption, r"filter of Spectral is complex64.* or leave it as it is, freeze=\['filter'\]"),
        (lambda: spectral("torch"), InvalidOption, r"filter of Spectral is torch.complex64"),
        (lambda: create(accumulate=0), InvalidOption, "accumulate= is 0"),
        (lambda: create(clip_norm=-1), InvalidOption, "clip_norm= is -1"),
        (lambda: create(ema=1.5), InvalidOption, "ema= is 1.5"),
        (lambda: create(precision="fp8"), InvalidOption, "precision= is 'fp8', and has to be 'float32', 'bf16' or 'f16'"),
        (lambda: create(schedule=3), InvalidOption, "schedule= is 3"),
        (lambda: create().ema, InvalidOption, "create it with ema="),
        (lambda: step(BATCHES[0][0]), CallMismatch, r"this one is an array of the shape \[6, 4\]"),
        (lambda: step((*BATCHES[0], 1)), CallMismatch, "this one is a tuple of 3"),
        (lambda: step(loss=lambda y, target: y - target[:, None]), CallMismatch, r"has to give one number.* gives an array of the shape \[6, 3\]; take the mean"),
        (lambda: step(loss=lambda y, target: 3), CallMismatch, "gives a int"),
        (lambda: step(loss=lambda y, target: y @ target), CallMismatch, r"the loss <lambda> fails with .*float32\[6, 3\] and int64\[6\]"),
        (lambda: step(loss=lambda y, target: (y > 0).sum()), CallMismatch, "gives a number of the type int32, which has no gradient"),
        (lambda: step(model=graph("torch"), loss=lambda y, target: (y > 0).sum()), CallMismatch, "the type int64, which has no gradient"),
        (lambda: step(loss=lambda y, target: (y.mean(), {"loss": y.max()})), CallMismatch, "a metric 'loss', under a name that training itself uses"),
        (lambda: step(loss=lambda y, target: (y.mean(), {"rows": y})), CallMismatch, r"a metric 'rows', which is an array of the shape \[6, 3\]"),
        (lambda: step(({"y": BATCHES[0][0]}, None)), CallMismatch, r"the model Classifier fails with TypeError: .*'y'; it was called with .*float32\[6, 4\]"),
        (lambda: step((BATCHES[0][0][:, :3], BATCHES[0][1]), model=graph("torch")), CallMismatch, r"the model Classifier fails with RuntimeError: .*\[6, 3\]"),
        (lambda: step((np.array([[1, None]], object), BATCHES[0][1])), CallMismatch, r"a batch holds a ndarray object\[1, 2\], a type that jax has no array for"),
        (lambda: step((np.array(["a"], object), BATCHES[0][1]), model=graph("torch")), CallMismatch, "a type that torch has no array for"),
        (lambda: training.apply_gradients(create(), {"first.weight": np.ones(3)}), CallMismatch, r"first.weight has the shape \[3\]"),
        (lambda: training.apply_gradients(create(), {"first.weight": [1.0]}), CallMismatch, "first.weight is a list"),
        (lambda: training.fit(create(), iter([]), progress=False), InvalidOption, "the data of epoch 1 is empty"),
        (lambda: training.fit(create(), [], epochs=0), InvalidOption, "epochs= is 0"),
        (lambda: training.fit(create(), [], callbacks=[3]), InvalidOption, "callbacks= has 3"),
    ],
)  # fmt: skip
def test_wrong_uses(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_bug_of_this_package_is_no_mismatch() -> None:
    with pytest.raises(AttributeError), ReportErrors("the model Net", (), ""):
        dtype_name(None)
    # A call that does not fit the user's function is no bug.
    with pytest.raises(CallMismatch, match=r"the loss .* fails with TypeError"):
        step(loss=lambda outputs: outputs.mean())


def test_state_that_is_no_array_is_refused() -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.calls = torch.nn.Linear(2, 1), 0

        def forward(self, x: Any) -> Any:
            self.calls = self.calls + 1
            return self.layer(x) * self.calls

    with pytest.raises(NotCompilable, match=r"keeps calls = .* from call to call, which is no array"):
        create(model=Counting(), to="jax", args=(torch.ones(1, 2),))


def test_without_optax_names_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optax", None)
    with pytest.raises(FrameworkNotInstalled, match="pip install optax"):
        create()


def test_a_compiled_graph_is_trained_by_its_compiler() -> None:
    made = graph_compiler.compile(
        torch.nn.Linear(4, 3),
        args=(torch.ones(5, 4),),
        return_backend_compiled_fn=True,
        compile_options={"backend": "aot_eager"},
    )
    state = training.TrainState.create(made, RULE, loss=cross_entropy)
    torch._dynamo.utils.counters.clear()
    state, losses = trained(state)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    assert losses[-1] != losses[0]


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("kind", [list, dict])
def test_a_container_that_is_the_only_argument(kind: type, to: str) -> None:
    import keras
    import tensorflow as tf

    inputs = {name: keras.Input((size,), name=name) for name, size in (("a", 4), ("b", 2))}
    joined = keras.layers.concatenate(
        [keras.layers.Dense(2, kernel_initializer="ones")(item) for item in inputs.values()]
    )
    outputs = [keras.layers.Dense(size, kernel_initializer="ones")(joined) for size in (1, 3)]
    model = keras.Model(inputs if kind is dict else list(inputs.values()), outputs)
    x, y = BATCHES[0]
    given = {"a": x, "b": x[:, :2]}
    batch = (given if kind is dict else list(given.values())), (x[:, :1], y)

    def loss(y_true: Any, y_pred: Any) -> Any:
        return tf.reduce_mean((y_pred[0] - y_true[0]) ** 2) + keras_loss(y_true[1], y_pred[1])

    state = training.TrainState.create(model, RULE, loss=loss, to=to, args=(batch[0],))
    _, found = trained(state, [batch] * 2)
    with tf.GradientTape() as tape:
        first = loss(batch[1], model(batch[0]))
    keras.optimizers.SGD(0.1, momentum=0.9).apply(
        tape.gradient(first, model.trainable_variables), model.trainable_variables
    )
    np.testing.assert_allclose(found, [float(first), float(loss(batch[1], model(batch[0])))], rtol=1e-5)


@pytest.mark.parametrize("apart", [False, True])
def test_the_second_step_compiles_nothing(apart: bool) -> None:
    """JAX compiles again if arrays that came from torch are committed to a device and those of the first step
    are not.
    """
    import jax

    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)).train()
    batch = torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])
    state = training.TrainState.create(
        model, training.optimizer("adam", learning_rate=0.1), loss=F.cross_entropy, to="jax", args=batch[:1]
    )
    compiled = []
    for _ in range(2):
        with jax.log_compiles(), logged(name="jax._src.interpreters.pxla") as messages:
            if apart:
                gradients, _, state = training.compute_gradients(state, batch)
                state = training.apply_gradients(state, gradients)
            else:
                state, _ = training.single_train_step(state, batch)
        compiled.append([text for text in messages if "Compiling" in text])
    assert compiled[0] and not compiled[1]


def test_a_loss_that_takes_no_integers_of_32_bits_is_told() -> None:
    import jax

    loss = LossFunction(F.cross_entropy, "torch", "jax")
    with logged(logging.INFO) as messages:
        loss.record_or_widen(jax.numpy.ones((2, 3)), jax.numpy.array([0, 2], "int32"))
    assert any("gave up: recording the loss with integers of 32 bits" in message for message in messages)


@pytest.mark.parametrize("to", TARGETS)
def test_a_graph_that_was_not_called_yet_for_another_target(to: str) -> None:
    lazy = graph_compiler.compile(classifier(), to="torch")
    state = training.TrainState.create(lazy, RULE, loss=cross_entropy, to=to, args=(torch.ones(5, 4),))
    _, found = trained(state)
    np.testing.assert_allclose(found, by_hand(BATCHES)[1], rtol=1e-5)


def test_state_of_a_loss_is_no_metric() -> None:
    calls: list[int] = [0]

    def loss(output: Any, target: Any) -> Any:
        calls[0] += 1
        return cross_entropy(output, target) * 1.0

    state = training.TrainState.create(classifier(), RULE, loss=loss, to="jax", args=(torch.ones(5, 4),))
    _, metrics = training.single_train_step(state, BATCHES[0])
    assert list(metrics) == ["loss"]


@pytest.mark.parametrize("rule", [lambda *given: None, lambda *given: "data"], ids=["None", "a text"])
def test_a_rule_of_the_user_gives_a_tuple(rule: Any) -> None:
    with pytest.raises(InvalidOption, match=r"the rule for parameter 'weight' gives .* has to give a tuple"):
        layouts_of({"weight": (4, 2)}, {"weight": rule}, {"data": 2})
