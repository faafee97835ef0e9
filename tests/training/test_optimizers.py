"""Tests of optimizers by name in three frameworks, compared with ``torch.optim`` step by step."""

from __future__ import annotations

import copy
import functools
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optax")
pytest.importorskip("keras")

import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import training  # noqa: E402
from graph_compiler.errors import InvalidOption  # noqa: E402

STEPS = 10
TARGETS = ("torch", "jax", "tensorflow")

# Ours, and the same in torch.
ROWS: tuple[tuple[str, dict[str, Any], Any, dict[str, Any]], ...] = (
    ("sgd", {}, torch.optim.SGD, {}),
    ("sgd", {"momentum": 0.9, "weight_decay": 0.1}, torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.1}),
    ("sgd", {"momentum": 0.8, "nesterov": True}, torch.optim.SGD, {"momentum": 0.8, "nesterov": True}),
    ("adam", {}, torch.optim.Adam, {}),
    (
        "adam",
        {"eps": 1e-2, "betas": (0.8, 0.9), "weight_decay": 0.1},
        torch.optim.Adam,
        {"eps": 1e-2, "betas": (0.8, 0.9), "weight_decay": 0.1},
    ),
    ("adam", {"amsgrad": True, "b2": 0.5}, torch.optim.Adam, {"amsgrad": True, "betas": (0.9, 0.5)}),
    ("adamw", {"weight_decay": 0.2}, torch.optim.AdamW, {"weight_decay": 0.2}),
    ("adamw", {"amsgrad": True, "epsilon": 1e-3}, torch.optim.AdamW, {"amsgrad": True, "eps": 1e-3}),
    ("rmsprop", {"eps": 1e-3}, torch.optim.RMSprop, {"eps": 1e-3}),
    (
        "rmsprop",
        {"momentum": 0.9, "centered": True, "rho": 0.9, "weight_decay": 0.1},
        torch.optim.RMSprop,
        {"momentum": 0.9, "centered": True, "alpha": 0.9, "weight_decay": 0.1},
    ),
    ("adagrad", {"eps": 1e-3}, torch.optim.Adagrad, {"eps": 1e-3}),
    (
        "adagrad",
        {"initial_accumulator": 0.1, "weight_decay": 0.1},
        torch.optim.Adagrad,
        {"initial_accumulator_value": 0.1, "weight_decay": 0.1},
    ),
    ("adadelta", {"eps": 1e-3}, torch.optim.Adadelta, {"eps": 1e-3}),
    ("adamax", {"weight_decay": 0.1}, torch.optim.Adamax, {"weight_decay": 0.1}),
    ("nadam", {"weight_decay": 0.1}, torch.optim.NAdam, {"weight_decay": 0.1}),
)


def rate(step: int) -> float:
    """The rate changes, so that it matters at which point it is multiplied."""
    return 0.1 / (1 + step)


@functools.cache
def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2)


@functools.cache
def graph(to: str) -> Any:
    return graph_compiler.compile(model(), to=to, args=(torch.ones(1, 3),))


@functools.cache
def gradients() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    # With small gradients it matters at which point eps is added.
    scales = (1.0, 1e-3, 10.0, 0.0)
    return [
        {
            name: (scales[step % 4] * rng.normal(size=array.shape)).astype("float32")
            for name, array in graph("torch").parameters.items()
        }
        for step in range(STEPS)
    ]


def in_torch(cls: Any, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters after each step of torch's own optimizer."""
    held = {name: torch.nn.Parameter(array.detach().clone()) for name, array in model().named_parameters()}
    made = cls(held.values(), lr=0.1, **options)
    found = []
    for step, given in enumerate(gradients()):
        made.param_groups[0]["lr"] = rate(step)
        for name, tensor in held.items():
            tensor.grad = torch.from_numpy(given[name])
        made.step()
        found.append({name: tensor.detach().numpy().copy() for name, tensor in held.items()})
    return found


def in_target(to: str, optimizer: Any, **options: Any) -> list[dict[str, Any]]:
    state = training.TrainState.create(graph(to), optimizer, loss=lambda y, target: y, **options)
    native, found = graph(to)._pipeline.target.target, []
    for given in gradients():
        state = training.apply_gradients(
            state, {name: native.convert(array) for name, array in given.items()}
        )
        found.append({name: np.asarray(native.to_numpy(array)) for name, array in state.parameters.items()})
    return found


def assert_close(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for step, (one, other) in enumerate(zip(found, expected)):
        for name, array in other.items():
            np.testing.assert_allclose(
                one[name], array, rtol=1e-5, atol=1e-5, err_msg=f"{name} after step {step}"
            )


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("row", range(len(ROWS)), ids=lambda row: f"{row}-{ROWS[row][0]}")
def test_the_same_steps_as_torch(row: int, to: str) -> None:
    name, options, cls, torch_options = ROWS[row]
    assert_close(
        in_target(to, training.optimizer(name, learning_rate=rate, **options)), in_torch(cls, torch_options)
    )


def test_lion_is_the_same_where_it_is() -> None:
    rule = training.optimizer("lion", learning_rate=rate, weight_decay=0.1)
    assert_close(in_target("tensorflow", rule), in_target("jax", rule))
    with pytest.raises(InvalidOption, match=r"torch\.optim has no 'lion': train in jax or tensorflow"):
        in_target("torch", rule)


class Named(torch.optim.SGD):
    """An optimizer whose constructor does not name the options of its base."""

    def __init__(self, params: Any, **options: Any) -> None:
        super().__init__(params, **options)


class Renamed(Named):
    def __init__(self, *args: Any, name: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.name = name


class Fixed(torch.optim.SGD):
    """An optimizer whose constructor sets an option itself."""

    def __init__(self, params: Any, **options: Any) -> None:
        super().__init__(params, momentum=0.9, **options)


def test_the_target_s_own_optimizers() -> None:
    import keras
    import optax

    expected = in_torch_constant()
    for to, own in (
        ("torch", functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9)),
        ("torch", torch.optim.SGD(model().parameters(), lr=0.1, momentum=0.9)),
        ("torch", Named(model().parameters(), lr=0.1, momentum=0.9)),
        ("torch", Renamed(model().parameters(), lr=0.1, momentum=0.9, name="mine")),
        ("jax", optax.sgd(0.1, momentum=0.9)),
        ("tensorflow", keras.optimizers.SGD(0.1, momentum=0.9)),
    ):
        assert_close(in_target(to, own), expected)


def in_torch_constant() -> list[dict[str, Any]]:
    held = {name: torch.nn.Parameter(array.detach().clone()) for name, array in model().named_parameters()}
    made, found = torch.optim.SGD(held.values(), lr=0.1, momentum=0.9), []
    for given in gradients():
        for name, tensor in held.items():
            tensor.grad = torch.from_numpy(given[name])
        made.step()
        found.append({name: tensor.detach().numpy().copy() for name, tensor in held.items()})
    return found


@pytest.mark.parametrize("to", TARGETS)
def test_gradients_of_float16_are_clipped_by_a_norm_above_its_range(to: str) -> None:
    half = graph_compiler.compile(
        copy.deepcopy(model()).half(), to=to, args=(torch.ones(1, 3, dtype=torch.float16),)
    )
    rule = training.optimizer("sgd", learning_rate=1.0)
    state = training.TrainState.create(half, rule, loss=lambda y, target: y, clip_norm=0.5)
    native = half._pipeline.target.target
    before = {name: native.to_numpy(array).copy() for name, array in state.parameters.items()}
    given = {name: np.full(array.shape, 4e4, "float16") for name, array in before.items()}
    state = training.apply_gradients(state, {name: native.convert(array) for name, array in given.items()})
    # Eight gradients are equal, so each becomes the clipped norm by the square root of 8.
    for name, array in state.parameters.items():
        np.testing.assert_allclose(before[name] - native.to_numpy(array), 0.5 / np.sqrt(8), rtol=5e-3)


@pytest.mark.parametrize("to", TARGETS)
def test_clipping_is_torch_s(to: str) -> None:
    held = {name: torch.nn.Parameter(array.detach().clone()) for name, array in model().named_parameters()}
    made, expected = torch.optim.SGD(held.values(), lr=0.1), []
    for given in gradients():
        for name, tensor in held.items():
            tensor.grad = torch.from_numpy(given[name].copy())
        torch.nn.utils.clip_grad_norm_(held.values(), 0.5)
        made.step()
        expected.append({name: tensor.detach().numpy().copy() for name, tensor in held.items()})
    assert_close(in_target(to, training.optimizer("sgd", learning_rate=0.1), clip_norm=0.5), expected)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: training.optimizer("adamm"), "there is no optimizer 'adamm'; did you mean"),
        (lambda: training.optimizer(["adam"]), r"there is no optimizer \['adam'\]; did you mean 'adam'"),
        (lambda: training.optimizer("adafactor"), "there is no 'adafactor' that is the same everywhere"),
        (lambda: training.optimizer("sgd", b1=0.9), "the optimizer 'sgd' has no option b1="),
        (
            lambda: training.optimizer("adam", eps="small"),
            "eps= of the optimizer 'adam' is 'small', and has to be a finite number >= 0",
        ),
        (
            lambda: training.optimizer("sgd", nesterov=1.0),
            "nesterov= of the optimizer 'sgd' is 1.0, and has to be a bool",
        ),
        (lambda: training.schedule("cosin", steps=3), "there is no schedule 'cosin'; did you mean 'cosine'"),
        (lambda: training.schedule("cosine"), "the schedule 'cosine' needs steps="),
        (
            lambda: training.schedule("cosine", stops=3),
            "a schedule has no option stops=; did you mean 'steps'",
        ),
        (lambda: training.schedule("exponential", steps=3), "give end="),
        (lambda: in_target("jax", torch.optim.SGD), "optimizer is torch.SGD, which is no optimizer for jax"),
        (
            lambda: in_target("torch", torch.optim.LBFGS),
            "optimizer is torch.LBFGS, which computes the loss several times",
        ),
        (
            lambda: in_target("torch", Fixed(model().parameters(), lr=0.1)),
            r"the optimizer Fixed cannot be created anew with the options .* pass its class",
        ),
        (lambda: in_target("jax", "sgd", clip_norm=True), "clip_norm= is True, and has to be a number > 0"),
        (lambda: in_target("torch", "sgd", schedule="cosine"), "a name needs its steps"),
        (
            lambda: in_target("torch", "sgd", schedule=lambda step: None),
            "the schedule gives no number for step 0",
        ),
    ],
)
def test_wrong_ones(call: Any, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        call()


def test_a_schedule_inside_of_an_optimizer_is_its_own() -> None:
    import optax

    with pytest.raises(InvalidOption, match="Give the schedule to this optimizer itself"):
        in_target("jax", optax.sgd(0.1), schedule=rate)


def test_a_warmup_of_a_fraction_stays_below_the_peak() -> None:
    rate = training.schedule("constant", 1.0, warmup=1.5)
    assert [rate(step) for step in range(3)] == [1 / 1.5, 1.0, 1.0]


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("option", ["steps", "warmup", "end", "power"])
@pytest.mark.parametrize("name", ["constant", "linear", "cosine", "polynomial", "exponential"])
def test_numbers_of_schedules_are_finite(name: str, option: str, number: float) -> None:
    options = {"steps": 4, "end": 0.5, option: number}
    with pytest.raises(InvalidOption, match=f"{option}= of the schedule '{name}' is {number}"):
        training.schedule(name, 0.1, **options)


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("option", ["learning_rate", "weight_decay", "b1", "eps"])
def test_numbers_of_optimizers_are_finite(option: str, number: float) -> None:
    with pytest.raises(InvalidOption, match=f"{option}= of the optimizer 'adamw' is {number}"):
        training.optimizer("adamw", **{option: number})


@pytest.mark.parametrize("to", TARGETS)
def test_schedules_by_name(to: str) -> None:
    schedule = training.schedule("cosine", steps=8, warmup=3, end=0.1)
    state = in_target(to, training.optimizer("sgd", learning_rate=0.2), schedule=schedule)
    peak = training.schedule("cosine", 0.2, steps=8, warmup=3, end=0.1)
    held = {name: array.detach().numpy().astype("float64") for name, array in model().named_parameters()}
    for step, given in enumerate(gradients()):
        held = {name: array - peak(step) * given[name] for name, array in held.items()}
        for name, array in held.items():
            np.testing.assert_allclose(state[step][name], array, rtol=1e-5, atol=1e-5)
