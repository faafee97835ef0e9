"""Checks with eight JAX devices in one process."""

from __future__ import annotations

import functools
import itertools
import math
import os
import tempfile
import traceback
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.support.environment import set_variables

set_variables()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import parallel, training, transforms  # noqa: E402
from graph_compiler.errors import (  # noqa: E402
    CallMismatch,
    GuardFailed,
    InvalidOption,
    NotCompilable,
    TargetRefused,
    UnsupportedOperation,
)
from tests.support.tolerance import tolerance  # noqa: E402

from . import models  # noqa: E402
from .checks import checks_in, outcomes_of, refuses, report  # noqa: E402
from .collective_functions import (  # noqa: E402
    COUNTS,
    FLAGS,
    ROWS,
    WEIGHT,
    exchanged_by,
    reduced_by,
    reductions_of,
    sources,
)

x = jnp.arange(48.0).reshape(16, 3) / 10
w = jnp.arange(6.0).reshape(3, 2) / 5
PARTS = x.reshape(8, 2, 3)
close = np.testing.assert_allclose


def check_reductions() -> None:
    expected: dict[Any, Any] = {"concat": x * 2, "mean": PARTS.mean(0) * 2, "sum": PARTS.sum(0) * 2}
    for reduce, wanted in (*expected.items(), (lambda stacked: stacked.max(0), PARTS.max(0) * 2)):
        close(parallel.Parallel(lambda x: x * 2, reduce=reduce)(x), wanted, rtol=1e-6)
    close(parallel.Parallel(lambda x: {"sum": x.sum()})(x)["sum"], PARTS.sum((1, 2)), rtol=1e-6)
    found = parallel.Parallel(lambda x: x * 2, reduce=parallel.none)(x)
    assert len(found) == 8 and {array.device for array in found} == set(jax.devices())
    close(np.stack(found), PARTS * 2)


def check_structures_and_static_arguments() -> None:
    function = parallel.Parallel(
        lambda pair, power, *, bias: {"y": (pair["x"] ** power + bias, pair["n"])}, static_argnums=1
    )
    for power in (2, 3):
        found = function({"x": x, "n": 4}, power, bias=jnp.ones(16)[:, None])
        close(found["y"][0], x**power + 1, rtol=1e-5)
        assert found["y"][1] == 4


def check_static_arguments_are_compared_by_type_and_sign() -> None:
    function = parallel.Parallel(lambda x, number: -x if number is True else x * number, static_argnums=1)
    whole = x.astype(jnp.int32)
    for number in (1, True, 1.0, 1):
        found = function(whole, number)
        close(found, -whole if number is True else whole)
        assert found.dtype == (jnp.float32 if type(number) is float else jnp.int32)
    signs = parallel.Parallel(lambda x, zero: x * 0 + math.copysign(1.0, zero), static_argnums=1)
    for zero in (0.0, -0.0):
        close(signs(x, zero), np.full((16, 3), math.copysign(1.0, zero)))


def check_calls_like_the_last_one() -> None:
    function = parallel.Parallel(lambda held, x: x @ held["w"] + held["b"])
    held = parallel.replicate({"w": w, "b": jnp.ones(2)})
    whole, turned = parallel.replicate(x), {"b": held["b"], "w": held["w"]}
    for batch in (x, x * 2, x[:8], x.astype(jnp.int32), whole, x, np.asarray(x), x):
        expected = jnp.tile(batch, (8, 1)) if batch is whole else batch
        for given in (held, held, turned):
            found = function(given, batch), function(held=given, x=batch)
            assert all(array.dtype == jnp.float32 for array in found)
            close(found[0], expected @ w + 1, rtol=1e-6)
            close(found[1], found[0])
    refuses(lambda: function(held, x[:7]), CallMismatch, "[7, 3]", "8 devices")
    row, mesh = parallel.Parallel(lambda x: x * 2), jax.make_mesh((8,), ("device",))
    layouts = (
        jax.devices()[3],
        NamedSharding(mesh, PartitionSpec("device")),
        NamedSharding(mesh, PartitionSpec(None, "device")),
    )
    for place in (*layouts, *layouts):
        close(row(jax.device_put(square := jnp.arange(64.0).reshape(8, 8), place)), square * 2)
    close(jax.jvp(lambda x: function(held, x), (x,), (x,))[1], x @ w, rtol=1e-6)
    torch.manual_seed(0)
    model, (relative, absolute) = torch.nn.Linear(3, 2), tolerance("float32")
    of_graph = parallel.Parallel(graph_compiler.transpile(model, to="jax", args=(torch.ones(2, 3),)))
    for change in (
        lambda: None,
        lambda: None,
        lambda: model.weight.add_(1),
        lambda: setattr(model, "bias", torch.nn.Parameter(torch.ones(2))),
    ):
        with torch.no_grad():
            change()
            close(of_graph(x), model(torch.tensor(np.asarray(x))), rtol=relative, atol=absolute)


def check_collectives() -> None:
    def function(x: Any) -> Any:
        gathered = (
            parallel.all_gather(x, "device"),
            parallel.all_gather(x, "device", axis=1),
            parallel.all_gather(x, "device", tiled=True),
        )
        index = parallel.axis_index("device"), parallel.axis_index(x, "device")
        return (
            parallel.psum({"x": x, "one": 1}, "device"),
            parallel.pmean(x, "device"),
            parallel.pmax(x, "device"),
            gathered,
            index,
        )

    total, mean, largest, gathered, index = parallel.Parallel(function, reduce="none")(x)
    close(total["x"][3], PARTS.sum(0), rtol=1e-6)
    assert total["one"][0] == 8 and [int(i) for i in index[0]] == list(range(8)) == [int(i) for i in index[1]]
    close(mean[5], PARTS.mean(0), rtol=1e-6)
    close(largest[1], PARTS.max(0))
    close(gathered[0][2], PARTS)
    close(gathered[1][2], PARTS.transpose(1, 0, 2))
    close(gathered[2][2], x)


def check_gradients() -> None:
    def loss(w: Any, x: Any) -> Any:
        return ((x @ w) ** 2).mean()

    expected = jax.grad(loss)(w, x)
    outside = parallel.Parallel(lambda w, x: x @ w)
    close(transforms.grad(lambda w: (outside(w, x) ** 2).mean())(parallel.replicate(w)), expected, rtol=1e-5)
    inside = parallel.Parallel(
        lambda w, x: parallel.pmean(loss(w, x), "device"), reduce="first", replicated_argnums=0
    )
    close(transforms.grad(inside)(w, x), expected, rtol=1e-5)
    step = parallel.Parallel(
        lambda w, x: parallel.pmean(transforms.grad(loss)(w, x), "device"), reduce="first"
    )
    found = step(parallel.replicate(w), x)
    assert found.sharding.is_fully_replicated
    close(parallel.unreplicate(found), expected, rtol=1e-5)
    mixed = {"found": found, "mean": np.ones(2)}
    assert parallel.unreplicate(mixed)["mean"] is mixed["mean"]
    assert len(parallel.unreplicate(found).sharding.device_set) == 1


def check_graphs() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).eval()
    rows = torch.randn(24, 3)
    # The graph has recorded the call or has recorded nothing yet.
    for args in ((torch.ones(4, 3),), None):
        graph = graph_compiler.transpile(model, to="jax", args=args)
        close(
            parallel.Parallel(graph, devices=jax.devices()[:4])(rows),
            model(rows).detach(),
            rtol=1e-5,
            atol=1e-6,
        )
    refuses(
        lambda: parallel.Parallel(graph_compiler.transpile(model.train(), to="jax"))(rows),
        NotCompilable,
        "running_mean",
        "pmean",
    )


def check_numbers_of_devices() -> None:
    rows = jnp.arange(24.0).reshape(24, 1)
    for count in (1, 4, np.int64(4), 8):
        found = parallel.Parallel(lambda x: x * 2, devices=count)(rows)
        close(found, rows * 2)
        assert found.sharding.device_set == set(jax.devices()[:count]), (count, found.sharding)
    for count in (0, -1, 9):
        wrong = parallel.Parallel(lambda x: x, devices=count)
        refuses(
            lambda wrong=wrong: wrong(rows),
            InvalidOption,
            f"devices= is {count}, and has to be a number from 1 to 8",
            "jax.devices()",
        )
    for given in (True, 4.0, "4"):
        wrong = parallel.Parallel(lambda x: x, devices=given)
        refuses(
            lambda wrong=wrong: wrong(rows), InvalidOption, f"devices= is {given!r}", "list of JAX devices"
        )


def normalised(x: Any) -> Any:
    return (x * 2 - parallel.pmean(x.mean(0), "device")) / parallel.psum(x.sum(), "device") + parallel.pmax(
        x, "device"
    ).max()


def check_recorded_collectives() -> None:
    rows = np.arange(24, dtype="float32").reshape(8, 3)
    expected = (rows * 2 - rows.mean(0)) / rows.sum() + 23
    for source, example in (("torch", torch.ones(2, 3)), ("jax", jnp.ones((2, 3)))):
        graph = graph_compiler.transpile(normalised, source=source, to="jax", args=(example,))
        assert "parallel.psum(" in graph.source
        close(parallel.Parallel(graph, devices=jax.devices()[:4])(rows), expected, rtol=1e-6)
        close(
            transforms.vmap(graph, axis_name="device")(rows.reshape(4, 2, 3)).reshape(8, 3),
            expected,
            rtol=1e-6,
        )
        refuses(lambda graph=graph: graph(rows), InvalidOption, "'device'", "parallel.Parallel")
        refuses(lambda graph=graph: graph.to("numpy"), UnsupportedOperation, "NumPy runs on one device")


def doubled_above_20(x: Any) -> Any:
    return x * 2 if parallel.psum(x.sum(), "device").item() > 20 else x


def check_a_number_that_python_reads() -> None:
    rows = np.arange(24, dtype="float32").reshape(8, 3)
    graph = graph_compiler.transpile(doubled_above_20, source="torch", to="jax", args=(torch.ones(8, 3),))
    spread = parallel.Parallel(graph, replicated_argnums=())
    close(spread(rows), rows * 2)
    for call in (spread, lambda x: jax.vjp(spread, x)[0]):
        refuses(
            lambda call=call: call(rows / 20),
            GuardFailed,
            'if parallel.psum(x.sum(), "device").item() > 20',
            "jax_checks.py",
            "was True when recorded",
            "graph_compiler.trace",
        )
    # In a program of the user, floats become NaN.
    within = jax.jit(spread)
    close(within(rows), rows * 2)
    assert np.isnan(within(rows / 20)).all()
    graph.add_variant((jnp.zeros((2, 3)),), {})
    close(spread(rows / 20), rows / 20)
    close(spread(rows), rows * 2)


def check_guards_of_several_traces_of_one_program() -> None:
    graph = graph_compiler.transpile(doubled_above_20, source="torch", to="jax", args=(torch.ones(8, 3),))
    spread = parallel.Parallel(lambda x: graph.functional({}, x))
    rows, weak = jnp.ones((8, 3), "float32"), jnp.full((8, 3), 1.0)
    assert weak.weak_type and not rows.weak_type
    close(spread(rows), rows * 2)
    # JAX traces weakly typed arrays anew, and the trace with both variants requires other guards.
    graph.add_variant((jnp.zeros((2, 3)),), {})
    close(spread(weak), weak * 2)
    refuses(lambda: spread(rows / 20), GuardFailed, "was True when recorded")


def check_collectives_of_every_source() -> None:
    def whole(weight: Any, x: Any) -> Any:
        own = jnp.tanh(x @ weight)
        return -jnp.diagonal(jax.nn.log_softmax(own @ own.T)).mean()

    loss, gradient = jax.value_and_grad(whole)(WEIGHT, ROWS)
    for source in sources("torch", "jax", "numpy"):
        weight, rows = source.array(WEIGHT), source.array(ROWS[:5])
        graph = graph_compiler.transpile(source.exchanged, source=source.name, to="jax", args=(rows,))
        found = jax.tree.leaves(
            parallel.Parallel(graph, devices=jax.devices()[:4], reduce=lambda stacked: stacked)(ROWS)
        )
        for one, other in zip(found, exchanged_by(4)):
            close(one, other, rtol=1e-5, atol=1e-6, err_msg=source.name)
        graph = graph_compiler.transpile(
            source.contrastive, source=source.name, to="jax", args=(weight, rows)
        )
        spread = parallel.Parallel(graph, devices=jax.devices()[:4], reduce="mean", replicated_argnums=0)
        found_loss, found_gradient = transforms.value_and_grad(spread)(jnp.array(WEIGHT), jnp.array(ROWS))
        close(found_loss, loss, rtol=1e-5)
        close(found_gradient, gradient, atol=1e-6)


def check_collectives_of_bools_and_integers() -> None:
    for source, given in itertools.product(sources("torch", "jax", "numpy"), (FLAGS, COUNTS)):
        graph = graph_compiler.transpile(
            reductions_of, source=source.name, to="jax", args=(source.array(given[:2]),)
        )
        found = parallel.Parallel(graph, devices=jax.devices()[:4], reduce="first")(jnp.array(given))
        for one, other in zip(found, reduced_by(4, given)):
            close(one, other, err_msg=source.name)


def check_gradients_and_loops_that_are_recorded() -> None:
    (source,) = sources("jax")
    graph = graph_compiler.transpile(
        jax.grad(source.contrastive), source="jax", to="jax", args=(jnp.array(WEIGHT), jnp.array(ROWS[:5]))
    )
    found = parallel.Parallel(graph, reduce="mean", replicated_argnums=0)(WEIGHT, ROWS)
    alone = parallel.Parallel(jax.grad(source.contrastive), reduce="mean", replicated_argnums=0)(
        jnp.array(WEIGHT), jnp.array(ROWS)
    )
    close(found, alone, atol=1e-6)
    graph = graph_compiler.transpile(source.exchanged, source="jax", to="jax", args=(jnp.array(ROWS[:5]),))
    for one, other in zip(
        jax.tree.leaves(transforms.vmap(graph, axis_name="device")(ROWS.reshape(4, 2, 3))), exchanged_by(4)
    ):
        close(one, other, rtol=1e-5, atol=1e-6)

    def mixed(x: Any) -> Any:
        return transforms.fori_loop(0, 3, lambda i, x: parallel.all_gather(x, "device").mean(0) + x, x)

    expected = ROWS.reshape(4, 2, 3)
    for _ in range(3):
        expected = expected.mean(0) + expected
    for made in (torch.ones, jnp.ones, np.ones):
        graph = graph_compiler.transpile(mixed, to="jax", args=(made((5, 3)),))
        close(
            parallel.Parallel(graph, devices=jax.devices()[:4])(ROWS.astype(graph_dtype(made))),
            expected.reshape(8, 3),
            rtol=1e-5,
        )


def graph_dtype(made: Any) -> str:
    return str(made(1).dtype).removeprefix("torch.")


def check_vmap() -> None:
    found = transforms.vmap(lambda x: x / parallel.psum(x, "rows"), axis_name="rows")(jnp.ones((4, 2)))
    close(found, np.full((4, 2), 0.25))


def check_layouts_over_meshes() -> None:
    model, words = models.decoder(), models.tokens(rows=4)
    graph, expected = graph_compiler.transpile(model, to="jax", args=(words[:2],)), model(words)
    (expected**2).mean().backward()
    rules = {("model",): parallel.rules.tensor_parallel(), ("data",): parallel.rules.fsdp()}
    for axes, sizes in ((("model",), (4,)), (("data",), (2,)), (("data", "model"), (2, 4))):
        mesh = jax.make_mesh(sizes, axes, devices=jax.devices()[: np.prod(sizes)])
        sharded = parallel.shard(graph, mesh, [rules[axis,] for axis in axes[::-1]])
        split = {name: layout for name, layout in sharded.layouts.items() if any(layout)}
        assert len(split) > 5
        for name, layout in split.items():
            assert tuple(sharded.parameters[name].sharding.spec) == layout
        close(sharded(words), expected.detach(), atol=1e-5)
        gradients = transforms.grad(
            lambda held, sharded=sharded: (sharded.functional(held, words) ** 2).mean()
        )(sharded.parameters)
        for name, parameter in model.named_parameters():
            close(gradients[name], parameter.grad, atol=1e-6)


def check_fsdp_after_rules_of_the_user() -> None:
    graph = graph_compiler.transpile(torch.nn.Linear(4, 6), to="jax", args=(torch.ones(2, 4),))
    mesh = jax.make_mesh((2, 2), ("data", "model"), devices=jax.devices()[:4])
    for given, weight in (
        (("model",), ("model", "data")),
        ((None, "data"), (None, "data")),
        ((("model", "data"),), None),
        (("data",), ("data",)),
    ):
        rules = [{"weight": given}, parallel.rules.fsdp()]
        if weight is None:
            refuses(lambda rules=rules: parallel.shard(graph, mesh, rules), InvalidOption, "axis 0, of 6")
        else:
            assert parallel.shard(graph, mesh, rules).layouts == {"weight": weight, "bias": ("data",)}


def hinted(x: Any) -> Any:
    return parallel.hint(x * 2 + 1, (None, "model")) ** 2


def check_hints() -> None:
    rows = np.arange(32, dtype="float32").reshape(4, 8)
    mesh = jax.make_mesh((2, 4), ("data", "model"))
    for source, example in (("torch", torch.ones(4, 8)), ("jax", jnp.ones((4, 8)))):
        graph = graph_compiler.transpile(hinted, source=source, to="jax", args=(example,))
        assert "parallel.hint(" in graph.source
        close(graph(rows), (rows * 2 + 1) ** 2)
        close(graph.to("numpy")(rows), (rows * 2 + 1) ** 2)
        found = parallel.shard(graph, mesh, {}, batch=())(rows)
        close(found, (rows * 2 + 1) ** 2)
        assert tuple(found.sharding.spec) == (None, "model"), found.sharding
        refuses(
            lambda graph=graph: parallel.shard(graph, mesh, {}, batch=())(rows[:, :6]),
            InvalidOption,
            "[4, 6]",
            "axis 1, of 6",
        )


def check_training() -> None:
    expected, alone = models.trained("jax", parallel.unreplicate)
    eight, four = jax.make_mesh((8,), ("data",)), jax.make_mesh((4,), ("model",), devices=jax.devices()[:4])
    ways = {
        "data-parallel": parallel.replicate,
        "tensor-parallel": lambda state: parallel.shard(state, four, parallel.rules.tensor_parallel()),
        "FSDP": lambda state: parallel.shard(state, eight, parallel.rules.fsdp()),
    }
    for name, over in ways.items():
        losses, state = models.trained("jax", over)
        close(losses, expected, atol=1e-5, err_msg=name)
        for key, array in alone.parameters.items():
            close(state.parameters[key], array, atol=1e-5, err_msg=name)
        held = state.held.trained["block.q_proj.weight"].sharding
        assert len(held.device_set) == (
            4 if name == "tensor-parallel" else 8
        ) and held.is_fully_replicated == (name == "data-parallel")
    with tempfile.TemporaryDirectory() as folder:
        state.save(Path(folder, "state"))
        again = training.TrainState.load(Path(folder, "state"), like=models.trained("jax", over, steps=0)[1])
    assert again.held.trained["block.q_proj.weight"].sharding.is_equivalent_to(held, 2)
    words = models.tokens(98, length=7)
    (state, one), (_, two) = (
        training.single_train_step(each, (words[:, :-1], words[:, 1:])) for each in (state, again)
    )
    close(one["loss"], two["loss"], atol=1e-6)
    state.to_source()
    words = models.tokens(99, length=7)
    _, metrics = training.single_train_step(parallel.unreplicate(state), (words[:, :-1], words[:, 1:]))
    _, same = training.single_train_step(state, (words[:, :-1], words[:, 1:]))
    close(metrics["loss"], same["loss"], atol=1e-5)


def check_batch_norm_in_step() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    rows, target = torch.randn(16, 3), torch.randn(16, 1)
    alone, spread = (
        training.TrainState.create(model, "sgd", loss=torch.nn.MSELoss(), to="jax", args=(rows,))
        for _ in range(2)
    )
    spread, first = parallel.replicate(spread), None
    for _ in range(3):
        alone, one = training.single_train_step(alone, (rows, target))
        spread, other = training.single_train_step(spread, (rows, target))
        close(one["loss"], other["loss"], atol=1e-5)
        first = one["loss"] if first is None else first
    for name, array in alone.held.buffers.items():
        close(spread.held.buffers[name], array, atol=1e-5)
    lying = jax.device_put(
        (rows.numpy(), target.numpy()),
        jax.NamedSharding(jax.sharding.Mesh(np.array(jax.devices()), ("device",)), jax.P("device")),
    )
    fresh = training.TrainState.create(model, "sgd", loss=torch.nn.MSELoss(), to="jax", args=(rows,))
    close(training.single_train_step(parallel.replicate(fresh), lying)[1]["loss"], first, atol=1e-5)
    refuses(
        lambda: training.single_train_step(spread, (rows[:7], target[:7])),
        CallMismatch,
        "[7, 3]",
        "8 devices",
        "drop_last",
    )


def check_explicit_axes() -> None:
    """JAX asks for the layout of each result if the axes of a mesh are explicit, so ours are automatic."""
    mesh = jax.make_mesh((8,), ("device",), axis_types=(jax.sharding.AxisType.Explicit,))
    rows, target = jax.device_put((x, jnp.ones((16, 1))), jax.NamedSharding(mesh, jax.P("device")))
    model = torch.nn.Linear(3, 1)
    expected = x @ model.weight.detach().numpy().T + model.bias.detach().numpy()
    close(
        parallel.Parallel(graph_compiler.transpile(model, to="jax"), devices=mesh)(rows), expected, rtol=1e-5
    )
    state = training.TrainState.create(
        model, "sgd", loss=torch.nn.MSELoss(), to="jax", args=(torch.ones(16, 3),)
    )
    _, metrics = training.single_train_step(parallel.replicate(state), (rows, target))
    close(metrics["loss"], ((expected - 1) ** 2).mean(), rtol=1e-5)


def check_batches_on_more_devices_than_the_rest() -> None:
    # Small weights are copied, and JAX moves copies to the devices of the batch.
    size = 1 << 14
    graph = graph_compiler.transpile(torch.nn.Linear(4, size), to="jax", args=(torch.ones(2, 4),))
    batch, wanted = jnp.ones((16, 4)), jnp.ones((16, size))
    optimizer, loss = (
        training.optimizer("sgd", learning_rate=0.1),
        lambda found, wanted: ((found - wanted) ** 2).mean(),
    )
    state = training.TrainState.create(graph, optimizer, loss=loss, args=(batch,))
    for kind in (jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit):
        mesh = jax.make_mesh((8,), ("device",), axis_types=(kind,))
        split = jax.device_put(batch, jax.NamedSharding(mesh, jax.P("device")))
        refuses(functools.partial(graph, split), TargetRefused, "float32[16", "parallel.Parallel(graph)")
        step = functools.partial(training.single_train_step, state)
        refuses(
            functools.partial(step, (split, wanted)),
            CallMismatch,
            "array 0",
            "[16, 4]",
            "8 devices",
            "parallel.replicate(state)",
        )
        close(parallel.Parallel(graph)(split), graph(batch), rtol=1e-6)
    assert float(step((batch, wanted))[1]["loss"]) > 0


def check_weights_lie_on_the_default_device() -> None:
    """DLPack would leave weights of the CPU there, though JAX computes on another device."""
    chosen = jax.devices()[3]
    with jax.default_device(chosen):
        model = torch.nn.Linear(3, 2)
        graph = graph_compiler.transpile(model, to="jax", args=(torch.ones(2, 3),))
        assert graph(torch.ones(4, 3)).devices() == {chosen}
        assert {device for array in graph.parameters.values() for device in array.devices()} == {chosen}


def check_random_keys_are_no_batch() -> None:
    graph = graph_compiler.transpile(lambda: torch.rand(4, 3), to="jax", args=())
    spread = parallel.shard(graph, jax.make_mesh((8,), ("data",)), {})
    for key in (jax.random.PRNGKey(0), jax.random.key(0)):
        close(spread.functional({}, rng=key), graph.functional({}, rng=key))


def check_wrong_uses() -> None:
    graph = graph_compiler.transpile(torch.nn.Linear(4, 6), to="jax", args=(torch.ones(2, 4),))
    mesh = jax.make_mesh((2, 4), ("data", "model"))
    same = parallel.Parallel(lambda x: x)
    refuses(
        lambda: same(x[:7]),
        CallMismatch,
        "argument 0 has the shape [7, 3]",
        "8 devices",
        "multiple of 8",
        "replicate",
    )
    refuses(
        lambda: parallel.Parallel(lambda a, b: a)(x, x[:8]),
        CallMismatch,
        "argument 0 has a first axis of 16",
        "argument 1",
        "[8, 3]",
    )
    refuses(
        lambda: parallel.Parallel(lambda x: x, reduce="first")(x),
        CallMismatch,
        "differs between the devices",
        "parallel.pmean",
    )
    failing = parallel.Parallel(lambda x: x, reduce=lambda stacked: stacked + jnp.ones(5))
    refuses(lambda: failing(x), CallMismatch, "reduce=", "[8, 2, 3]")
    refuses(
        lambda: parallel.Parallel(lambda x: x, reduce=lambda stacked: None)(x),
        CallMismatch,
        "reduce= gives a NoneType",
        "[8, 2, 3]",
    )
    refuses(
        lambda: parallel.Parallel(lambda x: parallel.all_gather(x, "device", axis=3))(x),
        InvalidOption,
        "axis= is 3",
        "-3 to 2",
    )
    refuses(lambda: parallel.Parallel(lambda x: x, reduce="cat"), InvalidOption, "'concat'", "'first'")
    refuses(
        lambda: parallel.Parallel(lambda x, y: x, static_argnums=1)(x, [x]),
        InvalidOption,
        "static_argnums=",
        "cannot be hashed",
    )
    refuses(lambda: parallel.Parallel(lambda x: x, devices=[1])(x), InvalidOption, "jax.devices()")
    refuses(lambda: same(x, scale=2), TypeError, "unexpected keyword argument 'scale'")
    refuses(lambda: jax.jit(same)(x), InvalidOption, "replicated_argnums=")
    refuses(
        lambda: parallel.psum(x, "device"), InvalidOption, "'device'", "on one device", "parallel.Parallel"
    )
    refuses(
        lambda: parallel.Parallel(lambda x: parallel.pmean(x, "rows"))(x),
        InvalidOption,
        "'rows'",
        "runs over 'device'",
    )
    refuses(
        lambda: parallel.psum(np.ones(3), "device"), NotCompilable, "numpy runs on one device", "to='jax'"
    )
    refuses(lambda: parallel.Parallel(np.sin)(np.ones(8)), NotCompilable, "numpy runs on one device")
    refuses(lambda: parallel.shard(graph.to("numpy"), mesh, {}), NotCompilable, "numpy runs on one device")
    refuses(lambda: parallel.shard(graph, 3, {}), InvalidOption, "jax.make_mesh")
    refuses(
        lambda: parallel.shard(graph, mesh, {"wieght": ("model",)}),
        InvalidOption,
        "matches no parameter",
        "'weight'",
    )
    refuses(
        lambda: parallel.shard(graph, mesh, {"weight": ("rows",)}), InvalidOption, "'rows'", "'data', 'model'"
    )
    refuses(
        lambda: parallel.shard(graph, mesh, {"weight": ("model", None)}),
        InvalidOption,
        "[6, 4]",
        "axis 0, of 6",
        "4 devices",
    )
    refuses(
        lambda: parallel.shard(graph, mesh, [{"weight": ("model",)}, parallel.rules.fsdp()]),
        InvalidOption,
        "[6, 4]",
        "axis 0, of 6",
        "4 devices",
    )
    refuses(lambda: parallel.shard(graph, mesh, {"bias": ("data", None)}), InvalidOption, "[6]", "more axes")
    refuses(lambda: parallel.shard(graph, mesh, {"weight": "model"}), InvalidOption, "a layout is a tuple")
    refuses(
        lambda: parallel.shard(graph, mesh, {"weight": (None, "model")})(torch.ones(3, 4)),
        CallMismatch,
        "a batch of 3",
        "2 devices",
    )
    refuses(
        lambda: parallel.shard(torch.nn.Linear(1, 1), mesh, {}),
        NotCompilable,
        "takes a graph or a TrainState",
    )
    state = training.TrainState.create(graph, "sgd", loss=lambda y, target: y.sum())
    for sharded in (graph, state):
        with patch.dict(os.environ, GRAPH_COMPILER_TRACEBACK=""):
            try:
                parallel.shard(sharded, mesh, {"wieght": ("model",)})
            except InvalidOption as problem:
                files = [Path(frame.filename).name for frame in traceback.extract_tb(problem.__traceback__)]
                assert not {"sharding.py", "rules.py"}.intersection(files), files


if __name__ == "__main__":
    report(outcomes_of(checks_in(globals())))
