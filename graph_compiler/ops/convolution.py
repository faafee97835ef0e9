"""Convolution, pooling and resampling, and the position of the channel axis.

Convolutions take ``[batch, channels, *space]``, or ``[batch, *space, channels]`` (``"channels_last"``).
Weights of ``conv`` are ``[out, in // groups, *kernel]`` in both layouts, those of ``conv_transpose`` are
``[in, out // groups, *kernel]``. ``padding`` holds a pair (before, after) for each spatial axis.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidGraph
from ..sizes import Dim, product
from .registry import ArraySpec, declare, decomposition
from .rules import dtype_of, is_symbolic, window_output

# ---------------------------------------------------------------------------------------------------- layouts

CHANNELS_FIRST, CHANNELS_LAST = "channels_first", "channels_last"


def to_last(rank: int) -> tuple[int, ...]:
    """Return the permutation from ``[batch, channels, *space]`` to ``[batch, *space, channels]``.

    >>> to_last(4), to_first(4)
    ((0, 2, 3, 1), (0, 3, 1, 2))
    """
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> tuple[int, ...]:
    """Return the permutation from ``[batch, *space, channels]`` to ``[batch, channels, *space]``."""
    return (0, rank - 1, *range(1, rank - 1))


def weight_to_first(rank: int) -> tuple[int, ...]:
    """Return the permutation of a weight from ``[*kernel, in, out]`` to ``[out, in, *kernel]``.

    >>> weight_to_first(4)
    (3, 2, 0, 1)
    """
    return (rank - 1, rank - 2, *range(rank - 2))


def axes_of_space(rank: int, count: int, layout: str) -> range:
    """Return the positions of the ``count`` spatial axes of an array with ``rank`` axes.

    These are the last axes in the layout ``CHANNELS_FIRST``, and the axes before the last one in
    ``CHANNELS_LAST``. Raise ``InvalidGraph`` if the layout is unknown or the array has too few axes.

    >>> list(axes_of_space(4, 2, CHANNELS_FIRST)), list(axes_of_space(4, 2, CHANNELS_LAST))
    ([2, 3], [1, 2])
    """
    if layout not in (CHANNELS_FIRST, CHANNELS_LAST):
        raise InvalidGraph(f"layout is {CHANNELS_FIRST!r} or {CHANNELS_LAST!r}, not {layout!r}")
    last = rank if layout == CHANNELS_FIRST else rank - 1
    if last < count:
        raise InvalidGraph(f"an array of {rank} axes has no {count} axes of space in layout {layout!r}")
    return range(last - count, last)


# ------------------------------------------------------------------------------------------------ convolution
_SECTION = "convolution"

Pairs = tuple[tuple[Dim, Dim], ...]


@declare(_SECTION)
def conv(
    x: ArraySpec,
    weight: ArraySpec,
    bias: ArraySpec | None = None,
    /,
    *,
    strides: tuple[int, ...],
    padding: Pairs,
    dilation: tuple[int, ...],
    groups: int = 1,
    layout: str = CHANNELS_FIRST,
) -> ArraySpec:
    """Cross-correlate ``x`` with ``weight`` and add ``bias`` per channel (torch.nn.functional.conv2d).

    ``x`` is ``[batch, channels, *space]``, or ``[batch, *space, channels]`` in the layout "channels_last".
    The weight is ``[out, in // groups, *kernel]`` in both layouts. ``padding`` is a pair of numbers of zeros,
    before and after, for each spatial axis.
    """
    channels, space = _split(x, layout)
    kernel = weight.shape[2:]
    _check(x, weight, channels, weight.shape[1] * groups)
    sizes = tuple(map(window_output, space, kernel, strides, padding, dilation))
    return ArraySpec(_join(x.shape[0], weight.shape[0], sizes, layout), dtype_of(x, weight))


@declare(_SECTION)
def conv_channels_last(
    x: ArraySpec,
    kernel: ArraySpec,
    bias: ArraySpec | None = None,
    /,
    *,
    strides: tuple[int, ...],
    padding: Pairs,
    dilation: tuple[int, ...],
    groups: int = 1,
) -> ArraySpec:
    """Compute ``conv`` of ``[batch, *space, channels]`` with a weight ``[*kernel, in // groups, out]``.

    It corresponds to ``lax.conv_general_dilated`` with these orders of axes. Parameters are as in
    :func:`conv`.
    """
    weight = ArraySpec(tuple(kernel.shape[axis] for axis in weight_to_first(kernel.ndim)), kernel.dtype)
    return conv(
        x,
        weight,
        bias,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        layout=CHANNELS_LAST,
    )


@decomposition("conv_channels_last")
def _conv_channels_last(b: Any, x: Any, kernel: Any, *bias: Any, **params: Any) -> Any:
    # Targets with a row use such weights directly. For others the weight is permuted at each call.
    return b.conv(
        x, b.permute_dims(kernel, axes=weight_to_first(kernel.ndim)), *bias, layout=CHANNELS_LAST, **params
    )


@declare(_SECTION)
def conv_transpose(
    x: ArraySpec,
    weight: ArraySpec,
    bias: ArraySpec | None = None,
    /,
    *,
    strides: tuple[int, ...],
    padding: Pairs,
    output_padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int = 1,
    layout: str = CHANNELS_FIRST,
) -> ArraySpec:
    """Compute a transposed convolution (torch.nn.functional.conv_transpose2d).

    It is the gradient of :func:`conv` with respect to its input, plus ``bias`` per channel. The weight is
    ``[in, out // groups, *kernel]``. Along each spatial axis of the result, ``padding`` removes elements at
    both ends, and ``output_padding`` adds elements at the end.
    """
    channels, space = _split(x, layout)
    _check(x, weight, channels, weight.shape[0])
    kernel = weight.shape[2:]
    sizes = tuple(map(_transposed_size, space, kernel, strides, padding, output_padding, dilation))
    return ArraySpec(_join(x.shape[0], weight.shape[1] * groups, sizes, layout), dtype_of(x, weight))


@declare(_SECTION)
def im2col(
    x: ArraySpec,
    /,
    *,
    kernel: tuple[Dim, ...],
    strides: tuple[int, ...],
    padding: Pairs,
    dilation: tuple[int, ...],
) -> ArraySpec:
    """Extract all windows of ``x[batch, channels, *space]`` as columns (torch.nn.functional.unfold).

    The result is ``[batch, channels * elements of a window, number of windows]``. Padded elements are 0.
    """
    windows = tuple(map(window_output, x.shape[2:], kernel, strides, padding, dilation))
    return ArraySpec((x.shape[0], x.shape[1] * product(kernel), product(windows)), x.dtype)


@declare(_SECTION)
def col2im(
    x: ArraySpec,
    /,
    *,
    size: tuple[Dim, ...],
    kernel: tuple[Dim, ...],
    strides: tuple[int, ...],
    padding: Pairs,
    dilation: tuple[int, ...],
) -> ArraySpec:
    """Add columns to zeros at the positions from which ``im2col`` takes them (torch.nn.functional.fold).

    ``x`` has the shape of a result of :func:`im2col`. The result is ``[batch, channels, *size]``.
    """
    return ArraySpec((x.shape[0], x.shape[1] // product(kernel), *size), x.dtype)


def _split(x: ArraySpec, layout: str) -> tuple[Dim, tuple[Dim, ...]]:
    space = axes_of_space(x.ndim, x.ndim - 2, layout)
    return x.shape[1 if layout == CHANNELS_FIRST else -1], tuple(x.shape[axis] for axis in space)


def _join(batch: Dim, channels: Dim, space: tuple[Any, ...], layout: str) -> tuple[Any, ...]:
    return (batch, channels, *space) if layout == CHANNELS_FIRST else (batch, *space, channels)


def _check(x: ArraySpec, weight: ArraySpec, channels: Dim, taken: Dim) -> None:
    if x.ndim != weight.ndim:
        raise InvalidGraph(
            f"convolution of {x} with {weight}: the weight must have as many axes as the array"
        )
    if channels != taken and not is_symbolic(channels, taken):
        raise InvalidGraph(
            f"convolution of {x} with {weight}: the array has {channels} channels, the weight takes {taken}"
        )


def _transposed_size(
    size: Dim, kernel: Dim, stride: int, padding: tuple[Any, Any], output_padding: int, dilation: int
) -> Any:
    return (size - 1) * stride - padding[0] - padding[1] + dilation * (kernel - 1) + output_padding + 1


# ---------------------------------------------------------------------------------------------------- pooling
# Pooling works on the last axes, or with ``layout="channels_last"`` on those before the last one. These are
# ``len(kernel)`` or ``len(size)`` axes, and all others are batch. With ``ceil_mode`` a last window that
# starts inside the array or in the padding before it is included even if it extends beyond the end.

_POOLING = "pooling"


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
    """Compute the maximum of each window, NaN if the window contains NaN (torch.nn.functional.max_pool2d).

    Windows extend over ``len(kernel)`` axes: the last ones, or those before the last one in the layout
    "channels_last". Padding counts as -inf, or as the lowest integer.
    """
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
    """Compute ``max_pool``, and the index of each maximum in the flattened pooled axes of ``x``.

    The axes are flattened in row-major order, without padding. Ties go to the first element.
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

    Windows extend over the same axes as those of :func:`max_pool`. Padded elements are 0. The mean is the sum
    divided by the size of the window, or by ``divisor_override`` if that is given. The size includes the
    padding if ``count_include_pad``, but never what ``ceil_mode`` adds beyond the padding. Division of
    integers truncates.
    """
    return _pooled(x, kernel, strides, padding, (1,) * len(kernel), ceil_mode, layout)


@declare(_POOLING)
def lp_pool(
    x: ArraySpec, /, *, ord: Any, kernel: tuple[Dim, ...], strides: tuple[Dim, ...], ceil_mode: bool = False
) -> ArraySpec:
    """Compute ``sum(x ** ord) ** (1 / ord)`` over each window (torch.nn.functional.lp_pool2d).

    As in torch, there are no absolute values, so negative elements and odd ``ord`` may make a negative sum.
    With ``ceil_mode``, the sum over a window that extends beyond the end is scaled to a full window.
    """
    rank = len(kernel)
    return _pooled(x, kernel, strides, ((0, 0),) * rank, (1,) * rank, ceil_mode)


@declare(_POOLING)
def max_unpool(x: ArraySpec, indices: ArraySpec, /, *, size: tuple[Dim, ...]) -> ArraySpec:
    """Return zeros of spatial shape ``size`` with the elements of ``x`` at ``indices``.

    ``indices`` has the shape of ``x``, and indexes the flattened spatial axes of the result, as the indices
    of :func:`max_pool_with_indices` do.
    """
    return ArraySpec((*x.shape[: x.ndim - len(size)], *size), x.dtype)


@declare(_POOLING)
def adaptive_avg_pool(x: ArraySpec, /, *, size: tuple[Dim, ...], layout: str = CHANNELS_FIRST) -> ArraySpec:
    """Compute the means of windows that cover each spatial axis; ``size`` is their number per axis.

    With ``k`` windows on an axis of length ``n``, window ``i`` has the elements from ``floor(i * n / k)`` up
    to ``ceil((i + 1) * n / k)``, not included.
    """
    return _resized(x, axes_of_space(x.ndim, len(size), layout), size)


@declare(_POOLING)
def adaptive_max_pool(x: ArraySpec, /, *, size: tuple[Dim, ...]) -> ArraySpec:
    """Compute the maxima of windows that cover each spatial axis; ``size`` is their number per axis.

    The windows are those of :func:`adaptive_avg_pool`.
    """
    return ArraySpec((*x.shape[: x.ndim - len(size)], *size), x.dtype)


@declare(_POOLING)
def adaptive_max_pool_with_indices(x: ArraySpec, /, *, size: tuple[Dim, ...]) -> tuple[ArraySpec, ArraySpec]:
    """Compute ``adaptive_max_pool``, and the index of each maximum in the flattened pooled axes of ``x``.

    Ties go to the first element, as in :func:`max_pool_with_indices`.
    """
    values = adaptive_max_pool(x, size=size)
    return values, ArraySpec(values.shape, "int64")


@declare(_POOLING)
def fractional_max_pool(
    x: ArraySpec, samples: ArraySpec, /, *, kernel: tuple[Dim, ...], size: tuple[Dim, ...]
) -> tuple[ArraySpec, ArraySpec]:
    """Compute fractional max pooling (torch.nn.functional.fractional_max_pool2d): maxima and their indices.

    Each spatial axis has ``size`` windows of ``kernel`` elements. Their starts depend on ``samples`` [batch,
    channels, axes], which lie in [0, 1). As in torch, for two spatial axes the first sample is for the last
    axis. Indices are those into the flattened spatial axes of ``x``, as in :func:`max_pool_with_indices`.
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
    """Resample the spatial axes of ``x`` to ``size`` (torch.nn.functional.interpolate).

    ``method`` is "nearest", "nearest-exact", "linear" (in every axis), "cubic" or, with ``antialias``,
    "lanczos". ``scales`` has the scale factor of each axis; None, for one axis or all, means the ratio of the
    sizes. For "linear" and "cubic" without ``antialias``, ``align_corners`` aligns the centres of the
    corner elements of ``x`` and the result. ``antialias`` widens the filter along axes that shrink.
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

    The positions are ``grid[batch, *out, axes]``. Their coordinates are ordered from the last spatial axis to
    the first. With ``align_corners``, -1 and 1 are the centres of the first and last element, otherwise their
    outer edges. ``method`` is "nearest", "linear" or "cubic". ``padding`` defines the elements outside of
    ``x``: "zeros", "border" (the nearest element) or "reflection".
    """
    if method not in ("nearest", "linear", "cubic") or padding not in PADDINGS:
        raise InvalidGraph(f"grid_sample knows no method {method!r} with padding {padding!r}")
    return ArraySpec((*x.shape[:2], *grid.shape[1:-1]), dtype_of(x, grid))


@declare(_RESAMPLING)
def affine_grid(theta: ArraySpec, /, *, size: tuple[Dim, ...], align_corners: bool = False) -> ArraySpec:
    """Compute the positions for ``grid_sample`` from affine maps ``theta[batch, n, n + 1]``.

    ``size`` has the ``n`` spatial sizes of the sampled result, and the positions are ``[batch, *size, n]``.
    ``align_corners`` must be the same in both operations.
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
    """Compute the inverse of ``pixel_shuffle`` (torch.pixel_unshuffle).

    ``[..., channels, height, width]`` becomes ``[..., channels * factor ** 2, height // factor, width //
    factor]``.
    """
    *batch, channels, height, width = x.shape
    return ArraySpec((*batch, channels * (factor * factor), height // factor, width // factor), x.dtype)


@declare(_RESAMPLING)
def channel_shuffle(x: ArraySpec, /, *, groups: int) -> ArraySpec:
    """Interleave the channels (axis 1) of ``groups`` groups of equal size (torch.channel_shuffle).

    The result has the first channel of each group, then the second of each, and so on.
    """
    return ArraySpec(x.shape, x.dtype)


# --------------------------------------------------------------------------------------------- decompositions
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
