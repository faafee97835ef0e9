"""Prelude helpers that JAX and NumPy share, written for an array module ``xp``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .positions import (
    adaptive_places,
    antialias_taps,
    byte_weights,
    cubic_weights,
    sample_taps,
    window_places,
)

# Names that each target replaces: its class of arrays, its array module, and helpers of its own.
# ``collect_helpers`` of ``backends/common/preludes.py`` copies the helpers below with globals that have the
# target's objects.
Array = Any
xp: Any = None
cholesky_solve = conjugate_transpose = elements_at = fractional_starts = lowest_value = lu_factor = xp
lu_unpack = matrix_norm = matrix_rank = padded_position = picked_along = pinv = xp
scaled_dot_product_attention = solve_triangular = sort_with_indices = vector_norm = weighted_taps = xp

# -------------------------------------------------------------------------------------------------- attention
# Attention with grouped heads.


def grouped_query_attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Compute attention in which groups of consecutive query heads share a head of ``key`` and ``value``.

    Heads are on axis -3.
    """
    heads, shared = query.shape[-3], key.shape[-3]
    groups = query.reshape(*query.shape[:-3], shared, heads // shared, *query.shape[-2:])
    if mask is not None and mask.ndim > 2:
        split = (1, 1) if mask.shape[-3] == 1 else (shared, heads // shared)
        mask = mask.reshape(*mask.shape[:-3], *split, *mask.shape[-2:])
    key, value = key[..., None, :, :], value[..., None, :, :]
    result = scaled_dot_product_attention(groups, key, value, mask, is_causal=is_causal, scale=scale)
    return result.reshape(*result.shape[:-4], heads, *result.shape[-2:])


# ------------------------------------------------------------------------------------------------ elementwise
# Element-wise functions.


def hard_tanh(x: Array, minimum: float, maximum: float) -> Array:
    return xp.where(x <= minimum, minimum, xp.where(x >= maximum, maximum, x))


def softplus(x: Array, beta: float, threshold: float) -> Array:
    """Compute ``log1p(exp(beta * x)) / beta``, or ``x`` where ``beta * x`` exceeds ``threshold``."""
    return xp.where(x * beta > threshold, x, xp.logaddexp(x * beta, 0) / beta)


def soft_shrink(x: Array, threshold: float) -> Array:
    """Move ``x`` towards 0 by the nonnegative ``threshold``, but not beyond 0."""
    return xp.where(x > threshold, x - threshold, xp.where(x < -threshold, x + threshold, x * 0))


def integer_power(x1: Array | int, x2: Array) -> Array:
    """Compute ``x1 ** x2`` of integers. For a negative ``x2``, the result is 0 unless ``x1`` is 1 or -1."""
    inverse = xp.where(x1 == 1, 1, xp.where(x1 == -1, 1 - 2 * (x2 & 1), 0))
    return xp.where(x2 < 0, inverse.astype(x2.dtype), x1 ** xp.maximum(x2, 0))


def real_angle(x: Array) -> Array:
    """Compute the complex angle of real floats: pi where ``x < 0``, NaN where ``x`` is NaN, 0 elsewhere."""
    return xp.where(xp.isnan(x), xp.nan, xp.where(x < 0, xp.pi, 0)).astype(x.dtype)


# --------------------------------------------------------------------------------------------- linear algebra
# Linear algebra on top of the factorisations and solvers of each target.


def condition_number(x: Array, *, ord: float | str = 2) -> Array:
    """Compute the condition number of the matrices in the last two axes for the matrix norm ``ord``."""
    if 0 in x.shape[-2:]:
        return xp.zeros(x.shape[:-2], x.real.dtype)
    if ord in (2, -2):
        values = xp.linalg.svdvals(x)
        ratio = values[..., 0] / values[..., -1]
        return ratio if ord == 2 else 1 / ratio
    return matrix_norm(x, ord=ord) * matrix_norm(xp.linalg.inv(x), ord=ord)


def singular_cutoff(
    x: Array, largest: Array, rtol: Array | float | None, atol: Array | float | None
) -> Array:
    """Return ``max(atol, rtol * largest)``, up to which singular values of ``x`` count as zero.

    ``rtol`` defaults to 0 if ``atol`` is given, else to the larger of the last two sizes of ``x`` times the
    machine epsilon.
    """
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(xp.finfo(x.dtype).eps) if atol is None else 0.0
    return xp.maximum(0.0 if atol is None else atol, rtol * largest)


def cholesky_inverse(x: Array, *, upper: bool = False) -> Array:
    """Invert the matrix whose lower (or ``upper``) Cholesky factor is ``x``."""
    return cholesky_solve(x, xp.eye(x.shape[-1], dtype=x.dtype), upper=upper)


def lstsq(x1: Array, x2: Array, *, rcond: float | None = None) -> tuple[Array, Array]:
    """Return the minimum-norm least-squares solution of ``x1 @ x == x2``, and the rank of ``x1``.

    With ``rcond``, singular values up to ``rcond`` times the largest count as zero.
    """
    return pinv(x1, rcond) @ x2, matrix_rank(x1, rcond)


def tensor_solve(x1: Array, x2: Array) -> Array:
    """Return ``x`` such that ``tensordot(x1, x, x.ndim) == x2``."""
    return xp.linalg.solve(x1.reshape(x2.size, x2.size), x2.reshape(-1)).reshape(x1.shape[x2.ndim :])


def lu_decomposition(x: Array) -> tuple[Array, Array, Array]:
    """Return a permutation, a unit lower and an upper triangular matrix whose product is ``x``."""
    return lu_unpack(*lu_factor(x))


def lu_solve(lu: Array, pivots: Array, x2: Array, *, left: bool = True, adjoint_of: bool = False) -> Array:
    """Solve ``A @ x == x2``, or ``x @ A == x2`` if not ``left``, from the LU factors and pivots of ``A``.

    With ``adjoint_of``, the adjoint of ``A`` replaces ``A``.
    """
    # A solution from the right is the adjoint of one from the left.
    if not left:
        return conjugate_transpose(lu_solve(lu, pivots, conjugate_transpose(x2), adjoint_of=not adjoint_of))
    swapped, lower, upper = lu_unpack(lu, pivots)
    if adjoint_of:
        inner = solve_triangular(conjugate_transpose(upper), x2, upper=False)
        return swapped @ solve_triangular(conjugate_transpose(lower), inner, upper=True)
    return solve_triangular(
        upper, solve_triangular(lower, conjugate_transpose(swapped) @ x2, upper=False), upper=True
    )


# ---------------------------------------------------------------------------------------------------- pooling
# Maxima of windows, and their indices.


def max_over_windows(x: Array, axes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[Array, Array]:
    """Return the maximum of each window over the last ``len(axes)`` axes, and its flat index in these axes.

    ``axes`` has a pair of arrays ``[windows, elements]`` for each of these axes: the indices of the elements
    of each window, and a mask that is False for padding.
    """
    rank = len(axes)
    size = x.shape[-rank:]
    windows = [len(places) for places, _ in axes]
    place, inside = np.zeros([1] * 2 * rank, int), np.ones([1] * 2 * rank, bool)
    for axis, (places, belongs) in enumerate(axes):
        shape = [
            windows[axis] if i == axis else places.shape[1] if i == rank + axis else 1
            for i in range(2 * rank)
        ]
        place = place * size[axis] + places.reshape(shape)
        inside = inside & belongs.reshape(shape)
    place, inside = place.reshape(*windows, -1), inside.reshape(*windows, -1)
    elements = xp.where(
        inside, x.reshape(*x.shape[:-rank], math.prod(size))[..., place], lowest_value(x.dtype)
    )
    chosen = elements.argmax(-1, keepdims=True)
    # If all elements equal the filler, ``argmax`` may have found padding.
    is_filler = elements.max(-1, keepdims=True) == lowest_value(x.dtype)
    chosen = xp.where(is_filler, inside.argmax(-1)[..., None], chosen)
    largest = xp.take_along_axis(elements, chosen, -1)
    indices = xp.take_along_axis(xp.broadcast_to(place, elements.shape), chosen, -1)
    return largest[..., 0], indices[..., 0].astype(chosen.dtype)


def max_pool_with_indices(
    x: Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """Return the maxima of windows over the last ``len(kernel)`` axes, and their flat indices in them."""
    rank = len(kernel)
    of_axes = zip(x.shape[-rank:], kernel, strides, padding or ((0, 0),) * rank, dilation or (1,) * rank)
    return max_over_windows(x, [window_places(*of_axis, ceil_mode) for of_axis in of_axes])


def adaptive_max_pool(x: Array, size: tuple[int, ...]) -> Array:
    return adaptive_max_pool_with_indices(x, size)[0]


def adaptive_max_pool_with_indices(x: Array, size: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the maximum of each window over the last ``len(size)`` axes, and its flat index in these axes.

    ``size[i]`` windows of about equal length cover axis ``i`` of these axes.
    """
    return max_over_windows(
        x, [adaptive_places(n, windows) for n, windows in zip(x.shape[-len(size) :], size)]
    )


def fractional_max_pool(
    x: Array, samples: Array, kernel: tuple[int, ...], size: tuple[int, ...]
) -> tuple[Array, Array]:
    """Return the maxima of windows over the last ``len(kernel)`` axes, and their flat indices in these axes.

    The random numbers ``samples``, ``[batch, channels, axes]`` in [0, 1), determine where the windows start,
    and ``size`` is the number of windows along each axis.
    """
    rank, space = len(kernel), x.shape[-len(kernel) :]
    lead = x.shape[:-rank]
    samples = samples.reshape(*lead, rank)
    place = xp.zeros((*lead, *(1,) * 2 * rank), int)
    for axis in range(rank):
        # As in torch, the samples of two axes are in reverse order.
        starts = fractional_starts(
            samples[..., axis if rank == 3 else rank - 1 - axis], space[axis], size[axis], kernel[axis]
        )
        elements = starts[..., None] + np.arange(kernel[axis])
        shape = [
            size[axis] if i == axis else kernel[axis] if i == rank + axis else 1 for i in range(2 * rank)
        ]
        place = place * space[axis] + elements.reshape(*lead, *shape)
    place = place.reshape(*lead, math.prod(size), math.prod(kernel))
    elements = xp.take_along_axis(
        x.reshape(*lead, math.prod(space), 1),
        place.reshape(*lead, math.prod(size) * math.prod(kernel), 1),
        -2,
    ).reshape(place.shape)
    chosen = elements.argmax(-1, keepdims=True)
    largest, places = (
        xp.take_along_axis(array, chosen, -1).reshape(*lead, *size) for array in (elements, place)
    )
    return largest, places


# ------------------------------------------------------------------------------------------------- resampling
# Resampling of the spatial axes.


def interpolate_bytes(
    x: Array,
    size: tuple[int, ...],
    method: str,
    scales: tuple[float | None, ...],
    align_corners: bool,
    antialias: bool,
    first: int,
) -> Array:
    """Resample ``len(size)`` axes of the uint8 array ``x``, from ``first`` on, in fixed-point arithmetic.

    ``scales`` has their scale factors, or None for the ratio of the sizes.
    """
    taps = antialias_taps if antialias else sample_taps
    for axis, out, scale in reversed(list(zip(range(first, x.ndim), size, scales))):
        if out == x.shape[axis]:
            continue
        places, weights = taps(x.shape[axis], out, method, scale, align_corners, np.float64)
        whole, bits = byte_weights(places, weights)
        total = weighted_taps(x.astype(xp.int32), axis, places, whole)
        # One half is added before the shift, which rounds to nearest.
        x = xp.clip((total + (1 << bits - 1)) >> bits, 0, 255).astype(xp.uint8)
    return x


def reflected(position: Array, size: int, align_corners: bool) -> Array:
    """Reflect positions at the ends of an axis of ``size`` elements, as often as necessary.

    The ends are the centres of the first and last element (0 and ``size - 1``) if ``align_corners``, else
    their outer edges (-0.5 and ``size - 0.5``).
    """
    start, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return xp.zeros_like(position)
    distance = abs(position - start)
    turns, rest = xp.floor(distance / span), distance % span
    return xp.where(turns % 2 == 0, rest, span - rest) + start


def grid_sample(
    x: Array, grid: Array, method: str = "linear", padding: str = "zeros", align_corners: bool = False
) -> Array:
    """Sample ``x``, ``[batch, channels, *space]``, at the positions ``grid``, ``[batch, *out, axes]``.

    Coordinates -1 and 1 are the centres of the first and last element of an axis if ``align_corners``, else
    their outer edges. The coordinate along the last axis comes first.
    """
    space = x.shape[2:]
    positions = []
    for axis, n in enumerate(space):
        position = grid[..., len(space) - 1 - axis]
        position = (position + 1) / 2 * (n - 1) if align_corners else ((position + 1) * n - 1) / 2
        positions.append(
            position if method == "cubic" else padded_position(position, n, padding, align_corners)
        )
    if method == "nearest":
        return elements_at(x, [xp.round(position) for position in positions])
    bases = [xp.floor(position) for position in positions]
    parts = [position - base for position, base in zip(positions, bases)]
    taps = [cubic_weights(t) if method == "cubic" else [1 - t, t] for t in parts]
    total = xp.zeros((), x.dtype)
    for corner in np.ndindex(*map(len, taps)):
        places = [base + (offset - 1 if method == "cubic" else offset) for base, offset in zip(bases, corner)]
        if method == "cubic":
            places = [padded_position(place, n, padding, align_corners) for place, n in zip(places, space)]
        weight = math.prod([of_axis[offset] for of_axis, offset in zip(taps, corner)])
        total = total + elements_at(x, places) * weight[:, None]
    return total


def pixel_shuffle(x: Array, factor: int) -> Array:
    """Move groups of ``factor ** 2`` channels to squares of pixels.

    ``[..., channels * factor ** 2, height, width]`` becomes ``[..., channels, height * factor, width *
    factor]``.
    """
    *batch, channels, height, width = x.shape
    split = x.reshape(*batch, channels // factor**2, factor, factor, height, width)
    moved = xp.moveaxis(split, (-4, -3), (-3, -1))
    return moved.reshape(*batch, channels // factor**2, height * factor, width * factor)


def pixel_unshuffle(x: Array, factor: int) -> Array:
    """Move squares of pixels to groups of ``factor ** 2`` channels.

    ``[..., channels, height * factor, width * factor]`` becomes ``[..., channels * factor ** 2, height,
    width]``.
    """
    *batch, channels, height, width = x.shape
    split = x.reshape(*batch, channels, height // factor, factor, width // factor, factor)
    moved = xp.moveaxis(split, (-3, -1), (-4, -3))
    return moved.reshape(*batch, channels * factor**2, height // factor, width // factor)


def channel_shuffle(x: Array, groups: int) -> Array:
    """Interleave ``groups`` groups of channels (axis 1): the two groups ``ab`` and ``cd`` become ``acbd``."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)


# ------------------------------------------------------------------------------------------------- statistics
# Order statistics, runs of equal elements, integrals and similarity.


def lower_median(
    x: Array, *, axis: int, keepdims: bool = False, skip_nan: bool = False
) -> tuple[Array, Array]:
    """Return the lower median along ``axis`` (the smaller one of two middle elements), and its index.

    With ``skip_nan``, NaN is left out of account; otherwise it makes the median NaN.
    """
    values, indices = sort_with_indices(x, axis=axis)
    valid = xp.sum(x == x, axis=axis, keepdims=True)
    size = x.shape[axis]
    middle = xp.maximum((valid - 1) // 2, 0) if skip_nan else xp.where(valid == size, (size - 1) // 2, valid)
    return picked_along(values, middle, axis, keepdims), picked_along(indices, middle, axis, keepdims)


def unique_consecutive(x: Array, *, axis: int | None = None) -> tuple[Array, Array, Array]:
    """Return the value of each run of equal elements, the run index of each element, and the run lengths.

    With ``axis``, slices along it are compared instead of elements.
    """
    slices = x.reshape(-1) if axis is None else xp.moveaxis(x, axis, 0)
    size = len(slices)
    changed = (slices[1:] != slices[:-1]).any(axis=tuple(range(1, slices.ndim)))
    first = xp.concatenate([xp.ones(min(size, 1), bool), changed])
    starts = xp.flatnonzero(first)
    values, run = slices[starts], xp.cumsum(first) - 1
    counts = xp.diff(starts, append=xp.full(1, size, starts.dtype))
    return (
        (values, run.reshape(x.shape), counts)
        if axis is None
        else (xp.moveaxis(values, 0, axis), run, counts)
    )


def trapezoid_areas(y: Array, x: Array | None = None, *, dx: float = 1.0, axis: int = -1) -> Array:
    """Compute the areas of the trapezoids between neighbours of ``y`` along ``axis``.

    The widths are the differences of the points ``x``, or ``dx`` without ``x``.
    """
    values = xp.moveaxis(y, axis, -1)
    steps = dx if x is None else xp.diff(x if x.ndim == 1 else xp.moveaxis(x, axis, -1))
    return xp.moveaxis(steps * (values[..., 1:] + values[..., :-1]) / 2, -1, axis)


def cosine_similarity(x1: Array, x2: Array, *, axis: int, epsilon: float = 1e-8) -> Array:
    """Compute the cosine of the angle between ``x1`` and ``x2`` along ``axis``.

    Norms below ``epsilon`` are replaced by ``epsilon``.
    """
    x1, x2 = xp.broadcast_arrays(x1, x2)
    unit1, unit2 = (x / xp.maximum(vector_norm(x, axis=axis, keepdims=True), epsilon) for x in (x1, x2))
    return xp.sum(unit1 * unit2, axis=axis)
