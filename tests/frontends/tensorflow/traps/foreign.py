"""Traps with objects that are no arrays: ragged and sparse tensors, strings, tables, datasets, callbacks.

Most are refused, with the user's line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .table import ELSEWHERE, EVERYWHERE, Traps, whole

TRAPS = Traps()
_TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1, 2]), tf.constant([5.0, 6.0, 7.0])), 0.0
)
_HERE = "foreign.py"


@TRAPS.function(errors={ELSEWHERE: _HERE})
def ragged(x: Any) -> Any:
    return tf.RaggedTensor.from_row_lengths(tf.reshape(x, [-1]), [2, x.shape[0] * 3 - 2]).to_tensor()


@TRAPS.function()
def ragged_from_tensor(x: Any) -> Any:
    return tf.reduce_sum(tf.RaggedTensor.from_tensor(x, padding=0.0), 1)


@TRAPS.function()
def sparse_product(x: Any) -> Any:
    sparse = tf.sparse.from_dense(tf.nn.relu(x))
    return tf.sparse.sparse_dense_matmul(sparse, tf.eye(3))


@TRAPS.function()
def sparse_and_back(x: Any) -> Any:
    return tf.sparse.to_dense(tf.sparse.from_dense(tf.nn.relu(x))) * 2.0


@TRAPS.function(errors={EVERYWHERE: _HERE})
def texts(x: Any) -> Any:
    return x + tf.cast(tf.strings.length(tf.strings.as_string(x[0, 0])), tf.float32)


@TRAPS.function(errors={EVERYWHERE: "texts have no counterpart"})
def text_is_returned(x: Any) -> Any:
    return x, tf.strings.as_string(x)


@TRAPS.function(lambda: (tf.constant(["a", "b"]),), errors={EVERYWHERE: "x holds texts"})
def text_is_taken(x: Any) -> Any:
    return tf.strings.length(x)


@TRAPS.function(
    lambda: (whole(3, most=3),), lambda: (whole(4, most=3, seed=1),), errors={EVERYWHERE: "table"}
)
def table(x: Any) -> Any:
    return _TABLE.lookup(x)


@TRAPS.function(errors={EVERYWHERE: _HERE})
def numpy_function(x: Any) -> Any:
    return tf.numpy_function(np.sin, [x], tf.float32) * 2.0


@TRAPS.function(errors={EVERYWHERE: _HERE})
def py_function(x: Any) -> Any:
    return tf.py_function(lambda a: a * 2.0, [x], tf.float32)


@TRAPS.function(errors={EVERYWHERE: _HERE})
def dataset_is_made(x: Any) -> Any:
    total = tf.zeros((3,))
    for row in tf.data.Dataset.from_tensor_slices(x):
        total += row
    return total


@TRAPS.function(errors={EVERYWHERE: _HERE})
@tf.function
def dataset_in_a_tf_function(x: Any) -> Any:
    total = tf.zeros((3,))
    for row in tf.data.Dataset.range(3):
        total += tf.cast(row, tf.float32) * x[0]
    return total


@TRAPS.function()
def numpy_with_tensorflow_between(x: Any) -> Any:
    y = np.exp(-np.abs(tf.tanh(x)))
    return tf.reduce_sum(y * x, 0) + np.float32(2.0)


@TRAPS.function()
def constants_of_numpy(x: Any) -> Any:
    window = np.hanning(3).astype("float32")
    return x * window + np.arange(3, dtype="float32") + np.eye(3, dtype="float32")[0]


@TRAPS.function(draws=True)
def draws_numbers(x: Any) -> Any:
    return x + tf.random.normal(tf.shape(x)), tf.random.uniform((x.shape[0], 2), -1, 1), tf.random.shuffle(x)


@TRAPS.function()
def draws_of_a_seed(x: Any) -> Any:
    return x + tf.random.stateless_uniform(tf.shape(x), seed=[1, 2]), tf.random.stateless_normal(
        (2, 3), seed=[3, x.shape[0]]
    )


@TRAPS.made()
def generator_of_random_numbers() -> Any:
    source = tf.random.Generator.from_seed(3)
    return lambda x: x + source.normal(tf.shape(x))


@TRAPS.function(draws=True)
@tf.function
def draws_in_a_loop(x: Any) -> Any:
    total = tf.zeros_like(x)
    for _ in tf.range(3):
        total += tf.random.normal(tf.shape(x))
    return total


@TRAPS.function(errors={ELSEWHERE: _HERE})
def time_is_asked(x: Any) -> Any:
    return x * tf.cast(tf.timestamp() > 0.0, tf.float32)


@TRAPS.function(errors={EVERYWHERE: _HERE})
def strings_in_a_branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.strings.to_number(tf.strings.as_string(x)), lambda: x)


@TRAPS.function(errors={EVERYWHERE: _HERE})
def indexed_slices(x: Any) -> Any:
    return tf.IndexedSlices(x, tf.range(tf.shape(x)[0]))


@TRAPS.function(errors={EVERYWHERE: _HERE})
def tensor_array_is_returned(x: Any) -> Any:
    return tf.TensorArray(tf.float32, size=2).write(0, x[0]).write(1, x[1])


@TRAPS.function(errors={EVERYWHERE: "queues"})
def queue(x: Any) -> Any:
    waiting = tf.queue.FIFOQueue(3, [tf.float32])
    waiting.enqueue(x)
    return waiting.dequeue()


@TRAPS.function(errors={EVERYWHERE: _HERE})
def image_is_decoded(x: Any) -> Any:
    return tf.io.decode_raw(tf.io.serialize_tensor(x), tf.uint8)


@TRAPS.function(errors={ELSEWHERE: ""})
def quantised(x: Any) -> Any:
    return tf.quantization.quantize(x, -3.0, 3.0, tf.qint8).output


@TRAPS.function()
def quantised_and_back(x: Any) -> Any:
    return tf.quantization.fake_quant_with_min_max_args(x, -2.0, 2.0)


@TRAPS.function()
def complex_numbers(x: Any) -> Any:
    z = tf.complex(x, -x)
    return tf.abs(z), tf.math.real(z * tf.math.conj(z)), tf.math.angle(z), z


@TRAPS.function()
def bits(x: Any) -> Any:
    return tf.bitcast(x, tf.int32), tf.bitwise.bitwise_and(tf.cast(x * 10, tf.int32), 3)


@TRAPS.function()
def einsum(x: Any) -> Any:
    return tf.einsum("ij,kj->ik", x, x), tf.einsum("...j->...", x), tf.tensordot(x, x, [[1], [1]])
