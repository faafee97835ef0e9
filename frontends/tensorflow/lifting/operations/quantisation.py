"""Rows that round floats to few levels and return floats (fake quantisation)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....ir import Value
from ..table import TensorFlowBuilder, rows


# ------------------------------------------------------------------------------------- fake quantisation
def _nudge(
    b: TensorFlowBuilder, low: Value, high: Value, bits: int, narrow: bool
) -> tuple[Value, Value, Value]:
    """Return the ends of the range, moved so that 0 is one of the levels, and the distance of two levels."""
    first, last = float(bool(narrow)), float(2**bits - 1)
    scale = b.divide(b.subtract(high, low), last - first)
    zero = b.subtract(first, b.divide(low, scale))
    zero = b.clip(b.floor(b.add(zero, 0.5)), first, last)
    return b.multiply(b.subtract(first, zero), scale), b.multiply(b.subtract(last, zero), scale), scale


def _fake_quantise(b: TensorFlowBuilder, x: Value, low: Any, high: Any, bits: int, narrow: bool) -> Any:
    low, high = b.array(low, "float32"), b.array(high, "float32")
    least, most, scale = _nudge(b, low, high, bits, narrow)
    moved = b.subtract(b.clip(x, least, most), least)
    steps = b.floor(b.add(b.divide(moved, scale), 0.5))
    found = b.add(b.multiply(steps, scale), least)
    # A range from 0 to 0 has no levels, and TensorFlow returns zeros for it.
    empty = b.logical_and(b.equal(low, 0.0), b.equal(high, 0.0))
    below, above = (
        b.logical_and(side, b.logical_not(empty)) for side in (b.less(x, least), b.greater(x, most))
    )
    inside = b.logical_not(b.logical_or(below, above))
    # This is the straight-through gradient. That of values out of range goes to the ends of the range.
    pairs = (
        (x, inside),
        (b.broadcast_to(low, shape=x.shape), below),
        (b.broadcast_to(high, shape=x.shape), above),
    )
    slopes = [item for source, there in pairs for item in (source, b.astype(there, dtype="float32"))]
    return b.with_gradient(b.where(empty, b.array(0.0, "float32"), found), *slopes)


@rows.row("FakeQuantWithMinMaxArgs")
def fake_quant_args(
    b: TensorFlowBuilder,
    inputs: Any,
    *,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
    **_: Any,
) -> Any:
    return _fake_quantise(b, inputs, float(min), float(max), num_bits, narrow_range)


@rows.row("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_vars(
    b: TensorFlowBuilder,
    inputs: Any,
    min: Any,
    max: Any,
    *,
    num_bits: int = 8,
    narrow_range: bool = False,
    **_: Any,
) -> Any:
    return _fake_quantise(b, inputs, min, max, num_bits, narrow_range)


@rows.row("FakeQuantWithMinMaxArgsGradient")
def fake_quant_args_gradient(
    b: TensorFlowBuilder,
    gradients: Any,
    inputs: Any,
    *,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
    **_: Any,
) -> Any:
    gradients = b.stop_gradient(gradients)
    least, most, _scale = _nudge(
        b, b.array(float(min), "float32"), b.array(float(max), "float32"), num_bits, narrow_range
    )
    inside = b.logical_and(b.greater_equal(inputs, least), b.less_equal(inputs, most))
    return b.where(inside, gradients, b.array(0.0, "float32"))


def _vars_gradient(by_channel: bool) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder,
        gradients: Any,
        inputs: Any,
        min: Any,
        max: Any,
        *,
        num_bits: int = 8,
        narrow_range: bool = False,
        **_: Any,
    ) -> Any:
        """Lift ``FakeQuantWithMinMaxVarsGradient`` or its version for channels.

        Return the gradient inside of the range, and the sums of the gradients below and above it, which
        belong to the two ends.
        """
        gradients = b.stop_gradient(gradients)
        low, high = b.array(min, "float32"), b.array(max, "float32")
        least, most, _scale = _nudge(b, low, high, num_bits, narrow_range)
        empty, none = b.logical_and(b.equal(low, 0.0), b.equal(high, 0.0)), b.array(0.0, "float32")
        below = b.logical_and(b.less(inputs, least), b.logical_not(empty))
        above = b.logical_and(b.greater(inputs, most), b.logical_not(empty))
        axes = tuple(range(inputs.ndim - by_channel))
        to_ends = (b.sum(b.where(side, gradients, none), axis=axes) for side in (below, above))
        return b.where(b.logical_or(below, above), none, gradients), *to_ends

    return row


rows.row("FakeQuantWithMinMaxVarsGradient")(_vars_gradient(by_channel=False))
rows.row("FakeQuantWithMinMaxVarsPerChannelGradient")(_vars_gradient(by_channel=True))


# ------------------------------------------------------------------------------------- there and back
def _quantise(
    b: TensorFlowBuilder,
    x: Value,
    ends: Any,
    signed: bool,
    bits: int,
    narrow: bool,
    half_up: bool,
    given: bool,
) -> Any:
    """Round ``x`` to multiples of one step, which fits the range between the ``ends``.

    ``bits``, ``signed`` and ``narrow`` determine the number of steps. With ``given``, ``x`` is clipped to
    the range first. ``half_up`` rounds halves up instead of to even.
    """
    first = float(-(2 ** (bits - 1)) + bool(narrow)) if signed else 0.0
    last = float(2 ** (bits - 1) - 1) if signed else float(2**bits - 1)
    low, high = ends
    largest, one = b.array(3.4028234663852886e38, x.dtype), b.array(1.0, x.dtype)

    def factor(limit: float, end: Value) -> Any:
        product = b.multiply(end, limit)
        # An end with another sign than its limit does not restrict the scale.
        there = b.greater(product, 0.0)
        return b.where(there, b.divide(limit, b.where(there, end, one)), largest)

    from_low, from_high = factor(first, low), factor(last, high)
    by_low = b.less(from_low, from_high)
    scale = b.where(by_low, from_low, from_high)
    step = b.where(by_low, b.divide(low, first) if first else b.multiply(low, 0.0), b.divide(high, last))
    if given:
        x = b.clip(
            x, b.where(by_low, low, b.multiply(step, first)), b.where(by_low, b.multiply(step, last), high)
        )
    steps = b.multiply(x, scale)
    return b.multiply(b.floor(b.add(steps, 0.5)) if half_up else b.round(steps), step)


def _ends(b: TensorFlowBuilder, x: Value, low: Any, high: Any, axis: int, given: bool) -> tuple[Value, Value]:
    axes = tuple(i for i in range(x.ndim) if axis == -1 or i != axis % x.ndim)
    if not given:
        return b.min(x, axis=axes, keepdims=True), b.max(x, axis=axes, keepdims=True)
    shape = tuple(-1 if i == axis else 1 for i in range(x.ndim))
    ends = (b.array(item, x.dtype) for item in (low, high))
    low, high = (
        end
        if end.ndim == 0
        else b.reshape(end, shape=tuple(end.shape[0] if size == -1 else 1 for size in shape))
        for end in ends
    )
    return low, high


def _quantise_and_dequantise(
    b: TensorFlowBuilder, x: Any, low: Any, high: Any, bits: int, options: dict[str, Any]
) -> Any:
    given, axis = bool(options.get("range_given", False)), int(options.get("axis", -1))
    ends = _ends(b, x, low, high, axis, given)
    half_up = options.get("round_mode", "HALF_TO_EVEN") == "HALF_UP"
    found = _quantise(
        b,
        x,
        ends,
        bool(options.get("signed_input", True)),
        bits,
        bool(options.get("narrow_range", False)),
        half_up,
        given,
    )
    # TensorFlow uses the straight-through gradient.
    return b.with_gradient(found, x, b.ones(shape=x.shape, dtype=x.dtype))


@rows.row("QuantizeAndDequantizeV2")
def quantize_and_dequantize(
    b: TensorFlowBuilder, input: Any, input_min: Any, input_max: Any, *, num_bits: int = 8, **options: Any
) -> Any:
    return _quantise_and_dequantise(b, input, input_min, input_max, num_bits, options)


@rows.row("QuantizeAndDequantizeV4")
def quantize_and_dequantize_v4(
    b: TensorFlowBuilder, input: Any, input_min: Any, input_max: Any, *, num_bits: int = 8, **options: Any
) -> Any:
    """Lift ``QuantizeAndDequantizeV4``, whose gradient is 1 inside of the range and 0 outside."""
    low, high = _ends(b, input, input_min, input_max, int(options.get("axis", -1)), True)
    inside = b.logical_and(b.greater_equal(input, low), b.less_equal(input, high))
    found = _quantise_and_dequantise(b, input, input_min, input_max, num_bits, options)
    return b.with_gradient(found, input, b.astype(inside, dtype=input.dtype))


@rows.row("QuantizeAndDequantizeV3", static=("num_bits",))
def quantize_and_dequantize_v3(
    b: TensorFlowBuilder, input: Any, input_min: Any, input_max: Any, num_bits: Any, **options: Any
) -> Any:
    if isinstance(num_bits, Value):
        raise NotImplementedError("a number of bits that is computed")
    return _quantise_and_dequantise(
        b, input, input_min, input_max, int(num_bits), {"range_given": True, **options}
    )


@rows.row("QuantizeAndDequantizeV4Grad")
def quantize_and_dequantize_grad(
    b: TensorFlowBuilder,
    gradients: Any,
    input: Any,
    input_min: Any,
    input_max: Any,
    *,
    axis: int = -1,
    **_: Any,
) -> Any:
    low, high = _ends(b, input, input_min, input_max, axis, True)
    inside = b.logical_and(b.greater_equal(input, low), b.less_equal(input, high))
    ends = (b.zeros(shape=spec.hints, dtype=spec.dtype) for spec in b.recorded[1:])
    return b.where(inside, gradients, b.array(0.0, gradients.dtype)), *ends
