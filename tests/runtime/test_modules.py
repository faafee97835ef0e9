"""Tests of graphs as modules of another framework: training, compilers, modes, random numbers, statistics."""

from __future__ import annotations

import copy
import importlib
import re
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import graph_compiler  # noqa: E402
from graph_compiler.errors import CallMismatch, GuardFailed  # noqa: E402
from graph_compiler.trees import map_structure  # noqa: E402
from tests.support.compare import assert_same, to_numpy  # noqa: E402


class Net(torch.nn.Module):
    """A model with parts whose names are attributes of modules in other frameworks."""

    def __init__(self) -> None:
        super().__init__()
        self.graph, self.names, self.drop = (
            torch.nn.Linear(3, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.Dropout(0.5),
        )

    def forward(self, x: Any) -> Any:
        return self.drop(self.names(self.graph(x)).relu())


STATISTICS = {"names.running_mean", "names.running_var", "names.num_batches_tracked"}


def batch(count: int) -> Any:
    return np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)


def dropped(x: Any) -> Any:
    return torch.nn.functional.dropout(x, 0.5)


# ------------------------------------------------------------------------------------- keys
@pytest.mark.parametrize("to", ["jax", "tensorflow"])
def test_no_key_is_drawn_while_the_target_traces(to: str) -> None:
    framework = pytest.importorskip(to)
    graph = graph_compiler.transpile(dropped, to=to, args=(torch.ones(4),))
    compiled = jax.jit(graph) if to == "jax" else framework.function(graph, autograph=False)
    with pytest.raises(CallMismatch, match="rng="):
        compiled(np.ones(100, np.float32))
    first, second = (to_numpy(graph(torch.ones(100))) for _ in range(2))
    assert (first != second).any() and set(first.tolist()) == {0, 2}


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
def test_the_message_says_how_a_key_is_made(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.transpile(dropped, to=to, args=(torch.ones(4),))
    with pytest.raises(CallMismatch) as problem:
        graph.functional({}, np.ones(100, np.float32))
    text = re.search(r"rng=(.*), another", str(problem.value))
    assert text is not None
    modules = {
        name: importlib.import_module(whole)
        for name, whole in (("np", "numpy"), ("jax", "jax"), ("tf", "tensorflow"))
        if whole in {to, "numpy"}
    }
    assert set(
        to_numpy(graph.functional({}, np.ones(100, np.float32), rng=eval(text[1], modules))).tolist()
    ) == {0, 2}


X4 = np.ones(4, np.float32)
KEYS = {
    "torch": r"torch\.Generator",
    "jax": r"jax\.random\.key",
    "tensorflow": r"tf\.constant",
    "numpy": r"np\.random\.default_rng",
}


@pytest.mark.parametrize("no_key", [0, "a", np.ones((2, 2), "float32")], ids=["number", "string", "array"])
@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_what_is_no_key_is_refused(to: str, no_key: Any) -> None:
    pytest.importorskip(to)
    # A graph for torch draws from keys if it comes from another framework.
    graph = (
        graph_compiler.transpile(lambda x: x + np.random.normal(), source="numpy", to=to, args=(X4,))
        if to == "torch"
        else graph_compiler.transpile(dropped, to=to, args=(torch.ones(4),))
    )
    with pytest.raises(CallMismatch, match=rf"rng= has to be a key, such as {KEYS[to]}.*, and is "):
        graph.functional({}, X4, rng=no_key)


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_a_graph_draws_the_same_numbers_from_the_same_seed(to: str) -> None:
    graph = graph_compiler.compile(dropped, to=to, args=(torch.ones(4),))
    runs = []
    for seed in (3, 3, 4):
        graph.seed(seed)
        runs.append([to_numpy(graph(torch.ones(50))).tolist() for _ in range(2)])
    assert runs[0] == runs[1] != runs[2] and runs[0][0] != runs[0][1]


# ------------------------------------------------------------------------------------- torch
def test_a_torch_module_with_a_part_named_graph() -> None:
    source = Net()
    module = graph_compiler.compile(source, args=(torch.randn(4, 3),)).as_module()
    assert module.state_dict().keys() == source.state_dict().keys()
    assert_same(module.eval()(torch.from_numpy(batch(5))), source.eval()(torch.from_numpy(batch(5))))


def test_copies_of_a_torch_module_have_tensors_of_their_own() -> None:
    source = Net().eval()
    module = graph_compiler.compile(source, args=(torch.randn(4, 3),)).as_module().eval()
    module.get_parameter("graph.bias").requires_grad_(False)
    average = torch.optim.swa_utils.AveragedModel(
        module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
    )
    twin, x = copy.deepcopy(average.module), torch.from_numpy(batch(5))
    assert [weight.requires_grad for weight in twin.parameters()] == [
        weight.requires_grad for weight in source.parameters()
    ]
    before = source(x)
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(2)
    average.update_parameters(module), average.update_parameters(module)
    assert_same(average(x), source(x)), assert_same(twin(x), before)
    assert not torch.equal(source(x), before)


def test_a_torch_module_of_a_model_that_is_not_written_in_torch() -> None:
    """The module has its own parameters and statistics, so that training does not change the original."""
    nnx = pytest.importorskip("flax.nnx")

    class Source(nnx.Module):
        def __init__(self) -> None:
            self.linear, self.norm = nnx.Linear(3, 2, rngs=nnx.Rngs(0)), nnx.BatchNorm(2, rngs=nnx.Rngs(0))

        def __call__(self, x: Any) -> Any:
            return self.norm(self.linear(x))

    source, x = Source(), batch(5)
    module = graph_compiler.transpile(source, to="torch", args=(jax.numpy.ones((4, 3)),)).as_module()
    assert {name for name, _ in module.named_parameters()} == {
        "linear.kernel",
        "linear.bias",
        "norm.scale",
        "norm.bias",
    }
    assert {name for name, _ in module.named_buffers()} == {"norm.mean", "norm.var"}
    twin, optimizer = nnx.clone(source), torch.optim.SGD(module.parameters(), 0.1)
    for _ in range(3):
        loss = lambda model: ((model(x) - 1) ** 2).mean()  # noqa: E731
        gradients = nnx.grad(loss)(twin)
        nnx.update(
            twin,
            jax.tree.map(lambda weight, slope: weight - 0.1 * slope, nnx.state(twin, nnx.Param), gradients),
        )
        optimizer.zero_grad()
        ((module(torch.from_numpy(x)) - 1) ** 2).mean().backward()
        optimizer.step()
    assert_same(module.eval()(batch(6)), (twin.eval(), twin(batch(6)))[1])
    assert_same(module.norm.mean, twin.norm.mean[...])
    (
        assert_same(source.norm.mean[...], np.zeros(2, np.float32)),
        assert_same(source.linear.bias[...], np.zeros(2, np.float32)),
    )


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_module_of_a_loaded_graph_trains_what_the_original_does(to: str, tmp_path: Any) -> None:
    source = Net().eval()
    graph_compiler.compile(source, to=to, args=(torch.randn(4, 3),)).save(tmp_path / "net.zip")
    graph = graph_compiler.load(tmp_path / "net.zip")
    assert graph.trained == {name for name, _ in source.named_parameters()}
    module, x = graph.as_module(), batch(5)
    if to == "torch":
        assert {name for name, _ in module.named_parameters()} == graph.trained
        (
            (module(torch.from_numpy(x)) ** 2).sum().backward(),
            (source(torch.from_numpy(x)) ** 2).sum().backward(),
        )
        assert all(
            torch.allclose(weight.grad, source.get_parameter(name).grad)
            for name, weight in module.named_parameters()
        )
    assert_same(module(x), source(torch.from_numpy(x)))


# ------------------------------------------------------------------------------------- nnx
def test_an_nnx_module_in_its_own_compiler() -> None:
    nnx, optax = pytest.importorskip("flax.nnx"), pytest.importorskip("optax")
    source = Net()
    original = copy.deepcopy(source)
    module = graph_compiler.transpile(source, to="jax", args=(torch.randn(4, 3),)).as_module()
    optimizer = nnx.Optimizer(module, optax.sgd(0.1), wrt=nnx.Param)

    @nnx.jit
    def step(module: Any, optimizer: Any, x: Any) -> Any:
        loss, gradients = nnx.value_and_grad(lambda module: (module(x) ** 2).mean())(module)
        optimizer.update(module, gradients)
        return loss

    losses = [float(step(module, optimizer, batch(5))) for _ in range(8)]
    assert (
        losses[-1] < losses[0]
        and int(module.names.num_batches_tracked[...]) == 8
        and source.names.num_batches_tracked == 0
    )
    run = nnx.jit(lambda module, x: module(x))
    assert (run(module, batch(6)) != run(module, batch(6))).any()
    # JAX meets this mode, which was not recorded, for the first time while it traces.
    module.eval()
    evaluated = run(module, batch(6))
    assert (evaluated == run(module, batch(6))).all() and int(module.names.num_batches_tracked[...]) == 10
    weights = {
        ".".join(map(str, path)): torch.tensor(np.asarray(array))
        for path, array in nnx.to_flat_state(nnx.as_pure(nnx.state(module, (nnx.Param, nnx.BatchStat))))
    }
    original.load_state_dict(weights)
    assert_same(evaluated, original.eval()(torch.from_numpy(batch(6))))
    module.train()
    assert (run(module, batch(6)) != run(module, batch(6))).any() and source.training
    definition, state = nnx.split(module)
    twin = nnx.merge(definition, state)
    twin.eval(), module.eval()
    assert_same(twin(batch(3)), module(batch(3)))


# ------------------------------------------------------------------------------------- keras
# The warning is about Keras' own variables.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_keras_model_has_both_modes(mode: str, tmp_path: Any) -> None:
    keras = pytest.importorskip("keras")
    source = Net()
    original = copy.deepcopy(source)
    if mode == "eval":
        source.eval()
    model = graph_compiler.transpile(source, to="tensorflow", args=(torch.randn(4, 3),)).as_module()
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    # TensorFlow meets this mode, which was not recorded, for the first time while it traces.
    before = model.predict(batch(5), verbose=0)
    assert_same(before, original.eval()(torch.from_numpy(batch(5))))
    history = model.fit(batch(32), np.zeros((32, 8), np.float32), batch_size=12, epochs=4, verbose=0).history[
        "loss"
    ]
    assert (
        history[-1] < history[0]
        and int(model.variable("names.num_batches_tracked")) == 12
        and source.names.num_batches_tracked == 0
    )
    assert (to_numpy(model(batch(6), training=True)) != to_numpy(model(batch(6), training=True))).any()
    assert_same(model(batch(6), training=False), model.predict(batch(6), verbose=0))
    assert (
        source.training == (mode == "train")
        and {weight.name for weight in model.non_trainable_weights} == STATISTICS
    )
    # Weights that a later recording adds come last.
    if mode == "train":
        model.save_weights(tmp_path / "net.weights.h5")
        twin = graph_compiler.transpile(Net(), to="tensorflow", args=(torch.randn(4, 3),)).as_module()
        twin.load_weights(tmp_path / "net.weights.h5")
        assert_same(twin.predict(batch(3), verbose=0), model.predict(batch(3), verbose=0))


class Flagged(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: Any, keep: int, options: Any = None, *, negative: bool = False) -> Any:
        y = self.linear(x)[:keep]
        y = y if options is None else y * options["scale"] + options["shift"]
        return -y if negative else y


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_keras_model_takes_numbers_and_flags_beside_arrays() -> None:
    pytest.importorskip("keras")
    source = Flagged()
    model = graph_compiler.transpile(source, to="tensorflow", args=(torch.randn(4, 3), 2)).as_module()
    calls: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
        ((3,), {}),
        ((2,), {"negative": True}),
        ((2, {"scale": 2, "shift": batch(1)[:, :1]}), {"negative": False}),
        ((1,), {"options": {"scale": batch(1)[:, :1], "shift": 0.5}}),
    )
    for args, kwargs in calls:
        given = map_structure(
            lambda item: torch.from_numpy(item) if isinstance(item, np.ndarray) else item, (args, kwargs)
        )
        assert_same(
            model(batch(4), *args, **kwargs), source(torch.from_numpy(batch(4)), *given[0], **given[1])
        )


def test_a_numpy_module_follows_the_mode_of_the_original() -> None:
    source = Net()
    module = graph_compiler.transpile(source, to="numpy", args=(torch.randn(4, 3),)).as_module()
    original = copy.deepcopy(source)
    assert (module(batch(4)) == 0).any() and int(module["names.num_batches_tracked"]) == 1
    source.eval(), original.eval()
    original.load_state_dict({name: torch.tensor(module[name]) for name in module})
    assert_same(module(batch(5)), original(torch.from_numpy(batch(5))))
    assert int(module["names.num_batches_tracked"]) == 1


# ------------------------------------------------------------------------------------ what a module cannot do
@pytest.mark.parametrize("to", ["jax", "tensorflow"])
def test_another_structure_is_recorded_but_not_while_the_target_traces(to: str) -> None:
    framework = pytest.importorskip(to)
    pytest.importorskip({"jax": "flax", "tensorflow": "keras"}[to])
    layer, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)

    class Either(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.other = layer, other

        def forward(self, x: Any, deep: bool = False) -> Any:
            return self.other(x) if deep else self.layer(x)

    model = Either()
    module = graph_compiler.transpile(model, to=to, args=(torch.ones(1, 3),)).as_module()
    with pytest.raises(GuardFailed, match="deep"):
        (jax.jit if to == "jax" else framework.function)(lambda x: module(x, deep=True))(batch(2))
    assert_same(module(batch(2), deep=True), model(torch.from_numpy(batch(2)), deep=True))


def adds_in_place(x: Any) -> Any:
    return x.add_(1) * 2


def sets_an_item(pair: Any) -> Any:
    pair["sum"] = pair["x"] + 1
    return pair["sum"] * 2


@pytest.mark.parametrize("to", ["jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("function", [adds_in_place, sets_an_item])
@pytest.mark.filterwarnings("ignore:.*has no parameters")
def test_a_module_refuses_to_change_its_arguments(function: Any, to: str) -> None:
    pytest.importorskip({"jax": "flax"}.get(to, to))
    given = (lambda array: array) if function is adds_in_place else (lambda array: {"x": array})
    graph = graph_compiler.compile(function, source="torch", to=to, args=(given(torch.ones(3)),))
    module = graph.as_module()
    with pytest.raises(CallMismatch, match=r"such as its arguments.* call the graph itself"):
        module(given(graph.variants[0].target.convert(np.ones(3, "float32"))))
    graph.to_source(module)


def test_parameters_that_are_missing_are_named() -> None:
    graph = graph_compiler.transpile(torch.nn.Linear(3, 2), to="jax", args=(torch.ones(1, 3),))
    with pytest.raises(CallMismatch, match=r"no weight 'bias'.* weight"):
        graph.functional({"weight": graph.parameters["weight"]}, batch(2))
