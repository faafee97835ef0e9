"""Resampling of the last axes: positions and weights are computed as torch computes them, in the precision of the array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ...positions import antialias_taps, byte_weights, sample_taps
from .creation import size, sizes
from .indexing import moved_axis


def step_between(n: Any, out: Any, scale: float | None, align_corners: bool, real: tf.DType) -> tf.Tensor:
    """How far the position in the source moves for one step in the output."""
    if align_corners:
        return tf.cast(n - 1, real) / tf.cast(tf.maximum(out - 1, 1), real)
    return tf.constant(1 / scale, real) if scale else tf.cast(n, real) / tf.cast(out, real)


def nearest_elements(n: Any, out: Any, scale: float | None, exact: bool, small: Any) -> tf.Tensor:
    """The nearest source element for each output element: by its start, or with ``exact`` by its centre.

    Of ``small`` images, torch leaves the factor out where an axis keeps its size or doubles it.
    """
    index = tf.range(out)
    positions = tf.cast(index, tf.float32) + (0.5 if exact else 0)
    places = tf.minimum(tf.cast(tf.floor(positions * step_between(n, out, scale, False, tf.float32)), tf.int32), n - 1)
    return places if exact or not scale else tf.where(small & ((out == n) | (out == 2 * n)), index * n // out, places)


def cubic_taps(t: tf.Tensor, a: float = -0.75) -> list[tf.Tensor]:
    """The weights of the four neighbours of a point at ``t`` between the second and the third (cubic convolution)."""

    def near(d: tf.Tensor) -> tf.Tensor:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: tf.Tensor) -> tf.Tensor:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def weighted_neighbours(
    n: Any, out: Any, method: str, scale: float | None, align_corners: bool, real: tf.DType
) -> tuple[tf.Tensor, tf.Tensor]:
    """Places and weights [out, taps] of the source elements that make each output element; method linear or cubic."""
    step = step_between(n, out, scale, align_corners, real)
    index = tf.cast(tf.range(out), real)
    positions = index * step if align_corners else step * (index + 0.5) - 0.5
    if method == "linear":
        positions = tf.maximum(positions, 0)
    base = tf.minimum(tf.cast(tf.floor(positions), tf.int32), n - 1)
    t = tf.clip_by_value(positions - tf.cast(base, real), 0, 1)
    weights = [1 - t, t] if method == "linear" else cubic_taps(t)
    places = base[:, None] + (tf.range(2) if method == "linear" else tf.range(-1, 3))
    return tf.clip_by_value(places, 0, n - 1), tf.stack(weights, axis=-1)


def filter_at(method: str, x: tf.Tensor) -> tf.Tensor:
    """Triangle, cubic (a = -0.5) or Lanczos (3 lobes) filter at distances ``x``."""
    x, zero = tf.abs(x), tf.zeros([], x.dtype)
    if method == "linear":
        return tf.maximum(1 - x, zero)
    if method == "lanczos":
        turned = tf.where(x == 0, tf.ones_like(x), math.pi * x)
        waves = 3 * tf.sin(turned) * tf.sin(turned / 3) / (turned * turned)
        return tf.where(x < 3, tf.where(x == 0, tf.ones_like(x), waves), zero)
    a = -0.5
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * x * a - 4 * a
    return tf.where(x < 1, near, tf.where(x < 2, far, zero))


def filtered_neighbours(
    n: Any, out: Any, method: str, scale: float | None, align_corners: bool, real: tf.DType
) -> tuple[tf.Tensor, tf.Tensor]:
    """Places and weights [out, taps] with a filter that is as wide as one output element."""
    step = step_between(n, out, scale, align_corners, real)
    width = tf.maximum(step, 1)
    support = {"linear": 1, "cubic": 2, "lanczos": 3}[method] * width
    centres = step * (tf.cast(tf.range(out), real) + 0.5)
    first = tf.maximum(tf.cast(centres - support + 0.5, tf.int32), 0)
    last = tf.minimum(tf.cast(centres + support + 0.5, tf.int32), n)
    places = first[:, None] + tf.range(tf.reduce_max(tf.concat([last - first, [1]], 0)))
    weights = filter_at(method, (tf.cast(places, real) - centres[:, None] + 0.5) / width)
    weights = tf.where(places < last[:, None], weights, tf.zeros([], real))
    return tf.minimum(places, n - 1), weights / tf.reduce_sum(weights, 1, keepdims=True)


def weighted_sums(x: tf.Tensor, axis: int, places: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The weighted sums over the elements at ``places`` [out, taps] of ``axis``, which becomes ``out`` long."""
    elements = tf.gather(x, places, axis=axis)
    shape = [1] * axis + sizes(weights) + [1] * (len(x.shape) - axis - 1)
    return tf.reduce_sum(elements * tf.reshape(weights, shape), axis + 1)


def interpolate_bytes(
    x: tf.Tensor, space: Sequence[int], method: str, scales: Sequence[float | None], align_corners: bool, antialias: bool, first: int
) -> tf.Tensor:
    """``interpolate`` of uint8 in fixed point, one axis after the other from the last, each rounded: the very numbers that torch gives."""
    taps = antialias_taps if antialias else sample_taps
    for axis, out, scale in reversed(list(zip(range(first, len(x.shape)), space, scales))):
        if out == x.shape[axis]:
            continue
        places, weights = taps(x.shape[axis], out, method, scale, align_corners, np.float64)
        whole, bits = byte_weights(places, weights)
        total = weighted_sums(tf.cast(x, tf.int32), axis, tf.constant(places), tf.constant(whole))
        x = tf.cast(tf.clip_by_value(tf.bitwise.right_shift(total + (1 << bits - 1), bits), 0, 255), tf.uint8)
    return x


def interpolate(
    x: tf.Tensor,
    space: Sequence[Any],
    method: str = "nearest",
    *,
    scales: Sequence[float | None] | None = None,
    align_corners: bool = False,
    antialias: bool = False,
    layout: str = "channels_first",
) -> tf.Tensor:
    """``x`` with its axes of space resampled to ``space``; ``scales`` are the factors that positions are computed with."""
    scales = scales or (None,) * len(space)
    first = len(x.shape) - len(space) - (layout == "channels_last")
    nearest, small = method.startswith("nearest"), len(space) == 2 and space[0] + space[-1] <= 128
    if x.dtype == tf.uint8 and not nearest:
        return interpolate_bytes(x, space, method, scales, align_corners, antialias, first)
    real = tf.float64 if x.dtype == tf.float64 else tf.float32
    result = x if nearest else tf.cast(x, real)
    for axis, (out, scale) in enumerate(zip(space, scales), first):
        n = size(x, axis)
        if nearest:
            result = tf.gather(result, nearest_elements(n, out, scale, method == "nearest-exact", small), axis=axis)
        elif tf.is_tensor(n) or tf.is_tensor(out) or out != n or (method == "cubic" and not antialias and scale):  # torch leaves others
            neighbours = filtered_neighbours if antialias else weighted_neighbours
            result = weighted_sums(result, axis, *neighbours(n, out, method, scale, align_corners, real))
    return tf.cast(result, x.dtype)


def reflected(position: tf.Tensor, n: Any, align_corners: bool) -> tf.Tensor:
    """Positions reflected at the ends of an axis, at the centres or at the outer edges of its first and last elements."""
    start = 0.0 if align_corners else -0.5
    span = tf.cast(n - 1 if align_corners else n, position.dtype)
    distance = tf.abs(position - start)
    safe = tf.where(span == 0, tf.ones_like(span), span)
    turns, rest = tf.floor(distance / safe), distance % safe
    return tf.where(span == 0, tf.zeros_like(position), tf.where(turns % 2 == 0, rest, span - rest) + start)


def padded_position(position: tf.Tensor, n: Any, padding: str, align_corners: bool) -> tf.Tensor:
    """Positions inside of the array, as far as ``padding`` brings them there; no gradient flows at the ends and beyond."""
    if padding == "reflection":
        position = reflected(position, n, align_corners)
    if padding == "zeros":
        return position
    last = tf.cast(n - 1, position.dtype)
    return tf.where(position <= 0, tf.zeros_like(position), tf.where(position >= last, last, position))


def elements_at(x: tf.Tensor, places: Sequence[tf.Tensor]) -> tf.Tensor:
    """``x[batch, channels, *space]`` at integer ``places``, one array [batch, *out] for each axis of space; 0 outside."""
    inside, within = tf.constant(True), []
    for place, n in zip(places, sizes(x)[2:]):
        last = tf.cast(n - 1, place.dtype)
        inside = inside & (place >= 0) & (place <= last)
        within.append(tf.cast(tf.where(place >= 0, tf.minimum(place, last), tf.zeros_like(place)), tf.int32))
    found = tf.gather_nd(moved_axis(x, 1, -1), tf.stack(within, -1), batch_dims=1)
    return moved_axis(tf.where(inside[..., None], found, tf.zeros([], x.dtype)), -1, 1)


def grid_sample(x: tf.Tensor, grid: tf.Tensor, method: str = "linear", padding: str = "zeros", align_corners: bool = False) -> tf.Tensor:
    """``x[batch, channels, *space]`` at the positions ``grid[batch, *out, axes]``, -1 to 1 over each axis, the last axis first."""
    space = sizes(x)[2:]
    positions = []
    for axis, n in enumerate(space):
        position, count = grid[..., len(space) - 1 - axis], tf.cast(n, grid.dtype)
        position = (position + 1) / 2 * (count - 1) if align_corners else ((position + 1) * count - 1) / 2
        positions.append(position if method == "cubic" else padded_position(position, n, padding, align_corners))
    if method == "nearest":
        return elements_at(x, [tf.round(position) for position in positions])
    bases = [tf.floor(position) for position in positions]
    parts = [position - base for position, base in zip(positions, bases)]
    taps = [cubic_taps(t) if method == "cubic" else [1 - t, t] for t in parts]
    total = tf.zeros([], x.dtype)
    for corner in itertools.product(*(range(len(of_axis)) for of_axis in taps)):
        places = [base + (offset - 1 if method == "cubic" else offset) for base, offset in zip(bases, corner)]
        if method == "cubic":
            places = [padded_position(place, n, padding, align_corners) for place, n in zip(places, space)]
        weight = math.prod(of_axis[offset] for of_axis, offset in zip(taps, corner))
        total = total + elements_at(x, places) * tf.expand_dims(weight, 1)
    return total


def affine_grid(theta: tf.Tensor, space: Sequence[Any], align_corners: bool = False) -> tf.Tensor:
    """The positions ``[batch, *space, axes]`` under the affine maps ``theta[batch, axes, axes + 1]``, the last axis first."""
    lines = []
    for n in space:
        count = tf.cast(n, tf.float64)
        line = tf.cast(tf.range(n), tf.float64) * 2 / tf.maximum(count - 1, 1) - 1
        line = tf.where(count > 1, line, tf.zeros_like(line))
        lines.append(line if align_corners else line * (count - 1) / count)
    axes = tf.meshgrid(*lines, indexing="ij")[::-1]
    base = tf.cast(tf.stack([*axes, tf.ones_like(axes[0])], axis=-1), theta.dtype)
    positions = tf.matmul(tf.reshape(base, [-1, len(space) + 1]), theta, transpose_b=True)
    return tf.reshape(positions, [size(theta, 0), *space, len(space)])
