"""Rows of pooling, its gradients, patches and glimpses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....ops.convolution import CHANNELS_FIRST
from ....ops.dtypes import is_floating
from ....sizes import apply, hint_of, product
from ...common.indexing import along
from .convolution import (
    Padding,
    batch_and_channels,
    from_channels_first,
    is_first,
    layout_of,
    space_of,
    spatial_values,
    to_channels_first,
    transposed_conv,
)
from .table import TensorFlowBuilder, numbers, rows


class _PoolingWindows:
    """Spatial window sizes, strides and padding of a pooling operation."""

    def __init__(self, attributes: dict[str, Any], ksize: Any = None, strides: Any = None) -> None:
        ksize, strides = attributes.get("ksize", ksize), attributes.get("strides", strides)
        self.data_format = str(attributes.get("data_format", "NHWC"))
        if batch_and_channels(self.data_format, ksize) != (1, 1) or batch_and_channels(
            self.data_format, strides
        ) != (
            1,
            1,
        ):
            raise NotImplementedError("pooling over the batch or the channels")
        if self.data_format not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
            raise NotImplementedError(f"data format {self.data_format}, which only quantised kernels have")
        self.kernel, self.strides = (
            spatial_values(self.data_format, ksize, 0),
            spatial_values(self.data_format, strides, 0),
        )
        self.rank = len(self.kernel)
        self.padding = Padding(
            attributes["padding"], tuple(attributes.get("explicit_paddings") or ()), self.data_format
        )

    def params(self, space: Any) -> dict[str, Any]:
        pairs = self.padding.pairs(space, self.kernel, self.strides, (1,) * self.rank)
        return {"kernel": self.kernel, "strides": self.strides, "padding": pairs}


def _empty(b: TensorFlowBuilder, x: Any, windows: _PoolingWindows) -> Any:
    """Return an empty array if a window of VALID pooling is larger than the input, otherwise None."""
    # Targets reject such windows.
    space = space_of(x, windows.data_format)
    fits = [hint_of(size) >= kernel for size, kernel in zip(space, windows.kernel)]
    if windows.padding.kind != "VALID" or all(fits):
        return None
    for size, kernel, does in zip(space, windows.kernel, fits):
        b.guard(apply("ge" if does else "lt", size, kernel))
    counts = [
        (size - kernel) // stride + 1 if does else 0
        for size, kernel, stride, does in zip(space, windows.kernel, windows.strides, fits)
    ]
    batch, *_, last = x.shape
    shape = (batch, x.shape[1], *counts) if is_first(windows.data_format) else (batch, *counts, last)
    return b.full(shape=shape, fill_value=0, dtype=x.dtype)


@rows.row("MaxPool", "MaxPool3D")
def max_pool(b: TensorFlowBuilder, input: Any, **attributes: Any) -> Any:
    windows = _PoolingWindows(attributes)
    if (empty := _empty(b, input, windows)) is not None:
        return empty
    params = windows.params(space_of(input, windows.data_format))
    return b.max_pool(input, **params, dilation=(1,) * windows.rank, layout=layout_of(windows.data_format))


@rows.row("MaxPoolV2", static=("ksize", "strides"))
def max_pool_v2(b: TensorFlowBuilder, input: Any, ksize: Any, strides: Any, **attributes: Any) -> Any:
    return max_pool(
        b, input, **attributes, ksize=numbers(ksize, "the window"), strides=numbers(strides, "the strides")
    )


@rows.row("AvgPool", "AvgPool3D")
def avg_pool(b: TensorFlowBuilder, value: Any, **attributes: Any) -> Any:
    windows = _PoolingWindows(attributes)
    if (empty := _empty(b, value, windows)) is not None:
        return empty
    params = windows.params(space_of(value, windows.data_format))
    return b.avg_pool(value, **params, count_include_pad=False, layout=layout_of(windows.data_format))


def _max_indices(b: TensorFlowBuilder, x: Value, windows: _PoolingWindows) -> tuple[Value, Value]:
    """Return the maxima of the windows and their flat spatial indices, both with the channels first."""
    moved = to_channels_first(b, x, windows.data_format)
    found: tuple[Value, Value] = b.max_pool_with_indices(
        moved, **windows.params(moved.shape[2:]), dilation=(1,) * windows.rank
    )
    return found


@rows.row("MaxPoolWithArgmax")
def max_pool_with_argmax(
    b: TensorFlowBuilder,
    input: Any,
    *,
    Targmax: Any = "int64",
    include_batch_in_index: bool = False,
    **attributes: Any,
) -> Any:
    windows = _PoolingWindows(attributes)
    values, places = _max_indices(b, input, windows)
    found = _flat_indices(b, places, input, include_batch_in_index)
    return from_channels_first(b, values, "NHWC"), b.astype(found, dtype=Targmax)


def _flat_indices(b: TensorFlowBuilder, places: Value, x: Value, with_batch: bool) -> Value:
    """Convert flat spatial indices, channels first, to indices into the flat NHWC image or batch."""
    places = from_channels_first(b, places, "NHWC")
    batch, channels = x.shape[0], x.shape[3]
    found = b.add(
        b.multiply(places, b.array(channels, "int64")),
        b.arange(start=0, stop=channels, step=1, dtype="int64"),
    )
    if with_batch:
        numbers_ = b.arange(start=0, stop=batch, step=1, dtype="int64")
        found = b.add(
            found,
            b.reshape(b.multiply(numbers_, b.array(product(x.shape[1:]), "int64")), shape=(batch, 1, 1, 1)),
        )
    return found


def _flat(b: TensorFlowBuilder, x: Value) -> Any:
    return b.reshape(x, shape=(*x.shape[:2], product(x.shape[2:])))


def _max_gradient(b: TensorFlowBuilder, x: Value, given: Value, windows: _PoolingWindows) -> Any:
    """Compute the gradient for ``x``: add each element of ``given`` where its window has its maximum."""
    _, places = _max_indices(b, x, windows)
    moved, parts = (
        to_channels_first(b, x, windows.data_format),
        to_channels_first(b, given, windows.data_format),
    )
    whole = b.zeros(shape=(*moved.shape[:2], product(moved.shape[2:])), dtype=given.dtype)
    summed = b.scatter(whole, _flat(b, places), _flat(b, parts), axis=2, reduce="sum")
    return from_channels_first(b, b.reshape(summed, shape=moved.shape), windows.data_format)


def _max_second(b: TensorFlowBuilder, x: Value, given: Value, windows: _PoolingWindows) -> Any:
    """Compute the second derivative: gather ``given`` where each window of ``x`` has its maximum."""
    _, places = _max_indices(b, x, windows)
    moved = _flat(b, to_channels_first(b, given, windows.data_format))
    found = b.take_along_axis(moved, _flat(b, places), axis=2)
    return from_channels_first(b, b.reshape(found, shape=places.shape), windows.data_format)


def _register_argmax_rows(names: tuple[str, ...], formula: Callable[..., Any]) -> None:
    @rows.row(*names)
    def row(b: TensorFlowBuilder, orig_input: Any, orig_output: Any, grad: Any, **attributes: Any) -> Any:
        return formula(b, orig_input, grad, _PoolingWindows(attributes))

    @rows.row(f"{names[0]}V2", static=("ksize", "strides"))
    def row_v2(
        b: TensorFlowBuilder,
        orig_input: Any,
        orig_output: Any,
        grad: Any,
        ksize: Any,
        strides: Any,
        **attributes: Any,
    ) -> Any:
        options = {"ksize": numbers(ksize, "the window"), "strides": numbers(strides, "the strides")}
        return formula(b, orig_input, grad, _PoolingWindows({**attributes, **options}))


_register_argmax_rows(("MaxPoolGrad", "MaxPool3DGrad"), _max_gradient)
_register_argmax_rows(("MaxPoolGradGrad", "MaxPool3DGradGrad"), _max_second)


def _row_indices(b: TensorFlowBuilder, argmax: Value, x: Value, with_batch: bool) -> Value:
    count = product(x.shape[1:])
    flat = b.reshape(argmax, shape=(x.shape[0], product(argmax.shape[1:])))
    # If indices include the batch, the remainder is the index within one image.
    return b.remainder(flat, b.array(count, argmax.dtype)) if with_batch else flat


@rows.row("MaxPoolGradWithArgmax")
def max_pool_grad_with_argmax(
    b: TensorFlowBuilder,
    input: Any,
    grad: Any,
    argmax: Any,
    *,
    include_batch_in_index: bool = False,
    **_: Any,
) -> Any:
    rows_, count = input.shape[0], product(input.shape[1:])
    places = _row_indices(b, argmax, input, include_batch_in_index)
    whole = b.zeros(shape=(rows_, count), dtype=grad.dtype)
    parts = b.reshape(grad, shape=(rows_, product(grad.shape[1:])))
    return b.reshape(
        b.scatter(whole, b.astype(places, dtype="int64"), parts, axis=1, reduce="sum"), shape=input.shape
    )


def _avg_gradient(name: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, orig_input_shape: Any, grad: Any, **attributes: Any) -> Any:
        windows = _PoolingWindows(attributes)
        shape = numbers(orig_input_shape, "the shape of the image")
        space = shape[2:] if is_first(windows.data_format) else shape[1:-1]
        moved, params = to_channels_first(b, grad, windows.data_format), windows.params(space)
        ones = b.ones(shape=(1, 1, *space), dtype=grad.dtype)
        shares = b.divide(moved, b.avg_pool(ones, **params, divisor_override=1))
        batch, channels = moved.shape[:2]
        # The channels join the batch, so that one kernel of ones serves all of them.
        found = transposed_conv(
            b,
            b.reshape(shares, shape=(batch * channels, 1, *moved.shape[2:])),
            b.ones(shape=(1, 1, *windows.kernel), dtype=grad.dtype),
            space,
            params["padding"],
            strides=windows.strides,
            dilation=(1,) * windows.rank,
            kernel=windows.kernel,
            groups=1,
            layout=CHANNELS_FIRST,
        )
        return from_channels_first(b, b.reshape(found, shape=(batch, channels, *space)), windows.data_format)

    row.__name__ = name
    return row


rows.row("AvgPoolGrad", "AvgPool3DGrad", static=("orig_input_shape",))(_avg_gradient("avg_pool_grad"))


# ------------------------------------------------------------------------------------- patches
@rows.row("ExtractImagePatches")
def extract_image_patches(
    b: TensorFlowBuilder, images: Any, *, ksizes: Any, strides: Any, rates: Any, padding: str, **_: Any
) -> Any:
    kernel, steps, apart = (spatial_values("NHWC", item, 4) for item in (ksizes, strides, rates))
    pairs = Padding(padding, (), "NHWC").pairs(images.shape[1:3], kernel, steps, apart)
    moved = b.permute_dims(images, axes=(0, 3, 1, 2))
    given = moved if is_floating(moved.dtype) else b.astype(moved, dtype="float64")
    columns = b.astype(
        b.im2col(given, kernel=kernel, strides=steps, padding=pairs, dilation=apart), dtype=images.dtype
    )
    batch, channels = moved.shape[:2]
    sizes = tuple(
        (size + low + high - (k - 1) * rate - 1) // step + 1
        for size, (low, high), k, rate, step in zip(images.shape[1:3], pairs, kernel, apart, steps)
    )
    parted = b.reshape(columns, shape=(batch, channels, product(kernel), *sizes))
    return b.reshape(
        b.permute_dims(parted, axes=(0, 3, 4, 2, 1)), shape=(batch, *sizes, product(kernel) * channels)
    )


@rows.row("ExtractVolumePatches")
def extract_volume_patches(
    b: TensorFlowBuilder, input: Any, *, ksizes: Any, strides: Any, padding: str, **_: Any
) -> Any:
    kernel, steps = (spatial_values("NDHWC", item, 5) for item in (ksizes, strides))
    pairs = Padding(padding, (), "NDHWC").pairs(input.shape[1:4], kernel, steps, (1, 1, 1))
    x = b.pad(input, padding=((0, 0), *pairs, (0, 0)))
    for axis, (size, step) in enumerate(zip(kernel, steps), 1):
        x = b.sliding_window(x, axis=axis, size=size, step=step)
    moved = b.permute_dims(x, axes=(0, 1, 2, 3, 5, 6, 7, 4))
    return b.reshape(moved, shape=(*moved.shape[:4], product(kernel) * moved.shape[7]))


def _first(
    b: TensorFlowBuilder, offsets: Value, size: Any, new: Any, axis: int, options: dict[str, Any]
) -> Value:
    centered, normalized = options.get("centered", True), options.get("normalized", True)
    at, whole = b.getitem(offsets, key=along(1, axis)), b.array(size, "float32")
    # In the first version an offset is always the center of a glimpse.
    is_old = options["version"] == 1
    at = b.multiply(at, whole) if normalized else at
    if centered:
        at = b.add(b.multiply(at, 0.5) if is_old or normalized else at, b.multiply(whole, 0.5))
    if is_old or (centered and normalized):
        at = b.subtract(at, b.multiply(b.array(new, "float32"), 0.5))
    found: Value = b.astype(b.trunc(at), dtype="int32")
    return found


def _noise(b: TensorFlowBuilder, x: Value, shape: tuple[Any, ...], options: dict[str, Any]) -> Value:
    kind = options.get("noise", "uniform")
    if kind == "zero":
        return b.zeros(shape=shape, dtype="float32")
    if kind == "gaussian":
        return b.random_normal(b.next_key(), shape=shape, dtype="float32")
    low, high = b.min(x, axis=(0, 1, 2)), b.max(x, axis=(0, 1, 2))
    return b.add(
        low, b.multiply(b.subtract(high, low), b.random_uniform(b.next_key(), shape=shape, dtype="float32"))
    )


def _glimpse(version: int) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, size: Any, offsets: Any, **given: Any) -> Any:
        # TensorFlow defines no gradient of glimpses.
        new, batch, x, options = (
            numbers(size, "the size of a glimpse"),
            input.shape[0],
            b.stop_gradient(input),
            {**given, "version": version},
        )
        shape, places, inside = (batch, *new), [], []
        for axis in range(2):
            first = b.reshape(
                _first(b, offsets, x.shape[axis + 1], new[axis], axis, options), shape=(batch, 1, 1)
            )
            steps = b.reshape(
                b.arange(start=0, stop=new[axis], step=1, dtype="int32"),
                shape=(1, new[0], 1) if axis == 0 else (1, 1, new[1]),
            )
            at, last = b.add(first, steps), b.array(x.shape[axis + 1] - 1, "int32")
            inside.append(b.logical_and(b.greater_equal(at, 0), b.less_equal(at, last)))
            # What is outside of the image becomes noise in the end, so any index inside will do.
            places.append(b.broadcast_to(b.clip(at, b.array(0, "int32"), last), shape=shape))
        image = b.broadcast_to(
            b.reshape(b.arange(start=0, stop=batch, step=1, dtype="int32"), shape=(batch, 1, 1)), shape=shape
        )
        found = b.gather_nd(x, image, *places, axes=(0, 1, 2))
        seen = b.reshape(b.logical_and(*inside), shape=(*shape, 1))
        return b.where(seen, found, _noise(b, x, (*shape, x.shape[3]), options))

    return row


rows.row("ExtractGlimpse", static=("size",))(_glimpse(1))
rows.row("ExtractGlimpseV2", static=("size",))(_glimpse(2))
