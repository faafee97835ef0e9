"""Traps with what Python knows of arrays during a recording: elements, numbers, sizes, dtypes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from .table import Traps, drawn, whole

TRAPS = Traps()


@TRAPS.function(variants=2)
def branches_in_python(x: Any) -> Any:
    return x * 2.0 if tf.reduce_sum(x) > 0 else x - 1.0


@TRAPS.function()
def element_as_a_float(x: Any) -> Any:
    return x * float(x[0, 0])


@TRAPS.function()
def element_is_formatted(x: Any) -> Any:
    return x + len(f"{float(tf.reduce_sum(x)):.1f}")


@TRAPS.function()
def elements_by_numpy(x: Any) -> Any:
    return x * np.sign(x.numpy()[0]).astype("float32")


@TRAPS.function()
def function_of_numpy(x: Any) -> Any:
    return np.tanh(x) + x


@TRAPS.function()
def function_of_numpy_between(x: Any) -> Any:
    y = tf.exp(-tf.abs(x))
    return tf.convert_to_tensor(np.cumsum(y, axis=0)) * x


@TRAPS.function()
def sum_by_python(x: Any) -> Any:
    return sum(x[0]) + max(x[1]) - min(x[1])


@TRAPS.function()
def any_and_all(x: Any) -> Any:
    return x * 2.0 if any(row[0] > 1.0 for row in x) else x * 3.0


@TRAPS.function()
def sorted_by_python(x: Any) -> Any:
    return tf.stack(sorted(tf.unstack(x[0], num=3), key=float))


@TRAPS.function()
def math_on_an_element(x: Any) -> Any:
    return x * math.sqrt(abs(x[0, 0]))


@TRAPS.function()
def loop_of_python_to_an_element(x: Any) -> Any:
    for _ in range(int(tf.reduce_sum(tf.cast(x > 0, tf.int32)))):
        x = x * 0.9 + 0.1
    return x


@TRAPS.function()
def while_of_python(x: Any) -> Any:
    steps = 0
    while tf.reduce_sum(tf.abs(x)) < 60.0 and steps < 8:
        x, steps = x * 1.5, steps + 1
    return x, steps


@TRAPS.function()
def index_is_an_element(x: Any) -> Any:
    return x[int(tf.argmax(x[:, 0]))]


@TRAPS.function()
def index_of_a_list(x: Any) -> Any:
    return [x, -x, x * 2.0, x * 3.0][tf.argmax(x[0])]


@TRAPS.function()
def key_of_a_dict(x: Any) -> Any:
    return {True: x, False: -x}[bool(x[0, 0] > 0)]


@TRAPS.function()
def compares_with_none(x: Any) -> Any:
    return x if x is not None and x is not False else -x


@TRAPS.function()
def is_in_a_list(x: Any) -> Any:
    y = [x, x * 2.0]
    return y[0] if any(x is item for item in y) else y[1]


@TRAPS.function()
def equal_tensors(x: Any) -> Any:
    return tf.where(x == x[0], x, 0.0), (x != x[:1])


@TRAPS.function()
def whole_of_an_array_is_true(x: Any) -> Any:
    return x * 2.0 if tf.reduce_all(tf.math.is_finite(x)) and not tf.reduce_any(x > 2.0) else x


@TRAPS.function()
def and_or_not(x: Any) -> Any:
    positive = tf.reduce_sum(x) > 0
    large = tf.reduce_max(x) > 1.0
    return x * (1.0 if positive and large else 2.0 if positive or large else 3.0)


@TRAPS.function()
def assertion_of_python(x: Any) -> Any:
    assert tf.reduce_all(tf.abs(x) < 100.0)
    return x + 1.0


@TRAPS.function(
    lambda: (drawn(),), lambda: (drawn(seed=1) + 90,), lambda: (drawn(5),), raises={1: "too large"}
)
def raises_for_elements(x: Any) -> Any:
    if tf.reduce_max(x) > 50.0:
        raise ValueError("too large")
    return x + 1.0


@TRAPS.function()
def catches_its_own_exception(x: Any) -> Any:
    try:
        if x[0, 0] > 0:
            raise KeyError("positive")
        return x
    except KeyError:
        return -x


@TRAPS.function()
def dtype_decides(x: Any) -> Any:
    return x * (2.0 if x.dtype == tf.float32 else 3.0) + x.dtype.size + (1.0 if x.dtype.is_floating else 0.0)


@TRAPS.function()
def what_a_tensor_says_of_itself(x: Any) -> Any:
    return (
        x * x.ndim
        + x.shape.rank
        + (1.0 if tf.is_tensor(x) else 0.0)
        + (1.0 if isinstance(x, tf.Tensor) else 0.0)
    )


@TRAPS.function()
def runs_eagerly(x: Any) -> Any:
    return x * (1.0 if tf.executing_eagerly() else 2.0) + (3.0 if tf.inside_function() else 4.0)


@TRAPS.function()
def is_an_eager_tensor(x: Any) -> Any:
    return x * 2.0 if hasattr(x, "numpy") else x * 3.0


@TRAPS.function()
def items_of_a_tensor(x: Any) -> Any:
    return x + x[1, 2].numpy().item() * 2.0


@TRAPS.function()
def list_of_elements(x: Any) -> Any:
    return x + x[0].numpy().tolist()


@TRAPS.function()
def unpacks_rows(x: Any) -> Any:
    first, *rest = x
    return first + rest[-1]


@TRAPS.function()
def zip_of_rows(x: Any) -> Any:
    return [row * place for place, (row, _) in enumerate(zip(x, x[::-1]))]


@TRAPS.function()
def rounding_by_python(x: Any) -> Any:
    return x * round(float(x[0, 1]), 1)


@TRAPS.function()
def division_by_python(x: Any) -> Any:
    rows, columns = x.shape
    return x * (rows / columns) + rows // 2 + rows % 3 + (-rows) // 3


@TRAPS.function()
def division_of_whole_tensors(x: Any) -> Any:
    whole = tf.cast(x * 10, tf.int32)
    return whole // 3, whole % 3, whole / 3, -whole // 4


@TRAPS.function(
    lambda: (whole(4), 3), lambda: (whole(4, seed=1), 3), lambda: (whole(5), 2), lambda: (whole(5), 4)
)
def number_of_python_is_an_argument(x: Any, power: int) -> Any:
    return x**power + power


@TRAPS.function(
    lambda: (drawn(), 2.0), lambda: (drawn(), 3.5), lambda: (drawn(6), -1.0), lambda: (drawn(6), 2)
)
def float_of_python_is_an_argument(x: Any, scale: Any) -> Any:
    return x * scale if scale > 0 else x - scale


@TRAPS.function(lambda: (drawn(), True), lambda: (drawn(), False), lambda: (drawn(6), True))
def flag_is_an_argument(x: Any, flag: bool) -> Any:
    return tf.exp(x) if flag else x


@TRAPS.function(lambda: (drawn(), "tanh"), lambda: (drawn(), "relu"), lambda: (drawn(6), "tanh"))
def text_is_an_argument(x: Any, name: str) -> Any:
    return getattr(tf.nn, name)(x)


@TRAPS.function(lambda: (drawn(), None), lambda: (drawn(), drawn(seed=1)), lambda: (drawn(6), None))
def none_is_an_argument(x: Any, mask: Any) -> Any:
    return x if mask is None else x * mask


@TRAPS.function(
    lambda: (drawn(), np.float32(2.0)),
    lambda: (drawn(), np.float32(3.0)),
    lambda: (drawn(6), np.float32(2.0)),
)
def scalar_of_numpy_is_an_argument(x: Any, scale: Any) -> Any:
    return x * scale


@TRAPS.function(lambda: (np.ones((4, 3), "float32"),), lambda: (np.full((5, 3), 2.0, "float32"),))
def array_of_numpy_is_an_argument(x: Any) -> Any:
    return tf.exp(x) + x


@TRAPS.function(lambda: (whole(4, 3),), lambda: (whole(4, 3, seed=1),), lambda: (whole(5, 3, seed=2),))
def whole_numbers_overflow(x: Any) -> Any:
    return x * 2147483647 + 5, tf.cast(x, tf.int8) * 100


@TRAPS.function()
def float_becomes_whole(x: Any) -> Any:
    return tf.cast(x * 3.7, tf.int32), int(x[0, 0] * 10), tf.cast(tf.cast(x * 100, tf.uint8), tf.float32)


@TRAPS.function()
def nan_and_infinity(x: Any) -> Any:
    y = tf.math.log(x)
    return y, tf.reduce_max(y), tf.where(tf.math.is_nan(y), 0.0, y), tf.math.divide_no_nan(x, x - x)


@TRAPS.function()
def size_in_a_message(x: Any) -> Any:
    name = f"rows_{x.shape[0]}"
    return x + len(name)


@TRAPS.function()
def prints(x: Any) -> Any:
    tf.print("sum", tf.reduce_sum(x), output_stream="file:///dev/null")
    return x * 2.0


@TRAPS.function()
def tensor_of_python_numbers(x: Any) -> Any:
    return (
        x + tf.constant([1.0, float(x.shape[0]), x.shape[1]]) + tf.convert_to_tensor([x[0, 0], 2.0, x[1, 1]])
    )


@TRAPS.function()
def number_of_true_elements(x: Any) -> Any:
    return tf.boolean_mask(x, x[:, 0] > 0), x[x[:, 1] > 0], tf.where(x > 0)


@TRAPS.function()
def shape_that_elements_decide(x: Any) -> Any:
    count = tf.reduce_sum(tf.cast(x > 0, tf.int32))
    return tf.ones((count, 2)), tf.range(count)


@TRAPS.function()
def unique_elements(x: Any) -> Any:
    found, places = tf.unique(tf.cast(tf.reshape(x, [-1]), tf.int32))
    return found, places


@TRAPS.function()
def returns_python(x: Any) -> Any:
    return {
        "x": x,
        "rows": x.shape[0],
        "name": "a",
        "pair": (1, 2.5, None),
        "shape": list(x.shape),
        "more": [x[0], True],
    }


@TRAPS.function()
def returns_its_argument(x: Any) -> Any:
    return x, x, [x, x + 0.0]


@TRAPS.function()
def extremes_with_a_number_that_is_nan(x: Any) -> Any:
    nan = float("nan")
    return tf.maximum(x, nan), tf.minimum(x, nan), tf.maximum(nan, x)
