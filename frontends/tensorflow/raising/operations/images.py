"""Images: resampling by weights, crops, and colours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....ir import Value
from .....ops.dtypes import is_floating
from .....ops.layouts import CHANNELS_LAST
from .....sizes import hint_of
from ....slicing import along
from ..table import TensorFlowBuilder, numbers, rows


# ------------------------------------------------------------------------------------- resampling
def _steps(b: TensorFlowBuilder, count: Any) -> Any:
    return b.arange(start=0, stop=count, step=1, dtype="float32")


def _scale(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool) -> Any:
    """How far apart the positions are that are sampled, as a 0-d array."""
    if align_corners and hint_of(count) > 1:
        return b.divide(b.array(size - 1, "float32"), b.array(count - 1, "float32"))
    return b.divide(b.array(size, "float32"), b.array(count, "float32"))


def _positions(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool, half_pixel: bool) -> Any:
    """Where in the old axis each element of the new one lies."""
    places = _steps(b, count)
    if half_pixel:
        return b.subtract(b.multiply(b.add(places, 0.5), _scale(b, size, count, align_corners)), 0.5)
    return b.multiply(places, _scale(b, size, count, align_corners))


def _linear_weights(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool, half_pixel: bool) -> Any:
    """``[new, old]``: what each old element gives to each new one; beyond the ends the last element counts."""
    at = b.clip(_positions(b, size, count, align_corners, half_pixel), 0.0, b.array(size - 1, "float32"))
    distance = b.abs(b.subtract(b.reshape(at, shape=(count, 1)), _steps(b, size)))
    return b.maximum(b.subtract(1.0, distance), 0.0)


def _cubic(b: TensorFlowBuilder, distance: Any, a: float) -> Any:
    """The kernel of Keys."""
    near = b.add(b.multiply(b.multiply(b.subtract(b.multiply(distance, a + 2), a + 3), distance), distance), 1.0)
    far = b.subtract(b.multiply(b.add(b.multiply(b.subtract(b.multiply(distance, a), 5 * a), distance), 8 * a), distance), 4 * a)
    return b.where(b.less_equal(distance, 1.0), near, b.where(b.less(distance, 2.0), far, b.array(0.0, "float32")))


def _cubic_weights(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool, half_pixel: bool) -> Any:
    """``[new, old]``, from a table of 1024 offsets, as TensorFlow has it."""
    at = _positions(b, size, count, align_corners, half_pixel)
    whole = b.floor(at)
    offset = b.divide(b.round(b.multiply(b.subtract(at, whole), 1024.0)), 1024.0)
    a, last = -0.5 if half_pixel else -0.75, b.array(size - 1, "float32")
    total: Any = None
    for tap in range(-1, 3):
        place = b.add(whole, float(tap))
        weight = _cubic(b, b.abs(b.subtract(offset, float(tap))), a)
        inside = b.clip(place, 0.0, last)
        if half_pixel:
            weight = b.where(b.equal(place, inside), weight, b.array(0.0, "float32"))
        hits = b.equal(b.reshape(inside, shape=(count, 1)), _steps(b, size))
        part = b.where(hits, b.reshape(weight, shape=(count, 1)), b.array(0.0, "float32"))
        total = part if total is None else b.add(total, part)
    return b.divide(total, b.sum(total, axis=1, keepdims=True)) if half_pixel else total


def _area_weights(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool) -> Any:
    """``[new, old]``: the share of the new element that each old one covers."""
    scale = _scale(b, size, count, align_corners)
    start = b.reshape(b.multiply(_steps(b, count), scale), shape=(count, 1))
    end = b.reshape(b.multiply(b.add(_steps(b, count), 1.0), scale), shape=(count, 1))
    # what lies beyond the end counts as the last element
    first, last = _steps(b, size), b.array(size - 1, "float32")
    after = b.where(b.equal(first, last), b.array(math.inf, "float32"), b.add(first, 1.0))
    covered = b.maximum(b.subtract(b.minimum(end, after), b.maximum(start, first)), 0.0)
    return b.divide(covered, scale)


def _nearest_places(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool, half_pixel: bool) -> Any:
    """The old element that each new one is."""
    scale, places = _scale(b, size, count, align_corners), _steps(b, count)
    at = b.multiply(b.add(places, 0.5) if half_pixel else places, scale)
    at = b.floor(b.add(at, 0.5)) if align_corners else b.floor(at)
    return b.astype(b.clip(at, 0.0, b.array(size - 1, "float32")), dtype="int32")


def _weighted(b: TensorFlowBuilder, x: Value, lines: Value, columns: Value) -> Any:
    """``[batch, height, width, channels]`` times a matrix along height and one along width."""
    return b.einsum(lines, x, columns, equation="yh,bhwc,xw->byxc")


def _both(b: TensorFlowBuilder, weights: Callable[..., Any], old: Any, new: Any, *options: bool) -> list[Any]:
    return [weights(b, size, count, *options) for size, count in zip(old, new)]


@rows.row("ResizeBilinear", static=("size",))
def resize_bilinear(
    b: TensorFlowBuilder, images: Any, size: Any, *, align_corners: bool = False, half_pixel_centers: bool = False, **_: Any
) -> Any:
    """Linear interpolation, in float32."""
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    if bool(align_corners) != bool(half_pixel_centers):
        return b.interpolate(x, size=new, method="linear", align_corners=bool(align_corners), layout=CHANNELS_LAST)
    return _weighted(b, x, *_both(b, _linear_weights, x.shape[1:3], new, align_corners, half_pixel_centers))


@rows.row("ResizeBicubic", static=("size",))
def resize_bicubic(
    b: TensorFlowBuilder, images: Any, size: Any, *, align_corners: bool = False, half_pixel_centers: bool = False, **_: Any
) -> Any:
    """Cubic interpolation, in float32."""
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    return _weighted(b, x, *_both(b, _cubic_weights, x.shape[1:3], new, align_corners, half_pixel_centers))


@rows.row("ResizeArea", static=("size",))
def resize_area(b: TensorFlowBuilder, images: Any, size: Any, *, align_corners: bool = False, **_: Any) -> Any:
    """Means over the area of each new element, in float32."""
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    return _weighted(b, x, *_both(b, _area_weights, x.shape[1:3], new, align_corners))


@rows.row("ResizeNearestNeighbor", static=("size",))
def resize_nearest(
    b: TensorFlowBuilder, images: Any, size: Any, *, align_corners: bool = False, half_pixel_centers: bool = False, **_: Any
) -> Any:
    """The nearest element."""
    new = numbers(size, "the size of an image")
    for axis, (old, count) in enumerate(zip(images.shape[1:3], new), 1):
        images = b.take(images, _nearest_places(b, old, count, align_corners, half_pixel_centers), axis=axis)
    return images


def _gradient(weights: Callable[..., Any]) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, grads: Any, original_image: Any, *, align_corners: bool = False, half_pixel_centers: bool = False, **_: Any
    ) -> Any:
        old, new = original_image.shape[1:3], grads.shape[1:3]
        found = _both(b, weights, old, new, align_corners, half_pixel_centers)
        made = b.einsum(found[0], b.astype(grads, dtype="float32"), found[1], equation="yh,byxc,xw->bhwc")
        return b.stop_gradient(b.astype(made, dtype=b.result.dtype))  # TensorFlow derives it no further

    row.__doc__ = "What flows back to each old element."
    return row


rows.row("ResizeBilinearGrad")(_gradient(_linear_weights))
rows.row("ResizeBicubicGrad")(_gradient(_cubic_weights))


@rows.row("ResizeNearestNeighborGrad", static=("size",))
def resize_nearest_grad(
    b: TensorFlowBuilder, grads: Any, size: Any, *, align_corners: bool = False, half_pixel_centers: bool = False, **_: Any
) -> Any:
    """Added up where each element came from."""
    old = numbers(size, "the size of an image")
    for axis, (count, new) in enumerate(zip(old, grads.shape[1:3]), 1):
        whole = b.zeros(shape=(*grads.shape[:axis], count, *grads.shape[axis + 1 :]), dtype=grads.dtype)
        places = _nearest_places(b, count, new, align_corners, half_pixel_centers)
        grads = b.scatter_nd(whole, grads, places, axes=(axis,), reduce="sum")
    return grads


_REACH = {
    "lanczos1": 1.0,
    "lanczos3": 3.0,
    "lanczos5": 5.0,
    "gaussian": 1.5,
    "box": 0.5,
    "triangle": 1.0,
    "keyscubic": 2.0,
    "mitchellcubic": 2.0,
}


def _kernel(b: TensorFlowBuilder, kind: str, x: Value) -> Any:
    """The weight at a distance."""
    x, zero, one = b.abs(x), b.array(0.0, "float32"), b.array(1.0, "float32")
    if kind.startswith("lanczos"):
        reach = _REACH[kind]
        safe = b.where(b.less_equal(x, 1e-3), one, x)
        angle = b.multiply(safe, math.pi)
        wave = b.divide(b.multiply(b.multiply(b.sin(angle), b.sin(b.divide(angle, reach))), reach), b.square(angle))
        return b.where(b.greater(x, reach), zero, b.where(b.less_equal(x, 1e-3), one, wave))
    if kind == "gaussian":
        return b.where(b.greater_equal(x, 1.5), zero, b.exp(b.divide(b.negative(b.square(x)), 2.0 * 0.5**2)))
    if kind == "box":
        return b.where(b.less(x, 0.5), one, b.where(b.equal(x, 0.5), b.array(0.5, "float32"), zero))
    if kind == "triangle":
        return b.maximum(b.subtract(1.0, x), 0.0)
    near, far = (
        ((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0))
        if kind == "keyscubic"
        else ((7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9))
    )
    return b.where(b.less(x, 1.0), _polynomial(b, x, near), b.where(b.less(x, 2.0), _polynomial(b, x, far), zero))


def _polynomial(b: TensorFlowBuilder, x: Value, factors: Any) -> Any:
    found: Any = b.multiply(x, factors[0])
    for factor in factors[1:-1]:
        found = b.multiply(b.add(found, factor), x)
    return b.add(found, factors[-1])


def _span_weights(b: TensorFlowBuilder, size: Any, count: Any, scale: Value, shift: Value, kind: str, antialias: bool) -> Any:
    """``[new, old]``: the kernel around the position of each new element, of which what lies inside adds up to 1."""
    inverse = b.divide(1.0, scale)
    wide = b.maximum(inverse, 1.0) if antialias else b.array(1.0, "float32")
    at = b.subtract(b.multiply(b.subtract(b.add(_steps(b, count), 0.5), shift), inverse), 0.0)
    distance = b.divide(b.subtract(b.add(_steps(b, size), 0.5), b.reshape(at, shape=(count, 1))), wide)
    weights = _kernel(b, kind, distance)
    total = b.sum(weights, axis=1, keepdims=True)
    safe = b.where(b.less(b.abs(total), 1000.0 * 1.17549435e-38), b.array(1.0, "float32"), total)
    inside = b.logical_and(b.greater_equal(at, 0.0), b.less_equal(at, b.array(size, "float32")))
    return b.where(b.reshape(inside, shape=(count, 1)), b.divide(weights, safe), b.array(0.0, "float32"))


def _pair(b: TensorFlowBuilder, operand: Any) -> list[Any]:
    if isinstance(operand, tuple):
        return [b.array(item, "float32") for item in operand]
    return [b.getitem(operand, key=(place,)) for place in range(2)]


@rows.row("ScaleAndTranslate", static=("size", "scale", "translation"))
def scale_and_translate(
    b: TensorFlowBuilder,
    images: Any,
    size: Any,
    scale: Any,
    translation: Any,
    *,
    kernel_type: str = "lanczos3",
    antialias: bool = True,
    **_: Any,
) -> Any:
    """Resampled by a kernel, at positions that are scaled and moved."""
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    spans = zip(x.shape[1:3], new, _pair(b, scale), _pair(b, translation))
    return _weighted(b, x, *(_span_weights(b, *span, kernel_type, bool(antialias)) for span in spans))


@rows.row("ScaleAndTranslateGrad", static=("scale", "translation"))
def scale_and_translate_grad(
    b: TensorFlowBuilder,
    grads: Any,
    original_image: Any,
    scale: Any,
    translation: Any,
    *,
    kernel_type: str = "lanczos3",
    antialias: bool = True,
    **_: Any,
) -> Any:
    """What flows back to each old element."""
    spans = zip(original_image.shape[1:3], grads.shape[1:3], _pair(b, scale), _pair(b, translation))
    lines, columns = (_span_weights(b, *span, kernel_type, bool(antialias)) for span in spans)
    return b.einsum(lines, grads, columns, equation="yh,byxc,xw->bhwc")


# ------------------------------------------------------------------------------------- crops and projections
def _sampled(b: TensorFlowBuilder, x: Value, image: Value, line: Value, column: Value, method: str, outside: Any, fill: Any) -> Any:
    """``x[image, line, column]`` at positions between elements; ``outside`` says where ``fill`` stands instead."""
    height, width = (b.array(size - 1, "float32") for size in x.shape[1:3])

    def at(lines: Value, columns: Value) -> Any:
        places = (b.astype(b.clip(item, 0.0, last), dtype="int32") for item, last in ((lines, height), (columns, width)))
        return b.gather_nd(x, image, *places, axes=(0, 1, 2))

    if method == "nearest":
        found = b.astype(at(_half_away(b, line), _half_away(b, column)), dtype="float32")
    else:
        top, left = b.floor(line), b.floor(column)
        down, right = (b.reshape(b.subtract(item, low), shape=(*item.shape, 1)) for item, low in ((line, top), (column, left)))
        below, beside = b.ceil(line), b.ceil(column)
        corners = (b.astype(at(*pair), dtype="float32") for pair in ((top, left), (top, beside), (below, left), (below, beside)))
        top_left, top_right, low_left, low_right = corners
        upper = b.add(top_left, b.multiply(b.subtract(top_right, top_left), right))
        lower = b.add(low_left, b.multiply(b.subtract(low_right, low_left), right))
        found = b.add(upper, b.multiply(b.subtract(lower, upper), down))
    return b.where(b.reshape(outside, shape=(*outside.shape, 1)), fill, found)


def _half_away(b: TensorFlowBuilder, x: Value) -> Any:
    """The nearest whole number; halves of positive numbers go up."""
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
    """Parts of images, each resampled to one size."""
    count, new = boxes.shape[0], numbers(crop_size, "the size of a crop")
    sides = [b.getitem(boxes, key=((None, None, 1), place)) for place in range(4)]
    lines, columns = (_in_box(b, image.shape[axis + 1], new[axis], sides[axis], sides[axis + 2]) for axis in range(2))
    line, column = b.reshape(lines, shape=(count, new[0], 1)), b.reshape(columns, shape=(count, 1, new[1]))
    outside = b.logical_or(_beyond(b, line, image.shape[1]), _beyond(b, column, image.shape[2]))
    shape = (count, *new)
    line, column, outside = (b.broadcast_to(item, shape=shape) for item in (line, column, outside))
    which = b.broadcast_to(b.reshape(box_ind, shape=(count, 1, 1)), shape=shape)
    return _sampled(b, image, which, line, column, method, outside, b.array(float(extrapolation_value), "float32"))


def _beyond(b: TensorFlowBuilder, at: Value, size: Any) -> Any:
    return b.logical_or(b.less(at, 0.0), b.greater(at, b.array(size - 1, "float32")))


def _in_box(b: TensorFlowBuilder, size: Any, count: Any, start: Value, end: Value) -> Any:
    """The positions in an axis that a box is sampled at: ``[box, count]``."""
    last = b.array(size - 1, "float32")
    if hint_of(count) == 1:
        middle = b.multiply(b.multiply(b.add(start, end), 0.5), last)
        return b.reshape(middle, shape=(*middle.shape, 1))
    step = b.divide(b.multiply(b.subtract(end, start), last), b.array(count - 1, "float32"))
    first = b.reshape(b.multiply(start, last), shape=(start.shape[0], 1))
    return b.add(first, b.multiply(b.reshape(step, shape=(start.shape[0], 1)), _steps(b, count)))


_APPROXIMATE = "TensorFlow's own gradient of ImageProjectiveTransform is another map of the gradient, and not its derivative"


def _folded(b: TensorFlowBuilder, at: Value, size: Any, mode: str) -> Any:
    """A position beyond the ends, brought back inside as the mode says; where it is ``CONSTANT``, it stays."""
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


def _projected(b: TensorFlowBuilder, transforms: Value, new: tuple[Any, ...]) -> list[Value]:
    """The line and the column that each element of the new image is read from, and whether there is such a place."""
    part = [b.reshape(b.getitem(transforms, key=((None, None, 1), place)), shape=(transforms.shape[0], 1, 1)) for place in range(8)]
    lines, columns = b.reshape(_steps(b, new[0]), shape=(1, new[0], 1)), b.reshape(_steps(b, new[1]), shape=(1, 1, new[1]))

    def mapped(first: Value, second: Value, third: Any) -> Any:
        return b.add(b.add(b.multiply(first, columns), b.multiply(second, lines)), third)

    below = mapped(part[6], part[7], 1.0)
    nowhere = b.equal(below, 0.0)
    safe = b.where(nowhere, b.array(1.0, "float32"), below)
    return [b.divide(mapped(*part[3:6]), safe), b.divide(mapped(*part[:3]), safe), nowhere]


def _tap(b: TensorFlowBuilder, x: Value, image: Value, line: Value, column: Value, fill: Value) -> Any:
    """The element at whole positions, or ``fill`` outside."""
    sizes = [b.array(size, "float32") for size in x.shape[1:3]]
    inside = b.logical_and(b.greater_equal(line, 0.0), b.greater_equal(column, 0.0))
    inside = b.logical_and(inside, b.logical_and(b.less(line, sizes[0]), b.less(column, sizes[1])))
    places = (b.astype(b.clip(at, 0.0, b.subtract(size, 1.0)), dtype="int32") for at, size in zip((line, column), sizes))
    found = b.gather_nd(x, image, *places, axes=(0, 1, 2))
    return b.where(b.reshape(inside, shape=(*inside.shape, 1)), found, fill)


def _transformed(b: TensorFlowBuilder, images: Value, transforms: Value, size: Any, fill: Any, interpolation: str, mode: str) -> Any:
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    line, column, nowhere = _projected(b, transforms, new)
    shape = (images.shape[0], *new)
    line, column = (b.broadcast_to(_folded(b, at, count, mode), shape=shape) for at, count in ((line, x.shape[1]), (column, x.shape[2])))
    image = b.broadcast_to(b.reshape(b.arange(start=0, stop=shape[0], step=1, dtype="int32"), shape=(shape[0], 1, 1)), shape=shape)
    fill = b.array(fill, "float32")
    if interpolation == "NEAREST":
        found = _tap(b, x, image, _rounded(b, line), _rounded(b, column), fill)
    else:
        top, left = b.floor(line), b.floor(column)
        down, right = (b.reshape(b.subtract(at, low), shape=(*shape, 1)) for at, low in ((line, top), (column, left)))
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


def _rounded(b: TensorFlowBuilder, x: Value) -> Any:
    """Halves away from zero."""
    whole = b.floor(b.add(b.abs(x), 0.5))
    return b.where(b.less(x, 0.0), b.negative(whole), whole)


@rows.row("ImageProjectiveTransformV2", static=("output_shape",))
def image_transform(
    b: TensorFlowBuilder, images: Any, transforms: Any, output_shape: Any, *, interpolation: str, fill_mode: str = "CONSTANT", **_: Any
) -> Any:
    """Each element is read where a projective map says."""
    return _transformed(b, images, transforms, output_shape, 0.0, interpolation, fill_mode)


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
    """With a number for what lies outside."""
    return _transformed(b, images, transforms, output_shape, fill_value, interpolation, fill_mode)


# ------------------------------------------------------------------------------------- colours
def _parts(b: TensorFlowBuilder, x: Value) -> list[Value]:
    """The three channels, which stand last."""
    return [b.getitem(x, key=along(x.ndim - 1, place)) for place in range(3)]


@rows.row("RGBToHSV")
def rgb_to_hsv(b: TensorFlowBuilder, images: Any, **_: Any) -> Any:
    """Hue, saturation and value."""
    red, green, blue = _parts(b, images)
    value = b.maximum(b.maximum(red, green), blue)
    spread = b.subtract(value, b.minimum(b.minimum(red, green), blue))
    zero, one = b.array(0, images.dtype), b.array(1, images.dtype)
    grey = b.equal(spread, 0)
    saturation = b.where(b.greater(value, 0), b.divide(spread, b.where(b.equal(value, 0), one, value)), zero)
    step = b.divide(1 / 6, b.where(grey, one, spread))
    by_red = b.multiply(b.subtract(green, blue), step)
    by_green = b.add(b.multiply(b.subtract(blue, red), step), 2 / 6)
    by_blue = b.add(b.multiply(b.subtract(red, green), step), 4 / 6)
    hue = b.where(b.equal(red, value), by_red, b.where(b.equal(green, value), by_green, by_blue))
    hue = b.where(grey, zero, hue)
    return b.stack(b.where(b.less(hue, 0), b.add(hue, 1.0), hue), saturation, value, axis=images.ndim - 1)


def _from_hsv(b: TensorFlowBuilder, images: Value) -> Any:
    """Red, green and blue."""
    hue, saturation, value = _parts(b, images)
    sixth = b.multiply(hue, 6.0)
    ramps = (
        b.subtract(b.abs(b.subtract(sixth, 3.0)), 1.0),
        b.subtract(2.0, b.abs(b.subtract(sixth, 2.0))),
        b.subtract(2.0, b.abs(b.subtract(sixth, 4.0))),
    )
    rest = b.subtract(1.0, saturation)
    colours = [b.multiply(b.add(rest, b.multiply(saturation, b.clip(ramp, 0.0, 1.0))), value) for ramp in ramps]
    return b.stack(*colours, axis=images.ndim - 1)


@rows.row("HSVToRGB")
def hsv_to_rgb(b: TensorFlowBuilder, images: Any, **_: Any) -> Any:
    """Red, green and blue, of which TensorFlow takes no gradients."""
    return b.stop_gradient(_from_hsv(b, images))


@rows.row("AdjustContrastv2")
def adjust_contrast(b: TensorFlowBuilder, images: Any, contrast_factor: Any, **_: Any) -> Any:
    """The distance to the mean of each channel, multiplied."""
    wide = b.astype(images, dtype="float32")
    mean = b.mean(wide, axis=(images.ndim - 3, images.ndim - 2), keepdims=True)
    factor = b.array(contrast_factor, "float32")
    return b.astype(b.add(b.multiply(b.subtract(wide, mean), factor), mean), dtype=images.dtype)


@rows.row("AdjustHue")
def adjust_hue(b: TensorFlowBuilder, images: Any, delta: Any, **_: Any) -> Any:
    """The hue turned by a part of the circle."""
    wide = b.astype(images, dtype="float32")
    hue, saturation, value = _parts(b, rgb_to_hsv(b, wide))
    moved = b.add(hue, b.array(delta, "float32"))
    moved = b.subtract(moved, b.floor(moved))
    return b.astype(_from_hsv(b, b.stack(moved, saturation, value, axis=images.ndim - 1)), dtype=images.dtype)


@rows.row("AdjustSaturation")
def adjust_saturation(b: TensorFlowBuilder, images: Any, scale: Any, **_: Any) -> Any:
    """The saturation multiplied, and kept between 0 and 1."""
    wide = b.astype(images, dtype="float32")
    hue, saturation, value = _parts(b, rgb_to_hsv(b, wide))
    moved = b.clip(b.multiply(saturation, b.array(scale, "float32")), 0.0, 1.0)
    return b.astype(_from_hsv(b, b.stack(hue, moved, value, axis=images.ndim - 1)), dtype=images.dtype)
