"""Maxima of windows, and their indices."""

from __future__ import annotations

import math

import numpy as np

from ..common.positions import adaptive_places, window_places
from .own import Array, fractional_starts, least_of, xp


def max_over_windows(x: Array, axes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[Array, Array]:
    """Return the maximum of each window, and its flat index in the pooled axes.

    NaN counts as largest, and ties go to the first. ``axes`` has a pair for each of the last axes: the
    indices of the elements of each window, and a mask of the valid indices.
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
    elements = xp.where(inside, x.reshape(*x.shape[:-rank], math.prod(size))[..., place], least_of(x.dtype))
    chosen = elements.argmax(-1, keepdims=True)
    largest = xp.take_along_axis(elements, chosen, -1)
    # If all elements equal the filler, ``argmax`` may have found padding.
    chosen = xp.where(largest == least_of(x.dtype), inside.argmax(-1)[..., None], chosen)
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
    """Return the maximum of each window, and its flat index in the pooled axes."""
    rank = len(kernel)
    of_axes = zip(x.shape[-rank:], kernel, strides, padding or ((0, 0),) * rank, dilation or (1,) * rank)
    return max_over_windows(x, [window_places(*of_axis, ceil_mode) for of_axis in of_axes])


def adaptive_max_pool(x: Array, size: tuple[int, ...]) -> Array:
    return adaptive_max_pool_with_indices(x, size)[0]


def adaptive_max_pool_with_indices(x: Array, size: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the maxima of ``size`` windows that cover the spatial axes evenly, and their flat indices."""
    return max_over_windows(
        x, [adaptive_places(n, windows) for n, windows in zip(x.shape[-len(size) :], size)]
    )


def fractional_max_pool(
    x: Array, samples: Array, kernel: tuple[int, ...], size: tuple[int, ...]
) -> tuple[Array, Array]:
    """Return the maximum of each window, and its flat index in the pooled axes, with random starts.

    ``samples`` determine where the windows start. As in torch, the samples of two axes are in reverse
    order, and those of three axes in the order of the axes.
    """
    rank, space = len(kernel), x.shape[-len(kernel) :]
    lead = x.shape[:-rank]
    samples = samples.reshape(*lead, rank)
    place = xp.zeros((*lead, *(1,) * 2 * rank), int)
    for axis in range(rank):
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
