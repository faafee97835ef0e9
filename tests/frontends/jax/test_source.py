"""Tests of JAX as a source: what is recorded, recorded again and refused, and how graphs can be used."""

from __future__ import annotations

import functools
import itertools
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx
from jax import lax

import graph_compiler
from graph_compiler.errors import CallMismatch, GraphCompilerError, TracingError, UnsupportedOperation
from graph_compiler.frontends.jax.models import set_value, value_of
from tests.support.compare import assert_same
from tests.support.contexts import wide_types
from tests.support.logs import logged


def affine(x, w):
    return jnp.tanh(x @ w) + x.shape[0]


X, W = jnp.arange(6.0).reshape(2, 3) / 6, jnp.ones((3, 4)) / 3


# ---------------------------------------------------------------------------------------------- jax to jax
def test_flat_function() -> None:
    graph = graph_compiler.compile(affine, args=(X, W))
    assert_same(graph(X, W), affine(X, W))
    larger = jnp.ones((5, 3))
    assert_same(graph(larger, W), affine(larger, W))
    assert len(graph.variants) == 1
    assert "return lax.tanh(x @ w) + x_dim0" in graph.source, graph.source


# Each row: function, its result in the source, and what the source holds while.
RESHAPED = [
    (lambda x: x.reshape(x.shape[0], -1), "x.reshape(x_dim0, x_dim1 * x_dim2)", "x.shape[0] > 0"),
    (
        lambda x: x.reshape(x.shape[0], -1, 2),
        "x.reshape(x_dim0, (x_dim1 * x_dim2) // 2, 2)",
        "x.shape[0] > 0, ((x.shape[1] * x.shape[2]) % 2) == 0",
    ),
    (
        lambda x: x.reshape(*x.shape[:2], 2, -1),
        "x.reshape(x_dim0, x_dim1, 2, x_dim2 // 2)",
        "(x.shape[2] % 2) == 0",
    ),
]


@pytest.mark.parametrize(("function", "text", "condition"), RESHAPED)
def test_inferred_sizes_of_reshapes_are_short(function: Any, text: str, condition: str) -> None:
    graph = graph_compiler.compile(function, args=(jnp.ones((5, 6, 4)),), source="jax")
    assert f"return {text}\n" in graph.source
    assert condition in graph.source
    for shape in ((3, 2, 6), (1, 1, 2), (4, 3, 2), (2, 2, 0)):
        x = jnp.arange(float(np.prod(shape))).reshape(shape)
        assert_same(graph(x), function(x))
    assert len(graph.variants) == 1
    with pytest.raises((TypeError, ZeroDivisionError)) as raised:
        function(jnp.ones((0, 2, 2)))
    with pytest.raises(raised.type):
        graph(jnp.ones((0, 2, 2)))


def test_a_shift_of_signed_integers_is_one_operation() -> None:
    graph = graph_compiler.transpile(lambda x: x >> 1, to="numpy", args=(jnp.arange(3),))
    assert "return x >> 1" in graph.source


def test_can_be_transformed() -> None:
    graph = graph_compiler.compile(affine, args=(X, W))
    assert_same(jax.jit(graph)(X, W), jax.jit(affine)(X, W))
    assert_same(jax.grad(lambda w: graph(X, w).sum())(W), jax.grad(lambda w: affine(X, w).sum())(W))
    assert_same(
        jax.vmap(graph, in_axes=(0, None))(jnp.stack([X, X]), W),
        jax.vmap(affine, in_axes=(0, None))(jnp.stack([X, X]), W),
    )


def test_recorded_inside_of_jit() -> None:
    graph = graph_compiler.compile(lambda x: jnp.sin(x) * jnp.arange(3.0).sum(), source="jax")
    assert_same(jax.jit(graph)(X), jnp.sin(X) * 3)
    assert_same(graph(X), jnp.sin(X) * 3)

    def outer(x, y):
        return graph_compiler.compile(lambda z: z * y, source="jax")(x)

    with pytest.raises(TracingError, match="transformation around it"):
        jax.jit(outer)(X, X)


def test_functions_jitted_before_stay_as_they_are() -> None:
    @jax.jit
    def prepared(c):
        return jax.nn.softmax(jnp.linalg.inv(c @ c.T + jnp.eye(3)))

    graph = graph_compiler.compile(
        lambda x: x * prepared(W[:, :3]), source="jax", to="numpy", args=(jnp.ones((2, 3, 3)),)
    )
    assert_same(graph(np.ones((4, 3, 3), np.float32)), jnp.ones((4, 3, 3)) * prepared(W[:, :3]))
    assert_same(jax.vmap(prepared)(W[None, :, :3])[0], prepared(W[:, :3]))
    assert jax.grad(lambda c: prepared(c)[0, 0])(W[:, :3]).shape == (3, 3)


def test_graphs_inside_of_recordings() -> None:
    inner = graph_compiler.compile(lambda x: jnp.cos(x) + x.shape[0], args=(X,))
    graph = graph_compiler.compile(lambda x: inner(x) * 2, args=(X,), to="torch", source="jax")
    larger = jnp.ones((5, 3))
    assert_same(graph(torch.ones(5, 3)), (jnp.cos(larger) + 5) * 2)


def test_custom_rules_are_kept_in_jax() -> None:
    @jax.custom_vjp
    def rounded(x):
        return jnp.round(x)

    rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))

    def function(x):
        return rounded(x * 3).sum()

    graph = graph_compiler.compile(function, args=(X,))
    assert_same(graph(X), function(X))
    assert_same(jax.grad(graph)(X), jax.grad(function)(X))
    assert_same(jax.grad(graph)(jnp.ones((3, 2))), jax.grad(function)(jnp.ones((3, 2))))


def test_lazy() -> None:
    graph = graph_compiler.compile(affine)
    assert_same(graph(X, W), affine(X, W))


def test_decorator() -> None:
    @graph_compiler.compile
    def scaled(x, factor=2.0):
        return jnp.sin(x) * factor

    assert_same(scaled(X), jnp.sin(X) * 2.0)
    assert_same(scaled(X, factor=3.0), jnp.sin(X) * 3.0)
    assert len(scaled.variants) == 2


def test_another_dtype_is_another_variant() -> None:
    graph = graph_compiler.compile(affine, args=(X, W))
    half = X.astype(jnp.bfloat16), W.astype(jnp.bfloat16)
    assert_same(graph(*half), affine(*half))
    assert len(graph.variants) == 2


def test_weak_types_are_part_of_the_signature() -> None:
    def add(x, y):
        return x + y

    graph = graph_compiler.compile(add, args=(jnp.ones(2, jnp.bfloat16), jnp.asarray(2.0)))
    for y in (jnp.asarray(2.0), jnp.float32(2)):
        assert_same(graph(jnp.ones(2, jnp.bfloat16), y), add(jnp.ones(2, jnp.bfloat16), y))


def test_elements_that_decide_inside_of_a_transformation_without_a_variant() -> None:
    def halved(x):
        return x / 2 if x > 1 else x

    graph = graph_compiler.compile(halved, args=(jnp.asarray(2.0),))
    graph(jnp.asarray(0.5))
    assert_same(jax.jit(graph)(jnp.asarray(4.0)), jnp.asarray(2.0))
    with pytest.raises(
        CallMismatch,
        match=r"test_source.py:\d+: JAX traces this call of halved from outside .* the type is weak",
    ):
        jax.jit(graph)(np.float32(4.0))


def test_another_branch_with_a_tensor_that_requires_a_gradient() -> None:
    graph = graph_compiler.compile(lambda x: x * 2 if x.sum() > 0 else -x, to="torch", args=(jnp.ones(3),))
    for number in (1.0, -1.0):
        x = torch.full((3,), number, requires_grad=True)
        graph(x).sum().backward()
        assert x.grad.tolist() == [2.0 if number > 0 else -1.0] * 3


@pytest.mark.parametrize("to", ["jax", "torch", "tensorflow", "numpy"])
def test_save_and_load(tmp_path: Path, to: str) -> None:
    def function(x, i):
        y = jax.nn.softmax(x[1:] * jnp.arange(3.0), axis=-1).at[:, 0].add(2)
        return {"y": y[:, i], "round": jnp.round(y), "fft": jnp.fft.rfft(y).real}

    i = jnp.array([0, 2])
    graph = graph_compiler.compile(function, args=(X, i), to=to)
    graph.save(tmp_path / "graph.zip")
    again = graph_compiler.load(tmp_path / "graph.zip")
    larger = jnp.ones((4, 3))
    assert_same(again(np.asarray(larger), np.asarray(i)), graph(np.asarray(larger), np.asarray(i)))


def test_graph_for_another_framework() -> None:
    graph = graph_compiler.compile(affine, args=(X, W))
    assert_same(
        graph.to("torch")(torch.ones(5, 3), torch.ones(3, 4)), affine(jnp.ones((5, 3)), jnp.ones((3, 4)))
    )
    assert graph.list_missing("numpy") == []


def test_verify() -> None:
    assert graph_compiler.transpile(affine, args=(X, W), to="torch").verify().runs > 2
    assert graph_compiler.transpile(affine, args=(X, W), to="numpy", verify=True).variants


# ---------------------------------------------------------------------------------------------- arguments
def test_trees_and_static_values() -> None:
    def function(batch, scale=2, mode="sum"):
        return {"loss": getattr(jnp, mode)(batch["x"] * scale), "rest": [batch["y"][0], None, scale]}

    batch = {"x": X, "y": (W, 3)}
    graph = graph_compiler.compile(function, args=(batch,))
    assert_same(graph(batch), function(batch))
    assert_same(graph(batch, mode="mean"), function(batch, mode="mean"))


def test_sizes_that_decide_are_guards() -> None:
    def function(x):
        return x.sum() if x.shape[0] > 2 else x * len(x.shape)

    graph = graph_compiler.compile(function, args=(X,), to="torch")
    for rows in (1, 2, 3, 7):
        assert_same(graph(torch.ones(rows, 3)), function(jnp.ones((rows, 3))))
    assert len(graph.variants) == 2


@dataclass(frozen=True)
class Rows:
    """An object with a constant hash, so that each dict has to compare it."""

    number: int

    def __hash__(self) -> int:
        return 1


LOOKED_UP: list[Any] = [
    lambda x: x * (2 if x.shape[0] in {2, 5} else 3),
    lambda x: x * {2: 5, 3: 7, 4: 9}.get(x.shape[0], 1),
    lambda x: x * {2: 5, 3: 7, 4: 9, 5: 1}[x.shape[0]],
    lambda x: x * len(set(x.shape)),
    lambda x: x * (x.shape.count(3) + 1),
    lambda x: x * (2 if 4 in x.shape else 3),
    lambda x: x * (2 if x.shape == (3, 3) else 3),
    lambda x: x * max(x.shape) + sorted(x.shape)[0],
    lambda x: x * int(np.prod(x.shape)),
    lambda x: x[: min(x.shape)] + range(9)[x.shape[0]],
    lambda x: x * (x.shape[0] % 2 == 0),
    lambda x: x * (2 if x.shape[0] % 2 else 3),
    lambda x: x * (5 if not x.shape[0] - 3 else 7),
    lambda x: jnp.zeros(x.shape[0] - 2).sum() + x.shape[0] // 2,
    lambda x: x * len(list(itertools.groupby(x.shape))),
    lambda x: x * (2 if Rows(x.shape[0]) == Rows(3) else 3),
    lambda x: x * {Rows(2): 5, Rows(3): 7}.get(Rows(x.shape[0]), 1),
]


@pytest.mark.parametrize("function", LOOKED_UP)
def test_sizes_that_are_looked_up(function: Any) -> None:
    graph = graph_compiler.compile(function, args=(jnp.ones((2, 3)),), source="jax", to="numpy")
    for rows in (2, 3, 4, 5):
        assert_same(graph(np.ones((rows, 3), np.float32)), function(jnp.ones((rows, 3))))


@pytest.mark.skipif(jax.__version_info__ < (0, 8), reason="an older JAX records once more")
def test_tables_of_functions_assume_no_sizes() -> None:
    """The comparison of sizes in a cache lookup must not become a guard, since it depends on earlier calls."""

    @functools.lru_cache
    def as_float(rows: Rows) -> Any:
        return rows.number * 1.0

    function = lambda x: x * as_float(Rows(x.shape[0]))  # noqa: E731
    assert as_float(Rows(5)) == 5.0
    graph = graph_compiler.compile(function, args=(X,), to="numpy")
    for rows in (2, 5, 7):
        assert_same(graph(np.ones((rows, 3), np.float32)), function(jnp.ones((rows, 3))))
    assert len(graph.variants) == 1


def test_loops_over_sizes() -> None:
    def function(x):
        return lax.fori_loop(0, x.shape[0], lambda i, y: y + x[i], jnp.zeros(3))

    graph = graph_compiler.compile(function, args=(X,), to="numpy")
    for rows in (2, 4):
        assert_same(graph(np.ones((rows, 3), np.float32)), function(jnp.ones((rows, 3))))


def test_sizes_of_one() -> None:
    graph = graph_compiler.compile(affine, args=(X[:1], W), to="numpy")
    assert_same(graph(np.ones((4, 3), np.float32), np.asarray(W)), affine(jnp.ones((4, 3)), W))
    assert len(graph.variants) == 1


def test_squeeze_of_all_is_fixed() -> None:
    graph = graph_compiler.compile(jnp.squeeze, source="jax", args=(jnp.ones((3, 1)),), to="numpy")
    for shape in ((3, 1), (1, 1), (4, 2)):
        assert_same(graph(np.ones(shape, np.float32)), jnp.squeeze(jnp.ones(shape)))


def test_wide_arrays_are_taken_as_jax_takes_them() -> None:
    def function(x, i):
        return x * i

    graph = graph_compiler.compile(function, args=(jnp.ones(2), jnp.arange(2)), to="torch")
    found = graph(torch.ones(2, dtype=torch.float64), torch.arange(2))
    assert found.dtype == torch.float32


def test_x64() -> None:
    with wide_types():
        x = jnp.linspace(0, 1, 5)
        assert x.dtype == jnp.float64
        graph = graph_compiler.compile(
            lambda y: (y / 3, jnp.argmax(y), jnp.arange(y.shape[0])), args=(x,), to="torch"
        )
        assert_same(
            graph(torch.linspace(0, 1, 7, dtype=torch.float64)),
            (jnp.linspace(0, 1, 7) / 3, jnp.asarray(6), jnp.arange(7)),
        )
    assert graph(torch.ones(3, dtype=torch.float64))[0].dtype == torch.float32


def test_branches_with_x64() -> None:
    """``expm`` uses ``lax.switch``, all branches of which are computed."""
    with wide_types():
        x = jnp.arange(9.0).reshape(3, 3) / 8
        graph = graph_compiler.compile(jax.scipy.linalg.expm, args=(x,), source="jax", to="torch")
        for scale in (1, 20):
            assert_same(graph(torch.tensor(np.asarray(x * scale))), jax.scipy.linalg.expm(x * scale))


# ----------------------------------------------------------------------------------- outside of the arguments
def test_captured_arrays() -> None:
    held = {"scale": jnp.arange(3.0)}

    def function(x):
        return x * held["scale"]

    graph = graph_compiler.compile(function, args=(X,), to="numpy")
    assert_same(graph(np.asarray(X)), function(X))
    held["scale"] = jnp.ones(3)
    assert_same(graph(np.asarray(X)), function(X))


def test_captured_numpy_arrays_are_compared() -> None:
    scale = np.arange(3, dtype=np.float32)

    def function(x):
        return x * scale

    graph = graph_compiler.compile(function, args=(X,), to="torch")
    scale[0] = 5
    assert_same(graph(torch.ones(2, 3)), function(jnp.ones((2, 3))))


def test_captured_modules_are_watched() -> None:
    layer = nnx.Linear(3, 2, rngs=nnx.Rngs(0))

    def function(x):
        return layer(x)

    graph = graph_compiler.compile(function, args=(X,), to="numpy")
    set_value(layer.kernel, value_of(layer.kernel) * 2)
    np.testing.assert_allclose(graph(np.asarray(X)), function(X), rtol=1e-6)


def test_functions_held_by_other_names() -> None:
    from jax.nn import softmax

    graph = graph_compiler.compile(lambda x: softmax(x) * 2, args=(X,), to="torch")
    assert_same(graph(torch.ones(2, 3)), softmax(jnp.ones((2, 3))) * 2)


# ---------------------------------------------------------------------------------------------- modules
class Normed(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.norm = nnx.BatchNorm(3, use_running_average=False, rngs=rngs)

    def __call__(self, x):
        return self.norm(x) * 2


@pytest.mark.parametrize("to", ["jax", "torch", "numpy"])
def test_module_with_state(to: str) -> None:
    module, twin = Normed(nnx.Rngs(0)), Normed(nnx.Rngs(0))
    graph = graph_compiler.compile(module, to=to, source="jax", args=(X,))
    for _ in range(2):
        np.testing.assert_allclose(
            np.asarray(graph(np.asarray(X) if to != "jax" else X)), twin(X), rtol=1e-5, atol=1e-6
        )
    np.testing.assert_allclose(np.asarray(graph.state["norm.mean"]), value_of(twin.norm.mean), rtol=1e-5)
    assert isinstance(value_of(module.norm.mean), jax.Array)
    np.testing.assert_allclose(value_of(module.norm.mean), value_of(twin.norm.mean), rtol=1e-5)


def test_module_parameters_are_live() -> None:
    module = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    graph = graph_compiler.compile(module, source="jax", args=(X,))
    set_value(module.kernel, jnp.ones((3, 2)))
    assert_same(graph(X), module(X))
    gradient = jax.grad(lambda p: graph.functional(p, X).sum())(dict(graph.parameters))
    assert gradient["kernel"].shape == (3, 2)


def test_split_module_as_arguments() -> None:
    definition, state = nnx.split(nnx.Linear(3, 2, rngs=nnx.Rngs(0)))
    leaves, tree = jax.tree_util.tree_flatten(state)

    def function(weights, x):
        return nnx.merge(definition, jax.tree_util.tree_unflatten(tree, weights))(x)

    graph = graph_compiler.compile(function, args=(leaves, X), to="torch")
    np.testing.assert_allclose(graph(leaves, torch.ones(4, 3)), function(leaves, jnp.ones((4, 3))), rtol=1e-6)


# -------------------------------------------------------------------------------------------- what is refused
ERRORS: list[tuple[Any, type[Exception], str]] = [
    (
        lambda x: np.asarray(x) + 1,
        TracingError,
        r"test_source.py:\d+: function needs the elements of an array",
    ),
    (lambda x: x[x > 0], TracingError, "needs the elements"),
    (lambda x: jnp.arange(x.sum().astype(int)), TracingError, "needs the elements"),
    (lambda x: jax.random.gamma(jax.random.key(0), x), UnsupportedOperation, "no row"),
    (lambda x: x + jax.pure_callback(np.sin, x, x), UnsupportedOperation, "call back into Python"),
    (lambda x: lax.linalg.schur(x[:2, :2]), UnsupportedOperation, "no row"),
    (lambda x: (x.shape[0] for _ in range(2)), TracingError, "generator"),
]


@pytest.mark.parametrize(("function", "exception", "message"), ERRORS)
def test_refused(function: Any, exception: type[Exception], message: str) -> None:
    with pytest.raises(exception, match=message):
        graph_compiler.transpile(function, to="torch", source="jax", args=(X,))


def test_all_that_is_missing_is_told_at_once() -> None:
    def function(x):
        return lax.linalg.schur(x[:2, :2])[0].sum() + jax.random.gamma(jax.random.key(0), x)

    with pytest.raises(UnsupportedOperation, match=r"(?s)makes 2 call.*schur.*gamma"):
        graph_compiler.transpile(function, to="numpy", source="jax", args=(X,))


def test_errors_of_the_user_stay() -> None:
    with pytest.raises(TypeError, match="incompatible shapes"):
        graph_compiler.transpile(lambda x, y: x + y, to="numpy", source="jax", args=(X, W))


def test_state_is_refused() -> None:
    held: dict[str, Any] = {"calls": 0}

    def function(x):
        held["calls"] += 1
        return x * held["calls"]

    with pytest.raises(
        TracingError, match=r"an item of the variable held .* changed: a function of JAX keeps no state"
    ):
        graph_compiler.compile(function, args=(X,), to="numpy")


def test_sizes_do_not_outlive_the_recording() -> None:
    kept: list[Any] = []

    def function(x):
        kept.append(x.shape[0])
        return x * 2

    with pytest.raises(TracingError, match="keeps no state"):
        graph_compiler.compile(function, args=(X,), to="numpy")
    with pytest.raises(GraphCompilerError, match="recording that is over"):
        range(kept[0])


def test_mode_of_a_module() -> None:
    module = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
    graph = graph_compiler.compile(module, source="jax", to="numpy", args=(X,))
    module.eval()
    np.testing.assert_allclose(graph(np.asarray(X)), module(X), rtol=1e-6)


def test_nothing_stays_replaced() -> None:
    before = jnp.linalg.det, jax.nn.softmax, jax.core.ShapedArray._getitem
    with pytest.raises(TracingError):
        graph_compiler.compile(lambda x: x[x > 0], args=(X,))
    assert (jnp.linalg.det, jax.nn.softmax, jax.core.ShapedArray._getitem) == before
    assert_same(jax.jit(lambda x: jnp.linalg.det(x[:2, :2]))(X), jnp.linalg.det(X[:2, :2]))


def test_source_is_told_by_the_arguments() -> None:
    graph = graph_compiler.transpile(lambda x: x * 2, args=(X,))
    assert isinstance(graph(torch.ones(2, 3)), torch.Tensor)


def test_recording_again_is_logged() -> None:
    graph = graph_compiler.compile(affine, args=(X, W))
    with logged(logging.INFO) as messages:
        graph(X.astype(jnp.float16), W.astype(jnp.float16))
    assert any("recorded again" in message for message in messages)


def test_operands_that_an_operation_broadcasts_are_not_broadcast_before() -> None:
    def scaled(x: Any, mean: Any, scale: Any) -> Any:
        # The last product has no operand with all axes but those that are broadcast.
        return (x - mean) * scale + jnp.ones((1, 1, 3)) * scale[None, None] * mean[None, None]

    arrays = [jnp.arange(24.0).reshape(2, 4, 3), jnp.arange(3.0), jnp.arange(3.0) + 1]
    graph = graph_compiler.transpile(scaled, to="torch", args=tuple(arrays))
    assert "(x - mean) * scale" in graph.source, graph.source
    others = [arrays[0][:1, :2] * 2, arrays[1] - 4, arrays[2] * 3]
    assert_same(graph(*others), scaled(*others))


def test_networks_with_the_channels_last_run_with_the_channels_first_in_torch() -> None:
    convolved = functools.partial(
        lax.conv_general_dilated,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )

    def network(x: Any, kernel: Any, mean: Any) -> Any:
        for _ in range(2):
            x = jax.nn.relu(convolved(x, kernel) - mean)
        return x.mean((1, 2))

    arrays = (
        jnp.linspace(-1, 1, 2 * 5 * 6 * 3).reshape(2, 5, 6, 3),
        jnp.linspace(0, 1, 81).reshape(3, 3, 3, 3),
    )
    mean = jnp.asarray([0.1, 0.3, -0.2])
    graph = graph_compiler.transpile(network, to="torch", args=(*arrays, mean))
    assert graph.source.count(".permute(") == 2 and "movedim" not in graph.source, graph.source
    images = jnp.cos(arrays[0][:1, :, :4] * 9)
    assert_same(graph(images, arrays[1], mean), network(images, arrays[1], mean))
