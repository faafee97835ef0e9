"""Traps with dtypes: promotion, division, overflow, casts, booleans, complex numbers, half precision, NaN and
infinity.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf

from .table import ELSEWHERE, Traps, drawn, whole

TRAPS = Traps()
_INTEGERS = (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64)
# JAX has no 64-bit dtypes by default, so numbers overflow earlier.
_SHORT = tuple(dtype for dtype in _INTEGERS if dtype.size < 8)
_SIGNED = _SHORT[:3]
_FLOATS = (tf.float16, tf.bfloat16, tf.float32, tf.float64)


def _of(dtype: Any, seed: int = 0, least: int = 0, most: int = 100) -> Any:
    return tf.constant(np.random.default_rng(seed).integers(least, most, (4, 3)), dtype)


def _each(*dtypes: Any, **options: Any) -> tuple[Any, ...]:
    return tuple(
        functools.partial(lambda dtype, seed: (_of(dtype, seed, **options),), dtype, seed)
        for seed, dtype in enumerate(dtypes)
    )


def _two(*dtypes: Any, least: int = 1) -> tuple[Any, ...]:
    return tuple(
        functools.partial(
            lambda dtype, seed: (_of(dtype, seed, least), _of(dtype, seed + 9, least, 12)), dtype, seed
        )
        for seed, dtype in enumerate(dtypes)
    )


def _floats(*dtypes: Any) -> tuple[Any, ...]:
    return tuple(
        functools.partial(lambda dtype, seed: (tf.cast(drawn(4, seed=seed) * 3, dtype),), d, seed)
        for seed, d in enumerate(dtypes)
    )


_SPECIAL = (
    lambda: (tf.constant([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5]),),
    lambda: (tf.constant([1.0, np.nan, -0.0, 3e38, -3e38, 0.5]),),
    lambda: (tf.constant([np.inf, 2.5, 3.5, -0.5]),),
)
_COMPLEX = (
    lambda: (tf.complex(drawn(), drawn(seed=1)),),
    lambda: (tf.complex(drawn(5), drawn(5, seed=3)),),
    lambda: (tf.cast(drawn(), tf.complex128),),
)
_TRUTH = (
    lambda: (drawn() > 0, drawn(seed=1) > 0),
    lambda: (drawn(6) > 0, drawn(6, seed=2) > 0),
    lambda: (drawn() > 9, drawn() > -9),
)

TRAPS.rows(*_two(*_INTEGERS))(
    floor_of_whole_numbers=lambda a, b: (a // b, a % b),
    greatest_and_least=lambda a, b: (tf.maximum(a, b), tf.minimum(a, b), a.dtype.max, a.dtype.min),
    compares_whole_numbers=lambda a, b: (a > b, a == b, tf.cast(a >= b, a.dtype)),
    sum_of_a_narrow_type=lambda a, b: (tf.reduce_sum(a), tf.reduce_prod(b, 0), tf.cumsum(a)),
    whole_numbers_to_floats=lambda a, b: (
        tf.cast(a, tf.float32) / tf.cast(b, tf.float32),
        tf.cast(a, tf.float16),
    ),
    whole_numbers_to_each_other=lambda a, b: (
        tf.cast(a, tf.int8),
        tf.cast(a * b, tf.uint8),
        tf.cast(a, tf.int64),
        tf.cast(a, tf.bool),
    ),
    sorted_whole_numbers=lambda a, b: (
        (tf.sort(a, 0), tf.sort(b, 1, "DESCENDING")) if a.dtype not in (tf.uint32, tf.uint64) else a
    ),
)
TRAPS.rows(*_two(*_SHORT))(
    sums_that_overflow=lambda a, b: (a + b + a, a - b - a, a * b),
    bitwise_of_whole_numbers=lambda a, b: (
        tf.bitwise.bitwise_and(a, b),
        tf.bitwise.bitwise_or(a, b),
        tf.bitwise.invert(a),
    ),
    exclusive_or_of_whole_numbers=lambda a, b: tf.bitwise.bitwise_xor(a, b),
    number_of_python_beside_whole_numbers=lambda a, b: (a + 3, a * 2, 7 - b, a // 4, a % 4),
    shifts_of_whole_numbers=lambda a, b: (tf.bitwise.left_shift(a, b % 5), tf.bitwise.right_shift(a, b % 5)),
    extremes_of_a_narrow_type=lambda a, b: (tf.reduce_max(a), tf.reduce_min(b, 1), tf.argmax(a, 0)),
)
TRAPS.rows(*_two(tf.uint64), errors={"torch": "not implemented for 'UInt64'"})(
    extremes_of_the_widest_type=lambda a, b: (tf.reduce_max(a), tf.reduce_min(b, 1)),
    shifts_of_the_widest_type=lambda a, b: tf.bitwise.left_shift(a, b % 5),
)
TRAPS.rows(*_two(*_SIGNED, least=-40))(
    floor_of_negative_numbers=lambda a, b: (
        a // -7,
        a % -7,
        a % 7,
        tf.math.floormod(a, -5),
        tf.truncatediv(a, tf.ones_like(a) * 7),
    ),
    absolute_of_narrow_numbers=lambda a, b: (abs(a), -a, tf.sign(a), abs(tf.constant(a.dtype.min, a.dtype))),
    negative_to_unsigned=lambda a, b: (
        tf.cast(a, tf.uint8),
        tf.cast(a, tf.uint32),
        tf.cast(tf.cast(a, tf.uint16), a.dtype),
    ),
    true_division_of_whole_numbers=lambda a, b: (
        a / 7,
        tf.math.truediv(a, tf.ones_like(a) * 3),
        tf.divide(a, 4),
    ),
    means_of_whole_numbers=lambda a, b: (tf.reduce_mean(a), tf.reduce_mean(a, 0)),
    square_of_narrow_numbers=lambda a, b: (a * a, a * a * a, (a - b) * (a - b)),
    clipped_whole_numbers=lambda a, b: tf.clip_by_value(a, -10, 10),
)
TRAPS.rows(*_each(tf.int32, tf.int64, least=-5, most=6))(
    power_of_whole_numbers=lambda a: (a**2, a**3, tf.pow(a, 5), a**0),
    product_of_matrices_of_whole_numbers=lambda a: (
        tf.matmul(a, a, transpose_b=True),
        tf.tensordot(a, a, [[0], [0]]),
    ),
    sums_along_axes_of_whole_numbers=lambda a: (
        tf.cumsum(a, 1),
        tf.math.cumprod(a, 0),
        tf.reduce_sum(a, [0, 1]),
    ),
    ranges_of_whole_types=lambda a: (
        tf.range(5, dtype=a.dtype) * a[0, 0],
        tf.range(a.shape[0], dtype=a.dtype),
        tf.cast(a, tf.float64) / 3,
    ),
    one_hot_of_negative_numbers=lambda a: tf.one_hot(a, 4, on_value=2, off_value=-1, dtype=a.dtype),
    bincount_of_a_type=lambda a: tf.math.bincount(
        tf.abs(tf.reshape(a, [-1])), minlength=7, maxlength=7, dtype=a.dtype
    ),
    argsort_of_whole_numbers=lambda a: (tf.argsort(a, 1, stable=True), tf.argmin(a, 0, tf.int32)),
    scatter_of_whole_numbers=lambda a: tf.tensor_scatter_nd_add(a, [[0], [0]], tf.ones((2, 3), a.dtype)),
)
TRAPS.rows(*_floats(*_FLOATS))(
    numbers_of_python_beside_floats=lambda x: (x + 1, x * 0.1, 2 / x, x**2, 1.5 - x, x // 1, x % 1),
    size_beside_floats=lambda x: (x * x.shape[0], x / x.shape[1], x + tf.cast(tf.shape(x)[0], x.dtype)),
    constants_of_a_type=lambda x: (x + tf.constant(0.1, x.dtype), tf.zeros((2,), x.dtype), tf.ones_like(x)),
    sums_of_a_float_type=lambda x: (tf.reduce_sum(x), tf.reduce_mean(x, 0), tf.reduce_max(x)),
    rounding_of_floats=lambda x: (tf.round(x * 2) / 2, tf.floor(x), tf.math.ceil(x)),
    casts_between_floats=lambda x: (
        tf.cast(x, tf.float16),
        tf.cast(x, tf.float64),
        tf.cast(tf.cast(x, tf.float32), x.dtype),
    ),
    floats_to_whole_numbers=lambda x: (
        tf.cast(x, tf.int32),
        tf.cast(x * 10, tf.int8),
        tf.cast(x, tf.bool),
        tf.cast(tf.abs(x), tf.uint8),
    ),
    products_of_a_float_type=lambda x: x * x[0] - x @ tf.eye(3, dtype=x.dtype),
    functions_of_a_float_type=lambda x: (tf.exp(x / 4), tf.tanh(x), tf.nn.relu(x), tf.sqrt(tf.abs(x))),
    softmax_of_a_float_type=lambda x: (tf.nn.softmax(x), tf.nn.log_softmax(x, 0)),
    comparisons_of_floats=lambda x: (x > 0.5, tf.equal(x, x), tf.where(x > 0, x, tf.zeros_like(x))),
    limits_of_a_float_type=lambda x: (x.dtype.max, x.dtype.min, x.dtype.size, x.dtype.name),
    selected_by_type=lambda x: x * (2 if x.dtype == tf.float16 else 3 if x.dtype == "float64" else 4),
)
TRAPS.rows(*_floats(tf.float32, tf.float64, tf.float32))(
    type_of_a_mix=lambda x: tf.cast(x, tf.float64) * np.float64(0.1) + np.pi,
    scalar_of_numpy_beside_floats=lambda x: x * tf.cast(np.float64(0.1), x.dtype) + np.asarray(2),
    saturated_casts=lambda x: (
        tf.saturate_cast(x * 100, tf.uint8),
        tf.saturate_cast(x * 100, tf.int8),
        tf.saturate_cast(x, tf.float16),
    ),
    division_of_floats=lambda x: (
        x // 0.7,
        x % 0.7,
        x // -0.7,
        x % -0.7,
        tf.math.floordiv(x, 2),
        tf.math.divide_no_nan(x, tf.round(x)),
    ),
    powers_of_floats=lambda x: (tf.abs(x) ** 0.5, x**3, 2**x, x**-1, x**0, 0.0**0.0 * x),
    rounding_half_to_even=lambda x: (
        tf.round(tf.constant([0.5, 1.5, 2.5, -0.5], x.dtype)),
        tf.math.rint(x * 4) / 4,
    ),
    bytes_of_floats=lambda x: tf.bitcast(x, tf.uint8).shape[-1] * x,
    equality_of_close_floats=lambda x: (tf.abs(x - (x + 1e-6)) < 1e-4, tf.equal(x + 0.1 - 0.1, x).dtype.name),
    large_whole_floats=lambda x: tf.cast(tf.constant(16777217, tf.int32), x.dtype) + tf.zeros_like(x),
    small_differences=lambda x: (x + 1e3) - 1e3,
    python_integer_powers=lambda x: (x**2.0, tf.pow(x, 2), tf.pow(2, 3), tf.pow(2.0, tf.cast(3, tf.float32))),
    rsub_and_rdiv=lambda x: (1 - x, 1 / (tf.abs(x) + 1), 2 // (tf.abs(x) + 1), 5 % (tf.abs(x) + 1)),
    negative_zero=lambda x: (-(x * 0.0), 1.0 / (x * 0.0), tf.math.sign(-0.0 * x)),
    linspace_of_a_type=lambda x: (
        tf.linspace(x[0, 0], x[1, 1], 4),
        tf.range(tf.constant(0.0, x.dtype), 1.0, 0.25),
    ),
    random_of_a_type=lambda x: (
        x
        + tf.random.stateless_uniform((3,), [1, 2], dtype=tf.float32, maxval=1.0)
        .numpy()
        .astype(x.dtype.as_numpy_dtype)
    ),
)
TRAPS.rows(
    *_floats(tf.float32, tf.float64), errors={"jax": "JAX has no float64 unless jax_enable_x64 is set"}
)(
    bits_of_floats=lambda x: tf.bitcast(x, tf.int32 if x.dtype == tf.float32 else tf.int64),
)
TRAPS.rows(*_floats(tf.float32))(
    bits_of_short_floats=lambda x: (tf.bitcast(x, tf.int32), tf.bitcast(tf.bitcast(x, tf.int32), tf.float32)),
)
TRAPS.rows(*_SPECIAL)(
    infinity_minus_infinity=lambda x: (x - x, x * 0.0, x / x),
    maximum_with_nan=lambda x: (tf.maximum(x, 0.0), tf.minimum(0.0, x)),
    reductions_with_nan=lambda x: (tf.reduce_sum(x), tf.reduce_prod(x), tf.reduce_any(tf.math.is_nan(x))),
    comparisons_with_nan=lambda x: (x == x, x != x, x > 0, x <= 0, tf.equal(x, x[0])),
    where_with_nan=lambda x: (
        tf.where(tf.math.is_finite(x), x, 0.0),
        tf.where(tf.math.is_inf(x), tf.sign(x), x),
    ),
    clip_with_infinity=lambda x: tf.clip_by_value(tf.where(tf.math.is_nan(x), 0.0, x), -2.0, 2.0),
    logarithm_of_negative=lambda x: (tf.math.log(x), tf.sqrt(x), tf.math.log1p(x), tf.math.rsqrt(x)),
    exponentials_at_the_edge=lambda x: (
        tf.exp(x),
        tf.math.expm1(x),
        tf.sigmoid(x),
        tf.tanh(x),
        tf.nn.softplus(x),
        tf.nn.elu(x),
    ),
    rounding_of_special_numbers=lambda x: (tf.round(x), tf.floor(x), tf.sign(x), tf.abs(x), -x),
    powers_of_special_numbers=lambda x: (x**0, tf.abs(x) ** 0.5, x**2, x**-1, tf.pow(0.0, x)),
    quotients_of_special_numbers=lambda x: (
        tf.math.divide_no_nan(x, 0.0),
        tf.math.multiply_no_nan(x, 0.0),
        tf.math.reciprocal_no_nan(x),
        1 / x,
    ),
    logical_of_special_numbers=lambda x: (tf.cast(x, tf.bool), tf.math.logical_not(tf.cast(x, tf.bool))),
    softmax_with_infinity=lambda x: tf.nn.softmax(tf.where(tf.math.is_nan(x), -np.inf, tf.minimum(x, 5.0))),
    logsumexp_with_infinity=lambda x: tf.reduce_logsumexp(tf.where(tf.math.is_nan(x), -np.inf, x)),
    xlogy_of_special_numbers=lambda x: (
        tf.math.xlogy(0.0, x),
        tf.math.xlog1py(0.0, x),
        tf.math.xdivy(0.0, x),
    ),
    nan_to_num=lambda x: tf.where(x != x, tf.zeros_like(x), x),
    trigonometry_of_special_numbers=lambda x: (
        tf.math.atan(x),
        tf.math.atan2(x, 0.0),
        tf.math.atan2(0.0, x),
        tf.math.asinh(x),
    ),
    is_something=lambda x: (
        tf.math.is_nan(x),
        tf.math.is_inf(x),
        tf.math.is_finite(x),
        tf.math.is_strictly_increasing(x),
    ),
    cumulative_sums_with_infinity=lambda x: (tf.cumsum(x), tf.math.cumprod(x)),
    counts_of_special_numbers=lambda x: (tf.math.count_nonzero(x), tf.math.zero_fraction(x)),
    read_special_number=lambda x: (float(x[0]), x * 2.0 if float(x[1]) > 0 else x),
    nan_decides=lambda x: x * 2.0 if x[0] == x[0] else x - 1.0,
)
TRAPS.rows(*_COMPLEX)(
    arithmetic_of_complex=lambda z: (z * z, z / (z + 1), z - 1j, 2 * z, z + 1.5, -z),
    parts_of_complex=lambda z: (
        tf.math.real(z),
        tf.math.imag(z),
        tf.abs(z),
        tf.math.angle(z),
        tf.math.conj(z),
    ),
    functions_of_complex=lambda z: (tf.exp(z), tf.sqrt(z), tf.math.log(z), tf.sin(z), tf.tanh(z / 4)),
    powers_of_complex=lambda z: (z**2, z**0.5, tf.square(z)),
    sums_of_complex=lambda z: (tf.reduce_sum(z, 0), tf.reduce_mean(z), tf.cumsum(z), tf.reduce_prod(z, 1)),
    products_of_complex=lambda z: (
        tf.matmul(z, z, adjoint_b=True),
        tf.linalg.adjoint(z),
        tf.transpose(z, conjugate=True),
    ),
    equality_of_complex=lambda z: (z == z, z != tf.math.conj(z)),
    transforms_of_complex=lambda z: (tf.signal.fft(z), tf.signal.ifft(tf.signal.fft(z))),
    complex_from_parts=lambda z: tf.complex(tf.math.real(z) * 2, tf.math.imag(z)),
    complex_is_read=lambda z: (z * complex(z[0, 0]), abs(complex(z[0, 1]))),
    complex_to_real=lambda z: tf.cast(tf.math.real(z), tf.float32) if z.dtype.is_complex else z,
    sign_of_complex=lambda z: tf.sign(z),
    where_of_complex=lambda z: tf.where(tf.math.real(z) > 0, z, tf.zeros_like(z)),
)
TRAPS.rows(*_TRUTH)(
    operators_of_truth=lambda a, b: (a & b, a | b, a ^ b, ~a),
    logic_of_truth=lambda a, b: (tf.logical_and(a, b), tf.logical_or(a, True), tf.math.logical_xor(a, b)),
    sums_of_truth=lambda a, b: (
        tf.reduce_sum(tf.cast(a, tf.int32)),
        tf.math.count_nonzero(b, 0),
        tf.reduce_mean(tf.cast(a, tf.float32)),
    ),
    reductions_of_truth=lambda a, b: (
        tf.reduce_all(a),
        tf.reduce_any(b, 0),
        tf.reduce_all(a, 1, keepdims=True),
    ),
    truth_to_numbers=lambda a, b: (
        tf.cast(a, tf.int8) + tf.cast(b, tf.int8),
        tf.cast(a, tf.float16),
        tf.where(a, 1, 0),
    ),
    equality_of_truth=lambda a, b: (a == b, a != b, tf.equal(a, True)),
    selects_by_truth=lambda a, b: (
        tf.where(a, 1.0, -1.0),
        tf.boolean_mask(tf.cast(b, tf.int32), a),
        tf.where(a),
    ),
    argmax_of_truth=lambda a, b: tf.argmax(tf.cast(a, tf.int32), 1),
    pads_of_truth=lambda a, b: tf.pad(a, [[1, 0], [0, 1]], constant_values=True),
)


@TRAPS.function(
    lambda: (whole(4, 3, most=9),),
    lambda: (tf.cast(whole(4, 3), tf.int64),),
    lambda: (drawn(),),
    lambda: (tf.cast(drawn(), tf.float16),),
)
def same_code_for_each_type(x: Any) -> Any:
    return x + x, x * 2, tf.reduce_sum(x, 0), tf.reduce_max(x), tf.cast(x, tf.float32) / 3.0, x.dtype.name


@TRAPS.function(lambda: (whole(4, 3), drawn()), lambda: (whole(5, 3), drawn(5)), raises={})
def types_have_to_be_the_same(n: Any, x: Any) -> Any:
    try:
        return n + x
    except (TypeError, tf.errors.InvalidArgumentError):
        return tf.cast(n, tf.float32) + x


@TRAPS.function(lambda: (whole(4),), lambda: (whole(5),))
def float_beside_whole_numbers(n: Any) -> Any:
    try:
        return n * 0.5
    except (TypeError, ValueError, tf.errors.InvalidArgumentError):
        return tf.cast(n, tf.float32) * 0.5


@TRAPS.function(
    lambda: (np.arange(4),),
    lambda: (np.arange(4, dtype="float64"),),
    lambda: (np.arange(5) > 2,),
    lambda: (np.float64(2.0),),
)
def types_of_numpy_arguments(x: Any) -> Any:
    return tf.convert_to_tensor(x), tf.cast(x, tf.float32) * 2.0


@TRAPS.function(
    lambda: (drawn(), np.float64(0.1)),
    lambda: (drawn(), np.float64(0.2)),
    lambda: (drawn(5), np.float64(-0.5)),
)
def double_of_numpy_beside_floats(x: Any, scale: Any) -> Any:
    return x * scale


@TRAPS.function(
    lambda: (drawn(), 3),
    lambda: (drawn(), 2.5),
    lambda: (drawn(), np.int32(2)),
    lambda: (drawn(), np.array(4.0, "float32")),
)
def convert_to_tensor_of_each(x: Any, n: Any) -> Any:
    one = tf.convert_to_tensor(n)
    return one, one.dtype.name, x * tf.cast(one, tf.float32)


@TRAPS.function(lambda: (whole(3),), lambda: (whole(3, seed=2),), errors={ELSEWHERE: ""})
def quantised_integers(n: Any) -> Any:
    return tf.quantization.quantize(tf.cast(n, tf.float32), 0.0, 9.0, tf.quint8).output


_MOST = 2147483647

TRAPS.rows(lambda: (whole(4),), lambda: (whole(6, seed=1),))(
    constants_that_overflow=lambda x: (
        tf.constant(_MOST) + 1 + x,
        tf.constant(65536) * 65536 + x,
        -tf.constant(-_MOST - 1) + x,
    ),
    sums_of_constants_that_overflow=lambda x: (
        tf.reduce_sum([_MOST, _MOST]) + x,
        tf.reduce_prod([_MOST, _MOST]) + x,
        tf.cumsum([_MOST, 1]) + x[:2],
    ),
    powers_of_constants_that_overflow=lambda x: (
        tf.pow(tf.constant(10), 12) + x,
        tf.square(tf.constant(100000)) + x,
        abs(tf.constant(-_MOST - 1)),
    ),
    constant_that_overflows_decides=lambda x: (
        x * 3 if tf.constant(_MOST) + 1 > 0 else x,
        tf.where(tf.constant(_MOST) + 1 > 0, x, -x),
    ),
    sizes_that_overflow=lambda x: (
        tf.shape(x)[0] * _MOST * 3 + x,
        tf.cast(tf.shape(x)[0] * 65536 * 65536, tf.float32),
    ),
    sizes_in_a_narrow_type=lambda x: (
        tf.cast(tf.shape(x)[0] * 200, tf.int8),
        tf.cast(tf.shape(x)[0] * 16777217, tf.float32),
    ),
)


@TRAPS.function(
    lambda: (whole(4, most=200),),
    lambda: (whole(4, most=200, seed=1),),
    lambda: (whole(5, most=200, seed=2),),
    errors={"jax": "JAX has numbers of more than 32 bits only where jax_enable_x64 is set"},
)
def hash_of_whole_numbers(n: Any) -> Any:
    code = tf.constant(5381, tf.int32)
    for place in range(4):
        code = code * 33 + n[place]
    return code, tf.bitwise.bitwise_xor(code, 0x5BD1E995), tf.cast(code, tf.int64) * 2654435761


@TRAPS.function(
    lambda: (tf.cast(whole(4, most=200), tf.uint32),),
    lambda: (tf.cast(whole(5, most=200, seed=1), tf.uint32),),
    errors={"jax": "JAX has numbers of more than 32 bits only where jax_enable_x64 is set"},
)
def hash_of_unsigned_numbers(n: Any) -> Any:
    mixed = n * tf.constant(2654435761, tf.uint32)
    mixed = tf.bitwise.bitwise_xor(mixed, tf.bitwise.right_shift(mixed, tf.constant(15, tf.uint32)))
    return mixed, tf.cast(mixed, tf.int64), tf.cast(mixed, tf.float64), tf.cast(mixed, tf.float32)
