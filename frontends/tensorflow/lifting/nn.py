"""Rows of activations, losses, normalisation and fake quantisation, and of their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....ops.dtypes import is_complex
from ....sizes import product
from .convolution import is_first
from .table import TensorFlowBuilder, broadcast_together, rows

_SCALE, _SCALE_ALPHA = 1.0507009873554804934193349852946, 1.7580993408473768599402175208123


rows.table({
    "Relu": lambda b, x, **_: b.relu(b.array(x)),
    "Relu6": lambda b, x, **_: b.relu6(b.array(x)),
    "LeakyRelu": lambda b, x, *, alpha, **_: b.leaky_relu(b.array(x), negative_slope=float(alpha)),
    "Elu": lambda b, x, **_: b.elu(b.array(x), alpha=1.0),
    "Softsign": lambda b, x, **_: b.soft_sign(b.array(x)),
})  # fmt: skip


@rows.row("Selu")
def selu(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    # TensorFlow takes the right derivative at 0, and ``selu`` the left one.
    return b.where(b.less(x, 0), b.selu(x), b.multiply(x, _SCALE))


@rows.row("Softplus")
def softplus(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    return b.softplus(x, beta=1.0, threshold=40.0 if x.dtype == "float64" else 20.0)


@rows.row("Softmax")
def softmax(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    return b.softmax(x, axis=x.ndim - 1)


@rows.row("LogSoftmax")
def log_softmax(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    return b.log_softmax(x, axis=x.ndim - 1)


# ------------------------------------------------------------------------------------- gradients
def _nothing(b: TensorFlowBuilder, like: Any) -> Any:
    return b.array(0, like.dtype)


def _mask(b: TensorFlowBuilder, given: Any, there: Any) -> Any:
    # TensorFlow multiplies too, so an infinite gradient becomes NaN where the mask is 0.
    return b.multiply(given, b.astype(there, dtype=given.dtype))


@rows.row("ReluGrad")
def relu_grad(b: TensorFlowBuilder, given: Any, x: Any, **_: Any) -> Any:
    given, x = b.arrays(given, x)
    return _mask(b, given, b.greater(x, 0))


@rows.row("Relu6Grad")
def relu6_grad(b: TensorFlowBuilder, given: Any, x: Any, **_: Any) -> Any:
    given, x = b.arrays(given, x)
    return _mask(b, given, b.logical_and(b.greater(x, 0), b.less(x, 6)))


@rows.row("LeakyReluGrad")
def leaky_relu_grad(b: TensorFlowBuilder, given: Any, x: Any, *, alpha: float, **_: Any) -> Any:
    given, x = b.arrays(given, x)
    return b.where(b.greater(x, 0), given, b.multiply(given, float(alpha)))


@rows.row("EluGrad")
def elu_grad(b: TensorFlowBuilder, given: Any, y: Any, **_: Any) -> Any:
    given, y = b.arrays(given, y)
    return b.where(b.less(y, 0), b.multiply(given, b.add(y, 1.0)), given)


@rows.row("SeluGrad")
def selu_grad(b: TensorFlowBuilder, given: Any, y: Any, **_: Any) -> Any:
    given, y = b.arrays(given, y)
    return b.where(b.less(y, 0), b.multiply(given, b.add(y, _SCALE_ALPHA)), b.multiply(given, _SCALE))


@rows.row("SoftplusGrad")
def softplus_grad(b: TensorFlowBuilder, given: Any, x: Any, **_: Any) -> Any:
    given, x = b.arrays(given, x)
    return b.multiply(given, b.sigmoid(x))


@rows.row("SoftsignGrad")
def softsign_grad(b: TensorFlowBuilder, given: Any, x: Any, **_: Any) -> Any:
    given, x = b.arrays(given, x)
    return b.divide(given, b.square(b.add(b.abs(x), 1.0)))


def _conjugate(b: TensorFlowBuilder, y: Any) -> Any:
    return b.conj(y) if is_complex(y.dtype) else y


def _unless_zero(b: TensorFlowBuilder, given: Any, found: Any) -> Any:
    # TensorFlow returns 0 for a zero gradient, even where the derivative is infinite.
    return b.where(b.equal(given, 0), _nothing(b, given), found)


@rows.row("SigmoidGrad")
def sigmoid_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    y, given = b.arrays(y, given)
    return b.multiply(b.multiply(given, y), b.subtract(1.0, y))


@rows.row("TanhGrad")
def tanh_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    y, given = b.arrays(y, given)
    return b.multiply(given, b.subtract(1.0, b.square(y)))


@rows.row("SqrtGrad")
def sqrt_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    y, given = b.arrays(y, given)
    return _unless_zero(b, given, b.divide(b.multiply(given, 0.5), _conjugate(b, y)))


@rows.row("RsqrtGrad")
def rsqrt_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    y, given = b.arrays(y, given)
    y = _conjugate(b, y)
    return _unless_zero(b, given, b.multiply(b.multiply(given, -0.5), b.multiply(b.square(y), y)))


@rows.row("ReciprocalGrad", "InvGrad")
def reciprocal_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    y, given = b.arrays(y, given)
    return _unless_zero(b, given, b.multiply(b.negative(given), b.square(_conjugate(b, y))))


# ------------------------------------------------------------------------------------- losses
rows.table({"L2Loss": lambda b, x, **_: b.multiply(b.sum(b.square(b.array(x))), 0.5)})


@rows.row("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(b: TensorFlowBuilder, logits: Any, labels: Any, **_: Any) -> Any:
    logits, labels = b.arrays(logits, labels)
    axis = b.recorded[1].ndim - 1
    logits, labels = broadcast_together(b, logits, labels)
    logarithms = b.log_softmax(logits, axis=axis)
    slope = b.subtract(b.softmax(logits, axis=axis), b.stop_gradient(labels))
    # TensorFlow's gradient assumes that the labels of a row add up to 1, even if they do not.
    parts = b.with_gradient(
        b.negative(b.multiply(labels, logarithms)), logits, slope, labels, b.negative(logarithms)
    )
    return b.sum(parts, axis=axis), slope


@rows.row("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(b: TensorFlowBuilder, logits: Any, labels: Any, **_: Any) -> Any:
    logits, labels = b.array(logits), b.array(labels)
    count = logits.shape[1]
    column = b.reshape(labels, shape=(*labels.shape, 1))
    chosen = b.equal(column, b.arange(start=0, stop=count, step=1, dtype=labels.dtype))
    outside = b.logical_or(b.less(labels, 0), b.greater_equal(labels, b.array(count, labels.dtype)))
    nan = b.array(float("nan"), logits.dtype)
    logarithms = b.log_softmax(logits, axis=1)
    loss = b.negative(b.sum(b.where(chosen, logarithms, _nothing(b, logits)), axis=1))
    slope = b.subtract(b.softmax(logits, axis=1), b.astype(chosen, dtype=logits.dtype))
    return b.where(outside, nan, loss), b.where(b.reshape(outside, shape=(*outside.shape, 1)), nan, slope)


@rows.row("BiasAdd", "BiasAddV1")
def bias_add(b: TensorFlowBuilder, value: Any, bias: Any, *, data_format: str = "NHWC", **_: Any) -> Any:
    if is_first(data_format) and value.ndim > 2:
        bias = b.reshape(bias, shape=(*bias.shape, *(1,) * (value.ndim - 2)))
    return b.add(value, bias)


def _channel_axis(x: Value, data_format: str) -> int:
    return 1 if is_first(data_format) else x.ndim - 1


def _broadcast_channels(b: TensorFlowBuilder, vector: Value, rank: int, axis: int) -> Any:
    return vector if axis == rank - 1 else b.reshape(vector, shape=(*vector.shape, *(1,) * (rank - 1 - axis)))


def _others(rank: int, axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(rank) if i != axis)


def _fused_batch_norm(reserved: int) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, x: Any, scale: Any, offset: Any, mean: Any, variance: Any,
        *, epsilon: float = 1e-4, exponential_avg_factor: float = 1.0, data_format: str = "NHWC",
        is_training: bool = True, **_: Any,
    ) -> Any:  # fmt: skip
        axis, rest = _channel_axis(x, data_format), b.zeros(shape=b.recorded[-1].hints, dtype="float32")
        if not is_training:
            fixed = _without_gradient(b, mean), _without_gradient(b, variance)
            y = _normalise(b, x, *fixed, scale, offset, epsilon, axis)
            # The versions of the operation differ in how many arrays they reserve for the gradient.
            return (y, *fixed, *fixed, rest)[: reserved + 3]
        seen, spread = _statistics(b, x, axis)
        y = _normalise(b, x, seen, spread, scale, offset, epsilon, axis)
        seen, spread = b.stop_gradient(seen), b.stop_gradient(spread)
        count = product(x.shape[i] for i in _others(x.ndim, axis))
        number = b.array(count, scale.dtype)
        # The moving variance is the unbiased one, unlike the variance that normalises ``x``.
        unbiased = b.multiply(
            spread, b.divide(number, b.maximum(b.subtract(number, 1.0), b.array(1.0, scale.dtype)))
        )
        kept = (
            _moving_average(b, mean, seen, exponential_avg_factor),
            _moving_average(b, variance, unbiased, exponential_avg_factor),
        )
        return (y, *kept, seen, spread, rest)[: reserved + 3]

    return row


def _without_gradient(b: TensorFlowBuilder, x: Value) -> Value:
    return x if x in b.graph.parameters.values() else b.stop_gradient(x)


def _statistics(b: TensorFlowBuilder, x: Value, axis: int) -> tuple[Value, Value]:
    wide = x if x.dtype in ("float32", "float64") else b.astype(x, dtype="float32")
    axes = _others(x.ndim, axis)
    return b.mean(wide, axis=axes), b.var(wide, axis=axes, correction=0)


def _normalise(
    b: TensorFlowBuilder,
    x: Value,
    mean: Value,
    variance: Value,
    scale: Value,
    offset: Value,
    epsilon: float,
    axis: int,
) -> Any:
    if x.dtype == scale.dtype:
        return b.batch_norm(x, mean, variance, scale, offset, epsilon=float(epsilon), axis=axis)
    return b.astype(
        b.batch_norm(
            b.astype(x, dtype=scale.dtype), mean, variance, scale, offset, epsilon=float(epsilon), axis=axis
        ),
        dtype=x.dtype,
    )


def _moving_average(b: TensorFlowBuilder, old: Any, new: Value, factor: float) -> Any:
    if factor == 1:
        return new
    return b.add(b.multiply(b.stop_gradient(old), 1.0 - factor), b.multiply(new, float(factor)))


rows.row("FusedBatchNorm", "FusedBatchNormV2")(_fused_batch_norm(reserved=2))
rows.row("FusedBatchNormV3")(_fused_batch_norm(reserved=3))


@rows.row("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def fused_batch_norm_grad(
    b: TensorFlowBuilder, y_backprop: Any, x: Any, scale: Any, reserve_space_1: Any, reserve_space_2: Any,
    *_: Any, epsilon: float = 1e-4, data_format: str = "NHWC", is_training: bool = True, **__: Any,
) -> Any:  # fmt: skip
    axis, rank = _channel_axis(x, data_format), x.ndim
    axes, dtype = _others(rank, axis), x.dtype
    given, x = (b.astype(item, dtype=scale.dtype) for item in (y_backprop, x))
    seen, variance = (
        _statistics(b, x, axis)
        if is_training
        else tuple(map(b.stop_gradient, (reserve_space_1, reserve_space_2)))
    )
    mean, inverse = _broadcast_channels(b, seen, rank, axis), b.rsqrt(b.add(variance, float(epsilon)))
    unit = b.multiply(b.subtract(x, mean), _broadcast_channels(b, inverse, rank, axis))
    of_offset, of_scale = b.sum(given, axis=axes), b.sum(b.multiply(given, unit), axis=axes)
    slope = _broadcast_channels(b, b.multiply(scale, inverse), rank, axis)
    if is_training:
        count = b.array(product(x.shape[i] for i in axes), scale.dtype)
        along = b.multiply(unit, _broadcast_channels(b, b.divide(of_scale, count), rank, axis))
        given = b.subtract(
            b.subtract(given, _broadcast_channels(b, b.divide(of_offset, count), rank, axis)), along
        )
    rest = (b.zeros(shape=spec.hints, dtype=spec.dtype) for spec in b.recorded[3:])
    return b.astype(b.multiply(given, slope), dtype=dtype), of_scale, of_offset, *rest


# ------------------------------------------------------------------------------------- neighbouring channels
def _channel_window_sum(b: TensorFlowBuilder, x: Value, radius: int) -> Any:
    axis = x.ndim - 1
    padded = b.pad(x, padding=(*((0, 0),) * axis, (radius, radius)))
    return b.sum(b.sliding_window(padded, axis=axis, size=2 * radius + 1), axis=x.ndim)


def _base(b: TensorFlowBuilder, x: Value, radius: int, bias: float, alpha: float) -> Any:
    return b.add(b.multiply(_channel_window_sum(b, b.square(x), radius), float(alpha)), float(bias))


@rows.row("LRN")
def lrn(
    b: TensorFlowBuilder,
    input: Any,
    *,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    **_: Any,
) -> Any:
    return b.multiply(input, b.pow(_base(b, input, depth_radius, bias, alpha), -float(beta)))


@rows.row("LRNGrad")
def lrn_grad(
    b: TensorFlowBuilder, input_grads: Any, input_image: Any, output_image: Any,
    *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, **_: Any,
) -> Any:  # fmt: skip
    base = _base(b, input_image, depth_radius, bias, alpha)
    shared = _channel_window_sum(b, b.divide(b.multiply(input_grads, output_image), base), depth_radius)
    own = b.multiply(input_grads, b.pow(base, -float(beta)))
    return b.subtract(own, b.multiply(b.multiply(input_image, shared), 2.0 * float(alpha) * float(beta)))


# ----------------------------------------------------------------------------------------------- quantisation
# Rows that round floats to few levels and return floats (fake quantisation).


# ------------------------------------------------------------------------------------- fake quantisation
def _nudge(
    b: TensorFlowBuilder, low: Value, high: Value, bits: int, narrow: bool
) -> tuple[Value, Value, Value]:
    """Return the ends of the quantized range, moved so that 0 is a level, and the distance between levels.

    There are ``2**bits`` levels, or one fewer if ``narrow``.
    """
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


# ------------------------------------------------------------------------------------- quantised floats
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
