"""Convolutions and their gradients, and ``unfold`` and ``fold``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....common.indexing import cut
from ..table import TorchBuilder, rows
from .activations import optional


def spread(value: Any, rank: int) -> tuple[Any, ...]:
    """Return ``value`` as a tuple, with a number or a single item repeated for each of ``rank`` axes.

    >>> spread(2, 3), spread([1], 2), spread((1, 2), 2)
    ((2, 2, 2), (1, 1), (1, 2))
    """
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * rank if len(values) == 1 else values


def strides_or(stride: Any, kernel: tuple[Any, ...]) -> tuple[Any, ...]:
    return kernel if stride in (None, [], ()) else spread(stride, len(kernel))


def both_sides(padding: Any, rank: int) -> tuple[tuple[Any, Any], ...]:
    """Convert torch's symmetric padding to pairs.

    >>> both_sides(1, 2)
    ((1, 1), (1, 1))
    """
    return tuple((amount, amount) for amount in spread(padding, rank))


def _batched(b: TorchBuilder, x: Any, rank: int, compute: Callable[[Any], Any]) -> Any:
    if x.ndim != rank:
        return compute(x)
    result = compute(b.reshape(x, shape=(1, *x.shape)))
    return b.reshape(result, shape=result.shape[1:])


def _padding(padding: Any, kernel: tuple[Any, ...], dilation: tuple[int, ...]) -> tuple[tuple[Any, Any], ...]:
    if padding == "valid":
        return both_sides(0, len(kernel))
    if padding != "same":
        return both_sides(padding, len(kernel))
    whole = [step * (k - 1) for k, step in zip(kernel, dilation)]
    return tuple((total // 2, total - total // 2) for total in whole)


def _conv(
    b: TorchBuilder, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    kernel = weight.shape[2:]
    rank = len(kernel)
    steps = spread(dilation, rank)
    options = {
        "strides": spread(stride, rank),
        "padding": _padding(padding, kernel, steps),
        "dilation": steps,
        "groups": groups,
    }
    return _batched(b, input, rank + 1, lambda x: b.conv(*optional(x, weight, bias), **options))


def _conv_transpose(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    rank = weight.ndim - 2
    options = {
        "strides": spread(stride, rank),
        "padding": both_sides(padding, rank),
        "output_padding": spread(output_padding, rank),
        "dilation": spread(dilation, rank),
        "groups": groups,
    }
    return _batched(b, input, rank + 1, lambda x: b.conv_transpose(*optional(x, weight, bias), **options))


@rows.row("conv1d", "conv2d", "conv3d")
def conv(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    return _conv(b, input, weight, bias, stride, padding, dilation, groups)


@rows.row("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    return _conv_transpose(b, input, weight, bias, stride, padding, output_padding, groups, dilation)


@rows.row("convolution", "_convolution")
def convolution(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *flags: bool,
    **named_flags: bool,
) -> Any:
    if transposed:
        return _conv_transpose(b, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _conv(b, input, weight, bias, stride, padding, dilation, groups)


@rows.row("_convolution_mode")
def _convolution_mode(
    b: TorchBuilder, input: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
) -> Any:
    return _conv(b, input, weight, bias, stride, padding, dilation, groups)


rows.table({
    "mkldnn_convolution": lambda b, self, weight, bias, padding, stride, dilation, groups: _conv(
        b, self, weight, bias, stride, padding, dilation, groups
    ),
    ("slow_conv_dilated2d", "slow_conv_dilated3d"):
        lambda b, self, weight, kernel_size, bias=None, stride=1, padding=0, dilation=1:
        _conv(
        b, self, weight, bias, stride, padding, dilation, 1
    ),
})  # fmt: skip


@rows.row("thnn_conv2d", "_slow_conv2d_forward", "slow_conv3d", "slow_conv3d_forward")
def slow_conv(
    b: TorchBuilder,
    self: Any,
    weight: Any,
    kernel_size: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
) -> Any:
    return _conv(b, self, weight, bias, stride, padding, 1, 1)


@rows.row("slow_conv_transpose2d", "slow_conv_transpose3d")
def slow_conv_transpose(
    b: TorchBuilder,
    self: Any,
    weight: Any,
    kernel_size: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
) -> Any:
    return _conv_transpose(b, self, weight, bias, stride, padding, output_padding, 1, dilation)


@rows.row("conv_tbc")
def conv_tbc(b: TorchBuilder, self: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    # This function has [time, batch, channels], and weights [time, in, out].
    x = b.permute_dims(self, axes=(1, 2, 0))
    result = _conv(b, x, b.permute_dims(weight, axes=(2, 1, 0)), bias, 1, pad, 1, 1)
    return b.permute_dims(result, axes=(2, 0, 1))


@rows.row("nn.functional.unfold", "im2col")
def unfold(
    b: TorchBuilder, input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    options = {
        "kernel": spread(kernel_size, 2),
        "strides": spread(stride, 2),
        "padding": both_sides(padding, 2),
        "dilation": spread(dilation, 2),
    }
    return _batched(b, input, 3, lambda x: b.im2col(x, **options))


@rows.row("nn.functional.fold", "col2im")
def fold(
    b: TorchBuilder,
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    options = {
        "size": spread(output_size, 2),
        "kernel": spread(kernel_size, 2),
        "strides": spread(stride, 2),
        "padding": both_sides(padding, 2),
        "dilation": spread(dilation, 2),
    }
    return _batched(b, input, 2, lambda x: b.col2im(x, **options))


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


def _of_input(
    b: TorchBuilder, gradient: Any, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    sizes = zip(x.shape[2:], gradient.shape[2:], weight.shape[2:], stride, padding, dilation)
    reached = [
        (size, (count - 1) * step - 2 * pad + apart * (kernel - 1) + 1)
        for size, count, kernel, step, pad, apart in sizes
    ]
    return b.conv_transpose(
        gradient,
        weight,
        strides=stride,
        padding=both_sides(padding, len(stride)),
        output_padding=tuple(b.fix(size) - b.fix(end) for size, end in reached),
        dilation=dilation,
        groups=groups,
    )


def _of_weight(
    b: TorchBuilder, gradient: Any, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
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
    # Rows that no window reached are cut off.
    for axis, kernel in zip(rest, weight.shape[2:]):
        made = cut(b, made, axis, 0, kernel)
    return b.permute_dims(made, axes=(1, 0, *rest))
