"""Convolutions over signals, images and volumes, and extraction of their windows.

Arrays are ``[batch, channels, *space]`` (``layout="channels_first"``) or ``[batch, *space, channels]``.
Weights are ``[out, in // groups, *kernel]`` in both layouts, and ``[in, out // groups, *kernel]`` for a
transposed convolution. ``padding`` holds a pair (before, after) for each spatial axis.
"""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ...sizes import Dim, product
from ..layouts import CHANNELS_FIRST, CHANNELS_LAST, axes_of_space, weight_to_first
from ..registry import ArraySpec, declare, decomposition
from ..rules import dtype_of, is_symbolic, window_output

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
    """Cross-correlate ``x`` with ``weight`` and add ``bias`` per channel (torch.nn.functional.conv2d)."""
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
    """Compute :func:`conv` of ``[batch, *space, channels]`` with a weight ``[*kernel, in // groups, out]``.

    It corresponds to ``lax.conv_general_dilated`` with these orders of axes.
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
    # Targets with a row take such weights as they are. Otherwise the weight is permuted at each call.
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

    It is the gradient of :func:`conv` with respect to its input. ``output_padding`` enlarges the result at
    the end of each axis.
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
    """Extract all windows as columns (torch.nn.functional.unfold).

    The result is ``[batch, channels * window, windows]``.
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
    """Sum columns at the positions that :func:`im2col` takes (torch.nn.functional.fold).

    The result is ``[batch, channels, *size]``.
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
