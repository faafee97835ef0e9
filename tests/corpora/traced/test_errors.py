"""Tests of traced code that cannot be recorded for all values: the error names the user's line and a remedy."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import InvalidOption, NotCompilable, TracingError

HISTORY: list[Any] = []
STATE = SimpleNamespace(last=None)


def one_side_alone(x: Any) -> Any:
    if x.sum() > 0:
        y = x * 2
    return y


def other_shapes(x: Any) -> Any:
    if x.sum() > 0:
        y = x
    else:
        y = x[:1]
    return y


def other_types(x: Any) -> Any:
    return x if x.sum() > 0 else x.astype("int64")


def other_structures(x: Any) -> Any:
    if x.sum() > 0:
        return x, x
    return x


def text_or_another(x: Any) -> Any:
    kind = "up" if x.sum() > 0 else "down"
    return x, kind


def growing_carry(x: Any) -> Any:
    while x.sum() < 100:
        x = np.concatenate([x, x])
    return x


def changing_type(x: Any) -> Any:
    y = x.astype("float32")
    while y.sum() < 100:
        y = y + x
    return y


def append_on_one_side(x: Any) -> Any:
    if x.sum() > 0:
        HISTORY.append(x)
    return x


def append_once_or_twice(x: Any) -> Any:
    found = [x]
    if x.sum() > 0:
        found.append(x)
        found.append(x)
    else:
        found.append(x)
    return np.stack(found)


def change_on_both_sides(x: Any) -> Any:
    found = [x, x]
    if x.sum() > 0:
        found[1] = x * 2
    else:
        found[1] = x * 3
    return np.stack(found)


def append_while(x: Any) -> Any:
    found = []
    while x.sum() < 100:
        x = x * 2
        found.append(x)
    return found


def attribute_on_one_side(x: Any) -> Any:
    if x.sum() > 0:
        STATE.last = x
    return x


def print_on_one_side(x: Any) -> Any:
    if x.sum() > 0:
        print(x)  # noqa: T201
    return x


def assigned_in_the_loop_only(x: Any) -> Any:
    while x.sum() < 100:
        y = x
        x = x * 2
    return y


def left_in_the_else_of_an_inner_loop(x: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > 9:
            found = x[i]
            break
        for _ in range(2):
            x = x + 1
            if x[i] < -9:
                break
        else:
            if x[i] > 5:
                break
    else:
        found = x[0]
    return found


def left_before_a_dead_assignment(x: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > 9:
            found = x[i]
            break
        if x[i] > 5:
            break
            found = x[i]
    else:
        found = x[0]
    return found


def row_returned_out_of_a_loop(x: Any) -> Any:
    m = x * np.ones((2, 1))
    for i in range(x.shape[0]):
        if m[0, i] > 5:
            return m[:, :2]
    return m[:, 1:]


def array_left_behind_a_loop(x: Any) -> Any:
    y = x
    for i in range(x.shape[0]):
        if x[i] > 5:
            y = x * 2
            break
    return y


def maybe_the_same_array(x: Any) -> Any:
    z = x * 2
    y = x if x.sum() > 0 else z
    y[0] = 5
    return x + y


def maybe_the_argument_after_a_loop(x: Any) -> Any:
    y = x * 0
    for i in range(x.shape[0]):
        if x[i] > 1:
            y = x
    y[0] = 5
    return x + y


def _itself_or_twice(x: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > 1:
            return x
    return x * 2


def maybe_the_argument_out_of_a_loop(x: Any) -> Any:
    y = _itself_or_twice(x)
    y[0] = 5
    return x + y


def no_step_gives_the_argument(x: Any) -> Any:
    y = x
    while y.sum() < 0:
        y = y * -2
    y[0] = 5
    return x + y


def written_and_put_aside(x: Any) -> Any:
    y = x * 1
    first = y
    while y.sum() < 100:
        y[0] = 7
        y = y * 2
    return first + y


def taken_on_one_side(x: Any) -> Any:
    items = iter([1.0, 2.0])
    for item in x:
        if item > 0:
            x = x + next(items)
    return x


def caught_behind_a_loop(x: Any) -> Any:
    count = 0
    try:
        for item in np.cumsum(x):
            if item > 2:
                raise KeyError
            count += 1
    except KeyError:
        count = -count
    return count


def itself_for_ever(x: Any) -> Any:
    return x if x.sum() > 9 else itself_for_ever(x * 2)


REFUSED: dict[Callable[..., Any], str] = {
    one_side_alone: r"test_errors.py:\d+: y is assigned on one side .* Assign y before",
    other_shapes: r"test_errors.py:\d+: y is float64\[3\] where .* True, and float64\[1\] .* same shape",
    other_types: r"float64\[3\] where .* int64\[3\]",
    other_structures: r"the result is a tuple of .* and float64\[3\]",
    text_or_another: r"'up' where .* 'down'",
    growing_carry: r"x is float64\[3\] before a step of a loop and float64\[6\] after",
    changing_type: r"y is float32\[3\] before a step of a loop and float64\[3\] after",
    append_on_one_side: r"test_errors.py:\d+: a side of this condition changes .*HISTORY.* Give it to the code after it",
    append_once_or_twice: r"what is appended to found is a list of float64\[3\], float64\[3\] where .* and a list of float64\[3\] where",
    change_on_both_sides: r"a side of this condition changes found\[1\]",
    append_while: r"test_errors.py:\d+: this loop changes ",
    attribute_on_one_side: r"changes .*STATE.*last",
    print_on_one_side: r"test_errors.py:\d+: print inside of a branch or loop",
    assigned_in_the_loop_only: r"test_errors.py:\d+: y is assigned inside of a loop only",
    left_in_the_else_of_an_inner_loop: r"test_errors.py:\d+: found is assigned on one side",
    left_before_a_dead_assignment: r"test_errors.py:\d+: found is assigned on one side",
    row_returned_out_of_a_loop: r"test_errors.py:\d+: one side returns float64\[2, 2\] .* out of a loop, put the array in the place of one",
    maybe_the_same_array: r"may be another array .* Write to a copy",
    maybe_the_argument_after_a_loop: r"may be another array .* Write to a copy",
    maybe_the_argument_out_of_a_loop: r"may be another array .* Write to a copy",
    no_step_gives_the_argument: r"may be another array .* Write to a copy",
    taken_on_one_side: r"test_errors.py:\d+: a side of this condition may take items from items, an iterator",
    caught_behind_a_loop: r"test_errors.py:\d+: KeyError is raised out of a loop on values, and is caught",
    itself_for_ever: r"test_errors.py:\d+: a side of this condition calls itself without end",
    written_and_put_aside: r"other variables may hold the same array",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refused_with_the_line(function: Callable[..., Any]) -> None:
    with pytest.raises(TracingError, match=REFUSED[function]):
        graph_compiler.compile(graph_compiler.trace(function), source="numpy", to="numpy", args=(np.ones(3),))
    assert not HISTORY and STATE.last is None


def _branch_with(number: Any) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return (x[0] if x.sum() > 0 else number) * 1

    return function


def _loop_from(number: Any) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        last = number
        for i in range(3):
            if x[i] > 0:
                last = x[i]
        return last

    return function


@pytest.mark.parametrize("make", [_branch_with, _loop_from])
@pytest.mark.parametrize("framework", ["numpy", "jax"])
@pytest.mark.parametrize(
    ("dtype", "fits", "exceeds"), [("int8", 127, 128), ("float16", 65504.0, 1e5), ("float32", 2.0**127, 1e39)]
)
def test_a_number_beyond_the_range_of_the_array(
    dtype: str, fits: Any, exceeds: Any, framework: str, make: Callable[[Any], Callable[[Any], Any]]
) -> None:
    xp = pytest.importorskip("jax.numpy" if framework == "jax" else framework)
    x = xp.asarray([1, 2, 3], dtype)
    with pytest.raises(TracingError, match=f"is {dtype}.* where it is False"):
        graph_compiler.compile(graph_compiler.trace(make(exceeds)), source=framework, args=(x,))
    graph = graph_compiler.compile(graph_compiler.trace(make(fits)), source=framework, args=(x,))
    for one in (x, -x):
        assert float(graph(one)) == float(make(fits)(one))


def test_the_remedy_for_an_array_that_is_returned_out_of_a_loop() -> None:
    graph = graph_compiler.compile(
        graph_compiler.trace(array_left_behind_a_loop), source="numpy", to="numpy", args=(np.ones(3),)
    )
    for x in (np.ones(4), np.array([1.0, 6.0])):
        np.testing.assert_array_equal(graph(x), array_left_behind_a_loop(x))


def test_torch_refuses_to_write_to_what_may_be_two() -> None:
    torch = pytest.importorskip("torch")
    for function in (maybe_the_same_array, maybe_the_argument_after_a_loop, no_step_gives_the_argument):
        with pytest.raises(TracingError, match=r"may be another array .* Write to a copy"):
            graph_compiler.compile(
                graph_compiler.trace(function), source="torch", to="torch", args=(torch.ones(3),)
            )


def test_what_is_no_function_with_source() -> None:
    def items(x: Any) -> Any:
        yield x

    space: dict[str, Any] = {}
    exec("def made(x):\n    return x", space)
    for item, why in (
        (items, "yield"),
        (space["made"], "no source"),
        (np.sum, "no function of Python"),
        (object(), "no function of Python"),
    ):
        with pytest.raises(NotCompilable, match=why):
            graph_compiler.trace(item)


def test_options() -> None:
    with pytest.raises(InvalidOption, match="checkpointing= is 'mincut'"):
        graph_compiler.trace(lambda x: x, checkpointing="mincut")
    with pytest.raises(InvalidOption, match="trace_control_flow"):
        graph_compiler.compile(lambda x: x, trace_control_flow="yes")
