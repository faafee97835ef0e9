"""Traps with state of modules, layers, metrics and objects: counted, averaged, cached, created late, nested,
shared, alternating.
"""

from __future__ import annotations

import dataclasses
import types
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from .table import Keywords, Trap, Traps, drawn, whole

TRAPS = Traps()
L = keras.layers


def _dense(units: int = 3, **options: Any) -> Any:
    return L.Dense(units, kernel_initializer="orthogonal", **options)


# ------------------------------------------------------------------------------------- where state lies
class Counter(tf.Module):
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.count = tf.Variable(0.0, trainable=False)

    def __call__(self, x: Any) -> Any:
        return x * self.count.assign_add(1.0)


@TRAPS.made()
def nested_modules() -> Any:
    class Outer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = {"a": Counter(), "b": [Counter(), (Counter(),)]}

        def __call__(self, x: Any) -> Any:
            return self.parts["a"](x) + self.parts["b"][0](self.parts["b"][1][0](x))

    return Outer()


@TRAPS.made()
def shared_module_of_two_modules() -> Any:
    class Outer(tf.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def __call__(self, x: Any) -> Any:
            return self.inner(self.inner(x))

    inner = Counter()
    first, second = Outer(inner), Outer(inner)
    return lambda x: first(x) - second(x) + inner.count


@TRAPS.made(
    *(lambda n=n: (drawn(seed=n),) for n in range(5)),
    changes={n: lambda f, n=n: f.turn.update(n=n) for n in range(5)},
)
def alternating_modules() -> Any:
    parts, turn = [Counter(), Counter(), Counter()], {"n": 0}

    def function(x: Any) -> Any:
        return parts[turn["n"] % 3](x)

    function.turn = turn  # type: ignore[attr-defined]
    return function


@TRAPS.made(
    lambda: (drawn(), 0),
    lambda: (drawn(), 1),
    lambda: (drawn(5), 0),
    lambda: (drawn(), 2),
    lambda: (drawn(), 1),
    lambda: (drawn(), -1),
)
def module_of_an_argument_of_python() -> Any:
    parts = [Counter(), _dense(), Counter()]
    parts[1].build((None, 3))
    return lambda x, place: parts[place](x)


@TRAPS.made(*(lambda n=n: (drawn(seed=n), tf.constant(n % 3)) for n in range(5)))
def module_of_an_argument_that_is_an_array() -> Any:
    parts = [Counter(), Counter(), Counter()]

    @tf.function
    def function(x: Any, place: Any) -> Any:
        return tf.switch_case(place, [lambda part=part: part(x) for part in parts])

    return function


@TRAPS.made(*(lambda n=n: (drawn(seed=n) + n - 2.0,) for n in range(5)))
def module_that_elements_choose_in_python() -> Any:
    first, second = Counter(), Counter()
    return lambda x: first(x) if tf.reduce_sum(x) > 0.0 else second(x) - first.count


@TRAPS.made()
def state_in_a_named_tuple() -> Any:
    class State(NamedTuple):
        total: Any
        count: Any

    state = State(tf.Variable([0.0, 0.0, 0.0]), tf.Variable(0))

    def function(x: Any) -> Any:
        state.total.assign_add(tf.reduce_sum(x, 0))
        state.count.assign_add(tf.shape(x)[0])
        return state.total / tf.cast(state.count, tf.float32)

    return function


@TRAPS.made()
def state_in_a_dataclass() -> Any:
    @dataclasses.dataclass
    class State:
        total: Any
        scale: float = 2.0

        def __call__(self, x: Any) -> Any:
            self.total.assign(self.total * 0.5 + x[0])
            return self.total * self.scale

    return State(tf.Variable([0.0, 0.0, 0.0]))


@TRAPS.made()
def state_in_slots() -> Any:
    class State:
        __slots__ = ("total",)

        def __init__(self) -> None:
            self.total = tf.Variable([0.0, 0.0, 0.0])

        def __call__(self, x: Any) -> Any:
            return self.total.assign_add(x[0]) * 2.0

    return State()


@TRAPS.made()
def state_in_a_class() -> Any:
    class Settings:
        total = tf.Variable([0.0, 0.0, 0.0])

    def function(x: Any) -> Any:
        Settings.total.assign_add(x[0])
        return x * Settings.total

    return function


@TRAPS.made()
def state_in_a_default() -> Any:
    state = tf.Variable([0.0, 0.0, 0.0])

    def function(x: Any, total: Any = state) -> Any:
        total.assign_add(x[0])
        return x * total

    return function


@TRAPS.made()
def state_in_an_attribute_of_a_function() -> Any:
    def function(x: Any) -> Any:
        function.total.assign_add(x[0])  # type: ignore[attr-defined]
        return x * function.total  # type: ignore[attr-defined]

    function.total = tf.Variable([0.0, 0.0, 0.0])  # type: ignore[attr-defined]
    return function


@TRAPS.made()
def state_in_a_generator_expression() -> Any:
    held = [tf.Variable(float(n)) for n in range(3)]
    return lambda x: sum(x * variable.assign_add(1.0) for variable in held)


@TRAPS.made()
def state_of_a_bound_method() -> Any:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.total = tf.Variable([0.0, 0.0, 0.0])

        def forward(self, x: Any) -> Any:
            return self.total.assign_add(x[0]) + x

    return Model().forward


@TRAPS.made()
def state_with_a_name_scope() -> Any:
    class Scoped(tf.Module):
        def __init__(self) -> None:
            super().__init__(name="outer")
            with self.name_scope:
                self.w = tf.Variable([1.0, 2.0, 3.0], name="w")

        @tf.Module.with_name_scope
        def __call__(self, x: Any) -> Any:
            return self.w.assign(self.w * 0.5) * x

    return Scoped()


# ------------------------------------------------------------------------------------- in Python
@TRAPS.made()
def tensor_of_a_module_is_replaced() -> Any:
    class Module(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = tf.zeros(3)

        def __call__(self, x: Any) -> Any:
            self.hidden = tf.tanh(self.hidden + x[0])
            return self.hidden * 2.0

    return Module()


@TRAPS.made()
def counter_of_python_in_a_layer() -> Any:
    class Counts(keras.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def call(self, x: Any) -> Any:
            self.calls += 1
            return x * float(self.calls)

    return Counts()


@TRAPS.made()
def tensors_are_appended_to_a_list() -> Any:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(tf.reduce_sum(x, 0))
        return tf.add_n(seen)

    return function


@TRAPS.made()
def cache_in_a_dict() -> Any:
    cache: dict[str, Any] = {}

    def function(x: Any) -> Any:
        cache["keys"] = tf.concat([cache["keys"], x], 0) if "keys" in cache else x
        return tf.reduce_mean(cache["keys"], 0)

    return function


@TRAPS.made()
def array_of_numpy_is_written() -> Any:
    table = np.zeros(3, "float32")

    def function(x: Any) -> Any:
        table[:] = table + 1.0
        return x * tf.constant(table)

    return function


@TRAPS.made()
def global_is_counted() -> Any:
    namespace = {"__name__": __name__, "__file__": __file__, "COUNT": 0}
    return types.FunctionType(_counts_globally.__code__, namespace)


def _counts_globally(x: Any) -> Any:
    global COUNT
    COUNT += 1  # type: ignore[name-defined]
    return x * float(COUNT)  # type: ignore[name-defined]


# ------------------------------------------------------------------------------------- made late
@TRAPS.made()
def weights_made_by_build() -> Any:
    class Own(keras.Layer):
        def build(self, shape: Any) -> None:
            self.w = self.add_weight(shape=(shape[-1], 2), initializer="ones")
            self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x: Any) -> Any:
            self.count.assign_add(1.0)
            return x @ self.w + self.count

    return Own()


@TRAPS.made()
def layers_made_by_build() -> Any:
    class Own(keras.Model):
        def build(self, shape: Any) -> None:
            self.layers_of_mine = [_dense(shape[-1]) for _ in range(2)]
            for layer in self.layers_of_mine:
                layer.build(shape)

        def call(self, x: Any) -> Any:
            for layer in self.layers_of_mine:
                x = tf.tanh(layer(x))
            return x

    return Own()


@TRAPS.made()
def optimizer_that_is_not_built() -> Any:
    weight = keras.Variable([1.0, 2.0, 3.0])
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * weight) ** 2)
        optimizer.apply([tape.gradient(loss, weight.value)], [weight])
        return loss

    return function


@TRAPS.made()
def metric_that_is_not_built() -> Any:
    metric = keras.metrics.MeanSquaredError()

    def function(x: Any) -> Any:
        metric.update_state(x, x * 0.5)
        return metric.result()

    return function


@TRAPS.made()
def variable_made_by_a_tf_function_at_its_first_call() -> Any:
    class Lazy:
        total: Any = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.total is None:
                self.total = tf.Variable(tf.zeros(3), trainable=False)
            self.total.assign_add(tf.reduce_sum(x, 0))
            return self.total * 1.0

    return Lazy()


@TRAPS.made()
def variable_that_depends_on_the_first_input() -> Any:
    class Lazy(tf.Module):
        mean: Any = None

        def __call__(self, x: Any) -> Any:
            if self.mean is None:
                self.mean = tf.Variable(tf.zeros(x.shape[1:]), trainable=False)
            self.mean.assign(self.mean * 0.5 + tf.reduce_mean(x, 0))
            return x - self.mean

    return Lazy()


@TRAPS.made()
def lazy_modules_in_a_list() -> Any:
    class Linear(tf.Module):
        w: Any = None

        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable(tf.ones((x.shape[-1], 3)) / 3.0)
            return x @ self.w

    parts = [Linear(), Linear()]
    return lambda x: parts[1](tf.tanh(parts[0](x)))


@TRAPS.made()
def normalisation_that_adapts() -> Any:
    layer = L.Normalization(axis=-1)
    layer.adapt(np.arange(12, dtype="float32").reshape(4, 3))
    return layer


# ------------------------------------------------------------------------------------- metrics
METRICS: dict[str, Any] = {
    "mean_tensor_weights": keras.metrics.Mean,
    "sum": keras.metrics.Sum,
    "root_mean_squared_error": keras.metrics.RootMeanSquaredError,
    "cosine_similarity": keras.metrics.CosineSimilarity,
    "r2_score": keras.metrics.R2Score,
    "precision": keras.metrics.Precision,
    "auc": lambda: keras.metrics.AUC(num_thresholds=5),
    "f1_score": keras.metrics.F1Score,
    "mean_iou": lambda: keras.metrics.MeanIoU(num_classes=3),
    "sensitivity_at_specificity": lambda: keras.metrics.SensitivityAtSpecificity(0.5, num_thresholds=5),
    "top_k": lambda: keras.metrics.TopKCategoricalAccuracy(k=2),
    "mean_metric_wrapper": lambda: keras.metrics.MeanMetricWrapper(lambda y, p: tf.abs(y - p)),
    "concordance": keras.metrics.ConcordanceCorrelation,
    "pearson": keras.metrics.PearsonCorrelation,
    "false_negatives": lambda: keras.metrics.FalseNegatives(thresholds=[0.3, 0.6]),
    "recall_at_precision": lambda: keras.metrics.RecallAtPrecision(0.5, num_thresholds=5),
}


def _updated(metric: Any) -> Any:
    def function(x: Any) -> Any:
        if isinstance(metric, (keras.metrics.Sum,)) or type(metric) is keras.metrics.Mean:
            metric.update_state(x, sample_weight=tf.sigmoid(x))
        elif isinstance(metric, keras.metrics.MeanIoU):
            metric.update_state(tf.argmax(x, 1), tf.argmin(x, 1))
        else:
            metric.update_state(tf.cast(x > 0.0, tf.float32), tf.sigmoid(tf.reverse(x, [0])))
        return metric.result()

    return function


TRAPS.update({f"metric_{name}": Trap(lambda make=make: _updated(make())) for name, make in METRICS.items()})


# ------------------------------------------------------------------------------------- of all types
TYPES = ("float16", "bfloat16", "float64", "int8", "int16", "int64", "uint8", "bool", "complex64")


def _of_type(name: str) -> Any:
    state = tf.Variable(tf.cast([1, 0, 1], name))

    def function(x: Any) -> Any:
        new = tf.cast(tf.reduce_sum(tf.abs(x), 0) * 7.0, name)
        if name == "bool":
            state.assign(tf.math.logical_xor(state, x[0] > 0.0))
        elif "64" in name:
            # JAX stores these in 32 bits.
            state.assign(state + tf.cast(tf.round(tf.reduce_sum(x, 0)), name))
        else:
            state.assign_add(new)
            state.assign(state * state - new)
        return state.read_value(), tf.cast(tf.math.real(tf.cast(state, "complex64")), "float32")

    return function


TRAPS.update({f"variable_of_{name}": Trap(lambda name=name: _of_type(name)) for name in TYPES})


# ------------------------------------------------------------------------------------- layers of Keras
@TRAPS.made(
    lambda: (drawn(),), lambda: (drawn(), Keywords(training=True)), lambda: (drawn(6), Keywords(training=False)),
    lambda: (drawn(), Keywords(training=True)),
)  # fmt: skip
def training_flag_reaches_inner_layers() -> Any:
    inner = keras.Sequential([_dense(), L.BatchNormalization(momentum=0.5), L.Activation("tanh")])
    given = keras.Input((3,))
    return keras.Model(given, L.BatchNormalization(momentum=0.9)(inner(inner(given))))


@TRAPS.made()
def layer_that_counts_only_in_training() -> Any:
    class Counts(keras.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x: Any, training: bool = False) -> Any:
            if training:
                self.count.assign_add(1.0)
            return x + self.count

    layer = Counts()
    return lambda x: (layer(x, training=True), layer(x), layer(x, training=True))


@TRAPS.made(
    lambda: (whole(2, 5, most=7),),
    lambda: (whole(2, 5, most=7, seed=1),),
    lambda: (whole(3, 4, most=7, seed=2),),
)
def mask_of_an_embedding_reaches_a_layer() -> Any:
    model = keras.Sequential(
        [L.Embedding(7, 4, mask_zero=True), L.LSTM(3, return_sequences=True), L.GlobalAveragePooling1D()]
    )
    model.build((None, None))
    return model


@TRAPS.made(lambda: (whole(2, 5, most=7),), lambda: (whole(2, 5, most=7, seed=1),))
def mask_that_a_layer_computes() -> Any:
    class Hides(keras.Layer):
        def compute_mask(self, x: Any, mask: Any = None) -> Any:
            return tf.reduce_sum(x, -1) > 0.0

        def call(self, x: Any) -> Any:
            return x * 2.0

    embedding, hides, rnn = L.Embedding(7, 4), Hides(), L.GRU(3)

    def function(x: Any) -> Any:
        y = embedding(x)
        return rnn(y, mask=hides.compute_mask(y))

    embedding.build((None, None))
    rnn.build((None, None, 4))
    hides.supports_masking = True
    return function


@TRAPS.made(
    lambda: (whole(2, 5, most=3),),
    lambda: (whole(2, 5, most=3, seed=1),),
    lambda: (whole(3, 6, most=3, seed=2),),
)
def attention_with_the_mask_of_an_embedding() -> Any:
    embedding, attention = L.Embedding(3, 4, mask_zero=True), L.MultiHeadAttention(2, 2)
    embedding.build((None, None))
    attention.build((None, None, 4), (None, None, 4))

    def function(x: Any) -> Any:
        y = embedding(x)
        return attention(y, y, use_causal_mask=True, return_attention_scores=True)

    return function


@TRAPS.made()
def regularisers_and_losses_of_a_model() -> Any:
    class Sparse(keras.Layer):
        def call(self, x: Any) -> Any:
            self.add_loss(tf.reduce_mean(tf.abs(x)))
            return x

    model = keras.Sequential([_dense(kernel_regularizer="l2"), Sparse(), _dense(bias_regularizer="l1")])
    model.build((None, 3))

    def function(x: Any) -> Any:
        y = model(x)
        return y, sum(model.losses), len(model.losses)

    return function


@TRAPS.made()
def constraint_of_a_weight() -> Any:
    layer = _dense(kernel_constraint="non_neg")
    layer.build((None, 3))

    def function(x: Any) -> Any:
        layer.kernel.assign(layer.kernel.constraint(layer.kernel - tf.reduce_mean(x)))
        return layer(x)

    return function


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(6),), lambda: (tf.cast(drawn(), tf.float16),))
def policy_of_a_layer() -> Any:
    layer = L.Dense(3, kernel_initializer="orthogonal", dtype="mixed_bfloat16")
    layer.build((None, 3))
    return lambda x: (layer(x), layer.kernel + 0.0, layer.compute_dtype == "bfloat16")


@TRAPS.made()
def cast_of_a_variable_of_another_policy() -> Any:
    class Own(keras.Layer):
        def build(self, shape: Any) -> None:
            self.w = self.add_weight(shape=(3,), initializer="ones")

        def call(self, x: Any) -> Any:
            self.w.assign(self.w + tf.cast(tf.reduce_mean(x), self.w.dtype))
            return x * self.w

    layer = Own(dtype="mixed_float16")
    layer.build((None, 3))
    return layer


@TRAPS.made()
def functional_model_with_a_shared_stateful_layer() -> Any:
    class Feedback(keras.Layer):
        def build(self, shape: Any) -> None:
            self.last = self.add_weight(shape=(shape[-1],), trainable=False, initializer="zeros")

        def call(self, x: Any) -> Any:
            y = x + self.last
            self.last.assign(keras.ops.mean(y, 0))
            return y

        def compute_output_spec(self, x: Any) -> Any:
            return keras.KerasTensor(x.shape, x.dtype)

    layer, given = Feedback(), keras.Input((3,))
    return keras.Model(given, [layer(given), layer(layer(given) * 2.0)])


@TRAPS.made()
def model_of_a_model_of_a_model() -> Any:
    given = keras.Input((3,))
    inner = keras.Model(given, _dense()(given), name="inner")
    middle = keras.Model(given, L.Add()([inner(given), inner(inner(given))]), name="middle")
    return keras.Model(given, [middle(given), inner(middle(given))])


@TRAPS.made()
def part_of_a_model() -> Any:
    given = keras.Input((3,))
    hidden = _dense()(given)
    whole_model = keras.Model(given, _dense(2)(hidden))
    part = keras.Model(given, hidden)

    def function(x: Any) -> Any:
        part.layers[-1].kernel.assign(part.layers[-1].kernel * 0.9)
        return part(x), whole_model(x)

    return function


@TRAPS.made()
def model_from_its_configuration() -> Any:
    given = keras.Input((3,))
    model = keras.Model(given, L.BatchNormalization()(_dense(2)(given)))
    again = keras.Model.from_config(model.get_config())
    again.set_weights([w + 0.5 for w in model.get_weights()])
    return again


@TRAPS.made()
def clone_of_a_model() -> Any:
    model = keras.Sequential([keras.Input((3,)), _dense(), L.LayerNormalization()])
    copy = keras.models.clone_model(model)

    def function(x: Any) -> Any:
        model.layers[0].kernel.assign_add(tf.ones((3, 3)))
        return model(x) - copy(x)

    return function


@TRAPS.made(
    lambda: ({"a": drawn(), "b": [drawn(seed=1)]},), lambda: ({"b": [drawn(6)], "a": drawn(6, seed=1)},)
)
def layer_of_a_structure_with_state() -> Any:
    class Mixes(keras.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.total = self.add_weight(shape=(3,), initializer="zeros", trainable=False)

        def call(self, tree: Any) -> Any:
            self.total.assign_add(tf.reduce_sum(tree["a"], 0))
            return {"y": tree["b"][0] * self.total, "rest": (tree["a"], [self.total + 0.0])}

    return Mixes()


@TRAPS.made()
def state_that_a_property_reads() -> Any:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.raw = tf.Variable([1.0, 2.0, 3.0])

        @property
        def scale(self) -> Any:
            return tf.nn.softplus(self.raw)

        def __call__(self, x: Any) -> Any:
            before = self.scale
            self.raw.assign_sub(self.scale)
            return before * x, self.scale * x

    return Model()


@TRAPS.made(errors={"jax": "more than 32 bits only where jax_enable_x64 is set"})
def counters_of_64_bits() -> Any:
    steps, bits = tf.Variable(2**40, dtype=tf.int64), tf.Variable(7, dtype=tf.int32)

    def function(x: Any) -> Any:
        steps.assign_add(2**33)
        bits.assign(tf.bitwise.left_shift(bits, 5) + 1)
        return tf.cast(steps // 2**33, tf.float32) * x, bits + 0, steps % 1000003

    return function


@TRAPS.made(lambda: (drawn(5),), lambda: (drawn(4, seed=1),), lambda: (drawn(3, seed=2),))
def running_variance_by_welford() -> Any:
    count, mean, total = (tf.Variable(tf.zeros(shape)) for shape in ((), (3,), (3,)))

    @tf.function
    def function(x: Any) -> Any:
        for row in x:
            count.assign_add(1.0)
            delta = row - mean
            mean.assign_add(delta / count)
            total.assign_add(delta * (row - mean))
        return mean + 0.0, total / count

    return function


@TRAPS.made()
def queue_of_the_last_batches() -> Any:
    memory, size = tf.Variable(tf.zeros((3, 3))), tf.Variable(0)

    def function(x: Any) -> Any:
        memory.assign(tf.concat([memory[1:], tf.reduce_mean(x, 0)[None]], 0))
        size.assign(tf.minimum(size + 1, 3))
        return tf.reduce_sum(memory, 0) / tf.cast(size, tf.float32)

    return function


@TRAPS.made(lambda: (drawn(1),), lambda: (drawn(1, seed=1),), lambda: (drawn(1, seed=2),))
def cache_of_keys_at_a_place() -> Any:
    keys, place = tf.Variable(tf.zeros((6, 3))), tf.Variable(0)

    @tf.function
    def function(x: Any) -> Any:
        keys[place].assign(x[0])
        place.assign_add(1)
        scores = tf.linalg.matvec(keys, x[0])
        hidden = tf.range(6) >= place
        return tf.nn.softmax(tf.where(hidden, -1e9, scores))

    return function


@TRAPS.made()
def state_of_two_threads_of_code() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def reads(x: Any) -> Any:
        return x * state

    @tf.function
    def writes(x: Any) -> Any:
        state.assign(tf.reduce_mean(x, 0))

    def function(x: Any) -> Any:
        first = reads(x)
        writes(x)
        return first, reads(x)

    return function


@TRAPS.made()
def vocabulary_of_a_codebook() -> Any:
    codes = tf.Variable(np.random.default_rng(0).standard_normal((4, 3)).astype("float32"), trainable=False)

    @tf.function
    def function(x: Any) -> Any:
        nearest = tf.argmin(tf.reduce_sum((x[:, None] - codes[None]) ** 2, -1), -1)
        counts = tf.math.unsorted_segment_sum(tf.ones(tf.shape(x)[0]), nearest, 4)
        sums = tf.math.unsorted_segment_sum(x, nearest, 4)
        codes.assign(
            tf.where(
                counts[:, None] > 0.0, codes * 0.5 + 0.5 * sums / tf.maximum(counts, 1.0)[:, None], codes
            )
        )
        return nearest, tf.gather(codes, nearest)

    return function
