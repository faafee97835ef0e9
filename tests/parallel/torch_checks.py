"""Checks in groups of torch processes: two, then four, then two of which one ends."""

from __future__ import annotations

import functools
import gc
import os
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.environment import set_variables

set_variables()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import parallel, training, transforms  # noqa: E402
from graph_compiler.backends.torch import collectives as exchanges  # noqa: E402
from graph_compiler.errors import (  # noqa: E402
    CallMismatch,
    CollectiveFailed,
    GradientRefused,
    InvalidOption,
    UnsupportedOperation,
)
from graph_compiler.trees import iterate_structure  # noqa: E402

from . import models  # noqa: E402
from .checks import refuses, report  # noqa: E402
from .collective_functions import (  # noqa: E402
    COUNTS,
    FLAGS,
    ROWS,
    WEIGHT,
    exchanged_by,
    gradients_in_torch,
    losses_of_torch,
    reduced_by,
    reductions_of,
    sources,
)
from .processes import outcomes_over  # noqa: E402

# Seconds that a process waits for another one that has ended.
TIMEOUT = 4
# Seconds if processes do long work of their own before their first exchange.
LONGER = 20
# A process that is waited for may not get the processor for a while.
ON_A_BUSY_MACHINE = 3
x = torch.arange(24.0).reshape(8, 3) / 10
w = torch.arange(6.0).reshape(3, 2) / 5


def close(found: Any, expected: Any, atol: float = 1e-6) -> None:
    torch.testing.assert_close(torch.as_tensor(found), torch.as_tensor(expected), rtol=1e-5, atol=atol)


def check_reductions() -> None:
    parts, rank = x.reshape(2, 4, 3), dist.get_rank()
    expected = {"concat": x * 2, "mean": parts.mean(0) * 2, "sum": parts.sum(0) * 2}
    for reduce, wanted in (*expected.items(), (lambda stacked: stacked.amax(0), parts[1] * 2)):
        close(parallel.Parallel(lambda x: x * 2, reduce=reduce)(x), wanted)
    close(parallel.Parallel(lambda x: {"sum": x.sum()})(x)["sum"], parts.sum((1, 2)))
    close(parallel.Parallel(lambda x: x * 2, reduce="none")(x)[0], parts[rank] * 2)
    close(parallel.Parallel(lambda x: x * 2, local_batch=True)(parts[rank]), x * 2)


def check_calls_like_the_last_one() -> None:
    def replaced() -> None:
        module[0].bias = torch.nn.Parameter(torch.ones(2))

    def without_bias() -> None:
        module[0].bias = None

    module = torch.nn.Sequential(torch.nn.Linear(3, 2))
    function = parallel.Parallel(module)
    for change in (
        lambda: None,
        lambda: module[0].weight.add_(1),
        replaced,
        without_bias,
        lambda: module.append(torch.nn.Linear(2, 3)),
    ):
        with torch.no_grad():
            change()
        torch.distributed.broadcast(module[-1].weight.detach(), 0)
        for batch in (x, x * 2, x[:4], x.double().float(), x):
            module.zero_grad()
            with torch.no_grad():
                close(function(batch), module(batch))
            function(batch).sum().backward()
            found = module[0].weight.grad
            module.zero_grad()
            module(batch).sum().backward()
            close(found, module[0].weight.grad)
    refuses(lambda: function(x[:3]), CallMismatch, "[3, 3]", "2 devices")
    squares = parallel.Parallel(
        torch.nn.Sequential(first := torch.nn.Linear(3, 3), second := torch.nn.Linear(3, 3))
    )
    for layers in ((first, second), (first, second), (second, first), (first, second)):
        # The parameters are the same, under other names.
        squares.function._modules = dict(zip("01", layers))
        close(squares(x), squares.function(x))
    named = parallel.Parallel(
        lambda x, other=None, **more: x + sum(more.values()) + sum((other or {}).values()) * 2
    )
    for _ in range(2):
        close(named(x, y=x), x * 2)
        close(named(x, {"y": x}), x * 3)
    held = parallel.Parallel(lambda held, x: x @ held["w"])
    for batch in (x, x, x.int(), x):
        close(held({"w": parallel.replicate(w.to(batch.dtype))}, batch), batch @ w.to(batch.dtype))


def check_arrays_are_let_go() -> None:
    graph = graph_compiler.compile(torch.nn.Linear(3, 2), args=(torch.ones(2, 3),))
    for spread in (lambda x: x * 2, torch.nn.Linear(3, 2), graph):
        batch, function = x.clone(), parallel.Parallel(spread)
        held = weakref.ref(batch), weakref.ref(function(batch))
        del batch
        gc.collect()
        assert [each() for each in held] == [None, None], spread


def check_collectives() -> None:
    def function(x: Any) -> Any:
        gathered = (
            parallel.all_gather(x, "device"),
            parallel.all_gather(x, "device", axis=1),
            parallel.all_gather(x, "device", tiled=True),
        )
        return (
            parallel.psum({"x": x, "one": 1}, "device"),
            parallel.pmean(x, "device"),
            parallel.pmax(x, "device"),
            gathered,
        )

    parts = x.reshape(2, 4, 3)
    (total,), (mean,), (largest,), gathered = (
        parallel.Parallel(lambda x, place=place: function(x)[place], reduce="none")(x)["x"]
        if place == 0
        else parallel.Parallel(lambda x, place=place: function(x)[place], reduce="none")(x)
        for place in range(4)
    )
    close(total, parts.sum(0))
    close(mean, parts.mean(0))
    close(largest, parts[1])
    for (found,), wanted in zip(gathered, (parts, parts.transpose(0, 1), x)):
        close(found, wanted)
    index = parallel.Parallel(lambda x: parallel.axis_index("device"), reduce="none")(x)
    assert index[0] == dist.get_rank() and index[0].dtype == torch.int32


def check_gradients() -> None:
    weight = w.clone().requires_grad_()
    batch = x.clone().requires_grad_()
    (expected, of_batch) = torch.autograd.grad(((batch @ weight) ** 2).mean(), (weight, batch))
    whole = parallel.Parallel(lambda w, x: x @ w, replicated_argnums=0)
    for found, wanted in zip(
        torch.autograd.grad((whole(weight, batch) ** 2).mean(), (weight, batch)), (expected, of_batch)
    ):
        close(found, wanted)
    inside = parallel.Parallel(
        lambda w, x: parallel.pmean(((x @ w) ** 2).mean(), "device"), reduce="first", replicated_argnums=0
    )
    close(torch.autograd.grad(parallel.unreplicate(inside(weight, x)), weight)[0], expected)
    close(transforms.grad(lambda w: (whole(w, x) ** 2).mean())(w), expected)
    step = parallel.Parallel(
        lambda w, x: parallel.pmean(transforms.grad(lambda w: ((x @ w) ** 2).mean())(w), "device"),
        reduce="first",
    )
    close(parallel.unreplicate(step(parallel.replicate(w.clone()), x)), expected)
    refuses(lambda: inside_largest(weight).backward(), GradientRefused, "pmax")


def check_maps() -> None:
    batches, weight = torch.stack([x, x * 2, x - 1, 1 - x]), w.clone()
    for reduce in ("concat", "mean", "sum", lambda stacked: stacked.amax(0)):
        whole = parallel.Parallel(lambda w, x: (x @ w) ** 2, reduce=reduce, replicated_argnums=0)
        expected = torch.stack([whole(weight, batch) for batch in batches])
        for axis in range(3):
            found = torch.vmap(whole, (None, axis))(weight, batches.movedim(0, axis))
            close(found, expected)
    loss = lambda w, x: (whole(w, x) ** 2).sum()  # noqa: E731
    whole = parallel.Parallel(lambda w, x: x @ w, replicated_argnums=0)
    expected = torch.stack([torch.func.grad(loss, 1)(weight, batch) for batch in batches])
    close(torch.vmap(torch.func.grad(loss, 1), (None, 0))(weight, batches), expected)


def inside_largest(weight: Any) -> Any:
    return parallel.Parallel(
        lambda w, x: parallel.pmax((x @ w).sum(), "device"), reduce="mean", replicated_argnums=0
    )(weight, x)


def check_graphs_and_modules() -> None:
    # Each process has other weights; those of the first one must be used.
    torch.manual_seed(dist.get_rank())
    model = torch.nn.Linear(3, 2)
    graph = graph_compiler.compile(model, args=(torch.ones(2, 3),))
    for spread in (graph, model):
        found = parallel.Parallel(spread)(x)
        close(found, model(x))
        model.zero_grad()
        (found**2).mean().backward()
        close(model.weight.grad, torch.autograd.grad((model(x) ** 2).mean(), model.weight)[0])
    # Buffers have no gradients.
    layers = torch.nn.Sequential(model, torch.nn.BatchNorm1d(2)).eval()
    close(parallel.Parallel(graph_compiler.compile(layers, args=(torch.ones(2, 3),)))(x), layers(x))
    sums = [None, None]
    dist.all_gather_object(sums, model.weight.sum().item())
    assert sums[0] == sums[1]


def normalised(x: Any) -> Any:
    return (x * 2 - parallel.pmean(x.mean(0), "device")) / parallel.psum(x.sum(), "device") + parallel.pmax(
        x, "device"
    ).max()


def check_recorded_collectives() -> None:
    graph = graph_compiler.compile(normalised, args=(torch.ones(2, 3),))
    mapped = graph_compiler.compile(
        torch.vmap(lambda row: parallel.psum(row, "device")), args=(torch.ones(4, 3),)
    )
    close(parallel.Parallel(mapped, reduce="first")(x).to_local(), x[:4] + x[4:])
    expected = (x * 2 - x.mean(0)) / x.sum() + x.max()
    for written in (graph, graph_compiler.transpile(normalised, to="torch", args=(torch.ones(2, 3),))):
        close(parallel.Parallel(written)(x), expected)
        refuses(lambda written=written: written(x), InvalidOption, "'device'", "parallel.Parallel")


def check_collectives_of_every_source() -> None:
    rank, weight, rows = dist.get_rank(), torch.tensor(WEIGHT), torch.tensor(ROWS)
    (own,) = sources("torch")
    labels, features = torch.arange(8), torch.tanh(rows @ weight.requires_grad_())
    loss = torch.nn.functional.cross_entropy(features @ features.T, labels)
    (gradient,) = torch.autograd.grad(loss, weight)
    spread = parallel.Parallel(own.contrastive, reduce="mean", replicated_argnums=0)
    close(spread(weight, rows), loss)
    for source in sources("torch", "jax", "numpy"):
        graph = written(source.exchanged, source, source.array(ROWS[:5]))
        found = flattened(parallel.Parallel(graph, reduce="none")(rows))
        for one, other in zip(found, exchanged_by(2)):
            close(one, torch.as_tensor(other[rank]).to(one.dtype))
        graph = written(source.contrastive, source, source.array(WEIGHT), source.array(ROWS[:5]))
        found = parallel.Parallel(graph, reduce="mean", replicated_argnums=0)(weight, rows)
        close(found, loss)
        close(torch.autograd.grad(found, weight)[0], gradient)


def check_collectives_of_bools_and_integers() -> None:
    for given in (FLAGS, COUNTS):
        for source in sources("torch", "jax", "numpy"):
            graph = written(reductions_of, source, source.array(given[:4]))
            found = parallel.Parallel(graph, reduce="none")(torch.tensor(given))
            for (one,), other in zip(found, reduced_by(2, given)):
                torch.testing.assert_close(one, torch.as_tensor(other), check_dtype=False)


def check_gradients_that_are_recorded() -> None:
    weight, rows = torch.tensor(WEIGHT), torch.tensor(ROWS)
    for name, loss in losses_of_torch().items():
        for way, function in gradients_in_torch(loss).items():
            graph = graph_compiler.compile(function, args=(torch.ones(3, 3), torch.ones(5, 3)))
            expected, found = (
                parallel.Parallel(each, reduce="none", replicated_argnums=0)(weight, rows)
                for each in (function, graph)
            )
            for one, other in zip(iterate_structure(found), iterate_structure(expected)):
                torch.testing.assert_close(
                    one, other, msg=lambda text, name=name, way=way: f"{name} by {way}: {text}"
                )


def check_gradients_that_cannot_be_recorded() -> None:
    args = torch.ones(3, 3), torch.ones(5, 3)
    for function in gradients_in_torch(
        lambda weight, x: parallel.all_gather(x @ weight, "device").sum()
    ).values():
        refuses(
            lambda function=function: graph_compiler.compile(function, args=args),
            UnsupportedOperation,
            "all_gather",
            "Parallel",
        )
    for function in gradients_in_torch(
        lambda weight, x: parallel.pmax((x @ weight).sum(), "device")
    ).values():
        refuses(
            lambda function=function: graph_compiler.compile(function, args=args), GradientRefused, "pmax"
        )


def written(function: Any, source: Any, *args: Any) -> Any:
    return graph_compiler.transpile(function, source=source.name, to="torch", args=args)


def flattened(found: Any) -> list[Any]:
    gathered, beside, second, summed = found
    return [each[0] for each in (gathered, beside, second, summed["one"], summed["x"])]


def check_layouts_over_meshes() -> None:
    model, words = models.decoder(), models.tokens(rows=4)
    graph, expected = models.decoder_graph("torch"), model(words)
    (expected**2).mean().backward()
    for name, rules in (("model", parallel.rules.tensor_parallel()), ("data", parallel.rules.fsdp())):
        sharded = parallel.shard(graph, init_device_mesh("cpu", (2,), mesh_dim_names=(name,)), rules)
        assert sharded.parameters["block.q_proj.weight"].placements[0].is_shard(0)
        found = sharded(words)
        close(found, expected)
        (found**2).mean().backward()
        for key, parameter in model.named_parameters():
            close(sharded.parameters[key].grad.full_tensor(), parameter.grad)


def hinted(x: Any) -> Any:
    return parallel.hint(x * 2 + 1, (None, "model")) ** 2


def check_hints() -> None:
    rows = torch.arange(8.0).reshape(2, 4)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("model",))
    graph = graph_compiler.compile(hinted, args=(torch.ones(3, 4),))
    close(graph(rows), hinted(rows))
    close(parallel.shard(graph, mesh, {})(rows), hinted(rows))


def check_training() -> None:
    expected, alone = models.trained("torch", parallel.unreplicate)
    data, model = (init_device_mesh("cpu", (2,), mesh_dim_names=(name,)) for name in ("data", "model"))
    ways = {
        "data-parallel": parallel.replicate,
        "tensor-parallel": lambda state: parallel.shard(state, model, parallel.rules.tensor_parallel()),
        "FSDP": lambda state: parallel.shard(state, data, parallel.rules.fsdp()),
    }
    for over in ways.values():
        losses, state = models.trained("torch", over)
        close(losses, expected, atol=1e-5)
        for key, array in alone.parameters.items():
            close(state.parameters[key], array, atol=1e-5)
    again = saved_and_loaded(state, models.trained("torch", over, steps=0)[1])
    words = models.tokens(98, length=7)
    (state, one), (_, two) = (
        training.single_train_step(each, (words[:, :-1], words[:, 1:])) for each in (state, again)
    )
    close(one["loss"], two["loss"])
    state.to_source()
    words = models.tokens(99, length=7)
    _, metrics = training.single_train_step(parallel.unreplicate(state), (words[:, :-1], words[:, 1:]))
    _, same = training.single_train_step(state, (words[:, :-1], words[:, 1:]))
    close(metrics["loss"], same["loss"], atol=1e-5)


def check_copies_of_states_stay_apart() -> None:
    batch = (x, torch.ones(8, 1))
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("data",))
    alone = training.TrainState.create(torch.nn.Linear(3, 1), "adam", loss=torch.nn.MSELoss(), args=(x,))
    alone, _ = training.single_train_step(alone, batch)
    for over in (parallel.replicate, lambda state: parallel.shard(state, mesh, parallel.rules.fsdp())):
        before = [
            {key: held.clone() for key, held in one.items()} for one in alone.held.optimizer.state.values()
        ]
        training.single_train_step(over(alone), batch)
        after = list(alone.held.optimizer.state.values())
        assert before
        torch.testing.assert_close([dict(one) for one in after], before)


def check_means_of_losses() -> None:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("data",))
    classes = torch.tensor([0, 1, -100, -100, 1, 1, -100, -100, 0, 1, 1, 0, 1, 0, 0, 1]).reshape(8, 2)
    for loss, wanted in (
        (torch.nn.MSELoss(), torch.ones(8, 2)),
        (torch.nn.HuberLoss(), torch.ones(8, 2)),
        (lambda found, wanted: torch.nn.functional.cross_entropy(found, wanted[:, 0]), classes),
        (torch.nn.CrossEntropyLoss(torch.tensor([1.0, 3.0])), classes[:, 1]),
    ):

        def state(loss: Any = loss) -> Any:
            torch.manual_seed(0)
            return training.TrainState.create(torch.nn.Linear(3, 2), "sgd", loss=loss, args=(x,))

        expected, metrics = training.single_train_step(state(), (x, wanted))
        sharded = parallel.shard(state(), mesh, parallel.rules.fsdp())
        found, same = training.single_train_step(sharded, (x, wanted))
        close(same["loss"], metrics["loss"])
        for name, array in parallel.unreplicate(found).held.trained.items():
            close(array, expected.held.trained[name])


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.scale = torch.nn.Linear(3, 1), torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Any) -> Any:
        return self.linear(x) * self.scale


def check_optimizer_state_of_a_weight_without_axes() -> None:
    batch, mesh = (x, torch.ones(8, 1)), init_device_mesh("cpu", (2,), mesh_dim_names=("data",))

    def stepped() -> Any:
        torch.manual_seed(0)
        loss = lambda found, wanted: (found - wanted).square().mean()  # noqa: E731
        state = training.TrainState.create(Scaled(), "adam", loss=loss, args=(x,))
        return training.single_train_step(state, batch)[0]

    expected, _ = training.single_train_step(stepped(), batch)
    sharded = parallel.shard(stepped(), mesh, parallel.rules.fsdp())
    again = saved_and_loaded(sharded, parallel.shard(stepped(), mesh, parallel.rules.fsdp()))
    for state in (sharded, again):
        found = parallel.unreplicate(training.single_train_step(state, batch)[0])
        for name, array in expected.held.trained.items():
            close(found.held.trained[name], array)


def saved_and_loaded(state: Any, like: Any) -> Any:
    """Save the state in a folder of this process, and return what is loaded for a state like ``like``."""
    with tempfile.TemporaryDirectory() as folder:
        state.save(Path(folder, "state"))
        return training.TrainState.load(Path(folder, "state"), like=like)


def check_processes_draw_different_numbers() -> None:
    # The seeds differ by one, as the numbers of the processes do, but in the other direction.
    torch.manual_seed(1 - dist.get_rank())
    state = training.TrainState.create(torch.nn.Linear(3, 1), "sgd", loss=torch.nn.MSELoss(), args=(x,))
    drawn = torch.rand(4, generator=parallel.replicate(state).held.rng)
    parts = [torch.zeros(4) for _ in range(2)]
    dist.all_gather(parts, drawn)
    assert not torch.equal(*parts)


def check_buffers_are_averaged() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
    state = parallel.replicate(training.TrainState.create(model, "sgd", loss=torch.nn.MSELoss(), args=(x,)))
    state, _ = training.single_train_step(state, (x, torch.ones(8, 1)))
    close(state.held.buffers["0.running_mean"], 0.1 * x.reshape(2, 4, 3).mean(1).mean(0))
    refuses(
        lambda: training.single_train_step(state, (x[:3], torch.ones(3, 1))),
        CallMismatch,
        "[3, 3]",
        "2 devices",
        "drop_last",
    )
    rows = 4 + 2 * dist.get_rank()
    refuses(
        lambda: training.single_train_step(state, (x[:rows], torch.ones(rows, 1))),
        CallMismatch,
        "different sizes",
        "2.5 in the mean",
    )
    # In float32, the squares of these sizes differ by less than their sums are rounded.
    rows = 2000 + 2 * dist.get_rank()
    refuses(
        lambda: training.single_train_step(state, (torch.ones(rows, 3), torch.ones(rows, 1))),
        CallMismatch,
        "different sizes",
        "1000.5 in the mean",
    )


def check_wrong_uses() -> None:
    rows = x[: 2 + 2 * dist.get_rank()]
    graph = graph_compiler.compile(torch.nn.Linear(4, 3), args=(torch.ones(2, 4),))
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("model",))
    refuses(
        lambda: parallel.Parallel(lambda x: x)(x[:3]),
        CallMismatch,
        "argument 0 has the shape [3, 3]",
        "2 devices",
    )
    refuses(lambda: parallel.Parallel(lambda x: x)(rows), CallMismatch, "batches of 2, 4 rows", "drop_last")
    refuses(
        lambda: parallel.Parallel(lambda x: x, reduce="first")(x), CallMismatch, "differs between the devices"
    )
    refuses(
        lambda: parallel.Parallel(lambda x: x, devices=[0, 1])(x),
        InvalidOption,
        "DeviceMesh of one axis",
        "how many",
    )
    refuses(
        lambda: parallel.Parallel(lambda x: x, devices=3)(x),
        InvalidOption,
        "devices= is 3",
        "a number from 1 to 2",
    )
    refuses(
        lambda: parallel.Parallel(lambda x: x, reduce=lambda stacked: "a")(x),
        CallMismatch,
        "reduce= gives a str",
        "[2, 4, 3]",
    )
    refuses(lambda: parallel.Parallel(torch.nn.Linear(3, 2))(x, scale=2), TypeError, "argument 'scale'")
    refuses(lambda: parallel.psum(x, "device"), InvalidOption, "'device'", "on one device")
    refuses(
        lambda: parallel.shard(graph, mesh, {"weight": ("model",)}), InvalidOption, "[3, 4]", "axis 0, of 3"
    )
    refuses(
        lambda: parallel.shard(graph, mesh, {"nothing": ("model",)}), InvalidOption, "matches no parameter"
    )
    refuses(lambda: parallel.shard(graph, init_device_mesh("cpu", (2,)), {}), InvalidOption, "mesh_dim_names")


def check_a_process_that_changes_alone() -> None:
    """The processes compare sizes together with the arrays, so all of them notice the difference, and can
    continue.
    """
    rank, change = dist.get_rank(), x[:4]
    words = CallMismatch, "batches of 8, 4 rows", "drop_last"
    ways: tuple[Any, ...] = ("concat", "mean", "sum", "none", lambda stacked: stacked.amax(0))
    for reduce in ways:
        spread = parallel.Parallel(lambda x: x * 2, reduce=reduce)
        first = [spread(x) for _ in range(3)][2]
        refuses(lambda spread=spread: spread(change if rank else x), *words)
        close(spread(x)[0], first[0])
        assert len(spread(change)[0]) in (2, 3)
        close(spread(x)[0], first[0])
    inner = parallel.Parallel(
        lambda x: [
            parallel.pmin(x, "device"),
            parallel.all_gather(x > 1, "device"),
            parallel.pmax(x, "device"),
        ]
    )
    found = [inner(x) for _ in range(3)][2]
    parts = x.reshape(2, 4, 3)
    for one, expected in zip(
        found, (parts.amin(0).repeat(2, 1), (parts > 1).repeat(2, 1, 1), parts.amax(0).repeat(2, 1))
    ):
        close(one, expected)
    refuses(lambda: inner(change if rank else x), *words)
    wide = parallel.Parallel(lambda x: x * 2, local_batch=True)
    for _ in range(3):
        wide(change)
    refuses(
        lambda: wide(torch.ones(4, 3 + rank)),
        CallMismatch,
        "float32[4, 3]; gathers float32[4, 4]",
        "one shape",
    )
    close(wide(change), torch.cat([change, change]) * 2)


def check_arrays_that_look_like_refusals() -> None:
    for dtype, refusal in exchanges._SENTINELS.items():
        spread, rows = (
            parallel.Parallel(lambda x: x + 0, local_batch=True),
            torch.full((2, 3), refusal, dtype=dtype),
        )
        for own in (rows * 0, rows * 0, rows, rows, rows * 0 if dist.get_rank() else rows, rows * 0):
            parts = [torch.zeros_like(own) for _ in range(2)]
            dist.all_gather(parts, own)
            close(spread(own), torch.cat(parts), atol=0)
        close(parallel.Parallel(lambda x: x == 0)(rows), rows == 0)


def check_numbers_of_processes() -> None:
    rows = torch.arange(12.0).reshape(12, 1)
    for count in (1, 2, 4, 2, 3):
        spread = parallel.Parallel(lambda x: x * 2 + 0 * parallel.axis_size("device"), devices=count)
        if dist.get_rank() < count:
            close(spread(rows), rows * 2)
            close(
                parallel.Parallel(lambda x: x.new_ones(()), devices=count, reduce="sum")(rows),
                torch.tensor(float(count)),
            )
        else:
            number = f"devices= is {count}, and this process is number {dist.get_rank()} of 4"
            refuses(lambda spread=spread: spread(rows), InvalidOption, number, f"Start {count} processes")
            refuses(lambda spread=spread: spread(rows), InvalidOption, number)


def check_four_processes() -> None:
    losses, _ = models.trained("torch", parallel.replicate)
    if dist.get_rank() == 0:
        close(losses, models.trained("torch", parallel.unreplicate)[0], atol=1e-5)


def doubled_in_pairs(x: Any) -> Any:
    return x * 2 if x.shape[0] == 2 else x


def check_graphs_of_local_batches() -> None:
    """A graph is recorded for the rows of one device, of which each process gives only its own."""
    graph = graph_compiler.compile(doubled_in_pairs, args=(torch.ones(3, 3),))
    spread = parallel.Parallel(graph, local_batch=True)
    close(spread(x.reshape(4, 2, 3)[dist.get_rank()]), x * 2)
    assert len(graph.variants) == 2


def check_a_process_that_is_killed() -> None:
    ends = []
    step = parallel.Parallel(
        lambda x: os.kill(os.getpid(), 9) if ends else parallel.pmean(x, "device"), reduce="first"
    )
    step(x)
    if dist.get_rank() == 1:
        ends.append(True)
        step(x)
    began = time.monotonic()
    refuses(lambda: step(x), CollectiveFailed, "process 0 of 2", "one has ended", "timeout")
    assert time.monotonic() - began < ON_A_BUSY_MACHINE * TIMEOUT


def check_a_function_that_one_process_has_alone() -> None:
    known = parallel.Parallel(lambda x: x * 2)
    for _ in range(3):
        known(x)
    called = parallel.Parallel(lambda x: x + 1) if dist.get_rank() == 1 else known
    began = time.monotonic()
    refuses(lambda: called(x), CollectiveFailed, "of 2", "did not come to the same collective")
    # The store checks its connections once a second.
    assert time.monotonic() - began < ON_A_BUSY_MACHINE * TIMEOUT


@functools.cache
def linear_state() -> Any:
    state = training.TrainState.create(torch.nn.Linear(3, 1), "sgd", loss=torch.nn.MSELoss(), args=(x,))
    return training.single_train_step(state, (x, torch.ones(8, 1)))[0]


def check_a_process_that_waits_elsewhere() -> None:
    state = parallel.replicate(linear_state())
    if dist.get_rank() == 1:
        time.sleep(TIMEOUT + 2)
        return
    began = time.monotonic()
    refuses(
        lambda: training.single_train_step(state, (x, torch.ones(8, 1))),
        CollectiveFailed,
        "did not come to the same collective",
    )
    assert time.monotonic() - began < ON_A_BUSY_MACHINE * TIMEOUT


def check_a_process_that_is_killed_in_a_step() -> None:
    """No other process may wait longer than the timeout."""
    state, _ = training.single_train_step(parallel.replicate(linear_state()), (x, torch.ones(8, 1)))
    if dist.get_rank() == 2:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
    began = time.monotonic()

    def train(state: Any) -> None:
        while time.monotonic() - began < 2 * LONGER:
            state, _ = training.single_train_step(state, (x, torch.ones(8, 1)))

    refuses(lambda: train(state), CollectiveFailed, "of 4", "one has ended", "start all processes again")
    assert time.monotonic() - began < ON_A_BUSY_MACHINE * LONGER


TOGETHER = (
    check_reductions, check_collectives, check_gradients, check_graphs_and_modules, check_recorded_collectives, check_collectives_of_every_source,
    check_collectives_of_bools_and_integers,
    check_layouts_over_meshes, check_hints, check_training, check_processes_draw_different_numbers, check_buffers_are_averaged, check_wrong_uses,
    check_a_process_that_changes_alone, check_arrays_that_look_like_refusals, check_calls_like_the_last_one, check_arrays_are_let_go,
    check_gradients_that_are_recorded, check_gradients_that_cannot_be_recorded, check_maps, check_copies_of_states_stay_apart,
    check_optimizer_state_of_a_weight_without_axes, check_means_of_losses,
)  # fmt: skip
RUNS: tuple[tuple[int, int, tuple[Callable[[], None], ...]], ...] = (
    (2, 60, TOGETHER),
    (4, 60, (check_four_processes, check_numbers_of_processes, check_graphs_of_local_batches)),
    (2, TIMEOUT, (check_a_process_that_is_killed,)),
    (2, TIMEOUT, (check_a_process_that_waits_elsewhere,)),
    (2, TIMEOUT, (check_a_function_that_one_process_has_alone,)),
    (4, LONGER, (check_a_process_that_is_killed_in_a_step,)),
)


if __name__ == "__main__":
    torch.set_num_threads(1)
    models.decoder_state("torch")
    linear_state()
    refuses(lambda: parallel.Parallel(lambda x: x)(x), InvalidOption, "torchrun", "init_process_group")
    report({name: outcome for run in RUNS for name, outcome in outcomes_over(*run).items()})
