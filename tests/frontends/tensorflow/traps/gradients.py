"""Traps with gradients that the function itself takes, and with custom gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .table import EVERYWHERE, Traps

TRAPS = Traps()


@TRAPS.function()
def one_tape(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.sin(x) * x)
    return tape.gradient(y, x), y


@TRAPS.function()
def persistent_tape(x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = tf.sin(x), tf.exp(-x * x)
    return tape.gradient(y, x), tape.gradient(z, x), tape.gradient([y, z], x, output_gradients=[x, y])


@TRAPS.function()
def second_derivative(x: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.tanh(x) ** 3)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@TRAPS.function()
def not_watched(x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = x * 2.0
    return tape.gradient(y, x) is None, y


@TRAPS.function()
def stops_recording(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(x)
        with tape.stop_recording():
            z = tf.reduce_sum(y * x)
        w = y * z
    return tape.gradient(w, x)


@TRAPS.function()
def resets_the_tape(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(x)
        tape.reset()
        tape.watch(y)
        z = y * y
    return tape.gradient(z, y)


@TRAPS.function()
def watches_late(x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = x * 3.0
        tape.watch(y)
        z = tf.reduce_sum(y**2)
    return tape.gradient(z, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO)


@TRAPS.function()
def jacobian(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.sin(x) * x[:1], 1)
    return tape.jacobian(y, x)


@TRAPS.function()
def batch_jacobian(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.softmax(x * x)
    return tape.batch_jacobian(y, x)


@TRAPS.function()
def jacobian_row_by_row(x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tanh(x[0])
    return tape.jacobian(y, x, experimental_use_pfor=False)


@TRAPS.function()
def gradient_of_a_slice(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x[1:] * x[:-1]) + tf.reduce_sum(tf.gather(x, [0, 0, 1]))
    return tape.gradient(y, x)


@TRAPS.function()
@tf.function
def graph_gradients(x: Any) -> Any:
    y = tf.sin(x) * tf.reduce_sum(x)
    return tf.gradients(y, x)[0], tf.gradients(y, x, grad_ys=x)[0]


@TRAPS.function()
def forward_mode(x: Any) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = tf.tanh(x) * x
    return accumulator.jvp(y)


@TRAPS.function()
def stopped(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.stop_gradient(tf.exp(x)) * x)
    return tape.gradient(y, x)


@tf.custom_gradient
def _clipped(x: Any) -> Any:
    return tf.identity(x) * 2.0, lambda upstream: tf.clip_by_value(upstream, -0.5, 0.5)


@TRAPS.function()
def custom_gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(_clipped(x) * x)
    return tape.gradient(y, x), _clipped(x)


@TRAPS.made()
def custom_gradient_with_variables() -> Any:
    weight = tf.Variable([1.0, 2.0, 3.0])

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def rule(upstream: Any, variables: Any = None) -> Any:
            return upstream * weight * 3.0, [tf.reduce_sum(upstream * x, 0) * 5.0]

        return x * weight, rule

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(scaled(x) ** 2)
        return tape.gradient(y, [x, weight])

    return function


@TRAPS.function()
def straight_through(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x + tf.stop_gradient(tf.round(x) - x)
        z = tf.reduce_sum(y * y)
    return tape.gradient(z, x), y


@TRAPS.function()
def recomputed(x: Any) -> Any:
    block = tf.recompute_grad(lambda x: tf.tanh(x) * tf.sin(x))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(block(x))
    return tape.gradient(y, x), y


@TRAPS.made()
def recomputed_with_variables() -> Any:
    weight = tf.Variable(tf.eye(3) * 2.0)

    def function(x: Any) -> Any:
        block = tf.recompute_grad(lambda x: tf.tanh(x @ weight))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(block(x) ** 2)
        return tape.gradient(y, [x, weight])

    return function


@TRAPS.function()
def reversed_gradient(x: Any) -> Any:
    @tf.custom_gradient
    def flip(x: Any) -> Any:
        return tf.identity(x), lambda upstream: -upstream

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(flip(tf.exp(x)))
    return tape.gradient(y, x)


@TRAPS.function()
def gradient_through_python_control_flow(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x if tf.reduce_sum(x) > 0 else -x
    return tape.gradient(y, x)


@TRAPS.function()
def gradient_through_cond(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: -x)
    return tape.gradient(y, x)


@TRAPS.function(errors={EVERYWHERE: "grows in a loop whose number of steps is not known"})
def gradient_through_a_while_loop(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        (y,) = tf.while_loop(lambda y: tf.reduce_sum(tf.abs(y)) < 100.0, lambda y: (y * 1.5 + 0.1,), (x,))
        total = tf.reduce_sum(y)
    return tape.gradient(total, x)


@TRAPS.function()
def gradient_of_several_arrays(x: Any) -> Any:
    parts = {"a": x[0], "b": [x[1], tf.reduce_sum(x)]}
    with tf.GradientTape() as tape:
        tape.watch(parts)
        y = tf.reduce_sum(parts["a"] * parts["b"][0]) * parts["b"][1]
    return tape.gradient(y, parts)


@TRAPS.function()
def gradient_where(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.where(x > 0, tf.sqrt(tf.abs(x) + 1.0), x * 0.1)
    return tape.gradient(y, x)


@TRAPS.made()
def hessian_vector_product() -> Any:
    weight = tf.Variable(tf.eye(3))

    @tf.function
    def function(x: Any) -> Any:
        with tf.GradientTape() as outer, tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.tanh(x @ weight) ** 2)
            first = inner.gradient(y, weight)
        return outer.gradient(first, weight, output_gradients=tf.ones((3, 3)))

    return function


@TRAPS.made()
def gradient_penalty() -> Any:
    weight = tf.Variable(tf.eye(3))

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.nn.softplus(x @ weight), 1)
            norm = tf.norm(inner.gradient(y, x), axis=1)
            loss = tf.reduce_mean((norm - 1.0) ** 2)
        return tape.gradient(loss, weight)

    return function


@TRAPS.made()
def no_gradient_in_a_nested_function() -> Any:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.exp(x) * tf.stop_gradient(x)

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(inner(x * 0.1))
        return tape.gradient(y, x)

    return function


@TRAPS.function()
def clipped_norms(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x**3)
    clipped, norm = tf.clip_by_global_norm([tape.gradient(y, x)], 1.0)
    return clipped[0], norm
