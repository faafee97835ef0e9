"""Tests of traced functions called without recording: they behave as plain Python, with defaults, closures,
methods, lines and exceptions.
"""

from __future__ import annotations

import inspect
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import GuardFailed
from graph_compiler.passes.driver import nodes_of
from graph_compiler.recording.control_flow.lists import with_plain_lists

trace = graph_compiler.trace


@trace
def every_statement(items: Any, limit: int = 3, *, start: int = 0) -> Any:
    """Sums."""
    total, seen = start, []
    for place, item in enumerate(items):
        if item is None:
            continue
        if place > limit:
            break
        try:
            total += 1 / item
        except ZeroDivisionError as problem:
            seen.append(str(problem))
        else:
            seen.append(place)
        finally:
            total += 1
    else:
        total = -total
    while total < -100:
        total += 1
    kind = "big" if total > 10 else "small"
    return total, seen, kind, [x for x in seen if not (isinstance(x, str) or 0 < x < 2)]


@pytest.mark.parametrize("items", [[], [1, 2], [1, None, 0, 4], [1] * 9, [0.5, 0, None]])
def test_python_is_as_it_was(items: Any) -> None:
    plain = inspect.unwrap(_plain_of(every_statement))
    assert every_statement(items, start=1) == plain(items, start=1)
    assert every_statement(items, 1) == plain(items, 1)


def _plain_of(function: Any) -> Any:
    """Return the function that the source of a traced function defines without the decorator."""
    source = inspect.getsource(function)
    space: dict[str, Any] = {"Any": Any}
    exec(source[source.index("def ") :], space)
    return space[function.__name__]


CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "subscript": lambda x, limits: 0 < x.sum() < limits["most"],
    "four operands": lambda x, limits: 0 < x.sum() < x.max() + 2 < limits["most"],
    "assigned": lambda x, limits: (0 < (total := x.sum()) < limits["most"]) and total * 2,
    "assigned at last": lambda x, limits: (0 < x.sum() < (most := limits["most"])) and most,
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_comparisons_ends_at_the_first_that_is_false(name: str) -> None:
    chain, most = CHAINS[name], {"most": 4.0}
    traced = trace(chain)
    assert traced(-np.ones(2), {}) == chain(-np.ones(2), {}) == np.False_
    for x in (np.ones(2), np.full(2, 1.5), np.full(2, 9.0)):
        assert traced(x, most) == chain(x, most)
    with pytest.raises(KeyError, match="most"):
        traced(np.ones(2), {})


def test_a_chain_of_comparisons_of_elements() -> None:
    @trace
    def kept(x: Any) -> Any:
        return x * 2 if 0 < x.sum() < x.max() + 2 < 9 else x

    graph = graph_compiler.compile(kept, source="numpy", to="jax", args=(np.ones(2),))
    for x in (np.ones(2), -np.ones(2), np.full(2, 9.0), np.full(3, 2.0)):
        np.testing.assert_allclose(graph(x), kept(x))
    assert len(graph.variants) == 1, graph.explain()


GROUPS = """
def counted(items):
    total = 0
    try:
        for item in items:
            if item > 100:
                return item
            total += 1 / item
    except* ZeroDivisionError:
        if total > 1:
            total = -total
    else:
        total += 1000
    return total
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.11 added except*")
@pytest.mark.parametrize("items", [[], [1, 2], [1, 0], [1, 1, 0], [1, 200]])
def test_groups_of_exceptions(items: Any, tmp_path: Path) -> None:
    path = tmp_path / "groups.py"
    path.write_text(GROUPS)
    counted = runpy.run_path(str(path))["counted"]
    assert trace(counted)(items) == counted(items)


def test_name_and_signature_stay() -> None:
    assert (every_statement.__name__, every_statement.__doc__) == ("every_statement", "Sums.")
    assert list(inspect.signature(every_statement).parameters) == ["items", "limit", "start"]


def test_lines_stay() -> None:
    @trace
    def failing(x: Any) -> Any:
        if x > 0:
            raise ValueError("here")
        return x

    with pytest.raises(ValueError, match="here") as caught:
        failing(1)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.line) == (__file__, 'raise ValueError("here")')


class Scaled:
    def __init__(self, scale: float) -> None:
        self.__scale = scale

    @trace
    def __call__(self, x: Any) -> Any:
        return self.__doubled(x) if x.sum() > 0 else x - self.__scale

    def __doubled(self, x: Any) -> Any:
        while x.sum() < 10:
            x = x * 2
        return x


def test_methods_and_what_they_call() -> None:
    graph = graph_compiler.compile(Scaled(3.0).__call__, source="numpy", to="numpy", args=(np.ones(2),))
    for x in (np.ones(2), -np.ones(2), np.full(2, 0.1)):
        np.testing.assert_allclose(graph(x), Scaled(3.0)(x))
    assert len(graph.variants) == 1, graph.explain()


def test_closures_and_functions_inside() -> None:
    factor = 0.5

    def smaller(x: Any) -> Any:
        def shrink(y: Any) -> Any:
            return y * factor if y.sum() > 1 else y

        for _ in range(3):
            x = shrink(x)
        return x

    graph = graph_compiler.compile(
        smaller, source="numpy", to="jax", args=(np.ones(2),), trace_control_flow=True
    )
    for x in (np.ones(2), np.full(3, 9.0), -np.ones(2)):
        np.testing.assert_allclose(graph(x), smaller(x), rtol=1e-6)
    assert len(graph.variants) == 1, graph.explain()


def power(x: Any, n: int) -> Any:
    if n == 0:
        return x * 0 + 1
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half


def test_a_function_calls_itself_by_its_name() -> None:
    graph = graph_compiler.compile(trace(power), source="numpy", args=(np.full(3, 2.0), 5))
    for n in (5, 0, 12):
        np.testing.assert_allclose(graph(np.full(3, 2.0), n), power(np.full(3, 2.0), n))


def test_weights_are_written_to_in_a_branch() -> None:
    torch = pytest.importorskip("torch")

    def descended(x: Any, y: Any) -> Any:
        w = torch.zeros_like(x[0]).requires_grad_()
        for _ in range(20):
            (slope,) = torch.autograd.grad((x @ w - y).square().mean(), w)
            if slope.norm() < 0.3:
                break
            with torch.no_grad():
                w -= 0.1 * slope
        return w.detach()

    calls = [
        (torch.randn(8, 3, generator=torch.Generator().manual_seed(n)), torch.full((8,), float(n)))
        for n in range(4)
    ]
    graph = graph_compiler.compile(descended, args=calls[1], trace_control_flow=True)
    for args in calls:
        torch.testing.assert_close(graph(*args), descended(*args))


def test_variables_of_the_function_around() -> None:
    @trace
    def counted(xs: Any) -> Any:
        total, count = xs[0] * 0, 0

        def take(x: Any) -> None:
            nonlocal total, count
            if x > 0:
                total = total + x
                count += 1

        for x in xs:
            take(x)
        return total, count

    graph = graph_compiler.compile(counted, source="numpy", to="jax", args=(np.array([1.0, -2.0, 3.0]),))
    for xs in (np.array([1.0, -2.0, 3.0]), np.array([-1.0, -2.0]), np.arange(5.0)):
        np.testing.assert_allclose(graph(xs), counted(xs))


def test_an_exception_on_one_side_is_a_condition() -> None:
    @trace
    def checked(x: Any) -> Any:
        if x.sum() < 0:
            raise ValueError("negative")
        assert x[0] < 100, "too large"
        return x * 2

    graph = graph_compiler.compile(checked, source="numpy", to="numpy", args=(np.ones(2),), on_miss="error")
    np.testing.assert_allclose(graph(np.full(3, 4.0)), np.full(3, 8.0))
    for x in (-np.ones(2), np.full(2, 1000.0)):
        with pytest.raises(GuardFailed):
            graph(x)


def refused(x: Any) -> Any:
    raise ValueError("negative")


SIDES_THAT_RAISE: dict[str, Callable[[Any], Any]] = {
    "otherwise": lambda x: x * 2 if x.sum() > 0 else refused(x),
    "then": lambda x: refused(x) if x.sum() < 0 else x * 2,
    "or": lambda x: (x.sum() > 0 or refused(x), x * 2)[1],
    "and": lambda x: (x.sum() < 0 and refused(x), x * 2)[1],
}


@pytest.mark.parametrize("name", SIDES_THAT_RAISE)
def test_an_exception_on_one_side_of_an_expression_is_a_condition(name: str) -> None:
    graph = graph_compiler.compile(
        trace(SIDES_THAT_RAISE[name]), source="numpy", to="numpy", args=(np.ones(2),), on_miss="error"
    )
    np.testing.assert_allclose(graph(np.full(3, 4.0)), np.full(3, 8.0))
    with pytest.raises(GuardFailed):
        graph(-np.ones(2))


def doubled(x: Any) -> Any:
    count = 0
    while x < 50:
        if x < 0.9:
            raise ValueError("too small")
        x, count = x * 2, count + 1
    return x, count


def from_place(x: Any) -> Any:
    return x[int(x[0]) :].sum() if x[1] > 0 else x.sum()


@pytest.mark.parametrize("to", ["numpy", "torch", "jax"])
def test_what_blocks_assume_of_elements_is_checked(to: str) -> None:
    """A loop assumes that no exception is raised, a branch that a number which bounds a slice is unchanged."""
    to_array = {
        "numpy": np.asarray,
        "torch": pytest.importorskip("torch").tensor,
        "jax": pytest.importorskip("jax").numpy.asarray,
    }[to]
    rows = (
        (doubled, ((1.0, 3.0, 70.0), 0.5)),
        (from_place, (([3.0, 1, 2, 5], [2.0, 1, 2, 5], [1.0, -1.0, 4.0]), None)),
    )
    for function, (calls, refused) in rows:
        graph = graph_compiler.compile(
            function, source="numpy", to=to, args=(np.asarray(calls[0]),), trace_control_flow=True
        )
        for call in calls:
            found, expected = graph(to_array(call)), function(np.asarray(call))
            np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(expected, np.float64))
        if refused is not None:
            with pytest.raises(ValueError, match="too small"):
                graph(to_array(refused))


def doubled_into(x: Any, end: Any) -> Any:
    places, count = np.zeros(4), 0
    while x < end:
        places[count] = x
        x, count = x * 2, count + 1
    return places


def with_five_at(x: Any, place: Any) -> Any:
    x = x * 1.0
    x[place] = 5.0
    return x


@pytest.mark.parametrize("to", ["numpy", "jax"])
def test_a_write_outside_of_its_axis_is_an_error(to: str) -> None:
    """JAX itself drops such a write silently."""
    to_array = {"numpy": np.asarray, "jax": pytest.importorskip("jax").numpy.asarray}[to]
    rows = (
        (doubled_into, ((1.0, 5.0), (1.0, 16.0)), (1.0, 17.0)),
        (with_five_at, (([1.0, 2.0, 3.0], 1), ([1.0, 2.0, 3.0], -3)), ([1.0, 2.0, 3.0], 3)),
    )
    for function, calls, refused in rows:
        graph = graph_compiler.compile(
            function, source="numpy", to=to, args=tuple(map(np.asarray, calls[0])), trace_control_flow=True
        )
        for call in calls:
            np.testing.assert_allclose(
                np.asarray(graph(*map(to_array, call))), function(*map(np.asarray, call))
            )
        with pytest.raises(IndexError, match="is out of bounds"):
            graph(*map(to_array, refused))


def found_from_the_end(x: Any) -> Any:
    place, last = 0, x.shape[0] - 1
    while place < x.shape[0] and x[last - place] < 0.5:
        place += 1
    return place


def test_without_rows_what_a_step_would_read_is_not_there() -> None:
    graph = graph_compiler.compile(
        found_from_the_end, source="numpy", to="numpy", args=(np.ones(2),), trace_control_flow=True
    )
    for x in (np.arange(4.0)[::-1] / 4, np.zeros(1), np.zeros(0)):
        assert graph(x) == found_from_the_end(x)
    assert len(graph.variants) == 1, graph.explain()
    jax = pytest.importorskip("jax")
    graph = graph_compiler.compile(
        found_from_the_end, source="numpy", to="jax", args=(np.ones(0),), trace_control_flow=True
    )
    assert [int(graph(jax.numpy.zeros(size))) for size in (0, 3, 0)] == [0, 3, 0]


def test_a_loop_is_written_out_behind_its_first_step() -> None:
    """The first iteration determines the dtype of a variable; the other ones cannot become a loop."""

    def sums(x: Any) -> Any:
        best, s = None, 0.0
        for i in range(len(x)):
            t = x[i:].sum()
            if best is None or t > best:
                best = t
            s += best
        return s

    graph = graph_compiler.compile(
        sums, source="numpy", to="numpy", args=(np.ones(2),), trace_control_flow=True
    )
    for x in (np.ones(2), np.array([3.0, -2.0, 1.0]), np.ones(1), np.zeros(0)):
        np.testing.assert_allclose(graph(x), sums(x))


def test_checkpoints_are_kept() -> None:
    jax = pytest.importorskip("jax")

    @trace(checkpointing=True)
    def recurrent(xs: Any) -> Any:
        state = xs[0] * 0
        for x in xs:
            state = jax.numpy.tanh(state + x)
        return state

    graph = graph_compiler.compile(recurrent, to="jax", args=(jax.numpy.ones((3, 2)),))
    (scan,) = [node for node in nodes_of(graph.program.block) if node.op == "scan"]
    assert scan.params["checkpoint"] is True


def test_a_whole_number_of_what_is_no_number_is_an_error() -> None:
    def places(x: Any) -> Any:
        found = np.zeros(3)
        for v in x:
            found[int(v)] += v
        return found

    graph = graph_compiler.compile(
        places, source="numpy", to="jax", args=(np.ones(2),), trace_control_flow=True
    )
    np.testing.assert_allclose(graph(np.array([0.5, 2.5, 1.0])), [0.5, 1.0, 2.5])
    with pytest.raises(ValueError, match="NaN"):
        graph(np.array([0.5, np.nan]))


def test_function_of_the_user_named_as_a_builtin_receives_the_items_of_a_list() -> None:
    def sum(items: Any) -> Any:
        return next(iter(items))

    @graph_compiler.trace
    def first(x: Any) -> Any:
        rows = [x, x + 1]
        return sum(row * 2 for row in rows)

    assert first(3.0) == 6.0


@pytest.mark.parametrize("args", [(), ([], [])])
def test_a_wrong_call_of_len_raises_what_python_raises(args: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="takes exactly one argument"):
        with_plain_lists(len)(*args)


def test_an_argument_named_function_is_passed_on() -> None:
    def applied(function: Any, x: Any) -> Any:
        return function(x)

    graph = graph_compiler.transpile(applied, to="numpy", source="numpy")
    assert graph(function=np.square, x=np.full(2, 3.0)).tolist() == [9.0, 9.0]
    assert with_plain_lists(applied)(function=len, x=[1, 2]) == 2
