"""Rows of convolutions, their gradients, morphology, space-to-depth and space-to-batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.convolution import CHANNELS_FIRST, CHANNELS_LAST, to_first, to_last
from ....ops.dtypes import is_floating
from ....sizes import apply, hint_of, product
from ...common.indexing import cut
from .table import TensorFlowBuilder, numbers, require_static, rows

# ---------------------------------------------------------------------------------------------------- windows
# Layouts and paddings of window operations, in TensorFlow's terms.


def is_first(data_format: str) -> bool:
    return data_format.startswith("NC") or data_format == "CHANNELS_FIRST"


def layout_of(data_format: str) -> str:
    return CHANNELS_FIRST if is_first(data_format) else CHANNELS_LAST


def spatial_values(data_format: str, given: Any, rank: int) -> tuple[int, ...]:
    numbers = tuple(int(item) for item in given) or (1,) * rank
    return numbers[2:] if is_first(data_format) else numbers[1:-1]


def batch_and_channels(data_format: str, given: Any) -> tuple[int, int]:
    numbers = tuple(int(item) for item in given)
    return (numbers[0], numbers[1] if is_first(data_format) else numbers[-1])


def to_channels_first(b: TensorFlowBuilder, x: Value, data_format: str) -> Value:
    return x if is_first(data_format) else b.permute_dims(x, axes=to_first(x.ndim))


def from_channels_first(b: TensorFlowBuilder, x: Value, data_format: str) -> Value:
    return x if is_first(data_format) else b.permute_dims(x, axes=to_last(x.ndim))


def space_of(x: Value, data_format: str) -> tuple[Any, ...]:
    return tuple(x.shape[2:] if is_first(data_format) else x.shape[1:-1])


@dataclass(frozen=True)
class Padding:
    """Padding of the windows of a convolution or pooling.

    kind: SAME, VALID or EXPLICIT.
    explicit: for EXPLICIT, the padding before and after each axis of the array, as a flat tuple.
    data_format: TensorFlow's layout of the array, such as NHWC.
    """

    kind: str
    explicit: tuple[int, ...]
    data_format: str

    def pairs(self, space: Any, kernel: Any, strides: Any, dilation: Any) -> tuple[tuple[Any, Any], ...]:
        if self.kind == "SAME":
            return tuple(map(same, space, kernel, strides, dilation))
        if self.kind == "EXPLICIT":
            pairs = tuple(zip(self.explicit[::2], self.explicit[1::2]))
            return pairs[2:] if is_first(self.data_format) else pairs[1:-1]
        return tuple((0, 0) for _ in space)


def same(size: Any, kernel: Any, stride: int, dilation: int) -> tuple[Any, Any]:
    """Return the padding before and after an axis so that it has ``size / stride`` windows, rounded up.

    If the total padding is odd, there is one more element after the axis than before.

    >>> same(7, 3, 2, 1), same(8, 3, 2, 1)
    ((1, 1), (0, 1))
    """
    reach = (kernel - 1) * dilation
    # With this stride the padding does not depend on the size, which may be symbolic.
    if stride == 1:
        return (reach // 2, reach - reach // 2)
    rest = size % stride
    if isinstance(rest, int):
        whole = apply("max", reach + 1 - (rest or stride), 0)
    else:
        # In this form the number of windows simplifies to the rounded-up quotient.
        whole = (size + stride - 1) // stride * stride - stride + reach + 1 - size
        whole = whole if isinstance(reach, int) and reach + 1 >= stride else apply("max", whole, 0)
    return (whole // 2, whole - whole // 2)


# ------------------------------------------------------------------------------------------------ convolution
class _ConvolutionParams:
    def __init__(self, rank: int, attributes: dict[str, Any]) -> None:
        self.data_format = attributes.get("data_format", "NHWC")
        self.strides = spatial_values(self.data_format, attributes["strides"], rank)
        self.dilation = spatial_values(self.data_format, attributes.get("dilations") or (), rank)
        self.layout = layout_of(self.data_format)
        self.padding = Padding(
            attributes["padding"], tuple(attributes.get("explicit_paddings") or ()), self.data_format
        )

    def pairs(self, space: Any, kernel: Any) -> tuple[tuple[Any, Any], ...]:
        return self.padding.pairs(space, kernel, self.strides, self.dilation)


def _weight(b: TensorFlowBuilder, kernel: Value) -> Any:
    rank = kernel.ndim
    return b.permute_dims(kernel, axes=(rank - 1, rank - 2, *range(rank - 2)))


def _depthwise_weight(b: TensorFlowBuilder, kernel: Value) -> Any:
    height, width, channels, multiplier = kernel.shape
    # A depthwise convolution is one with a group for each channel.
    return _weight(b, b.reshape(kernel, shape=(height, width, 1, channels * multiplier)))


def _groups(b: TensorFlowBuilder, channels: Any, taken: Any) -> int:
    """Return the number of groups of a convolution whose kernel reads ``taken`` of the ``channels``."""
    # Without groups, the number of channels need not be fixed: a guard on the equality suffices.
    if hint_of(channels) == hint_of(taken):
        b.guard(apply("eq", channels, taken))
        return 1
    return b.fix(channels) // b.fix(taken)


def convolve(b: TensorFlowBuilder, x: Value, weight: Value, steps: _ConvolutionParams, groups: int) -> Any:
    return b.conv(
        x,
        weight,
        strides=steps.strides,
        padding=steps.pairs(space_of(x, steps.data_format), weight.shape[2:]),
        dilation=steps.dilation,
        groups=groups,
        layout=steps.layout,
    )


@rows.row("Conv2D", "Conv3D")
def conv(b: TensorFlowBuilder, input: Any, filter: Any, **attributes: Any) -> Any:
    steps = _ConvolutionParams(input.ndim, attributes)
    channels = input.shape[1 if is_first(steps.data_format) else -1]
    return convolve(b, input, _weight(b, filter), steps, _groups(b, channels, filter.shape[-2]))


@rows.row("Conv")
def general_conv(
    b: TensorFlowBuilder,
    input: Any,
    filter: Any,
    *,
    batch_dims: int = 1,
    data_format: str = "CHANNELS_LAST",
    **attributes: Any,
) -> Any:
    if batch_dims != 1:
        raise NotImplementedError("a convolution with several axes of batch")
    return conv(b, input, filter, data_format=data_format, **attributes)


@rows.row("DepthwiseConv2dNative")
def depthwise(b: TensorFlowBuilder, input: Any, filter: Any, **attributes: Any) -> Any:
    steps = _ConvolutionParams(input.ndim, attributes)
    return convolve(b, input, _depthwise_weight(b, filter), steps, b.fix(filter.shape[2]))


# ------------------------------------------------------------------------------------- gradients
def input_gradient(
    b: TensorFlowBuilder, given: Value, weight: Value, space: Any, steps: _ConvolutionParams, groups: int
) -> Any:
    kernel, pairs = weight.shape[2:], steps.pairs(space, weight.shape[2:])
    return transposed_conv(
        b,
        given,
        weight,
        space,
        pairs,
        strides=steps.strides,
        dilation=steps.dilation,
        kernel=kernel,
        groups=groups,
        layout=steps.layout,
    )


def transposed_conv(
    b: TensorFlowBuilder, given: Value, weight: Value, space: Any, pairs: Any,
    *, strides: Any, dilation: Any, kernel: Any, groups: int, layout: str,
) -> Any:  # fmt: skip
    """Compute the transpose of a convolution whose input has spatial sizes ``space``, padded by ``pairs``."""
    counts = given.shape[2:] if layout == CHANNELS_FIRST else given.shape[1:-1]
    whole = [
        (n - 1) * s - low + d * (k - 1) + 1
        for n, s, (low, _), d, k in zip(counts, strides, pairs, dilation, kernel)
    ]
    # The output padding is the part of ``space`` that windows and padding do not cover.
    rest = [size - end + high for size, end, (_, high) in zip(space, whole, pairs)]
    known_rest = all(isinstance(item, int) for item in rest)
    made = b.conv_transpose(
        given,
        weight,
        strides=strides,
        padding=pairs if known_rest else tuple((low, 0) for low, _ in pairs),
        output_padding=tuple(rest) if known_rest else (0,) * len(rest),
        dilation=dilation,
        groups=groups,
        layout=layout,
    )
    if known_rest:
        return made
    behind = [(0, size - end) for size, end in zip(space, whole)]
    return b.pad(
        made, padding=((0, 0), (0, 0), *behind) if layout == CHANNELS_FIRST else ((0, 0), *behind, (0, 0))
    )


def weight_gradient(
    b: TensorFlowBuilder, x: Value, given: Value, kernel: Any, steps: _ConvolutionParams, groups: int
) -> Any:
    """Compute the gradient of a convolution of ``x`` with respect to its weight.

    The result is ``[out, in // groups, *window]``, and ``given`` is the gradient of the convolution's result.
    """
    # It is the convolution of the input with the gradient as the kernel, with batch and channels exchanged,
    # and strides and dilation too.
    x, given = to_channels_first(b, x, steps.data_format), to_channels_first(b, given, steps.data_format)
    rank = x.ndim - 2
    rest = tuple(range(2, rank + 2))
    batch, channels = x.shape[0], b.fix(x.shape[1]) // groups
    pairs = steps.pairs(x.shape[2:], kernel)
    apart = b.permute_dims(
        b.reshape(x, shape=(batch, groups, channels, *x.shape[2:])), axes=(2, 1, 0, *range(3, rank + 3))
    )
    made = b.conv(
        b.reshape(apart, shape=(channels, groups * batch, *x.shape[2:])),
        b.permute_dims(given, axes=(1, 0, *rest)),
        strides=steps.dilation,
        padding=pairs,
        dilation=steps.strides,
        groups=groups,
    )
    # The convolution also has results for input rows at the end that no window reaches.
    for axis, size in zip(rest, kernel):
        made = cut(b, made, axis, 0, size)
    return b.permute_dims(made, axes=(1, 0, *rest))


@rows.row("Conv2DBackpropInput", "Conv3DBackpropInputV2", static=("input_sizes",))
def conv_of_input(
    b: TensorFlowBuilder, input_sizes: Any, filter: Any, out_backprop: Any, **attributes: Any
) -> Any:
    steps = _ConvolutionParams(out_backprop.ndim, attributes)
    shape = numbers(input_sizes, "the shape of the image")
    space = shape[2:] if is_first(steps.data_format) else shape[1:-1]
    channels = shape[1] if is_first(steps.data_format) else shape[-1]
    return input_gradient(
        b, out_backprop, _weight(b, filter), space, steps, _groups(b, channels, filter.shape[-2])
    )


@rows.row("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", static=("filter_sizes",))
def conv_of_filter(
    b: TensorFlowBuilder, input: Any, filter_sizes: Any, out_backprop: Any, **attributes: Any
) -> Any:
    steps = _ConvolutionParams(out_backprop.ndim, attributes)
    shape = numbers(filter_sizes, "the shape of the kernel")
    groups = _groups(b, input.shape[1 if is_first(steps.data_format) else -1], shape[-2])
    made = weight_gradient(b, input, out_backprop, shape[:-2], steps, groups)
    return b.permute_dims(made, axes=(*range(2, made.ndim), 1, 0))


def _refuse_dilation(steps: _ConvolutionParams) -> _ConvolutionParams:
    if any(apart != 1 for apart in steps.dilation):
        raise NotImplementedError(
            "the gradient of a depthwise convolution with dilation, which TensorFlow computes wrongly "
            "or not at all"
        )
    return steps


@rows.row("DepthwiseConv2dNativeBackpropInput", static=("input_sizes",))
def depthwise_of_input(
    b: TensorFlowBuilder, input_sizes: Any, filter: Any, out_backprop: Any, **attributes: Any
) -> Any:
    steps = _refuse_dilation(_ConvolutionParams(out_backprop.ndim, attributes))
    shape = numbers(input_sizes, "the shape of the image")
    space = shape[2:] if is_first(steps.data_format) else shape[1:-1]
    return input_gradient(b, out_backprop, _depthwise_weight(b, filter), space, steps, b.fix(filter.shape[2]))


@rows.row("DepthwiseConv2dNativeBackpropFilter", static=("filter_sizes",))
def depthwise_of_filter(
    b: TensorFlowBuilder, input: Any, filter_sizes: Any, out_backprop: Any, **attributes: Any
) -> Any:
    steps = _refuse_dilation(_ConvolutionParams(out_backprop.ndim, attributes))
    height, width, channels, multiplier = numbers(filter_sizes, "the shape of the kernel")
    made = weight_gradient(b, input, out_backprop, (height, width), steps, b.fix(channels))
    return b.permute_dims(b.reshape(made, shape=(channels, multiplier, height, width)), axes=(2, 3, 0, 1))


# ------------------------------------------------------------------------------------- morphology
def _taps(
    b: TensorFlowBuilder, x: Value, kernel: tuple[int, ...], attributes: dict[str, Any]
) -> tuple[list[Value], Any]:
    """Return the elements of ``x`` at each offset in the windows of a ``Dilation2D``, and the padding.

    There is one array for each offset, in row-major order.
    """
    strides, rates = (spatial_values("NHWC", attributes[name], 4) for name in ("strides", "rates"))
    pairs = Padding(attributes["padding"], (), "NHWC").pairs(x.shape[1:3], kernel, strides, rates)
    # Padding must never be the maximum of a window.
    padded = b.pad(x, padding=((0, 0), *pairs, (0, 0)), value=_least(b, x.dtype))
    sizes = [(padded.shape[i + 1] - (kernel[i] - 1) * rates[i] - 1) // strides[i] + 1 for i in range(2)]
    found = []
    for place in range(kernel[0] * kernel[1]):
        tap = padded
        for i, offset in enumerate((place // kernel[1], place % kernel[1])):
            start = offset * rates[i]
            tap = cut(b, tap, i + 1, start, start + (sizes[i] - 1) * strides[i] + 1, strides[i])
        found.append(tap)
    return found, pairs


def _least(b: TensorFlowBuilder, dtype: str) -> Any:
    if not is_floating(dtype):
        raise NotImplementedError("morphology of integers")
    return float("-inf")


@rows.row("Dilation2D")
def dilation_2d(b: TensorFlowBuilder, input: Any, filter: Any, **attributes: Any) -> Any:
    kernel = (b.fix(filter.shape[0]), b.fix(filter.shape[1]))
    taps, _ = _taps(b, input, kernel, attributes)
    found: Any = None
    for place, tap in enumerate(taps):
        raised = b.add(tap, b.getitem(filter, key=(place // kernel[1], place % kernel[1])))
        found = raised if found is None else b.maximum(found, raised)
    return found


def _gradient_by_tap(
    b: TensorFlowBuilder, input: Value, filter: Value, given: Value, attributes: dict[str, Any]
) -> tuple[list[Value], Any]:
    """Return the gradient of a ``Dilation2D``, split by the offset in the window, and the spatial padding.

    An element of ``given`` goes to the first offset that has the maximum of its window.
    """
    kernel = (b.fix(filter.shape[0]), b.fix(filter.shape[1]))
    taps, pairs = _taps(b, input, kernel, attributes)
    raised = [
        b.add(tap, b.getitem(filter, key=(place // kernel[1], place % kernel[1])))
        for place, tap in enumerate(taps)
    ]
    winner = b.argmax(b.stack(*raised, axis=0), axis=0)
    nothing = b.array(0, given.dtype)
    return [b.where(b.equal(winner, place), given, nothing) for place in range(len(taps))], pairs


@rows.row("Dilation2DBackpropFilter")
def dilation_of_filter(
    b: TensorFlowBuilder, input: Any, filter: Any, out_backprop: Any, **attributes: Any
) -> Any:
    parts, _ = _gradient_by_tap(b, input, filter, out_backprop, attributes)
    return b.reshape(b.stack(*(b.sum(part, axis=(0, 1, 2)) for part in parts), axis=0), shape=filter.shape)


@rows.row("Dilation2DBackpropInput")
def dilation_of_input(
    b: TensorFlowBuilder, input: Any, filter: Any, out_backprop: Any, **attributes: Any
) -> Any:
    parts, pairs = _gradient_by_tap(b, input, filter, out_backprop, attributes)
    strides, rates = (spatial_values("NHWC", attributes[name], 4) for name in ("strides", "rates"))
    width = b.fix(filter.shape[1])
    sizes = tuple(input.shape[i + 1] + pairs[i][0] + pairs[i][1] for i in range(2))
    whole = b.zeros(shape=(input.shape[0], *sizes, input.shape[3]), dtype=input.dtype)
    for place, part in enumerate(parts):
        starts = (place // width * rates[0], place % width * rates[1])
        ends = (start + (part.shape[i + 1] - 1) * strides[i] + 1 for i, start in enumerate(starts))
        key = ((None, None, 1), *((start, end, step) for start, end, step in zip(starts, ends, strides)))
        whole = b.setitem(whole, b.add(b.getitem(whole, key=key), part), key=key)
    for i, (low, _high) in enumerate(pairs):
        whole = cut(b, whole, i + 1, low, low + input.shape[i + 1])
    return whole


@rows.row("FusedPadConv2D", static=("paddings",))
def fused_pad_conv(
    b: TensorFlowBuilder, input: Any, paddings: Any, filter: Any, *, mode: str, **attributes: Any
) -> Any:
    if b.fix(input.shape[0]) != 1:
        raise NotImplementedError(
            "FusedPadConv2D of several images, of which TensorFlow pads the first one only"
        )
    padded = rows.get("MirrorPad")(b, input, paddings, mode=mode)  # type: ignore[misc]
    return conv(b, padded, filter, **attributes)


@rows.row("FusedResizeAndPadConv2D", static=("size", "paddings"))
def fused_resize_and_pad_conv(
    b: TensorFlowBuilder,
    input: Any,
    size: Any,
    paddings: Any,
    filter: Any,
    *,
    mode: str,
    resize_align_corners: bool = False,
    **attributes: Any,
) -> Any:
    resized = rows.get("ResizeBilinear")(
        b, input, size, align_corners=resize_align_corners, half_pixel_centers=False
    )  # type: ignore[misc]
    return fused_pad_conv(b, resized, paddings, filter, mode=mode, **attributes)


def _space_depth_row(first: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, *, block_size: int, data_format: str = "NHWC", **_: Any) -> Any:
        if data_format not in ("NHWC", "NCHW"):
            raise UnsupportedOperation(f"data format {data_format}, which only quantised kernels have")
        x = b.permute_dims(input, axes=(0, 2, 3, 1)) if data_format == "NCHW" else input
        batch, height, width, channels = x.shape
        if first == "space":
            parted = b.reshape(
                x, shape=(batch, height // block_size, block_size, width // block_size, block_size, channels)
            )
            moved = b.permute_dims(parted, axes=(0, 1, 3, 2, 4, 5))
            found = b.reshape(
                moved, shape=(batch, height // block_size, width // block_size, channels * block_size**2)
            )
        else:
            inner = channels // block_size**2
            parted = b.reshape(x, shape=(batch, height, width, block_size, block_size, inner))
            moved = b.permute_dims(parted, axes=(0, 1, 3, 2, 4, 5))
            found = b.reshape(moved, shape=(batch, height * block_size, width * block_size, inner))
        return b.permute_dims(found, axes=(0, 3, 1, 2)) if data_format == "NCHW" else found

    return row


rows.row("SpaceToDepth")(_space_depth_row("space"))
rows.row("DepthToSpace")(_space_depth_row("depth"))


@rows.row("SpaceToBatchND", static=("block_shape", "paddings"))
def space_to_batch_nd(b: TensorFlowBuilder, input: Any, block_shape: Any, paddings: Any, **_: Any) -> Any:
    blocks, amounts = numbers(block_shape, "the block"), require_static(paddings, "the padding")
    count = len(blocks)
    others = tuple((0, 0) for _ in range(input.ndim - count - 1))
    x = b.pad(input, padding=((0, 0), *amounts, *others), value=False if input.dtype == "bool" else 0)
    batch, space, rest = x.shape[0], x.shape[1 : count + 1], x.shape[count + 1 :]
    parted = b.reshape(
        x,
        shape=(
            batch,
            *(part for size, block in zip(space, blocks) for part in (size // block, block)),
            *rest,
        ),
    )
    inside, outside = range(2, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    moved = b.permute_dims(parted, axes=(*inside, 0, *outside, *range(2 * count + 1, parted.ndim)))
    return b.reshape(
        moved, shape=(batch * product(blocks), *(size // block for size, block in zip(space, blocks)), *rest)
    )


@rows.row("BatchToSpaceND", static=("block_shape", "crops"))
def batch_to_space_nd(b: TensorFlowBuilder, input: Any, block_shape: Any, crops: Any, **_: Any) -> Any:
    blocks, amounts = numbers(block_shape, "the block"), require_static(crops, "the crops")
    count = len(blocks)
    space, rest = input.shape[1 : count + 1], input.shape[count + 1 :]
    batch = input.shape[0] // product(blocks)
    parted = b.reshape(input, shape=(*blocks, batch, *space, *rest))
    order = (
        count,
        *(axis for i in range(count) for axis in (count + 1 + i, i)),
        *range(2 * count + 1, parted.ndim),
    )
    x = b.reshape(
        b.permute_dims(parted, axes=order),
        shape=(batch, *(size * block for size, block in zip(space, blocks)), *rest),
    )
    for axis, (low, high) in enumerate(amounts, 1):
        x = cut(b, x, axis, low, x.shape[axis] - high)
    return x


@rows.row("SpaceToBatch", static=("paddings",))
def space_to_batch(b: TensorFlowBuilder, input: Any, paddings: Any, *, block_size: int, **_: Any) -> Any:
    return space_to_batch_nd(b, input, (block_size, block_size), paddings)


@rows.row("BatchToSpace", static=("crops",))
def batch_to_space(b: TensorFlowBuilder, input: Any, crops: Any, *, block_size: int, **_: Any) -> Any:
    return batch_to_space_nd(b, input, (block_size, block_size), crops)
