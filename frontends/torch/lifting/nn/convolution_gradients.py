"""Gradients of convolutions, which are convolutions themselves."""

from __future__ import annotations

from typing import Any

from ....slicing import cut
from ..table import TorchBuilder, rows
from .windows import both_sides, spread


@rows.row("convolution_backward")
def convolution_backward(
    b: TorchBuilder,
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> Any:
    """aten::convolution_backward: gradients of the input, the weight and the bias, None of those that are not asked for."""
    if transposed:
        raise NotImplementedError("the gradient of a transposed convolution")
    rank = weight.ndim - 2
    steps = (spread(stride, rank), spread(padding, rank), spread(dilation, rank))
    of_input, of_weight, of_bias = output_mask
    return (
        _of_input(b, grad_output, input, weight, *steps, groups) if of_input else None,
        _of_weight(b, grad_output, input, weight, *steps, groups) if of_weight else None,
        b.sum(grad_output, axis=(0, *range(2, rank + 2))) if of_bias else None,
    )


def _of_input(b: TorchBuilder, gradient: Any, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """Spread over the windows again; rows that no window has reached are padding of what comes out."""
    sizes = zip(x.shape[2:], gradient.shape[2:], weight.shape[2:], stride, padding, dilation)
    reached = [(size, (count - 1) * step - 2 * pad + apart * (kernel - 1) + 1) for size, count, kernel, step, pad, apart in sizes]
    return b.conv_transpose(
        gradient,
        weight,
        strides=stride,
        padding=both_sides(padding, len(stride)),
        output_padding=tuple(b.fix(size) - b.fix(end) for size, end in reached),
        dilation=dilation,
        groups=groups,
    )


def _of_weight(b: TorchBuilder, gradient: Any, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The input under windows of the gradient: batch and channels change places, so do strides and dilation."""
    rank = weight.ndim - 2
    rest = tuple(range(2, rank + 2))
    batch, channels = x.shape[0], b.fix(x.shape[1]) // groups
    apart = b.reshape(x, shape=(batch, groups, channels, *x.shape[2:]))
    apart = b.permute_dims(apart, axes=(2, 1, 0, *range(3, rank + 3)))
    made = b.conv(
        b.reshape(apart, shape=(channels, groups * batch, *x.shape[2:])),
        b.permute_dims(gradient, axes=(1, 0, *rest)),
        strides=dilation,
        padding=both_sides(padding, rank),
        dilation=stride,
        groups=groups,
    )
    for axis, kernel in zip(rest, weight.shape[2:]):  # rows that no window has reached
        made = cut(b, made, axis, 0, kernel)
    return b.permute_dims(made, axes=(1, 0, *rest))
