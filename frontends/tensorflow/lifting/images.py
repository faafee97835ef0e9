"""Rows of image operations: colours, crops, projective transforms and boxes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....ops.dtypes import is_floating
from ....ops.registry import ArraySpec
from ....sizes import apply, hint_of
from ...common.indexing import along, cut
from .manipulation import size_of
from .resampling import places_of
from .table import TensorFlowBuilder, numbers, rows


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
    """Sample ``x[image, line, column]`` at fractional positions, as float32.

    The result is ``fill`` where ``outside`` is True.
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
    """Return the weight of each image line (or column) in each crop line, ``[box, count, size]``."""
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
    at = _positions(b, size, count, boxes, axis)
    at = b.reshape(at, shape=(*at.shape, 1))
    place = places_of(b, size)
    behind, before = (b.astype(b.equal(turned(at), place), dtype="float32") for turned in (b.ceil, b.floor))
    found: Value = b.where(_beyond(b, at, size), b.array(0.0, "float32"), b.subtract(behind, before))
    return found


def _is_one(b: TensorFlowBuilder, count: Any) -> bool:
    b.guard(apply("eq" if hint_of(count) == 1 else "ne", count, 1))
    return bool(hint_of(count) == 1)


def _shares(b: TensorFlowBuilder, size: Any, count: Any) -> tuple[Value, Value]:
    """Return the derivatives of the sampled positions with respect to the start and the end of their box.

    Both are ``[count]``.
    """
    last = b.array(size - 1, "float32")
    if _is_one(b, count):
        half = b.reshape(b.multiply(last, 0.5), shape=(1,))
        return half, half
    share = b.divide(places_of(b, count), b.array(count - 1, "float32"))
    return b.multiply(b.subtract(1.0, share), last), b.multiply(share, last)


def _beyond(b: TensorFlowBuilder, at: Value, size: Any) -> Any:
    return b.logical_or(b.less(at, 0.0), b.greater(at, b.array(size - 1, "float32")))


def _in_box(b: TensorFlowBuilder, size: Any, count: Any, start: Value, end: Value) -> Any:
    """Return the positions along an axis at which each box is sampled, ``[box, count]``.

    ``start`` and ``end`` of the boxes are fractions of ``size - 1``.
    """
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
    """Return the source line and column of each output element, and True where the projection divides by 0.

    ``transforms`` is ``[count, 8]``, and ``new`` the height and width of the output. All results are
    ``[count, line, column]``.
    """
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


# ------------------------------------------------------------------------------------------------------ boxes
# Rows of non-maximum suppression and of drawing bounding boxes.

_NEVER = -math.inf


# ------------------------------------------------------------------------------------- suppression
def _some(b: TensorFlowBuilder, x: Value, *axes: int, value: float = 0.0) -> Value:
    """Return ``x``, or ``x`` with one row of ``value`` along the ``axes`` if it has none there."""
    # All of ``axes`` have the size of the first.
    size = x.shape[axes[0]]
    if hint_of(size):
        b.guard(apply("gt", size, 0))
        return x
    b.fix(size)
    return b.pad(x, padding=tuple((0, int(axis in axes)) for axis in range(x.ndim)), value=value)


def _select_boxes(
    b: TensorFlowBuilder,
    similar: Callable[[Value], Value],
    scores: Value,
    steps: Any,
    most: Any,
    least: Any,
    sigma: float,
) -> tuple[Value, Value, Value]:
    """Select boxes greedily. Return the best box of each step, its score, and True if one was left.

    ``scores`` are ``[problem, box]``; the results are ``[step, problem]``, boxes as indices.
    """

    def step(left: Value) -> tuple[Any, ...]:
        best = b.astype(b.argmax(left, axis=1), dtype="int32")
        column = b.reshape(best, shape=(left.shape[0], 1))
        score = b.reshape(b.take_along_axis(left, column, axis=1), shape=(left.shape[0],))
        overlap = b.reshape(similar(best), shape=left.shape)
        if sigma:
            weaker = b.multiply(left, b.exp(b.multiply(b.square(overlap), -0.5 / sigma)))
            after = b.where(b.greater(weaker, least), weaker, b.array(_NEVER, "float32"))
        else:
            after = b.where(b.greater(overlap, most), b.array(_NEVER, "float32"), left)
        # A box without area does not overlap even itself, so a selected box is suppressed by its index.
        taken = b.equal(
            b.reshape(b.arange(stop=left.shape[1], dtype="int32"), shape=(1, left.shape[1])), column
        )
        return b.where(taken, b.array(_NEVER, "float32"), after), best, score, b.greater(score, _NEVER)

    # Without boxes, one that is never selected keeps the shapes of the loop valid.
    scores = _some(b, scores, 1, value=_NEVER)
    alive = b.where(b.greater(scores, least), scores, b.array(_NEVER, "float32"))
    argument = b.argument("left", ArraySpec(alive.shape, "float32"))
    # How many boxes are selected depends on elements, so the loop runs for the largest number.
    _, places, found, valid = b.run(
        "scan",
        [alive],
        [b.body("step", [argument], step)],
        carried=1,
        sequences=0,
        length=steps,
        reverse=False,
    )
    return places, found, valid


def _overlaps(b: TensorFlowBuilder, boxes: Value) -> Callable[[Value], Value]:
    """Return a function that computes the IoU of ``boxes``, ``[problem, box, 4]``, with one box per problem.

    It takes the indices of these boxes, ``[problem]``.
    """
    boxes = _some(b, boxes, 1)
    corner = [b.getitem(boxes, key=along(2, place)) for place in range(4)]
    # Any two opposite corners may be given, in any order.
    low = [b.minimum(corner[axis], corner[axis + 2]) for axis in range(2)]
    high = [b.maximum(corner[axis], corner[axis + 2]) for axis in range(2)]
    area = b.multiply(b.subtract(high[0], low[0]), b.subtract(high[1], low[1]))

    def similar(chosen: Value) -> Value:
        column = b.reshape(chosen, shape=(*chosen.shape, 1))

        def mine(x: Value) -> Any:
            return b.take_along_axis(x, column, axis=1)

        sides = [
            b.subtract(b.minimum(high[axis], mine(high[axis])), b.maximum(low[axis], mine(low[axis])))
            for axis in range(2)
        ]
        shared = b.multiply(b.maximum(sides[0], 0.0), b.maximum(sides[1], 0.0))
        own = mine(area)
        joint = b.subtract(b.add(area, own), shared)
        # TensorFlow takes the overlap with a box without area for 0.
        empty = b.logical_or(b.less_equal(area, 0.0), b.less_equal(own, 0.0))
        found: Value = b.where(
            empty, b.array(0.0, "float32"), b.divide(shared, b.where(empty, b.array(1.0, "float32"), joint))
        )
        return found

    return similar


def _number(b: TensorFlowBuilder, x: Any) -> Any:
    return b.astype(x, dtype="float32") if isinstance(x, Value) else float(x)


def _suppress(
    b: TensorFlowBuilder,
    similar: Callable[[Value], Value],
    scores: Any,
    most: Any,
    limit: Any,
    least: Any = _NEVER,
    sigma: float = 0.0,
) -> tuple[Value, Value, Value]:
    row = b.reshape(b.astype(scores, dtype="float32"), shape=(1, *scores.shape))
    steps = size_of(most, "the number of boxes")
    made = _select_boxes(b, similar, row, steps, _number(b, limit), _number(b, least), sigma)
    places, found, valid = (b.reshape(item, shape=(steps,)) for item in made)
    return places, found, valid


def _box_overlaps(b: TensorFlowBuilder, boxes: Value) -> Callable[[Value], Value]:
    return _overlaps(b, b.reshape(b.astype(boxes, dtype="float32"), shape=(1, *boxes.shape)))


def _keep_valid(b: TensorFlowBuilder, x: Value, valid: Value, place: int = 0) -> Any:
    return b.boolean_mask(x, valid, axis=0, hint=b.recorded[place].hints[0])


@rows.row("NonMaxSuppression", static=("max_output_size",))
def non_max_suppression(
    b: TensorFlowBuilder, boxes: Any, scores: Any, max_output_size: Any, *, iou_threshold: float, **_: Any
) -> Any:
    places, _scores, valid = _suppress(b, _box_overlaps(b, boxes), scores, max_output_size, iou_threshold)
    return _keep_valid(b, places, valid)


@rows.row("NonMaxSuppressionV2", "NonMaxSuppressionV3", static=("max_output_size",))
def non_max_suppression_v3(
    b: TensorFlowBuilder,
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any,
    score_threshold: Any = _NEVER,
    **_: Any,
) -> Any:
    places, _scores, valid = _suppress(
        b, _box_overlaps(b, boxes), scores, max_output_size, iou_threshold, score_threshold
    )
    return _keep_valid(b, places, valid)


@rows.row("NonMaxSuppressionWithOverlaps", static=("max_output_size",))
def non_max_suppression_with_overlaps(
    b: TensorFlowBuilder,
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any,
    score_threshold: Any,
    **_: Any,
) -> Any:
    places, _scores, valid = _suppress(
        b,
        lambda chosen: b.take(_some(b, overlaps, 0, 1), chosen, axis=0),
        scores,
        max_output_size,
        overlap_threshold,
        score_threshold,
    )
    return _keep_valid(b, places, valid)


def _pad_invalid(b: TensorFlowBuilder, items: list[Value], valid: Value, pad: bool) -> tuple[Value, ...]:
    if pad:
        found = [b.where(valid, item, b.array(0, item.dtype)) for item in items]
    else:
        found = [_keep_valid(b, item, valid, place) for place, item in enumerate(items)]
    return *found, b.sum(b.astype(valid, dtype="int32"), axis=None, dtype="int32")


@rows.row("NonMaxSuppressionV4", static=("max_output_size",))
def non_max_suppression_v4(
    b: TensorFlowBuilder, boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any,
    score_threshold: Any, *, pad_to_max_output_size: bool = False, **_: Any,
) -> Any:  # fmt: skip
    places, _scores, valid = _suppress(
        b, _box_overlaps(b, boxes), scores, max_output_size, iou_threshold, score_threshold
    )
    return _pad_invalid(b, [places], valid, pad_to_max_output_size)


@rows.row("NonMaxSuppressionV5", static=("max_output_size", "soft_nms_sigma"))
def non_max_suppression_v5(
    b: TensorFlowBuilder, boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any,
    score_threshold: Any, soft_nms_sigma: Any, *, pad_to_max_output_size: bool = False, **_: Any,
) -> Any:  # fmt: skip
    (sigma,) = numbers(soft_nms_sigma, "the sigma of soft suppression")
    places, found, valid = _suppress(
        b, _box_overlaps(b, boxes), scores, max_output_size, iou_threshold, score_threshold, float(sigma)
    )
    return _pad_invalid(b, [places, b.astype(found, dtype=scores.dtype)], valid, pad_to_max_output_size)


@rows.row("CombinedNonMaxSuppression", static=("max_output_size_per_class", "max_total_size"))
def combined_non_max_suppression(
    b: TensorFlowBuilder, boxes: Any, scores: Any, max_output_size_per_class: Any, max_total_size: Any,
    iou_threshold: Any, score_threshold: Any, *, pad_per_class: bool = False, clip_boxes: bool = True,
    **_: Any,
) -> Any:  # fmt: skip
    batch, count, classes = scores.shape
    steps, total = size_of(max_output_size_per_class), size_of(max_total_size)
    total = min(total, steps * b.fix(classes)) if pad_per_class else total
    wide = b.broadcast_to(b.permute_dims(boxes, axes=(0, 2, 1, 3)), shape=(batch, classes, count, 4))
    flat = b.reshape(wide, shape=(batch * classes, count, 4))
    points = b.reshape(b.permute_dims(scores, axes=(0, 2, 1)), shape=(batch * classes, count))
    made = _select_boxes(
        b, _overlaps(b, flat), points, steps, _number(b, iou_threshold), _number(b, score_threshold), 0.0
    )
    places, found, valid = (
        b.reshape(b.permute_dims(item, axes=(1, 0)), shape=(batch, classes * steps)) for item in made
    )
    found = b.where(valid, found, b.array(_NEVER, "float32"))
    # All classes together may have fewer results than ``max_total_size``.
    missing = max(0, total - steps * b.fix(classes))
    found, places = (
        b.pad(item, padding=((0, 0), (0, missing)), value=fill)
        for item, fill in ((found, _NEVER), (places, 0))
    )
    order = cut(b, b.argsort(found, axis=1, descending=True, stable=True), 1, None, total)
    return _combine(b, _some(b, wide, 2), order, places, found, steps, clip_boxes)


def _combine(
    b: TensorFlowBuilder, boxes: Value, order: Value, places: Value, found: Value, steps: Any, clip: bool
) -> tuple[Any, ...]:
    best = b.take_along_axis(found, order, axis=1)
    valid = b.greater(best, _NEVER)
    # Padding has indices beyond the last class.
    kind = b.minimum(
        b.floor_divide(b.astype(order, dtype="int32"), steps), b.array(boxes.shape[1] - 1, "int32")
    )
    place = b.take_along_axis(places, order, axis=1)
    image = b.broadcast_to(
        b.reshape(b.arange(stop=order.shape[0], dtype="int32"), shape=(order.shape[0], 1)), shape=order.shape
    )
    corners = b.gather_nd(boxes, image, kind, place, axes=(0, 1, 2))
    corners = b.clip(corners, 0.0, 1.0) if clip else corners
    nothing = b.array(0.0, "float32")
    return (
        b.where(b.reshape(valid, shape=(*valid.shape, 1)), corners, nothing), b.where(valid, best, nothing),
        b.where(valid, b.astype(kind, dtype="float32"), nothing),
        b.sum(b.astype(valid, dtype="int32"), axis=1, dtype="int32"),
    )  # fmt: skip


# ------------------------------------------------------------------------------------- lines
_COLOURS = (
    (1.0, 1.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0), (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0),
    (0.5, 0.0, 0.5, 1.0), (0.5, 0.5, 0.0, 1.0), (0.5, 0.0, 0.0, 1.0), (0.0, 0.0, 0.5, 1.0),
    (0.0, 1.0, 1.0, 1.0), (1.0, 0.0, 1.0, 1.0),
)  # fmt: skip


@rows.row("DrawBoundingBoxes")
def draw_bounding_boxes(b: TensorFlowBuilder, images: Any, boxes: Any, **_: Any) -> Any:
    grey = b.fix(images.shape[3]) == 1
    return _draw(b, images, boxes, b.array(((1.0,),) if grey else _COLOURS, "float32"))


@rows.row("DrawBoundingBoxesV2")
def draw_bounding_boxes_v2(b: TensorFlowBuilder, images: Any, boxes: Any, colors: Any, **_: Any) -> Any:
    if b.fix(colors.shape[0]) == 0:
        return draw_bounding_boxes(b, images, boxes)
    return _draw(b, images, boxes, b.astype(colors, dtype="float32"))


def _draw(b: TensorFlowBuilder, images: Value, boxes: Value, colours: Value) -> Any:
    batch, height, width, depth = images.shape
    count = boxes.shape[1]
    ends = [_line(b, boxes, place, (height, width)[place % 2]) for place in range(4)]
    at = [
        b.reshape(b.arange(stop=size, dtype="int32"), shape=(1, 1, size, 1) if axis == 0 else (1, 1, 1, size))
        for axis, size in enumerate((height, width))
    ]
    within = [
        b.logical_and(b.greater_equal(at[axis], ends[axis]), b.less_equal(at[axis], ends[axis + 2]))
        for axis in range(2)
    ]
    border = [
        b.logical_or(b.equal(at[axis], ends[axis]), b.equal(at[axis], ends[axis + 2])) for axis in range(2)
    ]
    seen = b.logical_and(b.logical_and(*within), b.logical_or(*border))
    number = b.reshape(b.arange(start=1, stop=count + 1, dtype="int32"), shape=(1, count, 1, 1))
    last = b.max(b.where(seen, number, b.array(0, "int32")), axis=1)
    # More boxes than colours use the colours in turn.
    which = b.remainder(b.maximum(b.subtract(last, 1), 0), b.array(colours.shape[0], "int32"))
    colour = b.take(cut(b, colours, 1, None, b.fix(depth)), which, axis=0)
    drawn = b.reshape(b.greater(last, 0), shape=(batch, height, width, 1))
    # TensorFlow defines no gradient of the operation.
    return b.stop_gradient(b.where(drawn, b.astype(colour, dtype=images.dtype), images))


def _line(b: TensorFlowBuilder, boxes: Value, place: int, size: Any) -> Any:
    side = b.getitem(b.astype(boxes, dtype="float32"), key=along(2, place))
    return b.reshape(
        b.astype(b.multiply(side, b.array(size - 1, "float32")), dtype="int32"), shape=(*side.shape, 1, 1)
    )
