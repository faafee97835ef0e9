"""Pooling and resampling over the last axes, or with ``layout="channels_last"`` those before the last one.

There are ``len(kernel)`` such axes; all other axes are batch. ``padding`` holds a pair (before, after) for
each axis. With ``ceil_mode`` a last window that starts inside the array, or in the padding before it,
counts even if it extends beyond the end.
"""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ...sizes import Dim, product
from ..layouts import CHANNELS_FIRST, axes_of_space
from ..registry import ArraySpec, declare, decomposition
from ..rules import dtype_of, window_output

_POOLING = "pooling"

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
    return _resized(
        x,
        axes,
        tuple(
            window_output(*of_axis, ceil_mode) for of_axis in zip(space, kernel, strides, padding, dilation)
        ),
    )


def _resized(x: ArraySpec, axes: range, size: tuple[Dim, ...]) -> ArraySpec:
    return ArraySpec((*x.shape[: axes.start], *size, *x.shape[axes.stop :]), x.dtype)


@declare(_POOLING)
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
    """Compute the maximum of each window, NaN if the window contains NaN (torch.nn.functional.max_pool2d)."""
    return _pooled(x, kernel, strides, padding, dilation, ceil_mode, layout)


@declare(_POOLING)
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
    """Compute :func:`max_pool`, and the row-major index of each maximum in the pooled axes.

    Ties go to the first element.
    """
    values = _pooled(x, kernel, strides, padding, dilation, ceil_mode)
    return values, ArraySpec(values.shape, "int64")


@declare(_POOLING)
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
    """Compute the mean of each window (torch.nn.functional.avg_pool2d).

    It is the sum divided by the size of the window, or by ``divisor_override`` if that is given. The size
    includes the padding if ``count_include_pad``.
    """
    return _pooled(x, kernel, strides, padding, (1,) * len(kernel), ceil_mode, layout)


@declare(_POOLING)
def lp_pool(
    x: ArraySpec, /, *, ord: Any, kernel: tuple[Dim, ...], strides: tuple[Dim, ...], ceil_mode: bool = False
) -> ArraySpec:
    """Compute the ``ord``-norm of each window (torch.nn.functional.lp_pool2d).

    As in torch, ``x ** ord`` is summed without absolute values, so odd powers keep their signs.
    """
    rank = len(kernel)
    return _pooled(x, kernel, strides, ((0, 0),) * rank, (1,) * rank, ceil_mode)


@declare(_POOLING)
def max_unpool(x: ArraySpec, indices: ArraySpec, /, *, size: tuple[Dim, ...]) -> ArraySpec:
    """Write the elements of ``x`` to ``indices`` of an array of zeros of spatial ``size``.

    The indices are those of :func:`max_pool_with_indices`.
    """
    return ArraySpec((*x.shape[: x.ndim - len(size)], *size), x.dtype)


@declare(_POOLING)
def adaptive_avg_pool(x: ArraySpec, /, *, size: tuple[Dim, ...], layout: str = CHANNELS_FIRST) -> ArraySpec:
    """Compute the means of ``size`` windows that cover each axis.

    Window ``i`` goes from ``floor(i * n / size)`` to ``ceil((i + 1) * n / size)``.
    """
    return _resized(x, axes_of_space(x.ndim, len(size), layout), size)


@declare(_POOLING)
def adaptive_max_pool(x: ArraySpec, /, *, size: tuple[Dim, ...]) -> ArraySpec:
    """Compute maxima over the windows of :func:`adaptive_avg_pool`."""
    return ArraySpec((*x.shape[: x.ndim - len(size)], *size), x.dtype)


@declare(_POOLING)
def adaptive_max_pool_with_indices(x: ArraySpec, /, *, size: tuple[Dim, ...]) -> tuple[ArraySpec, ArraySpec]:
    """Compute :func:`adaptive_max_pool`, and the index of each maximum.

    The indices are those of :func:`max_pool_with_indices`.
    """
    values = adaptive_max_pool(x, size=size)
    return values, ArraySpec(values.shape, "int64")


@declare(_POOLING)
def fractional_max_pool(
    x: ArraySpec, samples: ArraySpec, /, *, kernel: tuple[Dim, ...], size: tuple[Dim, ...]
) -> tuple[ArraySpec, ArraySpec]:
    """Compute the maxima, and their indices, of ``size`` windows with random strides.

    The strides vary with ``samples`` [batch, channels, axes], which lie in [0, 1).
    """
    values = ArraySpec((*x.shape[: x.ndim - len(size)], *size), x.dtype)
    return values, ArraySpec(values.shape, "int64")


_RESAMPLING = "resampling"

METHODS = ("nearest", "nearest-exact", "linear", "cubic", "lanczos")
PADDINGS = ("zeros", "border", "reflection")


@declare(_RESAMPLING)
def interpolate(
    x: ArraySpec,
    /,
    *,
    size: tuple[Dim, ...],
    method: str,
    scales: tuple[Any, ...] | None = None,
    align_corners: bool = False,
    antialias: bool = False,
    layout: str = CHANNELS_FIRST,
) -> ArraySpec:
    """Resample the last axes, or those before the channels, to ``size`` (torch.nn.functional.interpolate).

    ``method`` is "nearest", "nearest-exact", "linear" (in every axis), "cubic" or "lanczos". ``scales``
    are the factors that positions are computed with; None means output size by input size. ``antialias``
    widens the filter when shrinking.
    """
    if method not in METHODS:
        raise InvalidGraph(f"interpolate knows the methods {', '.join(METHODS)}, not {method!r}")
    axes = axes_of_space(x.ndim, len(size), layout)
    return ArraySpec((*x.shape[: axes.start], *size, *x.shape[axes.stop :]), x.dtype)


@declare(_RESAMPLING)
def grid_sample(
    x: ArraySpec,
    grid: ArraySpec,
    /,
    *,
    method: str = "linear",
    padding: str = "zeros",
    align_corners: bool = False,
) -> ArraySpec:
    """Sample ``x[batch, channels, *space]`` at positions (torch.nn.functional.grid_sample).

    The positions are ``grid[batch, *out, axes]``, from -1 to 1 over each axis, the last axis first.
    ``padding`` says what lies outside: "zeros", "border" (the nearest element) or "reflection".
    """
    if method not in ("nearest", "linear", "cubic") or padding not in PADDINGS:
        raise InvalidGraph(f"grid_sample knows no method {method!r} with padding {padding!r}")
    return ArraySpec((*x.shape[:2], *grid.shape[1:-1]), dtype_of(x, grid))


@declare(_RESAMPLING)
def affine_grid(theta: ArraySpec, /, *, size: tuple[Dim, ...], align_corners: bool = False) -> ArraySpec:
    """Compute the positions for :func:`grid_sample` from affine maps ``theta[batch, n, n + 1]``.

    The result has spatial ``size``.
    """
    return ArraySpec((theta.shape[0], *size, len(size)), theta.dtype)


@declare(_RESAMPLING)
def pixel_shuffle(x: ArraySpec, /, *, factor: int) -> ArraySpec:
    """Move blocks of ``factor ** 2`` channels to space (torch.pixel_shuffle).

    ``[..., channels * factor ** 2, height, width]`` becomes ``[..., channels, height * factor, width *
    factor]``.
    """
    *batch, channels, height, width = x.shape
    return ArraySpec((*batch, channels // (factor * factor), height * factor, width * factor), x.dtype)


@declare(_RESAMPLING)
def pixel_unshuffle(x: ArraySpec, /, *, factor: int) -> ArraySpec:
    """Compute the inverse of :func:`pixel_shuffle` (torch.pixel_unshuffle)."""
    *batch, channels, height, width = x.shape
    return ArraySpec((*batch, channels * (factor * factor), height // factor, width // factor), x.dtype)


@declare(_RESAMPLING)
def channel_shuffle(x: ArraySpec, /, *, groups: int) -> ArraySpec:
    """Interleave the channels (axis 1) of ``groups`` groups (torch.channel_shuffle)."""
    return ArraySpec(x.shape, x.dtype)


# ------------------------------------------------------------------------------ in smaller operations
@decomposition("pixel_shuffle")
def _pixel_shuffle(b: Any, x: Any, *, factor: int) -> Any:
    *batch, channels, height, width = x.shape
    n = len(batch)
    split = b.reshape(x, shape=(*batch, channels // (factor * factor), factor, factor, height, width))
    moved = b.permute_dims(split, axes=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return b.reshape(moved, shape=pixel_shuffle(x.spec, factor=factor).shape)


@decomposition("pixel_unshuffle")
def _pixel_unshuffle(b: Any, x: Any, *, factor: int) -> Any:
    *batch, channels, height, width = x.shape
    n = len(batch)
    split = b.reshape(x, shape=(*batch, channels, height // factor, factor, width // factor, factor))
    moved = b.permute_dims(split, axes=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return b.reshape(moved, shape=pixel_unshuffle(x.spec, factor=factor).shape)


@decomposition("channel_shuffle")
def _channel_shuffle(b: Any, x: Any, *, groups: int) -> Any:
    split = b.reshape(x, shape=(x.shape[0], groups, x.shape[1] // groups, product(x.shape[2:])))
    return b.reshape(b.permute_dims(split, axes=(0, 2, 1, 3)), shape=x.shape)
