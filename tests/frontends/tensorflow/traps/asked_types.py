"""Traps with queries before a decision: classes, attributes, strings and modes of tensors, sizes and
TensorFlow itself.
"""

from __future__ import annotations

import collections.abc
import numbers
import typing
from typing import Any

import numpy as np
import tensorflow as tf

from .table import Traps, drawn, whole

TRAPS = Traps()
_TYPES = (
    lambda: (drawn(),),
    lambda: (tf.cast(drawn(), tf.float64),),
    lambda: (whole(4, 3),),
    lambda: (drawn() > 0,),
    lambda: (drawn(6),),
)
_ANY = (lambda: (drawn(),), lambda: (2.5,), lambda: (3,), lambda: ([1.0, 2.0],), lambda: (drawn(5),))
_KINDS = "bifc"


def _told(*answers: Any) -> float:
    """Encode the truth of the answers as a number."""
    return float(sum((3**place) * bool(answer) for place, answer in enumerate(answers)))


TRAPS.rows()(
    tensor_is_a_tensor=lambda x: (
        x
        + _told(
            tf.is_tensor(x), isinstance(x, tf.Tensor), isinstance(x, tf.Variable), isinstance(x, np.ndarray)
        )
    ),
    result_is_a_tensor=lambda x: (
        x + _told(tf.is_tensor(x * 2), isinstance(x[0], tf.Tensor), isinstance(x.shape, tf.TensorShape))
    ),
    size_is_an_int=lambda x: (
        x
        + _told(
            isinstance(x.shape[0], int),
            isinstance(x.shape[0], float),
            isinstance(x.shape[0], numbers.Integral),
        )
    ),
    size_is_no_tensor=lambda x: (
        x + _told(tf.is_tensor(x.shape[0]), isinstance(x.shape[0], tf.Tensor), np.isscalar(x.shape[0]))
    ),
    size_has_no_shape=lambda x: (
        x + _told(hasattr(x.shape[0], "shape"), hasattr(x.shape[0], "dtype"), hasattr(x.shape[0], "numpy"))
    ),
    type_of_a_size=lambda x: (
        x + _told(type(x.shape[0]) is int, type(x.shape[0] * 2) == int, type(x.shape[0] / 2) is float)  # noqa: E721
    ),
    class_of_a_size=lambda x: (
        x + _told(x.shape[0].__class__ is int, issubclass(type(x.shape[0]), int), callable(x.shape[0]))
    ),
    name_of_the_class_of_a_size=lambda x: x + len(type(x.shape[0]).__name__),
    size_is_none=lambda x: (
        x + _told(x.shape[0] is None, x.shape[0] is not None, None in x.shape, x.shape[0] == None)  # noqa: E711
    ),
    size_or_tensor_of_it=lambda x: x * float(x.shape[0] if x.shape[0] is not None else tf.shape(x)[0]),
    shape_is_known=lambda x: (
        x + _told(x.shape.is_fully_defined(), x.shape.rank == 2, x.shape.ndims == 2, x.shape.dims is not None)
    ),
    dimensions_of_a_shape=lambda x: (
        x + _told(x.shape.dims[0].value == 4, x.shape.dims[1] == 3, len(x.shape.dims) == 2)
    ),
    shape_against_a_list=lambda x: (
        x + _told(x.shape == [4, 3], x.shape == (4, 3), x.shape == tf.TensorShape([4, 3]), x.shape != [6, 3])
    ),
    shape_against_unknown=lambda x: (
        x
        + _told(
            x.shape == [None, 3], x.shape.is_compatible_with([None, 3]), x.shape.is_compatible_with([4, None])
        )
    ),
    shape_is_merged=lambda x: x + x.shape.merge_with([None, 3])[0],
    shape_with_a_rank=lambda x: x + x.shape.with_rank(2)[1] + x.shape.with_rank_at_least(1)[0],
    shape_as_a_list=lambda x: (
        x + x.shape.as_list()[0] + x.shape[1:].as_list()[0] + x.shape[:1].num_elements()
    ),
    shape_in_a_text=lambda x: x + _told("4" in str(x.shape), "None" in repr(x.shape), "6, 3" in f"{x.shape}"),
    text_of_a_shape=lambda x: (str(x.shape), f"{x.shape}", repr(tuple(x.shape)), "%s" % (x.shape,), x),
    shape_as_a_key=lambda x: x * {tf.TensorShape([4, 3]): 2.0}.get(x.shape, 5.0),
    tuple_of_a_shape_as_a_key=lambda x: x * {(4, 3): 2.0, (6, 3): 3.0}.get(tuple(x.shape), 5.0),
    shape_is_true=lambda x: x + _told(x.shape, x[0, 0].shape, bool(x.shape[2:])),
    shape_is_iterated=lambda x: x + sum(1.0 for size in x.shape if size == 4),
    length_of_a_tensor=lambda x: x + len(x) + len(x[0]) + len(tf.concat([x, x], 0)),
    shapes_are_compared=lambda x: (
        x + _told(x.shape == tf.transpose(x).shape, (x + 1).shape == x.shape, x[:2].shape == x[2:4].shape)
    ),
    most_specific_shape=lambda x: (
        x + _told(x.shape.most_specific_compatible_shape(tf.TensorShape([4, 3])).is_fully_defined())
    ),
    shape_is_concatenated=lambda x: tf.zeros(x.shape.concatenate([2])) + x[..., None],
    static_value=lambda x: (
        x + (0.0 if tf.get_static_value(x[0, 0]) is None else float(tf.get_static_value(x[0, 0])))
    ),
    static_value_of_a_constant=lambda x: x + tf.get_static_value(tf.constant([1.0, 2.0, 3.0])),
    static_value_of_the_rank=lambda x: x + float(tf.get_static_value(tf.rank(x))),
    symbolic_or_not=lambda x: x + _told(tf.is_symbolic_tensor(x), tf.is_symbolic_tensor(x + 1)),
    keras_tensor_or_not=lambda x: x + _told(tf.keras.backend.is_keras_tensor(x), tf.keras.ops.is_tensor(x)),
    has_a_graph=lambda x: (
        x + _told(hasattr(x, "numpy"), hasattr(x, "assign"), hasattr(x, "values"), hasattr(x, "row_splits"))
    ),
    has_an_operation=lambda x: x + _told(_has(x, "ref"), _has(x, "consumers_of"), _has(x, "assign_add")),
    default_of_a_graph=lambda x: x + _told(getattr(x, "made_up", None), getattr(x, "dtype", None)),
    runs_eagerly_or_not=lambda x: (
        x
        + _told(
            tf.executing_eagerly(), tf.inside_function(), tf.compat.v1.executing_eagerly_outside_functions()
        )
    ),
    building_of_functions=lambda x: x + _told(tf.config.functions_run_eagerly()),
    tensor_is_iterable=lambda x: (
        x
        + _told(isinstance(x, collections.abc.Iterable), isinstance(x, collections.abc.Sequence), callable(x))
    ),
    tensor_is_hashable=lambda x: (
        x + _told(isinstance(x, collections.abc.Hashable), isinstance(x, collections.abc.Sized))
    ),
    tensor_is_a_number=lambda x: (
        x + _told(isinstance(x[0, 0], numbers.Number), isinstance(x[0, 0], float), np.isscalar(x[0, 0]))
    ),
    type_of_a_tensor_by_name=lambda x: x + _told("Tensor" in type(x).__name__, type(x) is type(x + 1)),
    shape_of_numpy_of_a_tensor=lambda x: x + len(np.shape(x)) + np.ndim(x) + np.shape(x)[0] + np.size(x),
    dtype_is_compared=lambda x: (
        x + _told(x.dtype == tf.float32, x.dtype == "float32", x.dtype == np.float32, x.dtype is tf.float32)
    ),
    dtype_says=lambda x: (
        x
        + _told(
            x.dtype.is_floating, x.dtype.is_integer, x.dtype.is_complex, x.dtype.is_bool, x.dtype.is_unsigned
        )
    ),
    dtype_in_a_text=lambda x: (
        x.dtype.name,
        str(x.dtype),
        f"{x.dtype!r}",
        x.dtype.as_numpy_dtype.__name__,
        x,
    ),
    limits_of_a_dtype=lambda x: x + x.dtype.limits[1] + x.dtype.as_datatype_enum,
    dtype_as_a_key=lambda x: x * {tf.float32: 2.0, tf.float64: 3.0}[x.dtype],
    dtype_of_a_variable=lambda x: (
        x * tf.cast(tf.Variable(2.0, trainable=False).dtype.size, tf.float32)
        if False
        else x * tf.float32.size
    ),
    spec_of_a_tensor=lambda x: (
        x
        + _told(
            tf.TensorSpec.from_tensor(x).is_compatible_with(x), tf.TensorSpec([None, 3]).is_compatible_with(x)
        )
    ),
    spec_of_types=lambda x: (
        x
        + _told(
            tf.type_spec_from_value(x).dtype == tf.float32,
            isinstance(tf.type_spec_from_value(x), tf.TensorSpec),
        )
    ),
    structure_is_nested=lambda x: (
        x + _told(tf.nest.is_nested(x), tf.nest.is_nested([x]), tf.nest.is_nested((x.shape[0],)))
    ),
    device_of_a_tensor=lambda x: x + _told("GPU" in x.device, "CPU" in x.device),
    ndim_of_a_tensor=lambda x: x * x.ndim + x[0].ndim + x[0, 0].ndim + tf.rank(x[0]).numpy(),
    operator_methods=lambda x: x.__add__(1.0).__mul__(x).__getitem__(0).__neg__(),
    get_shape_of_a_tensor=lambda x: x * x.get_shape()[0] + x.get_shape().as_list()[1],
    ensure_by_set_shape=lambda x: (x + 1.0) * (1.0 if (x + 1.0).set_shape([None, 3]) is None else 2.0),
    format_of_a_tensor=lambda x: (f"{x[0, 0]:.3f}", x),
    text_of_a_tensor=lambda x: (str(x[0, 0]).startswith("tf.Tensor("), len(f"{tf.round(x[0])}"), x),
    repr_of_a_tensor=lambda x: ("shape=(3,)" in repr(x[0]), "numpy=" in repr(x[0]), x),
    text_of_a_size=lambda x: (
        str(x.shape[0]),
        repr(x.shape[0]),
        f"{x.shape[0]:03d}",
        "%d" % x.shape[0],
        format(x.shape[0], "x"),
        x,
    ),
    size_is_equal_by_class=lambda x: (
        x + _told(x.shape[0] == 4.0, x.shape[0] == "4", x.shape[0] in {4}, x.shape[0] in {4: 1})
    ),
    methods_of_a_size=lambda x: (
        x + x.shape[0].bit_length() + x.shape[0].real + x.shape[0].numerator + x.shape[0].conjugate()
    ),
    size_is_hashed=lambda x: x + hash(x.shape[0]) % 5 + len({x.shape[0], 4}),
    size_against_a_tensor=lambda x: x + tf.cast(tf.equal(x.shape[0], tf.shape(x)[0]), tf.float32),
    isinstance_of_several=lambda x: (
        x
        + _told(
            isinstance(x, (list, tf.Tensor)),
            isinstance(x.shape[0], (tf.Tensor, int)),
            isinstance(x, tf.Tensor | int),
        )
    ),
    typing_of_a_tensor=lambda x: (
        x + _told(isinstance(x, typing.Hashable), isinstance(x, tf.__internal__.types.Tensor))
    ),
)

TRAPS.rows(*_TYPES)(
    kind_of_a_dtype=lambda x: (
        tf.cast(x, tf.float32) * (1.0 + _KINDS.index(x.dtype.as_numpy_dtype().dtype.kind))
    ),
    float_or_not=lambda x: x * 2 if x.dtype.is_floating else tf.cast(x, tf.float32) - 0.5,
    branch_by_a_list_of_types=lambda x: tf.cast(x, tf.float32) if x.dtype in (tf.bool, tf.int32) else x,
    promoted_by_a_type=lambda x: tf.cast(x, tf.float32 if x.dtype.size < 8 else tf.float64) / 3,
    zeros_of_the_same_type=lambda x: tf.zeros(x.shape, x.dtype),
    named_type=lambda x: (x.dtype.name, tf.as_dtype(x.dtype).size, x.dtype.base_dtype == x.dtype),
    text_of_the_type=lambda x: tf.cast(x, tf.float32) * len(x.dtype.name),
    numpy_type=lambda x: tf.cast(x, tf.float32) * np.dtype(x.dtype.as_numpy_dtype).itemsize,
    result_type_of_numpy=lambda x: tf.cast(
        x, tf.as_dtype(np.result_type(x.dtype.as_numpy_dtype, np.float32))
    ),
)

TRAPS.rows(*_ANY)(
    any_argument_is_converted=lambda x: tf.convert_to_tensor(x) * 2,
    any_argument_is_cast=lambda x: tf.cast(x, tf.float32) + 0.5,
    any_argument_by_class=lambda x: (
        type(x).__name__ in ("int", "float", "list"),
        tf.cast(x, tf.float32) * 2.0,
    ),
    any_argument_by_shape=lambda x: tf.reduce_sum(tf.cast(x, tf.float32)) + len(np.shape(x)),
    any_argument_is_a_scalar=lambda x: tf.cast(x, tf.float32) * (2.0 if np.isscalar(x) else 3.0),
    any_argument_is_a_tensor=lambda x: tf.cast(x, tf.float32) * (2.0 if tf.is_tensor(x) else 3.0),
    any_argument_in_numpy=lambda x: np.asarray(x, "float32") * 2.0 if not tf.is_tensor(x) else x,
    any_argument_by_length=lambda x: tf.cast(x, tf.float32) * (len(x) if hasattr(x, "__len__") else 7.0),
)


def _has(item: Any, name: str) -> bool:
    try:
        getattr(item, name)
    except (AttributeError, TypeError):
        return False
    return True


@TRAPS.function()
def kinds_of_results(x: Any) -> Any:
    first = tf.split(x, [1, x.shape[0] - 1])
    second = tf.unique(tf.reshape(x, [-1]))
    third = tf.math.top_k(x, 2)
    return (
        type(first).__name__,
        hasattr(third, "values"),
        isinstance(second, tuple),
        first[1],
        third.indices,
        second._fields,
    )


@TRAPS.function()
def asks_before_it_converts(x: Any) -> Any:
    def size(item: Any) -> Any:
        return tf.cast(item, tf.float32) if tf.is_tensor(item) else float(item)

    return x * size(x.shape[0]) + size(tf.shape(x)[1])


@TRAPS.function()
def keras_shape_idiom(x: Any) -> Any:
    static, dynamic = x.shape.as_list(), tf.shape(x)
    return tf.reshape(
        x, [dynamic[i] if size is None else size for i, size in enumerate(static)][::-1]
    ), static


@TRAPS.function()
def dispatches_by_isinstance(x: Any) -> Any:
    def total(item: Any) -> Any:
        if isinstance(item, tf.Tensor):
            return tf.reduce_sum(item)
        if isinstance(item, (list, tuple)):
            return sum(total(one) for one in item)
        return float(item) if isinstance(item, (int, float)) else 100.0

    return total([x, (x[0], 2), [x.shape[0], x.shape[0] / 2], "text"])


@TRAPS.function()
def matches_by_class(x: Any) -> Any:
    match x.shape[0]:
        case int():
            y = x * 2.0
        case tf.Tensor():
            y = x * 3.0
        case _:
            y = x * 5.0
    match tuple(x.shape):
        case (4, columns):
            return y + columns
        case (rows, 3) if rows > 5:
            return y - rows
        case _:
            return y


@TRAPS.function(*_TYPES)
def table_of_types(x: Any) -> Any:
    table = {tf.float32: tf.exp, tf.float64: tf.tanh, tf.int32: lambda y: y * 3, tf.bool: tf.logical_not}
    return table[x.dtype](x)
