"""Traps with ``tf.experimental.numpy``: dtypes, promotion, functions of sizes, mixtures with TensorFlow's
arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .table import Traps, drawn, whole

TRAPS = Traps()
tnp = tf.experimental.numpy
_MANY = (lambda: (drawn(),), lambda: (drawn(5, seed=1),), lambda: (drawn(2, 3, seed=2),))
_WHOLE = (lambda: (whole(4, 3),), lambda: (whole(5, 3, seed=1),), lambda: (whole(2, 3, seed=2),))

TRAPS.rows(*_MANY)(
    sums_of_numpy=lambda x: (
        tnp.sum(x),
        tnp.sum(x, axis=0),
        tnp.prod(x, axis=1),
        tnp.mean(x),
        tnp.std(x, axis=0),
        tnp.var(x),
    ),
    extremes_of_numpy=lambda x: (
        tnp.max(x, axis=0),
        tnp.min(x),
        tnp.argmax(x, axis=1),
        tnp.argmin(x),
        tnp.amax(x),
    ),
    running_sums_of_numpy=lambda x: (tnp.cumsum(x), tnp.cumsum(x, axis=0), tnp.cumprod(x, axis=1)),
    joins_of_numpy=lambda x: (
        tnp.concatenate([x, x]),
        tnp.stack([x, x], axis=1),
        tnp.vstack([x, x]),
        tnp.hstack([x, x]),
        tnp.dstack([x, x]),
    ),
    splits_of_numpy=lambda x: (
        (tnp.split(x, 3, axis=1), tnp.array_split(x, 2, axis=1))
        if hasattr(tnp, "array_split")
        else tnp.split(x, 3, axis=1)
    ),
    shapes_of_numpy=lambda x: (
        tnp.reshape(x, (-1, 1)),
        tnp.ravel(x),
        tnp.transpose(x),
        tnp.swapaxes(x, 0, 1),
        tnp.moveaxis(x, 0, 1),
    ),
    new_axes_of_numpy=lambda x: (
        tnp.expand_dims(x, 0),
        tnp.squeeze(x[:1]),
        tnp.atleast_2d(x[0]),
        x[tnp.newaxis],
    ),
    ranges_of_numpy=lambda x: (
        tnp.arange(x.shape[0]),
        tnp.arange(0, x.shape[0], 2),
        tnp.linspace(0, 1, 3),
        tnp.eye(x.shape[0]),
    ),
    made_by_numpy=lambda x: (
        tnp.zeros((2, 3)),
        tnp.ones(x.shape),
        tnp.full((2,), 3),
        tnp.zeros_like(x),
        tnp.identity(2),
        tnp.tri(3),
    ),
    types_of_numpy=lambda x: (
        tnp.array(1.5),
        tnp.array(2),
        tnp.array([True]),
        tnp.asarray([1, 2.5]),
        tnp.float64(2) if False else tnp.array(2.0),
    ),
    products_of_numpy=lambda x: (
        tnp.dot(x, tnp.transpose(x)),
        tnp.matmul(x, x[0]),
        tnp.inner(x, x),
        tnp.outer(x[0], x[1]),
        tnp.tensordot(x, x, 2),
    ),
    einsum_of_numpy=lambda x: (
        tnp.einsum("ij->ji", x),
        tnp.einsum("ij,ij->i", x, x),
        tnp.vdot(x, x),
        tnp.trace(x),
    ),
    choices_of_numpy=lambda x: (
        tnp.where(x > 0, x, 0.0),
        tnp.where(x > 0, 1, 0),
        tnp.clip(x, -1, 1),
        tnp.maximum(x, 0),
        tnp.minimum(0, x),
    ),
    places_of_numpy=lambda x: (
        tnp.nonzero(x > 0),
        tnp.count_nonzero(x > 0),
        tnp.take(x, [2, 0], axis=1),
        tnp.argsort(x, axis=1),
    ),
    sorts_of_numpy=lambda x: (
        tnp.sort(x, axis=0),
        tnp.flip(x, 0),
        tnp.roll(x, 1, axis=1),
        tnp.rot90(x),
        tnp.fliplr(x),
    ),
    rounding_of_numpy=lambda x: (tnp.floor(x), tnp.ceil(x), tnp.sign(x), tnp.abs(x)),
    powers_of_numpy=lambda x: (
        tnp.sqrt(tnp.abs(x)),
        tnp.square(x),
        tnp.power(x, 2),
        tnp.exp2(x),
        tnp.log1p(tnp.abs(x)),
        tnp.hypot(x, x),
    ),
    angles_of_numpy=lambda x: (tnp.sin(x), tnp.arctan2(x, 2.0), tnp.deg2rad(x), tnp.tanh(x), tnp.sinc(x)),
    division_of_numpy=lambda x: (
        x // 0.3,
        tnp.mod(x, 0.3),
        tnp.floor_divide(x, 2),
        tnp.true_divide(x, 2),
        tnp.remainder(x, -0.3),
    ),
    comparisons_of_numpy=lambda x: (
        tnp.greater(x, 0),
        tnp.equal(x, x),
        tnp.isclose(x, x + 1e-9),
        tnp.allclose(x, x),
        tnp.logical_not(x > 0),
    ),
    checks_of_numpy=lambda x: (
        tnp.isnan(x),
        tnp.isfinite(x),
        tnp.any(x > 0),
        tnp.all(x > -9, axis=0),
        tnp.isscalar(2.0),
    ),
    broadcasts_of_numpy=lambda x: (
        tnp.broadcast_to(x[0], x.shape),
        tnp.tile(x, (1, 2)),
        tnp.repeat(x, 2, axis=0),
        tnp.meshgrid(x[0], x[1]),
    ),
    padding_of_numpy=lambda x: (
        tnp.pad(x, ((1, 0), (0, 2)), "constant"),
        tnp.diff(x, axis=1),
        tnp.append(x, x, axis=0),
    ),
    diagonals_of_numpy=lambda x: (
        tnp.diag(x[0]),
        tnp.diagonal(x),
        tnp.triu(x),
        tnp.tril(x, 1),
        tnp.diagflat(x[0]),
    ),
    mixes_of_numpy=lambda x: (
        x + tnp.array(2.0, "float32"),
        tf.exp(tnp.sin(x)),
        tnp.asarray(x) * 2,
        tnp.add(x, np.ones(3, "float32")),
    ),
    sizes_of_numpy=lambda x: (tnp.shape(x), tnp.ndim(x), x.shape[0] * tnp.ones(2)),
    average_of_numpy=lambda x: (
        tnp.average(x, axis=0),
        tnp.average(x, axis=1, weights=tnp.array([1.0, 2.0, 3.0], "float32")),
    ),
    nan_of_numpy=lambda x: (
        tnp.nansum(tnp.log(x)),
        tnp.nanmean(tnp.where(x > 0, x, np.nan)),
        tnp.nan_to_num(x) if hasattr(tnp, "nan_to_num") else x,
    ),
    indices_of_numpy=lambda x: (
        tnp.take_along_axis(x, tnp.argsort(x, axis=1), axis=1),
        tnp.vander(x[0], 3),
        tnp.kron(x[:1], x[:1]),
    ),
    polynomials_of_numpy=lambda x: (
        tnp.polyval([1.0, 2.0, 3.0], tf.cast(x, tf.float64)),
        tnp.heaviside(x, 0.5),
        tnp.cross(x, x[::-1]),
    ),
)

TRAPS.rows(*_WHOLE)(
    whole_numbers_of_numpy=lambda n: (
        n + 1,
        n / 2,
        n // 2,
        n % 3,
        tnp.sum(n),
        tnp.mean(n),
        tnp.prod(n, axis=0),
    ),
    promotion_of_numpy=lambda n: (
        tnp.add(n, 2.5),
        tnp.multiply(n, True),
        tnp.add(n, tnp.array(2, "int64")),
        tnp.true_divide(n, 3),
    ),
    promotion_beside_floats=lambda n: (
        tnp.add(n, tnp.array(1.5, "float32")),
        tnp.maximum(n, 1.5),
        tnp.where(n > 1, n, 0.5),
    ),
    bits_of_numpy=lambda n: (
        tnp.bitwise_and(n, 3),
        tnp.bitwise_or(n, 8),
        tnp.left_shift(n, 1) if hasattr(tnp, "left_shift") else n,
        tnp.bitwise_not(n),
    ),
    powers_of_whole_numbers=lambda n: (tnp.power(n, 2), tnp.square(n)),
    counts_of_numpy=lambda n: (tnp.gcd(n, 4), tnp.lcm(n, 4), tnp.count_nonzero(n, axis=0), tnp.sign(n - 2)),
    truth_of_numpy=lambda n: (tnp.logical_and(n, n > 1), tnp.any(n), tnp.all(n, axis=1), tnp.array(n, bool)),
    indexing_of_numpy=lambda n: (tnp.asarray(n)[0], tnp.take(n, [0, 1], axis=1), n[..., 1], n[::-1]),
    casts_of_numpy=lambda n: (
        tnp.asarray(n, "float32"),
        tnp.array(n, tnp.int8),
        tnp.result_type(tnp.int32, tnp.float32),
        tnp.promote_types("int8", "int32"),
    ),
)


@TRAPS.function(*_MANY)
def functions_in_a_loop_of_numpy(x: Any) -> Any:
    total = tnp.zeros((3,), tnp.float32)
    for row in x:
        total = tnp.maximum(total * 0.5, row)
    return total


@TRAPS.function(*_MANY)
def gradient_through_numpy(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tnp.sum(tnp.square(tnp.sin(x)) + tnp.where(x > 0, x, 0.1 * x))
    return tape.gradient(y, x)


@TRAPS.function(*_MANY)
@tf.function
def numpy_in_a_tf_function(x: Any) -> Any:
    y = tnp.mean(x, axis=0)
    if tnp.sum(y) > 0:
        y = tnp.exp(-y)
    return tnp.dot(x, y)
