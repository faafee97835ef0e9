"""Elements for which numpy raises an exception: what linear algebra refuses, and floating-point errors where ``np.errstate`` says
``"raise"``.

Underflow is left out: other frameworks flush small numbers to zero without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ....ir.node import Node, Value
from ....ops.dtypes import is_inexact
from ...element_conditions import LINEAR_ALGEBRA, Conditions, are_finite
from .table import NumpyBuilder


def _finite(b: NumpyBuilder, node: Node) -> Any:
    return are_finite(b, node.inputs[0])


CONDITIONS: Conditions = {**LINEAR_ALGEBRA, **dict.fromkeys(("eig", "eigvals"), _finite)}


def expect_no_error(b: NumpyBuilder, made: Iterable[Node], errstate: Mapping[str, str]) -> None:
    """Guards that a call whose floating-point errors raise made no infinity (division by 0, overflow) and no NaN (invalid) of elements
    without."""
    tests = [
        *([b.isinf] if "raise" in (errstate.get("divide"), errstate.get("over")) else []),
        *([b.isnan] if errstate.get("invalid") == "raise" else []),
    ]
    for node in made if tests else ():
        for value in node.outputs:
            if is_inexact(value.dtype):
                for test in tests:
                    b.expect(_unchanged(b, test, node, value), True)


def _unchanged(b: NumpyBuilder, test: Callable[[Value], Value], node: Node, value: Value) -> Value:
    """Whether no element of a result passes the test, or one of an operand does."""
    told = b.logical_not(b.any(test(value)))
    for item in node.inputs:
        if isinstance(item, Value) and is_inexact(item.dtype):
            told = b.logical_or(told, b.any(test(item)))
    return told
