"""Convolutions, and windows as columns.

TensorFlow's CPU kernels support only the channels-last layout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from .arrays import resized, size, sizes
from .control import custom_gradient


def conv(
    x: tf.Tensor,
    weight: tf.Tensor,
    bias: tf.Tensor | None = None,
    *,
    strides: Sequence[int] | None = None,
    padding: Sequence[Sequence[Any]] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
    layout: str = "channels_first",
) -> tf.Tensor:
    """Convolve ``x`` with ``weight[out, in // groups, *kernel]``, and add ``bias[out]`` unless it is None.

    ``x`` and the result are ``[batch, channels, *space]``, or ``[batch, *space, channels]`` for the layout
    "channels_last".
    """
    rank = len(x.shape) - 2
    if layout == "channels_first":
        x = channels_last(x)
    kernel = tf.transpose(weight, [*range(2, rank + 2), 1, 0])
    result = conv_channels_last(
        x, kernel, bias, strides=strides, padding=padding, dilation=dilation, groups=groups
    )
    return channels_first(result) if layout == "channels_first" else result


def conv_channels_last(
    x: tf.Tensor,
    kernel: tf.Tensor,
    bias: tf.Tensor | None = None,
    *,
    strides: Sequence[int] | None = None,
    padding: Sequence[Sequence[Any]] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> tf.Tensor:
    """Convolve ``x[batch, *space, in]`` with ``kernel[*kernel, in // groups, out]``.

    ``padding`` has a pair of amounts, before and after, for each spatial axis.
    """
    rank = len(x.shape) - 2
    if padding:
        x = resized(x, [[0, 0], *padding, [0, 0]])
    result = conv_unpadded(x, kernel, strides or (1,) * rank, dilation or (1,) * rank, groups)
    return result if bias is None else result + bias


def channels_last(x: tf.Tensor) -> tf.Tensor:
    return tf.transpose(x, [0, *range(2, len(x.shape)), 1])


def channels_first(x: tf.Tensor) -> tf.Tensor:
    rank = len(x.shape)
    return tf.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def conv_unpadded(
    x: tf.Tensor, kernel: tf.Tensor, strides: Sequence[int], dilation: Sequence[int], groups: int
) -> tf.Tensor:
    """Convolve ``x[batch, *space, in]`` with ``kernel[*kernel, in // groups, out]`` without padding."""
    # TensorFlow has no kernels for complex numbers.
    if x.dtype.is_complex:
        (a, b), (c, d) = ((tf.math.real(z), tf.math.imag(z)) for z in (x, kernel))
        ac, bd, ad, bc = (
            conv_unpadded(u, v, strides, dilation, groups) for u, v in ((a, c), (b, d), (a, d), (b, c))
        )
        return tf.complex(ac - bd, ad + bc)
    rank = len(x.shape) - 2
    # The kernels of some CPUs return the sizes of x for an empty batch, so one row is appended and dropped
    # again. It is concatenated, because padding would be fused with the convolution.
    if x.shape[0] == 0:
        one = tf.concat([x, tf.zeros([1, *sizes(x)[1:]], x.dtype)], axis=0)
        return conv_unpadded(one, kernel, strides, dilation, groups)[:0]
    if rank == 3 and set(dilation) != {1}:
        # Not every device has a kernel for a dilated convolution over three axes.
        kernel, dilation = dilated(kernel, dilation), (1, 1, 1)
    if groups == 1:
        if max(dilation) > 1:
            return dilated_conv(x, kernel, strides, dilation)
        if rank == 3:
            return tf.nn.conv3d(x, kernel, [1, *strides, 1], "VALID")
        if rank == 2:
            return tf.nn.conv2d(x, kernel, list(strides), "VALID")
        return tf.nn.conv1d(x, kernel, strides[0], "VALID")
    if (
        rank == 2
        and kernel.shape[2] == 1
        and kernel.shape[3] == groups
        and strides[0] == strides[1]
        and 1 in (strides[0], max(dilation))
    ):
        # TensorFlow requires equal strides for this, and strides or dilations of 1.
        by_channel = tf.transpose(kernel, [0, 1, 3, 2])
        return tf.nn.depthwise_conv2d(x, by_channel, [1, *strides, 1], "VALID", dilations=list(dilation))
    # Grouped kernels have no gradient on CPU.
    parts = zip(tf.split(x, groups, axis=-1), tf.split(kernel, groups, axis=-1))
    return tf.concat([conv_unpadded(*part, strides, dilation, 1) for part in parts], axis=-1)


def grouped_conv2d(
    x: tf.Tensor, kernel: tf.Tensor, *, groups: int, dilations: Sequence[int], **options: Any
) -> tf.Tensor:
    """Call ``tf.raw_ops.Conv2D`` with the gradient of ``conv_by_groups``."""

    # TensorFlow has no CPU kernel for the gradient of a convolution with several groups.
    @custom_gradient
    def convolved(x: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def slopes(upstream: tf.Tensor) -> list[tf.Tensor]:
            with tf.GradientTape() as tape:
                tape.watch([x, kernel])
                result = conv_by_groups(x, kernel, groups, dilations, **options)
            return tape.gradient(result, [x, kernel], upstream)

        return tf.raw_ops.Conv2D(input=x, filter=kernel, dilations=list(dilations), **options), slopes

    return convolved(x, kernel)


def compiled_by_xla(operation: Any) -> Any:
    """Return ``operation`` compiled by XLA, and cached by its name."""

    def called(**given: Any) -> Any:
        return operation(**given)

    compiled = vars(compiled_by_xla)
    if operation.__name__ not in compiled:
        compiled[operation.__name__] = tf.function(called, jit_compile=True, autograph=False)
    return compiled[operation.__name__]


def conv_by_groups(
    x: tf.Tensor,
    kernel: tf.Tensor,
    groups: int,
    dilations: Sequence[int],
    *,
    strides: Sequence[int],
    data_format: str,
    **options: Any,
) -> tf.Tensor:
    """Compute a grouped 2-D convolution without the grouped kernels of ``tf.raw_ops.Conv2D``."""
    channels = data_format.index("C")
    down, across = (step for place, step in enumerate(strides) if place not in (0, channels))
    kernel = dilated(kernel, [step for place, step in enumerate(dilations) if place not in (0, channels)])
    if kernel.shape[2] == 1 and channels == 3 and down == across:
        by_channel = tf.reshape(kernel, [*sizes(kernel)[:2], groups, -1])
        options.pop("use_cudnn_on_gpu", None)
        return tf.raw_ops.DepthwiseConv2dNative(
            input=x, filter=by_channel, strides=list(strides), data_format=data_format, **options
        )
    parts = zip(tf.split(x, groups, axis=channels), tf.split(kernel, groups, axis=3))
    given = {"strides": list(strides), "data_format": data_format, **options}
    return tf.concat(
        [tf.raw_ops.Conv2D(input=part, filter=own, **given) for part, own in parts], axis=channels
    )


def dilated_conv(
    x: tf.Tensor, kernel: tf.Tensor, strides: Sequence[int], dilation: Sequence[int]
) -> tf.Tensor:
    """Convolve ``x[batch, *space, in]`` with a dilated ``kernel[*kernel, in, out]``, without padding.

    There are one or two spatial axes.
    """

    # TensorFlow lacks the dilated gradient on CPU, so the gradient is computed with a zero-filled kernel.
    @custom_gradient
    def convolved(x: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def slopes(upstream: tf.Tensor) -> list[tf.Tensor]:
            with tf.GradientTape() as tape:
                tape.watch([x, kernel])
                result = conv_unpadded(x, dilated(kernel, dilation), strides, [1] * len(dilation), 1)
            return tape.gradient(result, [x, kernel], upstream)

        if len(dilation) == 1:
            return tf.nn.conv1d(x, kernel, strides[0], "VALID", dilations=dilation[0]), slopes
        return tf.nn.conv2d(x, kernel, list(strides), "VALID", dilations=list(dilation)), slopes

    return convolved(x, kernel)


def dilated(kernel: tf.Tensor, dilation: Sequence[int]) -> tf.Tensor:
    """Insert ``dilation[i] - 1`` zeros between neighbours along axis ``i`` of ``kernel[*space, in, out]``."""
    for axis, step in enumerate(dilation):
        if step > 1:
            apart = tf.expand_dims(kernel, axis + 1)
            apart = tf.pad(
                apart, [[0, 0]] * (axis + 1) + [[0, step - 1]] + [[0, 0]] * (len(kernel.shape) - axis - 1)
            )
            spread = tf.reshape(
                apart, [size * step if i == axis else size for i, size in enumerate(sizes(kernel))]
            )
            kernel = spread[(slice(None),) * axis + (slice(None, 1 - step),)]
    return kernel


def conv_transpose(
    x: tf.Tensor,
    weight: tf.Tensor,
    bias: tf.Tensor | None = None,
    *,
    strides: Sequence[int] | None = None,
    padding: Sequence[Sequence[Any]] | None = None,
    output_padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
    layout: str = "channels_first",
) -> tf.Tensor:
    """Compute the transposed convolution of ``x`` with ``weight[in, out // groups, *kernel]``.

    ``padding`` has a pair of amounts to cut from the ends of each spatial axis of the result.
    ``output_padding`` makes the result longer at the end of each axis.
    """
    rank = len(x.shape) - 2
    strides, padding, more = (
        strides or (1,) * rank,
        padding or ((0, 0),) * rank,
        output_padding or (0,) * rank,
    )
    if layout == "channels_first":
        x = channels_last(x)
    kernel = dilated(tf.transpose(weight, [*range(2, rank + 2), 1, 0]), dilation or (1,) * rank)
    parts = (
        zip(tf.split(x, groups, axis=-1), tf.split(kernel, groups, axis=-1)) if groups > 1 else [(x, kernel)]
    )
    found = [conv_spread(*part, strides) for part in parts]
    whole = found[0] if groups == 1 else tf.concat(found, axis=-1)
    changes = [[-before, extra - after] for (before, after), extra in zip(padding, more)]
    if any(change != [0, 0] for change in changes):
        whole = resized(whole, [[0, 0], *changes, [0, 0]])
    result = whole if bias is None else whole + bias
    return channels_first(result) if layout == "channels_first" else result


def conv_spread(x: tf.Tensor, kernel: tf.Tensor, strides: Sequence[int]) -> tf.Tensor:
    """Compute the unpadded transposed convolution of ``x`` with ``kernel[*kernel, out, in]``."""
    # TensorFlow has no kernels for complex numbers.
    if x.dtype.is_complex:
        (a, b), (c, d) = ((tf.math.real(z), tf.math.imag(z)) for z in (x, kernel))
        ac, bd, ad, bc = (conv_spread(u, v, strides) for u, v in ((a, c), (b, d), (a, d), (b, c)))
        return tf.complex(ac - bd, ad + bc)
    rank = len(x.shape) - 2
    space = [(n - 1) * stride + k for n, stride, k in zip(sizes(x)[1:-1], strides, sizes(kernel))]
    shape = tf.stack([size(x, 0), *space, size(kernel, rank)])
    return tf.nn.conv_transpose(x, kernel, shape, list(strides), padding="VALID")


def column_windows(
    space: Sequence[Any], kernel: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> list[tf.Tensor]:
    """Return for each spatial axis the indices of the elements that the windows cover.

    Each array of indices has the axes ``[*kernel, *windows]``, but size 1 in those of the other spatial
    axes.
    """
    rank, places = len(kernel), []
    for axis, (n, k, stride, step) in enumerate(zip(space, kernel, strides, dilation)):
        windows = (n - step * (k - 1) - 1) // stride + 1
        place = tf.range(k)[:, None] * step + tf.range(windows) * stride
        places.append(
            tf.reshape(
                place, [k if i == axis else windows if i == rank + axis else 1 for i in range(2 * rank)]
            )
        )
    return places


def im2col(
    x: tf.Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[Sequence[Any]],
    dilation: Sequence[int],
) -> tf.Tensor:
    """Return the windows of ``x[batch, channels, *space]`` as columns [batch, channels * elements, windows].

    ``elements`` is the number of elements of a window in one channel.
    """
    x = resized(x, [[0, 0], [0, 0], *padding])
    batch, channels, *space = sizes(x)
    place = flat_places(column_windows(space, kernel, strides, dilation), space)
    windows = tf.gather(tf.reshape(x, [batch, channels, math.prod(space)]), place, axis=2)
    return tf.reshape(windows, [batch, channels * math.prod(kernel), tf.size(place) // math.prod(kernel)])


def flat_places(places: Sequence[tf.Tensor], space: Sequence[Any]) -> tf.Tensor:
    total = tf.constant(0)
    for place, n in zip(places, space):
        total = total * n + place
    return total


def col2im(
    x: tf.Tensor,
    size: Sequence[Any],
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[Sequence[Any]],
    dilation: Sequence[int],
) -> tf.Tensor:
    """Sum columns [batch, channels * elements, windows] into an array [batch, channels, *size]."""
    space = [n + before + after for n, (before, after) in zip(size, padding)]
    place = tf.reshape(flat_places(column_windows(space, kernel, strides, dilation), space), [-1])
    batch, channels = sizes(x)[0], sizes(x)[1] // math.prod(kernel)
    elements = tf.transpose(tf.reshape(x, [batch * channels, tf.size(place)]))
    summed = tf.transpose(tf.math.unsorted_segment_sum(elements, place, math.prod(space)))
    return resized(
        tf.reshape(summed, [batch, channels, *space]),
        [[0, 0], [0, 0], *([-before, -after] for before, after in padding)],
    )
