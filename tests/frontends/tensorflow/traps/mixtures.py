"""Traps that combine the topics of other tables: state under branches, tapes around loops, nested structures."""

from __future__ import annotations

import tempfile
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from .table import EVERYWHERE, Keywords, Trap, Traps, drawn, whole

TRAPS = Traps()


class Counter(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.sums = [tf.Variable(tf.zeros(3)), tf.Variable(tf.ones(3))]
        self.last = self.sums[1]

    @tf.function
    def __call__(self, x: Any) -> Any:
        self.steps.assign_add(1)
        if self.steps % 2 == 0:
            self.sums[0].assign_add(tf.reduce_sum(x, 0))
        else:
            self.last.assign(self.last * 0.5 + x[0])
        return x * self.sums[0] + self.sums[1], self.steps


@TRAPS.made()
def alias_is_assigned_under_a_branch() -> Any:
    return Counter()


@TRAPS.made()
def assigned_under_nested_branches() -> Any:
    a, b = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def function(x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            if x[0, 0] > 0.0:
                a.assign_add(b)
            else:
                b.assign(a * 3.0)
        else:
            a.assign(tf.reduce_max(x))
            b.assign_sub(a)
        return a * x + b

    return function


@TRAPS.made()
def assigned_in_a_cond_in_a_while_loop() -> Any:
    total, count = tf.Variable(tf.zeros(3)), tf.Variable(0)

    @tf.function
    def function(x: Any) -> Any:
        for i in tf.range(tf.shape(x)[0]):
            row = x[i]
            if tf.reduce_sum(row) < 0.0:
                total.assign(total - row)
                continue
            count.assign_add(i)
            if count > 4:
                break
            total.assign_add(row * tf.cast(count, tf.float32))
        return total + 0.0, count + 0

    return function


@TRAPS.made()
def persistent_tape_over_variables_that_change() -> Any:
    w = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(tf.square(x * w))
            z = tf.reduce_sum(tf.sin(w) * x)
        first = tape.gradient(y, w)
        w.assign_sub(0.1 * first)
        second = tape.gradient(z, w)
        w.assign_sub(0.1 * second)
        both = tape.gradient([y, z], w)
        return first, second, both, tape.gradient(y, [w, w])

    return function


@TRAPS.made()
def tape_records_through_an_assignment() -> Any:
    w, v = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(2.0)

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = w * v
            v.assign(tf.reduce_sum(y))
            z = tf.reduce_sum(x * w * v)
        return tape.gradient(z, [w, v])

    return function


@tf.custom_gradient
def _scaled(x: Any) -> Any:
    def backward(upstream: Any, variables: Any = None) -> Any:
        return upstream * 5.0, [tf.ones_like(one) * tf.reduce_sum(upstream) for one in variables or []]

    return x * SCALE, backward


SCALE = tf.Variable([2.0, 3.0, 4.0])


@TRAPS.made()
def custom_gradient_with_a_global_variable() -> Any:
    def function(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = _scaled(x)
            z = y * y
        return y, tape.gradient(z, x), tape.gradient(z, SCALE)

    return function


@TRAPS.made()
def custom_gradient_of_two_with_keywords() -> Any:
    @tf.custom_gradient
    def both(a: Any, b: Any) -> Any:
        def backward(da: Any, db: Any) -> Any:
            return da * 2.0 + db, db * 3.0

        return (a + b, a * b), backward

    def function(x: Any) -> Any:
        y = tf.exp(x)
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            first, second = both(x, y)
            total = tf.reduce_sum(first) + 2.0 * tf.reduce_sum(second)
        return tape.gradient(total, [x, y])

    return function


@TRAPS.made(errors={EVERYWHERE: "a TensorArray grows in a loop whose number of steps is not known"})
def array_of_unknown_size_of_two_rows_a_step() -> Any:
    @tf.function
    def function(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
        at = 0
        for row in x:
            rows = rows.write(at, row)
            rows = rows.write(at + 1, -row)
            at += 2
        return rows.stack(), rows.size(), rows.read(1)

    return function


@TRAPS.made(
    errors={EVERYWHERE: "the shape of the rows of a TensorArray is not known before they are written"}
)
def loops_and_branches_capture_variables() -> Any:
    w, b = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(0.5)

    @tf.function
    def function(x: Any) -> Any:
        def inner(i: Any, y: Any) -> Any:
            return i + 1, tf.cond(tf.reduce_sum(y) > 0.0, lambda: y * w, lambda: y + b)

        def outer(j: Any, y: Any) -> Any:
            return j + 1, tf.while_loop(lambda i, y: i < j, inner, (0, y))[1] * 0.5

        with tf.GradientTape() as tape:
            _, y = tf.while_loop(lambda j, y: j < 3, outer, (0, x), maximum_iterations=10)
            total = tf.reduce_sum(y)
        return y, tape.gradient(total, [w, b])

    return function


class Pair(NamedTuple):
    left: Any
    right: Any


_SPEC = {
    "a": [
        tf.TensorSpec((None, 3), tf.float32),
        Pair(tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.float32)),
    ]
}


def _tree(rows: int, seed: int) -> dict[str, Any]:
    return {"a": [drawn(rows, seed=seed), Pair(whole(rows + 1, seed=seed), tf.constant(1.5 + seed))]}


@TRAPS.made(lambda: (_tree(4, 0),), lambda: (_tree(6, 1),), lambda: (_tree(4, 2),))
def signature_of_structures() -> Any:
    @tf.function(input_signature=[_SPEC])
    def function(tree: Any) -> Any:
        x, pair = tree["a"]
        return {"z": x * pair.right, "p": Pair(pair.left + 1, [tree["a"][0][0]])}

    return function


@TRAPS.made(
    lambda: (drawn(), 2, "relu"), lambda: (drawn(), 3, "tanh"), lambda: (drawn(5), 2, "relu"), lambda: (drawn(), 2.5, "tanh"),
    lambda: (drawn(), True, "relu"),
)  # fmt: skip
def retraces_for_values_of_python() -> Any:
    @tf.function
    def function(x: Any, power: Any, name: str) -> Any:
        for _ in range(int(power)):
            x = x * power
        return getattr(tf.nn, name)(x)

    return function


@TRAPS.made(
    lambda: (drawn(), Keywords(training=True)), lambda: (drawn(), Keywords(training=False)), lambda: (drawn(),),
    lambda: (drawn(5), Keywords(training=True)), lambda: (drawn(5), Keywords(training=tf.constant(False))),
)  # fmt: skip
def training_flag_of_a_model() -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.dense = keras.layers.BatchNormalization(momentum=0.5), keras.layers.Dense(2)
            self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False, dtype="int32")

        def call(self, x: Any, training: Any = None) -> Any:
            if training:
                self.calls.assign(self.calls + 1)
                x = x * 2.0
            return self.dense(self.norm(x, training=training))

    model = Net()
    model(tf.zeros((2, 3)))
    return model


@TRAPS.made()
def freezing_a_layer_that_normalises() -> Any:
    model = keras.Sequential(
        [keras.layers.Dense(3), keras.layers.BatchNormalization(), keras.layers.Dense(1)]
    )
    model(tf.zeros((2, 3)))
    model.layers[1].trainable = False

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_mean(tf.square(model(x, training=True)))
        gradients = tape.gradient(y, model.trainable_variables)
        for one, gradient in zip(model.trainable_variables, gradients):
            one.assign_sub(0.1 * gradient)
        return y, gradients

    return function


def _half(rows: int = 4, seed: int = 0) -> Any:
    return tf.cast(drawn(rows, seed=seed), tf.float16)


@TRAPS.made(lambda: (drawn(), _half(), whole(4, 3)), lambda: (drawn(5), _half(5), whole(5, 3, seed=3)))
def mixed_types() -> Any:
    def function(x: Any, h: Any, n: Any) -> Any:
        wide = tf.cast(x, tf.float64) / 3
        return (
            tf.cast(h, tf.float32) + x, h * 2, h / 3, n // 2, n / 2, n % -3, -n // 2, tf.cast(wide, tf.float16), tf.cast(x * 100, tf.int8),
            tf.cast(n, tf.bool), tf.cast(x > 0, tf.float16) * h, tf.cast(n, tf.uint8) - tf.constant(3, tf.uint8), x ** 2, 2.0 ** h, n ** 2,
            tf.reduce_mean(n), tf.reduce_sum(h), tf.math.cumsum(h), abs(n - 3), tf.pow(n, n),
        )  # fmt: skip

    return function


class Served(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.calls = tf.Variable([[1.0], [2.0], [3.0]]), tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32, "x")])
    def score(self, x: Any) -> Any:
        self.calls.assign_add(1)
        return {"score": x @ self.w, "calls": self.calls + 0}

    @tf.function(
        input_signature=[tf.TensorSpec((None, 3), tf.float32, "x"), tf.TensorSpec((), tf.float32, "rate")]
    )
    def move(self, x: Any, rate: Any) -> Any:
        self.w.assign_sub(rate * tf.reduce_mean(x, 0)[:, None])
        return {"w": self.w + 0.0}


def _loaded() -> Any:
    module, folder = Served(), tempfile.mkdtemp()
    tf.saved_model.save(module, folder, signatures={"score": module.score, "move": module.move})
    return tf.saved_model.load(folder)


@TRAPS.made()
def two_signatures_of_one_state() -> Any:
    loaded = _loaded()

    def function(x: Any) -> Any:
        first = loaded.signatures["score"](x=x)
        moved = loaded.signatures["move"](x=x, rate=tf.constant(0.5))
        return first, moved, loaded.signatures["score"](x=x), loaded.score(x)

    return function


@TRAPS.made(
    lambda: (Keywords(x=drawn(), rate=tf.constant(0.5)),),
    lambda: (Keywords(x=drawn(6), rate=tf.constant(0.25)),),
)
def one_signature_of_several() -> Any:
    loaded = _loaded()
    move = loaded.signatures["move"]
    move.kept = loaded
    return move


class _Scaled:
    def __init__(self) -> None:
        self.shift, self.v, self.options = 1.0, tf.Variable(3.0), {"axis": 0}

    def __call__(self, x: Any) -> Any:
        return tf.reduce_sum(x, self.options["axis"], keepdims=True) * self.v + self.shift


TRAPS["values_of_python_change_between_calls"] = Trap(
    _Scaled,
    changes={
        1: lambda f: setattr(f, "shift", 5.0),
        2: lambda f: f.options.update(axis=1),
        3: lambda f: f.v.assign(9.0),
    },
)


@TRAPS.made()
def number_read_of_a_variable_decides() -> Any:
    count = tf.Variable(0)

    def function(x: Any) -> Any:
        count.assign_add(1)
        if int(count) % 2 == 0:
            return x * float(count.numpy())
        return x - 1.0

    return function


@TRAPS.made()
def while_over_a_variable() -> Any:
    left = tf.Variable(4.0)

    @tf.function
    def function(x: Any) -> Any:
        while left > tf.reduce_mean(tf.abs(x)):
            left.assign(left * 0.7)
            x = x + left
        left.assign_add(3.0)
        return x

    return function


@TRAPS.made()
def switch_over_assignments() -> Any:
    v, turn = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(0)

    @tf.function
    def function(x: Any) -> Any:
        y = tf.switch_case(
            turn + 0, [lambda: v.assign_add(x[0]), lambda: v.assign(x[1]), lambda: v.assign_sub(x[2])]
        )
        turn.assign((turn + 1) % 3)
        return y * 2.0, v + 0.0

    return function


@TRAPS.made()
def map_reads_a_variable_that_is_assigned_before() -> Any:
    v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def function(x: Any) -> Any:
        v.assign(v * 0.5)
        y = tf.map_fn(lambda row: row * v + tf.scan(lambda a, b: a * 0.5 + b, row), x)
        v.assign_add(y[0])
        return y, v + 1.0

    return function


@TRAPS.made()
def gradient_with_respect_to_an_intermediate() -> Any:
    def function(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.sin(x)
            z = y * y + x
        return (
            tape.gradient(z, y),
            tape.gradient(z, x),
            tape.gradient(y, x, output_gradients=z),
            tape.gradient(x, z),
        )

    return function


@TRAPS.made()
def ema_of_a_model() -> Any:
    ema = tf.train.ExponentialMovingAverage(0.5)
    w = tf.Variable([1.0, 2.0, 3.0])
    ema.apply([w])

    def function(x: Any) -> Any:
        w.assign_add(tf.reduce_mean(x, 0))
        ema.apply([w])
        return ema.average(w) + 0.0

    return function


@TRAPS.made()
def default_of_a_tf_function_is_a_variable() -> Any:
    v = tf.Variable(2.0)

    @tf.function
    def inner(x: Any, scale: Any = v) -> Any:
        return x * scale

    def function(x: Any) -> Any:
        y = inner(x)
        v.assign_add(1.0)
        return y, inner(x), inner(x, scale=tf.constant(3.0))

    return function


@TRAPS.made(
    lambda: (tf.constant(3), drawn()), lambda: (tf.constant(5), drawn()), lambda: (tf.constant(0), drawn())
)
def number_of_steps_is_a_tensor() -> Any:
    v = tf.Variable(1.0)

    @tf.function
    def function(n: Any, x: Any) -> Any:
        total = tf.zeros_like(x[0])
        for i in tf.range(n):
            total += x[i % tf.shape(x)[0]] * v
            v.assign(v * 0.9)
        else_value = tf.reduce_sum(total)
        return total, else_value, n

    return function


@TRAPS.made()
def stateful_recurrent_cell_by_hand() -> Any:
    cell = keras.layers.GRUCell(3)
    cell.build((None, 3))
    state = tf.Variable(tf.zeros((1, 3)))

    @tf.function
    def function(x: Any) -> Any:
        outputs = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        h = state.read_value()
        for i in tf.range(tf.shape(x)[0]):
            y, (h,) = cell(x[i][None], (h,))
            outputs = outputs.write(i, y[0])
        state.assign(h)
        return outputs.stack()

    return function
