"""Activation functions, in the names of ``jax.nn`` where it has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import ArraySpec, declare, decomposition
from ..rules import declare_unary, elementwise, normalise_axis

_SECTION = "activations"


def _same(x: ArraySpec, **_: Any) -> ArraySpec:
    return ArraySpec(x.shape, x.dtype)


declare_unary(
    _SECTION,
    elementwise,
    {
        "relu": "``max(x, 0)``; no gradient at 0.",
        "relu6": "``min(max(x, 0), 6)``; no gradient at 0 and 6.",
        "hard_sigmoid": "``relu6(x + 3) / 6``; no gradient at -3 and 3.",
        "hard_swish": "``x * relu6(x + 3) / 6``.",
        "selu": (
            "Scaled ``elu`` of self-normalising networks (Klambauer et al. 2017); the derivative at 0 is the "
            "left one."
        ),
        "silu": "``x * sigmoid(x)``, also called swish.",
        "mish": "``x * tanh(softplus(x))``.",
        "soft_sign": "``x / (1 + abs(x))``.",
        "log_sigmoid": "``log(sigmoid(x))``, without overflow.",
    },
)


@declare(_SECTION)
def hard_tanh(x: ArraySpec, /, *, minimum: float = -1.0, maximum: float = 1.0) -> ArraySpec:
    """Clip ``x`` to [minimum, maximum]; unlike ``clip``, the bounds themselves have no gradient."""
    return _same(x)


@declare(_SECTION)
def leaky_relu(x: ArraySpec, /, *, negative_slope: float = 0.01, right: bool = False) -> ArraySpec:
    """Return ``x`` where it is positive and ``negative_slope * x`` elsewhere.

    The derivative at 0 is ``negative_slope``, or 1 with ``right``.
    """
    return _same(x)


@declare(_SECTION)
def prelu(x: ArraySpec, slope: ArraySpec, /) -> ArraySpec:
    """Return ``x`` where it is positive and ``slope * x`` elsewhere, also at 0; ``slope`` broadcasts."""
    return elementwise(x, slope)


@declare(_SECTION)
def elu(x: ArraySpec, /, *, alpha: float = 1.0) -> ArraySpec:
    """Return ``x`` where it is positive and ``alpha * expm1(x)`` elsewhere.

    The derivative at 0 is ``alpha``, the second derivative 0.
    """
    return _same(x)


@declare(_SECTION)
def celu(x: ArraySpec, /, *, alpha: float = 1.0) -> ArraySpec:
    """Compute ``max(x, 0) + min(0, alpha * expm1(x / alpha))``; the derivative at 0 is 1, the second 0."""
    return _same(x)


@declare(_SECTION)
def gelu(x: ArraySpec, /, *, approximate: bool = False) -> ArraySpec:
    """Compute ``x * Phi(x)``, where ``Phi`` is the standard normal distribution function.

    ``approximate`` selects the tanh approximation.
    """
    return _same(x)


@declare(_SECTION)
def softplus(x: ArraySpec, /, *, beta: float = 1.0, threshold: float = 20.0) -> ArraySpec:
    """Compute ``log1p(exp(beta * x)) / beta``, or ``x`` itself where ``beta * x`` is above ``threshold``."""
    return _same(x)


@declare(_SECTION)
def soft_shrink(x: ArraySpec, /, *, threshold: float = 0.5) -> ArraySpec:
    """Move ``x`` towards 0 by ``threshold``. Where ``abs(x) <= threshold`` it is 0, without gradient."""
    return _same(x)


@declare(_SECTION)
def hard_shrink(x: ArraySpec, /, *, threshold: float = 0.5) -> ArraySpec:
    """Return ``x``, or 0 without gradient where ``abs(x) <= threshold``."""
    return _same(x)


@declare(_SECTION)
def threshold(x: ArraySpec, /, *, threshold: Any, value: Any) -> ArraySpec:
    """Return ``value`` where ``x <= threshold`` and ``x`` elsewhere."""
    return _same(x)


@declare(_SECTION)
def glu(x: ArraySpec, /, *, axis: int) -> ArraySpec:
    """Multiply the first half along ``axis`` by the sigmoid of the second half."""
    axis = normalise_axis(axis, x.ndim)
    return ArraySpec((*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :]), x.dtype)


@declare(_SECTION)
def softmax(x: ArraySpec, /, *, axis: int) -> ArraySpec:
    """Compute ``exp(x) / sum(exp(x))`` along ``axis`` without overflow; NaN where all of ``x`` is -inf."""
    return _same(x)


@declare(_SECTION)
def log_softmax(x: ArraySpec, /, *, axis: int) -> ArraySpec:
    """Compute ``log(softmax(x))`` along ``axis`` without overflow."""
    return _same(x)


# -------------------------------------------------------------------------------------- in smaller operations
def _decompose(**functions: Callable[..., Any]) -> None:
    for name, function in functions.items():
        decomposition(name)(function)


def _softmax(b: Any, x: Any, *, axis: int) -> Any:
    # No exponent is above 0, so nothing overflows.
    weights = b.exp(b.subtract(x, b.max(x, axis=axis, keepdims=True)))
    return b.divide(weights, b.sum(weights, axis=axis, keepdims=True))


def _log_softmax(b: Any, x: Any, *, axis: int) -> Any:
    shifted = b.subtract(x, b.max(x, axis=axis, keepdims=True))
    return b.subtract(shifted, b.log(b.sum(b.exp(shifted), axis=axis, keepdims=True)))


def _leaky_relu(b: Any, x: Any, *, negative_slope: float, right: bool) -> Any:
    is_above = b.greater_equal(x, 0) if right else b.greater(x, 0)
    return b.where(is_above, x, b.multiply(x, negative_slope))


def _hard_tanh(b: Any, x: Any, *, minimum: float, maximum: float) -> Any:
    # A clip would let the gradient through at the bounds.
    return b.where(b.less_equal(x, minimum), minimum, b.where(b.greater_equal(x, maximum), maximum, x))


def _soft_shrink(b: Any, x: Any, *, threshold: float) -> Any:
    # Unlike a constant 0, the product keeps NaN.
    below = b.where(b.less(x, -threshold), b.add(x, threshold), b.multiply(x, 0.0))
    return b.where(b.greater(x, threshold), b.subtract(x, threshold), below)


_decompose(
    softmax=_softmax,
    log_softmax=_log_softmax,
    hard_tanh=_hard_tanh,
    soft_shrink=_soft_shrink,
    # Like this operation, ``hard_tanh`` has no gradient at its bounds.
    relu6=lambda b, x: b.hard_tanh(x, minimum=0.0, maximum=6.0),
    hard_sigmoid=lambda b, x: b.divide(b.relu6(b.add(x, 3.0)), 6.0),
    hard_swish=lambda b, x: b.divide(b.multiply(x, b.relu6(b.add(x, 3.0))), 6.0),
    leaky_relu=_leaky_relu,
    prelu=lambda b, x, slope: b.where(b.greater(x, 0), x, b.multiply(slope, x)),
    celu=lambda b, x, alpha: b.where(b.greater(x, 0), x, b.multiply(b.expm1(b.divide(x, alpha)), alpha)),
    mish=lambda b, x: b.multiply(x, b.tanh(b.softplus(x))),
    soft_sign=lambda b, x: b.divide(x, b.add(b.abs(x), 1.0)),
    # ``softplus`` does not overflow.
    log_sigmoid=lambda b, x: b.negative(b.softplus(b.negative(x))),
    # NaN fails the comparison, so it stays NaN.
    hard_shrink=lambda b, x, threshold: b.where(b.less_equal(b.abs(x), threshold), 0.0, x),
    threshold=lambda b, x, threshold, value: b.where(b.less_equal(x, threshold), value, x),
)
