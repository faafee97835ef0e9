"""Traps with training steps: Keras optimizers, steps by hand, schedules, clipping, accumulation, frozen
parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .table import Trap, Traps, drawn, whole

TRAPS = Traps()
L = keras.layers
OPT = keras.optimizers
_STEPS = tuple(lambda n=n, rows=rows: (drawn(rows, seed=n),) for n, rows in enumerate((4, 4, 6, 4)))
_MORE = tuple(lambda n=n: (drawn(seed=n),) for n in range(6))


def _dense(units: int = 2, **options: Any) -> Any:
    layer = L.Dense(units, kernel_initializer=keras.initializers.Orthogonal(seed=1), **options)
    layer.build((None, 3))
    return layer


def _trained(optimizer: Any, loss: Callable[[Any], Any] = lambda y: tf.reduce_mean((y - 1.0) ** 2)) -> Any:
    """Return a program that makes a step, and returns the loss, the weights and the optimizer state."""
    layer = _dense()
    optimizer.build(layer.trainable_variables)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            total = loss(layer(x))
        optimizer.apply_gradients(
            zip(tape.gradient(total, layer.trainable_variables), layer.trainable_variables)
        )
        return total, [variable + 0.0 for variable in layer.trainable_variables]

    return step


# Each does in its step what none of the others does.
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd_nesterov": lambda: OPT.SGD(0.1, momentum=0.9, nesterov=True),
    "sgd_weight_decay": lambda: OPT.SGD(0.1, weight_decay=0.1),
    "adam_amsgrad": lambda: OPT.Adam(0.05, amsgrad=True, epsilon=0.1),
    "adamw": lambda: OPT.AdamW(0.05, weight_decay=0.05, epsilon=0.1),
    "adamax": lambda: OPT.Adamax(0.05, epsilon=0.1),
    "nadam": lambda: OPT.Nadam(0.05, epsilon=0.1),
    "adagrad": lambda: OPT.Adagrad(0.1),
    "adadelta": lambda: OPT.Adadelta(0.5, epsilon=0.1),
    "rmsprop_centered": lambda: OPT.RMSprop(0.02, momentum=0.5, centered=True, epsilon=0.1),
    "ftrl": lambda: OPT.Ftrl(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.01),
    "lion": lambda: OPT.Lion(0.01),
    "lamb": lambda: OPT.Lamb(0.05, epsilon=0.1),
    "adafactor": lambda: OPT.Adafactor(0.05),
    "muon": lambda: OPT.Muon(0.05),
    "loss_scale": lambda: OPT.LossScaleOptimizer(OPT.SGD(0.1), initial_scale=4.0, dynamic_growth_steps=2),
    "clipnorm": lambda: OPT.SGD(0.1, clipnorm=0.05),
    "clipvalue": lambda: OPT.SGD(0.1, clipvalue=0.05),
    "global_clipnorm": lambda: OPT.SGD(0.1, global_clipnorm=0.05),
    "average": lambda: OPT.SGD(0.1, use_ema=True, ema_momentum=0.5),
    "average_overwrites": lambda: OPT.SGD(0.1, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2),
    "accumulation": lambda: OPT.SGD(0.1, gradient_accumulation_steps=3),
    "accumulation_and_average": lambda: OPT.Adam(
        0.1, epsilon=0.1, gradient_accumulation_steps=2, use_ema=True
    ),
}
TRAPS.update(
    {
        f"optimizer_{name}": Trap(lambda make=make: _trained(make()), _MORE)
        for name, make in OPTIMIZERS.items()
    }
)

S = OPT.schedules
SCHEDULES: dict[str, Callable[[], Any]] = {
    "exponential": lambda: S.ExponentialDecay(0.2, 2, 0.5),
    "in_stairs": lambda: S.ExponentialDecay(0.2, 2, 0.5, staircase=True),
    "piecewise": lambda: S.PiecewiseConstantDecay([1, 3], [0.3, 0.2, 0.1]),
    "polynomial": lambda: S.PolynomialDecay(0.3, 3, 0.01, power=2.0),
    "polynomial_in_cycles": lambda: S.PolynomialDecay(0.3, 2, 0.01, cycle=True),
    "inverse_time": lambda: S.InverseTimeDecay(0.3, 2, 0.5),
    "cosine": lambda: S.CosineDecay(0.1, 3, alpha=0.1, warmup_target=0.3, warmup_steps=2),
    "cosine_restarts": lambda: S.CosineDecayRestarts(0.3, 2, t_mul=1.5),
}
TRAPS.update(
    {
        f"schedule_{name}": Trap(lambda make=make: _trained(OPT.SGD(make())), _MORE)
        for name, make in SCHEDULES.items()
    }
)


@TRAPS.made(*_MORE)
def schedule_of_the_user() -> Any:
    class Warm(S.LearningRateSchedule):
        def __call__(self, step: Any) -> Any:
            step = tf.cast(step, tf.float32)
            return tf.where(step < 3.0, 0.1 * (step + 1.0), 0.3 / tf.sqrt(step + 1.0))

    return _trained(OPT.SGD(Warm(), momentum=0.5))


# ------------------------------------------------------------------------------------- steps by hand
def _weights() -> tuple[Any, Any]:
    return tf.Variable(np.arange(6, dtype="float32").reshape(3, 2) / 5.0), tf.Variable([0.5, -0.5])


@TRAPS.made(*_STEPS)
def momentum_by_hand() -> Any:
    w, b = _weights()
    velocity = [tf.Variable(tf.zeros_like(one)) for one in (w, b)]

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(x @ w + b) ** 2)
        for variable, slot, gradient in zip((w, b), velocity, tape.gradient(loss, (w, b))):
            slot.assign(0.9 * slot + gradient)
            variable.assign_sub(0.1 * slot)
        return loss

    return step


@TRAPS.made(*_STEPS)
def several_steps_in_a_loop() -> Any:
    w, b = _weights()

    @tf.function
    def steps(x: Any) -> Any:
        loss = 0.0
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ w + b) ** 2)
            gradients = tape.gradient(loss, (w, b))
            w.assign_sub(0.1 * gradients[0])
            b.assign_sub(0.1 * gradients[1])
        return loss

    return steps


@TRAPS.made(*_STEPS)
def one_step_for_each_row() -> Any:
    w, b = _weights()

    @tf.function
    def steps(x: Any) -> Any:
        for row in x:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((tf.linalg.matvec(w, row, transpose_a=True) + b) ** 2)
            for variable, gradient in zip((w, b), tape.gradient(loss, (w, b))):
                variable.assign_sub(0.05 * gradient)
        return w + 0.0, b + 0.0

    return steps


@TRAPS.made(*_STEPS)
def until_the_loss_is_small() -> Any:
    w, count = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(0)

    @tf.function
    def train(x: Any) -> Any:
        loss = tf.constant(1e9)
        steps = 0
        while loss > 0.5 and steps < 20:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x * w) ** 2)
            w.assign_sub(0.2 * tape.gradient(loss, w))
            steps += 1
        count.assign_add(steps)
        return loss, steps

    return train


@TRAPS.made(*_MORE)
def accumulated_over_calls() -> Any:
    w, held, count = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(tf.zeros(3)), tf.Variable(0)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * w) ** 2)
        held.assign_add(tape.gradient(loss, w))
        count.assign_add(1)
        if count % 3 == 0:
            w.assign_sub(0.1 * held / 3.0)
            held.assign(tf.zeros(3))
        return loss, w + 0.0

    return step


@TRAPS.made(*_MORE)
def accumulated_over_calls_in_python() -> Any:
    w, held, count = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(tf.zeros(3)), tf.Variable(0)

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * w) ** 2)
        held.assign_add(tape.gradient(loss, w))
        count.assign_add(1)
        if int(count) % 2 == 0:
            w.assign_sub(0.1 * held)
            held.assign(tf.zeros(3))
        return loss, w + 0.0

    return step


@TRAPS.made(*_STEPS)
def clipped_by_hand() -> Any:
    w, b = _weights()

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w + b) ** 4)
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, [w, b]), 0.5)
        w.assign_sub(tf.clip_by_norm(gradients[0], 0.1, axes=[1]))
        b.assign_sub(tf.clip_by_value(gradients[1], -0.05, 0.05))
        return loss, norm

    return step


@TRAPS.made(*_STEPS)
def steps_that_are_skipped_where_they_are_not_finite() -> Any:
    w, skipped = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(0)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.math.log(tf.reduce_sum(x * w)))
        gradient = tape.gradient(loss, w)
        if tf.reduce_all(tf.math.is_finite(loss)):
            w.assign_sub(0.01 * gradient)
        else:
            skipped.assign_add(1)
        return skipped + 0, w + 0.0

    return step


@TRAPS.made(*_STEPS)
def scaled_loss_in_half_precision() -> Any:
    w, scale = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(16.0)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.cast(x, tf.float16) * tf.cast(w, tf.float16)) ** 2)
            scaled = loss * tf.cast(scale, tf.float16)
        gradient = tape.gradient(scaled, w) / scale
        w.assign_sub(0.01 * gradient)
        scale.assign(tf.where(tf.reduce_all(tf.math.is_finite(gradient)), scale * 2.0, scale / 2.0))
        return loss, gradient.dtype == tf.float32

    return step


@TRAPS.made(*_STEPS)
def two_optimizers_of_two_parts() -> Any:
    first, second = _dense(3), _dense(1)
    optimizers = [OPT.SGD(0.1, momentum=0.9), OPT.Adam(0.05, epsilon=0.1)]
    for optimizer, layer in zip(optimizers, (first, second)):
        optimizer.build(layer.trainable_variables)

    def step(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(second(tf.tanh(first(x))) ** 2)
        for optimizer, layer in zip(optimizers, (first, second)):
            optimizer.apply(tape.gradient(loss, [v.value for v in layer.trainable_variables]))
        return loss

    return step


@TRAPS.made(*_MORE)
def adversaries_take_turns() -> Any:
    maker, judge, turn = _dense(3), _dense(1), tf.Variable(0)
    optimizers = [OPT.SGD(0.1), OPT.SGD(0.05)]
    for optimizer, layer in zip(optimizers, (maker, judge)):
        optimizer.build(layer.trainable_variables)

    def step(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            real, made = judge(x), judge(maker(tf.sin(x)))
            of_judge = tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(made))
            of_maker = tf.reduce_mean(tf.nn.softplus(-made))
        turn.assign_add(1)
        layer, loss, optimizer = (
            (judge, of_judge, optimizers[1]) if int(turn) % 2 else (maker, of_maker, optimizers[0])
        )
        optimizer.apply(tape.gradient(loss, [v.value for v in layer.trainable_variables]))
        return of_judge, of_maker

    return step


@TRAPS.made(*_STEPS)
def inner_step_of_a_learner() -> Any:
    w, rate = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(0.1)

    def step(x: Any) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean((x * w) ** 2)
            fast = w - rate * inner.gradient(loss, w)
            after = tf.reduce_mean((tf.sin(x) * fast - 1.0) ** 2)
        gradients = outer.gradient(after, [w, rate])
        w.assign_sub(0.1 * gradients[0])
        rate.assign_sub(0.01 * gradients[1])
        return after, gradients

    return step


@TRAPS.made(*_STEPS)
def several_inner_steps_of_a_learner() -> Any:
    w = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as outer:
            fast = w + 0.0
            for _ in range(3):
                with tf.GradientTape() as inner:
                    inner.watch(fast)
                    loss = tf.reduce_mean(tf.tanh(x * fast) ** 2)
                fast = fast - 0.5 * inner.gradient(loss, fast)
            after = tf.reduce_mean((x * fast) ** 2)
        gradient = outer.gradient(after, w)
        w.assign_sub(0.1 * gradient)
        return after, gradient

    return step


@TRAPS.made(*_STEPS)
def target_network_follows() -> Any:
    online, target = _dense(2), _dense(2)

    @tf.function
    def step(x: Any) -> Any:
        wanted = 0.5 + 0.9 * tf.reduce_max(target(tf.roll(x, 1, 0)), 1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.reduce_max(online(x), 1) - tf.stop_gradient(wanted)) ** 2)
        for variable, gradient in zip(
            online.trainable_variables, tape.gradient(loss, online.trainable_variables)
        ):
            variable.assign_sub(0.1 * gradient)
        for slow, fast in zip(target.variables, online.variables):
            slow.assign(0.9 * slow + 0.1 * fast)
        return loss

    return step


@TRAPS.made(*_STEPS)
def normalisation_in_a_step() -> Any:
    model = keras.Sequential(
        [
            _dense(3),
            L.BatchNormalization(momentum=0.5),
            L.Activation("tanh"),
            L.Dense(1, kernel_initializer="ones"),
        ]
    )
    model.build((None, 3))
    optimizer = OPT.SGD(0.1)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - 1.0) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        )
        return loss, model(x)

    return step


@TRAPS.made(*_STEPS)
def regularised_step() -> Any:
    layer = _dense(2, kernel_regularizer=keras.regularizers.L1L2(0.1, 0.2))
    optimizer = OPT.SGD(0.1)
    optimizer.build(layer.trainable_variables)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(x) ** 2) + tf.add_n(layer.losses)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables)
        )
        return loss

    return step


@TRAPS.made(*_STEPS)
def constrained_step() -> Any:
    layer = _dense(2, kernel_constraint=keras.constraints.MaxNorm(0.5), bias_constraint="non_neg")
    optimizer = OPT.SGD(0.5)
    optimizer.build(layer.trainable_variables)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(x) + 1.0) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables)
        )
        return loss, layer.kernel + 0.0, layer.bias + 0.0

    return step


@TRAPS.made(*(lambda n=n: (whole(5, most=6, seed=n),) for n in range(4)))
def embedding_is_trained_in_rows() -> Any:
    table = tf.Variable(np.arange(18, dtype="float32").reshape(6, 3) / 9.0)

    def step(places: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.embedding_lookup(table, places) ** 2)
        gradient = tape.gradient(loss, table)
        table.scatter_sub(tf.IndexedSlices(0.5 * gradient.values, gradient.indices))
        return loss, table + 0.0

    return step


@TRAPS.made(*(lambda n=n: (whole(5, most=6, seed=n),) for n in range(4)))
def gradient_of_rows_as_an_array() -> Any:
    table = tf.Variable(np.arange(18, dtype="float32").reshape(6, 3) / 9.0)

    def step(places: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.gather(table, places) ** 2)
        return loss, tf.convert_to_tensor(tape.gradient(loss, table))

    return step


@TRAPS.made(*(lambda n=n: (whole(4, 2, most=6, seed=n),) for n in range(4)))
def embedding_of_keras_with_an_optimizer() -> Any:
    layer = L.Embedding(6, 3, embeddings_initializer=keras.initializers.Orthogonal(seed=1), mask_zero=True)
    layer.build((None, 2))
    optimizer = OPT.Adam(0.1, epsilon=0.1)
    optimizer.build(layer.trainable_variables)

    @tf.function
    def step(places: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(places) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables)
        )
        return loss

    return step


@TRAPS.made(
    *_STEPS,
    changes={
        2: lambda f: setattr(f.held, "trainable", False),
        3: lambda f: setattr(f.held, "trainable", True),
    },
)
def part_is_frozen_between_steps() -> Any:
    first, second = _dense(3), _dense(1)
    model = keras.Sequential([first, second])
    model.build((None, 3))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        weights = [v.value for v in model.trainable_variables]
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.1 * gradient)
        return loss, len(weights)

    step.held = first  # type: ignore[attr-defined]
    return step


@TRAPS.made(*_STEPS)
def perturbed_weights_of_a_sharp_minimum() -> Any:
    """The gradient is taken at perturbed weights and applied to the original ones (sharpness-aware
    minimization).
    """
    w, b = _weights()

    @tf.function
    def gradients(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(x @ w + b) ** 2)
        return loss, tape.gradient(loss, [w, b])

    def step(x: Any) -> Any:
        loss, up = gradients(x)
        norm = tf.linalg.global_norm(up)
        for variable, gradient in zip((w, b), up):
            variable.assign_add(0.1 * gradient / norm)
        _, down = gradients(x)
        for variable, first, second in zip((w, b), up, down):
            variable.assign_sub(0.1 * first / norm)
            variable.assign_sub(0.1 * second)
        return loss, down

    return step


@TRAPS.made(*_STEPS)
def newton_step() -> Any:
    w = tf.Variable([1.0, 2.0, 3.0])

    def step(x: Any) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(tf.nn.softplus(x * w) + 0.1 * w**2)
            gradient = inner.gradient(loss, w)
        hessian = outer.jacobian(gradient, w)
        w.assign_sub(tf.linalg.solve(hessian, gradient[:, None])[:, 0])
        return loss, hessian

    return step


@TRAPS.made(*_STEPS)
def line_search() -> Any:
    w = tf.Variable([1.0, 2.0, 3.0])

    def loss(x: Any, w: Any) -> Any:
        return tf.reduce_mean((x * w - 1.0) ** 2)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            now = loss(x, w)
        gradient, rate = tape.gradient(now, w), tf.constant(4.0)
        while loss(x, w - rate * gradient) > now:
            rate *= 0.5
        w.assign_sub(rate * gradient)
        return now, rate

    return step


@TRAPS.made(*_STEPS)
def averaged_weights_are_swapped_in() -> Any:
    w, average = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([1.0, 2.0, 3.0])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * w) ** 2)
        w.assign_sub(0.2 * tape.gradient(loss, w))
        average.assign(0.5 * average + 0.5 * w)
        kept = w.read_value()
        w.assign(average)
        judged = tf.reduce_mean((x * w) ** 2)
        w.assign(kept)
        return loss, judged, w + 0.0

    return step


@TRAPS.made(*_STEPS)
def gradient_is_noted_and_used_in_the_next_call() -> Any:
    w, last = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(tf.zeros(3))

    def step(x: Any) -> Any:
        w.assign_sub(0.1 * last)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * w) ** 2)
        last.assign(tape.gradient(loss, w))
        return loss, last + 0.0

    return step


@TRAPS.made(*_STEPS)
def gradients_of_examples() -> Any:
    w = tf.Variable([1.0, 2.0, 3.0])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.reduce_sum((x * w) ** 2, 1)
        rows = tape.jacobian(losses, w)
        norms = tf.norm(rows, axis=1, keepdims=True)
        w.assign_sub(0.1 * tf.reduce_mean(rows / tf.maximum(1.0, norms), 0))
        return rows, norms

    return step


@TRAPS.made(
    lambda: (drawn(), whole(4, most=2)),
    lambda: (drawn(seed=1), whole(4, most=2, seed=1)),
    lambda: (drawn(6), whole(6, most=2)),
)
def weighted_classes() -> Any:
    layer, weights = _dense(2), tf.Variable([1.0, 3.0], trainable=False)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = OPT.SGD(0.1)
    optimizer.build(layer.trainable_variables)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            total = loss(y, layer(x), sample_weight=tf.gather(weights, y))
        optimizer.apply_gradients(
            zip(tape.gradient(total, layer.trainable_variables), layer.trainable_variables)
        )
        weights.assign(
            0.5 * weights + 0.5 * tf.cast(tf.math.bincount(y, minlength=2, maxlength=2), tf.float32)
        )
        return total

    return step


@TRAPS.made(
    lambda: (drawn(), drawn(4, 1)),
    lambda: (drawn(seed=1), drawn(4, 1, seed=2)),
    lambda: (drawn(6), drawn(6, 1)),
)
def compiled_model_of_keras() -> Any:
    model = keras.Sequential([_dense(3, activation="tanh"), L.Dense(1, kernel_initializer="ones")])
    model.build((None, 3))
    model.compile(OPT.SGD(0.1), "mse")
    model.optimizer.build(model.trainable_variables)

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = model.compute_loss(x, y, model(x, training=True))
        model.optimizer.apply(tape.gradient(loss, [v.value for v in model.trainable_variables]))
        return loss

    return step


@TRAPS.made(*_STEPS)
def optimizer_of_a_plain_variable() -> Any:
    w = tf.Variable([1.0, 2.0, 3.0])
    optimizer = OPT.SGD(0.1, momentum=0.9)
    optimizer.build([w])

    def step(x: Any) -> Any:
        optimizer.apply([tf.reduce_mean(x, 0)], [w])
        return w + 0.0, optimizer.iterations + 0

    return step


@TRAPS.made(*_STEPS)
def steps_count_in_the_optimizer() -> Any:
    w = keras.Variable([1.0, 2.0, 3.0])
    optimizer = OPT.SGD(0.1)
    optimizer.build([w])

    def step(x: Any) -> Any:
        if int(optimizer.iterations) < 2:
            optimizer.apply([tf.reduce_mean(x, 0)])
        else:
            optimizer.apply([tf.sign(tf.reduce_mean(x, 0))])
        return w + 0.0

    return step
