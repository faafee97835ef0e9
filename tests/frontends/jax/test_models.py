"""Tests of models of JAX libraries, trained in torch as a converted module and in JAX."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
nnx = pytest.importorskip("flax.nnx")
linen = pytest.importorskip("flax.linen")
equinox = pytest.importorskip("equinox")
haiku = pytest.importorskip("haiku")

import graph_compiler  # noqa: E402
from graph_compiler.errors import InvalidOption, TracingError  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

jnp = jax.numpy
_drawn = np.random.default_rng(0)
X, Y, OTHER = (_drawn.normal(size=shape).astype(np.float32) for shape in ((6, 3), (6, 2), (4, 3)))
RATE, STEPS = 0.1, 3


class Model(NamedTuple):
    """A model and its training.

    recorded: the object that is recorded.
    apply: loss in JAX, a function of ``(trained, kept, x)`` that returns ``(output, kept)``.
    trained, kept: initial values of its parameters and other state.
    """

    recorded: Any
    options: dict[str, Any]
    apply: Callable[..., Any]
    trained: Any
    kept: Any
    # Some of the names of the trained parameters.
    names: set[str]


class Normed(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Dense(2)(linen.relu(linen.BatchNorm(use_running_average=False)(linen.Dense(4)(x))))


def of_linen() -> Model:
    module = Normed()
    variables = module.init(jax.random.key(0), X)

    def apply(params: Any, kept: Any, x: Any) -> Any:
        found, changed = module.apply({"params": params, "batch_stats": kept}, x, mutable=["batch_stats"])
        return found, changed["batch_stats"]

    bound = module.bind(variables, mutable=["batch_stats"])
    return Model(
        bound,
        {},
        apply,
        variables["params"],
        variables["batch_stats"],
        {"params.Dense_0.kernel", "params.BatchNorm_0.scale"},
    )


def of_variables() -> Model:
    model = of_linen()

    def apply(variables: Any, x: Any) -> Any:
        return model.apply(variables["params"], variables["batch_stats"], x)[0]

    variables = {"params": model.trained, "batch_stats": model.kept}
    return model._replace(recorded=apply, options={"parameters": 0, "args": (variables, X)})


class Nnx(nnx.Module):
    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        self.first, self.norm, self.last = (
            nnx.Linear(3, 4, rngs=rngs),
            nnx.BatchNorm(4, rngs=rngs),
            nnx.Linear(4, 2, rngs=rngs),
        )

    def __call__(self, x: Any) -> Any:
        return self.last(nnx.relu(self.norm(self.first(x))))


def of_nnx(
    recorded: Callable[[Any], Any] = lambda model: model, prefix: str = "", training: bool = True
) -> Model:
    model = Nnx()
    model.train() if training else model.eval()
    definition, trained, kept = nnx.split(model, nnx.Param, ...)

    def apply(trained: Any, kept: Any, x: Any) -> Any:
        module = nnx.merge(definition, trained, jax.tree.map(lambda array: array, kept))
        return module(x), nnx.split(module, nnx.Param, ...)[2]

    return Model(recorded(model), {}, apply, trained, kept, {f"{prefix}first.kernel", f"{prefix}norm.scale"})


def of_equinox(recorded: Callable[[Any], Any], prefix: str = "") -> Model:
    model = equinox.nn.MLP(3, 2, 4, 1, key=jax.random.key(0))
    trained, static = equinox.partition(model, equinox.is_inexact_array)
    names = {f"{prefix}layers.0.weight", f"{prefix}layers.1.bias"}
    return Model(
        recorded(model),
        {},
        lambda trained, kept, x: (jax.vmap(equinox.combine(trained, static))(x), kept),
        trained,
        None,
        names,
    )


def closing_over(model: Any) -> Any:
    return lambda x: jax.vmap(model)(x) * 1


def compiled_outside(model: Any) -> Any:
    compiled = equinox.filter_jit(lambda model, x: jax.vmap(model)(x))
    return lambda x: compiled(model, x)


def of_haiku() -> Model:
    transformed = haiku.without_apply_rng(haiku.transform(lambda x: haiku.nets.MLP([4, 2])(x) * 1))
    params = transformed.init(jax.random.key(0), X)
    options = {"parameters": "params", "args": (params, X)}
    return Model(
        transformed.apply,
        options,
        lambda p, kept, x: (transformed.apply(p, x), kept),
        params,
        None,
        {"mlp/~/linear_0.w"},
    )


def closed_over(wrap: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda model: wrap(lambda x: model(x) * 1)


MODELS: dict[str, Callable[[], Model]] = {
    "linen": of_linen,
    "linen's variables": of_variables,
    "nnx": of_nnx,
    "nnx in a closure": lambda: of_nnx(closed_over(lambda function: function), "model."),
    "nnx in a closure under checkpoint": lambda: of_nnx(
        closed_over(jax.checkpoint), "model.", training=False
    ),
    "nnx given to nnx.jit": lambda: of_nnx(
        lambda model: functools.partial(nnx.jit(lambda m, x: m(x)), model), "0."
    ),
    "equinox under vmap": lambda: of_equinox(jax.vmap),
    "equinox under filter_vmap and filter_jit": lambda: of_equinox(
        lambda model: equinox.filter_jit(equinox.filter_vmap(model))
    ),
    "equinox in a closure": lambda: of_equinox(closing_over, "model."),
    "equinox given to filter_jit": lambda: of_equinox(compiled_outside, "model."),
    "haiku": of_haiku,
}


def losses_in_jax(model: Model) -> list[float]:
    def loss(trained: Any, kept: Any) -> Any:
        found, kept = model.apply(trained, kept, X)
        return ((found - Y) ** 2).mean(), kept

    step = jax.jit(jax.value_and_grad(loss, has_aux=True))
    trained, kept, losses = model.trained, model.kept, []
    for _ in range(STEPS):
        (value, kept), gradients = step(trained, kept)
        trained = jax.tree.map(lambda weight, gradient: weight - RATE * gradient, trained, gradients)
        losses.append(float(value))
    return losses


def losses_in_torch(module: Any) -> list[float]:
    optimiser, losses = torch.optim.SGD(module.parameters(), lr=RATE), []
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = ((module(torch.tensor(X)) - torch.tensor(Y)) ** 2).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", MODELS)
def test_training_in_torch(name: str) -> None:
    model = MODELS[name]()
    graph = graph_compiler.transpile(model.recorded, to="torch", **{"args": (X,), **model.options})
    module = graph.as_module()
    trained = {name for name, _ in module.named_parameters()}
    assert model.names <= trained <= set(graph.parameters) and len(trained) == len(
        jax.tree.leaves(model.trained)
    )
    np.testing.assert_allclose(losses_in_torch(module), losses_in_jax(model), rtol=1e-5)


def test_gradients_of_parameters_in_jax_and_tensorflow() -> None:
    model = of_haiku()
    graph = graph_compiler.compile(model.recorded, **model.options)
    expected = jax.grad(lambda params: model.apply(params, None, OTHER)[0].sum())(model.trained)
    gradients = jax.grad(lambda parameters: graph.functional(parameters, OTHER).sum())(dict(graph.parameters))
    assert_same(gradients["mlp/~/linear_0.w"], expected["mlp/~/linear_0"]["w"])
    held = graph.as_module()
    gradients = nnx.grad(lambda module: module(OTHER).sum())(held)
    assert_same(gradients["mlp/~/linear_0"]["w"][...], expected["mlp/~/linear_0"]["w"])
    tensorflow = pytest.importorskip("tensorflow")
    module = graph.to("tensorflow").as_module()
    with tensorflow.GradientTape() as tape:
        total = tensorflow.reduce_sum(module(OTHER))
    assert_same(tape.gradient(total, module.variable("mlp/~/linear_0.w")), expected["mlp/~/linear_0"]["w"])
    assert len(module.trainable_variables) == 4


# --------------------------------------------------------------------------- state and transformations of nnx
class Row(linen.Module):
    @linen.compact
    def __call__(self, carry: Any, _: Any) -> Any:
        return linen.Dense(3)(carry), None


class Scanned(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        layers = linen.scan(Row, variable_axes={"params": 0}, split_rngs={"params": True}, length=2)
        return linen.remat(linen.Dense)(2)(layers()(x, None)[0])


class WithBoxes(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        kernel: Any = self.param("kernel", linen.with_partitioning(linen.initializers.ones, ("a",)), (3,))
        pair: Any = self.param("pair", lambda key: (jnp.ones(3), jnp.zeros(3)))
        count = self.variable("stats", "count", lambda: {"n": (jnp.zeros(()),)})
        if self.is_mutable_collection("stats") and not self.is_initializing():
            count.value = {"n": (count.value["n"][0] + 1,)}
        return x * kernel + pair[0] + pair[1] + count.value["n"][0]


@pytest.mark.parametrize("mutable", [False, True, ["stats"]], ids=str)
def test_a_bound_module_with_boxes_and_tuples_is_verified(mutable: Any) -> None:
    x, module = jnp.ones(3), WithBoxes()
    variables = module.init(jax.random.key(0), x)
    bound, same = (module.bind(variables, mutable=mutable) for _ in range(2))
    graph = graph_compiler.compile(bound, to="jax", source="jax", args=(x,))
    for _ in range(2):
        assert_same(graph(x), same(x))
    assert_same(jax.tree.leaves(bound.variables), jax.tree.leaves(same.variables))
    graph.verify()
    assert_same(jax.tree.leaves(bound.variables), jax.tree.leaves(same.variables))


def test_layers_of_linen_under_scan_and_remat() -> None:
    model = Scanned()
    variables = model.init(jax.random.key(0), X)
    module = graph_compiler.transpile(model.bind(variables), to="torch", args=(X,)).as_module()
    found = module(torch.tensor(OTHER))
    assert_same(found.detach(), model.apply(variables, OTHER))
    found.sum().backward()
    expected = jax.grad(lambda variables: model.apply(variables, OTHER).sum())(variables)["params"][
        "ScanRow_0"
    ]["Dense_0"]["kernel"]
    assert_same(module.get_parameter("params.ScanRow_0.Dense_0.kernel").grad, expected)


def train_step() -> tuple[Any, Any, Any]:
    import optax

    model = Nnx()
    optimiser = nnx.Optimizer(model, optax.adam(RATE), wrt=nnx.Param)

    @nnx.jit
    def step(model: Any, optimiser: Any, x: Any, y: Any) -> Any:
        loss, gradients = nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
        optimiser.update(model, gradients)
        return loss

    return step, model, optimiser


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_training_step_changes_the_model(to: str) -> None:
    step, model, optimiser = train_step()
    _, other, others = train_step()
    graph = graph_compiler.compile(
        lambda x, y: step(model, optimiser, x, y), to=to, source="jax", args=(X, Y)
    )
    for _ in range(STEPS):
        np.testing.assert_allclose(np.asarray(graph(X, Y)), step(other, others, X, Y), rtol=1e-5)
    np.testing.assert_allclose(model.first.kernel[...], other.first.kernel[...], rtol=1e-3, atol=1e-5)
    assert int(optimiser.step[...]) == STEPS and len(graph.variants) == 1


def test_a_compiled_function_that_closes_over_a_model_is_clean_afterwards() -> None:
    model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    compiled = jax.jit(lambda: model.kernel[...] * 2)
    compiled()
    graph = graph_compiler.transpile(lambda x: x @ compiled(), to="torch", args=(X,))
    model.kernel[...] = model.kernel[...] * 3
    assert_same(graph(OTHER), OTHER @ (np.asarray(model.kernel[...]) * 2))
    model.kernel[...] = model.kernel[...] / 3
    np.testing.assert_allclose(compiled(), model.kernel[...] * 2, rtol=1e-6)


def many(key: Any) -> Any:
    return nnx.Linear(3, 2, rngs=nnx.Rngs(key))


class Recurrent(nnx.Module):
    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        both = [nnx.RNN(cell(3, 4, rngs=rngs), rngs=rngs) for cell in (nnx.LSTMCell, nnx.GRUCell)]
        self.layer = nnx.Bidirectional(*both, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.layer(x[None])


def ensemble() -> Any:
    models = nnx.vmap(many)(jax.random.split(jax.random.key(0), 3))
    return lambda x: nnx.vmap(lambda model, x: model(x), in_axes=(0, None))(models, x)


def gradient() -> Any:
    model = Nnx()
    return lambda x: nnx.grad(lambda model: (model(x) ** 2).sum())(model)["last"]["kernel"][...]


def gradient_of_equinox() -> Any:
    model = equinox.nn.MLP(3, 2, 4, 1, key=jax.random.key(0))
    return lambda x: (
        equinox.filter_grad(lambda model: (jax.vmap(model)(x) ** 2).sum())(model).layers[0].weight
    )


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("make", [Recurrent, ensemble, gradient, gradient_of_equinox])
def test_transformations_of_models(make: Any, to: str) -> None:
    function, reference = make(), make()
    graph = graph_compiler.compile(function, to=to, source="jax", args=(X,))
    given = X[1:] if make is Recurrent else OTHER
    np.testing.assert_allclose(np.asarray(graph(given)), reference(given), rtol=1e-4, atol=1e-5)


class Stateful(equinox.Module):
    norm: Any
    layer: Any

    def __init__(self) -> None:
        self.norm, self.layer = (
            equinox.nn.BatchNorm(3, "batch", mode="batch"),
            equinox.nn.Linear(3, 2, key=jax.random.key(0)),
        )

    def __call__(self, x: Any, state: Any) -> Any:
        x, state = self.norm(x, state)
        return self.layer(x), state


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_state_of_equinox_goes_in_and_comes_out(to: str) -> None:
    model, state = equinox.nn.make_with_state(Stateful)()
    function = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    graph = graph_compiler.compile(function, to=to, args=(X, state))
    found, left = function(OTHER, state)
    given, kept = graph(OTHER, state)
    assert_same(given, found)
    for _ in range(2):
        given, kept = graph(X, kept)
        found, left = function(X, left)
    np.testing.assert_allclose(
        np.asarray(kept.get(model.norm.batch_state_index)[0]),
        left.get(model.norm.batch_state_index)[0],
        rtol=1e-5,
    )


class Dropped(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop = torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        return self.drop(self.norm(x)) + torch.arange(3)


@pytest.mark.parametrize("make", [Dropped, Nnx])
def test_a_mode_that_is_first_met_under_jit_leaves_no_tracers(make: Any) -> None:
    model = make()
    model.eval()
    module = graph_compiler.compile(
        model, to="jax", args=(torch.tensor(X) if make is Dropped else X,)
    ).as_module()
    step = nnx.jit(lambda module, x: nnx.value_and_grad(lambda module: module(x).sum())(module)[0])
    module.train()
    # Each size is traced again.
    for rows in (X, OTHER, X[:5]):
        assert np.isfinite(step(module, rows))
    model.train()
    for rows in (X, OTHER, X[:5]):
        model(torch.tensor(rows) if make is Dropped else rows)
    module.eval(), model.eval()
    assert_same(module(jnp.asarray(OTHER)), model(torch.tensor(OTHER)) if make is Dropped else model(OTHER))


KERAS = """
import jax, keras, numpy as np, torch, graph_compiler
def made():
    keras.utils.set_random_seed(0)
    layers = keras.layers.Dense(4, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dropout(0.5, seed=1), keras.layers.Dense(2)
    return keras.Sequential([keras.Input((3,)), *layers])
model, x = made(), np.linspace(-1, 1, 18, dtype="float32").reshape(6, 3)
graph = graph_compiler.transpile(model, to="torch", args=(jax.numpy.asarray(x),), kwargs={"training": True})
module, losses, expected = graph.as_module(), [], []
assert {name for name, _ in module.named_parameters()} == {variable.path for variable in model.trainable_variables}
optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
for _ in range(3):
    optimiser.zero_grad()
    loss = (module(torch.tensor(x), training=True) ** 2).mean()
    loss.backward(), optimiser.step(), losses.append(loss.item())
trained, kept = [variable.value for variable in model.trainable_variables], [variable.value for variable in model.non_trainable_variables]
def loss(trained, kept):
    found, kept = model.stateless_call(trained, kept, x, training=True)
    return (found**2).mean(), kept
for _ in range(3):
    (value, kept), gradients = jax.value_and_grad(loss, has_aux=True)(trained, kept)
    trained = [weight - 0.1 * gradient for weight, gradient in zip(trained, gradients)]
    expected.append(float(value))
np.testing.assert_allclose(losses, expected, rtol=1e-4)
for variable, array in zip(model.non_trainable_variables, kept):
    if "moving" in variable.path:
        np.testing.assert_allclose(module.state_dict()[variable.path].numpy(), array, rtol=1e-4, atol=1e-6)
module(torch.tensor(x[:4]), training=True)
assert len(graph.variants) == 1
print("same")
"""


PRIVATE = """
import jax, keras, numpy as np, graph_compiler
class Scaled(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self._factor = 2.0
    def call(self, x):
        return x * self._factor
model, x = keras.Sequential([Scaled(), keras.layers.BatchNormalization()]), jax.numpy.ones((2, 3))
model(x)
graph = graph_compiler.transpile(model, to="numpy", args=(x,))
for factor in (2.0, 3.0, 2.0):
    model.layers[0]._factor = factor
    np.testing.assert_allclose(graph(x), model(x), rtol=1e-4)
assert len(graph.variants) == 2, graph.explain()
print("same")
"""


@pytest.mark.slow
@pytest.mark.parametrize("code", [KERAS, PRIVATE], ids=["training", "private attributes"])
def test_keras_on_jax(code: str) -> None:
    """Keras has one backend per process, so the test runs in another one."""
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=300,
    )
    assert ran.stdout.strip().endswith("same"), ran.stderr


# ---------------------------------------------------------------------------------- what is said, and refused
def scaled(x: Any, scale: Any, shift: float = 0.0) -> Any:
    return x * scale + shift


@pytest.mark.parametrize("which", ["scale", 1, ["scale"]])
def test_parameters_are_named_or_numbered(which: Any) -> None:
    graph = graph_compiler.transpile(
        scaled, to="torch", args=(X, {"a": jnp.ones(3)}["a"]), kwargs={"shift": 1.0}, parameters=which
    )
    assert len(graph.parameters) == 1
    assert_same(graph(OTHER, shift=1.0), OTHER + 1)


def test_several_parameters_have_their_names_in_front() -> None:
    def function(first: Any, x: Any, second: Any) -> Any:
        return x @ first["w"] + second[0]

    args = ({"w": jnp.ones((3, 2))}, X, [jnp.ones(2)])
    graph = graph_compiler.transpile(function, to="torch", args=args, parameters=("first", "second"))
    assert set(graph.parameters) == {"first.w", "second.0"}
    assert_same(graph(OTHER), function(args[0], OTHER, args[2]))


def test_a_module_without_parameters_says_how_to_name_them() -> None:
    graph = graph_compiler.transpile(lambda params, x: x * params, to="torch", args=(jnp.ones(3), X))
    with pytest.warns(UserWarning, match=r"no parameters.*parameters='params'"):
        graph.as_module()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"parameters": "weights", "args": (X, jnp.ones(3))},
            "names 'weights', which args= .*; they give x, scale",
        ),
        ({"parameters": "scale"}, "give them"),
        ({"parameters": 1.5, "args": (X, jnp.ones(3))}, "the name or position"),
        ({"parameters": "scale", "args": (X, jnp.ones(3)), "source": "numpy"}, "for functions of jax"),
    ],
)
def test_parameters_that_are_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        graph_compiler.transpile(scaled, **{"to": "torch", "source": "jax", **options})


def test_parameters_of_a_class_without_arguments_are_refused() -> None:
    class Scaling:
        def scaled(self, scale: Any, x: Any) -> Any:
            return x * scale

    with pytest.raises(InvalidOption, match="give them"):
        graph_compiler.compile(Scaling, source="jax", parameters="scale")


class Counting(nnx.Module):
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x * self.calls


def test_plain_attributes_that_change_are_refused() -> None:
    module = Counting()
    with pytest.raises(TracingError, match="the attribute calls of a Counting is assigned to"):
        graph_compiler.transpile(module, to="torch", args=(X,))
    assert module.calls == 0


def test_a_bound_module_that_draws_is_refused() -> None:
    module: Any = linen.Dropout(0.5, deterministic=False).bind({}, rngs={"dropout": jax.random.key(0)})
    with pytest.raises(TracingError, match="draws random numbers"):
        graph_compiler.transpile(module, to="torch", args=(X,))


@pytest.mark.parametrize("to", ["jax", "torch"])
def test_paths_that_are_written_alike_name_two_arrays(to: str) -> None:
    weights = {"a.b": jnp.ones(3), "a": {"b": jnp.arange(3.0)}}
    function = lambda weights, x: x * weights["a.b"] + weights["a"]["b"]  # noqa: E731
    graph = graph_compiler.transpile(function, source="jax", to=to, args=(weights, X), parameters="weights")
    assert_same(graph(X), function(weights, X))
    assert len(graph.parameters) == 2


class Tied(equinox.Module):
    scale: Any
    offset: Any

    def __call__(self, x: Any) -> Any:
        return x * self.scale + self.offset


@pytest.mark.parametrize("wrap", [lambda module: module, equinox.filter_jit], ids=["bare", "wrapped"])
def test_both_places_of_an_array_are_parameters(wrap: Callable[[Any], Any]) -> None:
    weight = jnp.arange(3.0)
    graph = graph_compiler.transpile(wrap(Tied(weight, weight)), to="jax", args=(X,))
    changed = {name: array + 1 for name, array in graph.parameters.items()}
    assert_same(graph.functional(changed, X), Tied(weight + 1, weight + 1)(X))
