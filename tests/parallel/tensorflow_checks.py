"""Checks with two logical CPUs of TensorFlow in one process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.support.environment import set_variables

set_variables()

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import torch  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import parallel, training, transforms  # noqa: E402
from graph_compiler.errors import (  # noqa: E402
    CallMismatch,
    GradientRefused,
    GuardFailed,
    InvalidOption,
    NotCompilable,
)

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

PARTS = np.arange(24, dtype="float32").reshape(2, 4, 3) / 10
x, w = PARTS.reshape(8, 3), np.arange(6, dtype="float32").reshape(3, 2) / 5
close = np.testing.assert_allclose


def check_reductions() -> None:
    batch = tf.constant(x)
    expected: dict[Any, Any] = {
        "concat": x * 2,
        "mean": PARTS.mean(0) * 2,
        "sum": PARTS.sum(0) * 2,
        "first": PARTS[0] * 2,
    }
    for reduce, wanted in (*expected.items(), (lambda stacked: tf.reduce_max(stacked, 0), PARTS[1] * 2)):
        close(parallel.Parallel(lambda x: x * 2, reduce=reduce)(batch), wanted, rtol=1e-6)
    close(np.stack(parallel.Parallel(lambda x: x * 2, reduce="none")(batch)), PARTS * 2)


def check_collectives_and_a_step() -> None:
    def step(w: Any, x: Any) -> Any:
        value, gradient = transforms.value_and_grad(lambda w: tf.reduce_mean((x @ w) ** 2))(w)
        mean = parallel.pmean((value, gradient), "device")
        return (
            mean,
            parallel.psum(x, "device"),
            parallel.pmin(x, "device"),
            parallel.all_gather(x, "device", tiled=True),
        )

    (value, gradient), total, smallest, gathered = parallel.Parallel(step, reduce="first")(
        parallel.replicate(tf.constant(w)), tf.constant(x)
    )
    close(value, ((x @ w) ** 2).mean(), rtol=1e-5)
    close(gradient, x.T @ (x @ w) / 8, rtol=1e-5)
    close(total, PARTS.sum(0), rtol=1e-6)
    close(smallest, PARTS[0])
    close(gathered, x)
    index = parallel.Parallel(lambda x: parallel.axis_index("device"), reduce="none")(tf.constant(x))
    assert [int(i) for i in index] == [0, 1]


def check_gradients_of_all() -> None:
    function = parallel.Parallel(lambda w, x: x @ w, replicated_argnums=0)
    found = transforms.grad(lambda w: tf.reduce_mean(function(w, tf.constant(x)) ** 2))(tf.constant(w))
    close(found, x.T @ (x @ w) / 8, rtol=1e-5)
    inside = parallel.Parallel(
        lambda w, x: parallel.psum(tf.reduce_mean(x @ w), "device"), reduce="first", replicated_argnums=0
    )
    refuses(
        lambda: transforms.grad(lambda w: inside(w, tf.constant(x)))(tf.constant(w)),
        GradientRefused,
        "inside of the function",
    )


def check_graphs() -> None:
    model = torch.nn.Linear(3, 2)
    graph = graph_compiler.transpile(model, to="tensorflow", args=(torch.ones(4, 3),))
    close(parallel.Parallel(graph)(x), model(torch.tensor(x)).detach(), rtol=1e-5, atol=1e-6)


def doubled_above_20(x: Any) -> Any:
    return x * 2 if parallel.psum(x.sum(), "device").item() > 20 else x


def check_a_number_that_python_reads() -> None:
    graph = graph_compiler.transpile(
        doubled_above_20, source="torch", to="tensorflow", args=(torch.ones(8, 3),)
    )
    spread = parallel.Parallel(graph)
    big = tf.ones((8, 3))
    close(spread(big), np.full((8, 3), 2))
    words = "was True when recorded", "graph_compiler.trace"
    refuses(lambda: spread(big / 20), GuardFailed, "tensorflow_checks.py", *words)
    within = tf.function(spread, autograph=False)
    close(within(big), np.full((8, 3), 2))
    refuses(lambda: within(big / 20), tf.errors.InvalidArgumentError, words[0])


def check_collectives_of_every_source() -> None:
    for source in sources("torch", "tensorflow"):
        graph = graph_compiler.transpile(
            source.exchanged, source=source.name, to="tensorflow", args=(source.array(ROWS[:5]),)
        )
        found = tf.nest.flatten(parallel.Parallel(graph, reduce=lambda stacked: stacked)(ROWS))
        for one, other in zip(found, exchanged_by(2)):
            close(one, other, rtol=1e-5, atol=1e-6)
    graph = graph.to("jax")
    for one, other in zip(
        tf.nest.flatten(transforms.vmap(graph, axis_name="device")(ROWS.reshape(2, 4, 3))), exchanged_by(2)
    ):
        close(one, other, rtol=1e-5, atol=1e-6)


def check_collectives_of_bools_and_integers() -> None:
    for given in (FLAGS, COUNTS):
        for source in sources("torch", "tensorflow"):
            graph = graph_compiler.transpile(
                reductions_of, source=source.name, to="tensorflow", args=(source.array(given[:4]),)
            )
            found = parallel.Parallel(graph, reduce="first")(tf.constant(given))
            for one, other in zip(found, reduced_by(2, given)):
                close(one, other)


def check_a_step_that_is_recorded() -> None:
    (source,) = sources("tensorflow")

    def step(weight: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(weight)
            loss = source.contrastive(weight, x)
        return parallel.pmean((loss, tape.gradient(loss, weight)), "device")

    graph = graph_compiler.transpile(step, to="tensorflow", args=(tf.constant(WEIGHT), tf.constant(ROWS[:5])))
    weight, rows = tf.constant(WEIGHT), tf.constant(ROWS)
    with tf.GradientTape() as tape:
        tape.watch(weight)
        features = tf.tanh(rows @ weight)
        scores = features @ tf.transpose(features)
        expected = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(8), scores))
    for spread in (graph, step):
        loss, gradient = parallel.Parallel(spread, reduce="first", replicated_argnums=0)(weight, rows)
        close(loss, expected, rtol=1e-5)
        close(gradient, tape.gradient(expected, weight) if spread is graph else gradient, atol=1e-6)


def check_training() -> None:
    expected, alone = models.trained("tensorflow", parallel.unreplicate)
    losses, state = models.trained("tensorflow", parallel.replicate)
    close(losses, expected, atol=1e-5)
    for name, array in alone.parameters.items():
        close(state.parameters[name], array, atol=1e-5)
        close(state.ema[name], alone.ema[name], atol=1e-5)
    with tempfile.TemporaryDirectory() as folder:
        state.save(Path(folder, "state"))
        again = training.TrainState.load(
            Path(folder, "state"), like=models.trained("tensorflow", parallel.replicate, steps=0)[1]
        )
    words = models.tokens(98, length=7)
    batch = words[:, :-1], words[:, 1:]
    gradients, first, again = training.compute_gradients(again, batch)
    again = training.apply_gradients(again, gradients)
    state, same = training.single_train_step(state, batch)
    close(first["loss"], same["loss"], atol=1e-6)
    _, one = training.single_train_step(parallel.unreplicate(state), batch)
    for each in (again, state):
        close(training.single_train_step(each, batch)[1]["loss"], one["loss"], atol=1e-5)


def check_buffers_are_averaged() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 1))
    rule = training.optimizer("adam", learning_rate=1e-2)
    state = training.TrainState.create(
        model, rule, loss=torch.nn.MSELoss(), to="tensorflow", args=(torch.tensor(x),), accumulate=2
    )
    state = parallel.replicate(state)
    before = state.parameters["2.weight"]
    for _ in range(2):
        state, _ = training.single_train_step(state, (x, np.ones((8, 1), "float32")))
    mean, once = PARTS.mean(1).mean(0), 0.1 * PARTS.mean(1).mean(0)
    close(state.held.buffers["0.running_mean"], 0.9 * once + 0.1 * mean, rtol=1e-5)
    assert abs(state.parameters["2.weight"] - before).numpy().max() > 1e-3
    values = state.held.trained["2.weight"].value.values
    close(values[0], values[1])
    refuses(
        lambda: training.single_train_step(state, (x[:3], np.ones((3, 1), "float32"))),
        CallMismatch,
        "[3, 3]",
        "2 devices",
        "drop_last",
    )


def check_numbers_of_devices() -> None:
    batch = tf.constant(x)
    for count in (1, 2):
        found = parallel.Parallel(lambda x: parallel.psum(tf.ones(()), "device") + 0 * x, devices=count)(
            batch
        )
        close(found, np.full(x.shape, count, "float32"))
    for count in (0, 3):
        wrong = parallel.Parallel(lambda x: x, devices=count)
        refuses(
            lambda wrong=wrong: wrong(batch),
            InvalidOption,
            f"devices= is {count}, and has to be a number from 1 to 2",
            "CPU:1",
        )
    refuses(
        lambda: parallel.Parallel(lambda x: x, devices=True)(batch),
        InvalidOption,
        "devices= is True",
        "how many, or a list",
    )


def check_wrong_uses() -> None:
    batch, same = tf.constant(x), parallel.Parallel(lambda x: x)
    refuses(lambda: same(batch[:3]), CallMismatch, "argument 0 has the shape [3, 3]", "2 devices")
    refuses(lambda: parallel.Parallel(lambda x: x, devices=["GPU:7"])(batch), InvalidOption, "CPU:0", "CPU:1")
    refuses(lambda: parallel.psum(batch, "device"), InvalidOption, "on one device")
    refuses(
        lambda: parallel.Parallel(lambda x: parallel.psum(x, "rows"))(batch),
        InvalidOption,
        "runs over 'device'",
    )
    graph = graph_compiler.transpile(torch.nn.Linear(3, 2), to="tensorflow", args=(torch.ones(4, 3),))
    refuses(lambda: parallel.shard(graph, None, {}), NotCompilable, "graph.to('jax')")
    state = training.TrainState.create(graph, "sgd", loss=torch.nn.MSELoss(), precision="float16")
    refuses(lambda: parallel.replicate(state), NotCompilable, "precision='bfloat16'")


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    report(outcomes_of(checks_in(globals())))
