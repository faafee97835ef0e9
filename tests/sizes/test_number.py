"""Tests of symbolic numbers: their arithmetic gives the numbers and types that Python's has."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest

from graph_compiler.sizes import Size, Symbol, SymbolicNumber


class Number(SymbolicNumber):
    """A symbolic number that no recording guards."""

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    def decide(self, size: Size) -> Any:
        return size.hint

    def symbolic(self, expression: Any) -> Any:
        return Number(expression) if isinstance(expression, Size) else expression


UNARY: dict[str, Callable[[Any], Any]] = {
    "pos": operator.pos,
    "neg": operator.neg,
    "abs": abs,
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "round to digits": lambda number: round(number, 1),
}


@pytest.mark.parametrize("value", [True, False, 3, -2, 2.5, -0.75])
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name: str, value: Any) -> None:
    number = Number(Size.of(Symbol("x", 0, hint=value, kind="number")))
    found, expected = UNARY[name](number), UNARY[name](value)
    assert isinstance(found, Number)
    assert (found.kind(), found.number()) == (type(expected), expected)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
def test_arithmetic_with_a_complex_number(name: str) -> None:
    function = getattr(operator, name)
    number = Number(Size.of(Symbol("x", 0, hint=3)))
    assert function(number, 2j) == function(3, 2j) and function(2j, number) == function(2j, 3)
