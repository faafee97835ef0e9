"""Colours of images."""

from __future__ import annotations

from typing import Any

from .....ir import Value
from ....slicing import along
from ..table import TensorFlowBuilder, rows


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


# red, green and blue, of which TensorFlow takes no gradients
rows.table({"HSVToRGB": lambda b, images, **_: b.stop_gradient(_from_hsv(b, images))})


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
