"""Tests that ``range``, ``enumerate``, ``zip`` and ``reversed`` take and refuse arguments as in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler


def by_keyword(x: Any) -> Any:
    total = x[0] * 0
    for place, row in enumerate(iterable=x, start=2):
        total = total + row * place
    return total


def of_a_range_by_keyword(x: Any) -> Any:
    total = x[0] * 0
    for place, row in enumerate(start=2, iterable=range(x.shape[0])):
        total = total + x[row] * place
    return total


def without_bounds(x: Any) -> Any:
    for place in range():  # type: ignore[call-overload]
        x = x + place
    return x


def with_too_many_bounds(x: Any) -> Any:
    for place in range(x.shape[0], 2, 3, 4):  # type: ignore[call-overload]
        x = x + place
    return x


def with_an_unknown_keyword(x: Any) -> Any:
    for place, row in enumerate(x, first=1):  # type: ignore[call-overload]
        x = x + row * place
    return x


def reversed_twice(x: Any) -> Any:
    for row in reversed(x, x):  # type: ignore[call-arg]
        x = x + row
    return x


def from_a_fraction(x: Any) -> Any:
    for place, row in enumerate(x, 1.5):  # type: ignore[arg-type]
        x = x + row * place
    return x


def from_none(x: Any) -> Any:
    for place, row in enumerate(x, None):  # type: ignore[arg-type]
        x = x + row * place
    return x


def of_two_lengths(x: Any) -> Any:
    for first, second in zip(x, x[2:], strict=True):
        x = x + first * second
    return x


WAYS: list[Callable[[Any], Any]] = [lambda function: function, graph_compiler.trace]


@pytest.mark.parametrize("way", WAYS, ids=["recorded", "traced"])
@pytest.mark.parametrize("function", [by_keyword, of_a_range_by_keyword])
def test_arguments_by_keyword(function: Any, way: Any) -> None:
    graph = graph_compiler.compile(way(function), source="numpy")
    for rows in (3, 5):
        x = np.arange(rows * 2.0).reshape(rows, 2)
        np.testing.assert_array_equal(graph(x), function(x))


@pytest.mark.parametrize("way", WAYS, ids=["recorded", "traced"])
@pytest.mark.parametrize(
    "function",
    [
        without_bounds,
        with_too_many_bounds,
        with_an_unknown_keyword,
        reversed_twice,
        from_a_fraction,
        from_none,
        of_two_lengths,
    ],
)
def test_errors_are_those_of_python(function: Any, way: Any) -> None:
    x = np.ones((3, 2))
    with pytest.raises((TypeError, ValueError)) as expected:
        function(x)
    with pytest.raises(expected.type) as found:
        graph_compiler.compile(way(function), source="numpy", args=(x,))
    assert str(found.value).startswith(str(expected.value))
