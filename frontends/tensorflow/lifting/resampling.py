"""Rows of image resampling, by weights of the old elements along each axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....ops.convolution import CHANNELS_LAST
from ....sizes import apply, hint_of
from .table import TensorFlowBuilder, numbers, rows


def places_of(b: TensorFlowBuilder, count: Any) -> Any:
    return b.arange(start=0, stop=count, step=1, dtype="float32")


def _scale(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool) -> Any:
    if align_corners:
        b.guard(apply("gt" if hint_of(count) > 1 else "le", count, 1))
    if align_corners and hint_of(count) > 1:
        return b.divide(b.array(size - 1, "float32"), b.array(count - 1, "float32"))
    return b.divide(b.array(size, "float32"), b.array(count, "float32"))


def _positions(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool, half_pixel: bool) -> Any:
    places = places_of(b, count)
    if half_pixel:
        return b.subtract(b.multiply(b.add(places, 0.5), _scale(b, size, count, align_corners)), 0.5)
    return b.multiply(places, _scale(b, size, count, align_corners))


def _linear_weights(
    b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool, half_pixel: bool
) -> Any:
    at = b.clip(_positions(b, size, count, align_corners, half_pixel), 0.0, b.array(size - 1, "float32"))
    distance = b.abs(b.subtract(b.reshape(at, shape=(count, 1)), places_of(b, size)))
    return b.maximum(b.subtract(1.0, distance), 0.0)


def _cubic(b: TensorFlowBuilder, distance: Any, a: float) -> Any:
    """Evaluate the Keys cubic convolution kernel with parameter ``a`` at nonnegative distances."""
    near = b.add(
        b.multiply(b.multiply(b.subtract(b.multiply(distance, a + 2), a + 3), distance), distance), 1.0
    )
    far = b.subtract(
        b.multiply(b.add(b.multiply(b.subtract(b.multiply(distance, a), 5 * a), distance), 8 * a), distance),
        4 * a,
    )
    return b.where(
        b.less_equal(distance, 1.0), near, b.where(b.less(distance, 2.0), far, b.array(0.0, "float32"))
    )


def _cubic_weights(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool, half_pixel: bool) -> Any:
    at = _positions(b, size, count, align_corners, half_pixel)
    whole = b.floor(at)
    # TensorFlow reads the weights from a table with this resolution.
    offset = b.divide(b.round(b.multiply(b.subtract(at, whole), 1024.0)), 1024.0)
    # TensorFlow's kernel has another parameter for positions without half-pixel centers.
    a, last = -0.5 if half_pixel else -0.75, b.array(size - 1, "float32")
    total: Any = None
    for tap in range(-1, 3):
        place = b.add(whole, float(tap))
        weight = _cubic(b, b.abs(b.subtract(offset, float(tap))), a)
        inside = b.clip(place, 0.0, last)
        if half_pixel:
            weight = b.where(b.equal(place, inside), weight, b.array(0.0, "float32"))
        hits = b.equal(b.reshape(inside, shape=(count, 1)), places_of(b, size))
        part = b.where(hits, b.reshape(weight, shape=(count, 1)), b.array(0.0, "float32"))
        total = part if total is None else b.add(total, part)
    return b.divide(total, b.sum(total, axis=1, keepdims=True)) if half_pixel else total


def _area_weights(b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool) -> Any:
    scale = _scale(b, size, count, align_corners)
    start = b.reshape(b.multiply(places_of(b, count), scale), shape=(count, 1))
    end = b.reshape(b.multiply(b.add(places_of(b, count), 1.0), scale), shape=(count, 1))
    # Beyond the end, the last element continues.
    first, last = places_of(b, size), b.array(size - 1, "float32")
    after = b.where(b.equal(first, last), b.array(math.inf, "float32"), b.add(first, 1.0))
    covered = b.maximum(b.subtract(b.minimum(end, after), b.maximum(start, first)), 0.0)
    return b.divide(covered, scale)


def _nearest_places(
    b: TensorFlowBuilder, size: Any, count: Any, align_corners: bool, half_pixel: bool
) -> Any:
    """Return, for each of ``count`` new elements, the index of the old element that it copies."""
    scale, places = _scale(b, size, count, align_corners), places_of(b, count)
    at = b.multiply(b.add(places, 0.5) if half_pixel else places, scale)
    at = b.floor(b.add(at, 0.5)) if align_corners else b.floor(at)
    return b.astype(b.clip(at, 0.0, b.array(size - 1, "float32")), dtype="int32")


def _apply_weights(b: TensorFlowBuilder, x: Value, lines: Value, columns: Value) -> Any:
    return b.einsum(lines, x, columns, equation="yh,bhwc,xw->byxc")


def _weights_by_axis(
    b: TensorFlowBuilder, weights: Callable[..., Any], old: Any, new: Any, *options: bool
) -> list[Any]:
    return [weights(b, size, count, *options) for size, count in zip(old, new)]


@rows.row("ResizeBilinear", static=("size",))
def resize_bilinear(
    b: TensorFlowBuilder,
    images: Any,
    size: Any,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    **_: Any,
) -> Any:
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    # ``interpolate`` has these two conventions for positions. The other two need explicit weights.
    if bool(align_corners) != bool(half_pixel_centers):
        return b.interpolate(
            x, size=new, method="linear", align_corners=bool(align_corners), layout=CHANNELS_LAST
        )
    return _apply_weights(
        b, x, *_weights_by_axis(b, _linear_weights, x.shape[1:3], new, align_corners, half_pixel_centers)
    )


@rows.row("ResizeBicubic", static=("size",))
def resize_bicubic(
    b: TensorFlowBuilder,
    images: Any,
    size: Any,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    **_: Any,
) -> Any:
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    return _apply_weights(
        b, x, *_weights_by_axis(b, _cubic_weights, x.shape[1:3], new, align_corners, half_pixel_centers)
    )


@rows.row("ResizeArea", static=("size",))
def resize_area(
    b: TensorFlowBuilder, images: Any, size: Any, *, align_corners: bool = False, **_: Any
) -> Any:
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    return _apply_weights(b, x, *_weights_by_axis(b, _area_weights, x.shape[1:3], new, align_corners))


@rows.row("ResizeNearestNeighbor", static=("size",))
def resize_nearest(
    b: TensorFlowBuilder,
    images: Any,
    size: Any,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    **_: Any,
) -> Any:
    new = numbers(size, "the size of an image")
    for axis, (old, count) in enumerate(zip(images.shape[1:3], new), 1):
        images = b.take(images, _nearest_places(b, old, count, align_corners, half_pixel_centers), axis=axis)
    return images


def _gradient(weights: Callable[..., Any]) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder,
        grads: Any,
        original_image: Any,
        *,
        align_corners: bool = False,
        half_pixel_centers: bool = False,
        **_: Any,
    ) -> Any:
        old, new = original_image.shape[1:3], grads.shape[1:3]
        found = _weights_by_axis(b, weights, old, new, align_corners, half_pixel_centers)
        made = b.einsum(found[0], b.astype(grads, dtype="float32"), found[1], equation="yh,byxc,xw->bhwc")
        # TensorFlow defines no second derivative.
        return b.stop_gradient(b.astype(made, dtype=b.result.dtype))

    return row


rows.row("ResizeBilinearGrad")(_gradient(_linear_weights))
rows.row("ResizeBicubicGrad")(_gradient(_cubic_weights))


@rows.row("ResizeNearestNeighborGrad", static=("size",))
def resize_nearest_grad(
    b: TensorFlowBuilder,
    grads: Any,
    size: Any,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    **_: Any,
) -> Any:
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
    x, zero, one = b.abs(x), b.array(0.0, "float32"), b.array(1.0, "float32")
    if kind.startswith("lanczos"):
        reach = _REACH[kind]
        safe = b.where(b.less_equal(x, 1e-3), one, x)
        angle = b.multiply(safe, math.pi)
        wave = b.divide(
            b.multiply(b.multiply(b.sin(angle), b.sin(b.divide(angle, reach))), reach), b.square(angle)
        )
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
    return b.where(
        b.less(x, 1.0), _polynomial(b, x, near), b.where(b.less(x, 2.0), _polynomial(b, x, far), zero)
    )


def _polynomial(b: TensorFlowBuilder, x: Value, factors: Any) -> Any:
    found: Any = b.multiply(x, factors[0])
    for factor in factors[1:-1]:
        found = b.multiply(b.add(found, factor), x)
    return b.add(found, factors[-1])


def _span_weights(
    b: TensorFlowBuilder, size: Any, count: Any, scale: Value, shift: Value, kind: str, antialias: bool
) -> Any:
    inverse = b.divide(1.0, scale)
    wide = b.maximum(inverse, 1.0) if antialias else b.array(1.0, "float32")
    at = b.subtract(b.multiply(b.subtract(b.add(places_of(b, count), 0.5), shift), inverse), 0.0)
    distance = b.divide(b.subtract(b.add(places_of(b, size), 0.5), b.reshape(at, shape=(count, 1))), wide)
    weights = _kernel(b, kind, distance)
    total = b.sum(weights, axis=1, keepdims=True)
    # TensorFlow does not normalise sums below a thousand times the smallest normal float32.
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
    new, x = numbers(size, "the size of an image"), b.astype(images, dtype="float32")
    spans = zip(x.shape[1:3], new, _pair(b, scale), _pair(b, translation))
    return _apply_weights(b, x, *(_span_weights(b, *span, kernel_type, bool(antialias)) for span in spans))


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
    spans = zip(original_image.shape[1:3], grads.shape[1:3], _pair(b, scale), _pair(b, translation))
    lines, columns = (_span_weights(b, *span, kernel_type, bool(antialias)) for span in spans)
    return b.einsum(lines, grads, columns, equation="yh,byxc,xw->bhwc")
