"""Rows of non-maximum suppression and of drawing bounding boxes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....ir import Value
from .....ops.registry import ArraySpec
from ....common.indexing import along, cut
from ..table import TensorFlowBuilder, numbers, rows
from .shapes import size_of

_NEVER = -math.inf


# ------------------------------------------------------------------------------------- suppression
def _select_boxes(
    b: TensorFlowBuilder,
    similar: Callable[[Value], Value],
    scores: Value,
    steps: Any,
    most: Any,
    least: Any,
    sigma: float,
) -> tuple[Value, Value, Value]:
    """Select boxes greedily; return for each step the index of the best box, its score, and if one was left.

    ``scores`` are ``[problem, box]``; the results are ``[step, problem]``. ``similar(chosen)`` returns the
    overlap of each box with the chosen one. A box that overlaps more than ``most`` is suppressed. If
    ``sigma`` is not 0, its score decays instead (soft NMS). Only scores above ``least`` are considered.
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
    """Return a function that computes the IoU of all ``boxes`` ``[problem, box, 4]`` with a chosen one."""
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
    """Select boxes of one problem; return their indices, scores and validity, ``[step]`` each."""
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
        lambda chosen: b.take(overlaps, chosen, axis=0),
        scores,
        max_output_size,
        overlap_threshold,
        score_threshold,
    )
    return _keep_valid(b, places, valid)


def _pad_invalid(b: TensorFlowBuilder, items: list[Value], valid: Value, pad: bool) -> tuple[Value, ...]:
    """Return the valid elements of each item, followed by their number.

    With ``pad``, items keep their size, and invalid elements become zeros.
    """
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
    """Lift ``CombinedNonMaxSuppression``: select the best boxes, for each class separately.

    Return boxes, scores, classes, and the number of valid boxes.
    """
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
    return _combine(b, wide, order, places, found, steps, clip_boxes)


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
    """Draw the outlines of boxes on images; where several boxes cross, the last one is visible."""
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
