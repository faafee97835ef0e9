"""Tests of functions some of whose arguments are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from graph_compiler.recording.request import GivenArguments


def by_position(a: int = 1, b: int = 2, /, c: int = 3, *, d: int = 4) -> tuple[int, ...]:
    return a, b, c, d


def mixed(a: int, b: int = 2, *rest: int, **named: int) -> tuple[Any, ...]:
    return a, b, rest, named


# function, given arguments, positional and named arguments of the call, result
ROWS: tuple[tuple[Callable[..., Any], Mapping[str, int], tuple[int, ...], Mapping[str, int], Any], ...] = (
    (by_position, {"b": 20}, (), {}, (1, 20, 3, 4)),
    (by_position, {"b": 20}, (), {"c": 30, "d": 40}, (1, 20, 30, 40)),
    (by_position, {"b": 20}, (10, 30), {}, (10, 20, 30, 4)),
    (by_position, {"a": 10, "c": 30}, (), {}, (10, 2, 30, 4)),
    (by_position, {"c": 30, "d": 40}, (), {}, (1, 2, 30, 40)),
    (mixed, {"b": 20}, (), {"a": 10}, (10, 20, (), {})),
    (mixed, {"b": 20}, (10, 30), {"c": 5}, (10, 20, (30,), {"c": 5})),
)


@pytest.mark.parametrize("row", ROWS)
def test_given_arguments(row: Any) -> None:
    function, given, args, kwargs, expected = row
    assert GivenArguments(function, given)(*args, **kwargs) == expected
