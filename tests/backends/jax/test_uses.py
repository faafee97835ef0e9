"""Tests of JAX graphs in JAX's own tools: loops, exports with symbolic sizes, maps over devices, copied nnx
modules.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import export  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GuardFailed, TargetRefused  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


class Reader(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.recurrent, self.head = torch.nn.LSTM(4, 4, batch_first=True), torch.nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        hidden = self.recurrent(x)[0]
        hidden = (
            hidden
            if x.shape[1] > 64
            else torch.nn.functional.scaled_dot_product_attention(hidden, hidden, hidden)
        )
        return self.head(hidden.reshape(x.shape[0], -1, 2, 2).flatten(2)).mean(1)


def batch(rows: int, length: int) -> Any:
    return torch.randn(rows, length, 4, generator=torch.Generator().manual_seed(rows))


def test_exports_with_open_sizes_and_maps_over_devices() -> None:
    model = Reader()
    graph = graph_compiler.transpile(model, to="jax", args=(batch(2, 5),))
    served = jax.jit(lambda x: graph.functional(graph.parameters, x))
    with pytest.raises(
        GuardFailed,
        match=r"test_uses\.py:\d+ .*was recorded for x\.shape\[1\] <= 64, which cannot be told.*constraints",
    ):
        export.export(served)(jax.ShapeDtypeStruct(export.symbolic_shape("rows, length, 4"), np.float32))
    sizes = export.symbolic_shape("rows, length, 4", constraints=["length <= 64"])
    exported = export.deserialize(export.export(served)(jax.ShapeDtypeStruct(sizes, np.float32)).serialize())
    for shape in ((3, 7), (1, 2)):
        assert_same(exported.call(jnp.asarray(batch(*shape).numpy())), model(batch(*shape)))
    mesh, spec = jax.sharding.Mesh(np.array(jax.devices()), ("d",)), jax.sharding.PartitionSpec
    mapped = jax.shard_map(graph.functional, mesh=mesh, in_specs=(spec(), spec("d")), out_specs=spec("d"))
    assert_same(jax.jit(mapped)(dict(graph.parameters), jnp.asarray(batch(3, 7).numpy())), model(batch(3, 7)))


def factored(x: Any) -> Any:
    return torch.linalg.cholesky_ex(x @ x.mT + torch.eye(3))


def test_loops_of_helpers_are_mapped_over_devices() -> None:
    graph = graph_compiler.transpile(factored, to="jax", args=(torch.randn(2, 3, 3),))
    mesh, spec = jax.sharding.Mesh(np.array(jax.devices()), ("d",)), jax.sharding.PartitionSpec("d")
    x = torch.randn(4, 3, 3)
    mapped = jax.shard_map(lambda x: tuple(graph(x)), mesh=mesh, in_specs=spec, out_specs=spec)
    assert_same(jax.jit(mapped)(jnp.asarray(x.numpy())), tuple(factored(x)))


def smoothed(x: Any) -> Any:
    best = np.zeros(x.shape[0], np.float32)
    for i in range(30):
        best = best * np.float32(0.9) + x[:, i]
    return best


def accumulated(x: Any) -> Any:
    total = x.new_full((x.shape[0],), 2.5)
    last = shown = x.new_zeros(x.shape[0])
    for column in x.T:
        shown, last = torch.tanh(shown + column), last * 0.5 + shown
        total = total + last
    return shown, total


def counted(x: Any) -> Any:
    found = np.zeros(x.shape[0], np.int32)
    for i in range(30):
        found = found + (x[:, i] > 0).astype(np.int32)
    return found


@pytest.mark.parametrize("function", [smoothed, counted, accumulated])
def test_loops_that_begin_with_constants_are_mapped_over_devices(function: Any) -> None:
    x = batch(3, 32)[..., 0]
    given = x if function is accumulated else x.numpy()
    graph = graph_compiler.transpile(function, to="jax", args=(given,))
    assert "lax.scan" in graph.source
    mesh, spec = jax.sharding.Mesh(np.array(jax.devices()), ("d",)), jax.sharding.PartitionSpec("d")
    mapped = jax.shard_map(graph, mesh=mesh, in_specs=spec, out_specs=spec)
    assert_same(jax.jit(mapped)(jnp.asarray(x.numpy())), function(given))


def weighted(weights: Any, x: Any) -> Any:
    total = np.zeros(x.shape[1], np.float32)
    for i in range(30):
        total = total * weights[i] + x[i]
    return total


def test_a_loop_takes_the_devices_of_the_rows_that_its_constant_fits() -> None:
    x = batch(3, 32)[..., 0].numpy().T
    graph = graph_compiler.transpile(weighted, to="jax", args=(x[:, 0], x))
    mesh, spec = jax.sharding.Mesh(np.array(jax.devices()), ("d",)), jax.sharding.PartitionSpec
    mapped = jax.shard_map(graph, mesh=mesh, in_specs=(spec(), spec(None, "d")), out_specs=spec("d"))
    assert_same(jax.jit(mapped)(jnp.asarray(x[:, 0]), jnp.asarray(x)), weighted(x[:, 0], x))


def test_loops_of_jax_call_a_graph() -> None:
    weight = torch.randn(3, 3)

    def step(hidden: Any, x: Any) -> Any:
        return torch.tanh(hidden @ weight + x)

    graph, x = (
        graph_compiler.transpile(step, to="jax", args=(torch.ones(2, 3), torch.ones(2, 3))),
        torch.randn(4, 2, 3),
    )
    expected = [torch.zeros(2, 3)]
    for row in x:
        expected.append(step(expected[-1], row))
    start, rows = jnp.zeros((2, 3)), jnp.asarray(x.numpy())

    @jax.jit
    def loops(start: Any, rows: Any) -> Any:
        last, seen = jax.lax.scan(lambda hidden, x: (graph(hidden, x),) * 2, start, rows)
        counted = jax.lax.fori_loop(0, 4, lambda i, hidden: jax.checkpoint(graph)(hidden, rows[i]), start)
        until = jax.lax.while_loop(
            lambda state: state[0] < 4,
            lambda state: (state[0] + 1, graph(state[1], rows[state[0]])),
            (0, start),
        )
        return last, seen, counted, until[1]

    assert_same(loops(start, rows), (expected[-1], torch.stack(expected[1:]), expected[-1], expected[-1]))


def test_donated_parameters_are_missed_with_advice() -> None:
    """Donation must not destroy the weights of the torch model, with which they share memory."""
    model = torch.nn.Linear(256, 256)
    graph, x = graph_compiler.transpile(model, to="jax", args=(torch.ones(1, 256),)), torch.randn(4, 256)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    doubled = jax.jit(
        lambda weights: {name: weight * 2 for name, weight in weights.items()}, donate_argnums=0
    )
    copies = doubled(doubled(jax.tree.map(jnp.copy, dict(graph.parameters))))
    assert_same(graph.functional(copies, x.numpy()), model(x) * 4), assert_same(graph(x), model(x))
    doubled(dict(graph.parameters))
    with pytest.raises(TargetRefused, match=r"linear at .*jax refuses .*deleted.*; .*donate copies"):
        graph(x)
    assert_same(dict(model.named_parameters()), before)


def test_donated_copies_of_parameters_are_made_again() -> None:
    """A graph has copies of small weights, so it can still compute with those of the model."""
    model = torch.nn.Linear(3, 2)
    graph, x = graph_compiler.transpile(model, to="jax", args=(torch.ones(1, 3),)), torch.randn(4, 3)
    jax.jit(lambda weights: jax.tree.map(lambda weight: weight * 2, weights), donate_argnums=0)(
        dict(graph.parameters)
    )
    for _ in range(3):
        assert_same(graph(x), model(x))


def test_copies_of_an_nnx_module_have_variables_of_their_own() -> None:
    nnx = pytest.importorskip("flax.nnx")
    model = torch.nn.Linear(3, 2)
    module = graph_compiler.transpile(model, to="jax", args=(torch.ones(1, 3),)).as_module()
    twins = copy.deepcopy(module), nnx.clone(module)
    module.bias[...] = module.bias[...] + 1
    x = torch.randn(4, 3)
    for twin in twins:
        assert_same(twin(x.numpy()), model(x))
    assert_same(module(x.numpy()), model(x) + 1)


@pytest.mark.parametrize("is_jitted", [False, True])
def test_modules_that_draw_after_they_are_made_have_other_numbers(is_jitted: bool) -> None:
    nnx = pytest.importorskip("flax.nnx")
    call = nnx.jit(lambda module, x: module(x)) if is_jitted else lambda module, x: module(x)
    x, dropped = torch.ones(1, 64), []
    for _ in range(2):
        module = graph_compiler.transpile(torch.nn.Dropout().eval(), to="jax", args=(x,)).as_module()
        module.train()
        dropped += [np.asarray(call(module, jnp.asarray(x))) for _ in range(2)]
    assert len({array.tobytes() for array in dropped}) == 4


def test_a_graph_without_keys_of_a_type_tells_the_size_that_differs() -> None:
    """Keys are uint32 arrays in NumPy, which is no reason to record again."""

    def function(x: Any, key: Any) -> Any:
        return x + jax.random.normal(key, x.shape) if x.shape[0] > 3 else x

    graph = graph_compiler.transpile(function, to="numpy", args=(jnp.ones(6), jax.random.key(0)))
    graph(jnp.ones(2), jax.random.key(1))
    reason = next(line for line in graph.explain().splitlines() if line.startswith("variant 1"))
    assert "x.shape[0] > 3" in reason and "uint32" not in reason


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.float16])
def test_the_type_of_a_power_outside_of_a_compiler(dtype: torch.dtype) -> None:
    """Outside of ``jit`` JAX gives int32 for a number to the power of an array without axes."""
    raised, x = lambda x: 2**x, torch.tensor(3, dtype=dtype)
    assert_same(graph_compiler.transpile(raised, to="jax", args=(x,))(x), raised(x))


class Exchanged:
    """Elements that DLPack can read, without the properties of an array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_an_object_with_dlpack_alone_is_no_array() -> None:
    graph = graph_compiler.compile(lambda x: jnp.sin(x), source="jax", args=(jnp.ones(3),))  # noqa: PLW0108
    with pytest.raises(TypeError, match="Exchanged"):
        graph(Exchanged(np.ones(3, "float32")))
