"""Order statistics, runs of equal elements, integrals and similarity."""

from __future__ import annotations

from .own import Array, picked_along, sort_with_indices, vector_norm, xp


def lower_median(
    x: Array, *, axis: int, keepdims: bool = False, skip_nan: bool = False
) -> tuple[Array, Array]:
    """Return the lower median along ``axis``, and its index.

    The median of a slice with NaN is NaN, unless ``skip_nan``.
    """
    values, indices = sort_with_indices(x, axis=axis)
    valid = xp.sum(x == x, axis=axis, keepdims=True)
    size = x.shape[axis]
    middle = xp.maximum((valid - 1) // 2, 0) if skip_nan else xp.where(valid == size, (size - 1) // 2, valid)
    return picked_along(values, middle, axis, keepdims), picked_along(indices, middle, axis, keepdims)


def unique_consecutive(x: Array, *, axis: int | None = None) -> tuple[Array, Array, Array]:
    """Return the first element of each run of equal elements, the run of each element, and all lengths.

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
    """Compute the trapezoid areas between neighbours of ``y`` along ``axis``.

    The distance of neighbours is that of the points ``x``, or ``dx``.
    """
    values = xp.moveaxis(y, axis, -1)
    steps = dx if x is None else xp.diff(x if x.ndim == 1 else xp.moveaxis(x, axis, -1))
    return xp.moveaxis(steps * (values[..., 1:] + values[..., :-1]) / 2, -1, axis)


def cosine_similarity(x1: Array, x2: Array, *, axis: int, epsilon: float = 1e-8) -> Array:
    """Compute the cosine of the angle between ``x1`` and ``x2`` along ``axis``.

    The norms are at least ``epsilon``.
    """
    x1, x2 = xp.broadcast_arrays(x1, x2)
    unit1, unit2 = (x / xp.maximum(vector_norm(x, axis=axis, keepdims=True), epsilon) for x in (x1, x2))
    return xp.sum(unit1 * unit2, axis=axis)
