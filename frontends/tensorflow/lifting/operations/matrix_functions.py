"""Roots and logarithms of matrices, by iterations that need products and inverses alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....ir import Value
from .....sizes import Size
from ..table import TensorFlowBuilder, rows

_STEPS = 20  # of the iteration, which doubles the number of right digits in each of its last ones
_ROOTS = 5  # roots of roots, after which the logarithm is that of a matrix near to the unit matrix
_NODES = 10  # of the sum that the logarithm then is
_WIDE = {"float32": "float64", "complex64": "complex128"}
_SINGLE = 1e-3  # of a matrix: further from it is no square of a root


def _unit(b: TensorFlowBuilder, x: Value) -> Value:
    """The unit matrix beside each matrix."""
    size: Size | int = x.shape[-1]
    found: Value = b.broadcast_to(b.eye(n_rows=size, n_cols=size, dtype=x.dtype), shape=x.shape)
    return found


def _root(b: TensorFlowBuilder, x: Value) -> Value:
    """The principal root, by the iteration of Denman and Beavers with scaled factors; NaN where a matrix has none of its own type."""
    root, other = x, _unit(b, x)
    for _ in range(_STEPS):
        factor = _factor(b, root, other)
        root, other = (_mean(b, one, b.inv(two), factor) for one, two in ((root, other), (other, root)))
    error = b.max(b.abs(b.subtract(b.matmul(root, root), x)), axis=(x.ndim - 2, x.ndim - 1), keepdims=True)
    whole = b.max(b.abs(x), axis=(x.ndim - 2, x.ndim - 1), keepdims=True)
    is_root = b.less_equal(error, b.multiply(whole, _SINGLE))
    found: Value = b.where(is_root, root, b.array(float("nan"), x.dtype))
    return found


def _factor(b: TensorFlowBuilder, root: Value, other: Value) -> Value:
    """By which both are scaled, so that the product of their determinants is 1: all but what it is for single digits."""
    length = b.log(b.abs(b.multiply(b.det(root), b.det(other))))
    power = b.divide(length, b.array(-2 * root.shape[-1], length.dtype))
    whole = b.exp(b.clip(power, -10.0, 10.0))
    found: Value = b.stop_gradient(b.astype(b.reshape(whole, shape=(*whole.shape, 1, 1)), dtype=root.dtype))
    return found


def _mean(b: TensorFlowBuilder, one: Value, other: Value, factor: Value) -> Value:
    found: Value = b.multiply(b.add(b.multiply(one, factor), b.divide(other, factor)), 0.5)
    return found


@rows.row("MatrixSquareRoot")
def matrix_square_root(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    """The matrix whose product with itself is the operand; its eigenvalues have no negative real parts."""
    return b.astype(_root(b, b.astype(input, dtype=_WIDE.get(input.dtype, input.dtype))), dtype=input.dtype)


@rows.row("MatrixLogarithm")
def matrix_logarithm(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    """The matrix whose exponential is the operand: of a root of it, as a sum of quotients, with the weights of Gauss and Legendre."""
    x = b.astype(input, dtype=_WIDE.get(input.dtype, input.dtype))
    for _number in range(_ROOTS):
        x = _root(b, x)
    unit, total = _unit(b, x), None
    rest = b.subtract(x, unit)
    for place, weight in zip(*np.polynomial.legendre.leggauss(_NODES)):
        part = b.solve(b.add(unit, b.multiply(rest, float(place + 1) / 2)), rest)
        part = b.multiply(part, float(weight) / 2 * 2**_ROOTS)
        total = part if total is None else b.add(total, part)
    return b.astype(total, dtype=input.dtype)
