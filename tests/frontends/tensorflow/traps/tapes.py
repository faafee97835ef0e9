"""Traps with gradient tapes: what and when they watch, what is read from them, and higher derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .table import EVERYWHERE, Trap, Traps, drawn, whole

TRAPS = Traps()
_CALLS = (lambda: (drawn(),), lambda: (drawn(seed=1),), lambda: (drawn(6, seed=2),))


def _weights() -> tuple[Any, Any]:
    return tf.Variable(np.arange(9, dtype="float32").reshape(3, 3) / 9.0), tf.Variable([0.5, -0.5, 1.0])


# ------------------------------------------------------------------------- variables that change under a tape
@TRAPS.made()
def assigned_before_the_gradient_is_taken() -> Any:
    w, b = _weights()

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.tanh(x @ w + b) * b)
        w.assign(w * -0.5)
        b.assign_add([0.1, 0.2, 0.3])
        return tape.gradient(y, [w, b])

    return function


@TRAPS.made()
def assigned_between_two_reads() -> Any:
    w, _ = _weights()

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = x @ w
            w.assign_sub(tf.ones((3, 3)) * 0.1)
            z = tf.reduce_sum(tf.sin(y) @ w)
        return z, tape.gradient(z, w)

    return function


@TRAPS.made()
def part_is_assigned_under_a_tape() -> Any:
    w, _ = _weights()

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            first = tf.reduce_sum(x @ w)
            w[0].assign(x[0])
            w.scatter_nd_add([[1, 1]], [5.0])
            second = tf.reduce_sum((x @ w) ** 2)
        return tape.gradient([first, second], w)

    return function


@TRAPS.made()
def value_read_before_it_is_watched() -> Any:
    w, b = _weights()

    def function(x: Any) -> Any:
        outside = w * 2.0
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x @ outside + b)
        return tape.gradient(y, [w, b], unconnected_gradients="zero")

    return function


@TRAPS.made()
def tensor_of_a_variable_is_watched() -> Any:
    w, _ = _weights()

    def function(x: Any) -> Any:
        read = tf.convert_to_tensor(w)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(read)
            y = tf.reduce_sum(x @ read) + tf.reduce_sum(w**2)
        return tape.gradient(y, read), tape.gradient(y, w)

    return function


@TRAPS.made()
def variables_are_not_watched_of_themselves() -> Any:
    w, b = _weights()

    def function(x: Any) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(b)
            y = tf.reduce_sum(tf.tanh(x @ w + b))
        return tape.gradient(y, [w, b], unconnected_gradients=tf.UnconnectedGradients.ZERO), len(
            tape.watched_variables()
        )

    return function


@TRAPS.made()
def watched_variables_are_listed() -> Any:
    w, b = _weights()
    c = tf.Variable(2.0, trainable=False)

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x @ w * c + b)
        return tape.gradient(y, tape.watched_variables()), [v.shape.rank for v in tape.watched_variables()]

    return function


@TRAPS.made()
def one_variable_through_two_reads() -> Any:
    w, _ = _weights()

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            first, second = w.read_value(), tf.identity(w)
            y = tf.reduce_sum((x @ first) @ tf.transpose(second))
        return tape.gradient(y, w)

    return function


@TRAPS.made()
def gathered_and_read_whole() -> Any:
    w, _ = _weights()

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(w, [0, 2, 0]) * x[:3]) + tf.reduce_sum(w**2)
        return tf.convert_to_tensor(tape.gradient(y, w))

    return function


# ------------------------------------------------------------------------------------- tapes as objects
@TRAPS.function()
def tape_in_another_function(x: Any) -> Any:
    def slope(f: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return slope(tf.sin, x), slope(lambda x: slope(lambda x: x**4, x) * x, x)


@TRAPS.function()
def tape_opened_by_hand(x: Any) -> Any:
    tape = tf.GradientTape()
    tape.__enter__()
    tape.watch(x)
    y = tf.exp(x) * x
    tape.__exit__(None, None, None)
    return tape.gradient(y, x)


@TRAPS.function()
def gradient_inside_of_the_block(x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
        first = tape.gradient(y, x)
        z = first * y
    return tape.gradient(z, x)


@TRAPS.function()
def two_tapes_of_one_computation(x: Any) -> Any:
    with tf.GradientTape() as first, tf.GradientTape() as second:
        first.watch(x)
        y = x * x
        second.watch(y)
        z = tf.exp(-y) * x
    return first.gradient(z, x), second.gradient(z, y)


@TRAPS.function()
def third_derivative(x: Any) -> Any:
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = tf.sin(x) * x**2
            slope = first.gradient(y, x)
        curve = second.gradient(slope, x)
    return slope, curve, third.gradient(curve, x)


@TRAPS.function()
def mixed_derivatives(x: Any) -> Any:
    a, b = x[0], x[1]
    with tf.GradientTape() as outer:
        outer.watch(b)
        with tf.GradientTape() as inner:
            inner.watch(a)
            y = tf.reduce_sum(tf.sin(a * b) + a**2 * b)
        slope = inner.gradient(y, a)
    return outer.gradient(slope, b)


@TRAPS.function()
def forward_over_reverse(x: Any) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.cos(x)) as forward:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.tanh(x) ** 3)
        slope = tape.gradient(y, x)
    return slope, forward.jvp(slope)


@TRAPS.function()
def forward_over_forward(x: Any) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as outer:
        with tf.autodiff.ForwardAccumulator(x, x) as inner:
            y = tf.sin(x) * x
        slope = inner.jvp(y)
    return slope, outer.jvp(slope), outer.jvp(y)


@TRAPS.made()
def forward_mode_of_a_variable() -> Any:
    w, b = _weights()

    def function(x: Any) -> Any:
        with tf.autodiff.ForwardAccumulator([w, b], [tf.ones((3, 3)), x[0]]) as forward:
            y = tf.tanh(x @ w) * b
        return forward.jvp(y)

    return function


@TRAPS.function()
def forward_mode_of_what_does_not_depend(x: Any) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
        y = tf.ones_like(x) * 2.0
        z = tf.stop_gradient(x) * 3.0
    return forward.jvp(y, unconnected_gradients="zero"), forward.jvp(z, unconnected_gradients="zero")


@TRAPS.function()
def jacobian_of_a_matrix(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.matmul(x[:2], x[:2], transpose_b=True)
    return tape.jacobian(y, x)


@TRAPS.function()
def jacobian_of_a_gradient(x: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.nn.softmax(x) * x)
        slope = inner.gradient(y, x)
    return outer.jacobian(slope[0], x)


# ------------------------------------------------------------------------------------- what gradient() gives
@TRAPS.function()
def gradients_that_are_none(x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.cast(tf.cast(x * 3.0, tf.int32), tf.float32)
        z = tf.cast(tf.argmax(x, 1), tf.float32)
        c = tf.constant(1.0) * 2.0
    return [tape.gradient(item, x) is None for item in (y, z, c)], tape.gradient(
        [y, z], x, unconnected_gradients="zero"
    )


@TRAPS.function()
def of_a_structure(x: Any) -> Any:
    parts = {"a": x[0], "b": (x[1], [x[2]])}
    with tf.GradientTape() as tape:
        tape.watch(tf.nest.flatten(parts))
        y = tf.reduce_sum(parts["a"] * parts["b"][0] * tf.sin(parts["b"][1][0]))
    return tape.gradient(y, parts)


@TRAPS.function()
def of_a_structure_of_targets(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        targets = {"y": tf.sin(x), "z": [x**2, tf.reduce_sum(x)]}
    return tape.gradient(targets, x)


@TRAPS.function()
def of_complex_numbers(x: Any) -> Any:
    z = tf.complex(x, -x * 0.5)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = tf.reduce_sum(
            tf.abs(z * tf.exp(1j * tf.cast(tf.constant(0.5), tf.complex64))) ** 2 + tf.math.real(z)
        )
    return tape.gradient(y, z)


@TRAPS.function()
def upstream_of_another_shape(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x[:, :1] * tf.ones((1, 3)) + x
    return tape.gradient(y, x, output_gradients=tf.cos(x) * 2.0)


@TRAPS.function(lambda: (whole(4, 3), drawn()), lambda: (whole(4, 3, seed=1), drawn(seed=1)))
def of_integers_and_floats(n: Any, x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x])
        y = tf.cast(n, tf.float32) * x**2
    return tape.gradient(y, x), tape.gradient(y, n) is None


@TRAPS.function()
def in_half_precision(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = tf.cast(x, tf.bfloat16)
        y = tf.reduce_sum(tf.cast(h * h, tf.float32))
    return tape.gradient(y, x)


@TRAPS.function()
def through_a_tf_function(x: Any) -> Any:
    @tf.function
    def inner(a: Any, b: Any) -> Any:
        return a * tf.sin(b), tf.stop_gradient(a) * b

    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = inner(x, x * 2.0)
        total = tf.reduce_sum(y) + tf.reduce_sum(inner(z, y)[0])
    return tape.gradient(total, x)


@TRAPS.function()
@tf.function
def of_tf_gradients_with_stops(x: Any) -> Any:
    y = tf.sin(x)
    z = y * x
    return tf.gradients(z, [x, y], stop_gradients=[y]), tf.gradients([y, z], x, grad_ys=[x, y])


@TRAPS.function()
@tf.function
def of_tf_gradients_twice(x: Any) -> Any:
    y = tf.reduce_sum(tf.tanh(x) * x)
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x, grad_ys=tf.ones_like(x) * 2.0)
    return first, second


@TRAPS.function()
@tf.function
def of_tf_hessians(x: Any) -> Any:
    row = x[0]
    return tf.hessians(tf.reduce_sum(tf.sin(row) * tf.reduce_sum(row)), row)


# --------------------------------------------------------------------------------- through branches and loops
@TRAPS.made()
def through_a_branch_that_reads_a_variable() -> Any:
    w, b = _weights()

    @tf.function
    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x @ w if tf.reduce_sum(x) > 0.0 else x * b)
        return tape.gradient(y, [w, b], unconnected_gradients="zero")

    return function


@TRAPS.function()
@tf.function
def through_a_counted_loop(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in tf.range(3):
            y = tf.sin(y) * x
    return tape.gradient(y, x)


@TRAPS.function()
@tf.function
def inside_of_a_loop(x: Any) -> Any:
    y = x
    for i in tf.range(4):
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = tf.reduce_sum(tf.cos(y) * tf.cast(i + 1, tf.float32))
        y = y - 0.1 * tape.gradient(z, y)
    return y


@TRAPS.function()
@tf.function
def inside_of_a_while_loop(x: Any) -> Any:
    y, steps = x, 0
    slope = tf.ones_like(x)
    while tf.reduce_max(tf.abs(slope)) > 0.1 and steps < 30:
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = tf.reduce_sum(y**2)
        slope = tape.gradient(z, y)
        y, steps = y - 0.3 * slope, steps + 1
    return y, steps


@TRAPS.function()
@tf.function
def inside_of_a_branch(x: Any) -> Any:
    if tf.reduce_sum(x) > 0.0:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        z = tape.gradient(y, x)
    else:
        z = -x
    return z * 2.0


@TRAPS.function()
def through_scan_and_map(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.scan(lambda a, row: a * 0.5 + tf.sin(row), x)
        z = tf.map_fn(lambda row: row * tf.reduce_sum(row), y)
    return tape.gradient(z, x)


@TRAPS.function()
def of_each_row_in_a_map(x: Any) -> Any:
    def slope(row: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(row)
            y = tf.reduce_sum(row**3) * row[0]
        return tape.gradient(y, row)

    return tf.map_fn(slope, x), tf.vectorized_map(slope, x)


@TRAPS.function()
def through_a_python_loop_over_rows(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.zeros(3)
        for row in x:
            total = tf.tanh(total + row)
    return tape.gradient(total, x)


@TRAPS.function()
def of_a_number_that_python_reads(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        scale = float(x[0, 0])
        y = x * scale + x[0, 0]
    return tape.gradient(y, x)


@TRAPS.function()
def that_decides_in_python(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x**2)
    slope = tape.gradient(y, x)
    return x - 0.1 * slope if tf.norm(slope) > 5.0 else x - slope


@TRAPS.function()
def that_a_loop_of_python_repeats(x: Any) -> Any:
    y = x
    for rate in (0.3, 0.2, 0.1):
        with tf.GradientTape() as tape:
            tape.watch(y)
            loss = tf.reduce_sum(tf.sin(y) * x)
        y = y - rate * tape.gradient(loss, y)
    return y


# ------------------------------------------------------------------------ where derivatives have to be chosen
@TRAPS.function()
def at_kinks(x: Any) -> Any:
    x = x * 0.0
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        found = [
            tf.abs(x),
            tf.nn.relu(x),
            tf.maximum(x, 0.0),
            tf.minimum(x, 0.0),
            tf.nn.relu6(x),
            tf.clip_by_value(x, 0.0, 1.0),
            tf.sign(x),
        ]
    return [tape.gradient(y, x) for y in found]


@TRAPS.function()
def of_equal_maxima(x: Any) -> Any:
    x = tf.round(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        found = [
            tf.reduce_max(x, 1),
            tf.reduce_min(x),
            tf.maximum(x, tf.round(x)),
            tf.sort(x, 0)[0],
            tf.math.top_k(x, 2)[0],
        ]
    return [tape.gradient(y, x) for y in found[:3]]


@TRAPS.function()
def of_norms_and_roots_away_from_zero(x: Any) -> Any:
    x = tf.abs(x) + 0.5
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        found = [
            tf.norm(x),
            tf.sqrt(x),
            tf.linalg.norm(x, axis=1),
            tf.math.rsqrt(x),
            x**0.5,
            tf.math.xlogy(x, x),
        ]
    return [tape.gradient(y, x) for y in found]


@TRAPS.function()
def where_one_side_is_not_finite(x: Any) -> Any:
    """A NaN of the branch that is not selected reaches the gradient, because it is multiplied by zero."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        wrong = tf.where(x > 0.0, tf.math.log(x), x)
        right = tf.where(x > 0.0, tf.math.log(tf.where(x > 0.0, x, 1.0)), x)
    return tape.gradient(wrong, x), tape.gradient(right, x)


@TRAPS.function()
def of_writes_to_places(x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tensor_scatter_nd_update(x, [[0], [2]], x[1:3] * 2.0)
        z = tf.tensor_scatter_nd_add(x, [[0], [0]], tf.sin(x[:2]))
        m = tf.tensor_scatter_nd_max(x, [[1], [1]], x[:2] * 3.0)
    return tape.gradient(y**2, x), tape.gradient(z**2, x), m


@TRAPS.function()
def of_slices_and_pads(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.pad(x[1:, ::-1], [[1, 0], [0, 2]], constant_values=3.0) ** 2
        z = tf.roll(tf.concat([y, y[:1]], 0), 1, 0)
    return tape.gradient(tf.math.cumsum(z, 0, exclusive=True, reverse=True), x)


# ------------------------------------------------------------------------------------- rules of the user's
def _rule(function: Callable[..., Any]) -> Any:
    """Return a program that takes the first and second derivative of a function with a custom gradient."""

    def program(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            slope = inner.gradient(y, x)
        return y, slope, outer.gradient(slope, x, unconnected_gradients="zero")

    return program


@tf.custom_gradient
def _log1pexp(x: Any) -> Any:
    e = tf.exp(x)
    return tf.math.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))


@tf.custom_gradient
def _rule_of_numbers(x: Any) -> Any:
    return x * 2.0, lambda upstream: upstream * 0.0 + 7.0


@tf.custom_gradient
def _rule_that_uses_its_result(x: Any) -> Any:
    y = tf.tanh(x)
    return y, lambda upstream: upstream * (1.0 - y**2) * 2.0


@tf.custom_gradient
def _rule_that_branches_in_python(x: Any) -> Any:
    def rule(upstream: Any) -> Any:
        return upstream * (2.0 if x.shape.rank == 2 else 3.0)

    return tf.sin(x), rule


@tf.custom_gradient
def _rule_that_stops(x: Any) -> Any:
    return tf.exp(x), lambda upstream: tf.stop_gradient(upstream * x)


@tf.custom_gradient
def _rule_that_clips_by_norm(x: Any) -> Any:
    return tf.identity(x) ** 2, lambda upstream: tf.clip_by_norm(upstream * 2.0 * x, 1.0)


@tf.custom_gradient
def _rule_of_a_rule(x: Any) -> Any:
    return _log1pexp(x) * 2.0, lambda upstream: upstream * _rule_that_uses_its_result(x)


@tf.custom_gradient
def _round(x: Any) -> Any:
    return tf.round(x), lambda upstream: upstream


RULES = {
    "stable_softplus": _log1pexp,
    "of_numbers": _rule_of_numbers,
    "that_uses_its_result": _rule_that_uses_its_result,
    "that_branches_in_python": _rule_that_branches_in_python,
    "that_stops": _rule_that_stops,
    "that_clips_by_norm": _rule_that_clips_by_norm,
    "of_a_rule": _rule_of_a_rule,
    "straight_through": _round,
    "in_a_chain": lambda x: _log1pexp(_rule_that_uses_its_result(x) * _round(x * 2.0)),
    "in_a_branch": tf.function(
        lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: _rule_of_numbers(x), lambda: x**2)
    ),
}
_TWICE = {"in_a_branch": {EVERYWHERE: "a derivative of a derivative goes through a branch"}}
TRAPS.update(
    {
        f"rule_{name}": Trap(lambda f=function: _rule(f), _CALLS, _TWICE.get(name, {}))
        for name, function in RULES.items()
    }
)


@TRAPS.made()
def rule_with_a_number_that_changes() -> Any:
    scale = tf.Variable(2.0, trainable=False)

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        held = scale.read_value()
        return tf.identity(x), lambda upstream: upstream * held

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(scaled(x) ** 2)
        scale.assign(scale * 0.5)
        return tape.gradient(y, x)

    return function


@TRAPS.made()
def rule_of_a_layer_of_keras() -> Any:
    class Reversed(keras.Layer):
        def call(self, x: Any) -> Any:
            @tf.custom_gradient
            def flip(x: Any) -> Any:
                return tf.identity(x), lambda upstream: -0.5 * upstream

            return flip(x)

    first, second = (
        keras.layers.Dense(3, kernel_initializer="ones"),
        keras.layers.Dense(1, kernel_initializer="ones"),
    )
    model = keras.Sequential([first, Reversed(), second])
    model.build((None, 3))

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        return loss, tape.gradient(loss, [v.value for v in model.trainable_variables])

    return function


@TRAPS.made()
def rule_of_several_with_none() -> Any:
    @tf.custom_gradient
    def both(a: Any, places: Any) -> Any:
        return tf.gather(a, places), lambda upstream: (tf.ones_like(a) * tf.reduce_sum(upstream), None)

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = both(x * 2.0, tf.constant([0, 2]))
        return tape.gradient(y, x)

    return function


@TRAPS.made()
def rule_with_a_loop_inside() -> Any:
    @tf.custom_gradient
    def root(x: Any) -> Any:
        y = tf.ones_like(x)
        for _ in range(12):
            y = 0.5 * (y + x / y)
        return y, lambda upstream: upstream / (2.0 * y)

    return lambda x: _rule(root)(tf.abs(x) + 0.5)


@TRAPS.made()
def recomputed_in_the_gradient() -> Any:
    w, b = _weights()
    block = tf.recompute_grad(lambda x: tf.tanh(x @ w) * b)

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(block(block(x)))
        found = tape.gradient(y, [x, w, b])
        w.assign_sub(0.1 * found[1])
        return y, found

    return function


@TRAPS.made()
def layer_that_is_computed_again() -> Any:
    with keras.RematScope(mode="full"):
        layer = keras.layers.Dense(3, kernel_initializer="ones", activation="tanh")
    layer.build((None, 3))

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(layer(x * 0.1) ** 2)
        return tape.gradient(y, [x, layer.kernel.value])

    return function


@TRAPS.made()
def input_that_is_trained() -> Any:
    w, b = _weights()

    def function(x: Any) -> Any:
        moved = x
        for _ in range(3):
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(moved)
                loss = tf.reduce_sum(tf.nn.softmax(moved @ w + b)[:, 0])
            moved = tf.clip_by_value(moved + 0.1 * tf.sign(tape.gradient(loss, moved)), x - 0.2, x + 0.2)
        return moved

    return function
