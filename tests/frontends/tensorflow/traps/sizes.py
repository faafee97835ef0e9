"""Traps with sizes: Python numbers, tensors from ``tf.shape``, and expressions of both."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .table import Traps, drawn

TRAPS = Traps()
_RANKS = (
    lambda: (drawn(),),
    lambda: (tf.reshape(drawn(), (2, 2, 3)),),
    lambda: (tf.reshape(drawn(8), (4, 2, 3)),),
    lambda: (drawn(6),),
)
_TO_ONE = (lambda: (drawn(),), lambda: (drawn(1),), lambda: (drawn(0),), lambda: (drawn(3),))


@TRAPS.function(*_RANKS)
def ranks(x: Any) -> Any:
    return tf.reshape(x, (-1, x.shape[-1])) * len(x.shape)


@TRAPS.function(*_TO_ONE)
def one_row_or_none(x: Any) -> Any:
    return tf.reduce_sum(x, 0), x * 2.0, tf.concat([x, x], 0)


@TRAPS.function(*_TO_ONE)
def broadcast_of_one_row(x: Any) -> Any:
    return x + tf.ones((tf.shape(x)[0], 1)) if x.shape[0] else x


@TRAPS.function(*_TO_ONE)
def squeezes_one_row(x: Any) -> Any:
    return tf.squeeze(x) * 2.0


@TRAPS.function()
def halves(x: Any) -> Any:
    half = x.shape[0] // 2
    return x[:half], x[half:], x[-1], x[-half:]


@TRAPS.function()
def halves_of_tensors(x: Any) -> Any:
    half = tf.shape(x)[0] // 2
    return x[:half], x[half:], x[-half:], x[half]


@TRAPS.function()
def parity_of_a_size(x: Any) -> Any:
    return x * 2.0 if x.shape[0] % 2 == 0 else x + 1.0


@TRAPS.function()
def parity_of_a_tensor(x: Any) -> Any:
    return tf.cond(tf.shape(x)[0] % 2 == 0, lambda: x * 2.0, lambda: x + 1.0)


@TRAPS.function()
def reshapes_by_sizes(x: Any) -> Any:
    rows, columns = tf.unstack(tf.shape(x))
    return (
        tf.reshape(x, [columns, rows]),
        tf.reshape(x, tf.concat([[1], tf.shape(x)], 0)),
        tf.reshape(x, [1, tf.size(x)]),
    )


@TRAPS.function()
def reverses_a_shape(x: Any) -> Any:
    return tf.reshape(x, tf.reverse(tf.shape(x), [0])), tf.zeros(tf.reverse(tf.shape(x), [0]))


@TRAPS.function()
def broadcasts_shapes(x: Any) -> Any:
    shape = tf.broadcast_dynamic_shape(tf.shape(x), [1, 3])
    return tf.broadcast_to(x[:1], shape)


@TRAPS.function()
def pads_to_a_multiple(x: Any) -> Any:
    missing = -tf.shape(x)[0] % 4
    return tf.pad(x, [[0, missing], [1, 0]])


@TRAPS.function()
def pads_in_python(x: Any) -> Any:
    missing = -x.shape[0] % 4
    return tf.pad(x, [[0, missing], [0, 0]]) if missing else x


@TRAPS.function()
def product_of_sizes(x: Any) -> Any:
    return tf.reshape(x, [tf.reduce_prod(tf.shape(x))]) / tf.cast(
        tf.size(x), tf.float32
    ), x.shape.num_elements()


@TRAPS.function()
def range_of_a_size(x: Any) -> Any:
    return (
        tf.range(tf.shape(x)[0]),
        tf.range(x.shape[0], 0, -1),
        tf.linspace(0.0, 1.0, tf.shape(x)[0]),
        tf.eye(x.shape[0]),
    )


@TRAPS.function()
def sizes_as_floats(x: Any) -> Any:
    return x / tf.sqrt(tf.cast(tf.shape(x)[0], tf.float32)), x * x.shape[0] ** 0.5


@TRAPS.function()
def smaller_of_two_sizes(x: Any) -> Any:
    return (
        x[: tf.minimum(tf.shape(x)[0], 5)],
        x[: min(x.shape[0], 5)],
        tf.math.top_k(x[:, 0], k=min(3, x.shape[0])).values,
    )


@TRAPS.function()
def size_after_a_mask(x: Any) -> Any:
    kept = tf.boolean_mask(x, x[:, 0] > -100.0)
    return kept.shape[1], tf.shape(kept), kept / tf.cast(tf.shape(kept)[0], tf.float32)


@TRAPS.function()
def shape_is_compared(x: Any) -> Any:
    return x * 2.0 if x.shape == (4, 3) else x if x.shape[0] == 6 else -x


@TRAPS.function()
def shape_of_a_result(x: Any) -> Any:
    y = tf.matmul(x, x, transpose_b=True)
    return y * y.shape[0] + tf.cast(tf.shape(y)[1], tf.float32), y.shape[0] == y.shape[1]


@TRAPS.function(
    lambda: (drawn(), drawn(5)),
    lambda: (drawn(), drawn(4)),
    lambda: (drawn(6), drawn(2)),
    lambda: (drawn(3), drawn(3)),
)
def equal_sizes_by_chance(a: Any, b: Any) -> Any:
    return tf.concat([a, b], 0), a.shape[0] == b.shape[0], tf.reduce_sum(a, 0) + tf.reduce_sum(b, 0)


@TRAPS.function(
    lambda: (drawn(), drawn(4)),
    lambda: (drawn(5), drawn(5)),
    lambda: (drawn(5), drawn(1)),
    lambda: (drawn(1), drawn(6)),
)
def broadcast_by_chance(a: Any, b: Any) -> Any:
    return a + b, tf.maximum(a, b)


@TRAPS.function()
def chunks(x: Any) -> Any:
    return tf.split(x, [1, -1], 0), tf.split(x, 3, 1), tf.unstack(x, axis=1)


@TRAPS.function()
def list_of_every_row(x: Any) -> Any:
    return [tf.reduce_sum(x[place]) for place in range(x.shape[0])]


@TRAPS.function()
def size_as_a_default(x: Any) -> Any:
    rows = tf.shape(x, out_type=tf.int64)[0]
    return rows * 2, tf.cast(rows, tf.float32) * x, tf.fill([rows, 2], 1.5)


@TRAPS.function()
def sequence_mask(x: Any) -> Any:
    lengths = tf.cast(tf.abs(x[:, 0]) * 2, tf.int32)
    return tf.sequence_mask(lengths, maxlen=tf.shape(x)[0]), tf.sequence_mask(lengths, 4, tf.float32)


@TRAPS.function()
def one_hot_of_a_size(x: Any) -> Any:
    return tf.one_hot(tf.range(tf.shape(x)[0]) % 3, 3), tf.one_hot(tf.argmax(x, 1), x.shape[1])


@TRAPS.function()
def ensures_a_shape(x: Any) -> Any:
    return tf.ensure_shape(x, (None, 3)) * 2.0


@TRAPS.function(lambda: (drawn(),), lambda: (drawn(5),), lambda: (drawn(4, 2),), raises={2: "Error"})
def ensures_another_shape(x: Any) -> Any:
    return tf.ensure_shape(x * 1.0, (None, 3)) * 2.0


@TRAPS.function()
def sets_a_shape(x: Any) -> Any:
    y = tf.boolean_mask(x, x[:, 0] > -100.0)
    y.set_shape((None, 3))
    return y + 1.0


@TRAPS.function(lambda: (drawn(6),), lambda: (drawn(6, seed=1),), lambda: (drawn(8),))
def frames(x: Any) -> Any:
    return (
        tf.signal.frame(x[:, 0], 3, 2),
        tf.signal.frame(x, 2, 1, axis=0),
        tf.signal.frame(x[:, 0], 4, 3, pad_end=True),
    )


@TRAPS.function(lambda: (drawn(64),), lambda: (drawn(64, seed=1),), lambda: (drawn(80),))
def short_time_fourier(x: Any) -> Any:
    return tf.signal.stft(tf.transpose(x), frame_length=16, frame_step=8)


@TRAPS.function(lambda: (drawn(64),), lambda: (drawn(64, seed=1),), lambda: (drawn(80),))
def short_time_fourier_and_back(x: Any) -> Any:
    spectrum = tf.signal.stft(tf.transpose(x), frame_length=16, frame_step=8, fft_length=32)
    return tf.signal.inverse_stft(
        spectrum, 16, 8, fft_length=32, window_fn=tf.signal.inverse_stft_window_fn(8)
    )


@TRAPS.function(lambda: (drawn(12),), lambda: (drawn(12, seed=1),), lambda: (drawn(16),))
def overlap_and_add(x: Any) -> Any:
    return tf.signal.overlap_and_add(tf.transpose(x), 1), tf.signal.overlap_and_add(
        tf.reshape(x, (-1, 4, 3)), 2
    )


@TRAPS.function()
def counts_of_whole_numbers(x: Any) -> Any:
    found = tf.cast(tf.abs(x[:, 0]) * 2, tf.int32)
    return tf.math.bincount(found, minlength=6, maxlength=6), tf.math.bincount(
        found, weights=x[:, 1], minlength=5, maxlength=5
    )


@TRAPS.function()
def counts_of_elements(x: Any) -> Any:
    found = tf.cast(tf.abs(x) * 2, tf.int32)
    return tf.math.bincount(found, axis=-1, minlength=8, maxlength=8)


@TRAPS.function()
def histogram(x: Any) -> Any:
    return tf.histogram_fixed_width(x, [-2.0, 2.0], nbins=5), tf.math.confusion_matrix(
        tf.cast(x[:, 0] > 0, tf.int32), tf.cast(x[:, 1] > 0, tf.int32), 2
    )


@TRAPS.function()
def meshgrid(x: Any) -> Any:
    return tf.meshgrid(tf.range(tf.shape(x)[0]), tf.range(3)), tf.roll(x, tf.shape(x)[0] // 2, 0)


@TRAPS.function(variants=1)
def ensures_its_own_size(x: Any) -> Any:
    return tf.ensure_shape(x * 1.0, (x.shape[0], 3)) * 2.0


@TRAPS.function(lambda: (drawn(),), lambda: (drawn(5),), raises={0: "", 1: ""})
def ensures_another_rank(x: Any) -> Any:
    return tf.ensure_shape(x * 1.0, (x.shape[0], 3, 4)) * 2.0


@tf.function
def _flattened(x: Any) -> Any:
    height, width = tf.reshape(x, (-1, 3, 1)).shape[1:]
    return tf.reshape(x, (-1, height * width))


@TRAPS.function(variants=1)
def known_part_of_an_inner_shape(x: Any) -> Any:
    return _flattened(x) * 2.0


@TRAPS.function(variants=1)
def ensures_its_own_computed_size(x: Any) -> Any:
    y = tf.ensure_shape(x * 1.0, tf.shape(x))
    y.set_shape((tf.shape(x)[0], None))
    return tf.ensure_shape(y, (tf.shape(x)[0], 3)) * 2.0


@TRAPS.function(lambda: (drawn(),), lambda: (drawn(5),), raises={0: "", 1: ""})
def ensures_another_computed_size(x: Any) -> Any:
    return tf.ensure_shape(x * 1.0, (tf.shape(x)[0] + 1, 3)) * 2.0
