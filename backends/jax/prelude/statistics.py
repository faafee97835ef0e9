"""Reductions, order statistics, histograms, distances and random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


# ------------------------------------------------------------------------------------------ moments and norms
def safe_sqrt(x: jax.Array) -> jax.Array:
    zero = x == 0
    # The inner ``where`` keeps the infinite derivative at 0 away, because 0 times infinity is NaN.
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, x)))


def variance_over(
    x: jax.Array, axis: int | tuple[int, ...] | None = None, *, correction: float = 0, keepdims: bool = False
) -> jax.Array:
    """Compute the variance over ``axis``, or over all axes if it is None.

    The divisor is the number of elements minus ``correction``, or 0 if that is negative.
    """
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = math.prod(x.shape[i] for i in axes)
    return jnp.divide(jnp.var(x, axis=axis, keepdims=keepdims) * count, max(count - correction, 0))


def standard_deviation(
    x: jax.Array, axis: int | tuple[int, ...] | None = None, *, correction: float = 0, keepdims: bool = False
) -> jax.Array:
    """Compute the standard deviation over ``axis``, or over all axes if it is None.

    The divisor is the number of elements minus ``correction``, or 0 if that is negative.
    """
    return safe_sqrt(variance_over(x, axis, correction=correction, keepdims=keepdims))


def vector_norm(
    x: jax.Array, *, axis: int | tuple[int, ...] | None = None, ord: float = 2.0, keepdims: bool = False
) -> jax.Array:
    """Compute the ``ord``-norm of vectors over ``axis``, or of all elements if it is None."""
    half = x.dtype in (jnp.float16, jnp.bfloat16)
    norm = norm_over(x.astype(jnp.float32) if half else x, axis, ord, keepdims)
    return norm.astype(x.dtype) if half else norm


def norm_over(x: jax.Array, axis: int | tuple[int, ...] | None, ord: float, keepdims: bool) -> jax.Array:
    if ord == 2:
        squares = lax.square(x.real) + lax.square(x.imag) if jnp.iscomplexobj(x) else lax.square(x)
        return safe_sqrt(jnp.sum(squares, axis=axis, keepdims=keepdims))
    zero = x == 0
    # The derivative of this at 0 is 0.
    size = jnp.where(zero, 0, jnp.abs(jnp.where(zero, 1, x)))
    if ord == math.inf:
        return jnp.max(size, axis=axis, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return jnp.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return jnp.sum((size != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return jnp.sum(size, axis=axis, keepdims=keepdims)
    return power_of(jnp.sum(power_of(size, ord), axis=axis, keepdims=keepdims), 1 / ord)


def power_of(x: jax.Array, exponent: float) -> jax.Array:
    zero = x == 0
    # The derivative is 0 where ``x`` is 0.
    return jnp.where(zero, 0 if exponent > 0 else math.inf, jnp.where(zero, 1, x) ** exponent)


def histogram_bin_edges(x: jax.Array, *, bins: int, range: tuple[float, float] | None = None) -> jax.Array:
    """Compute the edges of ``bins`` bins of equal width. For an empty ``x``, ``range`` defaults to (0, 1)."""
    # jax.numpy raises for an empty array, as it has no smallest element.
    return jnp.histogram_bin_edges(x, bins, (0, 1) if range is None and x.size == 0 else range)


# ---------------------------------------------------------------------------------------------- order
def sort_with_indices(
    x: jax.Array, *, axis: int = -1, descending: bool = False
) -> tuple[jax.Array, jax.Array]:
    """Sort stably along ``axis``, and return the values and their indices. NaN counts as the largest."""
    axis = axis % x.ndim
    pair = (x, lax.broadcasted_iota(int, x.shape, axis))
    if not descending:
        values, indices = lax.sort(pair, dimension=axis, num_keys=1)
        return values, indices
    # The reversed array is sorted, and the result reversed, so that equal elements keep their order.
    values, indices = lax.sort([lax.rev(item, (axis,)) for item in pair], dimension=axis, num_keys=1)
    return lax.rev(values, (axis,)), lax.rev(indices, (axis,))


def top_k(x: jax.Array, *, k: int, axis: int = -1, largest: bool = True) -> tuple[jax.Array, jax.Array]:
    """Return the ``k`` largest elements along ``axis`` in descending order, and their indices.

    Unless ``largest``, these are the smallest elements in ascending order. NaN counts as the largest.
    """
    if largest and x.dtype != bool:
        last = jnp.moveaxis(x, axis, -1)
        # ``lax.top_k`` takes NaN with a sign bit, which 0 / 0 can return, for the smallest element.
        if jnp.issubdtype(x.dtype, jnp.floating):
            last = jnp.where(last != last, jnp.nan, last)
        values, indices = lax.top_k(last, k)
        return jnp.moveaxis(values, -1, axis), jnp.moveaxis(indices, -1, axis).astype(int)
    values, indices = sort_with_indices(x, axis=axis, descending=largest)
    return lax.slice_in_dim(values, 0, k, axis=axis), lax.slice_in_dim(indices, 0, k, axis=axis)


def kth_value(x: jax.Array, *, k: int, axis: int = -1, keepdims: bool = False) -> tuple[jax.Array, jax.Array]:
    """Return the ``k``-th smallest element along ``axis``, counted from 1, and its index.

    NaN counts as the largest.
    """
    values, indices = sort_with_indices(x, axis=axis)
    return lax.index_in_dim(values, k - 1, axis, keepdims), lax.index_in_dim(indices, k - 1, axis, keepdims)


def picked_along(x: jax.Array, index: jax.Array, axis: int, keepdims: bool) -> jax.Array:
    found = jnp.take_along_axis(x, index, axis=axis)
    return found if keepdims else lax.squeeze(found, (axis,))


def most_frequent(x: jax.Array, *, axis: int, keepdims: bool = False) -> tuple[jax.Array, jax.Array]:
    """Return the mode along ``axis``, the smallest one on ties, and the index of its last occurrence.

    Each NaN counts as a different value.
    """
    values, indices = sort_with_indices(x, axis=axis)
    place = lax.broadcasted_iota(int, x.shape, axis)
    first = (values != jnp.roll(values, 1, axis)) | (place == 0)
    run = place - lax.cummax(jnp.where(first, place, 0), axis)
    best = jnp.argmax(run, axis=axis, keepdims=True)
    return picked_along(values, best, axis, keepdims), picked_along(indices, best, axis, keepdims)


def cummax(x: jax.Array, *, axis: int) -> tuple[jax.Array, jax.Array]:
    """Return the cumulative maximum along ``axis``, and the index of its last occurrence so far."""
    return running_extreme(lax.cummax, x, axis)


def cummin(x: jax.Array, *, axis: int) -> tuple[jax.Array, jax.Array]:
    """Return the cumulative minimum along ``axis``, and the index of its last occurrence so far."""
    return running_extreme(lax.cummin, x, axis)


def running_extreme(
    function: Callable[[jax.Array, int], jax.Array], x: jax.Array, axis: int
) -> tuple[jax.Array, jax.Array]:
    """Compute ``lax.cummax`` or ``lax.cummin`` (``function``), and the index where each value last occurred.

    The gradient goes to the element at that index.
    """

    @jax.custom_jvp
    def computed(x: jax.Array) -> jax.Array:
        return function(x, axis)

    @computed.defjvp
    def slopes(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
        values = computed(*primals)
        return values, jnp.take_along_axis(tangents[0], last_index_of(primals[0], values, axis), axis)

    values = computed(x) if jnp.issubdtype(x.dtype, jnp.floating) else function(x, axis)
    return values, last_index_of(x, values, axis)


def first_extreme(
    function: Callable[..., jax.Array],
    place: Callable[..., jax.Array],
    x: jax.Array,
    axis: int,
    keepdims: bool = False,
) -> jax.Array:
    """Compute ``function``, ``jnp.max`` or ``jnp.min``, along ``axis``.

    Only the element at the index that ``place`` (``jnp.argmax`` or ``jnp.argmin``) returns gets a gradient.
    """

    @jax.custom_jvp
    def computed(x: jax.Array) -> jax.Array:
        return function(x, axis=axis, keepdims=True)

    @computed.defjvp
    def slopes(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
        return computed(*primals), jnp.take_along_axis(
            tangents[0], place(primals[0], axis=axis, keepdims=True), axis
        )

    return computed(x) if keepdims else lax.squeeze(computed(x), (axis,))


def last_index_of(x: jax.Array, values: jax.Array, axis: int) -> jax.Array:
    seen = (x == values) | (x != x)
    return lax.cummax(jnp.where(seen, lax.broadcasted_iota(int, x.shape, axis), 0), axis)


# ----------------------------------------------------------------------------------------- searching and sets
def searchsorted_rows(
    sequences: jax.Array, x: jax.Array, sorter: jax.Array | None = None, *, side: str = "left"
) -> jax.Array:
    """Return the indices at which to insert elements of row ``i`` of ``x`` into row ``i`` of ``sequences``.

    Rows are on the last axis. ``sorter`` has the indices that sort the rows of ``sequences``, or is None if
    these are sorted.
    """
    if sorter is not None:
        sequences = jnp.take_along_axis(sequences, sorter, axis=-1)
    count = math.prod(x.shape[:-1])
    rows, wanted = sequences.reshape(count, sequences.shape[-1]), x.reshape(count, x.shape[-1])
    return jax.vmap(lambda row, values: jnp.searchsorted(row, values, side=side))(rows, wanted).reshape(
        x.shape
    )


# ----------------------------------------------------------------------------------- integrals and histograms
def histc(x: jax.Array, *, bins: int, min: float, max: float) -> jax.Array:
    """Count the elements in ``bins`` equal bins of [min, max]; if ``min == max``, of the range of ``x``.

    A range of a single number is widened by 1 on both sides.
    """
    x = x.reshape(-1)
    if x.size == 0:
        return jnp.zeros(bins, x.dtype)
    low, high = (jnp.min(x), jnp.max(x)) if min == max else (min, max)
    # A range of one number is widened, so that its width is not 0.
    flat = low == high
    low, high = jnp.where(flat, low - 1, low), jnp.where(flat, high + 1, high)
    inside = (x >= low) & (x <= high)
    place = jnp.where(inside, (x - low) * bins / (high - low), 0).astype(int)
    return jnp.zeros(bins, x.dtype).at[jnp.minimum(place, bins - 1)].add(inside.astype(x.dtype))


def histogram_counts(
    x: jax.Array, bin_edges: jax.Array, weights: jax.Array | None = None, *, density: bool = False
) -> jax.Array:
    """Compute the histogram of ``x`` in the bins between ``bin_edges``, with optional ``weights``.

    With ``density``, the histogram is divided by its sum and by the widths of the bins.
    """
    counted, _ = jnp.histogram(x, bins=bin_edges, weights=weights, density=density)
    return counted.astype(x.dtype)


# ---------------------------------------------------------------------------------------------- distances
def distance(x: jax.Array, p: float) -> jax.Array:
    if p == 0:
        # ``vector_norm`` would count NaN as 1.
        return jnp.sum(jnp.where(jnp.isnan(x), x, (x != 0).astype(x.dtype)), axis=-1)
    return vector_norm(x, axis=-1, ord=p)


def cdist(x1: jax.Array, x2: jax.Array, *, p: float = 2.0) -> jax.Array:
    """Compute the ``p``-norm distances ``[..., i, j]`` of rows ``i`` of ``x1`` and rows ``j`` of ``x2``."""
    return distance(x1[..., :, None, :] - x2[..., None, :, :], p)


def pdist(x: jax.Array, *, p: float = 2.0) -> jax.Array:
    """Compute the ``p``-norm distances between rows ``i < j`` of ``x``, ordered by ``i``, then ``j``."""
    first, second = np.triu_indices(len(x), 1)
    return distance(x[first] - x[second], p)


def dropout(key: jax.Array, x: jax.Array, rate: float, shared_axes: tuple[int, ...] = ()) -> jax.Array:
    """Set elements of ``x`` to 0 with probability ``rate`` and divide the others by ``1 - rate``.

    The random choice is the same for all elements along the nonnegative ``shared_axes``.
    """
    if rate == 1:
        return jnp.zeros_like(x)
    shape = [1 if axis in shared_axes else size for axis, size in enumerate(x.shape)]
    # XLA on a CPU compiles random numbers of a flat array faster than of several axes.
    kept = jax.random.bernoulli(key, 1 - rate, (math.prod(shape),)).reshape(shape)
    return jnp.where(kept, x / (1 - rate), 0)


def random_categorical(key: jax.Array, weights: jax.Array, samples: int, replacement: bool) -> jax.Array:
    """Sample ``samples`` indices of the last axis, weighted by ``weights``.

    The samples of a row are on the last axis. Without ``replacement``, they differ.
    """
    logits = jnp.log(weights)
    index = jnp.result_type(int)
    if replacement:
        drawn = jax.random.categorical(key, logits, axis=-1, shape=(samples, *weights.shape[:-1]))
        return jnp.moveaxis(drawn, 0, -1).astype(index)
    # The largest sums of logits and Gumbel variables are a sample without replacement.
    return jax.lax.top_k(logits + jax.random.gumbel(key, logits.shape, logits.dtype), samples)[1].astype(
        index
    )


def philox(keys: jax.Array, counts: jax.Array) -> jax.Array:
    """Compute Philox-4x32 with 10 rounds.

    ``keys`` has two words (uint32) along the last axis, and ``counts`` four. Their other axes broadcast.
    Return four random words along the last axis.
    """

    # This computes the upper 32 bits of a product without 64-bit integers, which are off by default.
    def high(x: jax.Array, factor: int) -> jax.Array:
        low, up, low_factor, up_factor = (
            x & 0xFFFF,
            x >> 16,
            jnp.uint32(factor & 0xFFFF),
            jnp.uint32(factor >> 16),
        )
        left, right = low * up_factor, up * low_factor
        carry = (low * low_factor >> 16) + (left & 0xFFFF) + (right & 0xFFFF)
        return up * up_factor + (left >> 16) + (right >> 16) + (carry >> 16)

    first, second = keys[..., 0], keys[..., 1]
    words = [counts[..., place] for place in range(4)]
    for turn in range(10):
        key, other = (
            first + jnp.uint32(turn * 0x9E3779B9 % 2**32),
            second + jnp.uint32(turn * 0xBB67AE85 % 2**32),
        )
        words = [
            high(words[2], 0xCD9E8D57) ^ words[1] ^ key,
            words[2] * jnp.uint32(0xCD9E8D57),
            high(words[0], 0xD2511F53) ^ words[3] ^ other,
            words[0] * jnp.uint32(0xD2511F53),
        ]
    return jnp.stack(jnp.broadcast_arrays(*words), axis=-1)


def threefry(keys: jax.Array, counts: jax.Array) -> jax.Array:
    """Compute Threefry-2x32 with 20 rounds.

    ``keys`` and ``counts`` have two words (uint32) along the last axis. Their other axes broadcast. Return
    two random words along the last axis.
    """
    first, second = keys[..., 0], keys[..., 1]
    words = (first, second, first ^ second ^ jnp.uint32(0x1BD11BDA))
    x, y = counts[..., 0] + first, counts[..., 1] + second
    for turn in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y
            y = x ^ ((y << bits) | (y >> (32 - bits)))
        x, y = x + words[(turn + 1) % 3], y + words[(turn + 2) % 3] + jnp.uint32(turn + 1)
    return jnp.stack([x, y], axis=-1)
