"""Guards on elements for which a framework raises where a target computes a result (a singular matrix).

The recording assumes that no call raises. If a guard fails, the function is recorded again, and the
framework raises or the function handles the exception. Conditions are keyed by the canonical operations
that a call becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...ir.node import Node
from .builder import RaisingBuilder

Conditions = Mapping[str, Callable[[Any, Node], Any]]


def inverse_exists(b: RaisingBuilder, node: Node) -> Any:
    given = [are_finite(b, x) for x in node.inputs]
    is_finite = are_finite(b, node.outputs[0])
    # An infinite or NaN result shows that the matrix is singular only if the operands are finite.
    return b.logical_or(is_finite, b.logical_not(given[0] if len(given) == 1 else b.logical_and(*given)))


def _power(b: RaisingBuilder, node: Node) -> Any:
    return inverse_exists(b, node) if node.params["n"] < 0 else None


def _positive_definite(b: RaisingBuilder, node: Node) -> Any:
    # The factorization takes square roots of what must be positive. Otherwise targets give NaN on the
    # diagonal, and TensorFlow 0 for complex numbers.
    roots = b.diagonal(node.outputs[0])
    return b.greater(b.real(roots) if "complex" in roots.dtype else roots, 0)


def _converges(b: RaisingBuilder, node: Node) -> Any:
    return None if node.params.get("hermitian") else b.logical_not(b.any(b.isnan(node.inputs[0])))


def _converges_by_order(b: RaisingBuilder, node: Node) -> Any:
    return _converges(b, node) if node.params.get("ord") in (2, -2, "nuc") else None


def are_finite(b: RaisingBuilder, x: Any) -> Any:
    return b.all(b.isfinite(x))


# Linear algebra: operation -> the condition, an array of bools, or None where there is nothing to check.
LINEAR_ALGEBRA: Conditions = {
    **dict.fromkeys(("inv", "solve", "tensorinv", "tensorsolve"), inverse_exists),
    "matrix_power": _power,
    "cholesky": _positive_definite,
    **dict.fromkeys(("svd", "svdvals", "pinv", "matrix_rank"), _converges),
    **dict.fromkeys(("cond", "matrix_norm"), _converges_by_order),
    "lstsq": lambda b, node: are_finite(b, node.inputs[0]),
}


def expect_elements(b: RaisingBuilder, made: Iterable[Node], conditions: Conditions) -> None:
    """Guard that the operations ``made`` of one call satisfy their ``conditions``, at all elements.

    Operations without an entry, or whose condition is None, get no guard.
    """
    for node in made:
        condition = conditions[node.op](b, node) if node.op in conditions else None
        if condition is not None:
            b.expect(condition if condition.ndim == 0 else b.all(condition), True)
