"""Activations, and the operations that their gradients are made of."""

from __future__ import annotations

from typing import Any

from .....ops.dtypes import is_complex
from ..table import TensorFlowBuilder, alike, rows

_SCALE, _SCALE_ALPHA = 1.0507009873554804934193349852946, 1.7580993408473768599402175208123


rows.table({
    "Relu": lambda b, x, **_: b.relu(b.array(x)),  # 0 below 0
    "Relu6": lambda b, x, **_: b.relu6(b.array(x)),  # 0 below 0, 6 above 6
    "LeakyRelu": lambda b, x, *, alpha, **_: b.leaky_relu(b.array(x), negative_slope=float(alpha)),  # another slope below 0
    "Elu": lambda b, x, **_: b.elu(b.array(x), alpha=1.0),  # ``exp(x) - 1`` below 0
    "Softsign": lambda b, x, **_: b.soft_sign(b.array(x)),  # ``x / (1 + abs(x))``
})  # fmt: skip


@rows.row("Selu")
def selu(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    """The scaled ``Elu``, whose slope at 0 is that of the right side."""
    x = b.array(x)
    return b.where(b.less(x, 0), b.selu(x), b.multiply(x, _SCALE))


@rows.row("Softplus")
def softplus(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    """``log(1 + exp(x))``."""
    x = b.array(x)
    return b.softplus(x, beta=1.0, threshold=40.0 if x.dtype == "float64" else 20.0)


@rows.row("Softmax")
def softmax(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    """Along the last axis."""
    x = b.array(x)
    return b.softmax(x, axis=x.ndim - 1)


@rows.row("LogSoftmax")
def log_softmax(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    """Along the last axis."""
    x = b.array(x)
    return b.log_softmax(x, axis=x.ndim - 1)


# ------------------------------------------------------------------------------------- gradients
def _nothing(b: TensorFlowBuilder, like: Any) -> Any:
    return b.array(0, like.dtype)


def _masked(b: TensorFlowBuilder, given: Any, there: Any) -> Any:
    """A product, as TensorFlow has it: what is infinite or NaN is NaN where nothing flows."""
    return b.multiply(given, b.astype(there, dtype=given.dtype))


@rows.row("ReluGrad")
def relu_grad(b: TensorFlowBuilder, given: Any, x: Any, **_: Any) -> Any:
    """What flows back where ``x`` is above 0."""
    given, x = b.arrays(given, x)
    return _masked(b, given, b.greater(x, 0))


@rows.row("Relu6Grad")
def relu6_grad(b: TensorFlowBuilder, given: Any, x: Any, **_: Any) -> Any:
    """What flows back between 0 and 6."""
    given, x = b.arrays(given, x)
    return _masked(b, given, b.logical_and(b.greater(x, 0), b.less(x, 6)))


@rows.row("LeakyReluGrad")
def leaky_relu_grad(b: TensorFlowBuilder, given: Any, x: Any, *, alpha: float, **_: Any) -> Any:
    """``alpha`` of it up to 0."""
    given, x = b.arrays(given, x)
    return b.where(b.greater(x, 0), given, b.multiply(given, float(alpha)))


@rows.row("EluGrad")
def elu_grad(b: TensorFlowBuilder, given: Any, y: Any, **_: Any) -> Any:
    """In terms of what ``Elu`` gave."""
    given, y = b.arrays(given, y)
    return b.where(b.less(y, 0), b.multiply(given, b.add(y, 1.0)), given)


@rows.row("SeluGrad")
def selu_grad(b: TensorFlowBuilder, given: Any, y: Any, **_: Any) -> Any:
    """In terms of what ``Selu`` gave."""
    given, y = b.arrays(given, y)
    return b.where(b.less(y, 0), b.multiply(given, b.add(y, _SCALE_ALPHA)), b.multiply(given, _SCALE))


@rows.row("SoftplusGrad")
def softplus_grad(b: TensorFlowBuilder, given: Any, x: Any, **_: Any) -> Any:
    """By the sigmoid of ``x``."""
    given, x = b.arrays(given, x)
    return b.multiply(given, b.sigmoid(x))


@rows.row("SoftsignGrad")
def softsign_grad(b: TensorFlowBuilder, given: Any, x: Any, **_: Any) -> Any:
    """``1 / (1 + abs(x)) ** 2``."""
    given, x = b.arrays(given, x)
    return b.divide(given, b.square(b.add(b.abs(x), 1.0)))


def _conjugate(b: TensorFlowBuilder, y: Any) -> Any:
    return b.conj(y) if is_complex(y.dtype) else y


def _unless_zero(b: TensorFlowBuilder, given: Any, found: Any) -> Any:
    """0 where nothing flows, also to what is infinite or NaN."""
    return b.where(b.equal(given, 0), _nothing(b, given), found)


@rows.row("SigmoidGrad")
def sigmoid_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    """In terms of what ``Sigmoid`` gave."""
    y, given = b.arrays(y, given)
    return b.multiply(b.multiply(given, y), b.subtract(1.0, y))


@rows.row("TanhGrad")
def tanh_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    """In terms of what ``Tanh`` gave."""
    y, given = b.arrays(y, given)
    return b.multiply(given, b.subtract(1.0, b.square(y)))


@rows.row("SqrtGrad")
def sqrt_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    """In terms of what ``Sqrt`` gave."""
    y, given = b.arrays(y, given)
    return _unless_zero(b, given, b.divide(b.multiply(given, 0.5), _conjugate(b, y)))


@rows.row("RsqrtGrad")
def rsqrt_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    """In terms of what ``Rsqrt`` gave."""
    y, given = b.arrays(y, given)
    y = _conjugate(b, y)
    return _unless_zero(b, given, b.multiply(b.multiply(given, -0.5), b.multiply(b.square(y), y)))


@rows.row("ReciprocalGrad", "InvGrad")
def reciprocal_grad(b: TensorFlowBuilder, y: Any, given: Any, **_: Any) -> Any:
    """In terms of what ``Reciprocal`` gave."""
    y, given = b.arrays(y, given)
    return _unless_zero(b, given, b.multiply(b.negative(given), b.square(_conjugate(b, y))))


# ------------------------------------------------------------------------------------- losses
rows.table({"L2Loss": lambda b, x, **_: b.multiply(b.sum(b.square(b.array(x))), 0.5)})  # half of the sum of squares


@rows.row("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(b: TensorFlowBuilder, logits: Any, labels: Any, **_: Any) -> Any:
    """The loss of each row, and its gradient."""
    logits, labels = b.arrays(logits, labels)
    axis = b.recorded[1].ndim - 1
    logits, labels = alike(b, logits, labels)
    logarithms = b.log_softmax(logits, axis=axis)
    slope = b.subtract(b.softmax(logits, axis=axis), b.stop_gradient(labels))
    # TensorFlow's gradient is that of labels that add up to 1, whether they do or not
    parts = b.with_gradient(b.negative(b.multiply(labels, logarithms)), logits, slope, labels, b.negative(logarithms))
    return b.sum(parts, axis=axis), slope


@rows.row("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(b: TensorFlowBuilder, logits: Any, labels: Any, **_: Any) -> Any:
    """The loss of each row for the number of its class, and its gradient; NaN where there is no such class."""
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
