"""Elements that torch refuses when it looks at them: weights below 0, a divisor 0 among integers, and what linear algebra refuses
everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir.node import Node, Value
from ....ops.dtypes import is_inexact
from ....sizes import product
from ...element_conditions import LINEAR_ALGEBRA
from .table import TorchBuilder


def _within_one(b: TorchBuilder, x: Any) -> Any:
    return b.logical_and(b.greater_equal(x, 0), b.less_equal(x, 1)) if isinstance(x, Value) else None


def _categories(b: TorchBuilder, node: Node) -> Any:
    weights = node.inputs[1]
    are_weights = b.all(b.logical_and(b.greater_equal(weights, 0), b.isfinite(weights)))
    return b.logical_and(are_weights, b.all(b.greater(b.sum(weights, axis=-1), 0)))


def _repetitions(b: TorchBuilder, node: Node) -> Any:
    given = [b.greater_equal(weights, 0) for weights in node.inputs[1:] if isinstance(weights, Value)]
    return b.all(given[0]) if len(given) == 1 else b.logical_and(*map(b.all, given)) if given else None


def _repeated_whole(b: TorchBuilder, node: Node) -> Any:
    """As many elements as were said."""
    total = node.params.get("total")
    return None if total is None or len(node.inputs) == 1 else b.equal(b.sum(node.inputs[1]), total)


def _divisor(b: TorchBuilder, node: Node) -> Any:
    divisor = node.inputs[1]
    made = b.maker(divisor)
    is_array = isinstance(divisor, Value) and not (made is not None and made.op == "full")
    return b.not_equal(divisor, 0) if is_array and not is_inexact(divisor.dtype) and divisor.dtype != "bool" else None


# operation -> the condition, an array of bools, or None where there is nothing to look at
CONDITIONS: dict[str, Callable[[TorchBuilder, Node], Any]] = {
    "random_bernoulli": lambda b, node: _within_one(b, node.inputs[1]),
    "random_poisson": lambda b, node: b.greater_equal(node.inputs[1], 0),
    "random_categorical": _categories,
    "quantile": lambda b, node: _within_one(b, node.inputs[1]),
    "cov": _repetitions,
    # as many new elements as places for them
    "masked_scatter": lambda b, node: b.less_equal(b.count_nonzero(node.inputs[1]), product(node.inputs[2].shape)),
    "repeat": _repeated_whole,
    "cholesky_inverse": lambda b, node: b.not_equal(b.diagonal(node.inputs[0]), 0),
    **LINEAR_ALGEBRA,
    **dict.fromkeys(("floor_divide", "trunc_divide", "remainder", "fmod"), _divisor),
}
