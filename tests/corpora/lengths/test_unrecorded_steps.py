"""Tests of iterations of NumPy loops that repeat earlier ones and run without being recorded; what is
recorded after the loop is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.recording import Recorder

STEPS = 60


def decided_behind(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 1.01 + 0.1
    return x * 2 if x.sum() > 40 else x * 3


def item_behind(x: Any, n: int) -> Any:
    for k in range(n):
        x = x + 0.01 * k
    return x * float(x.max())


def number_behind(x: Any, n: int) -> Any:
    k = 0
    for k in range(n):  # noqa: B007
        x = x * 0.9
    return x + k


def compared_behind(x: Any, n: int) -> Any:
    k = 0
    for k in range(n):  # noqa: B007
        x = x * 0.9
    return x + 1 if k == STEPS - 1 else x


def last_row_behind(x: Any, n: int) -> Any:
    row = x
    y = np.outer(np.arange(n) + 0.5, x)
    for row in y:
        x = x * 0.5 + row
    return x, row


def written(x: Any, n: int) -> Any:
    for _ in range(n):
        x[1:] = 0.5 * x[1:] + x[:-1]
    return x.max()


def view_behind(x: Any, n: int) -> Any:
    y = x * 1.0
    part = y[1:]
    for _ in range(n):
        y = y * 0.9
        part = y[1:]
    part[0] = 7.0
    return y


def two_before(x: Any, n: int) -> Any:
    a, b, c = x, x * 2, x * 3
    for _ in range(n):
        a, b, c = b, c, a * 0.5 + b
    return a - b, c


def nested(x: Any, n: int) -> Any:
    for i in range(n):
        for j in range(i, n):
            x = x * 0.99 + 0.001 * (j - i)
    return x


def swapped(x: Any, n: int) -> Any:
    a, b = x * 1.0, x * 2.0
    for _ in range(n):
        a, b = b, a
    return a


def late_counter(x: Any, n: int) -> Any:
    left = 20
    for _ in range(n):
        left = max(left - 1, 0)
        x = x + 1 if left else x * 0
    return x


PROGRAMS: tuple[Callable[..., Any], ...] = (
    decided_behind, item_behind, number_behind, compared_behind, last_row_behind, written, view_behind, two_before, nested, swapped,
    late_counter,
)  # fmt: skip


@pytest.mark.parametrize("roll", ["auto", "never"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_stands_behind_is_right(program: Callable[..., Any], roll: str) -> None:
    x = np.linspace(0.1, 0.9, 5)
    graph = graph_compiler.compile(program, args=(x.copy(), STEPS), roll=roll)
    for number, scale in ((STEPS, 1.0), (STEPS, -0.5), (47, 2.0), (3, 1.0)):
        found, wanted = graph(x * scale, number), program(x * scale, number)
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(wanted)):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_arguments_hold_afterwards_what_they_held() -> None:
    x = np.linspace(0.1, 0.9, 5)
    before = x.copy()
    graph_compiler.compile(written, args=(x, STEPS))
    np.testing.assert_array_equal(x, before)


def test_what_a_later_step_raises_is_raised() -> None:
    def summed(x: Any, n: int) -> Any:
        total = x[0] * 0
        for k in range(n):
            total = total + x[k]
        return total

    graph = graph_compiler.compile(summed)
    with pytest.raises(IndexError):
        graph(np.ones(50), STEPS)
    assert graph(np.ones(70), STEPS) == STEPS


def test_few_steps_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    add_call = Recorder.add_call
    monkeypatch.setattr(
        Recorder,
        "add_call",
        lambda self, op, *args, **kwargs: (calls.append(op), add_call(self, op, *args, **kwargs))[1],
    )
    graph = graph_compiler.compile(written, args=(np.linspace(0.1, 0.9, 5), 10_000))
    assert len(calls) < 100
    assert len(graph.variants) == 1


def passes(x: Any) -> Any:
    for _ in range(x.shape[0]):
        pass
    return x + 1


def computes_for_nothing(x: Any) -> Any:
    for _ in range(x.shape[0]):
        np.abs(x)
    return x + 1


@pytest.mark.parametrize("function", [passes, computes_for_nothing])
def test_a_body_whose_results_nobody_uses_leaves_nothing(function: Callable[[Any], Any]) -> None:
    graph = graph_compiler.compile(function, args=(np.ones(STEPS),))
    for size in (STEPS, STEPS + 9, 2):
        np.testing.assert_array_equal(graph(np.arange(float(size))), function(np.arange(float(size))))


class Caught(BaseException):
    """An exception that no handler of this package catches."""


def number_behind_an_inner_loop(x: Any, n: int) -> Any:
    try:
        for _ in range(n):
            for k in range(n):  # noqa: B007
                x = x * 0.9
            x = x + k
    except Exception as problem:
        raise Caught from problem
    return x


def test_no_handler_of_the_user_sees_that_iterations_are_missing() -> None:
    x = np.linspace(0.1, 0.9, 5)
    graph = graph_compiler.compile(number_behind_an_inner_loop, args=(x, STEPS))
    for number in (STEPS, 41, 2):
        np.testing.assert_allclose(graph(x, number), number_behind_an_inner_loop(x, number), rtol=1e-12)
