"""Reductions, order statistics, histograms, distances and random numbers.

A random key is a ``np.random.Generator``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


# ------------------------------------------------------------------------------------------ moments and norms
def mean(x: np.ndarray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> np.ndarray:
    # ``np.mean`` would warn if there are no elements.
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return total / (x.size // total.size if total.size else 1)


def variance(
    x: np.ndarray, axis: int | tuple[int, ...] | None = None, *, correction: float = 0, keepdims: bool = False
) -> np.ndarray:
    """Compute the variance over ``axis``, or over all axes if it is None.

    The divisor is the number of elements minus ``correction``, or 0 if that is negative.
    """
    distance = np.abs(x - mean(x, axis, keepdims=True))
    total = np.sum(distance * distance, axis=axis, keepdims=keepdims)
    return total / max((x.size // total.size if total.size else 1) - correction, 0)


def standard_deviation(
    x: np.ndarray, axis: int | tuple[int, ...] | None = None, *, correction: float = 0, keepdims: bool = False
) -> np.ndarray:
    """Compute the standard deviation over ``axis``, or over all axes if it is None.

    The divisor is the number of elements minus ``correction``, or 0 if that is negative.
    """
    return np.sqrt(variance(x, axis, correction=correction, keepdims=keepdims))


def nan_mean(x: np.ndarray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> np.ndarray:
    """Compute the mean over ``axis`` of the elements that are not NaN; NaN if there are none."""
    count = np.sum(~np.isnan(x), axis=axis, keepdims=keepdims)
    return np.nansum(x, axis=axis, keepdims=keepdims) / count.astype(x.dtype)


def logsumexp(x: np.ndarray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> np.ndarray:
    """Compute ``log(sum(exp(x)))`` over ``axis``, even if ``exp(x)`` overflows; -inf for no elements."""
    peak = np.max(x.real, axis=axis, keepdims=True, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, 0)
    total = np.log(np.sum(np.exp(x - peak), axis=axis, keepdims=True)) + peak
    return total if keepdims else np.squeeze(total, tuple(range(x.ndim)) if axis is None else axis)


def vector_norm(
    x: np.ndarray, *, axis: int | tuple[int, ...] | None = None, ord: float = 2.0, keepdims: bool = False
) -> np.ndarray:
    """Compute the ``ord``-norm of vectors over ``axis``, or of all elements if it is None."""
    size = np.abs(x)
    if ord == np.inf:
        return np.max(size, axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdims, dtype=size.dtype)
    if ord == 2:
        return np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))
    return np.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)


# ---------------------------------------------------------------------------------------------- order
def sort_with_indices(
    x: np.ndarray, *, axis: int = -1, descending: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Sort stably along ``axis``, and return the values and their indices. NaN counts as the largest."""
    # Sorting reversed elements and reversing the result keeps ties in order.
    if descending:
        indices = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, stable=True), axis)
    else:
        indices = np.argsort(x, axis=axis, stable=True)
    return np.take_along_axis(x, indices, axis), indices


def indices_of_best(x: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Return the indices, in ascending order, of the ``k`` largest or smallest elements of the last axis.

    NaN counts as the largest, and earlier elements are preferred on ties. ``k`` is positive and smaller than
    the axis.
    """
    place = x.shape[-1] - k if largest else k - 1
    # A partition takes linear time, a sort does not.
    last = np.partition(x, place, -1)[..., place : place + 1]
    is_nan, last_is_nan = x != x, last != last
    better = (x > last) | (is_nan & ~last_is_nan) if largest else (x < last) | (last_is_nan & ~is_nan)
    equal = (x == last) | (is_nan & last_is_nan)
    wanted = k - np.sum(better, axis=-1, keepdims=True)
    return np.nonzero(better | (equal & (np.cumsum(equal, -1) <= wanted)))[-1].reshape(*x.shape[:-1], k)


def top_k(x: np.ndarray, *, k: int, axis: int = -1, largest: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` largest (or smallest) elements along ``axis``, best first, and their indices.

    NaN counts as the largest.
    """
    size = x.shape[axis]
    if not 0 < k < size:
        values, indices = sort_with_indices(x, axis=axis, descending=largest)
        places = np.arange(k)
        return np.take(values, places, axis), np.take(indices, places, axis)
    kept = np.moveaxis(indices_of_best(np.moveaxis(x, axis, -1), k, largest), -1, axis)
    values, order = sort_with_indices(np.take_along_axis(x, kept, axis), axis=axis, descending=largest)
    return values, np.take_along_axis(kept, order, axis)


def kth_value(
    x: np.ndarray, *, k: int, axis: int = -1, keepdims: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k``-th smallest element along ``axis``, counted from 1, and its index.

    NaN counts as the largest.
    """
    values, indices = sort_with_indices(x, axis=axis)
    place = (slice(None),) * (axis % x.ndim) + (slice(k - 1, k) if keepdims else k - 1,)
    return values[place], indices[place]


def picked_along(x: np.ndarray, index: np.ndarray, axis: int, keepdims: bool) -> np.ndarray:
    found = np.take_along_axis(x, index, axis=axis)
    return found if keepdims else found.squeeze(axis)


def most_frequent(x: np.ndarray, *, axis: int, keepdims: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the mode along ``axis``, the smallest one on ties, and the index of its last occurrence.

    Each NaN counts as a different value.
    """
    values, indices = sort_with_indices(x, axis=axis)
    place = np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    first = (values != np.roll(values, 1, axis)) | (place == 0)
    run = place - np.maximum.accumulate(np.where(first, place, 0), axis)
    best = np.argmax(run, axis=axis, keepdims=True)
    return picked_along(values, best, axis, keepdims), picked_along(indices, best, axis, keepdims)


def cummax(x: np.ndarray, *, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cumulative maximum along ``axis``, and the index of its last occurrence so far."""
    values = np.maximum.accumulate(x, axis)
    return values, last_index_of(x, values, axis)


def cummin(x: np.ndarray, *, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cumulative minimum along ``axis``, and the index of its last occurrence so far."""
    values = np.minimum.accumulate(x, axis)
    return values, last_index_of(x, values, axis)


def last_index_of(x: np.ndarray, values: np.ndarray, axis: int) -> np.ndarray:
    place = np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return np.maximum.accumulate(np.where((x == values) | (x != x), place, 0), axis)


def quantile(
    x: np.ndarray,
    q: np.ndarray | float,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    interpolation: str = "linear",
    skip_nan: bool = False,
) -> np.ndarray:
    """Compute the ``q``-th quantiles along ``axis``, or over all elements if it is None.

    The axes of ``q`` come first in the result. NaN are left out with ``skip_nan``, and otherwise make the
    result NaN.
    """
    ordered = np.sort(x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1), axis=-1)
    size, valid = ordered.shape[-1], np.sum(ordered == ordered, axis=-1, keepdims=True)
    last = np.maximum(valid - 1, 0) if skip_nan else size - 1
    q = np.asarray(q, x.dtype)
    position = q.reshape(-1) * np.broadcast_to(last, valid.shape).astype(x.dtype)
    below, above = np.floor(position), np.ceil(position)
    if interpolation in ("linear", "midpoint"):
        low, high = (np.take_along_axis(ordered, place.astype(int), -1) for place in (below, above))
        share = position - below if interpolation == "linear" else 0.5 * (above != below).astype(x.dtype)
        # Interpolation from the nearer element is exact at both of them.
        found = np.where(share < 0.5, low + share * (high - low), high - (high - low) * (1 - share))
    else:
        place = {"lower": below, "higher": above, "nearest": np.round(position)}[interpolation]
        found = np.take_along_axis(ordered, place.astype(int), -1)
    if not skip_nan:
        found = np.where(valid == size, found, np.nan)
    result = np.moveaxis(found, -1, 0).reshape(q.shape + valid.shape[:-1])
    if not keepdims:
        return result
    return (
        result.reshape(q.shape + (1,) * x.ndim)
        if axis is None
        else np.expand_dims(result, q.ndim + axis % x.ndim)
    )


# ----------------------------------------------------------------------------------------- searching and sets
def argwhere_of_size(x: np.ndarray, size: int, fill_value: int) -> np.ndarray:
    """Return the first ``size`` rows of ``np.argwhere(x)``, padded with rows of ``fill_value``."""
    found = np.argwhere(x)[:size]
    return np.concatenate([found, np.full((size - len(found), x.ndim), fill_value)])


def searchsorted_rows(
    sequences: np.ndarray, x: np.ndarray, sorter: np.ndarray | None = None, *, side: Any = "left"
) -> np.ndarray:
    """Return the indices at which to insert elements of row ``i`` of ``x`` into row ``i`` of ``sequences``.

    Rows are on the last axis. ``sorter`` has the indices that sort the rows of ``sequences``, or is None if
    these are sorted.
    """
    if sorter is not None:
        sequences = np.take_along_axis(sequences, sorter, axis=-1)
    count = math.prod(x.shape[:-1])
    rows, wanted = sequences.reshape(count, sequences.shape[-1]), x.reshape(count, x.shape[-1])
    found = [np.searchsorted(row, values, side=side) for row, values in zip(rows, wanted)]
    return np.array(found, np.int64).reshape(x.shape)


# ----------------------------------------------------------------------------------- integrals and histograms
def histc(x: np.ndarray, *, bins: int, min: float, max: float) -> np.ndarray:
    """Count the elements in ``bins`` equal bins of [min, max]; if ``min == max``, of the range of ``x``.

    A range of a single number is widened by 1 on both sides.
    """
    x = x.reshape(-1)
    if x.size == 0:
        return np.zeros(bins, x.dtype)
    low, high = (np.min(x), np.max(x)) if min == max else (min, max)
    # A range of one number is widened, so that its width is not 0.
    low, high = (low - 1, high + 1) if low == high else (low, high)
    inside = x[(x >= low) & (x <= high)]
    place = np.minimum(((inside - low) * bins / (high - low)).astype(int), bins - 1)
    return np.bincount(place, minlength=bins).astype(x.dtype)


def histogram_counts(
    x: np.ndarray, bin_edges: np.ndarray, weights: np.ndarray | None = None, *, density: bool = False
) -> np.ndarray:
    """Compute the histogram of ``x`` in the bins between ``bin_edges``, with optional ``weights``.

    With ``density``, the histogram is divided by its sum and by the widths of the bins.
    """
    x = x.reshape(-1)
    inside = (x >= bin_edges[0]) & (x <= bin_edges[-1])
    place = np.minimum(np.searchsorted(bin_edges, x[inside], side="right") - 1, len(bin_edges) - 2)
    counted = np.zeros(len(bin_edges) - 1, x.dtype)
    np.add.at(counted, place, 1 if weights is None else weights.reshape(-1)[inside])
    return counted / np.diff(bin_edges) / np.sum(counted) if density else counted


# ---------------------------------------------------------------------------------- correlation and distances
def covariances(
    x: np.ndarray,
    *,
    correction: float = 1,
    fweights: np.ndarray | None = None,
    aweights: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the covariance matrix of the rows of ``x``, or the variance if ``x`` has at most one axis.

    ``fweights`` are the numbers of repetitions of the observations (columns), and ``aweights`` their relative
    weights.
    """
    rows = np.atleast_2d(x)
    weights = np.ones(rows.shape[1], rows.real.dtype)
    for given in (fweights, aweights):
        weights = weights if given is None else weights * given
    total = np.sum(weights)
    centred = rows - np.sum(rows * weights, axis=1, keepdims=True) / total
    if aweights is None or correction == 0:
        divisor = total - correction
    else:
        divisor = total - correction * np.sum(weights * aweights) / total
    result = (centred * weights) @ np.conj(centred).T / np.maximum(divisor, 0)
    return result.astype(x.dtype)[(0, 0) if x.ndim < 2 else ...]


def correlations(x: np.ndarray) -> np.ndarray:
    """Compute the Pearson correlation matrix of the rows of ``x``, a scalar if ``x`` has at most one axis."""
    covariance = np.atleast_2d(covariances(x))
    deviation = np.sqrt(np.diagonal(covariance).real)
    result = covariance / deviation[:, None] / deviation
    if result.dtype.kind == "c":
        result = np.clip(result.real, -1, 1) + 1j * np.clip(result.imag, -1, 1)
    else:
        result = np.clip(result, -1, 1)
    return result[(0, 0) if x.ndim < 2 else ...]


def distance(x: np.ndarray, p: float) -> np.ndarray:
    return (
        # For 0, ``vector_norm`` would count NaN as 1.
        np.sum(np.where(np.isnan(x), x, x != 0), axis=-1, dtype=x.dtype)
        if p == 0
        else vector_norm(x, axis=-1, ord=p)
    )


def cdist(x1: np.ndarray, x2: np.ndarray, *, p: float = 2.0) -> np.ndarray:
    """Compute the ``p``-norm distances ``[..., i, j]`` of rows ``i`` of ``x1`` and rows ``j`` of ``x2``."""
    return distance(x1[..., :, None, :] - x2[..., None, :, :], p)


def pdist(x: np.ndarray, *, p: float = 2.0) -> np.ndarray:
    """Compute the ``p``-norm distances between rows ``i < j`` of ``x``, ordered by ``i``, then ``j``."""
    first, second = np.triu_indices(len(x), 1)
    return distance(x[first] - x[second], p)


def derived_generator(key: np.random.Generator, index: Any) -> np.random.Generator:
    """Return the ``index``-th generator derived from the seed of ``key``, without advancing ``key``."""
    seeds: Any = key.bit_generator.seed_seq
    return np.random.default_rng(
        np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, int(index)))
    )


def random_uniform(
    key: np.random.Generator, shape: tuple[int, ...], low: float, high: float, dtype: np.dtype
) -> np.ndarray:
    """Sample numbers of the floating-point ``dtype`` uniformly from [low, high)."""
    steps = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24}.get(np.dtype(dtype).name, 2**53)
    numbers = (low + (high - low) * (key.integers(0, steps, shape) / steps)).astype(dtype)
    # Rounding to ``dtype`` may reach ``high``, which does not belong to the interval.
    below = np.nextafter(np.array(high, dtype), np.array(low, dtype))
    return np.where(numbers < np.array(high, dtype), numbers, below)


def random_normal(key: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Sample from the standard normal distribution. Complex numbers have variance 0.5 in each part."""
    dtype = np.dtype(dtype)
    if dtype.kind != "c":
        return key.standard_normal(shape, dtype)
    parts = key.standard_normal((*shape, 2), dtype.type().real.dtype) * 0.5**0.5
    return parts[..., 0] + 1j * parts[..., 1]


def random_bernoulli(
    key: np.random.Generator, probability: np.ndarray | float, shape: tuple[int, ...]
) -> np.ndarray:
    """Sample booleans that are True with ``probability``, which broadcasts with ``shape``."""
    return key.random(np.broadcast_shapes(shape, np.shape(probability))) < probability


def dropout(
    key: np.random.Generator, x: np.ndarray, rate: float, shared_axes: tuple[int, ...] = ()
) -> np.ndarray:
    """Set elements of ``x`` to 0 with probability ``rate`` and divide the others by ``1 - rate``.

    The random choice is the same for all elements along the nonnegative ``shared_axes``.
    """
    if rate == 1:
        return np.zeros_like(x)
    shape = [1 if axis in shared_axes else size for axis, size in enumerate(x.shape)]
    return np.where(key.random(shape, np.float32) < rate, 0, x / (1 - rate))


def random_categorical(
    key: np.random.Generator, weights: np.ndarray, samples: int, replacement: bool
) -> np.ndarray:
    """Sample ``samples`` indices of the last axis, weighted by ``weights``.

    The samples of a row are on the last axis. Without ``replacement``, they differ.
    """
    # Cumulative sums in lower precision would never reach some indices.
    weights = weights.astype(np.float64)
    if not replacement:
        # The largest sums of logarithms and Gumbel variables are a sample without replacement.
        return np.argsort(-np.log(weights) - key.gumbel(size=weights.shape), axis=-1)[..., :samples]
    sums = np.cumsum(weights, axis=-1)
    drawn = key.random((*weights.shape[:-1], samples)) * sums[..., -1:]
    return np.sum(sums[..., None, :] <= drawn[..., None], axis=-1)


def philox(keys: Any, counts: Any) -> Any:
    """Compute Philox-4x32 with 10 rounds.

    ``keys`` has two words (uint32) along the last axis, and ``counts`` four. Their other axes broadcast.
    Return four random words along the last axis.
    """
    first, second = keys[..., 0], keys[..., 1]
    words = [counts[..., place] for place in range(4)]
    for turn in range(10):
        left = words[0].astype(np.uint64) * np.uint64(0xD2511F53)
        right = words[2].astype(np.uint64) * np.uint64(0xCD9E8D57)
        key, other = (
            first + np.uint32(turn * 0x9E3779B9 % 2**32),
            second + np.uint32(turn * 0xBB67AE85 % 2**32),
        )
        words = [
            (right >> np.uint64(32)).astype(np.uint32) ^ words[1] ^ key,
            right.astype(np.uint32),
            (left >> np.uint64(32)).astype(np.uint32) ^ words[3] ^ other,
            left.astype(np.uint32),
        ]
    return np.stack(np.broadcast_arrays(*words), axis=-1)


def threefry(keys: Any, counts: Any) -> Any:
    """Compute Threefry-2x32 with 20 rounds.

    ``keys`` and ``counts`` have two words (uint32) along the last axis. Their other axes broadcast. Return
    two random words along the last axis.
    """
    first, second = keys[..., 0], keys[..., 1]
    words = (first, second, first ^ second ^ np.uint32(0x1BD11BDA))
    x, y = counts[..., 0] + first, counts[..., 1] + second
    for turn in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(bits)) | (y >> np.uint32(32 - bits)))
        x, y = x + words[(turn + 1) % 3], y + words[(turn + 2) % 3] + np.uint32(turn + 1)
    return np.stack([x, y], axis=-1)
