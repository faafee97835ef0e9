"""Pooling over the last ``len(kernel)`` axes, or with ``layout="channels_last"`` over those before the last one; all other axes are batch.

``padding`` holds a pair (before, after) for each axis. With ``ceil_mode`` a last window that starts inside of the array (or of its
padding before) counts, even where it reaches beyond the end.
"""

from __future__ import annotations

from typing import Any

from ...sizes import Dim
from ..layouts import CHANNELS_FIRST, axes_of_space
from ..registry import ArraySpec, declare
from ..rules import window_output

_SECTION = "pooling"

Pairs = tuple[tuple[Dim, Dim], ...]


def _pooled(
    x: ArraySpec,
    kernel: tuple[Dim, ...],
    strides: tuple[Dim, ...],
    padding: Pairs,
    dilation: tuple[int, ...],
    ceil_mode: bool,
    layout: str = CHANNELS_FIRST,
) -> ArraySpec:
    axes = axes_of_space(x.ndim, len(kernel), layout)
    space = (x.shape[axis] for axis in axes)
    return _resized(x, axes, tuple(window_output(*of_axis, ceil_mode) for of_axis in zip(space, kernel, strides, padding, dilation)))


def _resized(x: ArraySpec, axes: range, size: tuple[Dim, ...]) -> ArraySpec:
    return ArraySpec((*x.shape[: axes.start], *size, *x.shape[axes.stop :]), x.dtype)


@declare(_SECTION)
def max_pool(
    x: ArraySpec,
    /,
    *,
    kernel: tuple[Dim, ...],
    strides: tuple[Dim, ...],
    padding: Pairs,
    dilation: tuple[int, ...],
    ceil_mode: bool = False,
    layout: str = CHANNELS_FIRST,
) -> ArraySpec:
    """The largest element of each window; NaN if it holds one (torch.nn.functional.max_pool2d)."""
    return _pooled(x, kernel, strides, padding, dilation, ceil_mode, layout)


@declare(_SECTION)
def max_pool_with_indices(
    x: ArraySpec,
    /,
    *,
    kernel: tuple[Dim, ...],
    strides: tuple[Dim, ...],
    padding: Pairs,
    dilation: tuple[int, ...],
    ceil_mode: bool = False,
) -> tuple[ArraySpec, ArraySpec]:
    """:func:`max_pool`, and where each largest element (the first of equals) stands in the pooled axes in row-major order."""
    values = _pooled(x, kernel, strides, padding, dilation, ceil_mode)
    return values, ArraySpec(values.shape, "int64")


@declare(_SECTION)
def avg_pool(
    x: ArraySpec,
    /,
    *,
    kernel: tuple[Dim, ...],
    strides: tuple[Dim, ...],
    padding: Pairs,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = CHANNELS_FIRST,
) -> ArraySpec:
    """The mean of a window: its sum by its size, with or without padding, or by ``divisor_override`` (torch.nn.functional.avg_pool2d)."""
    return _pooled(x, kernel, strides, padding, (1,) * len(kernel), ceil_mode, layout)


@declare(_SECTION)
def lp_pool(x: ArraySpec, /, *, ord: Any, kernel: tuple[Dim, ...], strides: tuple[Dim, ...], ceil_mode: bool = False) -> ArraySpec:
    """The ``ord``-norm of each window, signs kept where ``ord`` is odd (torch.nn.functional.lp_pool2d)."""
    rank = len(kernel)
    return _pooled(x, kernel, strides, ((0, 0),) * rank, (1,) * rank, ceil_mode)


@declare(_SECTION)
def max_unpool(x: ArraySpec, indices: ArraySpec, /, *, size: tuple[Dim, ...]) -> ArraySpec:
    """Zeros of spatial ``size`` with the elements of ``x`` at ``indices``, those of :func:`max_pool_with_indices`."""
    return ArraySpec((*x.shape[: x.ndim - len(size)], *size), x.dtype)


@declare(_SECTION)
def adaptive_avg_pool(x: ArraySpec, /, *, size: tuple[Dim, ...], layout: str = CHANNELS_FIRST) -> ArraySpec:
    """Means over ``size`` windows that cover each axis: ``floor(i * n / size)`` to ``ceil((i + 1) * n / size)``."""
    return _resized(x, axes_of_space(x.ndim, len(size), layout), size)


@declare(_SECTION)
def adaptive_max_pool(x: ArraySpec, /, *, size: tuple[Dim, ...]) -> ArraySpec:
    """Largest elements over the windows of :func:`adaptive_avg_pool`."""
    return ArraySpec((*x.shape[: x.ndim - len(size)], *size), x.dtype)


@declare(_SECTION)
def adaptive_max_pool_with_indices(x: ArraySpec, /, *, size: tuple[Dim, ...]) -> tuple[ArraySpec, ArraySpec]:
    """:func:`adaptive_max_pool`, and where each largest element stands, as :func:`max_pool_with_indices` counts."""
    values = adaptive_max_pool(x, size=size)
    return values, ArraySpec(values.shape, "int64")


@declare(_SECTION)
def fractional_max_pool(
    x: ArraySpec, samples: ArraySpec, /, *, kernel: tuple[Dim, ...], size: tuple[Dim, ...]
) -> tuple[ArraySpec, ArraySpec]:
    """Largest elements, and their places, of ``size`` windows whose steps vary with ``samples`` [batch, channels, axes] in [0, 1)."""
    values = ArraySpec((*x.shape[: x.ndim - len(size)], *size), x.dtype)
    return values, ArraySpec(values.shape, "int64")
