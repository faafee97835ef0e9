"""Rows of image operations: colours, crops, and projective transforms."""

from __future__ import annotations

from typing import Any

from .....ir import Value
from .....ops.dtypes import is_floating
from .....sizes import apply, hint_of
from ....common.indexing import along
from ..table import TensorFlowBuilder, numbers, rows
from .resampling import places_of


def _parts(b: TensorFlowBuilder, x: Value) -> list[Value]:
    return [b.getitem(x, key=along(x.ndim - 1, place)) for place in range(3)]


@rows.row("RGBToHSV")
def rgb_to_hsv(b: TensorFlowBuilder, images: Any, **_: Any) -> Any:
    red, green, blue = _parts(b, images)
    value = b.maximum(b.maximum(red, green), blue)
    spread = b.subtract(value, b.minimum(b.minimum(red, green), blue))
    zero, one = b.array(0, images.dtype), b.array(1, images.dtype)
    grey = b.equal(spread, 0)
    # The divisor is replaced too, because the gradient of the branch not taken would be NaN.
    saturation = b.where(b.greater(value, 0), b.divide(spread, b.where(b.equal(value, 0), one, value)), zero)
    step = b.divide(1 / 6, b.where(grey, one, spread))
    by_red = b.multiply(b.subtract(green, blue), step)
    by_green = b.add(b.multiply(b.subtract(blue, red), step), 2 / 6)
    by_blue = b.add(b.multiply(b.subtract(red, green), step), 4 / 6)
    hue = b.where(b.equal(red, value), by_red, b.where(b.equal(green, value), by_green, by_blue))
    hue = b.where(grey, zero, hue)
    return b.stack(b.where(b.less(hue, 0), b.add(hue, 1.0), hue), saturation, value, axis=images.ndim - 1)


def _from_hsv(b: TensorFlowBuilder, images: Value) -> Any:
    hue, saturation, value = _parts(b, images)
    sixth = b.multiply(hue, 6.0)
    ramps = (
        b.subtract(b.abs(b.subtract(sixth, 3.0)), 1.0),
        b.subtract(2.0, b.abs(b.subtract(sixth, 2.0))),
        b.subtract(2.0, b.abs(b.subtract(sixth, 4.0))),
    )
    rest = b.subtract(1.0, saturation)
    colours = [
        b.multiply(b.add(rest, b.multiply(saturation, b.clip(ramp, 0.0, 1.0))), value) for ramp in ramps
    ]
    return b.stack(*colours, axis=images.ndim - 1)


# TensorFlow defines no gradient of this operation.
rows.table({"HSVToRGB": lambda b, images, **_: b.stop_gradient(_from_hsv(b, images))})


@rows.row("AdjustContrastv2")
def adjust_contrast(b: TensorFlowBuilder, images: Any, contrast_factor: Any, **_: Any) -> Any:
    wide = b.astype(images, dtype="float32")
    mean = b.mean(wide, axis=(images.ndim - 3, images.ndim - 2), keepdims=True)
    factor = b.array(contrast_factor, "float32")
    return b.astype(b.add(b.multiply(b.subtract(wide, mean), factor), mean), dtype=images.dtype)


@rows.row("AdjustHue")
def adjust_hue(b: TensorFlowBuilder, images: Any, delta: Any, **_: Any) -> Any:
    """Lift ``AdjustHue``, which turns the hue by ``delta``, a fraction of the full circle."""
    wide = b.astype(images, dtype="float32")
    hue, saturation, value = _parts(b, rgb_to_hsv(b, wide))
    moved = b.add(hue, b.array(delta, "float32"))
    moved = b.subtract(moved, b.floor(moved))
    return b.astype(_from_hsv(b, b.stack(moved, saturation, value, axis=images.ndim - 1)), dtype=images.dtype)


@rows.row("AdjustSaturation")
def adjust_saturation(b: TensorFlowBuilder, images: Any, scale: Any, **_: Any) -> Any:
    wide = b.astype(images, dtype="float32")
    hue, saturation, value = _parts(b, rgb_to_hsv(b, wide))
    moved = b.clip(b.multiply(saturation, b.array(scale, "float32")), 0.0, 1.0)
    return b.astype(_from_hsv(b, b.stack(hue, moved, value, axis=images.ndim - 1)), dtype=images.dtype)


def _sample(
    b: TensorFlowBuilder,
    x: Value,
    image: Value,
    line: Value,
    column: Value,
    method: str,
    outside: Any,
    fill: Any,
) -> Any:
    """Sample ``x[image, line, column]`` at fractional positions, with ``fill`` where ``outside`` is True.

    ``method`` is ``"nearest"``; any other value means bilinear.
    """
    height, width = (b.array(size - 1, "float32") for size in x.shape[1:3])

    def at(lines: Value, columns: Value) -> Any:
        places = (
            b.astype(b.clip(item, 0.0, last), dtype="int32")
            for item, last in ((lines, height), (columns, width))
        )
        return b.gather_nd(x, image, *places, axes=(0, 1, 2))

    if method == "nearest":
        found = b.astype(at(_half_away(b, line), _half_away(b, column)), dtype="float32")
    else:
        top, left = b.floor(line), b.floor(column)
        down, right = (
            b.reshape(b.subtract(item, low), shape=(*item.shape, 1))
            for item, low in ((line, top), (column, left))
        )
        below, beside = b.ceil(line), b.ceil(column)
        corners = (
            b.astype(at(*pair), dtype="float32")
            for pair in ((top, left), (top, beside), (below, left), (below, beside))
        )
        top_left, top_right, low_left, low_right = corners
        upper = b.add(top_left, b.multiply(b.subtract(top_right, top_left), right))
        lower = b.add(low_left, b.multiply(b.subtract(low_right, low_left), right))
        found = b.add(upper, b.multiply(b.subtract(lower, upper), down))
    return b.where(b.reshape(outside, shape=(*outside.shape, 1)), fill, found)


def _half_away(b: TensorFlowBuilder, x: Value) -> Any:
    return b.floor(b.add(x, 0.5))


@rows.row("CropAndResize", static=("crop_size",))
def crop_and_resize(
    b: TensorFlowBuilder,
    image: Any,
    boxes: Any,
    box_ind: Any,
    crop_size: Any,
    *,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    **_: Any,
) -> Any:
    """Lift ``CropAndResize``, which samples each box of an image at a grid of ``crop_size``."""
    count, new = boxes.shape[0], numbers(crop_size, "the size of a crop")
    sides = [b.getitem(boxes, key=((None, None, 1), place)) for place in range(4)]
    lines, columns = (
        _in_box(b, image.shape[axis + 1], new[axis], sides[axis], sides[axis + 2]) for axis in range(2)
    )
    line, column = b.reshape(lines, shape=(count, new[0], 1)), b.reshape(columns, shape=(count, 1, new[1]))
    outside = b.logical_or(_beyond(b, line, image.shape[1]), _beyond(b, column, image.shape[2]))
    shape = (count, *new)
    line, column, outside = (b.broadcast_to(item, shape=shape) for item in (line, column, outside))
    which = b.broadcast_to(b.reshape(box_ind, shape=(count, 1, 1)), shape=shape)
    return _sample(
        b, image, which, line, column, method, outside, b.array(float(extrapolation_value), "float32")
    )


@rows.row("CropAndResizeGradImage", static=("image_size",))
def crop_and_resize_grad_image(
    b: TensorFlowBuilder,
    grads: Any,
    boxes: Any,
    box_ind: Any,
    image_size: Any,
    *,
    method: str = "bilinear",
    **_: Any,
) -> Any:
    whole = numbers(image_size, "the size of images")
    x = b.astype(grads, dtype="float32")
    lines, columns = (
        _read_weights(b, whole[axis + 1], x.shape[axis + 1], boxes, axis, method) for axis in range(2)
    )
    spread = b.einsum(lines, x, columns, equation="nhi,nhwc,nwj->nijc")
    found = b.scatter_nd(
        b.zeros(shape=tuple(whole), dtype="float32"), spread, box_ind, axes=(0,), reduce="sum"
    )
    return b.astype(found, dtype=b.result.dtype)


def _read_weights(b: TensorFlowBuilder, size: Any, count: Any, boxes: Value, axis: int, method: str) -> Value:
    """Return the weight of each image line (or column) in each crop line, ``[box, count, size]``.

    A crop line outside of the image has zero weights.
    """
    at = _positions(b, size, count, boxes, axis)
    at = b.reshape(at, shape=(*at.shape, 1))
    place = places_of(b, size)
    if method == "nearest":
        weights = b.astype(b.equal(_half_away(b, at), place), dtype="float32")
    else:
        weights = b.maximum(b.subtract(1.0, b.abs(b.subtract(at, place))), 0.0)
    found: Value = b.where(_beyond(b, at, size), b.array(0.0, "float32"), weights)
    return found


def _positions(b: TensorFlowBuilder, size: Any, count: Any, boxes: Value, axis: int) -> Value:
    start, end = (b.getitem(boxes, key=((None, None, 1), place)) for place in (axis, axis + 2))
    found: Value = _in_box(b, size, count, start, end)
    return found


@rows.row("CropAndResizeGradBoxes")
def crop_and_resize_grad_boxes(
    b: TensorFlowBuilder, grads: Any, image: Any, boxes: Any, box_ind: Any, **_: Any
) -> Any:
    x, sizes = b.astype(image, dtype="float32"), grads.shape[1:3]
    picked = b.take(x, box_ind, axis=0)
    weights = [_read_weights(b, x.shape[axis + 1], sizes[axis], boxes, axis, "bilinear") for axis in range(2)]
    slopes = [_read_slopes(b, x.shape[axis + 1], sizes[axis], boxes, axis) for axis in range(2)]
    sides = []
    for axis in range(2):
        lines, columns = (slopes[0], weights[1]) if axis == 0 else (weights[0], slopes[1])
        moved = b.einsum(lines, picked, columns, equation="nhi,nijc,nwj->nhwc")
        along_axis = b.sum(b.multiply(moved, grads), axis=(2, 3) if axis == 0 else (1, 3))
        sides += [
            b.sum(b.multiply(along_axis, part), axis=1) for part in _shares(b, x.shape[axis + 1], sizes[axis])
        ]
    low, high = sides[0::2], sides[1::2]
    return b.stack(*low, *high, axis=1)


def _read_slopes(b: TensorFlowBuilder, size: Any, count: Any, boxes: Value, axis: int) -> Value:
    """Return the derivatives of the bilinear :func:`_read_weights` with respect to the sampled position."""
    at = _positions(b, size, count, boxes, axis)
    at = b.reshape(at, shape=(*at.shape, 1))
    place = places_of(b, size)
    behind, before = (b.astype(b.equal(turned(at), place), dtype="float32") for turned in (b.ceil, b.floor))
    found: Value = b.where(_beyond(b, at, size), b.array(0.0, "float32"), b.subtract(behind, before))
    return found


def _is_one(b: TensorFlowBuilder, count: Any) -> bool:
    """Return True if ``count`` is 1, and guard that it is, or that it is not."""
    b.guard(apply("eq" if hint_of(count) == 1 else "ne", count, 1))
    return bool(hint_of(count) == 1)


def _shares(b: TensorFlowBuilder, size: Any, count: Any) -> tuple[Value, Value]:
    """Return the derivatives of each sampled position with respect to the start and the end of its box."""
    last = b.array(size - 1, "float32")
    if _is_one(b, count):
        half = b.reshape(b.multiply(last, 0.5), shape=(1,))
        return half, half
    share = b.divide(places_of(b, count), b.array(count - 1, "float32"))
    return b.multiply(b.subtract(1.0, share), last), b.multiply(share, last)


def _beyond(b: TensorFlowBuilder, at: Value, size: Any) -> Any:
    return b.logical_or(b.less(at, 0.0), b.greater(at, b.array(size - 1, "float32")))


def _in_box(b: TensorFlowBuilder, size: Any, count: Any, start: Value, end: Value) -> Any:
    """Return the positions along an axis at which a box is sampled, ``[box, count]``."""
    last = b.array(size - 1, "float32")
    if _is_one(b, count):
        middle = b.multiply(b.multiply(b.add(start, end), 0.5), last)
        return b.reshape(middle, shape=(*middle.shape, 1))
    step = b.divide(b.multiply(b.subtract(end, start), last), b.array(count - 1, "float32"))
    first = b.reshape(b.multiply(start, last), shape=(start.shape[0], 1))
    return b.add(first, b.multiply(b.reshape(step, shape=(start.shape[0], 1)), places_of(b, count)))


# TensorFlow transforms the gradient by the inverse projection, which only approximates the derivative.
_APPROXIMATE = (
    "TensorFlow's own gradient of ImageProjectiveTransform is another map of the gradient, and not its "
    "derivative"
)


def _wrap_position(b: TensorFlowBuilder, at: Value, size: Any, mode: str) -> Any:
    """Map positions outside of the image to the inside, as the fill mode says.

    ``CONSTANT`` leaves them unchanged. Any mode but ``REFLECT`` and ``WRAP`` clips them to the image.
    """
    if mode == "CONSTANT":
        return at
    count, last = b.array(size, "float32"), b.array(size - 1, "float32")
    if mode == "REFLECT":
        twice = b.multiply(count, 2.0)
        inside = b.subtract(at, b.multiply(b.floor(b.divide(at, twice)), twice))
        back_ = b.where(b.greater_equal(inside, count), b.subtract(b.subtract(twice, inside), 1.0), inside)
        at = b.where(b.logical_or(b.less(at, 0.0), b.greater(at, last)), back_, at)
    elif mode == "WRAP":
        span = b.maximum(last, 1.0)
        below = b.add(at, b.multiply(count, b.add(b.floor(b.divide(b.negative(at), span)), 1.0)))
        above = b.subtract(at, b.multiply(count, b.floor(b.divide(at, span))))
        at = b.where(b.less(at, 0.0), below, b.where(b.greater(at, last), above, at))
    return b.clip(at, 0.0, last)


def _project(b: TensorFlowBuilder, transforms: Value, new: tuple[Any, ...]) -> list[Value]:
    """Return the source line and column of each output element, and a mask of undefined projections."""
    part = [
        b.reshape(b.getitem(transforms, key=((None, None, 1), place)), shape=(transforms.shape[0], 1, 1))
        for place in range(8)
    ]
    lines, columns = (
        b.reshape(places_of(b, new[0]), shape=(1, new[0], 1)),
        b.reshape(places_of(b, new[1]), shape=(1, 1, new[1])),
    )

    def mapped(first: Value, second: Value, third: Any) -> Any:
        return b.add(b.add(b.multiply(first, columns), b.multiply(second, lines)), third)

    below = mapped(part[6], part[7], 1.0)
    nowhere = b.equal(below, 0.0)
    safe = b.where(nowhere, b.array(1.0, "float32"), below)
    return [b.divide(mapped(*part[3:6]), safe), b.divide(mapped(*part[:3]), safe), nowhere]


def _tap(b: TensorFlowBuilder, x: Value, image: Value, line: Value, column: Value, fill: Value) -> Any:
    """Return the elements at integer positions, or ``fill`` outside of the image."""
    sizes = [b.array(size, "float32") for size in x.shape[1:3]]
    inside = b.logical_and(b.greater_equal(line, 0.0), b.greater_equal(column, 0.0))
    inside = b.logical_and(inside, b.logical_and(b.less(line, sizes[0]), b.less(column, sizes[1])))
    places = (
        b.astype(b.clip(at, 0.0, b.subtract(size, 1.0)), dtype="int32")
        for at, size in zip((line, column), sizes)
    )
    found = b.gather_nd(x, image, *places, axes=(0, 1, 2))
    return b.where(b.reshape(inside, shape=(*inside.shape, 1)), found, fill)


def _transform(
    b: TensorFlowBuilder,
    images: Value,
    transforms: Value,
    size: Any,
    fill: Any,
    interpolation: str,
    mode: str,
) -> Any:
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    line, column, nowhere = _project(b, transforms, new)
    shape = (images.shape[0], *new)
    line, column = (
        b.broadcast_to(_wrap_position(b, at, count, mode), shape=shape)
        for at, count in ((line, x.shape[1]), (column, x.shape[2]))
    )
    image = b.broadcast_to(
        b.reshape(b.arange(start=0, stop=shape[0], step=1, dtype="int32"), shape=(shape[0], 1, 1)),
        shape=shape,
    )
    fill = b.array(fill, "float32")
    if interpolation == "NEAREST":
        found = _tap(b, x, image, _round(b, line), _round(b, column), fill)
    else:
        top, left = b.floor(line), b.floor(column)
        down, right = (
            b.reshape(b.subtract(at, low), shape=(*shape, 1)) for at, low in ((line, top), (column, left))
        )
        rows_ = [
            b.add(
                b.multiply(_tap(b, x, image, at, left, fill), b.subtract(1.0, right)),
                b.multiply(_tap(b, x, image, at, b.add(left, 1.0), fill), right),
            )
            for at in (top, b.add(top, 1.0))
        ]
        found = b.add(b.multiply(rows_[0], b.subtract(1.0, down)), b.multiply(rows_[1], down))
    found = b.astype(b.where(b.reshape(nowhere, shape=(*nowhere.shape, 1)), fill, found), dtype=images.dtype)
    return b.refuse_gradient(found, images, message=_APPROXIMATE) if is_floating(images.dtype) else found


def _round(b: TensorFlowBuilder, x: Value) -> Any:
    whole = b.floor(b.add(b.abs(x), 0.5))
    return b.where(b.less(x, 0.0), b.negative(whole), whole)


@rows.row("ImageProjectiveTransformV2", static=("output_shape",))
def image_transform(
    b: TensorFlowBuilder,
    images: Any,
    transforms: Any,
    output_shape: Any,
    *,
    interpolation: str,
    fill_mode: str = "CONSTANT",
    **_: Any,
) -> Any:
    return _transform(b, images, transforms, output_shape, 0.0, interpolation, fill_mode)


@rows.row("ImageProjectiveTransformV3", static=("output_shape",))
def image_transform_v3(
    b: TensorFlowBuilder,
    images: Any,
    transforms: Any,
    output_shape: Any,
    fill_value: Any,
    *,
    interpolation: str,
    fill_mode: str = "CONSTANT",
    **_: Any,
) -> Any:
    return _transform(b, images, transforms, output_shape, fill_value, interpolation, fill_mode)
