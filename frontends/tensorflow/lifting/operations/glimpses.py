"""Parts of images around places, whatever lies outside of the image filled with noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....ir import Value
from ....slicing import along
from ..table import TensorFlowBuilder, numbers, rows


def _first(b: TensorFlowBuilder, offsets: Value, size: Any, new: Any, axis: int, options: dict[str, Any]) -> Value:
    """The first line of each glimpse along an axis, cut off to a whole number."""
    centered, normalized = options.get("centered", True), options.get("normalized", True)
    at, whole = b.getitem(offsets, key=along(1, axis)), b.array(size, "float32")
    is_old = options["version"] == 1  # whose places are always those of the middle of a glimpse
    at = b.multiply(at, whole) if normalized else at
    if centered:
        at = b.add(b.multiply(at, 0.5) if is_old or normalized else at, b.multiply(whole, 0.5))
    if is_old or (centered and normalized):
        at = b.subtract(at, b.multiply(b.array(new, "float32"), 0.5))
    found: Value = b.astype(b.trunc(at), dtype="int32")
    return found


def _noise(b: TensorFlowBuilder, x: Value, shape: tuple[Any, ...], options: dict[str, Any]) -> Value:
    """What stands outside of the images: zeros, numbers between the least and the largest of each channel, or normal ones."""
    kind = options.get("noise", "uniform")
    if kind == "zero":
        return b.zeros(shape=shape, dtype="float32")
    if kind == "gaussian":
        return b.random_normal(b.next_key(), shape=shape, dtype="float32")
    low, high = b.min(x, axis=(0, 1, 2)), b.max(x, axis=(0, 1, 2))
    return b.add(low, b.multiply(b.subtract(high, low), b.random_uniform(b.next_key(), shape=shape, dtype="float32")))


def _glimpse(version: int) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, size: Any, offsets: Any, **given: Any) -> Any:
        """Parts of one size, of which TensorFlow takes no gradient."""
        new, batch, x, options = (
            numbers(size, "the size of a glimpse"),
            input.shape[0],
            b.stop_gradient(input),
            {**given, "version": version},
        )
        shape, places, inside = (batch, *new), [], []
        for axis in range(2):
            first = b.reshape(_first(b, offsets, x.shape[axis + 1], new[axis], axis, options), shape=(batch, 1, 1))
            steps = b.reshape(
                b.arange(start=0, stop=new[axis], step=1, dtype="int32"), shape=(1, new[0], 1) if axis == 0 else (1, 1, new[1])
            )
            at, last = b.add(first, steps), b.array(x.shape[axis + 1] - 1, "int32")
            inside.append(b.logical_and(b.greater_equal(at, 0), b.less_equal(at, last)))
            places.append(b.broadcast_to(b.clip(at, b.array(0, "int32"), last), shape=shape))
        image = b.broadcast_to(b.reshape(b.arange(start=0, stop=batch, step=1, dtype="int32"), shape=(batch, 1, 1)), shape=shape)
        found = b.gather_nd(x, image, *places, axes=(0, 1, 2))
        seen = b.reshape(b.logical_and(*inside), shape=(*shape, 1))
        return b.where(seen, found, _noise(b, x, (*shape, x.shape[3]), options))

    return row


rows.row("ExtractGlimpse", static=("size",))(_glimpse(1))
rows.row("ExtractGlimpseV2", static=("size",))(_glimpse(2))
